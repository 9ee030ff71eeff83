"""A text that a model can read, of its own vocabulary: where nothing is known of what it was made for."""

from __future__ import annotations

from viz_transformer.text.codec import TextCodec

FEW = 5


def is_read(codec: TextCodec, text: str) -> bool:
    """Whether the codec reads the whole text, without an unknown token."""
    try:
        return not codec.encode(text).unknown
    except ValueError:
        return False


def readable(codec: TextCodec) -> str | None:
    """The first few tokens with letters of the vocabulary, or the first of any kind, as a text; None if the codec reads
    neither."""
    own = [id for id in range(len(codec.names)) if id not in codec.special_ids]
    letters = [id for id in own if any(sign.isalpha() for sign in codec.names[id])]
    tries = (codec.decode(ids[:count]) for ids in (letters, own) for count in range(min(FEW, len(ids)), 0, -1))
    return next((text for text in tries if text.strip() and is_read(codec, text)), None)
