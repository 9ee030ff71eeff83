"""Tensors that a person leaves out by name: patterns, and what each of them matched."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from viz_transformer.checkpoint.files import CheckpointError
from viz_transformer.sentences import count_of, join_names, quote

SYNTAX = r"a regular expression of the whole name, such as ignore='aux_head\..*'"
NAMED, LONGEST_NAME = 2, 120
"""Names that a sentence has of several, and characters of one."""


def match_patterns(patterns: Iterable[str], names: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """The names that each pattern matches, whole. Raises CheckpointError for what is not a regular expression."""
    found = {}
    for pattern in patterns:
        try:
            compiled = re.compile(pattern)
        except re.error as error:
            raise CheckpointError(f"ignore={quote(pattern)} cannot be read ({error}): give {SYNTAX}") from None
        found[pattern] = tuple(name for name in names if compiled.fullmatch(name))
    return found


def unmatched(found: Mapping[str, Sequence[str]], names: Sequence[str], of: str) -> str | None:
    """That a pattern matched none of these names, in a sentence; None where each matched some. of: what they are."""
    for pattern, held in found.items():
        if not held:
            there = f"they are {some(names)}" if names else "there are none"
            return f"ignore={quote(pattern)} matches none of the tensors {of} ({there}): give {SYNTAX}"
    return None


def some(names: Sequence[str]) -> str:
    """The first of the names, and how many more there are."""
    more = [f"{len(names) - NAMED:,} more"] if len(names) > NAMED else []
    return join_names([*(quote(name, LONGEST_NAME) for name in names[:NAMED]), *more])


def summarize_names(names: Sequence[str]) -> str:
    """How many tensors these are, and the first of them."""
    return f"{count_of(len(names), 'tensor')}, {some(names)}"
