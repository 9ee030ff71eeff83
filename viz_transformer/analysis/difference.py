"""An answer beside the text that was asked for, aligned word by word."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher


@dataclass(frozen=True)
class Piece:
    """Words that stand on one side, or on both: `same` says whether they agree."""

    wanted: tuple[str, ...]
    written: tuple[str, ...]

    @property
    def same(self) -> bool:
        return self.wanted == self.written


def aligned_difference(wanted: Sequence[str], written: Sequence[str]) -> tuple[Piece, ...]:
    """Both sequences cut into pieces that agree and pieces that differ, in order; nothing is left out of either.

    The alignment keeps the longest common blocks (difflib), which is not always the fewest edits.
    """
    blocks = SequenceMatcher(None, list(wanted), list(written), autojunk=False).get_opcodes()
    return tuple(Piece(tuple(wanted[a:b]), tuple(written[c:d])) for _, a, b, c, d in blocks)
