"""What a reader takes for one sign, of however many code points: a letter with its accents, a flag, a family."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate

import regex

_CLUSTER = regex.compile(r"\X")


def graphemes(text: str) -> list[str]:
    """The text in its extended grapheme clusters. Source: Unicode Standard Annex 29."""
    found: list[str] = _CLUSTER.findall(text)
    return found


def within_graphemes(pieces: Sequence[bytes]) -> list[bool]:
    """Of pieces that make up a text in UTF-8, whether each begins within a cluster that another began; a byte that is
    no text is a sign of its own."""
    text = b"".join(pieces).decode("utf-8", "surrogateescape")
    starts = {0, *accumulate(len(sign.encode("utf-8", "surrogateescape")) for sign in _signs(text))}
    return [start not in starts for start in accumulate(map(len, pieces[:-1]), initial=0)] if pieces else []


def _signs(text: str) -> Iterator[str]:
    for sign in graphemes(text):
        yield from sign if any("\udc80" <= each <= "\udcff" for each in sign) else (sign,)
