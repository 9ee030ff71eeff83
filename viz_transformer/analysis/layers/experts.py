"""Mixture of experts: each token's experts and their shares in a layer, and the router's logits that they follow
from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray

from viz_transformer.analysis.layers.sublayers import SubLayer
from viz_transformer.running.trace import Trace

Floats = NDArray[np.float64]
Measure = Literal["softmax", "sigmoid"]
TOLERANCE = 1e-5
"""The tolerance of a share: float32 sums in another order; a run in fewer bits rounds each share in addition."""


@dataclass(frozen=True)
class RoutingRule:
    """How the shares of the chosen experts follow from the router's numbers: `factor` times the measure of each, or,
    `among` the chosen ones, divided by the sum of theirs."""

    measure: Measure
    among: bool
    factor: float = 1.0


@dataclass(frozen=True, eq=False)
class Routing:
    """The router of one feed-forward, by token: [T, X] each, X experts."""

    numbers: NDArray[np.float32]
    shares: NDArray[np.float32]
    """As recorded, like `numbers`."""
    chosen: NDArray[np.bool_]
    """True where a share is not 0."""
    rule: RoutingRule | None
    """The rule that gives all shares of all tokens, to the run's rounding; None for any other."""
    measured: Floats
    """The quantity that the rule compares, computed here in float64: the softmax of the numbers over all experts, also
    without a rule, or the sigmoid of each."""

    @property
    def tells(self) -> bool:
        """Whether the shares identify a rule with a factor, or of sigmoids: with fewer than two experts at two tokens
        several rules would give the same shares."""
        return bool((self.chosen.sum(axis=-1) > 1).sum() > 1)

    @property
    def tokens(self) -> NDArray[np.int64]:
        return np.asarray(self.chosen.sum(axis=0))


def routing(trace: Trace, place: SubLayer) -> Routing | None:
    """The router of this sub-layer; None where there are no experts, or their numbers were not recorded."""
    if f"{place.site}.router" not in trace or f"{place.site}.experts" not in trace:
        return None
    numbers, shares = trace[f"{place.site}.router"][0], trace[f"{place.site}.experts"][0]
    measured: dict[Measure, Floats] = {
        "softmax": torch.softmax(numbers.double(), dim=-1).numpy(),
        "sigmoid": torch.sigmoid(numbers.double()).numpy(),
    }
    found = Routing(numbers.numpy(), shares.numpy(), (shares != 0).numpy(), None, measured["softmax"])
    rule = _rule(found, measured, TOLERANCE + trace.spec.rounding)
    return found if rule is None else replace(found, rule=rule, measured=measured[rule.measure])


def select_drawn_experts(found: Routing, token: int, most: int) -> list[int]:
    """The experts to draw at a token, in their order: all, or with more than `most` the chosen ones and the
    highest-scoring others."""
    order = np.lexsort((-found.measured[token], ~found.chosen[token]))
    return sorted(int(each) for each in order[:most])


def _rule(found: Routing, measured: Mapping[Measure, Floats], tolerance: float) -> RoutingRule | None:
    """The first rule that gives the shares; rules without a factor are tried first."""
    shares = found.shares.astype(np.float64)
    made: dict[tuple[Measure, bool], Floats] = {}
    for measure, numbers in measured.items():
        kept = np.where(found.chosen, numbers, 0.0)
        total = kept.sum(axis=-1, keepdims=True)
        made[measure, False] = kept
        made[measure, True] = np.divide(kept, total, out=np.zeros_like(kept), where=total > 0)
    for among in (False, True):
        if np.abs(made["softmax", among] - shares).max() <= tolerance:
            return RoutingRule("softmax", among)
    if not found.tells:
        return None
    for (measure, among), each in made.items():
        factor = float(shares.sum() / each.sum())
        factor = 1.0 if abs(factor - 1) <= tolerance else factor
        if np.abs(factor * each - shares).max() <= tolerance * max(1.0, factor):
            return RoutingRule(measure, among, factor)
    return None
