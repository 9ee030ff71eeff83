"""What the page Layers has for itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from viz_transformer.ui.session import state
from viz_transformer.ui.session.declaring import declared, one_of

Part = Literal["attention", "ffn", "final"]


@dataclass(frozen=True, kw_only=True)
class Layers:
    """part: which sub-layer of the layer, or the stack's final norm."""

    part: Part = declared("attention", one_of(get_args(Part)), picked=True)


FIELDS = state.declare(Layers)
