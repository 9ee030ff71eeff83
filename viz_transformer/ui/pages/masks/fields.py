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
    """mask_view: what stands on top, masks or weights. mask_of: masks of texts or of a plain size; mask_kind: the kind
    of attention, None before the page was seen.

    mask_batch: the other texts of the batch, one a line, None for some of the examples; mask_text: which of them is
    looked at, 0 is the run's. mask_size, mask_padded: of a plain mask. mask_padding, mask_fill: rule and fill, "" for
    the model's own; mask_cells: changed cells as words ("d3.5", "d3"). mask_query, mask_key: a cell where it is none of
    the run; mask_swap: the side whose tokens are swapped.
    """

    mask_view: str = url_field("masks", one_of(VIEWS))
    mask_of: str = url_field("texts", one_of(MASKS_OF))
    mask_kind: KindName | None = url_field(None, one_of(tuple(KINDS)), picked=True)
    mask_batch: str | None = url_field(None, text_of_at_most(LONGEST_BATCH))
    mask_text: int = url_field(0, NUMBER)
    mask_size: int = url_field(8, NUMBER)
    mask_padded: int = url_field(2, NUMBER)
    mask_padding: str = url_field("", one_of(PADDING_RULES))
    mask_fill: str = url_field("", one_of(FILLS))
    mask_cells: tuple[str, ...] = url_field((), _CELLS)
    mask_query: int = url_field(0, NUMBER, picked=True)
    mask_key: int = url_field(0, NUMBER, picked=True)
    mask_swap: SideName = url_field("target", one_of(SWAPPED))


FIELDS = state.declare(Masks)
