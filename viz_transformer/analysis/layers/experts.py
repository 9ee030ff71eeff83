"""Which of several experts a token has in a layer, and by how much: the router's numbers, and what became of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray

from viz_transformer.analysis.layers.sublayers import Place
from viz_transformer.running.record import Trace

Floats = NDArray[np.float64]
Rule = Literal["probability", "probability of the chosen", "other"]
TOLERANCE = 1e-5
"""Of a share: float32 adding in another order."""


@dataclass(frozen=True, eq=False)
class Routing:
    """The router of one feed-forward, by token: [T, X] each, X experts.

    numbers, shares: as recorded. probabilities: the softmax of the numbers over all experts, worked out here in
    float64. chosen: where a share is not 0. rule: whether each share is its expert's probability, or that divided by
    the sum of those that were chosen, at all tokens to TOLERANCE; anything else is other. tokens: how many tokens of
    the text have each expert, [X].
    """

    numbers: NDArray[np.float32]
    probabilities: Floats
    shares: NDArray[np.float32]
    chosen: NDArray[np.bool_]
    rule: Rule

    @property
    def tokens(self) -> NDArray[np.int64]:
        return np.asarray(self.chosen.sum(axis=0))


def routing(trace: Trace, place: Place) -> Routing | None:
    """The router of this sub-layer; None where there are no experts, or their numbers were not recorded."""
    if f"{place.site}.router" not in trace or f"{place.site}.experts" not in trace:
        return None
    numbers, shares = trace[f"{place.site}.router"][0], trace[f"{place.site}.experts"][0]
    probabilities = torch.softmax(numbers.double(), dim=-1).numpy()
    chosen = (shares != 0).numpy()
    return Routing(
        numbers=numbers.numpy(),
        probabilities=probabilities,
        shares=shares.numpy(),
        chosen=chosen,
        rule=_rule(probabilities, shares.double().numpy(), chosen),
    )


def drawn_experts(found: Routing, token: int, most: int) -> list[int]:
    """The experts to draw at a token, in their order: all, or where there are more than `most` those that were chosen
    and the most probable others."""
    order = np.lexsort((-found.probabilities[token], ~found.chosen[token]))
    return sorted(int(each) for each in order[:most])


def _rule(probabilities: Floats, shares: Floats, chosen: NDArray[np.bool_]) -> Rule:
    kept = np.where(chosen, probabilities, 0.0)
    total = kept.sum(axis=-1, keepdims=True)
    among = np.divide(kept, total, out=np.zeros_like(kept), where=total > 0)
    rules: tuple[tuple[Rule, Floats], ...] = (("probability", kept), ("probability of the chosen", among))
    return next((name for name, made in rules if np.abs(made - shares).max() <= TOLERANCE), "other")
