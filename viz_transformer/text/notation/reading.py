"""The result of reading a text in a notation, and checks of a card's settings."""

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
"""Maximum characters to inspect; no model with a notation reads more."""


@dataclass(frozen=True)
class Reading:
    """A text compared with a notation."""

    inside: bool  # whether it is written like the training texts
    offered: str | None = None  # its equivalent in the notation, or None
    lead: str = LEARNED  # introduces `offered`, where it is not quite equivalent
    said: str = ""  # A sentence on what the model learned, or ""
    read: bool = True  # whether the text could be parsed at all


INSIDE = Reading(inside=True)


@dataclass(frozen=True)
class Settings:
    """A notation's kind and settings in a card."""

    kind: ClassVar[str]

    def __post_init__(self) -> None:
        declared.check(self, f"the card's notation ({self.kind})", self.rules())

    def rules(self) -> Iterator[str]:
        """One sentence for each further fault of the settings."""
        yield from ()

    @classmethod
    def from_settings(cls, given: Mapping[str, Any]) -> Self:
        """The notation with these settings. Raises ValueError unless they are exactly those of the kind, in bounds."""
        found = {name: value for name, value in given.items() if name != "kind"}
        return declared.read(cls, found, f"the card's notation ({cls.kind})")

    def settings(self) -> dict[str, Any]:
        """The card's entry, with the kind."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        lists = {name: list(value) for name, value in values.items() if isinstance(value, tuple)}
        return {"kind": self.kind, **values, **lists}


def words_and_signs(text: str, known: str) -> tuple[str, ...]:
    """Distinct words and symbols of a text in order, without `known` symbols and spaces."""
    parts = re.findall(r"[^\W\d_]+|\S", text[:LONGEST_TEXT])
    return tuple(dict.fromkeys(part for part in parts if len(part) > 1 or part not in known))


def find_repeated(name: str, values: Sequence[str]) -> Iterator[str]:
    """A sentence if a value is repeated."""
    if len({*values}) < len(values):
        yield f"the card's notation has {name}={quote(values)}: they have to be different"
