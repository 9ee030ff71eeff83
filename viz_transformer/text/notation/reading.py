"""What there is to say of a text and a notation, and the checks of the settings that a card gives."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Self

from viz_transformer.sentences import quoted

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

    @classmethod
    def from_settings(cls, given: Mapping[str, Any]) -> Self:
        """The notation of these settings. Raises ValueError unless they are exactly those of the kind, in bounds."""
        names = [field.name for field in fields(cls)]
        found = {name: value for name, value in given.items() if name != "kind"}
        if missing := [name for name in names if name not in found]:
            must = f"it has to state {', '.join(names)}"
            raise ValueError(f"the card's notation ({cls.kind}) lacks {missing[0]!r}: {must}")
        if unknown := [name for name in found if name not in names]:
            may = f"it may state {', '.join(names)}"
            raise ValueError(f"the card's notation ({cls.kind}) states {quoted(unknown[0])}: {may}")
        return cls(**found)

    def settings(self) -> dict[str, Any]:
        """As a card has it, with the kind."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        lists = {name: list(value) for name, value in values.items() if isinstance(value, tuple)}
        return {"kind": self.kind, **values, **lists}


def words_and_signs(text: str, known: str) -> tuple[str, ...]:
    """The words of a text and its signs, once each, in their order, without the `known` signs and blanks."""
    parts = re.findall(r"[^\W\d_]+|\S", text[:LONGEST_TEXT])
    return tuple(dict.fromkeys(part for part in parts if len(part) > 1 or part not in known))


def check_count(name: str, value: object, least: int, most: int) -> None:
    """Raise ValueError unless the value is a whole number in these bounds, which are included."""
    if type(value) is not int or not least <= value <= most:
        raise ValueError(
            f"the card's notation has {name}={quoted(value)}: it has to be a whole number from {least} to {most:,}"
        )


def check_characters(name: str, value: object, allowed: str) -> None:
    """Raise ValueError unless the value is a text of different ones of these characters, at least one."""
    fits = isinstance(value, str) and 0 < len(value) <= len(allowed) and len({*value}) == len(value)
    if not fits or not {*str(value)} <= {*allowed}:
        raise ValueError(f"the card's notation has {name}={quoted(value)}: it has to be different ones of {allowed}")
