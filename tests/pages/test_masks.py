"""The Masks page shows the run's own masks, runs with those that were chosen, and says who reads the future."""

import re

import numpy as np
import pytest
from builders import saved, tiny_checkpoint
from page_driver import (
    SITES,
    address,
    again,
    all_sent,
    components,
    goes_to,
    markup,
    open_table,
    opener,
    select,
    sent,
    stale,
    texts,
    words,
)
from wording import wording

from viz_transformer.analysis.masks.influence import influence
from viz_transformer.analysis.masks.parts import change_of, parts_of, replace_masks, row_effects, run_in_batch
from viz_transformer.checkpoint import load
from viz_transformer.running.decoding import decode
from viz_transformer.running.tracing import record
from viz_transformer.ui.pages.masks import effects as effects_of
from viz_transformer.ui.pages.masks import influence_view, masks_source, page
from viz_transformer.ui.pages.masks import words as page_words
from viz_transformer.ui.pages.masks.fields import MAX_CELLS, cells
from viz_transformer.ui.session import state

TEXT = "4.20"
opened = opener("masks", text=TEXT, mask_view="weights")
KINDS = ("cross", "decoder", "encoder")


def masks_of(app):
    """Header and arrays of the masks, which stand where the weights stand after it again."""
    goes_to(app, mask_view="masks")
    found = sent(app, "masks")
    goes_to(app, mask_view="weights")
    return found


def the_run(folder, text=TEXT, name="numbers"):
    ckpt = load(folder / name)
    return ckpt, decode(ckpt, text).trace


def the_pass(folder, *, text=TEXT, cells=(), fill=None, rule=None, name="numbers"):
    """One pass with these masks, without the page."""
    ckpt, run = the_run(folder, text, name)
    config, ckpt = ckpt.config, replace_masks(ckpt, fill=fill, rule=rule)
    changes = [change_of(word) for word in cells]
    kinds = KINDS if config.kind == "encoder-decoder" else ("decoder",)
    edits = [edit for kind in kinds for edit in parts_of(run, kind, rule=rule, changes=changes).edits(config)]
    return ckpt, record(ckpt, run.src, run.tgt, run.next_ids, edits=edits, info={})


# ---- the masks


@pytest.mark.parametrize("kind", KINDS)
def test_the_masks_and_weights_of_the_text_alone_are_those_of_the_run(app, bundled, kind):
    _, run = the_pass(bundled)
    opened(app, mask_kind=kind, layer="0", heads="2", mask_batch="")
    header, arrays = masks_of(app)
    mask = run[f"{SITES[kind].format(0)}.mask"][0, 0].numpy()
    assert ((arrays["padding"] & arrays["causal"]) == mask).all()
    assert arrays["causal"].all() == (kind != "decoder")
    keys = run.tgt_tokens if kind == "decoder" else run.src_tokens
    assert texts(header["columns"]) == list(keys)
    before, after, _ = all_sent(app, "matrix")
    weights = run[f"{SITES[kind].format(0)}.weights"][0, 2].numpy()
    for _, each in (before, after):
        assert each["values"].tobytes() == weights.tobytes()
    assert before[0]["title"] == wording("before_the_models_own_masks") and after[0]["title"] == wording(
        "after_nothing_is_changed_yet"
    )
    assert wording("these_are_the_models_own_masks") in words(app)


def test_a_batch_pads_the_text_to_the_longest_and_closes_the_padded_keys(app, bundled):
    ckpt, run = the_run(bundled)
    other = decode(ckpt, "7.10").trace
    longest = decode(ckpt, "68,315.79").trace
    lengths = tuple(max(len(getattr(each, side)) for each in (run, other, longest)) for side in ("src", "tgt"))
    padded = run_in_batch(ckpt, run, lengths)
    opened(app, mask_kind="encoder", mask_batch="7.10\n68,315.79", layer="0", heads="1")
    header, arrays = masks_of(app)
    assert texts(header["columns"]) == list(padded.src_tokens)
    assert header["columns"]["field"] == "mask_key" and header["columns"]["tokens"][-1]["special"]
    assert (~arrays["padding"]).sum() == lengths[0] * (lengths[0] - len(run.src))
    (_, before), *_ = all_sent(app, "matrix")
    assert before["values"].tobytes() == padded["encoder.0.self.weights"][0, 1].numpy().tobytes()
    app.button_group(key="masks_text").set_value(2)
    again(app)
    assert texts(masks_of(app)[0]["columns"])[: len(longest.src)] == list(longest.src_tokens)
    assert address(app)["mask_text"] == "2"


def test_without_typed_texts_some_examples_stand_beside(app):
    opened(app, mask_kind="encoder")
    assert app.text_area(key="masks_batch").value.splitlines() == ["29,284.30", "-79.42"]
    assert "mask_batch" not in address(app)
    app.text_area(key="masks_batch").set_value("1\n\n22")
    again(app)
    assert address(app)["mask_batch"] == "1\n\n22"
    assert len(app.button_group(key="masks_text").options) == 3  # the text itself, and two lines that are not blank
    app.text_area(key="masks_batch").set_value("1\u20282\n22")  # what only some programs break lines at
    again(app)
    assert len(app.button_group(key="masks_text").options) == 3


def test_an_example_that_the_model_cannot_read_is_not_offered(at_the_zoo):
    opened(at_the_zoo, checkpoint="multi30k-de-en", text="abc")
    assert at_the_zoo.text_area(key="masks_batch").value == ""  # the examples are longer than its 20 letters


def test_key_or_query_closes_the_rows_of_padding_as_well(app):
    opened(app, mask_kind="encoder", mask_batch="68,315.79", mask_view="masks")
    header, arrays = sent(app, "masks")
    assert header["panels"][0]["note"] == "padded keys are closed" and arrays["padding"].any(axis=1).all()
    app.button_group(key="masks_mask_padding").set_value("key-or-query")
    again(app)
    header, arrays = sent(app, "masks")
    pads = [token["text"] == "<pad>" for token in header["rows"]["tokens"]]
    assert any(pads) and (arrays["padding"].any(axis=1) == ~np.array(pads)).all()
    assert "no open key" in words(app) and address(app)["mask_padding"] == "key-or-query"
    app.button_group(key="masks_mask_padding").set_value("key")
    again(app)
    assert "mask_padding" not in address(app)  # the model's own


def test_a_plain_size_has_one_over_n(app):
    opened(
        app,
        mask_of="size",
        mask_kind="decoder",
        mask_size="5",
        mask_padded="1",
        mask_fill="-1e9",
        mask_padding="key-or-query",
    )
    header, arrays = masks_of(app)
    assert texts(header["rows"]) == ["0", "1", "2", "3", "pad"]
    own = arrays["padding"] & arrays["causal"]
    assert own.astype(int).tolist() == [[1, 0, 0, 0, 0], [1, 1, 0, 0, 0], [1, 1, 1, 0, 0], [1, 1, 1, 1, 0], [0] * 5]
    (_, before), (drawn, after) = all_sent(app, "matrix")
    assert (before["values"] == np.float32(0.2)).all()
    expected = np.vstack([np.tri(4, 5) / np.arange(1, 5)[:, None], np.full(5, 0.2)])
    np.testing.assert_allclose(after["values"], expected, atol=1e-7)
    assert drawn["scale"] == "derived" and "Query 4 has no open key." in words(app)
    assert "no logits to watch" in words(app)
    app.number_input(key="masks_size").set_value(20)
    again(app)
    assert masks_of(app)[1]["causal"].tolist() == np.tri(20, dtype=bool).tolist()
    assert address(app)["mask_size"] == "20"


@pytest.mark.parametrize(("size", "padded"), [("1", "0"), ("1", "1"), ("64", "64"), ("900", "999"), ("0", "3")])
@pytest.mark.parametrize("kind", KINDS)
def test_any_plain_size_is_drawn(app, size, padded, kind):
    opened(app, mask_of="size", mask_kind=kind, mask_size=size, mask_padded=padded, mask_fill="-inf")
    wanted = min(max(1, int(size)), 64)
    assert masks_of(app)[1]["padding"].shape == (wanted, wanted)


# ---- to the weight itself


def leading(app, title="weight"):
    """The addresses of the links to this page; not that in the sidebar."""
    return [link.proto.query_string for link in app.get("page_link") if link.proto.page == title]


def test_a_cell_that_nobody_changed_leads_to_its_weight_and_no_other(app):
    opened(app, mask_batch="", mask_kind="decoder", kind="cross")
    assert leading(app) == ["kind=decoder"] and leading(app, "decoding") == [""]
    before, after, influence = (header for header, _ in all_sent(app, "matrix"))
    assert "why" not in before and "why" not in after and influence["why"] == []
    goes_to(app, mask_cells="d1.2")
    before, after, influence = (header for header, _ in all_sent(app, "matrix"))
    assert "why" not in before and after["why"] == influence["why"] == []
    goes_to(app, mask_kind="encoder", mask_view="masks")
    assert leading(app) == ["kind=encoder"] and leading(app, "decoding") == [] and "why" not in sent(app, "masks")[0]


def test_beside_padding_the_links_say_the_cell_and_padding_and_other_texts_have_none(app, bundled):
    _, run = the_run(bundled)
    opened(app, mask_kind="encoder", mask_batch="68,315.79", mask_query="1", mask_key="2")
    assert leading(app) == ["kind=encoder&i=1&j=2"]
    assert [header["why"] for header, _ in all_sent(app, "matrix")] == [["i", "j"], ["i", "j"], []]
    assert masks_of(app)[0]["why"] == ["i", "j"]
    goes_to(app, mask_key=str(len(run.src)))  # a key of padding
    assert leading(app) == []
    goes_to(app, mask_key="0", mask_text="1")
    assert leading(app) == [] and not any(header["why"] for header, _ in all_sent(app, "matrix"))
    goes_to(app, mask_text="0", mask_of="size")
    assert leading(app) == [] and not any(header["why"] for header, _ in all_sent(app, "matrix"))


# ---- changed cells


def test_changed_cells_change_the_run_as_the_edits_do(app, bundled):
    cells = ["d0.2", "d2", "c1.1"]
    _, after = the_pass(bundled, cells=cells)
    opened(app, mask_kind="decoder", layer="1", heads="3", mask_batch="", mask_cells=",".join(cells))
    assert masks_of(app)[0]["cells"] == cells
    _, (header, arrays), _ = all_sent(app, "matrix")
    assert header["title"] == "After: the chosen masks"
    assert arrays["values"].tobytes() == after["decoder.1.self.weights"][0, 3].numpy().tobytes()
    mask = after["decoder.1.self.mask"].expand(1, 4, -1, -1)[0, 3].numpy()
    assert (arrays["mask"] == mask).all() and mask[0, 2] and not mask[2].any()
    assert wording("what_was_changed_of_a_mask", 2, 0, 2) in words(app)
    assert wording("the_largest_change_of_a_logit_is") in words(app)


def test_what_a_click_tells_becomes_the_selection(app):
    opened(app, mask_batch="", mask_kind="decoder")

    def turned(words, fields):
        select(app, mask_cells=cells(",".join(words)), **{name: int(value) for name, value in fields.items()})

    turned(["d1.2"], {"t": 1, "u": 2})
    again(app)
    assert address(app)["mask_cells"] == "d1.2" and masks_of(app)[0]["cells"] == ["d1.2"]
    app.button(key="masks_row").click()
    again(app)
    assert address(app)["mask_cells"] == "d1"  # a closed row takes its turned cells with it
    assert app.button(key="masks_row").label.startswith("Open all keys to query 1")
    app.button(key="masks_row").click()
    again(app)
    assert "mask_cells" not in address(app)
    goes_to(app, mask_cells="d1.2,c0")
    app.button(key="masks_undo").click()
    again(app)
    assert "mask_cells" not in address(app) and app.button(key="masks_undo").disabled


def test_a_click_in_the_browser_is_taken_over_and_nonsense_is_not(monkeypatch):
    taken = []
    monkeypatch.setattr(state, "pick", lambda fields: taken.append(dict(fields)))
    monkeypatch.setattr(state, "select", lambda **changes: taken.append(changes))
    page.toggle_cell(["d1.2", "e0"], {"t": 1, "u": 2})
    page.toggle_cell(["<script>"], {})
    page.toggle_cell([f"d{i}.0" for i in range(MAX_CELLS + 1)], {})
    assert taken == [{"t": 1, "u": 2}, {"mask_cells": ("d1.2", "e0")}, {}, {}]


def test_cells_outside_the_text_are_said_and_change_nothing(app):
    opened(app, mask_batch="", mask_kind="decoder", mask_cells="d40.2")
    assert wording("the_changed_cell_d40_lies_outside_the_masks_of", "4.20") in words(app)
    assert wording("these_are_the_models_own_masks") in words(app)


def test_the_effect_is_that_of_the_run_row_by_row(app, bundled):
    ckpt, before = the_pass(bundled)
    _, after = the_pass(bundled, cells=["c0"])
    opened(app, mask_batch="", mask_cells="c0")
    effects = row_effects(before, after, ckpt.target_codec.vocabulary.tokens)
    table = effects_of.effect_table(effects)
    assert list(table["largest change of a logit"]) == [each.change for each in effects]
    effect = effects_of.effect_in_words(effects)
    assert effect in words(app) and f"at position {max(effects, key=lambda each: each.change).position}." in effect
    changed = sum(each.differs for each in effects)
    assert (wording("of_rows_would_now_write_another_token", changed, len(effects)) in effect) == (changed > 0)


# ---- fills


def test_each_fill_says_what_it_makes_of_a_row_that_may_see_nothing(app):
    said = words(opened(app, mask_batch="", mask_kind="decoder", mask_cells="d2", t="2"))
    assert wording("every_key_is_already_closed") in said
    for row in (
        wording("zeros_the_head_adds_nothing_here"),
        wording("nan_not_a_number_and_it_spreads"),
        "uniform: 0.",
        "closed ones too",
    ):
        assert row in said


@pytest.mark.parametrize(
    ("fill", "said"), [("zero-rows", wording("a_row_is_zeros")), ("-1e9", wording("a_row_is_even"))]
)
def test_what_becomes_of_a_row_that_may_see_nothing_is_said_of_this_models_own_fill(
    app, models_in, tmp_path, fill, said
):
    saved(tiny_checkpoint(mask_fill=fill), tmp_path / "own")
    models_in(tmp_path)
    given = {
        "checkpoint": "own",
        "text": "bad",
        "mask_batch": "",
        "mask_kind": "decoder",
        "layer": 0,
        "mask_cells": "d0",
    }
    for chosen, made in (("", said), ("-inf", wording("a_row_is_nan"))):
        opened(app, **given, mask_fill=chosen)
        assert wording("in_this_model_with_its_own_fill", said) in words(app)  # another fill is not its own
        assert wording("query_has_no_open_key_its_weights_are", 0, made) in words(app)


@pytest.mark.parametrize(
    ("fill", "value"), [("zero-rows", 0.0), ("-inf", np.nan), ("-1e9", None), ("-1e10", None), ("added-1e9", None)]
)
def test_the_chosen_fill_is_run(app, bundled, fill, value):
    _, after = the_pass(bundled, cells=["d2"], fill=fill)
    opened(app, mask_batch="", mask_kind="decoder", layer="0", heads="0", mask_cells="d2", mask_fill=fill)
    values = all_sent(app, "matrix")[1][1]["values"]
    np.testing.assert_array_equal(values, after["decoder.0.self.weights"][0, 0].numpy())
    expected = 1 / values.shape[1] if value is None else value
    np.testing.assert_allclose(values[2], expected, atol=1e-7)
    assert (wording("nan_goes_from_a_row_to_all_that_read") in words(app)) == (fill == "-inf")


# ---- influence


def test_the_influence_matrix_is_a_triangle_with_its_verdict(app, bundled):
    ckpt, run = the_pass(bundled)
    opened(app, mask_batch="")
    header, arrays = all_sent(app, "matrix")[2]
    found = influence(ckpt, run)
    assert arrays["values"].tobytes() == found.change.tobytes() and (found.change[found.ahead] == 0).all()
    assert (arrays["mask"] == ~found.ahead).all() and header["scale"] == "derived"
    assert "✓ A triangle: nothing reads ahead." in words(app)
    app.button_group(key="masks_swap").set_value("source")
    again(app)
    source = all_sent(app, "matrix")[2][1]
    assert source["values"].tobytes() == influence(ckpt, run, side="source").change.tobytes() and "mask" not in source
    assert wording("every_source_token_that_was_swapped_moves_some_logits") in words(app)


def test_an_opened_cell_is_a_leak_that_is_said(app, bundled):
    ckpt, after = the_pass(bundled, cells=["d0.2"])
    opened(app, mask_batch="", mask_kind="decoder", mask_cells="d0.2")
    row, column, _ = influence(ckpt, after).worst
    sentence = wording("with_these_masks_the_run_reads_the_future", row, column)
    assert sentence in words(app)


def test_the_table_of_the_influence_has_the_leaks_too(app, bundled):
    ckpt, after = the_pass(bundled, cells=["d0.2"])
    found = influence(ckpt, after)
    opened(app, mask_batch="", mask_kind="decoder", mask_cells="d0.2")
    table = open_table(app, "masks_influence_map").to_numpy()
    assert found.leaks.any() and np.array_equal(table.astype(np.float32), found.change)


def test_the_table_of_a_closed_row_has_the_weights_that_its_fill_leaves_it_and_says_that_they_are_masked(app, bundled):
    _, after = the_pass(bundled, cells=["d2"], fill="-1e9")
    opened(app, mask_batch="", mask_kind="decoder", layer="0", heads="0", mask_cells="d2", mask_fill="-1e9")
    table = open_table(app, "masks_after")
    weights, mask = after["decoder.0.self.weights"][0, 0].numpy(), after["decoder.0.self.mask"][0, 0].numpy()
    numbers, marks = (table.iloc[:, part] for part in (slice(0, len(mask)), slice(len(mask), None)))
    assert numbers.to_numpy(np.float32).tobytes() == weights.tobytes() and (weights[2] > 0).all()
    assert np.array_equal(marks.to_numpy(bool), ~mask) and not mask[2].any()
    assert wording("masked_cells_keep_their_weight") in words(app)


def test_the_effect_opens_as_a_table(app):
    opened(app, mask_batch="", mask_cells="c0")
    assert list(open_table(app, "masks_effect").columns)[:3] == ["reads", "before", "probability before"]


def test_a_model_with_slips_reads_the_future_and_one_without_does_not(at_the_zoo, zoo):
    opened(at_the_zoo, checkpoint="en-it-slips", text="bad", mask_kind="decoder")
    said = words(at_the_zoo)
    assert re.search(r"✕ Position \d+ changes when token \d+ is swapped: this decoder reads the future\.", said)
    header, _ = masks_of(at_the_zoo)
    assert len(header["rows"]["tokens"]) == 20  # padding included, as the model reads it
    opened(at_the_zoo, checkpoint="multi30k-de-en", text="abc")
    assert "✓ A triangle: nothing reads ahead." in words(at_the_zoo)


def test_a_long_influence_is_started_by_a_button(app, monkeypatch):
    monkeypatch.setattr(influence_view, "QUICK", 1)
    opened(app, mask_batch="")
    assert len(all_sent(app, "matrix")) == 2 and "a few seconds" in words(app)
    app.button(key="masks_work").click()
    again(app)
    assert len(all_sent(app, "matrix")) == 3 and "A triangle" in words(app)
    goes_to(app, mask_cells="d0.1")
    assert len(all_sent(app, "matrix")) == 2  # other masks are another question


# ---- A − B


PIN = {"pin_checkpoint": "numbers", "shown": "A-B", "mask_batch": ""}


@pytest.mark.parametrize("kind", ["encoder", "cross"])
def test_a_minus_b_is_the_difference_of_both_passes_before_and_after_on_one_scale(app, bundled, kind):
    cell = {"encoder": "e1.2", "cross": "c1.2"}[kind]
    opened(app, pin_text="4.30", mask_kind=kind, layer="0", heads="2", mask_cells=cell, **PIN)
    site = f"{SITES[kind].format(0)}.weights"
    expected = []
    for changed in ((), (cell,)):
        a, b = (the_pass(bundled, text=text, cells=changed)[1][site][0, 2].numpy() for text in (TEXT, "4.30"))
        expected.append(a - b)
    drawn = all_sent(app, "matrix")[:2]
    for (header, arrays), values, when in zip(drawn, expected, ("Before: the", "After: the"), strict=True):
        assert arrays["values"].tobytes() == values.tobytes()
        assert header["signed"] and header["title"].startswith(f"A − B: {when}")
        assert header["most"] == max(float(np.abs(each).max()) for each in expected)
        assert "A: numbers, “4.20”" in header["caption"] and "B: numbers, “4.30”" in header["caption"]
    assert np.abs(expected[0] - expected[1]).max() > 1e-3  # the change of the mask is in the second one
    assert wording("the_two_maps_are_a_b_on_one_scale") in words(app)
    goes_to(app, shown="A")
    assert not all_sent(app, "matrix")[0][0]["signed"] and "The two maps are A − B" not in words(app)


def test_b_is_padded_as_a_is_in_its_batch_so_that_a_shorter_text_is_subtracted(app, bundled):
    opened(app, text="68.31", pin_text="7", mask_kind="encoder", layer="0", heads="1", **PIN)
    ckpt, run = the_run(bundled, "68.31")
    a = run["encoder.0.self.weights"][0, 1].numpy()
    lengths = len(run.src), len(run.tgt)
    b = run_in_batch(ckpt, the_run(bundled, "7")[1], lengths)["encoder.0.self.weights"][0, 1].numpy()
    assert b.shape == a.shape and not b[:, 3:].any()  # padded keys are closed
    assert all_sent(app, "matrix")[0][1]["values"].tobytes() == (a - b).tobytes()


def test_the_tables_of_a_minus_b_have_its_numbers(app, bundled):
    opened(app, pin_text="4.30", mask_kind="encoder", layer="0", heads="2", **PIN)
    a, b = (the_pass(bundled, text=text)[1]["encoder.0.self.weights"][0, 2].numpy() for text in (TEXT, "4.30"))
    np.testing.assert_array_equal(open_table(app, "masks_before").to_numpy(), a - b)


def test_masks_and_weights_of_two_runs_stand_beside_each_other(app, bundled):
    pin = {**PIN, "pin_checkpoint": "numbers-tiny", "pin_text": "68,315.79", "shown": "A|B"}
    opened(app, mask_kind="encoder", layer="0", heads="2", mask_view="masks", **pin)
    assert {"A: numbers, “4.20”", "B: numbers-tiny, “68,315.79”"} <= set(
        re.findall(r"vt-pinned[^>]*>([^<]*)", markup(app))
    )
    runs = the_run(bundled)[1], the_run(bundled, "68,315.79", "numbers-tiny")[1]
    for run, (header, arrays) in zip(runs, all_sent(app, "masks"), strict=True):
        assert texts(header["rows"]) == list(run.src_tokens)
        assert (arrays["padding"] == run["encoder.0.self.mask"][0, 0].numpy()).all()
    goes_to(app, mask_view="weights")
    for run, (header, arrays), name in zip(runs, all_sent(app, "matrix")[:2], "AB", strict=True):
        assert arrays["values"].tobytes() == run["encoder.0.self.weights"][0, 2].numpy().tobytes()
        assert header["title"] == f"{name}: the model’s own masks"
    goes_to(app, mask_cells="e1.2")
    titles = [header["title"] for header, _ in all_sent(app, "matrix")[:4]]
    assert titles == ["A: before", "A: after", "B: before", "B: after"]
    changed = the_pass(bundled, text="68,315.79", cells=("e1.2",), name="numbers-tiny")[1]["encoder.0.self.weights"]
    assert all_sent(app, "matrix")[3][1]["values"].tobytes() == changed[0, 2].numpy().tobytes()
    goes_to(app, mask_of="size", mask_view="masks")
    assert wording("a_plain_size_has_no_runs", "A | B") in words(app) and len(components(app, "masks")) == 1


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"pin_text": "68,315.79"}, wording("only_maps_of_one_size_can_be_subtracted", 6, 6, 11, 11)),
        ({"pin_text": "7", "mask_of": "size"}, wording("a_plain_size_has_no_runs", "A − B")),
        (
            {"pin_text": "7", "mask_batch": "1", "mask_text": "1"},
            wording("a_b_compares_the_two_runs_choose_text", 0),
        ),
        (
            {"pin_text": "7", "pin_checkpoint": "numbers-tiny", "mask_kind": "decoder", "layer": "2"},
            wording("b_cannot_be_shown_this_way_there_is_no_layer", 2),
        ),
        ({"pin_text": "4.30", "heads": "rollout"}, wording("rollout_joins_all_layers_and_is_not_one_heads")),
    ],
)
def test_where_there_is_no_a_minus_b_of_weights_one_sentence_says_so(app, given, sentence):
    opened(app, **{"mask_kind": "encoder", **PIN, **given})
    assert sentence in words(app)
    assert len(all_sent(app, "matrix")) == (
        1 if given.get("mask_of") != "size" else 0
    )  # the influence matrix is that of A


def test_a_model_without_that_kind_of_attention_has_no_a_minus_b(at_the_zoo):
    pin = {"pin_checkpoint": "shakespeare", "pin_text": "ROT:", "shown": "A-B", "mask_batch": ""}
    opened(at_the_zoo, checkpoint="own", text="bad", mask_kind="cross", **pin)
    assert "B cannot be shown this way: " in words(at_the_zoo)
    assert masks_of(at_the_zoo)


# ---- other models, bad input, address


def test_an_encoder_alone_has_its_masks_fills_and_scenes_though_no_logits_to_watch(app, tmp_path, models_in):
    saved(tiny_checkpoint("encoder-only"), tmp_path / "reader")
    models_in(tmp_path)
    opened(app, checkpoint="reader", text="abc", mask_view="masks", mask_cells="e0.1")
    said = words(app)
    assert len(components(app, "masks")) == 1 and said.count("no logits to watch") == 1
    assert said.index(page_words.INFLUENCE) < said.index("no logits to watch") < said.index(page_words.FILLS)
    goes_to(app, projector="on")
    assert "vt-caption" in markup(app)


def test_a_decoder_alone_without_padding_says_so(at_the_zoo):
    opened(at_the_zoo, checkpoint="shakespeare", text="ROT:")
    said = words(at_the_zoo)
    assert wording("has_no_padding_token_texts_of_different_lengths", "shakespeare") in said
    assert at_the_zoo.button_group(key="masks_kind").options == ["Decoder → itself"]
    assert masks_of(at_the_zoo)[1]["padding"].all() and "A triangle" in said
    assert not [each for each in at_the_zoo.get("button_group") if each.key == "masks_swap"]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [("", "The text is empty"), ("7" * 60, wording("the_model_reads_at_most", 48)), (" ", "The text is empty")],
)
def test_a_text_that_cannot_be_read_is_answered_by_one_sentence(app, text, sentence):
    said = words(opened(app, text=text, mask_view="masks"))
    assert sentence in said and stale(app) and len(components(app, "masks")) == 1 and "What not to conclude" in said


def test_a_line_of_the_batch_that_cannot_be_read_is_named(app):
    said = words(opened(app, mask_batch="7\n" + "8" * 60))
    assert "the line “" + "8" * 10 in said and wording("the_model_reads_at_most", 48) in said
    assert components(app, "masks") == [] and app.text_area(key="masks_batch").value.startswith("7\n")


@pytest.mark.parametrize("text", ["7", "1<b>&", "مرحبا", "7" * 46])
def test_any_text_that_the_model_reads_has_its_masks(app, text):
    header, _ = masks_of(opened(app, text=text, mask_kind="encoder", mask_batch=""))
    assert len(header["rows"]["tokens"]) == len(text) + 2
    assert "<b>" not in markup(app)


def test_a_rule_that_the_model_cannot_have_and_rollout_are_said(app):
    said = words(opened(app, mask_padding="key-or-query-swapped-cross", heads="rollout", mask_batch=""))
    assert wording("cannot_mask_padding_by_that_rule_its_own", "numbers") in said
    assert wording("rollout_joins_all_layers_and_is_not_one_heads") in said


def test_too_many_lines_are_cut_and_said(app):
    opened(app, mask_batch="\n".join("1234567"))
    assert f"at most {masks_source.MAX_OTHERS} other texts" in words(app)


def test_what_an_address_cannot_mean_is_said(app):
    wrong = {"mask_cells": "x1", "mask_fill": "0", "mask_of": "all", "mask_swap": "both", "mask_size": "-1"}
    said = words(opened(app, **wrong))
    for name in wrong:
        assert f"The address asks for {name} “" in said


def test_the_address_that_a_view_has_shows_the_same_in_another_browser(app, new_app):
    given = {"mask_batch": "7\n22", "mask_text": "1", "mask_cells": "d0.1", "mask_fill": "-1e9", "mask_kind": "decoder"}
    opened(app, **given, mask_padding="key-or-query", mask_query="1", mask_key="2")
    other = opened(new_app(), **address(app))
    assert address(other) == address(app)
    assert [each.bytes for each in components(other, "matrix")] == [each.bytes for each in components(app, "matrix")]
    for each in (app, other):
        goes_to(each, mask_view="masks")
    assert (
        [each.bytes for each in components(other, "masks")] == [each.bytes for each in components(app, "masks")] != []
    )


def test_several_changes_of_the_selection_run_no_model_anew(app, monkeypatch):
    opened(app, mask_batch="", mask_kind="decoder")

    def no_run(*args, **kwargs):
        raise AssertionError("a pass was run")

    monkeypatch.setattr("viz_transformer.analysis.masks.parts.record", no_run)
    monkeypatch.setattr(influence_view, "influence_of", no_run)
    for change in ({"heads": "2"}, {"layer": "0"}, {"mask_kind": "cross"}, {"t": "1"}, {"heads": "mean"}):
        goes_to(app, **change)
    assert len(all_sent(app, "matrix")) == 3


def test_the_page_says_how_to_read_it_and_what_not_to_conclude(app):
    said = words(opened(app))
    for claim in (
        "A triangle means no peeking",
        wording("a_changed_output_is_not_yet_a_leak"),
        wording("is_a_convention_of_the_program_not_a_fact_about_language"),
        wording("opening_a_cell_of_a_trained_model_is_not_training"),
    ):
        assert claim in said


def test_the_page_has_scenes(app):
    opened(app, projector="on", mask_batch="")
    assert "vt-projector" in markup(app)


# ---- the page's own kind


@pytest.mark.parametrize("kind", ["cross", "encoder"])
def test_the_page_opens_on_the_decoder_and_leaves_the_kind_of_the_other_pages_as_it_is(app, kind):
    goes_to(app.switch_page("pages/attention.py"), kind=kind, text=TEXT)
    app.query_params.clear()
    again(app.switch_page("pages/masks.py"))
    assert sent(app, "masks")[0]["kind"] == "decoder" and address(app)["mask_kind"] == "decoder"
    app.button_group(key="masks_kind").set_value("encoder")
    again(app)
    assert sent(app, "masks")[0]["kind"] == "encoder"
    assert (address(app)["mask_kind"], address(app)["kind"]) == ("encoder", kind)
    again(app.switch_page("pages/attention.py"))
    assert address(app)["kind"] == kind and sent(app, "matrix")[0]["scale"] == kind
    assert sent(again(app.switch_page("pages/masks.py")), "masks")[0]["kind"] == "encoder"


@pytest.mark.parametrize("kind", KINDS)
def test_a_link_that_a_session_begins_with_may_name_the_kind_as_it_always_did(new_app, kind):
    app = new_app()
    opened(app, checkpoint="numbers", kind=kind, mask_batch="")
    assert masks_of(app)[0]["kind"] == kind and address(app)["mask_kind"] == kind


def test_a_kind_that_the_model_does_not_have_is_said(at_the_zoo):
    opened(at_the_zoo, checkpoint="shakespeare", text="ROT:", mask_kind="cross")
    assert "There is no cross attention in shakespeare" in words(at_the_zoo)
    assert masks_of(at_the_zoo)[0]["kind"] == "decoder"
