"""The fields of the page Input."""

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
    """The page's fields in the address."""

    input_side: SideName = url_field("source", one_of(tuple(SIDES)), picked=True)
    """The side whose input is shown."""
    input_rows: str = url_field("one", one_of(ROWS))
    """One token or all."""
    input_entry: int | None = url_field(None, NUMBER)
    """An entry of the vocabulary; None for the selected token's."""
    input_below: str = url_field("data", one_of(BELOW))
    """The part of the page below."""
    input_part: str = url_field("", one_of(DATA_PARTS))
    """The part of the data."""
    input_item: int = url_field(0, NUMBER, noun="item")
    """One of its items."""
    input_batch: int = url_field(0, NUMBER)
    """The seed of the batch."""


FIELDS = state.declare(Input)
