"""Sentences about what was given: whatever that is, they stay short enough to be read."""

from __future__ import annotations

import reprlib
from collections.abc import Sequence

LONGEST_QUOTE = 60
LONGEST_SENTENCE = 600

_WRITER = reprlib.Repr()  # looks at the beginning of a value only, however large it is
_WRITER.maxstring = _WRITER.maxother = _WRITER.maxlong = 4 * LONGEST_QUOTE
_WRITER.maxlevel = 3


def quote(value: object, most: int = LONGEST_QUOTE) -> str:
    """The value as Python writes it, on one line, at most so many characters; what was left out is an ellipsis."""
    try:
        written = " ".join(_WRITER.repr(value).split("\n"))
    except Exception:  # a number of more digits than Python writes, or an object that cannot describe itself
        written = f"<{type(value).__name__}>"
    return shorten(written, most)


def capitalised(sentence: object) -> str:
    """What an error says, or the words, with a capital letter in front."""
    said = str(sentence)
    return said[:1].upper() + said[1:]


def join_names(names: Sequence[str]) -> str:
    """The names as a sentence has them: "a", "a and b", "a, b and c"."""
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last


def count_of(count: int, noun: str) -> str:
    """So many of what has a plural in s: "1 head", "3 heads", "1,024 tokens"."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def shorten(text: str, most: int = LONGEST_SENTENCE) -> str:
    """The text, at most so many characters; what was left out is an ellipsis."""
    return text if len(text) <= most else text[: most - 1] + "…"


def put_on_one_line(text: str, most: int = LONGEST_SENTENCE) -> str:
    """The text on one line, at most so many characters; what cannot be printed is written as Python does, as \\x1b."""
    line = " ".join(text.split())[: most + 1]
    return shorten("".join(c if c.isprintable() else ascii(c)[1:-1] for c in line), most)
