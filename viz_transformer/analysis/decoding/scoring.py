"""Scores of a given answer: each token's probability, and the token the model would have written."""

from __future__ import annotations

import math
from dataclasses import dataclass

from viz_transformer import numerals
from viz_transformer.running.decoding import Run
from viz_transformer.running.strategies import first_greatest


@dataclass(frozen=True)
class ScoredToken:
    """One token of the given answer.

    log_prob: natural logarithm under the model, over the whole vocabulary, given all tokens before it. rank: how many
    tokens the model finds more probable. best: the token that it would have written there, and its log-probability.
    """

    index: int
    token: str
    token_id: int
    log_prob: float
    rank: int
    best: str
    best_id: int
    best_log_prob: float

    @property
    def probability(self) -> float:
        return numerals.exponential(self.log_prob)

    @property
    def ties(self) -> bool:
        """Whether another token is as probable as this one, none is more so, and greedy decoding writes the other."""
        return self.best_id != self.token_id and self.best_log_prob == self.log_prob

    @property
    def best_probability(self) -> float:
        return numerals.exponential(self.best_log_prob)


@dataclass(frozen=True)
class TargetScore:
    """The tokens of a given answer. ended: the end token is the last of them, and is counted."""

    tokens: tuple[ScoredToken, ...]
    ended: bool

    @property
    def total(self) -> float:
        """The log-probability of the whole answer, in nats."""
        return math.fsum(token.log_prob for token in self.tokens)

    @property
    def mean(self) -> float:
        """The mean log-probability per token, in nats."""
        return self.total / len(self.tokens)

    @property
    def perplexity(self) -> float:
        """exp(-mean), per token of the target vocabulary; infinite if a token has a probability of 0."""
        return math.inf if self.total == -math.inf else numerals.exponential(-self.mean)

    @property
    def missed(self) -> tuple[int, ...]:
        """The steps at which another token is more probable than the given one."""
        return tuple(token.index for token in self.tokens if token.rank > 0)

    @property
    def tied(self) -> tuple[int, ...]:
        """The steps at which none is more probable, and greedy decoding writes another that is as probable."""
        return tuple(token.index for token in self.tokens if token.ties)


def target_score(run: Run) -> TargetScore:
    """The score of the answer that the run was given: `decode(ckpt, source, target=...)`.

    Raises ValueError for a run that chose tokens of its own.
    """
    if not all(step.forced for step in run.steps):
        raise ValueError("the model chose tokens of this run itself: give the whole answer as the target")
    return run_score(run)


def run_score(run: Run) -> TargetScore:
    """The score of any run, chosen tokens included, to compare the model's own answer with a given one."""
    tokens = []
    for step in run.steps:
        best = step.candidate(first_greatest(step.logits))  # as greedy decoding chooses
        tokens.append(
            ScoredToken(
                index=step.index,
                token=step.token,
                token_id=step.token_id,
                log_prob=step.log_prob,
                rank=step.rank,
                best=best.token,
                best_id=best.token_id,
                best_log_prob=best.log_prob,
            )
        )
    return TargetScore(tuple(tokens), run.stopped == "end token")
