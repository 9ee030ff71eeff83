"""What Tensors asks of a run: what is in this point?"""

from __future__ import annotations

from viz_transformer.analysis.tensors.points import PointView, Statistics
from viz_transformer.numerals import in_words, percent
from viz_transformer.ui.frame.questions import Question


def left_out(found: Statistics) -> str:
    """How many values are not a number, and how many infinite: "12 of 616 values are not a number"."""
    said = [
        f"{count:,} {of}{'is' if count == 1 else 'are'} {what}"
        for count, of, what in (
            (found.not_a_number, f"of {found.count:,} values ", "not a number"),
            (found.infinite, "" if found.not_a_number else f"of {found.count:,} values ", "infinite"),
        )
        if count
    ]
    return " and ".join(said)


def question(view: PointView, whole: Statistics, whose: str) -> Question:
    """How many numbers the point has and between which ends; whose they are, where that is not the run's own."""
    asks = f"What is in {view.name}?"
    if view.scale == "mask":
        share = percent((whole.count - whole.zeros) / whole.count if whole.count else 0)
        return Question(asks, f"{share} of {whole.count:,} cells are open.")
    if not whole.finite:
        mixed = whole.not_a_number and whole.infinite
        which = "a finite number" if mixed else "a number" if whole.not_a_number else "finite"
        return Question(asks, f"None of its {whole.count:,} values is {which}.")
    of = "" if whose == "the run" else f" of {whose}"
    if whole.finite < whole.count:
        strange = f"{left_out(whole)}{of}; the other {whole.finite:,} go"
        return Question(
            asks, f"{strange} from {in_words(whole.minimum)} to {in_words(whole.maximum)}, mean {in_words(whole.mean)}."
        )
    ends = f"from {in_words(whole.minimum)} to {in_words(whole.maximum)}, mean {in_words(whole.mean)}"
    return Question(asks, f"{whole.count:,} numbers{of} {ends}.")
