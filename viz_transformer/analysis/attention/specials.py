"""Which tokens of a text are special, of every kind of model."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from viz_transformer.running.record import Tokens
    from viz_transformer.text.codec import TextCodec


def special_positions(side: Tokens, codec: TextCodec | None) -> tuple[bool, ...]:
    """True for each special token of a side (start, end, padding, and what else its codec counts among them).

    Unknown text and a mask are tokens of the text. Without a codec no token is known to be special.
    """
    special = frozenset[int]() if codec is None else codec.special_ids - {codec.unknown, codec.mask}
    return tuple(token_id in special for token_id in side.ids)
