"""Which tokens of a text are special, of every kind of model."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from viz_transformer.given import Accepted, optional, takes

if TYPE_CHECKING:
    from viz_transformer.running.trace import Tokens
    from viz_transformer.text.codec import TextCodec
    from viz_transformer.text.vocabulary import Vocabulary

_OLD_CALL = "special_positions takes the codec: give ckpt.source_codec instead of ckpt.source_codec.vocabulary"


@takes(
    side=Accepted(lambda value: hasattr(value, "originals"), "the tokens of a side: trace.src or trace.tgt"),
    codec=optional(
        Accepted(lambda value: hasattr(value, "special_ids"), "a codec: ckpt.codec('source') or ('target')")
    ),
)
def special_positions(side: Tokens, codec: TextCodec | Vocabulary | None) -> tuple[bool, ...]:
    """True for each special token of a side (start, end, padding, and what else its codec counts among them).

    Unknown text and a mask are tokens of the text. Without a codec no token is known to be special. A vocabulary, as it
    was documented before, is taken with a DeprecationWarning.
    """
    if codec is None:
        return (False,) * len(side.ids)
    if hasattr(codec, "unk"):
        warnings.warn(_OLD_CALL, DeprecationWarning, stacklevel=3)  # behind `takes`
        special = codec.special_ids - {codec.unk}
    else:
        special = codec.special_ids - {codec.unknown, codec.mask}
    return tuple(token_id in special for token_id in side.ids)
