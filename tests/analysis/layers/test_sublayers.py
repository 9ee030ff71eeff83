from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from builders import TARGET, random_ids, tiny_checkpoint

from viz_transformer.analysis.layers import sublayers
from viz_transformer.model.config import tutorial
from viz_transformer.model.hooked_model import spec_of
from viz_transformer.model.kinds import stacks_of
from viz_transformer.running.decoding import decode
from viz_transformer.running.tracing import trace
from viz_transformer.running.training_mode import training_trace

VARIANTS = {
    "pre": {},
    "pre without final norm": {"final_norm": False},
    "post": {"norm": "post", "final_norm": False},
    "post with final norm": {"norm": "post"},
    "bessel": {"norm_kind": "bessel", "norm_epsilon": 1e-6, "encoder_final_norm": "torch"},
    "positions": {"norm": "post", "final_norm": False, "norm_kind": "positions-and-features"},
    "padded": {"norm_kind": "positions-and-features", "pad_to": 12, "max_source": 12, "max_target": 12},
    "gelu": {"activation": "gelu"},
}
KINDS = ("encoder-decoder", "decoder-only", "encoder-only")


def made(kind="encoder-decoder", seed=0, **changes):
    ckpt = tiny_checkpoint(kind, seed, **changes)
    if kind == "decoder-only":
        return ckpt, trace(ckpt, "uvwxyz0")
    return ckpt, trace(ckpt, "abcdefg", *(["uvwx"] if kind == "encoder-decoder" else []))


@pytest.fixture(params=VARIANTS)
def variant(request):
    return made(**VARIANTS[request.param])


def all_flows(recorded):
    return [flow for stack in stacks_of(recorded.config) for flow in sublayers.flows(recorded, stack)]


def all_norms(ckpt, recorded):
    found = [
        sublayers.norm_view(recorded, ckpt.model, place)
        for stack in stacks_of(ckpt.config)
        for place in sublayers.places(spec_of(ckpt.config), stack)
    ]
    if ckpt.config.final_norm:
        found += [sublayers.final_norm_view(recorded, ckpt.model, stack) for stack in stacks_of(ckpt.config)]
    return found


# ---- places


def test_places_are_the_sub_layers_in_the_order_of_the_forward_pass():
    config = made()[0].config
    sites = [place.site for place in sublayers.places(spec_of(config), "decoder")]
    assert sites[:4] == ["decoder.0.self", "decoder.0.cross", "decoder.0.ffn", "decoder.1.self"]
    assert len(sites) == 9
    assert [place.site for place in sublayers.places(spec_of(config), "encoder")][:2] == [
        "encoder.0.self",
        "encoder.0.ffn",
    ]
    alone = made("decoder-only")[0].config
    assert {place.part for place in sublayers.places(spec_of(alone), "decoder")} == {"self", "ffn"}
    with pytest.raises(ValueError, match="a decoder-only model has no encoder: choose decoder"):
        sublayers.places(spec_of(alone), "encoder")


def test_a_selection_means_one_sub_layer_or_the_final_norm():
    config = made()[0].config
    assert sublayers.place_of(spec_of(config), "cross", 2, "attention").site == "decoder.2.cross"
    assert sublayers.place_of(spec_of(config), "cross", 2, "ffn").site == "decoder.2.ffn"
    assert sublayers.place_of(spec_of(config), "decoder", 1, "attention").site == "decoder.1.self"
    assert sublayers.place_of(spec_of(config), "encoder", 1, "ffn").site == "encoder.1.ffn"
    assert sublayers.place_of(spec_of(config), "encoder", 0, "final") is None
    with pytest.raises(ValueError, match="no norm after the last layer of its decoder"):
        sublayers.place_of(spec_of(replace(config, final_norm=False)), "cross", 0, "final")
    with pytest.raises(ValueError, match="no self-attention in layer 2 of its encoder"):
        sublayers.place_of(spec_of(config), "encoder", 2, "attention")


@pytest.mark.parametrize("kind", KINDS)
def test_every_point_around_a_place_was_recorded(kind):
    for changes in ({}, {"norm": "post"}):
        ckpt, recorded = made(kind, **changes)
        for stack in stacks_of(ckpt.config):
            for place in sublayers.places(spec_of(ckpt.config), stack):
                for name in (place.before, place.total, place.after, f"{place.site}.in", f"{place.site}.out"):
                    assert name in recorded.values, name


# ---- what was read, added and left


def test_before_plus_added_is_the_recorded_sum_bit_for_bit(variant):
    _, recorded = variant
    for flow in all_flows(recorded):
        place = flow.place
        assert torch.equal(recorded[place.before] + recorded[f"{place.site}.out"], recorded[place.total]), place.site


def test_one_sub_layers_left_is_the_next_ones_came_in(variant):
    _, recorded = variant
    for stack in stacks_of(recorded.config):
        found = sublayers.flows(recorded, stack)
        for first, second in pairwise(found):
            assert np.array_equal(first.left, second.came)
        length = recorded[f"{stack}.embed.out"][0].double().norm(dim=-1).numpy()
        np.testing.assert_allclose(found[0].came, length, rtol=1e-12)


def test_lengths_shares_and_cosines_are_those_of_torch(variant):
    _, recorded = variant
    for flow in all_flows(recorded):
        place = flow.place
        before, after, out, read, total = (
            recorded[name][0].double()
            for name in (place.before, place.after, f"{place.site}.out", f"{place.site}.in", place.total)
        )
        for values, rows in (
            (flow.came, before),
            (flow.left, after),
            (flow.added, out),
            (flow.read, read),
            (flow.total, total),
        ):
            np.testing.assert_allclose(values, torch.linalg.vector_norm(rows, dim=-1).numpy(), rtol=1e-12)
        np.testing.assert_allclose(flow.cosine, F.cosine_similarity(before, after, dim=-1).numpy(), atol=1e-12)
        np.testing.assert_allclose(flow.share, flow.added / (flow.came + flow.added), rtol=1e-12)


def test_a_pre_norm_sub_layer_leaves_the_sum_and_a_post_norm_one_reads_what_came_in():
    _, pre = made()
    _, post = made(norm="post", final_norm=False)
    assert all(np.array_equal(flow.total, flow.left) for flow in all_flows(pre))
    assert not any(np.array_equal(flow.read, flow.came) for flow in all_flows(pre))
    assert all(np.array_equal(flow.read, flow.came) for flow in all_flows(post))
    assert not any(np.array_equal(flow.total, flow.left) for flow in all_flows(post))


def test_lengths_behind_a_post_norm_are_constant_by_construction_and_those_of_the_sum_are_not():
    ckpt = tiny_checkpoint(norm="post", final_norm=False)
    for parameter in (p for name, p in ckpt.model.named_parameters() if ".norm." in name):
        torch.nn.init.constant_(parameter, 0.0 if parameter.shape == (16,) and parameter.mean() < 0.5 else 1.0)
    for flow in all_flows(trace(ckpt, "abcdefg", "uvwx")):
        np.testing.assert_allclose(flow.left, 4, atol=1e-3)  # the root of d_model = 16; epsilon takes a little
        assert np.ptp(flow.total) > 0.1


def test_share_and_cosine_of_a_case_worked_by_hand():
    # came in (3, 4) and (1, 0); added (0, 5) and (-1, 0): lengths 5 and 5, 1 and 1; sums (3, 9) and (0, 0)
    np.testing.assert_allclose(sublayers.share_added([5, 1, 0], [5, 3, 0]), [0.5, 0.75, np.nan])
    found = sublayers.cosines([[3, 4], [1, 0], [1, 1]], [[4, 3], [0, 0], [-1, -1]])
    np.testing.assert_allclose(found, [24 / 25, np.nan, -1])


def test_the_baseline_is_the_mean_over_pairs_of_different_rows():
    # rows (1, 0), (0, 1) against (1, 0), (1, 1): cos(first_0, second_1) = 1 / sqrt 2, cos(first_1, second_0) = 0
    mean, pairs = sublayers.random_pair_cosine([[1, 0], [0, 1]], [[1, 0], [1, 1]])
    assert pairs == 2
    assert mean == pytest.approx(np.sqrt(0.5) / 2, abs=1e-15)


def test_the_baseline_is_what_drawn_pairs_tend_to():
    rows = np.random.default_rng(0)
    first, second = rows.normal(size=(9, 5)) + 1, rows.normal(size=(9, 5)) + 1
    mean, pairs = sublayers.random_pair_cosine(first, second)
    each = [sublayers.cosines(first[i : i + 1], second[j : j + 1])[0] for i in range(9) for j in range(9) if i != j]
    assert (pairs, mean) == (72, pytest.approx(np.mean(each), abs=1e-14))
    drawn = [each[i] for i in rows.integers(0, 72, size=20_000)]
    assert np.mean(drawn) == pytest.approx(mean, abs=0.02)  # about 5 standard errors of 20,000 draws


def test_vectors_that_all_point_one_way_have_a_baseline_of_1_and_random_directions_one_near_0():
    same, _ = sublayers.random_pair_cosine(np.ones((6, 8)), 2 * np.ones((6, 8)))
    assert same == pytest.approx(1)
    rows = np.random.default_rng(1).normal(size=(400, 64))
    assert abs(sublayers.random_pair_cosine(rows, rows)[0]) < 0.01


def test_one_token_has_no_pairs():
    ckpt = tiny_checkpoint("decoder-only")
    (flow, *_) = sublayers.flows(trace(ckpt, [5]), "decoder")
    assert flow.pairs == 0 and np.isnan(flow.baseline)
    assert np.isfinite(flow.cosine).all()


def test_padding_takes_no_part_in_the_baseline():
    _, recorded = made(**VARIANTS["padded"])
    for stack, own in (("encoder", 9), ("decoder", 5)):
        for flow in sublayers.flows(recorded, stack):
            assert flow.counted.tolist() == [True] * own + [False] * (12 - own)
            before, after = (recorded[name][0, :own] for name in (flow.place.before, flow.place.after))
            assert (flow.baseline, flow.pairs) == sublayers.random_pair_cosine(before, after)


def test_a_decoded_run_has_the_same_flows_as_one_pass_over_what_it_wrote():
    ckpt = tiny_checkpoint()
    run = decode(ckpt, "abc", max_steps=6)
    whole = trace(ckpt, run.trace.src_ids, run.trace.tgt_ids)
    for a, b in zip(all_flows(run.trace), all_flows(whole), strict=True):
        np.testing.assert_allclose(a.total, b.total, rtol=1e-5)
        np.testing.assert_allclose(a.cosine, b.cosine, atol=1e-5)


def test_in_training_mode_dropout_stands_between_the_output_and_the_stream():
    ckpt = tiny_checkpoint(dropout=0.5)
    recorded = training_trace(ckpt, "abc", "uv", 3)
    place = sublayers.places(spec_of(ckpt.config), "encoder")[0]
    assert not torch.equal(recorded[place.before] + recorded[f"{place.site}.out"], recorded[place.total])


# ---- norms


def test_recorded_mean_and_scale_with_gain_and_offset_give_the_recorded_output(variant):
    for view in all_norms(*variant):
        largest = max(1.0, float(np.abs(variant[1][view.gives].numpy()).max()))
        assert view.gap < 2e-6 * largest, view.title  # float32 against float64


def test_moments_before_and_after_are_those_of_the_points(variant):
    ckpt, recorded = variant
    for view in all_norms(ckpt, recorded):
        for name, (mean, variance) in ((view.reads, view.before), (view.gives, view.after)):
            rows = recorded[name][0].double()
            np.testing.assert_allclose(mean, rows.mean(-1), atol=1e-12)
            np.testing.assert_allclose(variance, rows.var(-1, correction=0), rtol=1e-9)


def test_between_mean_is_0_and_variance_1_for_layer_norm():
    for view in all_norms(*made()):
        np.testing.assert_allclose(view.between[0], 0, atol=1e-5)
        np.testing.assert_allclose(view.between[1], 1, atol=2e-4)  # the variance over itself plus epsilon
        np.testing.assert_allclose(view.scale**2, view.before[1] + 1e-5, rtol=1e-5)
        np.testing.assert_allclose(view.mean, view.before[0], atol=1e-5)
        assert not view.whole_text


def test_bessels_correction_leaves_a_variance_below_1():
    ckpt, recorded = made(**VARIANTS["bessel"])
    place = sublayers.places(spec_of(ckpt.config), "decoder")[0]
    view = sublayers.norm_view(recorded, ckpt.model, place)
    np.testing.assert_allclose(view.between[1], 15 / 16, rtol=1e-4)  # (D - 1) / D
    assert "d_model − 1" in view.formula and view.epsilon == 1e-6
    final = sublayers.final_norm_view(recorded, ckpt.model, "encoder")
    assert "√(variance + ε)" in final.formula and final.epsilon == 1e-5


def test_a_norm_over_positions_has_one_mean_and_leaves_each_token_its_own():
    ckpt, recorded = made(**VARIANTS["positions"])
    view = sublayers.norm_view(recorded, ckpt.model, sublayers.places(spec_of(ckpt.config), "encoder")[1])
    assert view.whole_text and len(view.mean) == len(view.scale) == 1
    assert np.ptp(view.between[0]) > 0.01
    assert view.between[0].mean() == pytest.approx(0, abs=1e-6)
    assert "all positions" in view.formula


def test_gain_and_offset_are_the_models_own():
    ckpt, recorded = made()
    view = sublayers.norm_view(recorded, ckpt.model, sublayers.place_of(spec_of(ckpt.config), "cross", 1, "attention"))
    norm = ckpt.model.decoder.layers[1].cross_residual.norm
    assert np.array_equal(view.gain, norm.gain.detach().double().numpy())
    assert np.array_equal(view.offset, norm.offset.detach().double().numpy())
    assert (view.reads, view.gives) == ("decoder.1.residual_after_self", "decoder.1.cross.in")
    ckpt, recorded = made(norm="post", final_norm=False)
    view = sublayers.norm_view(recorded, ckpt.model, sublayers.place_of(spec_of(ckpt.config), "cross", 1, "attention"))
    assert (view.reads, view.gives) == ("decoder.1.residual_after_cross_sum", "decoder.1.residual_after_cross")


def test_a_model_without_final_norm_has_no_view_of_it():
    ckpt, recorded = made(final_norm=False)
    with pytest.raises(ValueError, match="no norm after the last layer of its encoder"):
        sublayers.final_norm_view(recorded, ckpt.model, "encoder")


@pytest.mark.parametrize("name", ["en-it", "tutorial6", "annotated", "upc-lab", "fsu"])
def test_the_tutorials_architectures_can_be_taken_apart(name):
    sizes = {"source_vocab_size": 12, "target_vocab_size": len(TARGET), "encoder_layers": 1, "decoder_layers": 2}
    sizes |= {"d_model": 16, "n_heads": 2, "d_ff": 20} | ({"pad_to": 14} if name == "en-it" else {})
    config = tutorial(name, **sizes)
    ckpt = tiny_checkpoint(**config.to_dict())
    recorded = trace(ckpt, random_ids(12, 9).tolist(), random_ids(12, 7).tolist())
    assert [flow.place.site for flow in all_flows(recorded)][-1] == "decoder.1.ffn"
    assert all(view.gap < 1e-5 for view in all_norms(ckpt, recorded))


# ---- feed-forward


@pytest.mark.parametrize("activation", ["relu", "gelu", "gelu-tanh"])
def test_active_units_are_those_with_a_positive_input(activation):
    ckpt, recorded = made(activation=activation)
    place = sublayers.place_of(spec_of(ckpt.config), "decoder", 1, "ffn")
    found = sublayers.activity(recorded, place)
    before = ckpt.model.decoder.layers[1].feed_forward.to_hidden(recorded["decoder.1.ffn.in"])[0] > 0  # [T, F]
    np.testing.assert_allclose(found.share, before.double().mean(-1), atol=1e-12)
    assert (found.units, found.never) == (24, int((before.sum(0) == 0).sum()))
    assert found.always == int((before.sum(0) == len(before)).sum())


def test_units_that_padding_wakes_do_not_count():
    ckpt, recorded = made(**VARIANTS["padded"])
    found = sublayers.activity(recorded, sublayers.place_of(spec_of(ckpt.config), "decoder", 0, "ffn"))
    own = recorded["decoder.0.ffn.hidden"][0, :5] > 0
    assert (found.never, found.always) == (int((~own.any(0)).sum()), int(own.all(0).sum()))
    assert len(found.share) == 12


def test_an_attention_has_no_hidden_units():
    ckpt, recorded = made()
    with pytest.raises(ValueError, match="encoder layer 0, self-attention has no hidden units: choose a feed-forward"):
        sublayers.activity(recorded, sublayers.places(spec_of(ckpt.config), "encoder")[0])
