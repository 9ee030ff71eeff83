"""What the page Input has for itself."""

from __future__ import annotations

from dataclasses import dataclass

from viz_transformer.model.kinds import SIDES, SideName
from viz_transformer.ui.session import state
from viz_transformer.ui.session.url_fields import NUMBER, one_of, url_field

ROWS = ("one", "all")
BELOW = ("data", "ids", "build", "words")
DATA_PARTS = ("", "train", "validation", "test", "examples")


@dataclass(frozen=True, kw_only=True)
class Input:
    """input_side, _rows: whose input is shown, of one token or all; _entry: of the vocabulary, None for its own.

    input_below, _part, _item, _batch: what stands below, which part of the data, which of its items, which batch.
    """

    input_side: SideName = url_field("source", one_of(tuple(SIDES)), picked=True)
    input_rows: str = url_field("one", one_of(ROWS))
    input_entry: int | None = url_field(None, NUMBER)
    input_below: str = url_field("data", one_of(BELOW))
    input_part: str = url_field("", one_of(DATA_PARTS))
    input_item: int = url_field(0, NUMBER, noun="item")
    input_batch: int = url_field(0, NUMBER)


FIELDS = state.declare(Input)
