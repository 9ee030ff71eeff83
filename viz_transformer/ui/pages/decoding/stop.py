"""What Decoding says at its stop of the tour: how sure the model was of a token, and what came next."""

from __future__ import annotations

import math

from viz_transformer.analysis.attention.maps import step_row
from viz_transformer.numerals import exponential, percent
from viz_transformer.ui.frame.questions import cited
from viz_transformer.ui.pages.decoding.question import question
from viz_transformer.ui.session.runs import Shown


def words(shown: Shown, position: int) -> tuple[str, ...]:
    """The probability of the token that the chosen row's step wrote, and the likeliest other one."""
    steps, at = shown.run.steps, position - step_row(shown.run, 0)
    if not steps:
        return ("Nothing was written in this run.",)
    step = steps[min(max(at, 0), len(steps) - 1)]
    if math.isnan(step.log_prob):
        asked = question(shown, position)
        return () if asked is None else (f"{asked.asks} {asked.answer}",)
    token, own = cited(step.token), in_prose(step.log_prob)
    others = [other for other in step.candidates if other.token_id != step.token_id]
    of = f"of {len(step.vocabulary):,} tokens"
    if step.forced:
        said = f"{token} was given, not chosen; the model gave it a probability {own}, {_rank(step.rank)} {of}."
    elif step.rank:
        said = f"The model wrote {token}, to which it gave a probability {own}: {_rank(step.rank)} {of}."
    else:
        said = f"The model gave {token} a probability {own}, the highest {of}, and wrote it."
    if not others:
        return (said,)
    role = "The likeliest" if step.rank else "The runner-up"
    return said, f"{role}, {cited(others[0].token)}, had {in_prose(others[0].log_prob, alone=True)}."


def _rank(rank: int) -> str:
    return "the highest" if rank == 0 else f"number {rank + 1:,}"


def in_prose(log_prob: float, *, alone: bool = False) -> str:
    """A probability as a sentence says it: "of 55.4 %", "above 99.9 %"; `alone`: "55.4 %", "below 0.1 %"."""
    said = percent(exponential(log_prob))
    word = {"<": "below ", ">": "above "}.get(said[0])
    return said if word is None and alone else f"of {said}" if word is None else f"{word}{said[1:]}"
