"""What a router's numbers say of experts, by cases worked by hand."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from viz_transformer.analysis.layers.experts import Routing, RoutingRule, routing, select_drawn_experts

LN = np.log([[1, 2, 5], [6, 3, 1]])  # probabilities 1/8, 2/8, 5/8 and 6/10, 3/10, 1/10


def found(shares: list[list[float]]) -> Routing:
    place: Any = SimpleNamespace(site="decoder.0.ffn")
    values = {"router": LN, "experts": shares}
    named = {f"decoder.0.ffn.{name}": torch.tensor(np.float32([value])) for name, value in values.items()}
    trace: Any = type("T", (dict,), {"spec": SimpleNamespace(rounding=0.0)})(named)
    made = routing(trace, place)
    assert made is not None
    return made


def test_probabilities_are_the_softmax_over_all_experts() -> None:
    made = found([[0, 0.25, 0.625], [0.6, 0.3, 0]])
    np.testing.assert_allclose(made.measured, [[0.125, 0.25, 0.625], [0.6, 0.3, 0.1]], atol=1e-6)
    assert made.chosen.tolist() == [[False, True, True], [True, True, False]] and made.tokens.tolist() == [1, 2, 1]


SIGMOID = [[1 / 2, 2 / 3, 5 / 6], [6 / 7, 3 / 4, 1 / 2]]  # of the same numbers, each by itself


@pytest.mark.parametrize(
    ("shares", "rule"),
    [
        ([[0, 0.25, 0.625], [0.6, 0.3, 0]], RoutingRule("softmax", among=False)),
        ([[0, 2 / 7, 5 / 7], [2 / 3, 1 / 3, 0]], RoutingRule("softmax", among=True)),
        ([[0, 0, 0], [0.6, 0, 0]], RoutingRule("softmax", among=False)),  # a token that has none
        ([[0, 4.0, 10.0], [9.6, 4.8, 0]], RoutingRule("softmax", among=False, factor=16.0)),
        ([[0, 5 / 7, 12.5 / 7], [5 / 3, 2.5 / 3, 0]], RoutingRule("softmax", among=True, factor=2.5)),
        ([[0, 2 / 3, 5 / 6], [6 / 7, 3 / 4, 0]], RoutingRule("sigmoid", among=False)),
        ([[0, 4 / 9, 5 / 9], [8 / 15, 7 / 15, 0]], RoutingRule("sigmoid", among=True)),
        ([[0, 10 / 9, 12.5 / 9], [4 / 3, 3.5 / 3, 0]], RoutingRule("sigmoid", among=True, factor=2.5)),
        ([[0, 0.25, 0.625], [0.6, 0.4, 0]], None),
        ([[0, 4.0, 10.0], [9.6, 0, 0]], None),  # of one token no factor can be told
    ],
)
def test_the_rule_of_the_shares_is_the_one_that_holds_at_every_token(
    shares: list[list[float]], rule: RoutingRule | None
) -> None:
    made = found(shares)
    if made.rule is None or rule is None:
        assert made.rule is rule
        assert made.tells == (shares[1][1] > 0)
        return
    assert (made.rule.measure, made.rule.among) == (rule.measure, rule.among)
    assert made.rule.factor == pytest.approx(rule.factor, rel=1e-6)
    if rule.measure == "sigmoid":
        np.testing.assert_allclose(made.measured, SIGMOID, rtol=1e-6)


def test_of_many_experts_the_chosen_and_the_most_probable_are_drawn_in_order() -> None:
    made = found([[0.125, 0, 0], [0.6, 0.3, 0]])
    assert select_drawn_experts(made, 0, 2) == [0, 2] and select_drawn_experts(made, 1, 3) == [0, 1, 2]


def test_a_feed_forward_without_a_router_has_none() -> None:
    place: Any = SimpleNamespace(site="decoder.0.ffn")
    trace: Any = {}
    assert routing(trace, place) is None
