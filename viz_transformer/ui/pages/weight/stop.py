"""What One weight says at its stop of the tour: how the chosen weight comes about."""

from __future__ import annotations

import math

import numpy as np

from viz_transformer.analysis.weight.ladder import Ladder
from viz_transformer.model.kinds import KINDS
from viz_transformer.numerals import percent, significant
from viz_transformer.ui.frame.questions import cited
from viz_transformer.ui.pages.weight.question import question
from viz_transformer.ui.pages.weight.words import becomes_score, becomes_weight
from viz_transformer.ui.session.runs import RunView


def words(shown: RunView, found: Ladder) -> tuple[str, ...]:
    """Product, divisor, score and softmax; of a weight that is masked or not a number, the page's question and its
    answer."""
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
        becomes_score(cited(queries[cell.query]), cited(keys[cell.key]), dot, divisor, score, bias=bias),
        becomes_weight(int(row.mask.sum()), percent(weight)),
    )
