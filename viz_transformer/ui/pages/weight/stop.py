"""What One weight says at its stop of the tour: how the chosen weight comes about."""

from __future__ import annotations

import math

import numpy as np

from viz_transformer.analysis.weight.ladder import Ladder
from viz_transformer.model.kinds import KINDS
from viz_transformer.numerals import percent, significant
from viz_transformer.ui.frame.questions import cited
from viz_transformer.ui.pages.weight.question import question
from viz_transformer.ui.session.runs import Shown

PRODUCT = "q\N{NO-BREAK SPACE}·\N{NO-BREAK SPACE}k"


def words(shown: Shown, found: Ladder) -> tuple[str, ...]:
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
    divided = f"divided by {significant(scalars['divisor'])}{root}"
    dot, score = (significant(scalars[name]) for name in ("dot", "s"))
    added = f", plus {significant(scalars['bias'])} for the distance," if "bias" in scalars else ","
    open_keys = int(row.mask.sum())
    which = f"the scores of all {open_keys:,} tokens" if open_keys > 1 else "this one score alone"
    return (
        f"The query of {cited(queries[cell.query])} and the key of {cited(keys[cell.key])} give {PRODUCT} = {dot};"
        f" {divided}{added} that is a score of {score}.",
        f"Softmax over {which} turns it into a weight of {percent(weight)}.",
    )
