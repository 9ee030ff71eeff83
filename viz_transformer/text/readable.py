"""Finds a readable sample text in a model's own vocabulary."""

from __future__ import annotations

from viz_transformer.text.codec import TextCodec

FEW = 5


def is_read(codec: TextCodec, text: str) -> bool:
    """Whether the codec reads the text without unknown tokens."""
    try:
        return not codec.encode(text).unknown
    except ValueError:
        return False


def readable(codec: TextCodec) -> str | None:
    """The first tokens with letters, or else any, as a text; None if the codec cannot read it."""
    own = [id for id in range(len(codec.names)) if id not in codec.special_ids]
    letters = [id for id in own if any(sign.isalpha() for sign in codec.names[id])]
    tries = (codec.decode(ids[:count]) for ids in (letters, own) for count in range(min(FEW, len(ids)), 0, -1))
    return next((text for text in tries if text.strip() and is_read(codec, text)), None)
