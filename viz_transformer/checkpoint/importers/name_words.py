"""Words in tensor names, and what they mean in any layout."""

from __future__ import annotations

import re
from collections.abc import Sequence

DECODER = re.compile(r"(^|[._])(dec|decoder|tgt|target|trg|out|writer)")
ENCODER = re.compile(r"(^|[._])(enc|encoder|src|source|in|reader)")
SHIFTS = ("bias", "beta", "b_2", "offset", "shift")


def parts_of(name: str) -> list[str]:
    """Lower-case name parts, letters only: "attn.W_q.weight" -> ["attn", "wq", "weight"]."""
    return [re.sub(r"[^a-z]", "", part.lower()) for part in name.split(".")]


def module_of(rest: str) -> str:
    return rest.rpartition(".")[0]


def flat(shape: tuple[int, ...]) -> tuple[int, ...]:
    """A shape without axes of length 1."""
    return tuple(length for length in shape if length != 1)


def words_of(name: str) -> list[str]:
    """Lower-case words and numbers of a name, without weight and bias.

    "attn.W_qKey2.weight" -> ["attn", "w", "q", "key", "2"].
    """
    found = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", name)
    return [word for each in found if (word := each.lower()) not in ("weight", "bias")]


_COUNTED = {
    word: str(n) for n, words in enumerate(("one first", "two second", "three third"), 1) for word in words.split()
}


def in_sequence(names: Sequence[str]) -> list[str] | None:
    """The names sorted by the one number or letter in which they differ; None if they differ otherwise."""
    split = [[_COUNTED.get(word, word) for word in words_of(name)] for name in names]
    if len({len(words) for words in split}) != 1:
        return None
    places = [n for n, column in enumerate(zip(*split, strict=True)) if len(set(column)) > 1]
    if len(places) != 1:
        return None
    marks = [words[places[0]] for words in split]
    if len(set(marks)) < len(marks):
        return None
    if all(mark.isdecimal() for mark in marks):
        return [name for _, name in sorted(zip(map(int, marks), names, strict=True))]
    return [name for _, name in sorted(zip(marks, names, strict=True))] if all(len(m) == 1 for m in marks) else None
