"""What Models asks: how good is this model?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from viz_transformer.checkpoint import describe
from viz_transformer.ui.frame.questions import Question
from viz_transformer.ui.pages.models.view import metric_lines


def question(name: str, card: Mapping[str, Any]) -> Question:
    """The first measurement of its card, as the card shows it."""
    asks = f"How good is {name}?"
    if not describe.metrics(card):
        return Question(asks, "It has not been measured.")
    value, *rest = (line for _, line in metric_lines(card))
    return Question(asks, f"{value} {', '.join(rest)}.")
