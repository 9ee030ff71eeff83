"""What the page Layers has for itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from viz_transformer.ui.session import state
from viz_transformer.ui.session.declaring import declared, one_of

Part = Literal["attention", "ffn", "final"]
LensRows = Literal["near", "all"]


@dataclass(frozen=True, kw_only=True)
class Layers:
    """part: which sub-layer of the layer, or the stack's final norm. lens_rows: the tokens of a lens that takes time,
    those near the chosen one or all."""

    part: Part = declared("attention", one_of(get_args(Part)), picked=True)
    lens_rows: LensRows = declared("near", one_of(get_args(LensRows)))


FIELDS = state.declare(Layers)
