"""Tokens as the components draw them: what the model reads, and what was typed where that is something else."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from viz_transformer.figures import labels

LONGEST = 200


def token_data(
    tokens: Sequence[str],
    originals: Sequence[str] | None = None,
    *,
    special: Collection[int] = (),
) -> list[dict[str, Any]]:
    """One small dict a token: text, `note` for what was typed if the model reads something else, special.

    Texts are visible ones: signs for white space, code points for what has no shape, shortened at 200 columns.
    `special` holds the positions of special tokens. Another case of what was typed is the same.
    """
    originals = tokens if originals is None else originals
    return [
        _data(token, original, position in special)
        for position, (token, original) in enumerate(zip(tokens, originals, strict=True))
    ]


def _data(token: str, original: str, special: bool) -> dict[str, Any]:
    data: dict[str, Any] = {"text": labels.shorten(labels.visible(token), LONGEST)}
    if original.lower() != token.lower():
        data["note"] = labels.shorten(labels.visible(original), LONGEST)
    if special:
        data["special"] = True
    return data
