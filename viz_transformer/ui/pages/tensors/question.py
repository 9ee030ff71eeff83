"""What Tensors asks of a run: what is in this point?"""

from __future__ import annotations

from viz_transformer.analysis.tensors.points import PointView, Statistics
from viz_transformer.numerals import in_words, percent
from viz_transformer.ui.frame.questions import Question


def question(view: PointView, whole: Statistics, whose: str) -> Question:
    """How many numbers the point has and between which ends; whose they are, where that is not the run's own."""
    asks = f"What is in {view.name}?"
    if view.scale == "mask":
        share = percent((whole.count - whole.zeros) / whole.count if whole.count else 0)
        return Question(asks, f"{share} of {whole.count:,} cells are open.")
    if not whole.finite:
        return Question(asks, f"None of its {whole.count:,} values is a finite number.")
    of = "" if whose == "the run" else f" of {whose}"
    ends = f"from {in_words(whole.minimum)} to {in_words(whole.maximum)}, mean {in_words(whole.mean)}"
    return Question(asks, f"{whole.count:,} numbers{of} {ends}.")
