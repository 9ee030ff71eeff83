import html
import re
from contextlib import contextmanager

import numpy as np
import page_driver
import pytest
from builders import saved, tiny_checkpoint
from page_driver import (
    TEXT,
    address,
    again,
    all_sent,
    components,
    csv_lines,
    goes_to,
    markup,
    open_table,
    opener,
    recorded,
    same_bits,
    sent,
    stale,
    texts,
    the_run,
    told,
    words,
)
from wording import wording

from viz_transformer.analysis.attention import head_scores as scores_module
from viz_transformer.analysis.attention import rollout as rollout_module
from viz_transformer.analysis.attention.head_scores import head_scores, key_shares
from viz_transformer.analysis.attention.maps import layer_weights
from viz_transformer.analysis.attention.specials import special_positions
from viz_transformer.checkpoint import load
from viz_transformer.running.tracing import trace
from viz_transformer.sentences import capitalised
from viz_transformer.ui.frame import frame
from viz_transformer.ui.pages.attention import head_grid, page
from viz_transformer.ui.session import cached, runs, state
from viz_transformer.ui.session.fields import OPTIONS

opened = opener("attention")


# ---- what is displayed is what was recorded


@pytest.mark.parametrize("kind", ["cross", "decoder", "encoder"])
def test_map_lines_and_thumbnails_are_what_the_run_recorded(app, bundled, kind):
    run = the_run(bundled)
    opened(app)
    app.button_group(key="attention_kind").set_value(kind).run()
    for layer, head in ((0, 1),) if kind == "encoder" else ((0, 1), (1, 3), (2, 2)):
        goes_to(app, layer=str(layer), heads=str(head))
        weights, mask = recorded(run, kind, layer, head)
        header, arrays = sent(app, "matrix")
        assert same_bits(arrays["values"], weights)
        assert np.array_equal(arrays.get("mask", np.ones_like(mask)), mask)
        assert f"layer {layer}, head {head}, " in header["title"]
        assert header["scale"] == kind
        assert same_bits(sent(app, "lines")[1]["weights"][0], weights)
        grid = sent(app, "grid")[1]
        for other, (roots, tops) in enumerate(zip(grid["roots"][layer], grid["tops"][layer], strict=True)):
            expected, _ = recorded(run, kind, layer, other)
            shown = (roots / 15) ** 2 * tops[:, None]  # 16 levels of the root of the row's largest weight
            largest = expected.max(axis=-1, keepdims=True)
            assert (np.abs(shown - expected) <= (1 - (1 - 0.5 / 15) ** 2) * largest + 4e-3).all()
    assert sent(app, "grid")[0]["tokens"] == list(weights.shape)


def test_rows_read_and_write_and_columns_are_the_tokens_at_their_positions(app, bundled):
    run = the_run(bundled)
    header, _ = sent(opened(app, kind="cross"), "matrix")
    assert texts(header["columns"]) == ["<s>", *TEXT, "</s>"]  # 2 stands twice
    assert texts(header["rows"]) == list(run.trace.tgt_tokens)
    assert [token["text"] for token in header["writes"]] == list(run.tokens)
    header, _ = sent(goes_to(app, kind="encoder"), "matrix")
    assert texts(header["rows"]) == texts(header["columns"]) == ["<s>", *TEXT, "</s>"]
    assert header["writes"] is None


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("7", ["7"]),
        ("7" * 46, ["7"] * 46),
        ("1<b>&", ["1", *["<unk>"] * 4]),
        ("1🙂2", ["1", "<unk>", "2"]),
        ("مرحبا", ["<unk>"] * 5),
    ],
)
def test_any_text_that_the_model_reads_is_drawn_token_by_token(app, bundled, text, read):
    header, arrays = sent(opened(app, text=text, heads="2"), "matrix")
    tokens = header["columns"]["tokens"]
    assert texts(header["columns"]) == ["<s>", *read, "</s>"]
    assert [token.get("note", token["text"]) for token in tokens[1:-1]] == list(text)
    assert same_bits(arrays["values"], recorded(the_run(bundled, text), "cross", 1, 2)[0])
    assert "<b>" not in markup(app)


def test_a_decoder_alone_has_one_kind_of_attention(at_the_zoo, zoo):
    opened(at_the_zoo, checkpoint="shakespeare", text="ROT:", heads="3", layer="2")
    assert at_the_zoo.button_group(key="attention_kind").options == ["Decoder → itself"]
    header, arrays = sent(at_the_zoo, "matrix")
    assert same_bits(arrays["values"], recorded(the_run(zoo, "ROT:", "shakespeare"), "decoder", 2, 3)[0])
    assert not arrays["mask"][np.triu_indices(len(arrays["mask"]), 1)].any()
    assert texts(header["rows"])[:4] == list("ROT:")
    goes_to(at_the_zoo, kind="encoder")
    sentence = wording("no_encoder_attention_so_decoder_attention_is_shown", "shakespeare")
    assert sentence in words(at_the_zoo)


def test_the_map_of_an_encoder_alone_is_that_of_its_pass(app, tmp_path, models_in):
    saved(tiny_checkpoint("encoder-only"), tmp_path / "reader")
    models_in(tmp_path)
    opened(app, text="abc")
    _, arrays = sent(app, "matrix")
    weights = trace(load(tmp_path / "reader"), "abc")["encoder.1.self.weights"][0, 0]
    assert np.array_equal(arrays["values"], weights.numpy())
    assert [row["label"] for row in told(app, "chips")["rows"]] == ["reads", "answers"]


# ---- several heads, derived pictures, switches


def test_weights_of_a_layer_are_asked_for_once_for_thumbnails_and_scores(app, bundled, monkeypatch):
    asked = []
    monkeypatch.setattr(
        head_grid, "layer_weights", lambda run, kind, layer: asked.append(layer) or layer_weights(run, kind, layer)
    )
    monkeypatch.setattr(scores_module, "layer_weights", lambda *given: pytest.fail("the page has them"))
    monkeypatch.setattr(page, "key_shares", lambda *given, **specials: ())
    opened(app, kind="decoder", text="8.6421")
    assert asked == [0, 1, 2]
    again(app)
    assert asked == [0, 1, 2]


def test_several_heads_are_maps_and_lines_of_their_own(app, bundled):
    run = the_run(bundled)
    opened(app, heads="1,3")
    maps = all_sent(app, "matrix")
    assert [header["title"] for header, _ in maps] == [
        f"Decoder layer 1, head {head}, cross-attention" for head in (1, 3)
    ]
    for (_, arrays), head in zip(maps, (1, 3), strict=True):
        assert same_bits(arrays["values"], recorded(run, "cross", 1, head)[0])
    header, arrays = sent(app, "lines")
    assert header["heads"] == ["head 1", "head 3"]
    assert header["colours"] == ["heads-0", "heads-1"]
    for weights, head in zip(arrays["weights"], (1, 3), strict=True):
        assert same_bits(weights, recorded(run, "cross", 1, head)[0])
    assert "Scores of layer 1, head 1" in words(app)


def test_labels_of_rows_stand_at_the_ends_of_a_row_of_maps(app):
    opened(app, heads="0,1,2")
    maps = [header for header, _ in all_sent(app, "matrix")[:3]]
    assert [each["title"] for each in maps] == ["Layer 1, head 0", "Layer 1, head 1", "Layer 1, head 2"]
    assert [each["bare"] for each in maps] == [["right"], ["left", "right"], ["left"]]


def test_lengths_of_several_heads_have_one_scale(app):
    opened(app, heads="0,1,2", options="contribution")
    maps = all_sent(app, "matrix")[:3]
    assert len({header["most"] for header, _ in maps}) == 1
    assert maps[0][0]["most"] == max(float(arrays["values"].max()) for _, arrays in maps)


@pytest.mark.parametrize(("option", "word", "combine"), [("mean", "mean", np.mean), ("max", "maximum", np.max)])
def test_mean_and_maximum_are_grey_and_called_derived(app, bundled, option, word, combine):
    opened(app, layer="2")
    app.button_group(key="attention_head").set_value(option).run()
    heads = the_run(bundled).trace["decoder.2.cross.weights"][0].numpy()
    for name, array in (("matrix", "values"), ("lines", "weights")):
        header, arrays = sent(app, name)
        values = arrays[array] if name == "matrix" else arrays[array][0]
        np.testing.assert_allclose(values, combine(heads, axis=0), atol=1e-7)
        assert "derived" in header["unit"]
    assert sent(app, "matrix")[0]["scale"] == "derived"
    assert sent(app, "lines")[0]["colours"] == ["derived-5"]
    assert sent(app, "matrix")[0]["title"] == wording("title_of_several_heads_in_one", 2, word, 4)
    assert wording("scores_belong_to_single_heads_choose_one_above") in words(app)
    assert address(app)["heads"] == option
    app.button_group(key="attention_head").set_value(0).run()
    assert app.session_state["selection"]["heads"] == (0,)
    assert sent(app, "matrix")[0]["scale"] == "cross"


def test_rollout_is_grey_and_its_source_and_target_shares_add_up(app):
    shares = []
    for kind in ("cross", "decoder"):
        header, arrays = sent(opened(app, kind=kind, heads="rollout"), "matrix")
        assert (header["scale"], header["unit"]) == ("derived", "attention rollout (derived)")
        shares.append(arrays["values"].sum(axis=1))
    np.testing.assert_allclose(shares[0] + shares[1], 1, atol=1e-6)
    assert wording("rollout_after_layer_of_the_decoder_target_share", 1) in header["title"]


@pytest.mark.parametrize("shown", ["", "A", "B", "A-B", "A|B"])
def test_a_rollout_is_made_once_while_the_page_says_what_is_waited_for(app, bundled, monkeypatch, shown):
    said, layers, places = [], [], []

    @contextmanager
    def waited(sentence, place):
        said.append(sentence)
        places.append(place)
        yield
        said.append("")

    def told(watched, done, most):
        layers.append((said[-1], watched._words.format(done=done, most=most), watched._stoppable))

    cached.store().clear()
    opened(app, **({"pin_checkpoint": "numbers", "pin_text": "8", "shown": shown} if shown else {}))
    monkeypatch.setattr(frame, "waiting", waited)
    monkeypatch.setattr(runs.ProgressBar, "__call__", told)
    made = []
    whole = rollout_module.rollout
    monkeypatch.setattr(rollout_module, "rollout", lambda *given, **more: made.append(given) or whole(*given, **more))
    goes_to(app, heads="rollout")
    expected = {"": [""], "A": [""], "B": [" of B"], "A-B": ["", " of B"], "A|B": ["", " of B"]}[shown]
    sentences = [f"Multiplying the layers’ attention for the rollout{of} ..." for of in expected]
    assert [each for each in said if each] == sentences and len(made) == len(expected)
    assert layers == [(each, f"{done + 1} of 3 layers", False) for each in sentences for done in range(3)]
    assert all(place is places[0] for place in places) and not app.exception
    assert len(all_sent(app, "matrix")) == {"A|B": 2, "A-B": 0}.get(shown, 1)  # the two are of other sizes
    goes_to(app, heads="mean")
    assert len(made) == len(expected) and len(said) == 2 * len(expected)


def test_a_model_that_merges_heads_by_a_raw_reshape_has_no_contribution_and_no_rollout_and_says_so(at_the_zoo):
    opened(at_the_zoo, checkpoint="en-it-slips", text="bad", kind="cross", options="contribution")
    assert "raw reshape" in words(at_the_zoo)
    assert components(at_the_zoo, "matrix") == []
    goes_to(at_the_zoo, options="", heads="rollout")
    assert wording("rollout_is_undefined_this_model_merges_its_heads") in words(at_the_zoo)
    assert components(at_the_zoo, "matrix") == []
    assert len(components(at_the_zoo, "grid")) == 1  # from which a head can be chosen
    goes_to(at_the_zoo, heads="1")
    assert len(components(at_the_zoo, "matrix")) == 1
    assert "raw reshape" not in words(at_the_zoo)


def test_the_switches_change_picture_and_address(app):
    opened(app)
    plain = sent(app, "matrix")[0]
    app.checkbox(key="attention_hidden").check().run()
    hidden, arrays = sent(app, "matrix")
    assert texts(hidden["columns"]) == list(TEXT)
    np.testing.assert_allclose(arrays["values"].sum(axis=1), 1, atol=1e-6)
    app.checkbox(key="attention_words").check().run()
    words, _ = sent(app, "matrix")
    assert texts(words["columns"]) == [TEXT]
    assert words["scale"] == "derived"
    assert address(app)["options"] == "words,hidden"
    app.checkbox(key="attention_words").uncheck().run()
    app.checkbox(key="attention_hidden").uncheck().run()
    assert sent(app, "matrix")[0] == plain
    app.checkbox(key="attention_contribution").check().run()
    assert sent(app, "matrix")[0]["quantity"] == "norm"
    assert not app.exception


def test_how_much_hiding_hid_stands_on_the_page(app, bundled):
    opened(app, options="hidden", heads="2")
    weights, _ = recorded(the_run(bundled), "cross", 1, 2)
    share = 100 * (weights[:, 0] + weights[:, -1]).mean()
    assert wording("special_keys_are_hidden", f"{share:.1f}") in words(app)


def test_the_text_is_shaded_by_the_recorded_weights(app, bundled):
    opened(app, kind="decoder", layer="2", heads="3")
    app.button_group(key="attention_panel").set_value("text").run()
    header, arrays = sent(app, "shading")
    weights, mask = recorded(the_run(bundled), "decoder", 2, 3)
    assert same_bits(arrays["weights"], weights)
    assert np.array_equal(arrays["mask"], mask)
    assert header["together"]
    assert components(app, "lines") == []
    assert address(app)["panel"] == "text"


@pytest.mark.parametrize(
    ("options", "name", "quantities"),
    [("", "Contribution", ["weight", "norm"]), ("contribution", "Weight", ["norm", "weight"])],
)
def test_weight_and_contribution_of_a_head_stand_side_by_side(app, bundled, options, name, quantities):
    opened(app, layer="2", heads="1", options=options)
    app.button_group(key="attention_panel").set_value("contribution").run()
    assert app.button_group(key="attention_panel").options == ["Lines", "Text", name]
    assert address(app)["panel"] == "contribution"
    drawn = all_sent(app, "matrix")
    assert [header["quantity"] for header, _ in drawn] == quantities
    assert drawn[1][0]["title"].startswith(name)
    run = the_run(bundled)
    by_quantity = {header["quantity"]: arrays["values"] for header, arrays in drawn}
    assert same_bits(by_quantity["weight"], recorded(run, "cross", 2, 1)[0])
    value, w_o = run.trace["decoder.2.cross.value"][0, 1].double(), run.trace.output_maps["decoder.2.cross"].double()
    size = value.shape[1]
    lengths = (value @ w_o[:, size : 2 * size].T).norm(dim=-1).numpy()
    np.testing.assert_allclose(by_quantity["norm"], by_quantity["weight"] * lengths, rtol=1e-5)


def test_contributions_beside_a_difference_are_a_minus_b_too(app):
    opened(
        app, kind="encoder", layer="0", panel="contribution", pin_checkpoint="numbers-tiny", pin_text=TEXT, shown="A-B"
    )
    headers = [header for header, _ in all_sent(app, "matrix")]
    assert [header["unit"] for header in headers] == [wording("weight_in_a_less_weight_in_b"), "difference"]
    assert headers[1]["title"].startswith("A − B: Contribution")


def test_where_there_is_no_contribution_the_panel_says_why(at_the_zoo):
    opened(at_the_zoo, checkpoint="en-it-slips", text="bad", kind="cross", panel="contribution")
    assert len(components(at_the_zoo, "matrix")) == 1
    assert "raw reshape" in words(at_the_zoo)
    assert "<th>contribution / weight</th><td>–</td><td>–</td><td>0</td>" in markup(at_the_zoo)
    goes_to(at_the_zoo, checkpoint="shakespeare", text="ROT:", heads="rollout")
    assert wording("rollout_joins_all_layers_and_has_no_contributions") in words(at_the_zoo)


# ---- scores


def test_a_first_or_end_token_with_much_weight_has_its_share_of_what_is_added_beside_it(app, bundled):
    run, ckpt = the_run(bundled), load(bundled / "numbers")
    marks = {
        "source_special": special_positions(run.trace.src, ckpt.source_codec),
        "target_special": special_positions(run.trace.tgt, ckpt.target_codec),
    }
    seen = set()
    for layer, head in ((0, 0), (1, 2), (2, 3)):
        said = markup(opened(app, kind="cross", layer=str(layer), heads=str(head)))
        for each in key_shares(run.trace, "cross", layer, head, **marks):
            row = f"<td>{each.weight:.3f}</td><td>{each.contribution:.3f}</td><td>{each.n}</td>"
            assert (f"<th>{each.name}</th>{row}" in said) == (each.weight > each.even)
            seen.add(each.weight > each.even)
    assert seen == {True, False}
    assert "often means" not in said


@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
def test_scores_beside_the_map_and_under_the_thumbnails_are_those_of_the_run(app, bundled, kind):
    run, ckpt = the_run(bundled), load(bundled / "numbers")
    layer, head = (0, 3) if kind == "encoder" else (2, 3)
    opened(app, kind=kind, layer=str(layer), heads=str(head))
    scores = head_scores(
        run.trace,
        kind,
        source_special=special_positions(run.trace.src, ckpt.source_codec),
        target_special=special_positions(run.trace.tgt, ckpt.target_codec),
    )
    grid = sent(app, "grid")[0]["scores"]
    assert [each["name"] for each in grid] == [score.name for score in scores]
    said = markup(app)
    assert f"Scores of layer {layer}, head {head}" in said
    for shown, score in zip(grid, scores, strict=True):
        assert shown["n"] == score.n.flatten().tolist()
        ordered = score.values.flatten()[shown["order"]]
        assert (np.diff(ordered[~np.isnan(ordered)]) <= 0).all()
        n = int(score.n[layer, head])
        if n:
            value, even = (f"{each[layer, head]:.3f}" for each in (score.values, score.baseline))
            assert f"<th>{score.name}</th><td>{value}</td><td>{even}</td><td>{n}</td>" in said
        else:
            assert f"<th>{score.name}</th><td>–</td><td>–</td><td>0</td>" in said


# ---- the table


def test_the_table_and_its_csv_are_the_recorded_weights(app, bundled, downloads):
    opened(app, kind="decoder", layer="0", heads="1")
    assert len(app.dataframe) == 0  # the table is made when it is opened
    weights, mask = recorded(the_run(bundled), "decoder", 0, 1)
    keys = weights.shape[1]
    table = open_table(app, "attention_matrix")
    assert same_bits(table.iloc[:, :keys].to_numpy(np.float32), weights)
    assert np.array_equal(table.iloc[:, keys:].to_numpy(bool), ~mask)
    ((name, make),) = downloads.items()
    lines = csv_lines(make())
    cells = np.array([line[1:] for line in lines[1:]])
    assert same_bits(cells[:, :keys].astype(np.float32), weights)
    assert np.array_equal(cells[:, keys:], np.where(mask, "False", "True"))
    assert name == "numbers-decoder-layer-0-head-1-self-attention.csv"
    assert wording("masked_cells_keep_their_weight") in words(app)


# ---- A, B and their difference


def heads_of(app):
    """Of which run the thumbnails and the scores say that they are, "A" or "B"; None if they say none."""
    title = sent(app, "grid")[0]["title"]
    found = {
        letter
        for letter in "AB"
        if title.startswith(f"All heads of {letter},") and f"Scores of {letter}," in words(app)
    }
    assert found or title.startswith("All heads,")
    return next(iter(found), None)


def test_a_pinned_run_is_compared_as_a_b_and_a_minus_b_and_let_go(app, bundled):
    opened(app, kind="encoder", layer="0", heads="1")
    app.button(key="pin_set").click().run()
    app.selectbox(key="sidebar_model").set_value("numbers-tiny").run()
    a, b = (recorded(the_run(bundled, name=name), "encoder", 0, 1)[0] for name in ("numbers-tiny", "numbers"))
    assert app.button_group(key="pin_shown").value == "A|B"
    assert all(
        same_bits(arrays["values"], each) for (_, arrays), each in zip(all_sent(app, "matrix"), (a, b), strict=True)
    )
    app.button_group(key="pin_shown").set_value("A").run()
    assert same_bits(sent(app, "matrix")[1]["values"], a)
    app.button_group(key="pin_shown").set_value("B").run()
    assert same_bits(sent(app, "matrix")[1]["values"], b)
    assert heads_of(app) == "B"
    assert address(app) | {"shown": "B"} == address(app)
    app.button_group(key="pin_shown").set_value("A-B").run()
    header, arrays = sent(app, "matrix")
    assert same_bits(arrays["values"], a - b)
    assert header["signed"] and header["title"].startswith("A − B: ")
    assert f"A: numbers-tiny, “{TEXT}”" in header["caption"] and f"B: numbers, “{TEXT}”" in header["caption"]
    assert wording("lines_and_text_show_weights_look") in words(app)
    assert heads_of(app) == "A"
    app.button(key="pin_off").click().run()
    assert same_bits(sent(app, "matrix")[1]["values"], a)
    assert heads_of(app) is None
    assert not {"pin_checkpoint", "pin_text", "shown"} & set(address(app))
    assert [button.key for button in app.button] == ["pin_set"]
    assert not app.exception


def test_the_chips_are_those_of_the_run_that_is_looked_at(app, bundled):
    opened(app, text="7", pin_checkpoint="numbers", pin_text="-1.50", shown="B")
    for shown, text in (("B", "-1.50"), ("A", "7")):
        app.button_group(key="pin_shown").set_value(shown).run()
        reads, writes = told(app, "chips")["rows"]
        assert [chip["text"] for chip in reads["chips"]] == ["<s>", *text, "</s>"]
        assert [chip["text"] for chip in writes["chips"]] == list(the_run(bundled, text).tokens)


def test_a_pin_in_the_address_is_restored(app, bundled):
    pin = {"pin_checkpoint": "numbers", "pin_text": "0.07", "shown": "A-B"}
    opened(app, checkpoint="numbers-tiny", text="9.97", kind="encoder", layer="0", heads="2", **pin)
    a, b = (
        recorded(the_run(bundled, *of), "encoder", 0, 2)[0] for of in (("9.97", "numbers-tiny"), ("0.07", "numbers"))
    )
    assert same_bits(sent(app, "matrix")[1]["values"], a - b)
    assert address(app) | pin == address(app)


def the_question(app):
    """The line under the title, as it is read."""
    (line,) = re.findall(r'<p class="vt-question.*?</p>', markup(app))
    return html.unescape(re.sub(r"<[^>]+>", "", line)).strip()


def test_a_pin_in_the_address_without_what_is_shown_of_it_opens_both_beside_each_other(app, bundled):
    opened(app, text="7", kind="encoder", pin_checkpoint="numbers", pin_text="-1.50")
    assert app.button_group(key="pin_shown").value == "A|B"
    assert [arrays["values"].shape for _, arrays in all_sent(app, "matrix")] == [(3, 3), (7, 7)]
    assert "shown" not in address(app)
    app.button_group(key="pin_shown").set_value("A").run()
    assert address(app)["shown"] == "A" and len(all_sent(app, "matrix")) == 1


def test_runs_of_different_sizes_have_no_difference_and_the_page_says_so_and_asks_of_a(app):
    opened(app, text="7", kind="encoder", pin_checkpoint="numbers", pin_text="-1.50", shown="A")
    asked = the_question(app)
    app.button_group(key="pin_shown").set_value("A-B").run()
    assert wording("only_maps_of_one_size_can_be_subtracted", 3, 3, 7, 7) in words(app)
    assert "A | B shows both." in words(app)
    assert components(app, "matrix") == []
    assert the_question(app) == f"A: {asked}"
    app.button_group(key="pin_shown").set_value("B").run()
    assert sent(app, "matrix")[1]["values"].shape == (7, 7)


def test_what_only_one_of_two_models_has_is_said_of_the_other(at_the_zoo):
    pin = {"pin_checkpoint": "shakespeare", "pin_text": "ROT:", "shown": "A-B"}
    opened(at_the_zoo, checkpoint="own", text="bad", kind="cross", **pin)
    sentence = wording("b_cannot_be_shown_this_way_a_decoder_only")
    assert sentence in words(at_the_zoo)
    at_the_zoo.button_group(key="pin_shown").set_value("B").run()
    assert sent(at_the_zoo, "matrix")[0]["scale"] == "decoder"
    assert not at_the_zoo.exception


@pytest.mark.parametrize(
    ("pin", "reason"),
    [
        ({"pin_checkpoint": "nope", "pin_text": "7"}, wording("the_model_cannot_be_read")),
        ({"pin_checkpoint": "numbers", "pin_text": "7" * 90}, wording("source_is_too_long", 92, 48)),
        ({"pin_checkpoint": "numbers"}, "the text is empty"),
    ],
)
def test_a_pinned_run_that_cannot_be_made_is_said_and_let_go(app, bundled, pin, reason):
    opened(app, shown="B", **pin)
    assert wording("the_pinned_run_cannot_be_shown", reason) in words(app)
    assert same_bits(sent(app, "matrix")[1]["values"], recorded(the_run(bundled), "cross", 1, 0)[0])
    assert state.PIN.items() <= app.session_state["selection"].items()
    assert "pin_checkpoint" not in address(app)


def test_a_pinned_model_that_is_deleted_is_said_and_let_go(app, bundled, tmp_path, models_in):
    opened(app)
    app.button(key="pin_set").click().run()
    app.selectbox(key="sidebar_model").set_value("numbers-tiny").run()
    (tmp_path / "numbers-tiny").symlink_to(bundled / "numbers-tiny")
    models_in(tmp_path)
    again(app)
    assert wording("the_pinned_model_cannot_be_read") in words(app)
    assert [button.key for button in app.button] == ["pin_set"]


# ---- selection and address


FULL = {
    "checkpoint": "numbers-tiny",
    "text": "-79.42",
    "kind": "decoder",
    "layer": "0",
    "heads": "1,3",
    "i": "2",
    "j": "3",
    "t": "2",
    "u": "1",
    "rows": "own",
    "options": "words,hidden",
    "scale": "row",
    "sort": "entropy",
    "panel": "text",
    "run_view": "map",
    "part": "ffn",
    "lens_rows": "all",
    "target": "minus seven",
    "strategy": "sampling",
    "sampling": "0.7,5,0.9,0.01,1.2,3",
    "beam": "8,1.0,power,no-end,first-finished",
    "ban": "5,7",
    "prefix": "minus",
    "masked": "1",
    "branches": "0.1.6.one;1.2.5-4.two",
    "branch": "2",
    "branch_b": "1",
    "dec_tab": "cache",
    "dec_node": "3",
    "dec_text": "one",
    "point": "decoder.0.cross.weights",
    "chart": "histogram",
    "seed": "3",
    "pos_stack": "decoder",
    "pos_table": "doubled",
    "pos_width": "6",
    "pos_length": "10",
    "pos_columns": "0,5",
    "pos_shift": "2",
    "pos_topic": "orders",
    "pos_order": "24.97-",
    "pos_off": "both",
    "input_side": "target",
    "input_rows": "all",
    "input_entry": "5",
    "input_below": "build",
    "input_part": "test",
    "input_item": "3",
    "input_batch": "2",
    "weight_line": "softmax",
    "weight_beside": "out",
    "model_tab": "doctor",
    "level": "layer",
    "mask_view": "weights",
    "model_answers": "wrong",
    "model_find": "seven",
    "model_other": "numbers-tiny",
    "model_recipe": "new:numbers-tiny:own:e1-d2-h2-w16-f16-pre-s5",
    "model_snapshot": "500",
    "play": "norms",
    "play_seed": "4",
    "play_sizes": "2,3,4,5",
    "play_options": "self,unscaled",
    "play_mask": "own",
    "play_numbers": "q0.1=2.5,m1.2=0",
    "play_keys": "2",
    "play_heads": "4",
    "projector": "on",
    "scene": "1",
    "stop": "2",
    "mask_of": "size",
    "mask_batch": "0.07\n1",
    "mask_text": "1",
    "mask_size": "9",
    "mask_kind": "encoder",
    "mask_padded": "3",
    "mask_padding": "key-or-query",
    "mask_fill": "-1e9",
    "mask_cells": "d1.2,e3",
    "mask_query": "2",
    "mask_key": "1",
    "mask_swap": "source",
    "read_as": "special-tokens",
    "pin_checkpoint": "numbers",
    "pin_text": "0.07",
    "pin_target": "seven hundredths",
    "pin_how": "beam|4,0.6,gnmt,end,none-better|3||two|minus",
    "shown": "B",
}


def test_an_address_restores_every_field(app, bundled):
    assert set(FULL) == set(state.DEFAULTS)
    opened(app, **FULL)
    assert address(app) == FULL
    chosen = app.session_state["selection"]
    assert all(chosen[name] != default for name, default in state.DEFAULTS.items())
    assert {name: chosen[name] for name in "itju"} == {"i": 2, "j": 3, "t": 2, "u": 1}
    for key, value in {"kind": "decoder", "head": 1, "panel": "text"}.items():
        assert app.button_group(key=f"attention_{key}").value == value
    boxes = {option: app.checkbox(key=f"attention_{option}").value for option in OPTIONS}
    assert boxes == {"words": True, "hidden": True, "contribution": False}
    assert app.button_group(key="pin_shown").value == "B"
    given = page_driver.chosen(app)
    assert (given["kind"], given["layer"], given["heads"]) == ("decoder", 0, [1, 3])
    assert (given["t"], given["u"], given["scale"], given["sort"]) == (2, 1, "row", "entropy")


def test_the_address_that_a_view_has_shows_the_same_in_another_browser(app, new_app):
    opened(app, text="-79.42")
    app.button_group(key="attention_kind").set_value("decoder").run()
    app.button_group(key="attention_head").set_value("max").run()
    app.checkbox(key="attention_words").check().run()
    app.button(key="pin_set").click().run()
    app.button_group(key="pin_shown").set_value("A").run()
    app.button_group(key="attention_panel").set_value("text").run()
    other = opened(new_app(), **address(app))
    assert address(other) == address(app)
    for name in ("matrix", "grid", "shading"):
        assert [each.bytes for each in components(other, name)] == [each.bytes for each in components(app, name)]


def test_the_selection_survives_a_change_of_the_page(app):
    opened(app, text="0.07", kind="encoder", heads="mean", options="words", t="1")
    before = dict(app.session_state["selection"])
    app.switch_page("pages/run.py").run()
    assert [title.value for title in app.title] == ["Run"]
    app.switch_page("pages/attention.py").run()
    assert not app.exception
    assert app.session_state["selection"] == before


def test_another_model_clips_the_selection_and_says_so(app):
    opened(app, layer="2", heads="3")
    app.selectbox(key="sidebar_model").set_value("numbers-tiny").run()
    assert wording("there_is_no_layer_so_another_is_shown", 2, "numbers-tiny", 0, 1, 1) in words(app)
    assert sent(app, "matrix")[0]["title"] == wording("title_of_cross_attention", 1, 3)


def test_what_an_address_cannot_mean_is_said(app):
    wrong = {"kind": "self", "layer": "9", "heads": "0,0", "options": "all", "scale": "log", "panel": "x", "t": "-1"}
    said = words(opened(app, **wrong, shown="C", checkpoint="nope"))
    for name in ("kind", "heads", "options", "scale", "panel", "t", "shown"):
        assert f"The address asks for {name} “" in said
    assert wording("there_is_no_layer_so_another_is_shown", 9, "numbers", 0, 2, 2) in said
    assert wording("there_is_no_model_here", "nope") in said


# ---- bad input, and the page by itself


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", wording("the_text_is_empty")),
        (" \n", wording("the_text_is_empty")),
        ("7" * 1400, wording("source_is_too_long", "1,402", 48)),
    ],
)
def test_a_text_that_cannot_be_read_is_answered_by_one_sentence(app, text, sentence):
    opened(app, text=text)
    assert capitalised(sentence) in words(app)
    assert stale(app) and len(components(app, "matrix")) == len(components(app, "grid")) == 1
    assert "What not to conclude" in words(app)


def test_the_page_says_how_to_read_it_and_what_not_to_conclude(app):
    said = words(opened(app))
    assert "How to read it" in said and "What not to conclude" in said
    for claim in (
        wording("a_column_is_no_longer_its_token_but_a_state"),
        wording("divided_by_the_number_of_keys", 1),
        wording("grey_is_something_averaged_or_derived"),
        "Attention is not explanation",
        "Jain and Wallace 2019",
        "Wiegreffe and Pinter 2019",
        wording("a_mean_hides_that_heads_differ"),
        wording("one_sentence_does_not_prove_what_a_head"),
    ):
        assert claim in said


def test_the_page_runs_alone(alone, bundled):
    app = alone("attention")
    assert [title.value for title in app.title] == ["Attention"]
    assert same_bits(sent(app, "matrix")[1]["values"], recorded(the_run(bundled), "cross", 1, 0)[0])


def test_two_maps_stand_beside_each_other_with_one_scale(app, bundled):
    opened(app, kind="decoder", layer="1", heads="2", pin_checkpoint="numbers", pin_text="0.07", shown="A|B")
    maps = all_sent(app, "matrix")
    for (header, arrays), text, name in zip(maps, (TEXT, "0.07"), "AB", strict=True):
        assert header["title"].startswith(f"{name}: ")
        assert same_bits(arrays["values"], recorded(the_run(bundled, text), "decoder", 1, 2)[0])
    assert maps[0][0]["most"] == maps[1][0]["most"]
    assert components(app, "lines") == [] and len(components(app, "grid")) == 1
    assert heads_of(app) == "A"
