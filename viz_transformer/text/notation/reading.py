"""What there is to say of a text and a notation, and the checks of the settings that a card gives."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Self

from viz_transformer import declared
from viz_transformer.sentences import quote

LEARNED = "in this model’s notation"
WRITTEN = "in this model's notation"
LONGEST_TEXT = 1_000
"""Characters of a text that are looked at; no model with a notation reads that many."""


@dataclass(frozen=True)
class Reading:
    """A text beside a notation.

    inside: whether it is written as texts of training were. offered: the same thing in that notation, or None; `lead`
    says what it is, where it is not quite the same thing too. said: a sentence on what the model learned, or "".
    read: whether the text could be read at all as what that notation writes.
    """

    inside: bool
    offered: str | None = None
    lead: str = LEARNED
    said: str = ""
    read: bool = True


INSIDE = Reading(inside=True)


@dataclass(frozen=True)
class Settings:
    """What a card states of a notation: a kind, and the fields of its class."""

    kind: ClassVar[str]

    def __post_init__(self) -> None:
        declared.check(self, f"the card's notation ({self.kind})", self.rules())

    def rules(self) -> Iterator[str]:
        """What else is wrong with its settings, a sentence each."""
        yield from ()

    @classmethod
    def from_settings(cls, given: Mapping[str, Any]) -> Self:
        """The notation of these settings. Raises ValueError unless they are exactly those of the kind, in bounds."""
        found = {name: value for name, value in given.items() if name != "kind"}
        return declared.read(cls, found, f"the card's notation ({cls.kind})")

    def settings(self) -> dict[str, Any]:
        """As a card has it, with the kind."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        lists = {name: list(value) for name, value in values.items() if isinstance(value, tuple)}
        return {"kind": self.kind, **values, **lists}


def words_and_signs(text: str, known: str) -> tuple[str, ...]:
    """The words of a text and its signs, once each, in their order, without the `known` signs and blanks."""
    parts = re.findall(r"[^\W\d_]+|\S", text[:LONGEST_TEXT])
    return tuple(dict.fromkeys(part for part in parts if len(part) > 1 or part not in known))


def find_repeated(name: str, values: Sequence[str]) -> Iterator[str]:
    """That one of them is there twice, if one is."""
    if len({*values}) < len(values):
        yield f"the card's notation has {name}={quote(values)}: they have to be different"
