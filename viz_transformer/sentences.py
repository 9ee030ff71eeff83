"""Sentences about what was given: whatever that is, they stay short enough to be read."""

from __future__ import annotations

import reprlib

LONGEST_QUOTE = 60
LONGEST_SENTENCE = 600

_WRITER = reprlib.Repr()  # looks at the beginning of a value only, however large it is
_WRITER.maxstring = _WRITER.maxother = _WRITER.maxlong = 4 * LONGEST_QUOTE
_WRITER.maxlevel = 3


def quoted(value: object, most: int = LONGEST_QUOTE) -> str:
    """The value as Python writes it, at most so many characters; what was left out is an ellipsis."""
    return shortened(_WRITER.repr(value), most)


def shortened(text: str, most: int = LONGEST_SENTENCE) -> str:
    """The text, at most so many characters; what was left out is an ellipsis."""
    return text if len(text) <= most else text[: most - 1] + "…"
