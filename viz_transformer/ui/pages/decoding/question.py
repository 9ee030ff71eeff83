"""What Decoding asks of a run: what else could have been written at this step?"""

from __future__ import annotations

import math

from viz_transformer.analysis.attention.maps import step_row
from viz_transformer.numerals import exponential, nth, percent
from viz_transformer.ui.frame.questions import Question, cited
from viz_transformer.ui.session.runs import Shown

OTHERS = 2


def compared(a: Shown, b: Shown, position: int) -> Question | None:
    """What both runs wrote at the step that this row of A wrote."""
    at = max(0, position - step_row(a.run, 0))
    if not a.run.steps:
        return None
    at = min(at, len(a.run.steps) - 1)
    said = [
        f"{shown.name} {cited(shown.run.steps[at].token)}, {percent(exponential(shown.run.steps[at].log_prob))}"
        if at < len(shown.run.steps)
        else f"{shown.name} nothing: it had ended after {len(shown.run.steps)} tokens"
        for shown in (a, b)
    ]
    return Question(f"What did A and B write at step {nth(at)}?", f"{'; '.join(said)}.")


def question(shown: Shown, position: int) -> Question | None:
    """The token of the step that this row wrote, and the ones that the model found most probable beside it."""
    steps, at = shown.run.steps, position - step_row(shown.run, 0)
    if not steps:
        return None
    step = steps[min(max(at, 0), len(steps) - 1)]
    asks = f"What could it have written at step {nth(step.index)}?"
    if math.isnan(step.log_prob):
        unknown = f"Not known: the probabilities are not numbers, so {cited(step.token)} is not the most probable one."
        return Question(asks, unknown)
    own = f"{cited(step.token)} has {percent(exponential(step.log_prob))}"
    others = [other for other in step.candidates if other.token_id != step.token_id][:OTHERS]
    said = [f"{cited(other.token)} {percent(exponential(other.log_prob))}" for other in others]
    tied = int((step.log_probs == step.log_prob).sum()) - 1
    if tied and not step.rank:
        names = [cited(other.token) for other in others[:tied]]
        names = [", ".join(names), f"{tied - len(names):,} more"] if tied > len(names) else names
        own += f", as probable as {' and '.join(names)}"
        said = said[tied:]
        answer = f"{own}, then {said[0]}." if said else f"{own}."
    elif not said:
        answer = f"nothing: {own}, and the vocabulary has no other token."
    elif step.rank:
        answer = f"{' or '.join(said)}; what was written, {own}."
    else:
        answer = f"{own}, then {' and '.join(said)}."
    return Question(asks, answer[:1].upper() + answer[1:])
