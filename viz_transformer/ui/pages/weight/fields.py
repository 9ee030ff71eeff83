"""The fields of the page One weight."""

from __future__ import annotations

from dataclasses import dataclass

from viz_transformer.analysis.weight import LINES
from viz_transformer.ui.pages.weight import words
from viz_transformer.ui.session import state
from viz_transformer.ui.session.url_fields import one_of, url_field

BESIDE = ("weights", "out")


@dataclass(frozen=True, kw_only=True)
class Weight:
    """The page's fields in the address."""

    weight_line: str = url_field("products", one_of(LINES, words.A_LINE))
    """The active line of the derivation."""
    weight_beside: str = url_field("weights", one_of(BESIDE))
    """The values compared with torch's attention."""


FIELDS = state.declare(Weight)
