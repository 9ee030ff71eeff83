"""What One weight asks of a run: why does this key get this weight?"""

from __future__ import annotations

import numpy as np

from viz_transformer.analysis.weight.ladder import Ladder
from viz_transformer.model.kinds import KINDS
from viz_transformer.numerals import number, percent, scientific, significant
from viz_transformer.ui.frame.questions import Question, cited
from viz_transformer.ui.session.runs import Shown

LARGEST_POWER = 700.0
"""Above it e to that power is written as a power of ten: it soon is more than a float64 holds."""


def question(shown: Shown, found: Ladder) -> Question:
    """Its score beside the largest other score of the row: the softmax turns their difference into a ratio."""
    cell, row = found.cell, found.row
    keys = KINDS[cell.kind].keys.of(shown.trace.src_tokens, shown.trace.tgt_tokens)
    key, weight = cited(keys[cell.key]), float(row.weights[cell.key])
    asks = f"Why does {key} get {percent(weight)} of the weight?"
    if np.isnan(weight):
        asks = f"Why is the weight of {key} not a number?"
        if not row.mask.any():
            return Question(asks, "Every key is masked: each score is −∞, so the softmax divides 0 by 0.")
        return Question(asks, "Because a score of the row is not a number, and so is the sum over all keys.")
    if not row.mask[cell.key]:
        return Question(asks, "Because the mask closes it to this query.")
    others = row.mask.copy()
    others[cell.key] = False
    score = float(row.scores[cell.key])
    if not np.isfinite(row.scores[row.mask]).all():
        return Question(asks, "Because a score of the row is not a number.")
    if not others.any():
        return Question(asks, "Because it is the only key that this query may read.")
    best = int(np.where(others, row.scores, -np.inf).argmax())
    gap, other = score - float(row.scores[best]), cited(keys[best])
    if gap == 0:
        return Question(asks, f"Because its score, {significant(score)}, is exactly that of {other}.")
    more, who = ("above", "so it") if gap > 0 else ("below", "which")
    power, ratio = _power_and_ratio(abs(gap))
    said = f"Its score, {significant(score)}, is {power} {more} that of {other}, {who} gets"
    return Question(asks, f"{said} e^{power} = {ratio} times as much.")


def _power_and_ratio(gap: float) -> tuple[str, str]:
    """The gap, and e to the power of it with three digits: the gap with as many as give these with a calculator."""
    if gap > LARGEST_POWER:
        return significant(gap), f"10^{number(gap / np.log(10), 0)}"
    times = float(significant(np.exp(gap), 3))
    ratio = scientific(times) if times >= 1e9 else number(times, 0, ",") if times >= 100 else significant(times, 3)
    texts = (significant(gap, digits) for digits in range(3, 18))
    power = next(text for text in texts if float(text) == gap or float(significant(np.exp(float(text)), 3)) == times)
    return power, ratio
