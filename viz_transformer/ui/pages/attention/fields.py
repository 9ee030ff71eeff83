"""What the page Attention has for itself."""

from __future__ import annotations

from dataclasses import dataclass

from viz_transformer.ui.pages.attention import words
from viz_transformer.ui.session import state
from viz_transformer.ui.session.url_fields import matching, one_of, url_field

PANELS = ("lines", "text", "contribution")


@dataclass(frozen=True, kw_only=True)
class Attention:
    """sort: a head score, "" for in place; panel: which picture stands beside the map."""

    sort: str = url_field("", matching("[a-z ]{0,24}", words.A_SCORE), picked=True)
    panel: str = url_field("lines", one_of(PANELS))


FIELDS = state.declare(Attention)
