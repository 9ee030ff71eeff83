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
    """point: which value of the run is looked at, chart: how.

    seed: of the dropout of a run in training mode, None in evaluation mode.
    """

    point: str = url_field("", matching("[a-z0-9_.]{0,80}", words.POINT_NAME), picked=True)
    chart: Chart = url_field("heatmap", one_of(get_args(Chart)))
    seed: int | None = url_field(None, NUMBER)


FIELDS = state.declare(Tensors)
