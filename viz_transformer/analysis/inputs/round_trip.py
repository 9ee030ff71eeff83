"""Tokenizer round trip: whether a text's tokens decode to the text itself, or to another that the model reads
instead."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import combinations

from viz_transformer.text.codec import PAIR, TextCodec

LONGEST, BEFORE = 60, 20


@dataclass(frozen=True)
class RoundTrip:
    """A text that its tokens do not decode to."""

    typed: str
    read: str
    """What the tokens decode to."""
    lost: tuple[str, ...]
    """The only kinds of difference ("capitals", "accents", "blanks"); empty if there is any other."""

    @property
    def excerpt(self) -> str:
        """The decoded text; of a long one the part around the first difference."""
        if len(self.read) <= LONGEST:
            return self.read
        pairs = enumerate(zip(self.typed, self.read, strict=False))
        at = next((place for place, (one, other) in pairs if one != other), min(len(self.typed), len(self.read)))
        start = max(0, min(at - BEFORE, len(self.read) - LONGEST))
        end = start + LONGEST
        return f"{'…' if start else ''}{self.read[start:end]}{'…' if end < len(self.read) else ''}"


def round_trip(codec: TextCodec, text: str) -> RoundTrip | None:
    """The difference of a text from what its tokens decode to; None if equal. Unknown tokens keep what was typed.

    None also for input that is not one plain text: two texts, a chat, typed special tokens. Raises ValueError for a
    text that cannot be read.
    """
    if PAIR in text or codec.how_read.special_tokens or codec.how_read.chat:
        return None
    encoded = codec.encode(text)
    read = codec.decode(encoded.ids)
    compared = read
    for place in encoded.unknown:
        compared = compared.replace(encoded.tokens[place], encoded.originals[place], 1)
    if compared == text:
        return None
    return RoundTrip(text, read, _find_lost(text, compared))


def _find_lost(text: str, read: str) -> tuple[str, ...]:
    """The smallest set of kinds of difference that explains all of them."""
    for count in range(1, len(_WITHOUT) + 1):
        for names in combinations(_WITHOUT, count):
            one, other = text, read
            for name in names:
                one, other = _WITHOUT[name](one), _WITHOUT[name](other)
            if one == other:
                return names
    return ()


def _without_accents(text: str) -> str:
    parts = unicodedata.normalize("NFKD", text)
    return "".join(sign for sign in parts if unicodedata.category(sign) != "Mn")


_WITHOUT: Mapping[str, Callable[[str], str]] = {
    "blanks": lambda text: "".join(text.split()),
    "capitals": str.casefold,
    "accents": _without_accents,
}
