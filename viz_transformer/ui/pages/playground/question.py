"""What each part of the Playground asks, answered with the numbers as they stand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from viz_transformer.analysis.playground.by_hand import Attended, Growth, Normalised, entropy
from viz_transformer.numerals import number, percent, significant
from viz_transformer.ui.frame.questions import Question

if TYPE_CHECKING:
    from viz_transformer.analysis.playground.experiments import Copying, Rebuild


def attention(found: Attended, *, name: str = "q") -> Question:
    """Which key the first query weighs most, and by how much its score is the largest."""
    asks = f"Which key does {name}0 weigh most, and why?"
    if not found.mask[0].any():
        return Question(asks, "None: every key is closed to it.")
    at = int(found.weights[0].argmax())
    score, product = found.scores[0, at], found.products[0, at]
    return Question(
        asks,
        f"k{at} ({percent(float(found.weights[0, at]))}): q · k = {significant(float(product))}; divided by"
        f" {significant(found.divisor)} that is {significant(float(score))}, the largest score.",
    )


def simplex(found: Attended) -> Question:
    """How far the first query's weights are from even."""
    bits, keys = float(entropy(found.weights)[0]), found.weights.shape[1]
    even = float(entropy([[1 / keys] * keys])[0])
    at = int(found.weights[0].argmax())
    most = percent(float(found.weights[0, at]))
    return Question(
        "How far is q0 from looking everywhere?",
        f"Its entropy is {number(bits, 2)} of {number(even, 2)} bits; most weight, {most}, is on k{at}.",
    )


def scaling(found: Growth) -> Question:
    """What is left of a row's entropy at the largest size, with the division and without."""
    at = len(found.sizes) - 1
    with_, without = (number(float(found.entropy[scaled][at]), 2) for scaled in (True, False))
    return Question(
        "Why divide by √d_k?",
        f"At d_k = {found.sizes[at]:,} attention keeps {with_} of {number(found.even, 2)} bits of entropy; without,"
        f" {without}.",
    )


def norms(found: Sequence[Normalised], names: Sequence[str]) -> Question:
    """How many numbers share a mean in each norm."""
    each = ", ".join(f"{name} {norm.pooled}" for norm, name in zip(found, names, strict=True))
    return Question("How many numbers share one mean and one variance?", f"Of {found[0].x.size}: {each}.")


def rebuild(work: Rebuild | None) -> Question:
    """Which network gives its input back better."""
    asks = "Do several heads give the input back better than one?"
    if work is None or not work.done:
        return Question(asks, "Start the training to see.")
    losses = [float(work.losses[place, work.done - 1]) for place in range(len(work.names))]
    said = ", ".join(f"{name} {loss:.1e}" for name, loss in zip(work.names, losses, strict=True))
    return Question(asks, f"Mean squared error after {work.done:,} steps: {said}.")


def copying(work: Copying | None) -> Question:
    """Which decoder has learned to copy when it reads its own letters."""
    asks = "Can a decoder learn to copy without the causal mask?"
    if work is None or not work.done:
        return Question(asks, "Start the training to see.")
    said = ", ".join(f"{name} {percent(each.whole)}" for name, each in zip(work.names, work.now, strict=True))
    return Question(asks, f"Whole copies right after {work.done:,} steps: {said}.")
