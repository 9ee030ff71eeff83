"""The same answers under several measures: this project's, and those of two tutorials, which give other numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from viz_transformer.analysis.models.answers import PairAnswer
from viz_transformer.checkpoint import Checkpoint
from viz_transformer.measuring.answering import TokenScores, scores_of_each, sides
from viz_transformer.measuring.evaluation import wilson


@dataclass(frozen=True)
class TokenCounts:
    """Pairs under several measures; fractions are 0 to 1, losses in nats."""

    pairs: int
    right: int
    """Answers that equal their target from end to end."""
    low: float
    """Lower end of the Wilson 95 % interval of that fraction."""
    high: float
    """Its upper end."""
    next_right: float
    """Fraction of the target tokens, end tokens included, that were the most probable next token."""
    positions: float
    """Accuracy as the UPC lab counts it, see `equal_positions`."""
    loss: float
    """Mean over all target tokens."""
    text_loss: float
    """As in the FSU tutorial: the mean over texts of each text's mean, so tokens of short texts weigh more."""


def token_counts(ckpt: Checkpoint, answers: Sequence[PairAnswer]) -> TokenCounts:
    """The answers of `greedy_answers` and their targets, counted.

    Raises ValueError without answers, and for targets that the model cannot read.
    """
    if not answers:
        raise ValueError("there is no answer to count")
    scores = scores_of_each(ckpt, [(answer.source, answer.wanted) for answer in answers])
    whole = sum(scores, TokenScores())
    right = sum(answer.right for answer in answers)
    return TokenCounts(
        len(answers),
        right,
        *wilson(right, len(answers)),
        next_right=whole.right / whole.tokens,
        positions=equal_positions(ckpt, answers),
        loss=-whole.log_prob / whole.tokens,
        text_loss=sum(-each.log_prob / each.tokens for each in scores) / len(scores),
    )


def equal_positions(ckpt: Checkpoint, answers: Sequence[PairAnswer]) -> float:
    """The share of positions at which answer and target have the same id, start, end and padding counted.

    All rows are filled up, or cut, to the longest target; the start token is in both. So a short answer is right
    wherever there is padding, and a single missing token makes everything after it wrong.
    """
    side = sides(ckpt)
    pad = side.end if side.target.padding is None else side.target.padding
    wanted = [[*_strip_ends(side.target.encode(answer.wanted).ids, side.bos, side.end)] for answer in answers]
    width = max(map(len, wanted)) + 2
    most = ckpt.spec.max_target
    equal = 0
    for answer, ids in zip(answers, wanted, strict=True):
        ended = [side.end] if len(answer.ids) < most else []
        rows = ([side.bos, *answer.ids, *ended], [side.bos, *ids, side.end])
        filled = [[*row, *[pad] * width][:width] for row in rows]
        equal += sum(a == b for a, b in zip(*filled, strict=True))
    return equal / (len(answers) * width)


def _strip_ends(ids: Sequence[int], bos: int, eos: int) -> Sequence[int]:
    """Ids without start and end token, whether or not the codec adds them."""
    ids = ids[1:] if ids and ids[0] == bos else ids
    return ids[:-1] if ids and ids[-1] == eos else ids
