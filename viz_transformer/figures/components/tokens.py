"""Tokens for the components: what the model reads, and what was typed where that differs."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from viz_transformer.analysis.attention.axes import Texts


def token_data(
    tokens: Sequence[str],
    originals: Sequence[str] | None = None,
    *,
    special: Collection[int] = (),
) -> list[dict[str, Any]]:
    """The data of each token, as in `Texts.data`; `special` holds the positions of special tokens."""
    return Texts(tokens, originals, special).data()
