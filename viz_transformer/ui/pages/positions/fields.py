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
    """pos_stack: whose positions, "" for the stack that reads the text.

    pos_table, _width, _length: which table and its sizes, "" and None for the model's own; pos_columns: dimensions as
    curves, () for some; pos_shift: by how many positions; pos_topic: what stands below; pos_order: the text in another
    order, None for the words turned round; pos_off: whose positions are left out, "" for the most telling.
    """

    pos_stack: str = url_field("", one_of(STACKS), picked=True)
    pos_table: str = url_field("", one_of(TABLES))
    pos_width: int | None = url_field(None, NUMBER)
    pos_length: int | None = url_field(None, NUMBER)
    pos_columns: tuple[int, ...] = url_field((), different_numbers(MAX_COLUMNS))
    pos_shift: int = url_field(1, NUMBER)
    pos_topic: str = url_field("steps", one_of(TOPICS))
    pos_order: str | None = url_field(None, TEXT, forgotten_with=("checkpoint", "text"), typed=words.ORDER_TYPED)
    pos_off: str = url_field("", one_of(OFF))


FIELDS = state.declare(Positions)
