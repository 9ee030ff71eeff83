"""The labels that a classifier or tagger predicts."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import torch
from torch import Tensor

from viz_transformer import numerals
from viz_transformer.model.hooked_model import Scoring
from viz_transformer.running.strategies import log_softmax
from viz_transformer.running.trace import Trace


@dataclass(frozen=True)
class Label:
    """One label."""

    name: str
    index: int
    """Its index among the model's labels."""
    logit: float
    """As recorded; with a single logit for two labels, the first label has its negative."""
    log_prob: float | None
    """Natural logarithm of its probability, by softmax or (independent labels) sigmoid; None in a regression."""

    @property
    def probability(self) -> float | None:
        """From 0 to 1."""
        return None if self.log_prob is None else numerals.exponential(self.log_prob)


@dataclass(frozen=True, eq=False)
class Labels:
    """Label logits [C], as recorded, of the text (position None) or of the token at a position."""

    position: int | None
    names: tuple[str, ...] = field(repr=False)
    logits: Tensor = field(repr=False)
    scoring: Scoring

    @cached_property
    def scores(self) -> tuple[Label, ...]:
        """All labels, most probable first; a regression's in their own order."""
        return self.first(len(self.names))

    def first(self, count: int) -> tuple[Label, ...]:
        """The first `count` labels of `scores`, without computing the others."""
        order = torch.arange(len(self.names))
        order = order if self.scoring == "number" else self._each().argsort(descending=True, stable=True)
        places, log_probs = order[:count], self._log_probs()
        logits = self._each()[places].tolist()
        listed = [None] * len(logits) if log_probs is None else log_probs[places].tolist()
        each = zip(places.tolist(), logits, listed, strict=True)
        return tuple(Label(self.names[index], index, logit, log_prob) for index, logit, log_prob in each)

    @cached_property
    def best(self) -> Label:
        """The most probable label, without computing the others: a tagger may have many labels for many tokens."""
        each = self._each()
        index = 0 if self.scoring == "number" else int(each.numpy().argmax())  # the first of equal ones
        log_probs = self._log_probs()
        log_prob = None if log_probs is None else float(log_probs[index])
        return Label(self.names[index], index, float(each[index]), log_prob)

    def _each(self) -> Tensor:
        """One logit per label."""
        return torch.cat([-self.logits, self.logits]) if self.scoring == "either" else self.logits

    def _log_probs(self) -> Tensor | None:
        """[C], in float64."""
        if self.scoring == "number":
            return None
        if self.scoring in ("each", "either"):
            return torch.nn.functional.logsigmoid(self._each().double())
        return log_softmax(self.logits)


def holding(found: Labels, scoring: Scoring) -> tuple[Label, ...]:
    """The model's answer: the best label; every label above 0.5, or the best; or all numbers of a regression."""
    if scoring == "number":
        return found.scores
    if scoring in ("one", "either"):
        return (found.best,)
    return tuple(label for label in found.scores if label.logit > 0) or (found.best,)


def labels_of(trace: Trace) -> tuple[Labels, ...]:
    """Labels of a run, for the text or for each token; empty for a model without labels."""
    names = trace.spec.labels
    if not names or "logits" not in trace:
        return ()
    logits, scoring = trace["logits"][0], trace.spec.scoring  # [C] or [S, C]
    if logits.dim() == 1:
        return (Labels(None, names, logits, scoring),)
    return tuple(Labels(position, names, row, scoring) for position, row in enumerate(logits))
