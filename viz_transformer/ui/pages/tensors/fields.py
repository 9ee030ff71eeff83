"""What the page Tensors has for itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from viz_transformer.ui.pages.tensors import words
from viz_transformer.ui.session import state
from viz_transformer.ui.session.declaring import NUMBER, declared, matching, one_of

Chart = Literal["heatmap", "histogram", "points"]


@dataclass(frozen=True, kw_only=True)
class Tensors:
    """point: which value of the run is looked at, chart: how.

    seed: of the dropout of a run in training mode, None in evaluation mode.
    """

    point: str = declared("", matching("[a-z0-9_.]{0,80}", words.POINT_NAME), picked=True)
    chart: Chart = declared("heatmap", one_of(get_args(Chart)))
    seed: int | None = declared(None, NUMBER)


FIELDS = state.declare(Tensors)
