"""Word alignment of an answer with the expected text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher


@dataclass(frozen=True)
class Piece:
    """Words of one side, or of both; `same`: whether they agree."""

    wanted: tuple[str, ...]
    written: tuple[str, ...]
    same: bool


def aligned_difference(
    wanted: Sequence[str], written: Sequence[str], *, key: Callable[[str], str] = str
) -> tuple[Piece, ...]:
    """Both sequences cut into pieces that agree and pieces that differ, in order; nothing is left out of either.

    Words agree if their keys are equal: str.lower compares without case. The alignment keeps the longest common blocks
    (difflib), which is not always the fewest edits.
    """
    matcher = SequenceMatcher(None, [key(word) for word in wanted], [key(word) for word in written], autojunk=False)
    blocks = matcher.get_opcodes()
    return tuple(Piece(tuple(wanted[a:b]), tuple(written[c:d]), tag == "equal") for tag, a, b, c, d in blocks)
