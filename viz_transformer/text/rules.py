"""A model's own generation settings: named rules that exclude tokens, and defaults of beam search.

As in transformers' `generation_config`. What a rule removes is shown under its name.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, Protocol

from viz_transformer import numerals


class TokenRule(Protocol):
    """A rule that excludes tokens. name: one of `RULES`."""

    @property
    def name(self) -> str: ...

    def removes(self, read: Sequence[int], step: int) -> Collection[int]:
        """Ids excluded at this step. read: everything the decoder has read so far."""

    def __str__(self) -> str:
        """The rule with its setting, for a caption."""


RULES = ("repeated n-gram", "bad word", "suppressed", "too short to end")


@dataclass(frozen=True)
class NoRepeatedGram:
    """No n-gram of `size` tokens occurs twice in what is read and written. Source: Paulus et al. (2017)."""

    size: int
    name: ClassVar[str] = "repeated n-gram"

    def removes(self, read: Sequence[int], step: int) -> Collection[int]:
        begun = tuple(read[len(read) - self.size + 1 :])
        if len(begun) < self.size - 1:
            return ()
        last = len(read) - self.size + 1
        return {read[at + self.size - 1] for at in range(last) if tuple(read[at : at + self.size - 1]) == begun}

    def __str__(self) -> str:
        return "no token twice" if self.size == 1 else f"no sequence of {self.size} tokens twice"


@dataclass(frozen=True)
class BadWords:
    """None of these id sequences is completed."""

    words: tuple[tuple[int, ...], ...]
    name: ClassVar[str] = "bad word"

    def removes(self, read: Sequence[int], step: int) -> Collection[int]:
        def begun(word: tuple[int, ...]) -> bool:
            return len(word) - 1 <= len(read) and tuple(read[len(read) - len(word) + 1 :]) == word[:-1]

        return {word[-1] for word in self.words if begun(word)}

    def __str__(self) -> str:
        return f"{len(self.words)} bad word{'s' if len(self.words) > 1 else ''}"


@dataclass(frozen=True)
class Suppressed:
    """These ids are not written; at_first: only at the first step."""

    ids: frozenset[int]
    at_first: bool = False
    name: ClassVar[str] = "suppressed"

    def removes(self, read: Sequence[int], step: int) -> Collection[int]:
        return () if self.at_first and step else self.ids

    def __str__(self) -> str:
        count = f"{len(self.ids)} token{'s' if len(self.ids) > 1 else ''}"
        return f"{count} suppressed{' at the first step' if self.at_first else ''}"


@dataclass(frozen=True)
class NotTooShort:
    """No end token before `least` tokens, read and written or, with `new`, only written."""

    least: int
    ends: frozenset[int]
    new: bool = False
    name: ClassVar[str] = "too short to end"

    def removes(self, read: Sequence[int], step: int) -> Collection[int]:
        return self.ends if (step if self.new else len(read)) < self.least else ()

    def __str__(self) -> str:
        return f"at least {self.least} {'written ' if self.new else ''}token{'s' if self.least > 1 else ''}"


def removals(rules: Sequence[TokenRule], read: Sequence[int], step: int) -> Mapping[str, Collection[int]]:
    """Ids removed at this step by each rule that removes any."""
    found: dict[str, set[int]] = {}
    for rule in rules:
        if ids := rule.removes(read, step):
            found.setdefault(rule.name, set()).update(ids)
    return found


@dataclass(frozen=True)
class BeamSettings:
    """Beam settings of transformers' `generate`: score = log-probability / (tokens written)^length_penalty.

    width: None for greedy decoding.
    """

    width: int | None = None
    length_penalty: float = 1.0
    early_stopping: bool | Literal["never"] = False

    def __str__(self) -> str:
        """The settings by the names of `generate`."""
        never = self.early_stopping == "never"
        stopping = '"never"' if never else self.early_stopping
        return f"length_penalty={numerals.significant(self.length_penalty, 6)}, early_stopping={stopping}"
