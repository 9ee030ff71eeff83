"""Notation of letter strings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from string import ascii_lowercase
from typing import Annotated, ClassVar

from msgspec import Meta

from viz_transformer.text.notation.reading import (
    INSIDE,
    LEARNED,
    WRITTEN,
    Reading,
    Settings,
    find_repeated,
)


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
