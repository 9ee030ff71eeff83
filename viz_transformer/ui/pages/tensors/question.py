"""What Tensors asks of a run: what is in this point?"""

from __future__ import annotations

from viz_transformer.analysis.tensors.points import PointView, Statistics
from viz_transformer.numerals import percent, significant
from viz_transformer.ui.frame.questions import Question


def question(view: PointView, whole: Statistics, whose: str) -> Question:
    """How many numbers the point has, between which ends, and where they are from."""
    asks = f"What is in {view.name}?"
    if view.scale == "mask":
        share = percent((whole.count - whole.zeros) / whole.count if whole.count else 0)
        return Question(asks, f"{view.sizes}: {share} of {whole.count:,} cells are open.")
    if not whole.finite:
        return Question(asks, f"{view.sizes}: none of its {whole.count:,} values is a finite number.")
    origin = {"recorded": f"recorded in {whose}", "derived": "derived from recorded points"}.get(view.origin, whose)
    ends = f"from {significant(whole.minimum)} to {significant(whole.maximum)}, mean {significant(whole.mean)}"
    return Question(asks, f"{whole.count:,} numbers, {view.sizes}, {ends}; {origin}.")
