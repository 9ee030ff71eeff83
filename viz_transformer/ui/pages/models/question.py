"""What Models asks: how good is this model?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from viz_transformer.checkpoint import describe
from viz_transformer.ui.frame.questions import Question
from viz_transformer.ui.pages.models.view import metric_lines

ONE_LINE = 104
"""Characters that stand beside each other in a window of 1,280 pixels."""


def question(name: str, card: Mapping[str, Any]) -> Question:
    """The first measurement of its card, as the card shows it, as far as it stands on one line."""
    asks = f"How good is {name}?"
    if not describe.metrics(card):
        return Question(asks, "It has not been measured.")
    value, *rest = (line for _, line in metric_lines(card))
    answer = f"{value} {rest[0]}" if rest else value
    for line in rest[1:]:
        if len(f"{asks} {answer}, {line}.") > ONE_LINE:
            break
        answer = f"{answer}, {line}"
    return Question(asks, f"{answer}.")
