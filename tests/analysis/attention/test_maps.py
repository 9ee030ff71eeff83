import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from builders import tiny_checkpoint

from viz_transformer.analysis.attention.maps import (
    attention_kinds,
    contribution_norms,
    head_view,
    head_views,
    layer_count,
    layer_weights,
    step_row,
)
from viz_transformer.analysis.attention.specials import hidden_keys, special_positions
from viz_transformer.running.decoding import decode
from viz_transformer.running.edits import AblateHead, SetMask
from viz_transformer.running.tracing import trace


@pytest.fixture(scope="module")
def run():
    return decode(tiny_checkpoint(), "abcaz", max_steps=4)


@pytest.mark.parametrize("kind", ["cross", "decoder", "encoder"])
@pytest.mark.parametrize("head", [0, 3])
def test_a_view_of_a_head_is_what_was_recorded(run, kind, head):
    view = head_view(run.trace, kind, 1, head)
    site = {"cross": "decoder.1.cross", "decoder": "decoder.1.self", "encoder": "encoder.1.self"}[kind]
    assert view.weights.dtype == np.float32
    assert np.array_equal(view.weights, run.trace[f"{site}.weights"][0, head].numpy())
    assert not view.derived
    assert (
        view.title == f"{site.split('.')[0]} layer 1, head {head}, {'cross' if kind == 'cross' else 'self'}-attention"
    )


def test_rows_read_and_write_what_the_run_did(run):
    view = head_view(run.trace, "cross", 0, 0)
    assert view.query_tokens == ("<s>", *run.tokens[:-1])
    assert view.query_writes == run.tokens
    assert view.key_tokens == ("<s>", "a", "b", "c", "a", "<unk>", "</s>")
    assert view.key_originals == ("<s>", "a", "b", "c", "a", "z", "</s>")


def test_what_a_row_of_given_ids_writes_may_not_be_known():
    view = head_view(trace(tiny_checkpoint(), [1, 4, 2], [1, 5]), "cross", 0, 0)
    assert view.query_writes == ("v", "(not known)")


def test_encoder_rows_write_nothing(run):
    assert head_view(run.trace, "encoder", 0, 0).query_writes is None


def test_the_mean_is_the_mean_and_says_that_it_is_derived(run):
    view = head_view(run.trace, "cross", 2, None)
    heads = np.stack([head_view(run.trace, "cross", 2, head).weights for head in range(4)])
    np.testing.assert_allclose(view.weights, heads.mean(axis=0, dtype=np.float64), atol=1e-7)  # one float32 rounding
    assert view.derived
    assert view.title == "decoder layer 2, mean of 4 heads, cross-attention"
    assert "derived" in view.scale_name


def test_the_mask_of_a_decoder_is_a_triangle(run):
    view = head_view(run.trace, "decoder", 0, 2)
    assert np.array_equal(view.mask, np.tri(len(run.steps), dtype=bool))
    assert (view.weights[~view.mask] == 0).all()


def test_a_cell_is_masked_in_the_mean_only_if_it_is_in_every_head():
    ckpt = tiny_checkpoint()
    edit = SetMask("decoder.0.cross", query=0, key=1, allowed=False, head=2)
    recorded = trace(ckpt, "abc", "uv", edits=[edit])
    assert not head_view(recorded, "cross", 0, 2).mask[0, 1]
    assert head_view(recorded, "cross", 0, 1).mask[0, 1]
    assert head_view(recorded, "cross", 0, None).mask[0, 1]


def test_a_step_s_row_comes_after_the_rows_that_only_read():
    run = decode(tiny_checkpoint("decoder-only"), "uvw", max_steps=3)
    assert attention_kinds(run.trace) == ("decoder",)
    for step in run.steps:
        row = step_row(run, step.index)
        assert run.trace.next_tokens[row] == step.token
        logits = run.trace["logits"][0, row]
        assert torch.allclose(logits.double().log_softmax(-1), step.log_probs, atol=1e-6)  # other sums


def test_steps_of_a_translation_start_at_row_0(run):
    assert [step_row(run, step.index) for step in run.steps] == list(range(len(run.steps)))


def test_rows_of_padding_come_after_the_steps_and_are_named():
    run = decode(tiny_checkpoint(pad_to=20, max_target=20), "abcaz", max_steps=4)
    rows = [step_row(run, step.index) for step in run.steps]
    assert rows == list(range(len(run.steps)))
    view = head_view(run.trace, "cross", 0, 0)
    assert view.query_writes[: len(rows)] == run.tokens
    assert set(view.query_writes[len(rows) :]) == {"(unused)"}
    assert view.query_tokens[len(rows) :] == view.query_originals[len(rows) :] == ("<pad>",) * (20 - len(rows))
    assert view.key_originals == ("<s>", "a", "b", "c", "a", "z", "</s>", *["<pad>"] * 13)


@pytest.mark.parametrize(
    ("kind", "layer", "head", "sentence"),
    [
        ("cross", 3, 0, "layers go from 0 to 2"),
        ("encoder", 2, 0, "layers go from 0 to 1"),
        ("cross", 0, 4, "heads go from 0 to 3"),
        ("cross", 0, -1, "heads go from 0 to 3"),
        ("cross", 0, "median", "heads are not combined as 'median': choose 'mean' or 'max'"),
        ("self", 0, 0, "choose 'cross' or 'decoder' or 'encoder'"),
    ],
)
def test_what_the_model_does_not_have_is_a_value_error(run, kind, layer, head, sentence):
    with pytest.raises(ValueError, match=sentence):
        head_view(run.trace, kind, layer, head)


# ---- several heads ------------------------------------------------------------------------------------------------


def test_the_maximum_is_the_maximum_and_says_that_it_is_derived(run):
    view = head_view(run.trace, "decoder", 1, "max")
    heads = [head_view(run.trace, "decoder", 1, head).weights for head in range(4)]
    for cell, value in np.ndenumerate(view.weights):
        assert value == max(weights[cell] for weights in heads)
    assert view.derived
    assert view.head is None
    assert view.title == "decoder layer 1, maximum of 4 heads, self-attention"
    assert view.scale_name == "largest attention weight of the heads (derived)"


def test_the_mean_has_a_name_and_none_means_it_too(run):
    named, none = head_view(run.trace, "cross", 0, "mean"), head_view(run.trace, "cross", 0, None)
    assert np.array_equal(named.weights, none.weights)
    assert named.title == none.title == "decoder layer 0, mean of 4 heads, cross-attention"
    assert named.combined == none.combined == "mean"


def test_several_heads_come_in_the_order_asked_for(run):
    views = head_views(run.trace, "encoder", 1, [3, 0, "max"])
    assert [view.head for view in views] == [3, 0, None]
    for view, head in zip(views, [3, 0, "max"], strict=True):
        assert np.array_equal(view.weights, head_view(run.trace, "encoder", 1, head).weights)
    assert head_views(run.trace, "encoder", 1, []) == ()


def test_all_heads_of_a_layer_come_with_a_mask_each():
    edit = SetMask("decoder.0.cross", query=0, key=1, allowed=False, head=2)
    recorded = trace(tiny_checkpoint(), "abc", "uv", edits=[edit])
    weights, mask = layer_weights(recorded, "cross", 0)
    assert np.array_equal(weights, recorded["decoder.0.cross.weights"][0].numpy())
    assert mask.shape == weights.shape
    assert mask[:, 0, 1].tolist() == [True, True, False, True]
    assert [layer_count(recorded, kind) for kind in ("encoder", "decoder", "cross")] == [2, 3, 3]


def test_weights_that_ran_fused_are_made_when_looked_at():
    ckpt = tiny_checkpoint("decoder-only", decoder_layers=1, max_target=520)
    recorded = trace(ckpt, [4 + i % 7 for i in range(520)])
    assert "decoder.0.self.weights" not in recorded.points()
    query, key = (recorded[f"decoder.0.self.{name}"][0, 3].double() for name in ("query", "key"))
    view = head_view(recorded, "decoder", 0, 3)
    for row in (0, 1, 519):
        scores = [float(query[row] @ key[j]) / math.sqrt(4) for j in range(row + 1)]
        exponentials = [math.exp(score) for score in scores]
        want = [e / math.fsum(exponentials) for e in exponentials] + [0.0] * (519 - row)
        np.testing.assert_allclose(view.weights[row], want, atol=1e-6)  # float32 against float64


# ---- contributions ------------------------------------------------------------------------------------------------

SITES = {"cross": "decoder.1.cross", "decoder": "decoder.1.self", "encoder": "encoder.1.self"}


def vectors(ckpt, recorded, kind, head):
    """weight_ij * (v_j W_O of the head), [Q, K, D] float64, from what the sub-layer reads and its parameters."""
    stack, layer, name = SITES[kind].split(".")
    attention = getattr(getattr(ckpt.model, stack).layers[int(layer)], f"{name}_attention")
    read = recorded["encoder.out" if kind == "cross" else f"{SITES[kind]}.in"][0].double()  # [K, D]
    own = slice(4 * head, 4 * head + 4)  # a head's features: head_dim is 4
    value = read @ attention.to_value.weight.double()[own].T + attention.to_value.bias.double()[own]  # [K, E]
    moved = value @ attention.to_out.weight.double()[:, own].T  # [K, D]
    return (recorded[f"{SITES[kind]}.weights"][0, head].double()[:, :, None] * moved).detach().numpy()


@pytest.mark.parametrize("kind", SITES)
def test_contributions_are_norms_of_weighted_values_behind_w_o(kind):
    ckpt = tiny_checkpoint()
    recorded = trace(ckpt, "abcab", "uvw")
    summed = 0
    for head in range(4):
        found = contribution_norms(recorded, kind, 1, head)
        want = vectors(ckpt, recorded, kind, head)
        summed = summed + want
        assert found.norms.dtype == np.float32
        np.testing.assert_allclose(found.norms, np.linalg.norm(want, axis=-1), rtol=1e-4)  # values are float32
        np.testing.assert_allclose(found.norms, found.view.weights * found.value_norms, rtol=1e-6)
        assert np.array_equal(found.view.weights, head_view(recorded, kind, 1, head).weights)
    together = contribution_norms(recorded, kind, 1, None)
    np.testing.assert_allclose(together.norms, np.linalg.norm(summed, axis=-1), rtol=1e-4)
    assert together.value_norms is None
    out = recorded[f"{SITES[kind]}.out"][0] - attention_bias(ckpt, kind)
    np.testing.assert_allclose(summed.sum(axis=1), out.numpy(), atol=1e-5)  # the reference's own check


@pytest.mark.parametrize("kind", SITES)
@pytest.mark.parametrize("head", [2, None])
def test_the_contribution_of_several_keys_is_the_length_of_their_summed_vectors(kind, head):
    ckpt = tiny_checkpoint()
    recorded = trace(ckpt, "abcab", "uvwuvw")
    want = sum(vectors(ckpt, recorded, kind, each) for each in (range(4) if head is None else [head]))
    groups = [[3, 1], [2], range(want.shape[1])]
    found = contribution_norms(recorded, kind, 1, head, groups=groups)
    added = np.stack([np.einsum("qkd->qd", want[:, list(group)]) for group in groups], axis=1)
    np.testing.assert_allclose(found.norms, np.linalg.norm(added, axis=-1), rtol=1e-4)
    assert found.norms.dtype == np.float32
    lengths = np.linalg.norm(want, axis=-1)
    assert (found.norms[-1, 2] < lengths[-1].sum()).all()  # they do not all point the same way
    assert found.value_norms is None


def attention_bias(ckpt, kind):
    stack, layer, name = SITES[kind].split(".")
    return getattr(getattr(ckpt.model, stack).layers[int(layer)], f"{name}_attention").to_out.bias.detach()


def test_a_large_weight_on_a_small_value_moves_little_by_hand():
    # Two heads of one feature each, W_O = [1 0; 0 1]: head 0 writes feature 0, head 1 feature 1.
    # Values: head 0: 1/8 and 4, head 1: 3 and 1. Weights of the only query: head 0: 3/4 1/4, head 1: 1/2 1/2.
    # Head 0 alone: 3/32 and 1. Head 1 alone: 3/2 and 1/2. Together: |(3/32, 3/2)| and |(1, 1/2)|.
    ckpt = tiny_checkpoint("encoder-only", d_model=2, n_heads=2, encoder_layers=1)
    recorded = trace(ckpt, [4, 5])
    values = {
        **recorded.values,
        "encoder.0.self.weights": torch.tensor([[[[0.75, 0.25]], [[0.5, 0.5]]]]),
        "encoder.0.self.mask": torch.ones(1, 1, 1, 2, dtype=torch.bool),
        "encoder.0.self.value": torch.tensor([[[[0.125], [4.0]], [[3.0], [1.0]]]]),
    }
    made = replace(recorded, values=values, output_maps={"encoder.0.self": torch.eye(2)})
    assert contribution_norms(made, "encoder", 0, 0).norms.tolist() == [[3 / 32, 1]]
    assert contribution_norms(made, "encoder", 0, 0).value_norms.tolist() == [1 / 8, 4]
    assert contribution_norms(made, "encoder", 0, 1).norms.tolist() == [[1.5, 0.5]]
    together = contribution_norms(made, "encoder", 0, None).norms
    np.testing.assert_allclose(together, [[math.hypot(3 / 32, 3 / 2), math.hypot(1, 1 / 2)]], rtol=1e-6)


def test_heads_that_cancel_contribute_nothing_together():
    ckpt = tiny_checkpoint("encoder-only", d_model=2, n_heads=2, encoder_layers=1)
    recorded = trace(ckpt, [4, 5])
    values = {
        **recorded.values,
        "encoder.0.self.weights": torch.full((1, 2, 2, 2), 0.5),
        "encoder.0.self.value": torch.tensor([[[[1.0], [2.0]], [[-1.0], [2.0]]]]),
    }
    made = replace(recorded, values=values, output_maps={"encoder.0.self": torch.tensor([[1.0, 1.0], [0.0, 0.0]])})
    assert contribution_norms(made, "encoder", 0, None).norms.tolist() == [[0, 2], [0, 2]]


def test_the_output_s_bias_belongs_to_no_key():
    ckpt = tiny_checkpoint()
    before = contribution_norms(trace(ckpt, "abc", "uv"), "cross", 2, 1).norms
    with torch.no_grad():
        ckpt.model.decoder.layers[2].cross_attention.to_out.bias += 5
    assert np.array_equal(contribution_norms(trace(ckpt, "abc", "uv"), "cross", 2, 1).norms, before)


def test_masked_cells_contribute_nothing_and_many_rows_are_as_few():
    ckpt = tiny_checkpoint("decoder-only", max_target=150)
    recorded = trace(ckpt, [4 + i % 9 for i in range(150)])
    norms = contribution_norms(recorded, "decoder", 1, None).norms
    assert norms.shape == (150, 150)
    assert (norms[np.triu_indices(150, 1)] == 0).all()
    summed = sum(vectors(ckpt, recorded, "decoder", head) for head in range(4))
    np.testing.assert_allclose(norms, np.linalg.norm(summed, axis=-1), rtol=1e-3, atol=1e-6)


def test_contributions_of_a_cached_decode_are_those_of_one_pass(run):
    whole = trace(tiny_checkpoint(), run.trace.src_ids, run.trace.tgt_ids)
    for kind in SITES:
        got, want = (contribution_norms(recorded, kind, 1, None).norms for recorded in (run.trace, whole))
        np.testing.assert_allclose(got, want, atol=1e-5)  # summed in another order


def test_contributions_say_what_they_are(run):
    found = contribution_norms(run.trace, "cross", 1, 3)
    assert found.title == "decoder layer 1, head 3, cross-attention: norm of what each key adds"
    assert found.view.query_writes == run.tokens
    together = contribution_norms(run.trace, "encoder", 0, None)
    assert together.title == "encoder layer 0, 4 heads together, self-attention: norm of what each key adds"
    assert together.view.derived


def test_an_ablated_head_still_has_weights_and_values():
    plain = contribution_norms(trace(tiny_checkpoint(), "abc", "uv"), "cross", 0, 1)
    edits = [AblateHead("decoder.0.cross", head=1)]
    ablated = contribution_norms(trace(tiny_checkpoint(), "abc", "uv", edits=edits), "cross", 0, 1)
    assert np.array_equal(plain.norms, ablated.norms)


def test_a_raw_reshape_has_no_contribution_of_a_key_to_a_position():
    recorded = trace(tiny_checkpoint(merge="raw-reshape"), "abc", "uv")
    for head in (0, None):
        with pytest.raises(ValueError, match="undefined: this model merges its heads by a raw reshape"):
            contribution_norms(recorded, "cross", 1, head)


def test_a_trace_without_output_maps_says_so(run):
    with pytest.raises(ValueError, match=r"no output map W_O of 'decoder\.1\.cross': record the run again"):
        contribution_norms(replace(run.trace, output_maps={}), "cross", 1, 0)


def test_contributions_of_what_the_model_does_not_have_are_a_value_error(run):
    with pytest.raises(ValueError, match="heads go from 0 to 3"):
        contribution_norms(run.trace, "cross", 0, 4)
    with pytest.raises(ValueError, match="layers go from 0 to 1"):
        contribution_norms(run.trace, "encoder", 2, 0)


# ---- hidden keys --------------------------------------------------------------------------------------------------


# Keys 0 and 2 are hidden. What they hold: 3/4, 15/16, 0; what is left, 1/4, 1/16 and 1, becomes 1.
def test_hidden_keys_by_hand():
    weights = [[0.5, 0.25, 0.25], [0.9375, 0.0625, 0.0], [0.0, 1.0, 0.0]]
    left = hidden_keys(weights, [True, False, True], renormalise=False)
    assert left.weights.tolist() == [[0, 0.25, 0], [0, 0.0625, 0], [0, 1, 0]]
    assert left.hidden_mass.tolist() == [0.75, 0.9375, 0]
    assert left.mostly_hidden.tolist() == [False, True, False]
    assert left.hidden.tolist() == [True, False, True]
    again = hidden_keys(weights, [True, False, True], renormalise=True)
    assert again.weights.tolist() == [[0, 1, 0]] * 3
    assert again.hidden_mass.tolist() == [0.75, 0.9375, 0]
    assert (left.renormalised, again.renormalised) == (False, True)


def test_where_nothing_is_left_the_run_s_own_weights_stay_and_the_share_says_so():
    found = hidden_keys([[1.0, 0.0, 0.0], [0.0, 0.0, 0.0]], [True, False, False], renormalise=True)
    np.testing.assert_array_equal(found.weights, np.zeros((2, 3), np.float32))
    assert found.hidden_share.tolist() == [1, 0]
    assert found.mostly_hidden.tolist() == [True, False]


def test_the_hidden_share_is_one_of_what_the_row_holds_and_1_only_where_nothing_is_left():
    found = hidden_keys([[1.5, 0.5], [1.0, 1e-20], [np.nan, np.nan]], [True, False], renormalise=True)
    assert found.hidden_share[0] == 0.75  # the largest weights of several heads sum to more than 1
    assert found.hidden_mass[0] == 1.5 and not found.mostly_hidden[0]
    assert found.hidden_share[1] < 1 and found.mostly_hidden[1]
    assert found.weights[1].tolist() == [0, 1]
    assert np.isnan(found.weights[2, 1]) and np.isnan(found.hidden_share[2])  # the run has no number there either


@pytest.mark.parametrize("kind", SITES)
def test_hiding_specials_keeps_the_proportions_of_the_rest(run, kind):
    ckpt = tiny_checkpoint()
    side, codec = (run.trace.tgt, ckpt.target_codec) if kind == "decoder" else (run.trace.src, ckpt.source_codec)
    hidden = special_positions(side, codec)
    weights, _ = layer_weights(run.trace, kind, 1)  # [H, Q, K]
    plain, shares = (hidden_keys(weights, hidden, renormalise=again) for again in (False, True))
    assert plain.hidden_mass.shape == weights.shape[:2]
    for (head, query), mass in np.ndenumerate(plain.hidden_mass):
        row = weights[head, query].astype(float)
        assert mass == pytest.approx(sum(row[j] for j in range(len(row)) if hidden[j]), abs=1e-12)
        for j, is_hidden in enumerate(hidden):
            assert plain.weights[head, query, j] == (0 if is_hidden else np.float32(row[j]))
            rest = row.sum() - mass
            if rest > 0:
                want = 0 if is_hidden else row[j] / rest
                assert shares.weights[head, query, j] == pytest.approx(want, abs=1e-6)


def test_nothing_hidden_changes_nothing(run):
    weights, _ = layer_weights(run.trace, "cross", 0)
    found = hidden_keys(weights, [False] * weights.shape[-1], renormalise=True)
    assert np.array_equal(found.weights, weights)
    assert not found.hidden_mass.any()


def test_marks_that_do_not_fit_the_keys_are_refused():
    with pytest.raises(ValueError, match=r"2 keys are marked as hidden or not, weights have shape \[1, 3\]"):
        hidden_keys([[1.0, 0.0, 0.0]], [True, False], renormalise=True)


def test_specials_are_start_end_and_padding_and_not_the_unknown_token():
    ckpt = tiny_checkpoint(pad_to=20, max_target=20)
    src = trace(ckpt, "az", "u").src
    assert src.tokens[:4] == ("<s>", "a", "<unk>", "</s>")
    assert special_positions(src, ckpt.source_codec) == (True, False, False, *[True] * 17)


def test_the_old_call_with_a_vocabulary_works_and_says_what_to_give():
    ckpt = tiny_checkpoint(pad_to=20, max_target=20)
    src = trace(ckpt, "az", "u").src
    with pytest.warns(DeprecationWarning, match=r"give ckpt\.source_codec instead") as warned:
        old = special_positions(src, ckpt.source_codec.vocabulary)
    assert old == special_positions(src, ckpt.source_codec)
    assert warned[0].filename == __file__
