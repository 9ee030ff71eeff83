"""Which tokens of a text are special, of every kind of model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from viz_transformer.given import Kind, optional, takes

if TYPE_CHECKING:
    from viz_transformer.running.record import Tokens
    from viz_transformer.text.codec import TextCodec


@takes(
    side=Kind(lambda value: hasattr(value, "originals"), "the tokens of a side: trace.src or trace.tgt"),
    codec=optional(Kind(lambda value: hasattr(value, "special_ids"), "a codec: ckpt.codec('source') or ('target')")),
)
def special_positions(side: Tokens, codec: TextCodec | None) -> tuple[bool, ...]:
    """True for each special token of a side (start, end, padding, and what else its codec counts among them).

    Unknown text and a mask are tokens of the text. Without a codec no token is known to be special.
    """
    special = frozenset[int]() if codec is None else codec.special_ids - {codec.unknown, codec.mask}
    return tuple(token_id in special for token_id in side.ids)
