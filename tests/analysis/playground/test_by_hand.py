import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from viz_transformer.analysis.playground import by_hand
from viz_transformer.analysis.playground.by_hand import (
    AXES,
    EPSILON,
    FEATURES,
    SIZES,
    TEXTS,
    TOKENS,
    Sizes,
    Vectors,
    attend,
    corners,
    draw_normal,
    entropy,
    first_keys,
    gain_and_offset,
    growth,
    mask_of,
    more_aligned_with_another,
    normalise,
    reach,
    simplex_points,
    softmax,
    table_of,
    vectors,
    with_edits,
)
from viz_transformer.model.attention import attention_scores
from viz_transformer.model.config import ModelConfig
from viz_transformer.model.hook import OFF
from viz_transformer.model.masks import softmax_or_zeros
from viz_transformer.model.norms import LayerNorm, PositionsAndFeaturesNorm

ALL = np.ones((2, 2), dtype=bool)
HAND = Vectors(np.array([[1.0, 0.0], [0.0, 2.0]]), np.array([[1.0, 1.0], [0.0, 1.0]]), np.array([[4.0], [8.0]]))


# --- attention


def test_two_by_two_by_hand():
    # products: q0·k0 = 1, q0·k1 = 0, q1·k0 = 2, q1·k1 = 2
    found = attend(HAND, ALL)
    assert found.products.tolist() == [[1, 0], [2, 2]]
    assert found.divisor == math.sqrt(2)
    assert np.allclose(found.scores, [[1 / math.sqrt(2), 0], [2 / math.sqrt(2), 2 / math.sqrt(2)]], atol=1e-15)
    first = 1 / (1 + math.exp(-1 / math.sqrt(2)))  # over two keys a softmax is the logistic function of the difference
    assert np.allclose(found.weights, [[first, 1 - first], [0.5, 0.5]], atol=1e-15)
    assert np.allclose(found.output, [[4 * first + 8 * (1 - first)], [6.0]], atol=1e-14)


def test_without_scaling_the_scores_are_the_products():
    found = attend(HAND, ALL, scaled=False)
    assert found.divisor == 1 and np.array_equal(found.scores, found.products)
    assert found.weights[0, 0] == pytest.approx(math.e / (math.e + 1), abs=1e-15)


def test_a_mask_takes_the_weight_of_a_key_and_leaves_the_scores():
    found = attend(HAND, mask_of("causal", 2, 2))
    assert found.weights.tolist()[0] == [1.0, 0.0] and found.output[0, 0] == 4.0
    assert np.array_equal(found.scores, attend(HAND, ALL).scores)


@pytest.mark.parametrize("kind", ["none", "causal", "padding", "own"])
@pytest.mark.parametrize("scaled", [True, False])
def test_it_is_what_the_models_and_torch_compute(kind, scaled):
    given = vectors(3, Sizes(queries=5, keys=8, d_k=4, d_v=6))
    mask = mask_of(kind, 5, 8, {("m", 2, 0): 0.0, ("m", 2, 7): 0.0})
    found = attend(given, mask, scaled=scaled)
    query, key, value = (torch.from_numpy(part)[None, None] for part in (given.query, given.key, given.value))
    allowed = torch.from_numpy(mask)[None, None]
    weights = softmax_or_zeros(attention_scores(query, key, found.divisor), allowed)
    assert np.abs(weights[0, 0].numpy() - found.weights).max() < 1e-15
    theirs = F.scaled_dot_product_attention(query, key, value, attn_mask=allowed, scale=1 / found.divisor)
    assert np.abs(theirs[0, 0].numpy() - found.output).max() < 1e-14


def test_a_row_that_may_attend_to_nothing_is_zeros_as_in_the_models():
    found = attend(HAND, np.array([[False, False], [True, True]]))
    assert found.weights[0].tolist() == [0, 0] and found.output[0].tolist() == [0]
    assert np.isnan(entropy(found.weights)[0])


def test_shapes_that_do_not_fit_are_said():
    with pytest.raises(ValueError, match="do not fit together"):
        attend(Vectors(np.ones((2, 3)), np.ones((2, 2)), np.ones((2, 1))), ALL)
    with pytest.raises(ValueError, match="does not fit 2 queries and 2 keys"):
        attend(HAND, np.ones((2, 3), bool))
    with pytest.raises(ValueError, match=r"choose .none. or .causal. or .padding. or .own.$"):
        mask_of("half", 2, 2)
    with pytest.raises(ValueError, match="queries=9 has to be a whole number from 1 to 8"):
        Sizes(queries=9)


# --- softmax, without a gradient


def test_a_softmax_does_not_see_what_is_added_to_a_whole_row():
    scores = draw_normal("q", 1, 4, 6)
    assert np.abs(softmax(scores) - softmax(scores + np.array([[5.0], [-700.0], [0.0], [1e3]]))).max() < 1e-13


def test_a_softmax_follows_its_keys_and_its_rows_sum_to_1():
    scores, order = draw_normal("k", 1, 4, 6), [3, 0, 5, 1, 4, 2]
    assert np.abs(softmax(scores[:, order]) - softmax(scores)[:, order]).max() < 1e-15
    assert np.abs(softmax(scores).sum(axis=1) - 1).max() < 1e-15


def test_ratios_of_weights_are_the_exponentials_of_differences_of_scores():
    scores = draw_normal("v", 2, 1, 5)
    weights = softmax(scores)[0]
    assert np.allclose(weights[1:] / weights[0], np.exp(scores[0, 1:] - scores[0, 0]), rtol=1e-13)


def test_large_scores_do_not_overflow():
    assert softmax([[1e6, 0.0]]).tolist() == [[1.0, 0.0]]
    assert softmax([[-1e6, -1e6]]).tolist() == [[0.5, 0.5]]


def test_the_entropy_of_known_rows():
    rows = [[1, 0, 0, 0], [0.25, 0.25, 0.25, 0.25], [0.5, 0.5, 0, 0]]
    assert entropy(rows).tolist() == [0.0, 2.0, 1.0]
    assert not np.signbit(entropy(rows)[0])


# --- drawn and edited numbers


def test_a_seed_draws_the_same_numbers_whatever_the_size():
    assert np.array_equal(draw_normal("q", 7, 2, 3), draw_normal("q", 7, 8, 8)[:2, :3])
    assert not np.array_equal(draw_normal("q", 7, 4, 4), draw_normal("q", 8, 4, 4))
    assert not np.array_equal(draw_normal("q", 7, 4, 4), draw_normal("k", 7, 4, 4))


def test_drawn_numbers_have_one_decimal_and_no_minus_zero():
    for seed in range(20):
        numbers = draw_normal("x", seed, 8, 8)
        assert np.array_equal(np.round(numbers, 1), numbers)
        assert not (np.signbit(numbers) & (numbers == 0)).any()


def test_drawn_numbers_are_standard_normal():
    numbers = np.stack([draw_normal("q", seed, 8, 8) for seed in range(200)])
    assert abs(numbers.mean()) < 0.03 and abs(numbers.var() - 1) < 0.05  # 12,800 numbers: 3 standard errors


def test_edits_change_their_cells_and_nothing_else():
    edits = {("q", 0, 1): 9.0, ("k", 0, 1): -9.0, ("q", 7, 7): 1.0}
    before, after = vectors(1, Sizes()), vectors(1, Sizes(), edits)
    assert after.query[0, 1] == 9.0 and after.key[0, 1] == -9.0
    assert np.argwhere(before.query != after.query).tolist() == [[0, 1]]
    assert np.array_equal(before.value, after.value)
    assert with_edits("q", before.query, edits) is not before.query


def test_self_attention_has_one_set_of_vectors():
    given = vectors(1, Sizes(queries=4, keys=2, d_k=3, d_v=8), {("q", 0, 0): 5.0}, self_attention=True)
    assert given.query is given.key is given.value and given.query.shape == (4, 3) and given.query[0, 0] == 5.0


def test_the_own_mask_is_open_but_for_its_edits():
    mask = mask_of("own", 2, 3, {("m", 1, 2): 0.0, ("q", 0, 0): 0.0})
    assert mask.tolist() == [[True, True, True], [True, True, False]]
    assert mask_of("padding", 2, 3).tolist() == [[True, True, False]] * 2


def test_a_vector_can_be_more_aligned_with_another_than_with_itself():
    x = np.array([[1.0, 0.0], [3.0, 0.0], [0.0, 1.0]])
    assert more_aligned_with_another(x @ x.T) == ((0, 1),)  # 1·3 is more than 1·1
    assert more_aligned_with_another(np.eye(3)) == ()


# --- simplex


def test_corners_middle_and_a_point_between():
    assert np.allclose(simplex_points(np.eye(3)), corners(3))
    assert np.allclose(simplex_points([[1 / 3] * 3]), corners(3).mean(axis=0))
    assert simplex_points([[0.25, 0.75]]).tolist() == [[0.75, 0.0]]


def test_all_sides_of_the_triangle_are_as_long():
    a, b, c = corners(3)
    assert np.allclose([np.linalg.norm(a - b), np.linalg.norm(b - c), np.linalg.norm(c - a)], 1.0)


def test_more_keys_have_no_place_on_paper_and_other_rows_no_point():
    with pytest.raises(ValueError, match="weights over 4 keys cannot be drawn"):
        simplex_points([[0.25] * 4])
    with pytest.raises(ValueError, match="sum to 1"):
        simplex_points([[0.5, 0.4]])


def test_the_first_keys_are_read_alone():
    few = first_keys(vectors(0, Sizes()), 3)
    assert few.key.shape == (3, 4) and few.value.shape == (3, 3)
    assert np.abs(attend(few, np.ones((5, 3), bool)).weights.sum(axis=1) - 1).max() < 1e-15


# --- scaling


@pytest.mark.parametrize("seed", [0, 1])
def test_the_variance_of_products_is_d_and_of_scores_1(seed):
    found = growth(seed, 8)
    assert np.allclose(found.product_variance / np.array(SIZES), 1, atol=0.2)  # 4,000 products each
    assert np.allclose(found.score_variance, 1, atol=0.2)
    assert np.allclose(found.product_variance / np.array(SIZES), found.score_variance, rtol=1e-12)


def test_without_scaling_the_entropy_falls_and_with_it_it_stays():
    found = growth(0, 8)
    plain, scaled = found.entropy[False], found.entropy[True]
    assert plain[0] == scaled[0]  # at d = 1 the divisor is 1
    assert (np.diff(plain) < 0).all() and plain[-1] < 0.2
    assert scaled.max() - scaled.min() < 0.35 and (scaled > 2).all() and found.even == 3.0
    assert found.answer[False][-1] < 0.1 < 0.5 < found.answer[True][-1]
    assert found.largest[False][-1] > 0.9


def test_a_growth_is_that_of_its_seed():
    first, again, other = growth(4, 3, rows=50), growth(4, 3, rows=50), growth(5, 3, rows=50)
    assert np.array_equal(first.entropy[True], again.entropy[True])
    assert not np.array_equal(first.entropy[True], other.entropy[True])


def test_one_key_has_no_entropy():
    found = growth(0, 1, rows=5)
    assert found.even == 0 and found.entropy[True].tolist() == [0.0] * len(SIZES)


# --- norms


def x_of(seed=0):
    return table_of(seed)


def test_a_layer_norm_by_hand():
    x = np.array([[[1.0, 3.0]], [[2.0, 2.0]]])  # means 2 and 2, variances 1 and 0
    affine = np.array([[1.0, 1.0], [0.0, 0.0]])
    found = normalise(x, "layer", affine)
    assert found.mean.ravel().tolist() == [2, 2] and found.variance.ravel().tolist() == [1, 0]
    root = math.sqrt(1 + EPSILON)
    assert np.allclose(found.values, [[[-1 / root, 1 / root]], [[0, 0]]], atol=1e-15)


def test_layer_and_batch_norm_are_those_of_torch():
    x, affine = x_of(3), np.array([[1.5, 1.0, 0.5, 2.0], [0.1, 0.0, -1.0, 3.0]])
    gain, offset = (torch.from_numpy(part) for part in affine)
    given = torch.from_numpy(x)
    layer = F.layer_norm(given, (FEATURES,), gain, offset, EPSILON)
    assert np.abs(normalise(x, "layer", affine).values - layer.numpy()).max() < 1e-13
    batch = nn.BatchNorm1d(FEATURES, eps=EPSILON).double().train()
    with torch.no_grad():
        batch.weight.copy_(gain)
        batch.bias.copy_(offset)
        theirs = batch(given.transpose(1, 2)).transpose(1, 2)
    assert np.abs(normalise(x, "batch", affine).values - theirs.numpy()).max() < 1e-13


@pytest.mark.parametrize(
    ("norm", "module"), [("layer", LayerNorm), ("positions-and-features", PositionsAndFeaturesNorm)]
)
def test_the_norms_of_the_models_are_the_same(norm, module):
    config = ModelConfig(target_vocab_size=1, decoder_layers=1, d_model=FEATURES, n_heads=1, d_ff=1)
    x = x_of(5)
    theirs = module(config).double()(torch.from_numpy(x), OFF)
    assert np.abs(normalise(x, norm).values - theirs.detach().numpy()).max() < 1e-13


@pytest.mark.parametrize("norm", list(AXES))
def test_behind_a_norm_each_group_has_mean_0_and_nearly_variance_1(norm):
    found = normalise(x_of(2), norm)
    mean, variance = found.after()
    assert np.abs(mean).max() < 1e-14
    assert np.allclose(variance, found.variance / (found.variance + EPSILON), atol=1e-12)
    assert found.pooled * found.groups == TEXTS * TOKENS * FEATURES


def test_what_a_norm_reads_is_found_by_trying():
    layer, batch, slip = (reach(x_of(), norm) for norm in AXES)
    assert layer.feature > 0 and layer.token == layer.text == 0
    assert batch.feature == 0 and batch.token > 0 and batch.text > 0
    assert slip.feature > 0 and slip.token > 0 and slip.text == 0


def test_gain_and_offset_come_last():
    affine = gain_and_offset({("g", 0, 1): 2.0, ("g", 1, 1): 5.0})
    plain, changed = normalise(x_of(), "layer"), normalise(x_of(), "layer", affine)
    assert np.allclose(changed.values[..., 1], plain.values[..., 1] * 2 + 5, atol=1e-14)
    assert np.array_equal(changed.values[..., 0], plain.values[..., 0])


def test_an_edit_of_the_table_names_text_and_token_in_one_row():
    changed = table_of(0, {("x", TOKENS + 1, 2): 7.0})
    assert changed[1, 1, 2] == 7.0 and (changed != table_of(0)).sum() == 1


def test_another_norm_is_an_error():
    with pytest.raises(ValueError, match="norm='group' is not known"):
        normalise(x_of(), "group")


def test_the_module_needs_no_torch():
    assert "torch" not in vars(by_hand)
