"""The notation of a model's training texts, from its card: whether a text follows it, and its nearest equivalent.

The card's entry `notation` is an object with a `kind` and its settings.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Protocol

from viz_transformer import declared
from viz_transformer.sentences import quote
from viz_transformer.text.notation.expressions import Expressions
from viz_transformer.text.notation.letters import Letters
from viz_transformer.text.notation.numbers import Numbers, TypedNumbers
from viz_transformer.text.notation.reading import Reading

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
        """Whether the text follows the notation and, if not, its equivalent where there is one."""

    def strange(self, text: str) -> tuple[str, ...]:
        """Words and symbols of the text that occur in no training text, in order."""

    def words(self) -> str:
        """The notation as a phrase."""

    def settings(self) -> dict[str, Any]:
        """The card's entry, with the kind."""


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
