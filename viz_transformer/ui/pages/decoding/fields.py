"""The fields of the page Decoding; how an answer is generated is shared."""

from __future__ import annotations

from dataclasses import dataclass

from viz_transformer.ui.pages.decoding import words
from viz_transformer.ui.session import state
from viz_transformer.ui.session.fields import WRITING
from viz_transformer.ui.session.url_fields import NUMBER, TEXT, one_of, url_field

TABS = ("step", "branches", "tree", "cache", "score")


@dataclass(frozen=True, kw_only=True)
class Decoding:
    """The page's fields in the address."""

    dec_tab: str = url_field("step", one_of(TABS))
    """The tab below the strip."""
    dec_node: int | None = url_field(
        None,
        NUMBER,
        picked=True,
        forgotten_with=("checkpoint", "text", *WRITING, "branch"),
        brought_back=True,
        noun="hypothesis",
    )
    """A hypothesis of the beam tree; None for the answer."""
    dec_text: str | None = url_field(
        None, TEXT, forgotten_with=("checkpoint", "text"), typed=words.TOO_LONG_FOR_ADDRESS
    )
    """A text to score; None for none."""


FIELDS = state.declare(Decoding)
