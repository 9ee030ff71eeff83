"""What is said of a router: by which rule the shares follow from its numbers, and what of them is a probability."""

from __future__ import annotations

import numpy as np
import pytest

from viz_transformer.analysis.layers.experts import Routing, RoutingRule
from viz_transformer.ui.pages.layers.experts_view import describe_experts

BOTH, ONE = [[True, True, False], [True, True, False]], [[True, True, False], [False, True, False]]


@pytest.mark.parametrize(
    ("rule", "chosen", "said"),
    [
        (
            RoutingRule("softmax", among=False),
            BOTH,
            "Each share is the probability of its expert, at every token of this",
        ),
        (
            RoutingRule("softmax", among=False, factor=16.0),
            BOTH,
            "Each share is 16 times the probability of its expert, at",
        ),
        (
            RoutingRule("softmax", among=True),
            BOTH,
            "The shares are the probabilities of the chosen experts, divided by their sum, at every token of this",
        ),
        (RoutingRule("sigmoid", among=False), BOTH, "Each share is the sigmoid of its expert’s number, at every token"),
        (
            RoutingRule("sigmoid", among=True, factor=2.5),
            BOTH,
            "The shares are 2.5 times the sigmoids of the chosen experts’ numbers, divided by their sum, at every",
        ),
        (None, BOTH, "by a rule of this model’s own"),
        (None, ONE, "there are too few to tell which rule"),
    ],
)
def test_the_rule_is_said_and_only_a_softmax_by_it_is_called_a_probability(
    rule: RoutingRule | None, chosen: list[list[bool]], said: str
) -> None:
    numbers = np.zeros((2, 3), np.float32)
    words = describe_experts(Routing(numbers, numbers, np.array(chosen), rule, np.full((2, 3), 0.5)), 0, "x")
    assert said in words
    measured = "sigmoid" if rule and rule.measure == "sigmoid" else "probability" if rule else "softmax"
    assert f"The bar is the {measured}: " in words and ("probabilit" in words) == (measured == "probability")


@pytest.mark.parametrize(
    ("chosen", "said"),
    [
        (BOTH, "“x” has experts 0 and 1."),
        ([[False, True, False], [False, True, False]], "“x” has expert 1."),
        ([[False, False, False], [True, True, True]], "“x” has no expert here: none adds anything to its stream."),
        (BOTH, "Expert 0 is chosen most often, for 2 of 2 tokens; 1 of 3 experts is never chosen."),
        ([[True, True, False], [False, True, True]], "for 2 of 2 tokens; every expert is chosen at least once."),
        ([[True, False, False], [True, False, False]], "for 2 of 2 tokens; 2 of 3 experts are never chosen."),
    ],
)
def test_the_experts_of_a_token_and_how_often_each_is_chosen(chosen: list[list[bool]], said: str) -> None:
    numbers = np.zeros((2, 3), np.float32)
    assert said in describe_experts(Routing(numbers, numbers, np.array(chosen), None, np.full((2, 3), 0.5)), 0, "x")
