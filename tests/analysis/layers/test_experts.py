"""What a router's numbers say of experts, by cases worked by hand."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from viz_transformer.analysis.layers.experts import Routing, drawn_experts, routing

LN = np.log([[1, 2, 5], [6, 3, 1]])  # probabilities 1/8, 2/8, 5/8 and 6/10, 3/10, 1/10


def found(shares: list[list[float]]) -> Routing:
    place: Any = SimpleNamespace(site="decoder.0.ffn")
    values = {"router": LN, "experts": shares}
    trace: Any = {f"decoder.0.ffn.{name}": torch.tensor(np.float32([value])) for name, value in values.items()}
    made = routing(trace, place)
    assert made is not None
    return made


def test_probabilities_are_the_softmax_over_all_experts() -> None:
    made = found([[0, 0.25, 0.625], [0.6, 0.3, 0]])
    np.testing.assert_allclose(made.probabilities, [[0.125, 0.25, 0.625], [0.6, 0.3, 0.1]], atol=1e-6)
    assert made.chosen.tolist() == [[False, True, True], [True, True, False]] and made.tokens.tolist() == [1, 2, 1]


@pytest.mark.parametrize(
    ("shares", "rule"),
    [
        ([[0, 0.25, 0.625], [0.6, 0.3, 0]], "probability"),
        ([[0, 2 / 7, 5 / 7], [2 / 3, 1 / 3, 0]], "probability of the chosen"),
        ([[0, 0, 0], [0.6, 0, 0]], "probability"),  # a token that has none
        ([[0, 0.25, 0.625], [0.6, 0.4, 0]], "other"),
    ],
)
def test_the_rule_of_the_shares_is_the_one_that_holds_at_every_token(shares: list[list[float]], rule: str) -> None:
    assert found(shares).rule == rule


def test_of_many_experts_the_chosen_and_the_most_probable_are_drawn_in_order() -> None:
    made = found([[0.125, 0, 0], [0.6, 0.3, 0]])
    assert drawn_experts(made, 0, 2) == [0, 2] and drawn_experts(made, 1, 3) == [0, 1, 2]


def test_a_feed_forward_without_a_router_has_none() -> None:
    place: Any = SimpleNamespace(site="decoder.0.ffn")
    trace: Any = {}
    assert routing(trace, place) is None
