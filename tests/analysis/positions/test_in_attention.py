"""What rotary positions and ALiBi do in one head, beside a run's own numbers and the plain matrices."""

import math
from time import process_time
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from builders import tiny_checkpoint

from viz_transformer.analysis.positions.in_attention import Step, bias_rule, biases, rotate, turning
from viz_transformer.running.edits import Scale
from viz_transformer.running.tracing import trace

SITES = ["encoder.1.self", "decoder.2.self"]


def run(positions, *edits):
    return trace(tiny_checkpoint(positions=positions), "abcdef", "uvwxyz", edits=edits)


def matrix(position, frequency):
    """The whole rotation of a position, [E, E], as equation 15 of the paper has it."""
    found = np.zeros((2 * len(frequency), 2 * len(frequency)))
    for pair, w in enumerate(frequency):
        cos, sin = math.cos(position * w), math.sin(position * w)
        found[2 * pair : 2 * pair + 2, 2 * pair : 2 * pair + 2] = [[cos, -sin], [sin, cos]]
    return found


@pytest.mark.parametrize("site", SITES)
def test_the_product_at_every_distance_is_that_of_the_paper_s_matrices(site):
    recorded = run("rotary")
    found = rotate(recorded, site, 2, 4, 1)
    assert found.frequency == pytest.approx([1, 1 / 100])
    for distance, product in zip(found.distance, found.product, strict=True):
        i, j = max(distance, 0), max(-distance, 0)
        want = (matrix(i, found.frequency) @ found.query) @ (matrix(j, found.frequency) @ found.key)
        assert product == pytest.approx(want, abs=1e-9)
    at = int(np.flatnonzero(found.distance == 3)[0])
    assert found.product[at] == pytest.approx(found.recorded, abs=1e-5)
    score = float(recorded[f"{site}.scores"][0, 2, 4, 1])
    assert found.recorded / 2 == pytest.approx(score, abs=1e-5)  # the root of head_dim
    assert found.error < 1e-5 and found.turned_error < 1e-6


def test_an_edited_query_is_no_longer_the_turned_one():
    found = rotate(run("rotary", Scale("decoder.2.self.query", 2.0)), "decoder.2.self", 0, 3, 1)
    assert found.turned_error > 0.01 and found.error > 0.01


@pytest.mark.parametrize("site", SITES)
def test_a_bias_is_minus_slope_times_distance(site):
    found = biases(run("alibi"), site, 1)
    assert found.slopes == (1 / 4, 1 / 16, 1 / 64, 1 / 256) and found.error == 0
    assert found.bias[3, 1] == -2 / 16
    assert found.bias[1, 3] == (-2 / 16 if site.startswith("encoder") else 0)
    assert biases(run("alibi", Scale(f"{site}.bias", 2.0)), site, 1).error > 0.01


def test_heads_and_positions_that_are_not_there_are_refused():
    with pytest.raises(ValueError, match="there is no head 4"):
        biases(run("alibi"), SITES[0], 4)
    with pytest.raises(ValueError, match="there is no position 9"):
        rotate(run("rotary"), SITES[0], 0, 9, 0)


def biased(bias, mask):
    """A trace of one head with these biases [Q, K] and this mask."""
    values = {"bias": torch.as_tensor(bias)[None, None], "mask": torch.as_tensor(mask)[None, None]}
    heads = SimpleNamespace(attentions={SITES[1]: SimpleNamespace(query=1)}, rounding=0.0)
    return type("T", (dict,), {"spec": heads})({f"{SITES[1]}.{name}": value for name, value in values.items()})


def test_of_biases_those_that_the_mask_closes_do_not_count_and_neighbours_of_one_number_are_a_step():
    back = np.arange(5)[:, None] - np.arange(5)
    bias = np.where(back >= 0, np.array([3.0, 1.0, 1.0, -2.0, -2.0])[np.abs(back)], 7.0 * back)
    bias[4, 0] = np.where(back >= 0, bias, 0)[3, 0]  # distances 3 and 4 share a number
    found = bias_rule(biased(bias, back >= 0), SITES[1], 0)
    assert found.follows == "distance" and found.slope is None
    assert found.at.tolist() == [0, 1, 2, 3, 4] and found.value.tolist() == [3, 1, 1, -2, -2]
    assert found.steps == (Step(0, 0, 3.0), Step(1, 2, 1.0), Step(3, 4, -2.0))
    by_key = bias_rule(biased(np.broadcast_to(np.arange(5) * 0.5, (5, 5)).copy(), back >= 0), SITES[1], 0)
    assert (by_key.follows, by_key.slope) == ("place of the key", 0.5) and by_key.at.tolist() == [0, 1, 2, 3, 4]
    bias[2, 1] = 9
    assert bias_rule(biased(bias, back >= 0), SITES[1], 0).follows == "nothing"
    to_both = bias_rule(biased(-np.abs(back) * 0.25, back == back), SITES[1], 0)
    assert to_both.at.tolist() == [*range(-4, 5)] and to_both.value.tolist() == [-abs(d) * 0.25 for d in range(-4, 5)]


def test_the_rule_of_biases_costs_no_more_than_a_few_looks_at_each():
    """Which took a look at all of them for each distance: 150 times as long as sorting them, of 1,200 positions."""
    back = np.arange(1200)[:, None] - np.arange(1200)
    trace_of = biased(np.broadcast_to(0.5 * np.arange(1200.0), back.shape).copy(), back >= 0)
    numbers, taken = np.random.default_rng(0).random(back.size // 2), []
    for work in (lambda: np.sort(numbers), lambda: bias_rule(trace_of, SITES[1], 0)):
        begun = process_time()
        work()
        taken.append(process_time() - begun)
    assert taken[1] < 40 * taken[0]


def test_one_token_proves_no_frequencies_because_at_position_0_nothing_is_turned():
    ckpt = tiny_checkpoint(positions="rotary")
    lists = {"none of it": [0.3, 0.7]}
    assert turning(trace(ckpt, [5], [6]), SITES[1], lists) is None
    assert turning(trace(ckpt, [5], [6, 7]), SITES[1], lists) is None
    found = turning(trace(ckpt, [5], [6, 7]), SITES[1], {**lists, "ours": [1.0, 0.01]})
    assert found is not None and found.named == "ours"
