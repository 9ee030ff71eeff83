"""What the page Masks has for itself."""

from __future__ import annotations

import re
from dataclasses import dataclass

from viz_transformer.model.kinds import KINDS, KindName, SideName
from viz_transformer.ui.pages.masks import words
from viz_transformer.ui.session import state
from viz_transformer.ui.session.url_fields import NUMBER, Codec, one_of, text_of_at_most, url_field

VIEWS = ("masks", "weights")
SWAPPED: tuple[SideName, ...] = ("target", "source")
MASKS_OF = ("texts", "size")
PADDING_RULES = ("", "key", "key-or-query", "key-or-query-swapped-cross")
FILLS = ("", "zero-rows", "-inf", "-1e9", "-1e10", "added-1e9")
MAX_CELLS = 64
LONGEST_BATCH = 400


def cells(given: str) -> tuple[str, ...] | None:
    """Changed cells of masks, as the address writes them; None for what is none or too many."""
    found = tuple(dict.fromkeys(word for word in given.split(",") if word))
    known = all(re.fullmatch(r"[edc]\d{1,4}(\.\d{1,4})?", word) for word in found)
    return found if known and len(found) <= MAX_CELLS else None


_CELLS = Codec(cells, words.CHANGED_CELLS.format(MAX_CELLS))


@dataclass(frozen=True, kw_only=True)
class Masks:
    """The fields of the page Masks in the address."""

    mask_view: str = url_field("masks", one_of(VIEWS))
    """Masks or weights."""
    mask_of: str = url_field("texts", one_of(MASKS_OF))
    """Masks of texts or of a plain size."""
    mask_kind: KindName | None = url_field(None, one_of(tuple(KINDS)), picked=True)
    """The kind of attention; None before the page was seen."""
    mask_batch: str | None = url_field(None, text_of_at_most(LONGEST_BATCH))
    """The other texts of the batch, one a line; None: some of the examples."""
    mask_text: int = url_field(0, NUMBER)
    """The shown text of the batch; 0: the text of the run."""
    mask_size: int = url_field(8, NUMBER)
    """The side of a plain mask."""
    mask_padded: int = url_field(2, NUMBER)
    """The padding of a plain mask."""
    mask_padding: str = url_field("", one_of(PADDING_RULES))
    """The padding rule; "": the model's own."""
    mask_fill: str = url_field("", one_of(FILLS))
    """The fill of masked scores; "": the model's own."""
    mask_cells: tuple[str, ...] = url_field((), _CELLS)
    """The changed cells as words: "d3.5" is one, "d3" a row."""
    mask_query: int = url_field(0, NUMBER, picked=True)
    """The query of a cell that is none of the run."""
    mask_key: int = url_field(0, NUMBER, picked=True)
    """Its key."""
    mask_swap: SideName = url_field("target", one_of(SWAPPED))
    """The side whose tokens are swapped."""


FIELDS = state.declare(Masks)
