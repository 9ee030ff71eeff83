"""What the page Positions has for itself."""

from __future__ import annotations

from dataclasses import dataclass

from viz_transformer.ui.pages.positions import words
from viz_transformer.ui.session import state
from viz_transformer.ui.session.url_fields import NUMBER, TEXT, different_numbers, one_of, url_field

STACKS = ("", "encoder", "decoder")
TABLES = ("", "standard", "doubled", "learned")
TOPICS = ("steps", "distance", "shift", "waves", "orders")
OFF = ("", "encoder", "decoder", "both")
MAX_COLUMNS = 6


@dataclass(frozen=True, kw_only=True)
class Positions:
    """The fields of the page Positions in the address."""

    pos_stack: str = url_field("", one_of(STACKS), picked=True)
    """The stack whose positions are shown; "": the one that reads the text."""
    pos_table: str = url_field("", one_of(TABLES))
    """The table; "": the model's own."""
    pos_width: int | None = url_field(None, NUMBER)
    """The number of its columns; None: the model's own."""
    pos_length: int | None = url_field(None, NUMBER)
    """The number of its rows; None: the model's own."""
    pos_columns: tuple[int, ...] = url_field((), different_numbers(MAX_COLUMNS))
    """The dimensions drawn as curves; (): some of them."""
    pos_shift: int = url_field(1, NUMBER)
    """The number of positions that a row is shifted by."""
    pos_topic: str = url_field("steps", one_of(TOPICS))
    """The topic below the picture."""
    pos_order: str | None = url_field(None, TEXT, forgotten_with=("checkpoint", "text"), typed=words.ORDER_TYPED)
    """The text in another order; None: its words reversed."""
    pos_off: str = url_field("", one_of(OFF))
    """The stack whose positions are left out; "": the one that tells most."""


FIELDS = state.declare(Positions)
