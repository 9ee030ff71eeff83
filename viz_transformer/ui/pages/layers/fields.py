"""What the page Layers has for itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from viz_transformer.ui.session import state
from viz_transformer.ui.session.url_fields import one_of, url_field

Part = Literal["attention", "ffn", "final"]
LensRows = Literal["near", "all"]


@dataclass(frozen=True, kw_only=True)
class Layers:
    """part: which sub-layer of the layer, or the stack's final norm. lens_rows: the tokens of a lens that takes time,
    those near the chosen one or all."""

    part: Part = url_field("attention", one_of(get_args(Part)), picked=True)
    lens_rows: LensRows = url_field("near", one_of(get_args(LensRows)))


FIELDS = state.declare(Layers)
