"""The question of One weight: why does this key get this weight?

At its stop of the tour: how it comes about.
"""

from __future__ import annotations

import math

import numpy as np

from viz_transformer.analysis.weight.ladder import Ladder
from viz_transformer.model.kinds import KINDS
from viz_transformer.numerals import number, percent, scientific, significant
from viz_transformer.ui.frame.questions import Question, cite
from viz_transformer.ui.pages.weight import words
from viz_transformer.ui.session.runs import RunView

LARGEST_POWER = 700.0
"""Above this gap, e to its power is written as a power of ten: it soon exceeds a float64."""


def question(shown: RunView, found: Ladder) -> Question:
    """The question, answered with its score and the largest other score of the row: the softmax turns their difference
    into a ratio."""
    cell, row = found.cell, found.row
    keys = KINDS[cell.kind].keys.of(shown.trace.src_tokens, shown.trace.tgt_tokens)
    key, weight = cite(keys[cell.key]), float(row.weights[cell.key])
    asks = words.asks(key, percent(weight))
    if np.isnan(weight):
        asks = words.asks_not_a_number(key)
        if not row.mask.any():
            return Question(asks, words.EVERY_KEY_MASKED)
        return Question(asks, words.SO_IS_THE_SUM)
    if not row.mask[cell.key]:
        return Question(asks, words.MASKED)
    others = row.mask.copy()
    others[cell.key] = False
    score = float(row.scores[cell.key])
    if not np.isfinite(row.scores[row.mask]).all():
        return Question(asks, words.A_SCORE_IS_NOT_A_NUMBER)
    if not others.any():
        return Question(asks, words.ONLY_KEY)
    best = int(np.where(others, row.scores, -np.inf).argmax())
    gap, other = score - float(row.scores[best]), cite(keys[best])
    if gap == 0:
        return Question(asks, words.same_score(significant(score), other))
    power, ratio = _power_and_ratio(abs(gap))
    return Question(asks, words.score_beside(significant(score), other, power, ratio, above=gap > 0))


def _power_and_ratio(gap: float) -> tuple[str, str]:
    """The gap and e to its power with three digits; the gap has enough digits to reproduce these with a calculator."""
    if gap > LARGEST_POWER:
        return significant(gap), f"10^{number(gap / np.log(10), 0)}"
    times = float(significant(np.exp(gap), 3))
    ratio = scientific(times) if times >= 1e9 else number(times, 0, ",") if times >= 100 else significant(times, 3)
    texts = (significant(gap, digits) for digits in range(3, 18))
    power = next(text for text in texts if float(text) == gap or float(significant(np.exp(float(text)), 3)) == times)
    return power, ratio


def at_stop(shown: RunView, found: Ladder) -> tuple[str, ...]:
    """The sentences at the tour's stop: product, divisor, score and softmax; for a masked weight or NaN, the page's
    question and answer."""
    cell, row = found.cell, found.row
    weight = float(row.weights[cell.key])
    if not row.mask[cell.key] or math.isnan(weight) or not np.isfinite(row.scores[row.mask]).all():
        asked = question(shown, found)
        return (f"{asked.asks} {asked.answer}",)
    queries, keys = KINDS[cell.kind].sides(shown.trace.src_tokens, shown.trace.tgt_tokens)
    scalars, config = found.lines["divisor"].scalars, shown.trace.config
    root = {"sqrt-head-dim": f" (√{config.head_dim})", "sqrt-d-model": f" (√{config.d_model})"}.get(config.divisor, "")
    divisor = f"{significant(scalars['divisor'])}{root}"
    dot, score = (significant(scalars[name]) for name in ("dot", "s"))
    bias = significant(scalars["bias"]) if "bias" in scalars else None
    return (
        words.becomes_score(cite(queries[cell.query]), cite(keys[cell.key]), dot, divisor, score, bias=bias),
        words.becomes_weight(int(row.mask.sum()), percent(weight)),
    )
