"""What the page Positions has for itself."""

from __future__ import annotations

from dataclasses import dataclass

from viz_transformer.ui.pages.positions import words
from viz_transformer.ui.session import state
from viz_transformer.ui.session.declaring import NUMBER, TEXT, declared, different_numbers, one_of

STACKS = ("", "encoder", "decoder")
TABLES = ("", "standard", "doubled", "learned")
TOPICS = ("steps", "distance", "shift", "waves", "orders")
OFF = ("", "encoder", "decoder", "both")
MOST_COLUMNS = 6


@dataclass(frozen=True, kw_only=True)
class Positions:
    """pos_stack: whose positions, "" for the stack that reads the text.

    pos_table, _width, _length: which table and its sizes, "" and None for the model's own; pos_columns: dimensions as
    curves, () for some; pos_shift: by how many positions; pos_topic: what stands below; pos_order: the text in another
    order, None for the words turned round; pos_off: whose positions are left out, "" for the most telling.
    """

    pos_stack: str = declared("", one_of(STACKS), picked=True)
    pos_table: str = declared("", one_of(TABLES))
    pos_width: int | None = declared(None, NUMBER)
    pos_length: int | None = declared(None, NUMBER)
    pos_columns: tuple[int, ...] = declared((), different_numbers(MOST_COLUMNS))
    pos_shift: int = declared(1, NUMBER)
    pos_topic: str = declared("steps", one_of(TOPICS))
    pos_order: str | None = declared(None, TEXT, forgotten_with=("checkpoint", "text"), typed=words.ORDER_TYPED)
    pos_off: str = declared("", one_of(OFF))


FIELDS = state.declare(Positions)
