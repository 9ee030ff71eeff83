"""The fields of the page Attention."""

from __future__ import annotations

from dataclasses import dataclass

from viz_transformer.ui.pages.attention import words
from viz_transformer.ui.session import state
from viz_transformer.ui.session.url_fields import matching, one_of, url_field

PANELS = ("lines", "text", "contribution")


@dataclass(frozen=True, kw_only=True)
class Attention:
    """The page's fields in the address."""

    sort: str = url_field("", matching("[a-z ]{0,24}", words.A_SCORE), picked=True)
    """The score that heads are sorted by; "" for the order of the model."""
    panel: str = url_field("lines", one_of(PANELS))
    """The picture beside the map."""


FIELDS = state.declare(Attention)
