"""Tokens as the components draw them: what the model reads, and what was typed where that is something else."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from viz_transformer.analysis.attention.picture import Texts


def token_data(
    tokens: Sequence[str],
    originals: Sequence[str] | None = None,
    *,
    special: Collection[int] = (),
) -> list[dict[str, Any]]:
    """One small dict a token, as `Texts.data` makes it; `special` holds the positions of special tokens."""
    return Texts(tokens, originals, special).data()
