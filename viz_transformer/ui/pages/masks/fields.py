"""What the page Masks has for itself."""

from __future__ import annotations

import re
from dataclasses import dataclass

from viz_transformer.model.kinds import KINDS, KindName, SideName
from viz_transformer.ui.pages.masks import words
from viz_transformer.ui.session import state
from viz_transformer.ui.session.declaring import NUMBER, Reading, declared, one_of, text_of_at_most

VIEWS = ("masks", "weights")
SWAPPED: tuple[SideName, ...] = ("target", "source")
MASKS_OF = ("texts", "size")
PADDING_RULES = ("", "key", "key-or-query", "key-or-query-swapped-cross")
FILLS = ("", "zero-rows", "-inf", "-1e9", "-1e10", "added-1e9")
MOST_CELLS = 64
LONGEST_BATCH = 400


def cells(given: str) -> tuple[str, ...] | None:
    """Changed cells of masks, as the address writes them; None for what is none or too many."""
    found = tuple(dict.fromkeys(word for word in given.split(",") if word))
    known = all(re.fullmatch(r"[edc]\d{1,4}(\.\d{1,4})?", word) for word in found)
    return found if known and len(found) <= MOST_CELLS else None


_CELLS = Reading(cells, words.CHANGED_CELLS.format(MOST_CELLS))


@dataclass(frozen=True, kw_only=True)
class Masks:
    """mask_view: what stands on top, masks or weights. mask_of: masks of texts or of a plain size; mask_kind: the kind
    of attention, None before the page was seen.

    mask_batch: the other texts of the batch, one a line, None for some of the examples; mask_text: which of them is
    looked at, 0 is the run's. mask_size, mask_padded: of a plain mask. mask_padding, mask_fill: rule and fill, "" for
    the model's own; mask_cells: changed cells as words ("d3.5", "d3"). mask_query, mask_key: a cell where it is none of
    the run; mask_swap: the side whose tokens are swapped.
    """

    mask_view: str = declared("masks", one_of(VIEWS))
    mask_of: str = declared("texts", one_of(MASKS_OF))
    mask_kind: KindName | None = declared(None, one_of(tuple(KINDS)), picked=True)
    mask_batch: str | None = declared(None, text_of_at_most(LONGEST_BATCH))
    mask_text: int = declared(0, NUMBER)
    mask_size: int = declared(8, NUMBER)
    mask_padded: int = declared(2, NUMBER)
    mask_padding: str = declared("", one_of(PADDING_RULES))
    mask_fill: str = declared("", one_of(FILLS))
    mask_cells: tuple[str, ...] = declared((), _CELLS)
    mask_query: int = declared(0, NUMBER, picked=True)
    mask_key: int = declared(0, NUMBER, picked=True)
    mask_swap: SideName = declared("target", one_of(SWAPPED))


FIELDS = state.declare(Masks)
