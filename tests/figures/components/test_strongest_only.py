"""What is left out of a row of weights is in its rest, and nothing that is left has another number."""

import numpy as np
import pytest

from viz_transformer import payload
from viz_transformer.figures.components import strongest_only
from viz_transformer.figures.components.strongest_only import strongest

NAN = float("nan")


@pytest.mark.parametrize(
    ("row", "keys", "rest"),
    [
        ([0.5, 0.01, 0.3, 0.19], [0, 2, 3], 0.01),
        ([0.01, 0.015, 0.005], [1], 0.015),  # the largest, however small
        ([0.01, 0.01], [0], 0.01),  # of equal ones the first
        ([0.0, 0.0], [], 0.0),
        ([0.25, 0.25, 0.5], [0, 1, 2], 0.0),
        ([NAN, NAN], [], NAN),
        ([NAN, 0.5], [1], NAN),
        ([-0.5, -0.25], [], -0.75),  # an edit
        ([1.5, 0.0], [0], 0.0),  # dropout
    ],
)
def test_the_entries_of_a_row_and_its_rest(row, keys, rest):
    found = strongest([row])
    assert found.keys.tolist() == keys
    np.testing.assert_array_equal(found.weights, np.float32(row)[keys])
    assert found.starts.tolist() == [0, len(keys)]
    np.testing.assert_allclose(found.rest, [rest], rtol=1e-6)


def test_a_weight_counts_as_the_browser_compares_it():
    """float32 has no 0.02: the nearest is a little less, the next one a little more."""
    less = np.float32(0.02)
    more = np.nextafter(less, np.float32(1))
    assert strongest([[less, more, 0.9]]).keys.tolist() == [1, 2]


def test_rows_of_all_heads_stand_behind_each_other():
    weights = np.float32([[[0.99, 0.01], [0.5, 0.5]], [[0, 0], [0.01, 0.99]]])
    found = strongest(weights)
    assert found.starts.tolist() == [0, 1, 3, 3, 4]
    assert found.keys.tolist() == [0, 0, 1, 1]
    assert found.rest.shape == (2, 2)
    _, arrays = payload.unpack(payload.pack({}, **found.arrays("self")))
    assert set(arrays) == {"keys.self", "weights.self", "starts.self", "rest.self"}
    np.testing.assert_array_equal(arrays["weights.self"], found.weights)
    np.testing.assert_array_equal(arrays["starts.self"], found.starts)


@pytest.mark.parametrize("at_once", [1, 7, 40])
def test_it_does_not_matter_how_many_weights_are_compared_at_once(monkeypatch, at_once):
    generator = np.random.default_rng(3)
    weights = generator.dirichlet(np.full(13, 0.1), size=(3, 11)).astype(np.float32)
    weights[1, 2] = NAN
    whole = strongest(weights)
    monkeypatch.setattr(strongest_only, "AT_ONCE", at_once)
    found = strongest(weights)
    for name in ("keys", "weights", "starts", "rest"):
        np.testing.assert_array_equal(getattr(found, name), getattr(whole, name))
