"""What the page Attention has for itself."""

from __future__ import annotations

from dataclasses import dataclass

from viz_transformer.ui.pages.attention import words
from viz_transformer.ui.session import state
from viz_transformer.ui.session.declaring import declared, matching, one_of

PANELS = ("lines", "text", "contribution")


@dataclass(frozen=True, kw_only=True)
class Attention:
    """sort: a head score, "" for in place; panel: which picture stands beside the map."""

    sort: str = declared("", matching("[a-z ]{0,24}", words.A_SCORE), picked=True)
    panel: str = declared("lines", one_of(PANELS))


FIELDS = state.declare(Attention)
