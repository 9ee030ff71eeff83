"""What the page Tensors has for itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from viz_transformer.ui.pages.tensors import words
from viz_transformer.ui.session import state
from viz_transformer.ui.session.url_fields import NUMBER, matching, one_of, url_field

Chart = Literal["heatmap", "histogram", "points"]


@dataclass(frozen=True, kw_only=True)
class Tensors:
    """The fields of the page Tensors in the address."""

    point: str = url_field("", matching("[a-z0-9_.]{0,80}", words.POINT_NAME), picked=True)
    """The name of the shown point."""
    chart: Chart = url_field("heatmap", one_of(get_args(Chart)))
    """How it is drawn."""
    seed: int | None = url_field(None, NUMBER)
    """The seed of the dropout of a run in training mode; None: evaluation mode."""


FIELDS = state.declare(Tensors)
