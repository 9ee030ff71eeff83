import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from builders import tiny_checkpoint, tiny_config

from viz_transformer.analysis.attention.head_scores import head_scores, kendall_tau, key_shares
from viz_transformer.analysis.attention.maps import attention_kinds, head_view
from viz_transformer.analysis.attention.specials import special_positions
from viz_transformer.model.hooked_model import spec_of
from viz_transformer.running.decoding import decode
from viz_transformer.running.edits import AblateHead, FixRow, SetMask
from viz_transformer.running.trace import Tokens, Trace
from viz_transformer.running.tracing import trace

NAMES = ["entropy", "distance", "diagonal", "previous token", "first token", "end token"]
LENGTH = "contribution / weight"
BITS = 0.811278124459133  # -(3/4 log2 3/4 + 1/4 log2 1/4), the entropy of (3/4, 1/4) over two keys


def handmade(kind, weights, mask=None, *, source=2, target=2):
    """A trace of one layer with one head of these weights."""
    weights = torch.tensor(weights)[None, None]
    mask = torch.ones_like(weights, dtype=torch.bool) if mask is None else torch.tensor(mask)[None, None]
    site = {"encoder": "encoder.0.self", "decoder": "decoder.0.self", "cross": "decoder.0.cross"}[kind]
    src, tgt = (Tokens(tuple(range(n)), ("a",) * n, ("a",) * n) for n in (source, target))
    return Trace(
        values={f"{site}.weights": weights, f"{site}.mask": mask},
        spec=spec_of(tiny_config(encoder_layers=1, decoder_layers=1, n_heads=1, source_pad=None, target_pad=None)),
        checkpoint="handmade",
        weights_sha256="",
        src=src,
        tgt=tgt,
        next_ids=(None,) * target,
        next_tokens=(None,) * target,
    )


def scored(recorded, kind, source_special=None, target_special=None):
    """Each score by name; nothing is special unless said."""
    source_special = [False] * len(recorded.src) if source_special is None else source_special
    target_special = [False] * len(recorded.tgt) if target_special is None else target_special
    scores = head_scores(recorded, kind, source_special=source_special, target_special=target_special)
    return {score.name: score for score in scores}


def numbers(score):
    """value, baseline and n of the only head."""
    return float(score.values[0, 0]), float(score.baseline[0, 0]), int(score.n[0, 0])


def special(ckpt, recorded):
    sides = (recorded.src, ckpt.source_codec), (recorded.tgt, ckpt.target_codec)
    return [None if codec is None else special_positions(side, codec) for side, codec in sides]


# One head by hand, two tokens, nothing masked:
#         key 0  key 1      entropy  distance  diagonal  previous  first  end (key 1)
# row 0   3/4    1/4        BITS     1/4       3/4       -         3/4    1/4
# row 1   1/2    1/2        1        1/2       1/2       1/2       1/2    1/2
# even    1/2    1/2        1        1/2       1/2       1/2       1/2    1/2
def test_scores_of_an_encoder_head_by_hand():
    scores = scored(handmade("encoder", [[0.75, 0.25], [0.5, 0.5]]), "encoder", [False, True])
    assert list(scores) == [*NAMES, LENGTH]
    assert numbers(scores["entropy"]) == pytest.approx(((BITS + 1) / 2, 1, 2))
    assert numbers(scores["distance"]) == pytest.approx((0.375, 0.5, 2))
    assert numbers(scores["diagonal"]) == pytest.approx((0.625, 0.5, 2))
    assert numbers(scores["previous token"]) == pytest.approx((0.5, 0.5, 1))
    assert numbers(scores["first token"]) == pytest.approx((0.625, 0.5, 2))
    assert numbers(scores["end token"]) == pytest.approx((0.375, 0.5, 2))
    assert scores["first token"].excess[0, 0] == pytest.approx(0.125)


# The same with a causal mask: row 0 has one allowed key, so that its share is 1 and its entropy is none.
#         key 0  key 1      entropy  distance  diagonal  previous  first
# row 0   1      masked     -        0         1         -         1
# row 1   1/4    3/4        BITS     1/4       3/4       1/4       1/4
# even    1; 1/2            1        0; 1/2    1; 1/2    1/2       1; 1/2
def test_scores_of_a_causal_head_by_hand():
    scores = scored(handmade("decoder", [[1.0, 0.0], [0.25, 0.75]], [[True, False], [True, True]]), "decoder")
    assert numbers(scores["entropy"]) == pytest.approx((BITS, 1, 1))
    assert numbers(scores["distance"]) == pytest.approx((0.125, 0.25, 2))
    assert numbers(scores["diagonal"]) == pytest.approx((0.875, 0.75, 2))
    assert numbers(scores["previous token"]) == pytest.approx((0.25, 0.5, 1))
    assert numbers(scores["first token"]) == pytest.approx((0.625, 0.75, 2))


# Two keys, W_O the identity, values of length 1/8 and 4. Row 0 reads 3/4 of key 0, row 1 half of each, row 2 key 0
# alone: per weight 3/32 + 1, 1/16 + 2 and 1/8; an even head would have (1/8 + 4) / 2. Of what is added key 0 has
# (3/32) / (35/32), (1/16) / (33/16) and all.
WEIGHTS = [[0.75, 0.25], [0.5, 0.5], [1.0, 0.0]]


def with_values(recorded, values):
    """The handmade trace with values and a W_O that hands them on."""
    values = {**recorded.values, "decoder.0.cross.value": torch.tensor(values)[None, None]}
    config = tiny_config(encoder_layers=1, decoder_layers=1, n_heads=1, d_model=2, source_pad=None, target_pad=None)
    return replace(recorded, values=values, spec=spec_of(config), output_maps={"decoder.0.cross": torch.eye(2)})


def test_contribution_by_weight_by_hand():
    recorded = with_values(handmade("cross", WEIGHTS, target=3), [[0.125, 0.0], [0.0, -4.0]])
    score = scored(recorded, "cross")[LENGTH]
    assert numbers(score) == pytest.approx(((35 / 32 + 33 / 16 + 1 / 8) / 3, 33 / 16, 3))
    assert score.bounds == (0, 4)


def test_a_first_or_an_end_token_has_its_share_of_what_is_added_beside_its_share_of_the_weight():
    recorded = with_values(handmade("cross", WEIGHTS, target=3), [[0.125, 0.0], [0.0, -4.0]])
    marks = {"source_special": [True, True], "target_special": [False] * 3}
    first, end = key_shares(recorded, "cross", 0, 0, **marks)
    assert (first.name, first.position, first.n) == ("first token", 0, 3)
    assert (first.weight, first.even, first.contribution) == pytest.approx((0.75, 0.5, (3 / 35 + 1 / 33 + 1) / 3))
    assert (end.name, end.position, end.n) == ("end token", 1, 3)
    assert (end.weight, end.contribution) == pytest.approx((0.25, (32 / 35 + 32 / 33) / 3))
    shares = key_shares(recorded, "cross", 0, 0, source_special=[True, False], target_special=[False] * 3)
    assert [each.name for each in shares] == ["first token"]
    with pytest.raises(ValueError, match="there is no head 1: heads go from 0 to 0"):
        key_shares(recorded, "cross", 0, 1, **marks)


def test_a_row_in_which_nothing_is_added_has_no_shares():
    recorded = with_values(handmade("cross", WEIGHTS, target=3), [[0.0, 0.0], [0.0, 4.0]])
    (first,) = key_shares(recorded, "cross", 0, 0, source_special=[True, False], target_special=[False] * 3)
    assert (first.n, first.weight, first.contribution) == (2, 0.625, 0)  # rows 0 and 1


def test_where_contributions_are_undefined_no_row_has_the_score_and_there_are_no_shares():
    ckpt = tiny_checkpoint(merge="raw-reshape")
    recorded = trace(ckpt, "abc", "uv")
    marks = special(ckpt, recorded)
    assert not scored(recorded, "cross", *marks)[LENGTH].n.any()
    with pytest.raises(ValueError, match="raw reshape"):
        key_shares(recorded, "cross", 0, 0, source_special=marks[0], target_special=marks[1])


def test_without_an_end_token_there_is_no_row_for_it():
    """The decoder writes its end token and does not read it."""
    score = scored(handmade("decoder", [[1.0, 0.0], [0.5, 0.5]]), "decoder", target_special=[True, False])["end token"]
    assert numbers(score) == pytest.approx((math.nan, math.nan, 0), nan_ok=True)


# T = 2, S = 4: distances |i/2 - j/4| are 0 1/4 1/2 3/4 in row 0 and 1/2 1/4 0 1/4 in row 1.
# Row 0 all on key 1: 1/4. Row 1 half on key 0, half on key 2: 1/4. Even: 3/8 and 1/4, on average 5/16.
def test_distance_of_cross_attention_by_hand():
    weights = [[0.0, 1.0, 0.0, 0.0], [0.5, 0.0, 0.5, 0.0]]
    scores = scored(handmade("cross", weights, source=4), "cross")
    assert list(scores) == [*NAMES, "monotonicity", LENGTH]
    assert numbers(scores["distance"]) == pytest.approx((0.25, 0.3125, 2))
    assert numbers(scores["diagonal"]) == pytest.approx((0, 0.25, 2))  # key 0 in row 0, key 1 in row 1
    assert numbers(scores["previous token"]) == pytest.approx((0.5, 0.25, 1))  # key 0 in row 1
    assert scores["distance"].bounds == (0, 1)


def test_rows_beyond_the_last_key_have_no_diagonal():
    weights = [[0.5, 0.5]] * 4
    scores = scored(handmade("cross", weights, target=4), "cross")
    assert (scores["diagonal"].n[0, 0], scores["previous token"].n[0, 0]) == (2, 2)


# Words are keys 1 to 3 and rows 1 to 3. Means over the words, of those that hold something:
# row 1: key 2 -> 2; row 2: 0.1 on key 1, 0.1 on key 3 -> 2 + 0, tie; row 3: 0.3 on key 3 -> 3. Not divided by what the
# words hold, row 2 would be at 0.4 and row 3 at 0.9, before row 1.
def test_monotonicity_by_hand_leaves_specials_out_on_both_sides():
    weights = [[0.0, 0.0, 0.0, 1.0], [0.0, 0.0, 1.0, 0.0], [0.8, 0.1, 0.0, 0.1], [0.7, 0.0, 0.0, 0.3]]
    marks = [True, False, False, False]
    score = scored(handmade("cross", weights, source=4, target=4), "cross", marks, marks)["monotonicity"]
    # pairs (1, 2) equal, (1, 3) and (2, 3) rise: 2 / sqrt(3 * 2)
    assert numbers(score) == pytest.approx((2 / math.sqrt(6), 0, 3))


def test_a_row_that_reads_specials_alone_has_no_place():
    weights = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    recorded = handmade("cross", weights, source=3, target=3)
    assert numbers(scored(recorded, "cross", [True, False, False])["monotonicity"]) == (1, 0, 2)


@pytest.mark.parametrize(
    ("values", "tau"),
    [
        ([0, 1, 2], 1),
        ([2, 1, 0], -1),
        ([0, 2, 1], 1 / 3),  # two pairs rise, one falls
        ([0, 0, 1], 2 / math.sqrt(6)),  # two rise, one is equal
        ([1, 0, 0, 1], 0),  # (0,1) (0,2) fall, (1,3) (2,3) rise
        ([5, 5, 5], math.nan),
        ([5], math.nan),
        ([], math.nan),
    ],
)
def test_kendall_s_tau_by_hand(values, tau):
    assert kendall_tau(np.array(values, dtype=float)) == pytest.approx(tau, nan_ok=True)


# ---- against plain loops ------------------------------------------------------------------------------------------


def tau_by_loops(values):
    """Tau-b from its definition for two variables with ties."""
    rise_minus_fall = ties = pairs = 0
    for a in range(len(values)):
        for b in range(a + 1, len(values)):
            pairs += 1
            ties += values[a] == values[b]
            rise_minus_fall += (values[b] > values[a]) - (values[b] < values[a])
    return rise_minus_fall / math.sqrt(pairs * (pairs - ties)) if pairs > ties else math.nan


def lengths_by_einsum(ckpt, recorded, kind, layer):
    """|| v_j W_O of each head ||, [H, K] float64, by the model's own parameter; None where heads mix positions."""
    if ckpt.config.merge == "raw-reshape":
        return None
    stack, name = ("decoder", "cross") if kind == "cross" else (kind, "self")
    w_o = getattr(getattr(ckpt.model, stack).layers[layer], f"{name}_attention").to_out.weight.detach().double().numpy()
    value = recorded[f"{stack}.{layer}.{name}.value"][0].double().numpy()  # [H, K, E]
    return np.sqrt(np.square(np.einsum("hke,dhe->hkd", value, w_o.reshape(16, 4, 4))).sum(axis=-1))


def by_loops(view, kind, padding, key_special, query_special, end, sizes, lengths):
    """name -> (value, baseline, n) of one head, cell by cell."""
    w, mask = np.array(view.weights, dtype=object), view.mask  # Python floats: no numpy arithmetic
    found = {name: [] for name in (*NAMES, LENGTH)}
    places = []
    for i in range(w.shape[0]):
        keys = [j for j in range(w.shape[1]) if mask[i, j]]
        if i in padding or not keys:
            continue
        share = 1 / len(keys)
        if len(keys) > 1:
            entropy = sum(-w[i, j] * math.log(w[i, j]) for j in keys if w[i, j]) / math.log(len(keys))
            found["entropy"].append((entropy, 1))
        far = {j: abs(i / sizes[0] - j / sizes[1]) if kind == "cross" else abs(i - j) for j in keys}
        found["distance"].append((sum(w[i, j] * far[j] for j in keys), sum(far.values()) * share))
        for name, j in [("diagonal", i), ("previous token", i - 1), ("first token", 0), ("end token", end)]:
            if j in keys:
                found[name].append((w[i, j], share))
        held = sum(w[i, j] for j in keys)
        if lengths is not None and held:
            found[LENGTH].append(
                (sum(w[i, j] * lengths[j] for j in keys) / held, sum(lengths[j] for j in keys) * share)
            )
        words = [j for j in keys if not key_special[j]]
        held = sum(w[i, j] for j in words)
        if not query_special[i] and held:
            places.append(sum(j * w[i, j] for j in words) / held)
    result = {
        name: (sum(v for v, _ in rows) / len(rows), sum(b for _, b in rows) / len(rows), len(rows))
        if rows
        else (math.nan, math.nan, 0)
        for name, rows in found.items()
    }
    if kind == "cross":
        result["monotonicity"] = (tau_by_loops(places), 0 if len(places) > 1 else math.nan, len(places))
    return result


PADDED = {"pad_to": 20, "max_source": 20, "max_target": 20}
EDITS = [
    SetMask("decoder.1.cross", query=1, key=None, allowed=False),  # a row that may attend to nothing
    SetMask("decoder.0.cross", query=None, key=2, allowed=False, head=1),
    SetMask("encoder.1.self", query=2, key=0, allowed=False),
    FixRow("decoder.2.self", query=2, weights=(0.5, 0.0, 0.25), head=3),
]
CASES = {
    "translation": ({}, "abcabzh", "uvwuvw01", ()),
    "edited": ({}, "abca", "uvw0", EDITS),
    "edited, filled": ({"mask_fill": "-1e9"}, "abca", "uvw0", EDITS),
    "repeated tokens": ({}, "aaaaaa", "uuuu", ()),
    "one token each": ({}, [4], [1], ()),
    "padded": (PADDED, "abca", "uvw0", ()),
    "padded, slips": (
        {**PADDED, "padding_mask": "key-or-query-swapped-cross", "mask_fill": "added-1e9", "merge": "raw-reshape"},
        "abc",
        "uvw012",
        (),
    ),
    "decoder alone": ({"kind": "decoder-only"}, "uvwuv", None, ()),
    "encoder alone": ({"kind": "encoder-only"}, "abcab", None, ()),
}


@pytest.mark.parametrize("case", CASES)
def test_scores_are_those_of_plain_loops_over_the_cells(case):
    changes, source, target, edits = CASES[case]
    ckpt = tiny_checkpoint(**changes)
    recorded = trace(ckpt, source, target, edits=edits)
    source_special, target_special = special(ckpt, recorded)
    for kind in attention_kinds(recorded):
        queries, query_special = (recorded.src, source_special) if kind == "encoder" else (recorded.tgt, target_special)
        keys, key_special = (recorded.tgt, target_special) if kind == "decoder" else (recorded.src, source_special)
        padding = [i for i, typed in enumerate(queries.originals) if typed == ""]
        last = max(j for j, typed in enumerate(keys.originals) if typed)
        end = last if keys.tokens[last] == "</s>" else -1
        sizes = len(queries) - len(padding), last + 1
        scores = scored(recorded, kind, source_special, target_special)
        for (layer, head), _ in np.ndenumerate(scores["entropy"].values):
            view, lengths = head_view(recorded, kind, layer, head), lengths_by_einsum(ckpt, recorded, kind, layer)
            own = None if lengths is None else lengths[head]
            want = by_loops(view, kind, padding, key_special, query_special, end, sizes, own)
            for name, score in scores.items():
                got = score.values[layer, head], score.baseline[layer, head], score.n[layer, head]
                assert got == pytest.approx(want[name], abs=1e-12, nan_ok=True), (kind, layer, head, name)
        if case in ("translation", "padded"):  # whose rows are neither too short nor edited
            assert (scores["entropy"].n == scores["distance"].n - (kind == "decoder")).all()


# ---- properties ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
def test_scores_stay_within_their_bounds(seed, kind):
    ckpt = tiny_checkpoint(seed=seed)
    recorded = decode(ckpt, "hgfabab", max_steps=9).trace
    for name, score in scored(recorded, kind, *special(ckpt, recorded)).items():
        least, largest = score.bounds
        ran = score.n > 0
        assert (score.values[ran] >= least - 1e-6).all(), name  # float32 rows sum to 1 but for their rounding
        assert (score.values[ran] <= largest + 1e-6).all(), name
        assert score.values.shape == score.baseline.shape == score.n.shape
        assert np.isnan(score.values[~ran]).all()
        assert np.isnan(score.baseline[~ran]).all()


@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
def test_the_baseline_is_what_an_even_head_scores(kind):
    site = {"encoder": "encoder.1.self", "decoder": "decoder.1.self", "cross": "decoder.1.cross"}[kind]
    edits = [SetMask(site, query=2, key=1, allowed=False), AblateHead(site, head=2, how="uniform")]
    ckpt = tiny_checkpoint()
    recorded = trace(ckpt, "abcabc", "uvwuv", edits=edits)
    scores = scored(recorded, kind, *special(ckpt, recorded))
    for name in (*NAMES, LENGTH):
        excess = scores[name].excess[1, 2]
        assert excess == pytest.approx(0, abs=1e-6) or scores[name].n[1, 2] == 0, name
        assert scores[name].n[1, 2] or name == "end token"
    others = np.abs(scores["diagonal"].excess)
    assert np.delete(others.ravel(), 1 * 4 + 2).max() > 1e-3


def test_an_even_head_has_no_order():
    ckpt = tiny_checkpoint()
    recorded = trace(ckpt, "abcabc", "uvwuv", edits=[AblateHead("decoder.1.cross", head=2, how="uniform")])
    score = scored(recorded, "cross", *special(ckpt, recorded))["monotonicity"]
    assert math.isnan(score.values[1, 2])
    assert score.n[1, 2] == 5


def test_padding_changes_no_score():
    plain, padded = tiny_checkpoint(max_target=20), tiny_checkpoint(**PADDED)
    for kind in ("encoder", "decoder", "cross"):
        without, behind = (
            scored(recorded, kind, *special(ckpt, recorded))
            for ckpt, recorded in [(c, trace(c, "abca", "uvw0")) for c in (plain, padded)]
        )
        for name, score in without.items():
            np.testing.assert_array_equal(score.n, behind[name].n, err_msg=name)
            np.testing.assert_allclose(score.values, behind[name].values, atol=1e-6, err_msg=name)  # float32 sums
            exact = 1e-6 if name == LENGTH else 1e-12  # values are float32
            np.testing.assert_allclose(score.baseline, behind[name].baseline, atol=exact, err_msg=name)


@pytest.mark.parametrize("fill", ["zero-rows", "-1e9"])
def test_a_row_that_may_attend_to_nothing_is_left_out(fill):
    ckpt = tiny_checkpoint(mask_fill=fill)
    edit = SetMask("decoder.1.cross", query=1, key=None, allowed=False)
    recorded = trace(ckpt, "abc", "uvw", edits=[edit])
    n = scored(recorded, "cross", *special(ckpt, recorded))["first token"].n
    assert n.tolist() == [[4] * 4, [3] * 4, [4] * 4]


def test_a_mask_of_one_head_counts_for_that_head():
    ckpt = tiny_checkpoint()
    recorded = trace(ckpt, "abc", "uvw", edits=[SetMask("encoder.0.self", query=None, key=0, allowed=False, head=2)])
    score = scored(recorded, "encoder", *special(ckpt, recorded))["first token"]
    assert score.n.tolist() == [[5, 5, 0, 5], [5, 5, 5, 5]]
    assert math.isnan(score.values[0, 2])


def test_weights_that_are_no_number_give_none():
    weights = [[math.nan, math.nan], [0.5, 0.5]]
    for name, score in scored(handmade("cross", weights), "cross", [False, True]).items():
        assert math.isnan(score.values[0, 0]) == (name != "previous token"), name
        assert (score.n[0, 0] > 0) == (name != LENGTH), name  # a trace without W_O has no contributions


def test_weight_that_an_edit_put_on_a_masked_key_is_not_counted():
    scores = scored(handmade("decoder", [[0.5, 0.5], [0.5, 0.5]], [[True, False], [True, True]]), "decoder")
    assert numbers(scores["distance"]) == (0.25, 0.25, 2)  # row 0: nothing, row 1: 1/2


# Two source and four target tokens, padded to 20, masked along the wrong axis: a row may attend to keys 0 to 3, of
# which 2 and 3 are padding, at 2/2 and 3/2 of the source.
def test_padding_that_may_be_attended_to_lies_beyond_the_end_of_the_source():
    ckpt = tiny_checkpoint(**PADDED, padding_mask="key-or-query-swapped-cross")
    recorded = trace(ckpt, [4, 5], [1, 5, 6, 7])
    score = scored(recorded, "cross", *special(ckpt, recorded))["distance"]
    # rows 0 and 1, at 0 and 1/4: 0 1/2 1 3/2 and 1/4 1/4 3/4 5/4, on average 3/4 and 5/8
    assert score.baseline == pytest.approx(np.full((3, 4), 11 / 16))
    assert score.n.tolist() == [[2] * 4] * 3
    assert score.bounds == (0, 19 / 2)


def test_an_edited_row_is_not_renormalised():
    recorded = handmade("encoder", [[2.0, 0.0], [0.5, 0.5]])
    assert numbers(scored(recorded, "encoder")["first token"]) == (1.25, 0.5, 2)


def test_padding_given_as_an_id_is_no_end_token():
    ckpt = tiny_checkpoint()
    recorded = trace(ckpt, [1, 4, 2, 0, 0], [1, 5])
    source_special, target_special = special(ckpt, recorded)
    assert source_special == (True, False, True, True, True)
    score = scored(recorded, "cross", source_special, target_special)["end token"]
    np.testing.assert_allclose(score.values[0], recorded["decoder.0.cross.weights"][0, :, :, 2].mean(dim=-1), atol=1e-7)


def test_the_unknown_token_stands_for_a_word():
    ckpt = tiny_checkpoint()
    recorded = trace(ckpt, "azb", "u!v")
    assert special(ckpt, recorded) == [(True, False, False, False, True), (True, False, False, False)]


@pytest.mark.parametrize(
    ("kind", "marks", "sentence"),
    [
        ("cross", {"source_special": [False] * 5}, "target_special is missing: .* 3 target tokens"),
        ("encoder", {"target_special": [False] * 3}, "source_special is missing: .* 5 source tokens"),
        ("decoder", {"target_special": [False] * 5}, "target_special has 5 entries: .* 3 target tokens"),
        ("self", {}, "choose 'cross' or 'decoder' or 'encoder'"),
    ],
)
def test_what_is_missing_or_does_not_fit_is_a_value_error(kind, marks, sentence):
    with pytest.raises(ValueError, match=sentence):
        head_scores(trace(tiny_checkpoint(), "abc", "uv"), kind, **marks)


def test_each_kind_needs_the_specials_of_its_own_sides_only():
    recorded = trace(tiny_checkpoint(), "abc", "uv")
    assert len(head_scores(recorded, "encoder", source_special=[False] * 5)) == 7
    assert len(head_scores(recorded, "decoder", target_special=[False] * 3)) == 7
