"""One recorded value: its name, its shape in letters, what it means, and what a written token adds to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Growth = Literal["never", "rows", "rows and keys"]

FUSED_FROM = 512
"""Tokens on both sides from which an attention runs fused; a shorter one is explicit, with the hook and without."""


@dataclass(frozen=True)
class HookPoint:
    """One recorded value. Shape letters: B batch, T positions of this stack, H heads, E head_dim, D d_model,
    F d_ff, V vocabulary, Q queries and K keys of this attention, 1 an axis of length one; of other programs' models
    also G heads that hold keys, shared by several that ask, U features of a head's values, X experts, N features of
    embeddings that are narrower than the stream, and C labels.

    `grows` says what a token that is written adds: nothing where the source alone decides the point, a row, or a row
    and one more key. Of a kind of point that stands in several places it is decided by the place.
    """

    name: str
    shape: tuple[str, ...]
    meaning: str
    grows: Growth = "never"


QUERIES, KEYS, WEIGHTS = ("B", "H", "Q", "E"), ("B", "H", "K", "E"), ("B", "H", "Q", "K")
"""Shapes of what an attention makes for each head."""
