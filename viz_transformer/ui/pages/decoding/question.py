"""What Decoding asks of a run, by its tab: what else could have been written, by which branch, beam or text?"""

from __future__ import annotations

import math

from viz_transformer.analysis.attention.maps import step_row
from viz_transformer.analysis.decoding.caching import cache_of_run
from viz_transformer.analysis.decoding.doubt import most_doubtful
from viz_transformer.analysis.decoding.scoring import TargetScore, run_score
from viz_transformer.figures import labels
from viz_transformer.model.instrument import NotTold
from viz_transformer.numerals import exponential, nth, percent, significant
from viz_transformer.ui.frame.questions import Question, cited
from viz_transformer.ui.pages.decoding import words
from viz_transformer.ui.session import state
from viz_transformer.ui.session.how import Branch
from viz_transformer.ui.session.runs import Shown

OTHERS = 2
LONGEST_ANSWER = 48


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


def of_tab(tab: str, shown: Shown, position: int) -> Question | None:
    """The question of a tab; of the step where it has none. None where the tab has to say why there is no answer."""
    if tab == "branches":
        return branches(shown, state.SHARED.now().branches)
    if tab == "tree":
        return tree(shown)
    try:
        return cache(shown) if tab == "cache" else question(shown, position)
    except NotTold:
        return None


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


def branches(shown: Shown, grown: tuple[Branch, ...]) -> Question:
    """Where other answers leave this one; without any, where the model is least sure of it."""
    if grown:
        named = [f"{cited(branch.name)} from {words.at_step(branch.step)}" for branch in grown]
        count = "One branch" if len(grown) == 1 else f"{len(grown)} branches"
        return Question(words.ASKS_BRANCHES, f"{count}: {', '.join(named)}.")
    steps = shown.run.steps
    if not steps or math.isnan(steps[most_doubtful(steps)].log_prob):
        return Question(words.ASKS_BRANCHES, words.NONE_YET)
    step = steps[most_doubtful(steps)]
    best = [f"{cited(each.token)} {percent(exponential(each.log_prob))}" for each in step.candidates[:2]]
    return Question(
        words.ASKS_BRANCHES, f"None yet. The model is least sure at {words.at_step(step.index)}: {' or '.join(best)}."
    )


def tree(shown: Shown) -> Question:
    """Which hypothesis of a beam search won, and by how much."""
    found = shown.run.tree
    if found is None:
        return Question("Which hypothesis won?", words.no_search(str(shown.run.steps[0].choosing.strategy)))
    going = sorted((node for node in found.nodes if node.fate == "stopped"), key=lambda node: node.score, reverse=True)
    rivals = found.finished or going
    answer = found.nodes[found.answer]
    others = [node for node in rivals if node.index != answer.index]
    written = labels.shorten(labels.sentence(shown.run.text), LONGEST_ANSWER)
    said = f"“{labels.isolated(written)}”, score {words.log_probability(answer.score)}"
    if not others:
        ended = "finished" if found.finished else "was still going"
        return Question("Which hypothesis won?", f"{said}: the only one that {ended}.")
    return Question(
        f"Which of {len(others) + 1} hypotheses won?", f"{said}; the next has {words.log_probability(others[0].score)}."
    )


def cache(shown: Shown) -> Question:
    """How much of the decoder's work the cache saved. Raises NotTold for a model that does not state its sizes."""
    if not shown.trace.info.get("cached"):
        return Question(words.ASKS_CACHE, words.NO_CACHE)
    steps = cache_of_run(shown.run)
    ours, whole = (sum(getattr(step, name).total for step in steps) for name in ("cached", "whole"))
    return Question(
        words.ASKS_CACHE,
        f"{percent(1 - ours / whole)} of the decoder’s multiply-adds: {_short(ours)} instead of {_short(whole)}.",
    )


def score(shown: Shown, typed: Shown | None) -> Question:
    """How probable a text is to the model: a typed one beside the model's own answer, or that alone."""
    own = run_score(shown.run)
    if typed is None:
        asks = "How probable is this answer to the model?"
        return Question(asks, f"{_total(own)}, or {words.log_probability(own.mean)} per token.")
    beside = _total(own)
    return Question(
        "How probable is your text to the model?",
        f"{_total(run_score(typed.run))}; its own answer: {beside[:1].lower()}{beside[1:]}.",
    )


def _total(found: TargetScore) -> str:
    count = len(found.tokens)
    return f"Log-probability {words.log_probability(found.total)} over {count} {'token' if count == 1 else 'tokens'}"


def _short(count: int) -> str:
    """A count of operations with three digits: 1.23 million."""
    for size, name in ((1e9, "billion"), (1e6, "million")):
        if count >= size:
            return f"{significant(count / size, 3)} {name}"
    return f"{count:,}"
