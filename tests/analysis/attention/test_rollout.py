import math

import numpy as np
import pytest
import torch
from builders import tiny_checkpoint, tiny_config

from viz_transformer.analysis.attention.rollout import rollout, rollout_view
from viz_transformer.model.hooked_model import spec_of
from viz_transformer.running.decoding import decode
from viz_transformer.running.edits import FixRow, SetMask
from viz_transformer.running.trace import Tokens, Trace
from viz_transformer.running.tracing import trace


def handmade(weights, **changes):
    """A trace with the weights of these attentions, site -> [H, Q, K], where nothing is masked."""
    values = {}
    for site, heads in weights.items():
        values[f"{site}.weights"] = torch.tensor(heads)[None]
        values[f"{site}.mask"] = torch.ones(1, 1, *values[f"{site}.weights"].shape[2:], dtype=torch.bool)
    two = Tokens((4, 5), ("a", "b"), ("a", "b"))
    return Trace(
        values=values,
        spec=spec_of(tiny_config(**{"n_heads": 1, **changes})),
        checkpoint="handmade",
        weights_sha256="",
        src=two,
        tgt=two,
        next_ids=(None, None),
        next_tokens=(None, None),
    )


# Layer 0: I/2 + A/2 = [3/4 1/4; 0 1]. Layer 1: [1/2 1/2; 1/2 1/2] times that = [3/8 5/8; 3/8 5/8].
def test_rollout_of_an_encoder_by_hand():
    layers = {"encoder.0.self": [[[0.5, 0.5], [0.0, 1.0]]], "encoder.1.self": [[[0.0, 1.0], [1.0, 0.0]]]}
    recorded = handmade(layers, encoder_layers=2)
    assert rollout(recorded, "encoder", 0).values.tolist() == [[0.75, 0.25], [0, 1]]
    assert rollout(recorded, "encoder", 1).values.tolist() == [[0.375, 0.625], [0.375, 0.625]]
    assert rollout(recorded, "encoder").layer == 1


# R_enc = I/2 + A/2 with A = [0 1; 0 1] = [1/2 1/2; 0 1].
# Decoder, after self-attention with A = [1 0; 1/2 1/2]: R_tt = [1 0; 1/4 3/4], R_ts = 0.
# After cross-attention with A = [1 0; 0 1]: R_ts = R_enc / 2 = [1/4 1/4; 0 1/2], R_tt = [1/2 0; 1/8 3/8].
# Layer 1, self-attention with A = [1 0; 1 0], so that row 1 becomes the mean of both rows:
#   R_tt = [1/2 0; 5/16 3/16], R_ts = [1/4 1/4; 1/8 3/8]
# and cross-attention with A = [0 1; 0 1]: A R_enc = [0 1; 0 1],
#   R_tt = [1/4 0; 5/32 3/32], R_ts = [1/8 5/8; 1/16 11/16].
def test_rollout_of_a_decoder_by_hand():
    recorded = handmade(
        {
            "encoder.0.self": [[[0.0, 1.0], [0.0, 1.0]]],
            "decoder.0.self": [[[1.0, 0.0], [0.5, 0.5]]],
            "decoder.0.cross": [[[1.0, 0.0], [0.0, 1.0]]],
            "decoder.1.self": [[[1.0, 0.0], [1.0, 0.0]]],
            "decoder.1.cross": [[[0.0, 1.0], [0.0, 1.0]]],
        },
        encoder_layers=1,
        decoder_layers=2,
    )
    first, second = rollout(recorded, "cross", 0), rollout(recorded, "decoder", 1)
    assert first.encoder.tolist() == second.encoder.tolist() == [[0.5, 0.5], [0, 1]]
    assert first.target_share.tolist() == [[1 / 2, 0], [1 / 8, 3 / 8]]
    assert first.source_share.tolist() == [[1 / 4, 1 / 4], [0, 1 / 2]]
    assert second.target_share.tolist() == [[1 / 4, 0], [5 / 32, 3 / 32]]
    assert second.source_share.tolist() == [[1 / 8, 5 / 8], [1 / 16, 11 / 16]]
    assert second.target_total.tolist() == [0.25, 0.25]
    assert second.source_total.tolist() == [0.75, 0.75]
    assert first.values is first.source_share
    assert second.values is second.target_share


@pytest.mark.parametrize(("kind", "layer", "layers"), [("encoder", 0, 1), ("decoder", 1, 4), ("cross", 2, 5)])
def test_each_layer_is_told_and_what_is_ended_on_the_way_is_not_kept(kind, layer, layers):
    recorded = decode(tiny_checkpoint(), "abcab", max_steps=6).trace
    told = []

    def ended(done, most):
        if done == layers:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        rollout_view(recorded, kind, layer, progress=ended)
    view = rollout_view(recorded, kind, layer, progress=lambda *done: told.append(done))
    assert told == [(done + 1, layers) for done in range(layers)]
    assert np.array_equal(view.weights, rollout(recorded, kind, layer).values.astype(np.float32))
    assert rollout_view(recorded, kind, layer, progress=ended) is view  # which is kept


# Two heads, [1 0; 0 1] and [0 1; 1 0], are even together: I/2 + A/2 = [3/4 1/4; 1/4 3/4].
def test_heads_are_averaged():
    both = [[[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [1.0, 0.0]]]
    recorded = handmade({"encoder.0.self": both}, encoder_layers=1, n_heads=2)
    assert rollout(recorded, "encoder").values.tolist() == [[0.75, 0.25], [0.25, 0.75]]


# Row 1 attends to nothing: it stays as it is, [0 1]. Row 0 was edited to sum 3: (I + A) / 4 = [3/4 1/4].
def test_rows_that_do_not_sum_to_one_are_divided_by_their_sum_with_the_residual():
    recorded = handmade({"encoder.0.self": [[[2.0, 1.0], [0.0, 0.0]]]}, encoder_layers=1)
    assert rollout(recorded, "encoder").values.tolist() == [[0.75, 0.25], [0, 1]]


def product(a, b):
    return [
        [math.fsum(x * y for x, y in zip(row, column, strict=True)) for column in zip(*b, strict=True)] for row in a
    ]


def mean_of_heads(recorded, site):
    heads = recorded[f"{site}.weights"][0].tolist()
    return [[math.fsum(cell) / len(heads) for cell in zip(*rows, strict=True)] for rows in zip(*heads, strict=True)]


def half(a, b):
    return [[(x + y) / 2 for x, y in zip(row, other, strict=True)] for row, other in zip(a, b, strict=True)]


def identity(n):
    return [[float(i == j) for j in range(n)] for i in range(n)]


@pytest.mark.parametrize("depth", range(3))
def test_rollout_is_that_of_plain_loops(depth):
    recorded = decode(tiny_checkpoint(), "abcab", max_steps=6).trace
    encoder = identity(len(recorded.src))
    for layer in range(2):
        a = mean_of_heads(recorded, f"encoder.{layer}.self")
        encoder = half(encoder, product(a, encoder))
    target, source = identity(len(recorded.tgt)), [[0.0] * len(recorded.src) for _ in range(len(recorded.tgt))]
    for layer in range(depth + 1):
        own, cross = (mean_of_heads(recorded, f"decoder.{layer}.{kind}") for kind in ("self", "cross"))
        target, source = half(target, product(own, target)), half(source, product(own, source))
        source = half(source, product(cross, encoder))
        target = [[x / 2 for x in row] for row in target]
    found = rollout(recorded, "cross", depth)
    # float32 weights sum to 1 up to 1e-7, by which the two ways to halve differ
    np.testing.assert_allclose(found.encoder, encoder, atol=1e-6)
    np.testing.assert_allclose(found.target_share, target, atol=1e-6)
    np.testing.assert_allclose(found.source_share, source, atol=1e-6)


EDITS = [
    SetMask("encoder.0.self", query=1, key=None, allowed=False),
    SetMask("decoder.1.cross", query=0, key=None, allowed=False, head=2),
    FixRow("decoder.0.self", query=1, weights=(0.2, 0.1)),
]
PADDED = {"pad_to": 20, "max_source": 20, "max_target": 20}


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"mask_fill": "-1e9"},
        {**PADDED, "mask_fill": "-1e9", "padding_mask": "key-or-query"},
        {**PADDED, "padding_mask": "key-or-query"},
        {"norm": "post", "final_norm": False},
    ],
)
def test_rows_of_both_shares_sum_to_one_whatever_the_mask_fill_does(changes):
    recorded = trace(tiny_checkpoint(**changes), "abcab", "uvwu", edits=EDITS)
    for layer in range(3):
        found = rollout(recorded, "cross", layer)
        both = np.concatenate([found.source_share, found.target_share], axis=1)
        np.testing.assert_allclose(both.sum(axis=1), 1, atol=1e-12)
        np.testing.assert_allclose(found.encoder.sum(axis=1), 1, atol=1e-12)
        np.testing.assert_allclose(found.source_total + found.target_total, 1, atol=1e-12)
        assert (both >= 0).all()


def test_a_filled_row_mixes_masked_keys_in_and_a_row_of_zeros_none():
    edit = SetMask("encoder.0.self", query=1, key=None, allowed=False)
    filled, zeros = (
        rollout(trace(tiny_checkpoint(mask_fill=fill), "ab", "u", edits=[edit]), "encoder", 0).values[1]
        for fill in ("-1e9", "zero-rows")
    )
    np.testing.assert_allclose(filled, [1 / 8, 1 / 8 + 1 / 2, 1 / 8, 1 / 8], atol=1e-7)  # <s> a b </s>, even
    assert zeros.tolist() == [0, 1, 0, 0]


def test_a_row_that_is_no_number_stays_none():
    edit = SetMask("encoder.0.self", query=1, key=None, allowed=False)
    values = rollout(trace(tiny_checkpoint(mask_fill="-inf"), "ab", "u", edits=[edit]), "encoder", 0).values
    assert np.isnan(values).all(axis=1).tolist() == [False, True, False, False]


def test_without_an_encoder_only_the_target_has_a_share():
    recorded = trace(tiny_checkpoint("decoder-only"), "uvwuv")
    found = rollout(recorded, "decoder")
    assert found.encoder is found.source_share is found.source_total is None
    np.testing.assert_allclose(found.target_total, 1, atol=1e-12)
    assert (found.target_share[np.triu_indices(len(recorded.tgt), 1)] == 0).all()


def test_an_encoder_alone():
    found = rollout(trace(tiny_checkpoint("encoder-only"), "abc"), "encoder", 0)
    assert found.target_share is found.source_share is found.target_total is found.source_total is None
    assert found.values is found.encoder


def test_an_encoder_s_rollout_is_after_the_layer_asked_for_and_a_decoder_s_after_all_of_it():
    recorded = trace(tiny_checkpoint(), "abc", "uv")
    after_all = rollout(recorded, "encoder", 1).values
    assert np.array_equal(rollout(recorded, "cross", 0).encoder, after_all)
    assert not np.allclose(rollout(recorded, "encoder", 0).values, after_all, atol=1e-3)


@pytest.mark.parametrize("layer", range(3))
def test_the_target_s_total_is_halved_by_each_cross_attention(layer):
    recorded = trace(tiny_checkpoint(seed=layer), "abc", "uvw")
    np.testing.assert_allclose(rollout(recorded, "cross", layer).target_total, 0.5 ** (layer + 1), atol=1e-7)


def test_one_token_keeps_everything():
    recorded = trace(tiny_checkpoint(), [4], [1])
    assert rollout(recorded, "encoder").values.tolist() == [[1]]
    found = rollout(recorded, "cross")
    assert (found.source_share.item(), found.target_share.item()) == pytest.approx((7 / 8, 1 / 8), abs=1e-7)


def test_the_view_says_what_it_is_and_has_the_tokens():
    recorded = trace(tiny_checkpoint(), "abc", "uv")
    view = rollout_view(recorded, "cross", 1)
    assert view.derived
    assert view.title == "attention rollout after layer 1 of the decoder, source share"
    assert "derived" in view.scale_name
    assert (view.query_tokens, view.key_tokens) == (("<s>", "u", "v"), ("<s>", "a", "b", "c", "</s>"))
    assert view.query_writes == ("u", "v", "</s>")
    assert view.weights.dtype == np.float32
    assert np.array_equal(view.weights, rollout(recorded, "cross", 1).source_share.astype(np.float32))
    assert rollout_view(recorded, "decoder").title == "attention rollout after layer 2 of the decoder, target share"
    assert rollout_view(recorded, "encoder").title == "attention rollout after layer 1 of the encoder"


def test_what_no_path_reaches_is_masked():
    recorded = trace(tiny_checkpoint(**PADDED), "abc", "uv")
    assert np.array_equal(rollout_view(recorded, "decoder").mask[:3], np.tri(3, 20, dtype=bool))
    for kind in ("encoder", "cross"):
        mask = rollout_view(recorded, kind).mask[:3]
        assert mask[:, :5].all()
        assert not mask[:, 5:].any()
    assert rollout_view(recorded, "encoder").mask[7, 7]  # by way of the residual


def test_a_weight_of_zero_is_not_masked():
    recorded = handmade({"encoder.0.self": [[[1.0, 0.0], [0.0, 1.0]]]}, encoder_layers=1)
    view = rollout_view(recorded, "encoder")
    assert view.weights.tolist() == [[1, 0], [0, 1]]
    assert view.mask.all()


def test_a_cell_that_only_a_second_layer_reaches_is_not_masked():
    edits = [SetMask(f"encoder.{layer}.self", 0, 3, allowed=False) for layer in (0, 1)]
    recorded = trace(tiny_checkpoint(), "ab", "u", edits=edits)
    assert not rollout_view(recorded, "encoder", 0).mask[0, 3]
    assert rollout_view(recorded, "encoder", 1).mask[0, 3]
    assert rollout_view(recorded, "encoder", 1).weights[0, 3] > 0


def test_a_raw_reshape_has_no_rollout():
    recorded = trace(tiny_checkpoint(merge="raw-reshape", **PADDED), "abc", "uv")
    with pytest.raises(ValueError, match="rollout is undefined: this model merges its heads by a raw reshape"):
        rollout(recorded, "encoder")


@pytest.mark.parametrize(
    ("kind", "layer", "sentence"),
    [("encoder", 2, "layers go from 0 to 1"), ("cross", -1, "layers go from 0 to 2"), ("self", 0, "choose 'cross'")],
)
def test_what_the_model_does_not_have_is_a_value_error(kind, layer, sentence):
    with pytest.raises(ValueError, match=sentence):
        rollout(trace(tiny_checkpoint(), "abc", "uv"), kind, layer)


def long_text(masks):
    """Queries and keys of some layers and heads with these masks, [layers, T, T], as of a run that made no weights."""
    layers, length, _ = masks.shape
    random, values, config = torch.Generator().manual_seed(0), {}, tiny_config("decoder-only", decoder_layers=layers)
    for layer, mask in enumerate(masks):
        for part in ("query", "key"):
            values[f"decoder.{layer}.self.{part}"] = torch.randn(1, 4, length, 4, generator=random)
        values[f"decoder.{layer}.self.mask"] = torch.from_numpy(mask)[None, None]
    text, nothing = Tokens((4,) * length, ("a",) * length, ("a",) * length), (None,) * length
    scalars = {f"decoder.{layer}.self.divisor": 2.0 for layer in range(layers)}
    model = spec_of(config)
    return Trace(values, model, "long", "", Tokens(), text, nothing, nothing, scalars=scalars)


def window(length, back):
    return np.tri(length, dtype=bool) & ~np.tri(length, k=-back, dtype=bool)


@pytest.mark.parametrize(
    "masks",
    [
        np.stack([np.tri(300, dtype=bool)] * 4),
        np.stack([window(300, 40)] * 3),
        np.stack([window(300, 150), np.tri(300, dtype=bool), window(300, 20)]),
        np.random.default_rng(0).random((3, 300, 300)) < 0.006,  # some rows may read nothing, keys of all blocks
    ],
    ids=["causal", "window", "window and causal", "scattered"],
)
def test_of_a_long_text_blocks_of_zeros_are_left_out_and_nothing_else(masks):
    recorded = long_text(masks)
    shares, reached = np.eye(300), np.eye(300, dtype=bool)
    for layer, mask in enumerate(masks):
        weights = recorded[f"decoder.{layer}.self.weights"][0].numpy().mean(axis=0, dtype=np.float64)
        shares = (shares + weights @ shares) / (1 + weights.sum(axis=1, keepdims=True))
        reached = reached | (mask.astype(np.float32) @ reached.astype(np.float32) > 0)
    np.testing.assert_allclose(rollout(recorded, "decoder").values, shares, rtol=1e-12, atol=1e-15)
    assert np.array_equal(rollout_view(recorded, "decoder").mask, reached)


def test_a_long_text_with_a_row_that_is_no_number_spreads_it_as_the_whole_product_does():
    recorded = long_text(np.stack([np.tri(300, dtype=bool)] * 2))
    recorded.values["decoder.0.self.query"][0, :, 280] = torch.nan
    values = rollout(recorded, "decoder").values
    assert np.isnan(values).all()  # 0 times what is no number is none either
    assert np.isnan(rollout(recorded, "decoder", 0).values).all(axis=1).nonzero()[0].tolist() == [280]


def test_the_map_is_made_once_for_each_trace_kind_and_layer():
    recorded, other = trace(tiny_checkpoint(), "abc", "uv"), trace(tiny_checkpoint(), "ab", "uv")
    first = rollout_view(recorded, "decoder", 1)
    assert rollout_view(other, "decoder", 1).key_tokens == rollout_view(recorded, "decoder", 1).key_tokens
    assert rollout_view(recorded, "decoder", 1) is first
    assert rollout_view(recorded, "decoder", 2).layer == 2
    assert rollout_view(recorded, "cross", 2).kind == "cross"
    assert np.array_equal(rollout_view(recorded, "decoder", 1).weights, first.weights)
