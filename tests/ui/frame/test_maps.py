"""What a map sends, and what its table and CSV say, is what the run recorded."""

import csv
import io
import json
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
import torch
from builders import tiny_checkpoint
from page_driver import SITES
from showing import shown_of, shown_run
from wording import wording

from viz_transformer import __version__, payload
from viz_transformer.analysis.attention import picture as pictures_of_maps
from viz_transformer.analysis.attention.specials import hidden_keys
from viz_transformer.running.decoding import Run
from viz_transformer.running.edits import SetMask
from viz_transformer.running.tracing import trace
from viz_transformer.ui.frame import maps
from viz_transformer.ui.session import state

PADDED = {"pad_to": 20, "max_target": 20, "mask_fill": "-1e9", "padding_mask": "key-or-query"}
SLIPS = {"pad_to": 20, "max_target": 20, "norm": "post", "final_norm": False, "norm_kind": "positions-and-features"}
SLIPS |= {"merge": "raw-reshape", "mask_fill": "added-1e9", "padding_mask": "key-or-query-swapped-cross"}
LETTERS = [*"abcdefgh", "€", " "]  # the last two are not in the vocabulary


def closed_at_random(seed, queries, keys, layers):
    """Edits that close random cells of each head's cross-attention, and all of row 1."""
    random = np.random.default_rng(seed)
    return [
        SetMask(f"decoder.{layer}.cross", query, key, allowed=False, head=head)
        for layer in range(layers)
        for head in range(4)
        for query in range(queries)
        for key in range(keys)
        if random.random() < 0.3 or query == 1
    ]


def random_text(seed, length):
    return "".join(np.random.default_rng(seed).choice(LETTERS, length))


RUNS = {
    "random-0": lambda: shown_of(tiny_checkpoint(), random_text(0, 18)),  # 18 of 10 letters: some stand twice
    "random-1": lambda: shown_of(tiny_checkpoint(seed=1), random_text(1, 7)),
    "closed": lambda: shown_of(tiny_checkpoint(), "aab", max_steps=4, edits=closed_at_random(2, 4, 5, 3)),
    "one letter": lambda: shown_of(tiny_checkpoint(), "a", max_steps=1),
    "padded": lambda: shown_of(tiny_checkpoint(**PADDED), "abab", max_steps=3),
    "minus infinity": lambda: shown_of(tiny_checkpoint(**PADDED | {"mask_fill": "-inf"}), "ab", max_steps=2),
    "slips": lambda: shown_of(tiny_checkpoint(**SLIPS), "bad", max_steps=3),
    "decoder alone": lambda: shown_of(tiny_checkpoint("decoder-only"), "uu v€u", max_steps=5),
}


@pytest.fixture(scope="module")
def runs():
    """The runs by name, each made once."""
    made = {}

    def run(name):
        if name not in made:
            made[name] = RUNS[name]()
        return made[name]

    return run


@pytest.fixture
def shown(runs):
    return runs("random-0")


def chosen(kind="cross", layer=1, heads=(0,), options=()):
    return {**state.DEFAULTS, "kind": kind, "layer": layer, "heads": heads, "options": options}


def picture(shown, *args, **changes):
    return maps.picture(shown, chosen(*args, **changes))


def every_head(trace):
    """Kind, layer, head, and their recorded weights and mask."""
    config = trace.config
    layers = {"encoder": config.encoder_layers, "decoder": config.decoder_layers}
    layers["cross"] = config.decoder_layers if config.has_encoder else 0
    for kind, count in layers.items():
        for layer in range(count):
            for head in range(config.n_heads):
                yield kind, layer, head, *recorded(trace, kind, layer, head)


def recorded(trace, kind, layer, head):
    site = SITES[kind].format(layer)
    weights = trace[f"{site}.weights"]
    return weights[0, head].numpy(), trace[f"{site}.mask"].expand(weights.shape)[0, head].numpy()


def heads_of(trace, kind, layer):
    """[H, Q, K] float64."""
    return trace[f"{SITES[kind].format(layer)}.weights"][0].double().numpy()


def encodings(data):
    header = json.loads(data[4 : 4 + int.from_bytes(data[:4], "little")])
    return {name: about["encoding"] for name, about in header["arrays"].items()}


def minus(a, b):
    return a - b


def bits(values):
    return np.asarray(values, np.float32).tobytes()


def saved(made):
    """The rows of the CSV, as any other program reads it."""
    return list(csv.reader(io.StringIO(made.table().to_csv())))


# ---- single heads: the map as it is sent


@pytest.mark.parametrize("name", RUNS)
def test_every_head_of_every_layer_is_sent_bit_by_bit_with_its_mask(runs, name):
    shown = runs(name)
    seen = 0
    for kind, layer, head, weights, mask in every_head(shown.trace):
        header, arrays = payload.unpack(picture(shown, kind, layer, (head,)).pack())
        assert arrays["values"].dtype == np.float32
        assert arrays["values"].shape == weights.shape
        assert bits(arrays["values"]) == bits(weights)
        assert np.array_equal(arrays.get("mask", np.ones_like(mask)), mask)
        assert ("mask" in arrays) == (not mask.all())
        assert (header["scale"], header["signed"], header["bounded"]) == (kind, False, True)
        assert (header["quantity"], header["unit"]) == ("weight", "attention weight")
        seen += 1
    assert seen == (12 if name == "decoder alone" else 32)


def test_a_masked_cell_that_has_weight_is_sent_with_its_weight_and_what_masks_it(runs):
    shown = runs("padded")
    header, arrays = payload.unpack(picture(shown, "cross", 0, (2,)).pack())
    padding = [typed == "" for typed in shown.trace.tgt.originals]
    assert any(padding)
    assert not arrays["mask"][padding].any()
    np.testing.assert_allclose(arrays["values"][padding], 1 / 20, rtol=1e-6)  # even over all 20 keys
    assert header["fill"] == "-1e9"


@pytest.mark.parametrize("name", RUNS)
def test_rows_and_columns_are_the_tokens_at_their_positions(runs, name):
    trace = runs(name).trace
    sides = {"source": trace.src, "target": trace.tgt}
    for kind, (row, column), (row_side, column_side) in (
        ("encoder", ("i", "j"), ("source", "source")),
        ("decoder", ("t", "u"), ("target", "target")),
        ("cross", ("t", "i"), ("target", "source")),
    ):
        if name == "decoder alone" and kind != "decoder":
            continue
        header, _ = payload.unpack(picture(runs(name), kind, 0).pack())
        for axis, field, side in ((header["rows"], row, row_side), (header["columns"], column, column_side)):
            assert (axis["field"], axis["ink"], axis["starts"]) == (field, f"{side}-ink", None)
            assert [token["text"] for token in axis["tokens"]] == list(sides[side].tokens)
            typed = [o or t for o, t in zip(sides[side].originals, sides[side].tokens, strict=True)]
            read = [t.replace(" ", "␣") for t in typed]
            assert [token.get("note", token["text"]) for token in axis["tokens"]] == read


def test_special_tokens_are_marked_and_unknown_text_is_none_of_them(runs):
    header, _ = payload.unpack(picture(runs("random-0"), "encoder").pack())
    tokens = header["columns"]["tokens"]
    assert [bool(token.get("special")) for token in tokens] == [token["text"] in ("<s>", "</s>") for token in tokens]
    assert any(token["text"] == "<unk>" for token in tokens)


def test_a_row_writes_the_token_that_the_next_row_reads(runs):
    for name in ("random-0", "decoder alone"):
        shown = runs(name)
        header, _ = payload.unpack(picture(shown, "decoder").pack())
        reads = [token["text"] for token in header["rows"]["tokens"]]
        writes = [token["text"] for token in header["writes"]]
        assert writes[:-1] == reads[1:]
        assert writes[-1] == shown.run.tokens[-1]
        assert writes[-len(shown.run.steps) :] == list(shown.run.tokens)
    assert payload.unpack(picture(runs("random-0"), "encoder").pack())[0]["writes"] is None


def test_rows_of_padding_write_nothing(runs):
    shown = runs("slips")
    header, _ = payload.unpack(picture(shown, "cross").pack())
    writes = [token["text"] for token in header["writes"]]
    assert writes[: len(shown.run.steps)] == list(shown.run.tokens)
    assert set(writes[len(shown.run.steps) :]) == {"(unused)"}


def test_an_encoder_alone_has_a_map_too():
    ckpt = tiny_checkpoint("encoder-only")
    run = Run("", (), trace(ckpt, "aabb"), "end token")
    shown = shown_run(ckpt, "aabb", run)
    header, arrays = payload.unpack(picture(shown, "encoder", 1, (3,)).pack())
    assert bits(arrays["values"]) == bits(recorded(run.trace, "encoder", 1, 3)[0])
    assert header["title"] == wording("title_of_encoder_attention", 1, 3)
    with pytest.raises(ValueError, match="has no 'cross' attention: choose 'encoder'"):
        picture(shown, "cross")


def test_title_caption_and_file_name_say_what_is_seen(runs):
    made = picture(runs("one letter"), "decoder", 2, (3,))
    assert made.meta.title == wording("title_of_decoder_attention", 2, 3)
    assert made.meta.caption == wording("caption_of_a_saved_map", "a", 2, 3, __version__)
    assert made.meta.name == "tiny-decoder-layer-2-head-3-self-attention"
    assert payload.unpack(made.pack())[0]["caption"] == made.meta.caption


def test_a_caption_quotes_the_beginning_of_a_long_text_and_fences_off_right_to_left_letters():
    assert f"“{'a' * 59}…”" in shown_of(tiny_checkpoint(max_source=100), "a" * 80, max_steps=1).caption("x")
    assert "“\u2068مرحبا\u2069”" in shown_of(tiny_checkpoint(), "مرحبا", max_steps=1).caption("x")


# ---- the same numbers as a table and as CSV


@pytest.mark.parametrize("name", RUNS)
def test_the_csv_has_the_recorded_weight_of_every_cell_and_says_which_are_masked(runs, name):
    shown = runs(name)
    for kind, layer, head, weights, mask in every_head(shown.trace):
        if head != layer % 4:
            continue  # one head of each attention: writing and reading text is slow
        header, *lines = saved(picture(shown, kind, layer, (head,)))
        keys = weights.shape[1]
        cells = np.array([line[1 : 1 + keys] for line in lines])
        numbers = ~np.isnan(weights)
        assert bits(cells[numbers].astype(np.float64)) == bits(weights[numbers])
        assert (cells[~numbers] == "not a number").all()
        if mask.all():
            assert len(header) == 1 + keys
        else:
            assert header[1 + keys :] == [f"{column}, masked" for column in header[1 : 1 + keys]]
            marks = np.array([line[1 + keys :] for line in lines])
            assert np.array_equal(marks, np.where(mask, "False", "True"))


def test_a_masked_cell_with_weight_stays_a_number_beside_its_mark(runs):
    made = picture(runs("slips"), "cross", 0, (2,))
    masked = ~made.mask
    assert (made.values[masked] > 0).any()
    read = pd.read_csv(io.StringIO(made.table().to_csv()), index_col=0)
    numbers, marks = (read.iloc[:, part] for part in (slice(0, 20), slice(20, None)))
    assert set(numbers.dtypes) == {np.dtype(float)}
    assert set(marks.dtypes) == {np.dtype(bool)}
    assert bits(numbers.to_numpy()) == bits(made.values)
    assert np.array_equal(marks.to_numpy(), masked)


def test_the_note_of_a_table_says_where_masked_cells_are_marked(runs):
    assert wording("masked_cells_keep_their_weight") in picture(runs("slips"), "cross").note
    plain = picture(runs("one letter"), "encoder")
    assert plain.note == f"{plain.meta.caption}. A number is the weight."


def test_tokens_that_stand_twice_have_a_column_and_a_row_each(runs):
    shown = runs("closed")
    lines = saved(picture(shown, "cross"))
    names = ["0 <s>", "1 a", "2 a", "3 b", "4 </s>"]
    assert lines[0] == ["reads", *names, *(f"{name}, masked" for name in names)]
    assert [line[0] for line in lines[1:]] == [f"{t} {token}" for t, token in enumerate(shown.trace.tgt.tokens)]


def test_the_table_says_what_was_typed_where_the_model_reads_something_else():
    table = picture(shown_of(tiny_checkpoint(), "a€ <b>", max_steps=1), "encoder").table()
    assert list(table.columns) == ["0 <s>", "1 a", "2 €", "3 ␣", "4 <", "5 b", "6 >", "7 </s>"]


def test_a_table_of_hidden_specials_names_each_column_by_its_position_in_the_run(runs):
    table = picture(runs("closed"), "cross", options=("hidden",)).table()
    assert list(table.columns) == ["1 a", "2 a", "3 b", "1 a, masked", "2 a, masked", "3 b, masked"]


# ---- long texts


@pytest.fixture(scope="module")
def long():
    """602 source tokens, of which many are the same, and four target tokens."""
    return shown_of(tiny_checkpoint(max_source=602), random_text(3, 600), max_steps=4)


@pytest.mark.parametrize("kind", ["encoder", "cross"])
def test_above_512_tokens_weights_are_sent_within_1_6e_5_and_marked_as_rounded(long, kind):
    for head in range(4):
        weights, _ = recorded(long.trace, kind, 0, head)
        data = picture(long, kind, 0, (head,)).pack()
        _, arrays = payload.unpack(data)
        assert encodings(data)["values"] == "sqrt-uint16"  # for which the tooltip puts ≈ in front of a value
        error = np.abs(arrays["values"] - weights)
        assert 0 < error.max() < 1.6e-5
    assert encodings(picture(long, "decoder", 0).pack())["values"] == "float32"


def test_a_long_table_is_exact(long):
    weights, _ = recorded(long.trace, "encoder", 1, 2)
    table = picture(long, "encoder", 1, (2,)).table()
    assert bits(table.to_numpy()) == bits(weights)
    assert len(set(table.columns)) == 602


def test_signed_maps_and_norms_are_exact_at_any_length(long):
    one, other = picture(long, "encoder", 0, (0,)), picture(long, "encoder", 0, (1,))
    data = (one - other).pack()
    assert encodings(data)["values"] == "float32"
    assert bits(payload.unpack(data)[1]["values"]) == bits(one.values - other.values)


# ---- several heads, mean, maximum, rollout


def test_several_heads_are_kept_apart_and_the_map_is_the_first(shown):
    made = picture(shown, "cross", 2, (1, 3))
    assert bits(made.heads.values) == bits([recorded(shown.trace, "cross", 2, head)[0] for head in (1, 3)])
    assert made.heads.names == ("head 1", "head 3")
    assert bits(made.values) == bits(made.heads.values[0])
    assert "head 1," in made.meta.title
    assert picture(shown, "cross", 2, (1,)).heads is None


@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
@pytest.mark.parametrize(("word", "combine"), [("mean", np.mean), ("max", np.max)])
def test_mean_and_maximum_are_made_of_the_heads_and_are_grey(shown, kind, word, combine):
    header, arrays = payload.unpack(picture(shown, kind, 1, word).pack())
    np.testing.assert_allclose(arrays["values"], combine(heads_of(shown.trace, kind, 1), axis=0), atol=1e-7)
    assert header["scale"] == "derived"
    assert "derived" in header["unit"]
    assert ("maximum" if word == "max" else "mean") + " of 4 heads" in header["title"]


def test_rollout_is_the_product_of_all_layers_so_far_and_grey(shown):
    mean = {(k, n): heads_of(shown.trace, k, n).mean(axis=0) for k in SITES for n in range(2)}
    encoder = np.eye(len(shown.trace.src))
    for layer in range(2):
        encoder = encoder / 2 + mean["encoder", layer] @ encoder / 2
    target, source = np.eye(len(shown.trace.tgt)), np.zeros((len(shown.trace.tgt), len(shown.trace.src)))
    for layer in range(2):
        half = np.eye(len(target)) / 2 + mean["decoder", layer] / 2
        target, source = half @ target, half @ source
        target, source = target / 2, source / 2 + mean["cross", layer] @ encoder / 2
    for kind, expected in (("encoder", encoder), ("decoder", target), ("cross", source)):
        header, arrays = payload.unpack(picture(shown, kind, 1, "rollout").pack())
        np.testing.assert_allclose(arrays["values"], expected, atol=1e-6)  # rows of A sum to 1 within float32
        assert (header["scale"], header["unit"]) == ("derived", "attention rollout (derived)")
        assert "rollout" in header["title"]
    np.testing.assert_allclose(target.sum(axis=1) + source.sum(axis=1), 1, atol=1e-6)


# ---- contribution


@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
def test_contribution_is_the_norm_of_weight_times_value_times_w_o(shown, kind):
    site = SITES[kind].format(1)
    stack, attention = SITES[kind].split(".{}.")
    parameter = f"{stack}.layers.1.{attention}_attention.to_out.weight"
    w_o = shown.ckpt.model.get_parameter(parameter).detach().double().numpy()  # [D, heads * E]
    values = shown.trace[f"{site}.value"][0].double().numpy()  # [H, K, E]
    moved = np.einsum("hke,dhe->hkd", values, w_o.reshape(16, 4, 4))
    weights = heads_of(shown.trace, kind, 1)
    header, arrays = payload.unpack(picture(shown, kind, 1, (2,), ("contribution",)).pack())
    expected = np.linalg.norm(weights[2][..., None] * moved[2], axis=-1)
    np.testing.assert_allclose(arrays["values"], expected, rtol=1e-5, atol=1e-7)
    assert (header["scale"], header["quantity"], header["bounded"]) == (kind, "norm", False)
    assert header["unit"] == "norm of weight × value × W_O"
    header, arrays = payload.unpack(picture(shown, kind, 1, "mean", ("contribution",)).pack())
    together = np.linalg.norm(np.einsum("hqk,hkd->qkd", weights, moved), axis=-1)
    np.testing.assert_allclose(arrays["values"], together, rtol=1e-4, atol=1e-6)
    assert header["scale"] == "derived"


def test_a_raw_reshape_of_the_heads_leaves_contribution_and_rollout_undefined_and_says_so(runs):
    shown = runs("slips")
    for options, heads in ((("contribution",), (0,)), (("contribution",), "mean"), ((), "rollout")):
        for kind in SITES:
            with pytest.raises(ValueError, match=r"raw reshape"):
                picture(shown, kind, 1, heads, options)
    assert picture(shown, "cross", 1, "mean").values.shape == (20, 20)


# ---- special tokens hidden


def hidden_by_hand(weights, special):
    """Weights without the special keys, rows rescaled to sum to 1, and of each row the share that was hidden."""
    kept = np.array([key for key in range(weights.shape[-1]) if key not in special])
    rest = weights[..., kept].astype(np.float64)
    with np.errstate(invalid="ignore"):
        share = 1 - rest.sum(axis=-1) / weights.sum(axis=-1, dtype=np.float64)
        return kept, rest / rest.sum(axis=-1, keepdims=True), share


@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
def test_hiding_special_keys_renormalises_the_rest_and_says_how_much_was_hidden(shown, kind):
    weights, mask = recorded(shown.trace, kind, 1, 3)
    special = shown.target_special if kind == "decoder" else shown.source_special
    kept, expected, share = hidden_by_hand(weights, special)
    made = picture(shown, kind, 1, (3,), ("hidden",))
    header, arrays = payload.unpack(made.pack())
    empty = ~np.isfinite(expected).all(axis=-1)
    np.testing.assert_allclose(arrays["values"][~empty], expected[~empty], atol=1e-6)
    assert (arrays["values"][empty] == 0).all()  # nothing but a special token to read: the run's own weights
    assert empty.sum() == (kind == "decoder")
    np.testing.assert_allclose(header["hidden"], share, atol=1e-6)
    assert (wording("of_them_reads_special_keys_alone", 1) in made.meta.remarks[0]) == (kind == "decoder")
    assert np.array_equal(arrays.get("mask", np.ones(made.mask.shape, bool)), mask[:, kept])
    assert header["columns"]["starts"] == list(kept)
    assert len(header["columns"]["tokens"]) == len(kept)
    assert not any(token.get("special") for token in header["columns"]["tokens"])
    assert header["unit"].startswith("attention weight") and "without special keys" in header["unit"]
    (remark,) = made.meta.remarks
    assert wording("share_that_hidden_keys_hold", f"{100 * share.mean():.1f}") in remark
    assert (f"in {(share > 0.9).sum()} of {len(share)} rows" in remark) == bool((share > 0.9).any())


def test_a_row_that_reads_special_keys_alone_is_numbers_in_its_csv(shown):
    made = picture(shown, "decoder", 1, (3,), ("hidden",))
    keys = made.values.shape[1]
    cells = np.array([line[1 : 1 + keys] for line in saved(made)[1:]]).astype(np.float64)
    assert bits(cells) == bits(made.values)
    assert not cells[0].any()


def test_the_share_that_is_hidden_is_not_averaged_over_padding(runs):
    shown = runs("padded")
    weights, _ = recorded(shown.trace, "encoder", 1, 0)
    padding = np.array([typed == "" for typed in shown.trace.src.originals])
    _, _, share = hidden_by_hand(weights, shown.source_special)
    assert 100 * abs(share.mean() - share[~padding].mean()) > 1
    (remark,) = picture(shown, "encoder", 1, (0,), ("hidden",)).meta.remarks
    assert wording("share_that_hidden_keys_hold", f"{100 * share[~padding].mean():.1f}") in remark
    assert remark.endswith(wording("rows_of_padding_are_not_counted"))


def test_a_small_hidden_share_is_not_called_none():
    found = hidden_keys([[1.4e-7, 1.0], [1.4e-7, 1.0]], [True, False], renormalise=True)
    said = pictures_of_maps._describe_hidden(found, np.zeros(2, bool))
    assert said == wording("special_keys_with_hardly_any_weight_are_hidden", "0.1")


def test_the_hidden_share_of_a_word_s_row_is_the_mean_of_its_tokens(shown):
    tokens, words = (picture(shown, "encoder", 1, (0, 2), ("hidden", *more)) for more in ((), ("words",)))
    for one, other in ((tokens.hidden, words.hidden), *zip(tokens.heads.hidden, words.heads.hidden, strict=True)):
        rows = zip(words.rows.starts, words.rows.ends, strict=True)
        np.testing.assert_allclose(other, [one[a:b].mean() for a, b in rows])
    assert len(words.hidden) < len(tokens.hidden)


def test_that_what_is_left_was_renormalised_is_said(shown):
    made = picture(shown, "cross", 1, (3,), ("hidden",))
    assert "renormalised" in " ".join((made.meta.unit, *made.meta.remarks))


@pytest.mark.parametrize("heads", ["mean", "max", "rollout"])
@pytest.mark.parametrize("kind", ["encoder", "cross"])
def test_the_hidden_share_of_a_derived_picture_is_a_share_of_its_own_weight(shown, kind, heads):
    _, _, share = hidden_by_hand(picture(shown, kind, 1, heads).values, shown.source_special)
    (remark,) = picture(shown, kind, 1, heads, ("hidden",)).meta.remarks
    assert wording("share_that_hidden_keys_hold", f"{100 * share.mean():.1f}") in remark


def test_of_several_heads_the_special_keys_are_hidden_in_each(shown):
    made = picture(shown, "cross", 1, (0, 2), ("hidden",))
    for weights, head in zip(made.heads.values, (0, 2), strict=True):
        _, expected, _ = hidden_by_hand(recorded(shown.trace, "cross", 1, head)[0], shown.source_special)
        np.testing.assert_allclose(weights, expected, atol=1e-6)


def test_norms_without_the_special_keys_stay_as_they_are(shown):
    plain = picture(shown, "cross", 1, (0,), ("contribution",))
    made = picture(shown, "cross", 1, (0,), ("contribution", "hidden"))
    assert bits(made.values) == bits(plain.values[:, list(made.columns.starts)])
    assert made.values.shape[1] == plain.values.shape[1] - 2
    assert "renormalised" not in made.meta.unit
    assert made.hidden is None and "hidden" not in payload.unpack(made.pack())[0]
    assert "Special keys are hidden" in made.meta.remarks[0]


def test_where_there_is_nothing_to_hide_that_is_said():
    alone = shown_of(tiny_checkpoint(), "ab", max_steps=1)  # the decoder has read its start token only
    made = picture(alone, "decoder", 0, (0,), ("hidden",))
    assert made.values.shape == (1, 1)
    assert made.meta.remarks == (wording("all_keys_here_are_special_tokens_none_is_hidden"),)


# ---- words


def test_words_are_sums_over_what_is_read_and_means_over_what_reads_and_derived():
    shown = shown_of(tiny_checkpoint(), "ab a ccc", max_steps=5)
    weights, _ = recorded(shown.trace, "encoder", 1, 2)
    groups = [[0], [1, 2], [3], [4], [5], [6, 7, 8], [9]]  # <s> ab ␣ a ␣ ccc </s>
    expected = [[weights[np.ix_(rows, keys)].sum() / len(rows) for keys in groups] for rows in groups]
    made = picture(shown, "encoder", 1, (2,), ("words",))
    header, arrays = payload.unpack(made.pack())
    np.testing.assert_allclose(arrays["values"], expected, atol=1e-6)
    np.testing.assert_allclose(arrays["values"].sum(axis=1), 1, atol=1e-6)
    for axis in (header["rows"], header["columns"]):
        assert [token["text"] for token in axis["tokens"]] == ["<s>", "ab", "␣", "a", "␣", "ccc", "</s>"]
        assert axis["starts"] == [0, 1, 3, 4, 5, 6, 9]
        assert [bool(token.get("special")) for token in axis["tokens"]] == [True, *[False] * 5, True]
    assert header["scale"] == "derived"
    assert header["unit"] == wording("attention_weight_by_word_derived")


def test_words_of_one_token_each_are_the_head_s_own_map_in_its_colour():
    shown = shown_of(tiny_checkpoint(), "a b", max_steps=5)
    plain, by_word = (picture(shown, "encoder", 1, (2,), options) for options in ((), ("words",)))
    assert np.array_equal(by_word.values, plain.values)
    assert (by_word.meta.scale, by_word.meta.unit) == ("encoder", plain.meta.unit)
    assert by_word.meta.remarks == (wording("each_word_is_one_token_here"),)


def test_a_word_row_writes_what_its_tokens_write():
    shown = shown_of(tiny_checkpoint(), "ab", max_steps=5)
    made = picture(shown, "decoder", 1, (0,), ("words",))
    starts = [*made.rows.starts, len(shown.trace.tgt)]
    written = list(shown.run.tokens)
    joined = ["".join(written[a:b]) for a, b in pairwise(starts)]
    assert list(made.rows.writes.tokens) == joined
    assert len(made.rows.writes) < len(written)  # or nothing was joined


def test_words_without_specials_begin_where_their_first_token_stands():
    shown = shown_of(tiny_checkpoint(), "ab cc", max_steps=3)
    weights, _ = recorded(shown.trace, "cross", 0, 1)
    made = picture(shown, "cross", 0, (1,), ("words", "hidden"))
    assert made.columns.starts == (1, 3, 4)
    assert made.columns.reads.names() == ["ab", "␣", "cc"]
    _, shares, _ = hidden_by_hand(weights, {0, 6})
    by_word = np.stack([shares[:, 0] + shares[:, 1], shares[:, 2], shares[:, 3] + shares[:, 4]], axis=1)
    rows = [range(a, b) for a, b in zip(made.rows.starts, (*made.rows.starts[1:], len(weights)), strict=True)]
    np.testing.assert_allclose(made.values, [by_word[list(row)].mean(axis=0) for row in rows], atol=1e-6)
    assert len(made.meta.remarks) == 1


@pytest.mark.parametrize("heads", [(2,), "mean"])
@pytest.mark.parametrize(("kind", "hidden"), [("encoder", ()), ("encoder", ("hidden",)), ("cross", ("hidden",))])
def test_the_contribution_of_a_word_is_the_length_of_its_tokens_vectors_added(kind, hidden, heads):
    shown = shown_of(tiny_checkpoint(), "ab a ccc", max_steps=5)
    site = SITES[kind].format(1)
    w_o = shown.trace.output_maps[site].double().numpy().reshape(16, 4, 4)
    vectors = np.einsum(  # what each key adds through each head
        "hqk,hke,dhe->hqkd", heads_of(shown.trace, kind, 1), shown.trace[f"{site}.value"][0].double().numpy(), w_o
    )
    vectors = vectors.sum(axis=0) if heads == "mean" else vectors[2]
    made = picture(shown, kind, 1, heads, (*hidden, "words", "contribution"))
    keys = [range(a, b) for a, b in zip(made.columns.starts, made.columns.ends, strict=True)]
    rows = [range(a, b) for a, b in zip(made.rows.starts, made.rows.ends, strict=True)]
    assert max(map(len, keys)) == 3 and len(keys) == (5 if hidden else 7)
    added = np.stack([vectors[:, list(group)].sum(axis=1) for group in keys], axis=1)  # [Q, words, D]
    lengths = np.linalg.norm(added, axis=-1)
    np.testing.assert_allclose(made.values, [lengths[list(row)].mean(axis=0) for row in rows], rtol=1e-4)
    assert made.meta.unit.endswith("by word (derived)")


# ---- A - B


@pytest.fixture(scope="module")
def pair():
    """The same text read by two models that write equally much."""
    return tuple(shown_of(tiny_checkpoint(seed=seed), "abca", max_steps=4) for seed in (0, 1))


@pytest.mark.parametrize(
    ("kind", "options"),
    [("encoder", ()), ("decoder", ()), ("cross", ()), ("cross", ("contribution",)), ("encoder", ("words",))],
)
def test_a_difference_is_a_minus_b_in_each_cell_on_a_signed_scale(pair, kind, options):
    a, b = (picture(shown, kind, 1, (2,), options) for shown in pair)
    header, arrays = payload.unpack((a - b).pack())
    assert bits(arrays["values"]) == bits(a.values - b.values)
    assert (arrays["values"] < 0).any() and (arrays["values"] > 0).any()
    assert (header["scale"], header["signed"], header["bounded"]) == ("diverging", True, False)
    assert (header["quantity"], header["unit"]) == ("difference", f"{a.meta.quantity} in A less {b.meta.quantity} in B")
    assert header["title"] == f"A − B: {a.meta.title}"
    assert header["caption"] == f"A: {a.meta.caption}; B: {b.meta.caption}"
    back = payload.unpack((b - a).pack())[1]
    assert bits(back["values"] + np.float32(0)) == bits(-arrays["values"] + np.float32(0))


def test_a_difference_of_recorded_weights_is_that_of_the_traces(pair):
    made = minus(*(picture(shown, "cross", 2, (1,)) for shown in pair))
    a, b = (recorded(shown.trace, "cross", 2, 1)[0] for shown in pair)
    assert bits(made.table().to_numpy()) == bits(a - b)


def test_a_run_less_itself_is_zero(pair):
    made = picture(pair[0], "decoder", 0, (0,))
    assert not (made - made).values.any()


def test_a_cell_of_a_difference_is_masked_if_it_is_in_both():
    ckpt = tiny_checkpoint()
    a, b = (
        shown_of(
            ckpt, "ab", max_steps=3, edits=[SetMask("decoder.0.cross", q, k, False) for q, k in ((0, 0), (1, key))]
        )
        for key in (1, 2)
    )
    made = minus(*(picture(shown, "cross", 0) for shown in (a, b)))
    assert np.argwhere(~made.mask).tolist() == [[0, 0]]


def test_a_row_of_a_difference_is_hidden_as_far_as_it_is_in_a_or_in_b(pair):
    a, b = (picture(shown, "cross", 0, (0,), ("hidden",)) for shown in pair)
    np.testing.assert_array_equal((a - b).hidden, np.maximum(a.hidden, b.hidden))
    assert minus(picture(pair[0], "cross"), picture(pair[1], "cross")).hidden is None


def test_maps_of_different_sizes_have_no_difference(pair):
    other = shown_of(tiny_checkpoint(), "ab", max_steps=4)
    with pytest.raises(ValueError, match=r"A has 6 × 6 cells and B 4 × 4: only maps of one size can be subtracted"):
        minus(picture(pair[0], "encoder"), picture(other, "encoder"))


def test_both_remarks_of_a_difference_are_kept(pair):
    a, b = (picture(shown, "cross", 0, (0,), ("hidden",)) for shown in pair)
    assert a.meta.remarks != b.meta.remarks
    assert (a - b).meta.remarks == (*a.meta.remarks, *b.meta.remarks)


def test_nothing_that_is_drawn_changes_the_record(runs):
    shown = runs("random-1")
    before = {name: shown.trace[name].clone() for name in shown.trace.points()}
    for heads in ((0, 1), "mean", "max", "rollout"):
        for options in ((), ("words",), ("hidden",), ("contribution",), ("words", "hidden", "contribution")):
            made = picture(shown, "cross", 1, heads, options)
            made.pack(), made.table()
    assert all(torch.equal(shown.trace[name], value) for name, value in before.items())
