"""The row of one query in two runs: A less B is that of the traces, and what cannot be subtracted is said."""

import math

import numpy as np
import pytest
import torch
from builders import tiny_checkpoint

from viz_transformer.analysis.weight.row_difference import below_largest, row_difference
from viz_transformer.analysis.weight.weight_numbers import Cell, QueryRow
from viz_transformer.running.tracing import trace


def of(**given):
    return Cell(**{"kind": "encoder", "layer": 1, "head": 2, "query": 1, "key": 0, **given})


def row(scores, mask):
    nothing = np.zeros(len(scores))
    return QueryRow(nothing, nothing[:, None], np.array(scores, dtype=np.float64), np.float32(nothing), np.array(mask))


@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
def test_weights_and_scores_are_those_of_the_traces_and_their_difference(kind):
    ckpt = tiny_checkpoint()
    a, b = (trace(ckpt, source, "uvw") for source in ("abcd", "abed"))
    cell = of(kind=kind, query=3, key=2)
    found = row_difference(a, b, cell)
    weights = [run[f"{cell.site}.weights"][0, 2, 3].numpy() for run in (a, b)]
    assert found.weights.tobytes() == (weights[0] - weights[1]).tobytes()
    assert found.equal == np.array_equal(*weights) == (kind == "decoder" and cell.layer == 0)
    np.testing.assert_allclose(found.total_variation, np.abs(weights[0] - weights[1]).sum() / 2, rtol=1e-6)
    scores = [run[f"{cell.site}.scores"][0, 2, 3].double() for run in (a, b)]
    mask = a[f"{cell.site}.mask"][0, 0, 3]
    taken = [each.masked_fill(~mask, math.nan) - each[mask].max() for each in scores]
    np.testing.assert_allclose(found.scores, (taken[0] - taken[1]).numpy(), atol=1e-5)


def test_a_run_less_itself_is_zero_everywhere():
    run = trace(tiny_checkpoint(), "abcd", "uvw")
    found = row_difference(run, run, of())
    assert found.equal and found.total_variation == 0 and not found.weights.any() and not found.scores.any()


def test_scores_are_taken_from_the_largest_open_one():
    # 5 is closed, so 3 is the largest: 1 - 3, 0, and no number for the closed one
    np.testing.assert_array_equal(below_largest(row([1, 3, 5], [True, True, False])), [-2, 0, np.nan])
    assert np.isnan(below_largest(row([1, 3], [False, False]))).all()


def test_a_row_without_a_number_is_equal_only_to_one_like_it():
    ckpt = tiny_checkpoint(mask_fill="-inf", padding_mask="key-or-query")
    run = trace(ckpt, [4, 5, 0], [1])
    found = row_difference(run, run, of(layer=0, query=2))
    assert torch.isnan(run["encoder.0.self.weights"][0, 2, 2]).all()
    assert found.equal and math.isnan(found.total_variation)


@pytest.mark.parametrize(
    ("source", "changes", "kind", "cell", "sentence"),
    [
        ("ab", {}, "encoder-decoder", of(), "there is no A − B of this row: A's row has 6 keys and B's 4"),
        (
            "abed",
            {"n_heads": 2},
            "encoder-decoder",
            of(),
            "A − B of this row: there is no head 2: heads go from 0 to 1",
        ),
        ("abed", {"encoder_layers": 1}, "encoder-decoder", of(), "there is no layer 1: layers go from 0 to 0"),
        ("ab", {}, "encoder-decoder", of(kind="cross", query=3), "A's row has 6 keys and B's 4"),
        ("uv", {}, "decoder-only", of(kind="cross"), "a decoder-only model has no 'cross' attention"),
    ],
)
def test_what_only_a_has_is_said_in_one_sentence(source, changes, kind, cell, sentence):
    a = trace(tiny_checkpoint(), "abcd", "uvw")
    other = tiny_checkpoint(kind, **changes)
    b = trace(other, source) if kind == "decoder-only" else trace(other, source, "uvw")
    with pytest.raises(ValueError, match=sentence):
        row_difference(a, b, cell)
