"""The notation of a model's training texts, from its card: whether a text follows it, and its nearest equivalent.

The card's entry `notation` is an object with a `kind` and its settings.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from string import ascii_lowercase
from typing import Annotated, Any, ClassVar, Protocol

from msgspec import Meta

from viz_transformer import declared
from viz_transformer.sentences import quote
from viz_transformer.text.notation.expressions import Expressions
from viz_transformer.text.notation.numbers import Numbers, TypedNumbers
from viz_transformer.text.notation.reading import (
    INSIDE,
    LEARNED,
    WRITTEN,
    Reading,
    Settings,
    find_repeated,
)

__all__ = [
    "CARD_KEY",
    "Expressions",
    "Letters",
    "Notation",
    "Numbers",
    "Reading",
    "TypedNumbers",
    "read_notation",
]

CARD_KEY = "notation"


class Notation(Protocol):
    """How a model's training sources were written. noun: what they were."""

    noun: ClassVar[str]

    def read(self, text: str) -> Reading:
        """Offer lower case for capitals, and nothing for texts with other characters."""

    def strange(self, text: str) -> tuple[str, ...]:
        """Words and symbols of the text that occur in no training text, in order."""

    def words(self) -> str:
        """The notation as a phrase."""

    def settings(self) -> dict[str, Any]:
        """The card's entry, with the kind."""


@dataclass(frozen=True, kw_only=True)
class Letters(Settings):
    """1 to `longest` of these lower-case letters. Raises ValueError for settings out of bounds."""

    kind: ClassVar[str] = "letters"
    noun: ClassVar[str] = "strings"
    letters: Annotated[str, Meta(pattern=r"\A[a-z]{1,26}\Z", description=f"different ones of {ascii_lowercase}")]
    longest: Annotated[int, Meta(ge=1, le=10_000)]

    def rules(self) -> Iterator[str]:
        yield from find_repeated("letters", self.letters)

    def words(self) -> str:
        return f"1 to {self.longest:,} of {self._which()}"

    def read(self, text: str) -> Reading:
        """Offer lower case for capitals, and nothing for texts with other characters."""
        typed = text.strip()
        if not typed:
            return INSIDE
        said = f"This model learned strings of at most {self.longest:,} characters; this one has {len(typed):,}."
        too_long = said if len(typed) > self.longest else ""
        letters = {*self.letters}
        if {*typed} <= letters:
            return Reading(inside=False, said=too_long) if too_long else INSIDE
        if typed.isascii() and {*typed.lower()} <= letters:
            lead = WRITTEN if too_long else LEARNED
            return Reading(inside=False, offered=typed.lower(), lead=lead, said=too_long)
        return Reading(inside=False, said=f"This model learned {self._which()} only. {too_long}".rstrip(), read=False)

    def strange(self, text: str) -> tuple[str, ...]:
        return tuple(dict.fromkeys(sign for sign in text.strip() if sign not in self.letters))

    def _which(self) -> str:
        run = self.letters in ascii_lowercase and len(self.letters) > 2
        return f"the letters {f'{self.letters[0]} to {self.letters[-1]}' if run else ', '.join(self.letters)}"


_KINDS = {kind.kind: kind for kind in (Numbers, TypedNumbers, Expressions, Letters)}


def read_notation(card: Mapping[str, Any]) -> Notation | None:
    """The notation in a card, or None.

    The card is untrusted: raises ValueError with one sentence for an unknown kind, or settings that are missing,
    unknown or out of bounds.
    """
    if CARD_KEY not in card:
        return None
    given = card[CARD_KEY]
    if not isinstance(given, dict):
        raise ValueError(f"the card's notation is {quote(given)}: it has to be an object with a kind")
    return _KINDS[declared.one_of("the card's notation: kind", given.get("kind"), _KINDS)].from_settings(given)
