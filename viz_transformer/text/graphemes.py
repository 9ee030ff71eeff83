"""Grapheme clusters: what a reader sees as one character, such as an accented letter, a flag or a family."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate

import regex

_CLUSTER = regex.compile(r"\X")


def graphemes(text: str) -> list[str]:
    """Extended grapheme clusters of the text. Source: Unicode Standard Annex 29."""
    found: list[str] = _CLUSTER.findall(text)
    return found


def within_graphemes(pieces: Sequence[bytes]) -> list[bool]:
    """For each UTF-8 piece of a text, whether it begins inside a cluster; invalid bytes are clusters of their own."""
    text = b"".join(pieces).decode("utf-8", "surrogateescape")
    starts = {0, *accumulate(len(sign.encode("utf-8", "surrogateescape")) for sign in _signs(text))}
    return [start not in starts for start in accumulate(map(len, pieces[:-1]), initial=0)] if pieces else []


def _signs(text: str) -> Iterator[str]:
    for sign in graphemes(text):
        yield from sign if any("\udc80" <= each <= "\udcff" for each in sign) else (sign,)
