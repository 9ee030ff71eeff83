"""One recorded value: name, shape in letters, meaning, and how it grows per generated token."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Growth = Literal["never", "rows", "rows and keys"]

FUSED_FROM = 512
"""Tokens on both sides from which attention runs fused, recorded or not."""


@dataclass(frozen=True)
class HookPoint:
    """One recorded value.

    Shape letters: B batch, T positions of this stack, H heads, E head_dim, D d_model, F d_ff, V vocabulary, Q queries,
    K keys, 1 a singleton axis. Other programs' models also have G key heads (shared by query heads), U features of a
    value, X experts, N features of embeddings narrower than the stream, and C labels.
    """

    name: str
    shape: tuple[str, ...]
    meaning: str
    grows: Growth = "never"
    """What a generated token adds: nothing (the source alone determines the point), a row, or a row and a key."""


QUERIES, KEYS, WEIGHTS = ("B", "H", "Q", "E"), ("B", "H", "K", "E"), ("B", "H", "Q", "K")
"""Shapes of an attention's per-head points."""
