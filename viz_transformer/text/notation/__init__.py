"""In which notation a model learned its texts, by its card: whether a text is written so, and how it would be.

The card's entry is `notation`, an object with its `kind` and the settings of that kind.
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
    """How the sources of a model's training were written; `noun` is what they were."""

    noun: ClassVar[str]

    def read(self, text: str) -> Reading:
        """Whether the text is written so; if not, what it would be, where that can be said."""

    def strange(self, text: str) -> tuple[str, ...]:
        """Words and signs of the text that no text of training had, in their order."""

    def words(self) -> str:
        """The notation in words, as a phrase."""

    def settings(self) -> dict[str, Any]:
        """As a card has it, with the kind."""


_KINDS = {kind.kind: kind for kind in (Numbers, TypedNumbers, Expressions, Letters)}


def read_notation(card: Mapping[str, Any]) -> Notation | None:
    """The notation that a card states; None for a card that states none.

    Raises ValueError, one sentence, for an entry that is no such object, of an unknown kind, or with settings that are
    missing, unknown or out of bounds: the card may be anybody's.
    """
    if CARD_KEY not in card:
        return None
    given = card[CARD_KEY]
    if not isinstance(given, dict):
        raise ValueError(f"the card's notation is {quote(given)}: it has to be an object with a kind")
    return _KINDS[declared.one_of("the card's notation: kind", given.get("kind"), _KINDS)].from_settings(given)
