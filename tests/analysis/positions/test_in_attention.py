"""What rotary positions and ALiBi do in one head, beside a run's own numbers and the plain matrices."""

import math

import numpy as np
import pytest
from builders import tiny_checkpoint

from viz_transformer.analysis.positions.in_attention import biases, rotated
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
    found = rotated(recorded, site, 2, 4, 1)
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
    found = rotated(run("rotary", Scale("decoder.2.self.query", 2.0)), "decoder.2.self", 0, 3, 1)
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
        rotated(run("rotary"), SITES[0], 0, 9, 0)
