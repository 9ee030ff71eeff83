"""The answer of a run in large, above its texts."""

from __future__ import annotations

NOTHING = "(nothing but special tokens)"
LARGE = 70
"""A longer answer does not fit into one line in large type at 1280 pixels."""


def style(answer: str, lead: str = "") -> str:
    """The class of an answer, which is set smaller where it is long."""
    return f"vt-answer{' vt-answer-long' if len(lead) + len(answer) > LARGE else ''}"
