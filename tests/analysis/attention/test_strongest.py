"""The key with most weight in a row, held against the recorded weights."""

import numpy as np
import pytest
from builders import tiny_checkpoint

from viz_transformer.analysis import rollout_view, strongest_key
from viz_transformer.model.kinds import KINDS
from viz_transformer.running.decoding import decode


@pytest.fixture(scope="module")
def run():
    return decode(tiny_checkpoint(seed=3), "abcde", max_steps=6)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("head", [0, 1, "mean", "max"])
def test_it_is_the_largest_recorded_weight_of_the_row(run, kind, head):
    weights = np.asarray(run.trace[f"{KINDS[kind].site(1)}.weights"])[0]
    chosen = weights.mean(0) if head == "mean" else weights.max(0) if head == "max" else weights[head]
    for query, row in enumerate(chosen):
        assert strongest_key(run.trace, kind, 1, head, query) == int(row.argmax())


def test_of_rollout_it_is_the_largest_share(run):
    view = rollout_view(run.trace, "cross", 0)
    assert strongest_key(run.trace, "cross", 0, "rollout", 2) == int(view.weights[2].argmax())


def test_where_rollout_is_undefined_there_is_none():
    run = decode(tiny_checkpoint(merge="raw-reshape"), "abc", max_steps=2)
    assert strongest_key(run.trace, "cross", 0, "rollout", 0) is None


def test_a_layer_that_the_model_lacks_is_refused(run):
    with pytest.raises(ValueError, match="layer"):
        strongest_key(run.trace, "cross", 9, 0, 0)
