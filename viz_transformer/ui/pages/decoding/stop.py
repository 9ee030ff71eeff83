"""What Decoding says at its stop of the tour: how sure the model was of a token, and what came next."""

from __future__ import annotations

import math

from viz_transformer.analysis.attention.maps import step_row
from viz_transformer.numerals import exponential, percent
from viz_transformer.ui.frame.questions import cited
from viz_transformer.ui.pages.decoding.question import question
from viz_transformer.ui.pages.decoding.words import (
    BOUNDS_IN_PROSE,
    NOTHING_WRITTEN,
    next_best,
    of_share,
    of_tokens,
    was_given,
    wrote_highest,
    wrote_other,
)
from viz_transformer.ui.session.runs import RunView


def words(shown: RunView, position: int) -> tuple[str, ...]:
    """The probability of the token that the chosen row's step wrote, and the likeliest other one."""
    steps, at = shown.run.steps, position - step_row(shown.run, 0)
    if not steps:
        return (NOTHING_WRITTEN,)
    step = steps[min(max(at, 0), len(steps) - 1)]
    if math.isnan(step.log_prob):
        asked = question(shown, position)
        return () if asked is None else (f"{asked.asks} {asked.answer}",)
    told = cited(step.token), in_prose(step.log_prob), of_tokens(step.rank, len(step.vocabulary))
    others = [other for other in step.candidates if other.token_id != step.token_id]
    said = (was_given if step.forced else wrote_other if step.rank else wrote_highest)(*told)
    if not others:
        return (said,)
    return said, next_best(cited(others[0].token), in_prose(others[0].log_prob, alone=True), is_first=bool(step.rank))


def in_prose(log_prob: float, *, alone: bool = False) -> str:
    """A probability as a sentence says it: "of 55.4 %", "above 99.9 %"; `alone`: "55.4 %", "below 0.1 %"."""
    said = percent(exponential(log_prob))
    if bound := BOUNDS_IN_PROSE.get(said[0]):
        return f"{bound}{said[1:]}"
    return said if alone else of_share(said)
