import csv
import io
import math
import statistics as exact
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
import torch
from builders import TARGET, tiny_checkpoint
from watched import watched_trace

from viz_transformer.analysis.tensors import points
from viz_transformer.analysis.tensors.points import (
    Axis,
    Slice,
    compare,
    difference_view,
    entries,
    histogram,
    matching,
    max_pooled,
    point_view,
    shared_entries,
    shown_slice,
    slice_csv,
    statistics,
)
from viz_transformer.running.decoding import decode
from viz_transformer.running.edits import AblateHead, SetMask
from viz_transformer.running.tracing import trace


@pytest.fixture(scope="module")
def run():
    return decode(tiny_checkpoint(), "abcaz", max_steps=4).trace


# --- the tree


def test_the_tree_has_every_point_once_and_says_which_are_derived(run):
    listed = entries(run)
    assert sorted(entry.name for entry in listed) == sorted(run.points(derived=True))
    assert {entry.name for entry in listed if entry.derived} == set(run.points(derived=True)) - set(run.points())


def test_the_tree_goes_from_stack_to_layer_to_sub_layer_to_point(run):
    listed = entries(run)
    place = {entry.name: (entry.part, entry.short) for entry in listed}
    assert place["encoder.embed.token"] == ("encoder, embedding", "token")
    assert place["decoder.1.cross.weights"] == ("decoder, layer 1", "cross.weights")
    assert place["decoder.1.residual_out"] == ("decoder, layer 1", "residual_out")
    assert place["encoder.norm_mean"] == ("encoder, output", "norm_mean")
    assert place["encoder.out"] == ("encoder, output", "out")
    assert place["logits"] == ("output", "logits")
    parts = [entry.part for entry in listed]
    assert list(dict.fromkeys(parts)) == [
        "encoder, embedding",
        *(f"encoder, layer {layer}" for layer in range(2)),
        "encoder, output",
        "decoder, embedding",
        *(f"decoder, layer {layer}" for layer in range(3)),
        "decoder, output",
        "output",
    ]
    assert sum(a != b for a, b in pairwise(parts)) == len(set(parts)) - 1  # each part in one piece


def test_derived_points_stand_behind_those_of_their_attention(run):
    names = [entry.name for entry in entries(run)]
    at = names.index("decoder.1.cross.scores")
    assert names[at - 1 : at + 3] == [
        "decoder.1.cross.out",
        "decoder.1.cross.scores",
        "decoder.1.cross.contribution",
        "decoder.1.residual_after_cross",
    ]


@pytest.mark.parametrize("words", ["cross.weights", "CROSS  weights", "weights cross"])
def test_a_filter_finds_what_holds_all_its_words(run, words):
    assert [entry.name for entry in matching(entries(run), words)] == [f"decoder.{i}.cross.weights" for i in range(3)]


def test_a_filter_takes_its_words_as_they_are(run):
    assert matching(entries(run), "cross*") == matching(entries(run), "<b>") == ()
    assert matching(entries(run), " ") == entries(run)


# --- one point


@pytest.mark.parametrize(
    ("name", "letters", "titles"),
    [
        ("encoder.0.self.weights", "[B, H, Q, K]", ("queries: source", "keys: source")),
        ("decoder.0.self.weights", "[B, H, Q, K]", ("queries: target", "keys: target")),
        ("decoder.0.cross.mask", "[B, 1, Q, K]", ("queries: target", "keys: source")),
        ("decoder.0.cross.key", "[B, H, K, E]", ("keys: source", "features")),
        ("decoder.0.cross.scores", "[B, H, Q, K]", ("queries: target", "keys: source")),
        ("decoder.0.ffn.hidden", "[B, T, F]", ("positions: target", "hidden features")),
        ("encoder.0.self.norm_mean", "[B, T, 1]", ("positions: source", "one number")),
        ("logits", "[B, T, V]", ("positions: target", "vocabulary")),
    ],
)
def test_axes_have_the_letters_of_the_table_and_the_tokens_of_the_run(run, name, letters, titles):
    view = point_view(run, name)
    assert view.letters == letters
    assert view.sizes == str(list(run[name].shape))
    assert tuple(axis.title for axis in view.axes[-2:]) == titles
    tokens = {"source": run.src_tokens, "target": run.tgt_tokens, None: None}
    assert all(axis.labels == tokens[axis.side] for axis in view.axes)


def test_a_watched_module_has_the_tokens_of_the_text_that_is_as_long_as_what_it_gives():
    run = watched_trace()
    assert len(run.src) != len(run.tgt)
    for name, side in (("modules.encoder", "source"), ("modules.decoder", "target")):
        positions, features = point_view(run, name).axes[-2:]
        assert (positions.side, positions.labels) == (side, run.src_tokens if side == "source" else run.tgt_tokens)
        assert features.title == "hidden features"


def test_the_columns_of_the_logits_have_the_vocabulary_where_it_is_given(run):
    assert point_view(run, "logits").axes[-1].labels is None
    assert point_view(run, "logits", vocabulary=TARGET).axes[-1].labels == TARGET
    assert point_view(run, "logits", vocabulary=TARGET[:-1]).axes[-1].labels is None


@pytest.mark.parametrize(("kind", "side"), [("encoder-only", "source"), ("decoder-only", "target")])
def test_a_model_of_one_stack_has_the_tokens_of_its_text(kind, side):
    recorded = trace(tiny_checkpoint(kind), "abc" if kind == "encoder-only" else "uvw")
    for entry in entries(recorded):
        view = point_view(recorded, entry.name)
        assert {axis.side for axis in view.axes} == {side, None}, entry.name


def test_a_point_says_what_it_is(run):
    recorded, derived = point_view(run, "decoder.1.cross.weights"), point_view(run, "decoder.1.cross.scores")
    assert (recorded.origin, recorded.type, recorded.scale, recorded.kind) == (
        "recorded",
        "float32",
        "weights",
        "cross",
    )
    assert (derived.origin, derived.type, derived.scale, derived.kind) == ("derived", "float32", "signed", "cross")
    mask = point_view(run, "encoder.0.self.mask")
    assert (mask.type, mask.scale, mask.kind) == ("Boolean", "mask", "encoder")
    assert point_view(run, "logits").kind == "decoder"
    assert "before the mask" in derived.meaning and "softmax" in recorded.meaning


def test_every_point_has_a_meaning_and_its_own_values(run):
    for entry in entries(run):
        view = point_view(run, entry.name)
        assert view.meaning, entry.name
        assert torch.equal(view.values, run[entry.name])
        if not entry.derived:
            assert view.values is run[entry.name]  # a look, not a copy


def test_a_name_that_is_no_point_is_a_value_error_with_near_ones(run):
    with pytest.raises(ValueError, match=r"Did you mean 'decoder\.1\.cross\.weights'"):
        point_view(run, "decoder.1.cross.weight")


def test_a_derived_point_over_the_limit_is_not_computed(run, monkeypatch):
    monkeypatch.setattr(points, "LARGEST_DERIVED", 4 * 4 * 7 - 1)
    with pytest.raises(ValueError, match=r"decoder\.1\.cross\.scores would be computed now, and has 112 numbers"):
        point_view(run, "decoder.1.cross.scores")
    assert point_view(run, "decoder.1.cross.weights").values.numel() == 112


def test_a_mask_that_an_edit_made_one_for_each_head_has_heads():
    edit = SetMask("decoder.0.cross", query=0, key=1, allowed=False, head=2)
    view = point_view(trace(tiny_checkpoint(), "abc", "uv", edits=[edit]), "decoder.0.cross.mask")
    assert view.letters == "[B, H, Q, K]"
    assert not shown_slice(view, (0, 2)).values[0, 1] and shown_slice(view, (0, 1)).values[0, 1]


# --- slices


def test_a_slice_is_what_was_recorded(run):
    shown = shown_slice(point_view(run, "decoder.1.cross.weights"), (0, 3))
    assert np.array_equal(shown.values, run["decoder.1.cross.weights"][0, 3].numpy())
    assert shown.values.dtype == np.float32
    assert (shown.rows.title, shown.columns.title, shown.at) == ("queries: target", "keys: source", (0, 3))


def test_a_slice_cannot_be_written_into(run):
    shown = shown_slice(point_view(run, "logits"), (0,))
    with pytest.raises(ValueError, match="read-only"):
        shown.values[0, 0] = 1


@pytest.mark.parametrize(
    ("at", "sentence"),
    [((0, 4), "there is no head 4: heads go from 0 to 3"), ((0, -1), "no head -1"), ((0,), "needs 2")],
)
def test_an_index_out_of_range_is_a_value_error(run, at, sentence):
    with pytest.raises(ValueError, match=sentence):
        shown_slice(point_view(run, "decoder.1.cross.weights"), at)


# --- statistics


def test_statistics_worked_by_hand():
    found = statistics(np.array([[1.0, -2.0], [0.0, 5.0]], np.float32))
    assert (found.count, found.minimum, found.maximum, found.mean) == (4, -2.0, 5.0, 1.0)
    assert found.variance == (0 + 9 + 1 + 16) / 4
    assert (found.zeros, found.zero_share, found.not_a_number, found.infinite) == (1, 0.25, 0, 0)
    assert found.largest == 5.0


def test_what_is_not_finite_is_counted_and_left_out():
    found = statistics(np.array([np.nan, np.inf, -np.inf, -np.inf, 2.0, 4.0, -0.0], np.float32))
    assert (found.not_a_number, found.infinite, found.finite, found.zeros) == (1, 3, 3, 1)
    assert (found.minimum, found.maximum, found.mean) == (0.0, 4.0, 2.0)
    assert found.variance == pytest.approx(8 / 3, rel=1e-15)


@pytest.mark.parametrize("values", [[np.nan, np.inf], []])
def test_without_a_finite_value_there_is_no_mean(values):
    found = statistics(np.array(values, np.float32))
    assert all(map(math.isnan, (found.minimum, found.maximum, found.mean, found.variance)))
    assert found.largest == 0.0 and found.finite == 0


def test_for_a_mask_the_mean_is_the_share_of_true(run):
    mask = run["decoder.0.self.mask"]  # a triangle of 4 x 4
    found = statistics(mask)
    assert (found.count, found.zeros, found.mean) == (16, 6, 10 / 16)
    assert (found.minimum, found.maximum) == (0.0, 1.0)


@pytest.mark.parametrize("offset", [0.0, 1e4, 1e8])
@pytest.mark.parametrize("chunk", [2**20, 7])
def test_sums_are_those_of_exact_arithmetic(offset, chunk, monkeypatch):
    monkeypatch.setattr(points, "_CHUNK", chunk)
    values = (np.random.default_rng(0).standard_normal(999) + offset).astype(np.float32)
    numbers = [Fraction(float(value)) for value in values]
    found = statistics(values.reshape(27, 37))
    assert found.mean == pytest.approx(float(exact.mean(numbers)), rel=1e-14)
    assert found.variance == pytest.approx(float(exact.pvariance(numbers)), rel=1e-9)  # the mean is a float64


def test_many_small_values_beside_a_large_one_are_not_lost():
    values = np.full(2**21, 1e-3, np.float32)
    values[0] = 1e7
    small = float(np.float32(1e-3))
    assert statistics(values).mean == pytest.approx((1e7 + (2**21 - 1) * small) / 2**21, rel=1e-12)


# --- histogram, pooling


def test_each_finite_value_is_in_one_bin():
    values = np.random.default_rng(1).standard_normal((40, 50)).astype(np.float32)
    values[0, :3] = np.nan, np.inf, -np.inf
    found = histogram(values, 7)
    inside = values[np.isfinite(values)].astype(np.float64)
    assert (len(found.counts), len(found.edges), found.left_out) == (7, 8, 3)
    assert (found.edges[0], found.edges[-1]) == (inside.min(), inside.max())
    by_hand = [int(((inside >= a) & (inside < b)).sum()) for a, b in pairwise(found.edges)]
    by_hand[-1] += int((inside == found.edges[-1]).sum())
    assert found.counts.tolist() == by_hand and sum(by_hand) == 1997


def test_a_mask_has_two_bins(run):
    assert histogram(run["decoder.0.self.mask"]).counts.tolist() == [6, 10]


@pytest.mark.parametrize("values", [np.full((2, 3), 2.5), np.zeros((1, 1)), np.full((2, 3), 1e30)])
def test_a_single_value_has_a_single_bin(values):
    found = histogram(values.astype(np.float32))
    assert found.counts.tolist() == [values.size]
    assert found.edges[0] < np.float32(values[0, 0]) < found.edges[1]


def test_values_that_are_next_to_each_other_are_counted():
    low = np.float64(1e17)
    found = histogram(np.array([low, np.nextafter(low, np.inf)]))
    assert found.counts.sum() == 2 and (np.diff(found.edges) > 0).all()


def test_nothing_finite_gives_an_empty_bin():
    found = histogram(np.array([np.nan, np.inf]))
    assert (found.counts.tolist(), found.left_out) == ([0], 2)


def test_what_fits_is_not_pooled():
    values = np.random.default_rng(2).standard_normal((5, 6)).astype(np.float32)
    pooled = max_pooled(values, 6)
    assert pooled.values is values and (pooled.rows, pooled.columns) == (1, 1)


def test_a_block_gives_its_value_farthest_from_0():
    values = np.random.default_rng(3).standard_normal((23, 11)).astype(np.float32)
    pooled = max_pooled(values, 5)
    assert (pooled.rows, pooled.columns, pooled.values.shape) == (5, 3, (5, 4))
    for i in range(5):
        for j in range(4):
            block = values[5 * i : 5 * i + 5, 3 * j : 3 * j + 3].reshape(-1)
            assert pooled.values[i, j] == block[np.abs(block).argmax()]


def test_one_stripe_of_a_large_map_is_not_lost():
    values = np.zeros((2048, 2048), np.float32)
    values[:, 1023] = -1
    pooled = max_pooled(values, 512)
    assert pooled.values.shape == (512, 512)
    assert (pooled.values[:, 255] == -1).all() and (pooled.values != 0).sum() == 512


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_survives_pooling(value):
    values = np.full((4, 4), 100.0, np.float32)
    values[1, 2] = value
    pooled = max_pooled(values, 2).values
    assert np.array_equal(pooled[0, 1], value, equal_nan=True)
    assert (np.isfinite(pooled)).sum() == 3


def test_a_block_of_a_mask_is_true_if_any_cell_is():
    mask = np.zeros((4, 4), bool)
    mask[3, 0] = True
    assert max_pooled(mask, 2).values.tolist() == [[False, False], [True, False]]


# --- CSV


def read(text):
    return list(csv.reader(io.StringIO(text, newline="")))


def test_the_csv_gives_back_every_float32(run):
    shown = shown_slice(point_view(run, "decoder.1.cross.weights"), (0, 3))
    head, *rows = read(slice_csv(shown))
    assert head == ["query", "token", *run.src_tokens]
    assert [row[:2] for row in rows] == [[str(i), token] for i, token in enumerate(run.tgt_tokens)]
    values = np.array([[np.float32(cell) for cell in row[2:]] for row in rows], np.float32)
    assert np.array_equal(values, shown.values)


def test_axes_without_tokens_are_numbered(run):
    shown = shown_slice(point_view(run, "decoder.1.cross.query"), (0, 0))
    head, *rows = read(slice_csv(shown))
    assert head == ["query", "token", "0", "1", "2", "3"]
    assert len(rows) == len(run.tgt_tokens)
    unlabelled = Slice(np.zeros((1, 2), np.float32), Axis("", 1), Axis("D", 2), ())
    assert slice_csv(unlabelled) == "axis,0,1\r\n0,0.0,0.0\r\n"


def test_a_mask_is_written_as_true_and_false(run):
    rows = read(slice_csv(shown_slice(point_view(run, "decoder.0.self.mask"), (0, 0))))
    assert rows[1][2:] == ["True", "False", "False", "False"]


HOSTILE = ("a,b", 'say "x"', "two\nlines", "cr\rhere", "=1+1", "+1", "-1", "@x", " blank ", "", "<b>", "🙂", "שלום")


def test_tokens_are_kept_exactly_whatever_they_hold():
    size = len(HOSTILE)
    axis = Axis("Q", size, "source", HOSTILE)
    text = slice_csv(Slice(np.eye(size, dtype=np.float32), axis, replace(axis, letter="K"), ()))
    head, *rows = read(text)
    assert tuple(head[2:]) == HOSTILE == tuple(row[1] for row in rows)
    assert all(len(row) == size + 2 for row in rows)
    assert text.endswith("\r\n") and '"two\nlines"' in text and '"say ""x"""' in text


def test_numbers_that_are_not_finite_are_written_as_such():
    values = np.array([[np.nan, np.inf, -np.inf, 1e-45, -0.0, 3.4028235e38]], np.float32)
    (_, row) = read(slice_csv(Slice(values, Axis("", 1), Axis("", 6), ())))
    assert row[1:4] == ["nan", "inf", "-inf"]
    assert np.array_equal(np.array([np.float32(cell) for cell in row[4:]]), values[0, 3:])


# --- two traces


@pytest.fixture(scope="module")
def two():
    ckpt = tiny_checkpoint()
    return trace(ckpt, "abca", "uvu"), trace(ckpt, "abca", "uvu", edits=[AblateHead("decoder.1.cross", 1)])


def test_a_difference_is_the_first_less_the_second_in_float64(two):
    a, b = two
    view = difference_view(a, b, "decoder.1.cross.head_out")
    assert torch.equal(view.values, a[view.name].double() - b[view.name].double())
    assert (view.origin, view.type, view.scale, view.letters) == ("difference", "float64", "signed", "[B, H, Q, E]")
    assert (view.values[0, 1] == a[view.name][0, 1].double()).all() and (view.values[0, 0] == 0).all()
    assert difference_view(a, b, "decoder.2.cross.weights").scale == "signed"
    assert difference_view(a, b, "decoder.1.self.mask").scale == "signed"
    derived = difference_view(a, b, "decoder.2.cross.scores").values
    assert torch.equal(derived, a["decoder.2.cross.scores"].double() - b["decoder.2.cross.scores"].double())


def test_differences_are_those_of_trace_diff_largest_first(two):
    a, b = two
    found = compare(a, b)
    assert dict(found.differences) == a.diff(b)
    gaps = [gap for _, gap in found.differences]
    assert gaps == sorted(gaps, reverse=True) and gaps[0] > 0 == gaps[-1]
    assert (found.only_first, found.only_second, found.reshaped) == ((), (), ())


def test_points_that_only_one_trace_has_are_listed(two):
    a, _ = two
    other = trace(tiny_checkpoint(decoder_layers=2, norm="post"), "abca", "uvu")
    found = compare(a, other)
    assert "decoder.2.cross.weights" in found.only_first and "decoder.2.cross.weights" not in found.only_second
    assert "decoder.1.residual_out_sum" in found.only_second
    assert len(found.differences) + len(found.only_first) == len(a.points())
    names = {entry.name for entry in shared_entries(a, other)}
    assert names == {name for name, _ in found.differences} | {
        f"{site}.{what}"
        for site in (
            "encoder.0.self",
            "encoder.1.self",
            "decoder.0.self",
            "decoder.0.cross",
            "decoder.1.self",
            "decoder.1.cross",
        )
        for what in ("scores", "contribution")
    }


def test_other_shapes_are_not_subtracted(two):
    a, _ = two
    longer = trace(tiny_checkpoint(), "abca", "uvuw")
    found = compare(a, longer)
    assert "logits" in found.reshaped and "encoder.out" in dict(found.differences)
    shared = {entry.name for entry in shared_entries(a, longer)}
    assert "encoder.0.self.scores" in shared and not {"decoder.0.cross.scores", "logits"} & shared
    with pytest.raises(ValueError, match=r"logits is \[1, 4, 20\] in A and \[1, 5, 20\] in B"):
        difference_view(a, longer, "logits")


def test_traces_without_a_common_point_have_no_difference(two):
    other = trace(tiny_checkpoint("encoder-only", d_model=8), "abcab")
    found = compare(two[0], other)
    assert found.differences == () and found.reshaped and found.only_first
    assert shared_entries(two[0], other) == ()
