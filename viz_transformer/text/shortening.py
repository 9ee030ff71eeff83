"""Shortens texts that are longer than a model reads."""

from __future__ import annotations

import re
from bisect import bisect_right
from itertools import accumulate
from typing import TYPE_CHECKING

from viz_transformer.text.graphemes import graphemes

if TYPE_CHECKING:
    from viz_transformer.text.codec import TextCodec


class TooLong(ValueError):
    """A text has more tokens than the model reads. what: source or target. most: the maximum."""

    def __init__(self, what: str, length: int, most: int) -> None:
        super().__init__(
            f"{what} has {length:,} tokens, the model reads at most {most:,}: shorten it or choose another model"
        )
        self.what, self.most = what, most


def beginning(codec: TextCodec, text: str, most: int) -> str:
    """Longest prefix of a text with at most `most` tokens, start and end included; "" for none.

    Cut between words if possible. Raises ValueError for a text that cannot be read.
    """
    ends = [] if codec.splits_characters else [match.end() for match in re.finditer(r"\S+", text)]
    return _cut(codec, text, most, ends) or _cut(codec, text, most, list(accumulate(map(len, graphemes(text)))))


def _cut(codec: TextCodec, text: str, most: int, ends: list[int]) -> str:
    """The prefix up to the last of `ends` that fits, encoding no more than needed."""

    def length(end: int) -> int:
        return len(codec.encode(text[:end]))

    upto = 1
    while upto < len(ends) and length(ends[upto - 1]) <= most:
        upto *= 2
    fits = bisect_right(ends, most, hi=min(upto, len(ends)), key=length)
    return text[: ends[fits - 1]] if fits else ""
