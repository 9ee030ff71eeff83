"""Tensors left out by name: patterns and their matches."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from viz_transformer.checkpoint.files import CheckpointError
from viz_transformer.sentences import count_of, join_names, quote

SYNTAX = r"a regular expression of the whole name, such as ignore='aux_head\..*'"
NAMED, LONGEST_NAME = 2, 120
"""How many names a sentence lists, and how many characters of each."""


def match_patterns(patterns: Iterable[str], names: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Names fully matched by each pattern. Raises CheckpointError for an invalid regular expression."""
    found = {}
    for pattern in patterns:
        try:
            compiled = re.compile(pattern)
        except re.error as error:
            raise CheckpointError(f"ignore={quote(pattern)} cannot be read ({error}): give {SYNTAX}") from None
        found[pattern] = tuple(name for name in names if compiled.fullmatch(name))
    return found


def unmatched(found: Mapping[str, Sequence[str]], names: Sequence[str], of: str) -> str | None:
    """Error message for a pattern without a match; None if each has one. of: what the names are."""
    for pattern, held in found.items():
        if not held:
            there = f"they are {some(names)}" if names else "there are none"
            return f"ignore={quote(pattern)} matches none of the tensors {of} ({there}): give {SYNTAX}"
    return None


def some(names: Sequence[str]) -> str:
    """The first names, and how many more there are."""
    more = [f"{len(names) - NAMED:,} more"] if len(names) > NAMED else []
    return join_names([*(quote(name, LONGEST_NAME) for name in names[:NAMED]), *more])


def summarize_names(names: Sequence[str]) -> str:
    """The number of tensors and the first names."""
    return f"{count_of(len(names), 'tensor')}, {some(names)}"
