"""What a model that gives labels makes of a text, or of each of its tokens."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from viz_transformer import numerals
from viz_transformer.model.instrument import Scoring
from viz_transformer.running.record import Trace
from viz_transformer.running.strategies import log_softmax


@dataclass(frozen=True)
class Label:
    """One label: its name, its place among the model's labels, and its logit, as recorded.

    log_prob: the natural logarithm of its probability, among all labels where one of them holds, of its own where each
    holds by itself; None where the logit is a number that the model gives (of a regression), and no probability.
    """

    name: str
    index: int
    logit: float
    log_prob: float | None

    @property
    def probability(self) -> float | None:
        """From 0 to 1."""
        return None if self.log_prob is None else numerals.exponential(self.log_prob)


@dataclass(frozen=True)
class Labels:
    """All labels of a text (position None) or of the token at a position, the most probable first; numbers of a
    regression in their own order."""

    position: int | None
    scores: tuple[Label, ...]

    @property
    def best(self) -> Label:
        """The most probable label."""
        return self.scores[0]


def holding(found: Labels, scoring: Scoring) -> tuple[Label, ...]:
    """The labels that a model answers with: the best, or each that is more probable than not, the best if none is; all
    numbers of a regression."""
    if scoring == "number":
        return found.scores
    if scoring == "one":
        return found.scores[:1]
    return tuple(label for label in found.scores if label.logit > 0) or found.scores[:1]


def labels_of(trace: Trace) -> tuple[Labels, ...]:
    """The labels of a run, by its logits: of the text, or of each token. None of a model that gives no labels."""
    names = trace.anatomy.labels
    if not names or "logits" not in trace:
        return ()
    logits = trace["logits"][0]  # [C] or [S, C]
    if logits.dim() == 1:
        return (_labels(trace, None, logits),)
    return tuple(_labels(trace, position, row) for position, row in enumerate(logits))


def _labels(trace: Trace, position: int | None, logits: Tensor) -> Labels:
    """logits: [C]."""
    anatomy = trace.anatomy
    if anatomy.scoring == "number":
        log_probs: list[float] | list[None] = [None] * len(logits)
    elif anatomy.scoring == "each":
        log_probs = torch.nn.functional.logsigmoid(logits.double()).tolist()
    else:
        log_probs = log_softmax(logits).tolist()
    found = [
        Label(name, index, logit, log_prob)
        for index, (name, logit, log_prob) in enumerate(zip(anatomy.labels, logits.tolist(), log_probs, strict=True))
    ]
    if anatomy.scoring != "number":
        found.sort(key=lambda label: -label.logit)
    return Labels(position, tuple(found))
