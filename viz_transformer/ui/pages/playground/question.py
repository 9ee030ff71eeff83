"""The question of each part of the Playground, answered with the current numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from viz_transformer.analysis.playground.by_hand import Attended, Growth, Normalised, entropy
from viz_transformer.ui.frame.questions import Question
from viz_transformer.ui.pages.playground import words

if TYPE_CHECKING:
    from viz_transformer.analysis.playground.experiments import Copying, Rebuild


def attention(found: Attended, *, name: str = "q") -> Question:
    """The question on the key with most weight for the first query, with its score."""
    asks = words.which_key(name)
    if not found.mask[0].any():
        return Question(asks, words.ALL_MASKED)
    at = int(found.weights[0].argmax())
    numbers = (found.weights[0, at], found.products[0, at], found.divisor, found.scores[0, at])
    return Question(asks, words.largest_score(at, *map(float, numbers)))


def simplex(found: Attended) -> Question:
    """The question on how far the first query's weights are from even."""
    bits, keys = float(entropy(found.weights)[0]), found.weights.shape[1]
    even = float(entropy([[1 / keys] * keys])[0])
    at = int(found.weights[0].argmax())
    return Question(words.HOW_FAR, words.row_entropy(bits, even, float(found.weights[0, at]), at))


def scaling(found: Growth) -> Question:
    """The question on a row's entropy at the largest size, scaled and not."""
    at = len(found.sizes) - 1
    scaled, plain = (float(found.entropy[scaled][at]) for scaled in (True, False))
    return Question(words.WHY_DIVIDE, words.entropy_kept(found.sizes[at], scaled, plain, found.even))


def norms(found: Sequence[Normalised], names: Sequence[str]) -> Question:
    """The question on how many numbers share a mean in each norm."""
    each = [(name, norm.pooled) for norm, name in zip(found, names, strict=True)]
    return Question(words.WHICH_SHARE, words.shared_by(found[0].x.size, each))


def rebuild(work: Rebuild | None) -> Question:
    """The question on which network reconstructs its input better."""
    if work is None or not work.done:
        return Question(words.SEVERAL_HEADS, words.START_FIRST)
    losses = [float(work.losses[place, work.done - 1]) for place in range(len(work.names))]
    each = list(zip(work.names, losses, strict=True))
    return Question(words.SEVERAL_HEADS, words.errors_after(work.done, each))


def copying(work: Copying | None) -> Question:
    """The question on which decoder has learned to copy when it reads its own letters."""
    if work is None or not work.done:
        return Question(words.WITHOUT_MASK, words.START_FIRST)
    each = [(name, now.whole) for name, now in zip(work.names, work.now, strict=True)]
    return Question(words.WITHOUT_MASK, words.copies_after(work.done, each))
