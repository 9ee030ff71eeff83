"""The questions of Decoding, by tab: what else could have been written, by which branch, beam or text?

At its stop of the tour: how sure the model was of a token, and what came next.
"""

from __future__ import annotations

import math

from viz_transformer.analysis.attention.maps import step_row
from viz_transformer.analysis.decoding.caching import cache_of_run
from viz_transformer.analysis.decoding.doubt import most_doubtful
from viz_transformer.analysis.decoding.scoring import TargetScore, run_score
from viz_transformer.figures import labels
from viz_transformer.numerals import exponential, percent, significant
from viz_transformer.running.step import Candidate
from viz_transformer.ui.frame.questions import Question, cite
from viz_transformer.ui.pages.decoding import words
from viz_transformer.ui.session.generation_config import Branch
from viz_transformer.ui.session.runs import RunView

OTHERS = 2
LONGEST_ANSWER = 48


def compared(a: RunView, b: RunView, position: int) -> Question | None:
    """The question on what both runs wrote at the step of this row of A."""
    at = max(0, position - step_row(a.run, 0))
    if not a.run.steps:
        return None
    at = min(at, len(a.run.steps) - 1)
    return Question(words.asks_both(at), words.both_wrote([_describe_written(a, at), _describe_written(b, at)]))


def _describe_written(shown: RunView, at: int) -> str:
    steps = shown.run.steps
    if at >= len(steps):
        return words.had_ended(shown.name, len(steps))
    return words.wrote(shown.name, cite(steps[at].token), percent(exponential(steps[at].log_prob)))


def question(shown: RunView, position: int) -> Question | None:
    """The question on the token that this row wrote, answered with the most probable alternatives."""
    steps, at = shown.run.steps, position - step_row(shown.run, 0)
    if not steps:
        return None
    step = steps[min(max(at, 0), len(steps) - 1)]
    asks, token = words.asks_step(step.index), cite(step.token)
    if math.isnan(step.log_prob):
        return Question(asks, words.not_numbers(token))
    share = percent(exponential(step.log_prob))
    own = words.has(token, share)
    others = [other for other in step.candidates if other.token_id != step.token_id][:OTHERS]
    said = [_format_candidate(other) for other in others]
    tied = int((step.log_probs == step.log_prob).sum()) - 1
    if tied and not step.rank:
        names = [cite(other.token) for other in others[:tied]]
        own = words.tied_with(own, names, tied - len(names))
        return Question(asks, words.then(own, said[tied:]))
    if not said:
        return Question(asks, words.only_token(own))
    return Question(asks, words.not_first(said, token, share) if step.rank else words.then(own, said))


def branches(shown: RunView, grown: tuple[Branch, ...]) -> Question:
    """The question on where other answers diverge; without any, on where the model is least sure."""
    if grown:
        named = [words.branch_from(cite(branch.name), branch.step) for branch in grown]
        return Question(words.ASKS_BRANCHES, words.branches_are(named))
    steps = shown.run.steps
    if not steps or math.isnan(steps[most_doubtful(steps)].log_prob):
        return Question(words.ASKS_BRANCHES, words.NONE_YET)
    step = steps[most_doubtful(steps)]
    best = [_format_candidate(each) for each in step.candidates[:2]]
    return Question(words.ASKS_BRANCHES, words.least_sure(step.index, best))


def _format_candidate(candidate: Candidate) -> str:
    return words.with_share(cite(candidate.token), percent(exponential(candidate.log_prob)))


def tree(shown: RunView) -> Question:
    """The question on which hypothesis of a beam search won, and by how much."""
    found = shown.run.tree
    if found is None:
        return Question(words.ASKS_TREE, words.no_search(str(shown.run.steps[0].choosing.strategy)))
    going = sorted((node for node in found.nodes if node.fate == "stopped"), key=lambda node: node.score, reverse=True)
    rivals = found.finished or going
    answer = found.nodes[found.answer]
    others = [node for node in rivals if node.index != answer.index]
    written = labels.isolate(labels.shorten(labels.sentence(shown.run.text), LONGEST_ANSWER))
    score = words.log_probability(answer.score)
    if not others:
        return Question(words.ASKS_TREE, words.only_hypothesis(written, score, bool(found.finished)))
    asks = words.asks_rivals(len(others) + 1)
    return Question(asks, words.winner(written, score, words.log_probability(others[0].score)))


def cache(shown: RunView) -> Question:
    """The question on the share of the decoder's work that the cache saved. Raises Unavailable for a model that does
    not state its sizes."""
    if not shown.trace.info.get("cached"):
        return Question(words.ASKS_CACHE, words.NO_CACHE)
    steps = cache_of_run(shown.run)
    ours, whole = (sum(getattr(step, name).total for step in steps) for name in ("cached", "whole"))
    return Question(words.ASKS_CACHE, words.saved(percent(1 - ours / whole), _short(ours), _short(whole)))


def score(shown: RunView, typed: RunView | None) -> Question:
    """The question on a text's probability: a typed one beside the model's own answer, or that alone."""
    own = run_score(shown.run)
    if typed is None:
        return Question(words.ASKS_OWN, words.own_total(*_total(own), words.log_probability(own.mean)))
    return Question(words.ASKS_TYPED, words.typed_total(_total(run_score(typed.run)), _total(own)))


def _total(found: TargetScore) -> tuple[str, int]:
    return words.log_probability(found.total), len(found.tokens)


def _short(count: int) -> str:
    """A count of operations with three digits: 1.23 million."""
    for size, said in ((1e9, words.billions), (1e6, words.millions)):
        if count >= size:
            return said(significant(count / size, 3))
    return f"{count:,}"


def at_stop(shown: RunView, position: int) -> tuple[str, ...]:
    """The sentences at the tour's stop: the probability of the token that the chosen row wrote, and the most probable
    other."""
    steps, at = shown.run.steps, position - step_row(shown.run, 0)
    if not steps:
        return (words.NOTHING_WRITTEN,)
    step = steps[min(max(at, 0), len(steps) - 1)]
    if math.isnan(step.log_prob):
        asked = question(shown, position)
        return () if asked is None else (f"{asked.asks} {asked.answer}",)
    told = cite(step.token), _write_probability(step.log_prob), words.of_tokens(step.rank, len(step.vocabulary))
    others = [other for other in step.candidates if other.token_id != step.token_id]
    said = (words.was_given if step.forced else words.wrote_other if step.rank else words.wrote_highest)(*told)
    if not others:
        return (said,)
    return said, words.next_best(
        cite(others[0].token), _write_probability(others[0].log_prob, alone=True), is_first=bool(step.rank)
    )


def _write_probability(log_prob: float, *, alone: bool = False) -> str:
    """A probability in words: "of 55.4 %", "above 99.9 %"; `alone`: "55.4 %", "below 0.1 %"."""
    said = percent(exponential(log_prob))
    if bound := words.BOUNDS_IN_PROSE.get(said[0]):
        return f"{bound}{said[1:]}"
    return said if alone else words.of_share(said)
