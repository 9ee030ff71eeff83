"""What Tensors asks of a run: what is in this point?"""

from __future__ import annotations

from viz_transformer.analysis.tensors.points import PointView, Statistics
from viz_transformer.ui.frame.questions import Question
from viz_transformer.ui.pages.tensors import words


def left_out(found: Statistics) -> str:
    """How many of these values are not a number, and how many infinite."""
    return words.left_out(found.count, found.not_a_number, found.infinite)


def question(view: PointView, whole: Statistics, whose: str) -> Question:
    """How many numbers the point has and between which ends; whose they are, where that is not the run's own."""
    asks = words.asks(view.name)
    if view.scale == "mask":
        return Question(asks, words.open_cells(whole.count, whole.count - whole.zeros))
    if not whole.finite:
        return Question(asks, words.none_is(whole.count, whole.not_a_number, whole.infinite))
    of, ends = "" if whose == "the run" else whose, (whole.minimum, whole.maximum)
    if whole.finite < whole.count:
        return Question(asks, words.other_values(left_out(whole), whole.finite, of, ends, whole.mean))
    return Question(asks, words.values(whole.count, of, ends, whole.mean))
