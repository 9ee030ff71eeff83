"""Two branches are compared where they read the same, and nowhere else."""

import math

import numpy as np
import pytest
import torch
from builders import tiny_checkpoint

from viz_transformer.analysis.decoding.branches import ROUNDING, Variation, compare_runs, total_variation
from viz_transformer.running.decoding import decode
from viz_transformer.running.edits import AblateHead
from viz_transformer.running.strategies import Sampling
from viz_transformer.running.tracing import trace

SLIPS = {"pad_to": 20, "max_target": 20, "norm": "post", "final_norm": False, "norm_kind": "positions-and-features"}
SLIPS |= {"merge": "raw-reshape", "mask_fill": "added-1e9", "padding_mask": "key-or-query-swapped-cross"}


@pytest.fixture(scope="module")
def ckpt():
    return tiny_checkpoint()


@pytest.fixture(scope="module")
def branches(ckpt):
    """Two runs that part at step 3."""
    return decode(ckpt, "abc", target="uvwxyz"), decode(ckpt, "abc", target="uvwyz")


def test_total_variation_by_hand():
    a = np.array([[0.5, 0.5, 0.0], [1.0, 0.0, 0.0], [0.2, 0.3, 0.5]], np.float32)
    b = np.array([[0.5, 0.0, 0.5], [0.0, 0.5, 0.5], [0.2, 0.3, 0.5]], np.float32)
    assert total_variation(a, b).tolist() == [0.5, 1.0, 0.0]


def test_the_runs_part_at_the_first_token_that_differs(branches):
    found = compare_runs(*branches)
    assert (found.common, found.first_difference, found.first_row) == (3, 3, 0)
    assert [(piece.wanted, piece.written, piece.same) for piece in found.pieces] == [
        (("u", "v", "w"), ("u", "v", "w"), True),
        (("x",), (), False),
        (("y", "z", "</s>"), ("y", "z", "</s>"), True),
    ]


def test_tokens_that_come_twice_are_not_aligned_across_the_fork(ckpt):
    """difflib alone takes u v behind the fork for those before it, and calls the first two different."""
    a, b = decode(ckpt, "abc", target="uvuvwxyz"), decode(ckpt, "abc", target="uvwxyz")
    found = compare_runs(a, b)
    assert found.first_difference == 2
    assert [(piece.wanted, piece.written) for piece in found.pieces][:2] == [(("u", "v"),) * 2, (("u", "v"), ())]


def test_curves_are_the_steps_log_probabilities_and_their_running_sums(ckpt, branches):
    found = compare_runs(*branches)
    for run, target, curve, sums in zip(branches, ("uvwxyz", "uvwyz"), found.log_probs, found.cumulative, strict=True):
        logits = trace(ckpt, "abc", target)["logits"][0].double()
        ids = [step.token_id for step in run.steps]
        want = logits.log_softmax(-1)[range(len(ids)), ids].numpy()
        np.testing.assert_allclose(curve, want, atol=1e-5)  # float32 softmax
        np.testing.assert_allclose(sums, [math.fsum(curve[: n + 1]) for n in range(len(curve))], rtol=1e-12)
        assert sums[-1] == pytest.approx(run.log_prob, rel=1e-12)


def test_only_rows_that_read_the_same_tokens_are_compared(branches):
    """Tokens 0 to 3 are <s> u v w in both; the row behind them reads x in one and y in the other."""
    found = compare_runs(*branches)
    assert found.rows == 4
    assert [(each.kind, each.layer) for each in found.variations] == [
        *(("cross", layer) for layer in range(3)),
        *(("decoder", layer) for layer in range(3)),
    ]
    for each in found.variations:
        assert each.values.shape == (4, 4)
        assert each.values.max() <= ROUNDING  # causal: what comes later changes nothing before
    a, b = (run.trace["decoder.1.cross.weights"][0, :, 4] for run in branches)
    assert (a - b).abs().sum() / 2 > 1e-3  # and behind them there is a difference that would have been counted


def test_an_edit_moves_rows_of_the_common_prefix_and_the_largest_is_found(ckpt):
    a = decode(ckpt, "abc", target="uvwx")
    b = decode(ckpt, "abc", target="uvwx", edits=[AblateHead("decoder.0.self", head=1)])
    found = compare_runs(a, b)
    assert found.first_difference is None and found.common == found.rows == 5
    want = {}
    for kind, site in (("decoder", "self"), ("cross", "cross")):
        for layer in range(3):
            one, other = (run.trace[f"decoder.{layer}.{site}.weights"][0].double() for run in (a, b))
            gap = 0.5 * torch.linalg.vector_norm(one - other, ord=1, dim=-1)
            np.testing.assert_allclose(found.variation(kind, layer).values, gap.numpy(), atol=1e-12)
            want |= {(kind, layer, head, row): float(gap[head, row]) for head in range(4) for row in range(5)}
    best = max(want, key=want.__getitem__)
    place = found.largest
    assert (place.kind, place.layer, place.head, place.row) == best
    assert place.value == pytest.approx(want[best]) and place.value > 1e-3


def test_a_model_that_is_not_causal_differs_before_the_runs_part():
    ckpt = tiny_checkpoint(**SLIPS)
    found = compare_runs(decode(ckpt, "abc", target="uvwxyz"), decode(ckpt, "abc", target="uvwyz"))
    assert found.rows == 4
    assert found.largest.value > ROUNDING


def test_equal_runs_have_no_step_of_difference(ckpt, branches):
    found = compare_runs(branches[0], branches[0])
    assert found.first_difference is None and found.common == 7
    assert all(piece.same for piece in found.pieces)
    assert found.largest.value == 0


def test_a_run_that_stopped_early_parts_where_it_stops(ckpt):
    long, short = decode(ckpt, "abc", target="uvwx"), decode(ckpt, "abc", prefix="uv", max_steps=2)
    for a, b in ((long, short), (short, long)):
        found = compare_runs(a, b)
        assert (found.common, found.first_difference, found.rows) == (2, 2, 2)


def test_rows_of_a_decoder_alone_include_the_text_that_it_goes_on_from():
    ckpt = tiny_checkpoint("decoder-only")
    a, b = (decode(ckpt, "uvw", strategy=Sampling(seed=seed), max_steps=6) for seed in (1, 2))
    found = compare_runs(a, b)
    assert found.first_row == 3 and found.first_difference is not None
    assert found.rows == 3 + found.common + 1
    assert {each.kind for each in found.variations} == {"decoder"}
    assert found.largest.value <= ROUNDING


def test_what_cannot_be_compared_is_refused_in_one_sentence(ckpt, branches):
    with pytest.raises(ValueError, match="the runs read different texts: branches go on from the same source"):
        compare_runs(branches[0], decode(ckpt, "abd", target="uvw"))
    alone = tiny_checkpoint("decoder-only")
    with pytest.raises(ValueError, match="different texts"):
        compare_runs(decode(alone, "uv", max_steps=2), decode(alone, "uw", max_steps=2))
    with pytest.raises(ValueError, match="different models, tiny and tiny: branches have one model"):
        compare_runs(branches[0], decode(tiny_checkpoint(seed=1), "abc", target="uvw"))
    with pytest.raises(ValueError, match="no 'cross' attention in a layer 7"):
        compare_runs(*branches).variation("cross", 7)


def test_values_are_one_number_for_each_head_and_row(branches):
    assert all(
        isinstance(each, Variation) and each.values.dtype == np.float64 for each in compare_runs(*branches).variations
    )
