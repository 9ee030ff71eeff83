"""One weight: the row, the ladder and the comparisons are those of the run, and the program on the page gives them."""

import json
import re
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from page_driver import (
    TEXT,
    address,
    components,
    goes_to,
    markup,
    numbers,
    open_table,
    opener,
    sent,
    stale,
    words,
)
from wording import wording

from viz_transformer.analysis.weight import LINES
from viz_transformer.analysis.weight.ladder import ladder
from viz_transformer.analysis.weight.weight_numbers import Cell, parameters
from viz_transformer.checkpoint import load
from viz_transformer.running.decoding import decode
from viz_transformer.sentences import capitalised
from viz_transformer.ui.frame import frame
from viz_transformer.ui.pages.weight import page

opened = opener("weight")


def expected(folder, cell, text=TEXT, name="numbers"):
    """The run of the page, and the ladder of this cell."""
    ckpt = load(folder / name)
    run = decode(ckpt, text)
    return run, ladder(run.trace, parameters(ckpt.model, cell.kind, cell.layer), cell)


def of(**given):
    return Cell(**{"kind": "cross", "layer": 1, "head": 0, "query": 0, "key": 0, **given})


# ---- what is displayed is what was recorded, and agrees


@pytest.mark.parametrize(
    ("given", "cell"),
    [
        ({"t": "3", "i": "5", "heads": "2"}, of(query=3, key=5, head=2)),
        ({"kind": "decoder", "layer": "2", "t": "4", "u": "1"}, of(kind="decoder", layer=2, query=4, key=1)),
        ({"kind": "encoder", "layer": "0", "i": "2", "j": "7"}, of(kind="encoder", layer=0, query=2, key=7)),
    ],
)
def test_the_row_is_that_of_the_run_and_the_cell_has_its_weight(app, bundled, given, cell):
    opened(app, **given)
    run, found = expected(bundled, cell)
    header, arrays = sent(app, "row")
    for part, at in (("query", cell.query), ("key", slice(None))):
        recorded = run.trace[f"{cell.site}.{part}"][0, cell.head, at].numpy()
        assert arrays["query" if part == "query" else "keys"].tobytes() == recorded.tobytes()
    weights = run.trace[f"{cell.site}.weights"][0, cell.head, cell.query].numpy()
    assert arrays["weights"].tobytes() == weights.tobytes()
    np.testing.assert_allclose(arrays["scores"], found.row.scores, rtol=1e-6)
    assert np.array_equal(arrays["mask"], found.row.mask)
    assert header["scale"] == cell.kind and header["position"] == cell.query
    side = run.trace.src_tokens if cell.kind == "encoder" else run.trace.tgt_tokens
    assert header["token"]["text"] == side[cell.query]
    assert header["keys"]["field"] == {"cross": "i", "decoder": "u", "encoder": "j"}[cell.kind]
    said = words(app)
    assert f"Query {cell.query} “{side[cell.query]}” gives key {cell.key} “" in said
    weight, exact = float(weights[cell.key]), str(weights[cell.key])
    assert f"” the weight {'<0.0001' if 0 < weight < 1e-4 else exact}." in said
    assert (f'title="exactly {exact}"' in markup(app)) == (0 < weight < 1e-4)
    assert wording("comparisons_of_the_ladder_with_the_recorded_run_agree") in said


@pytest.mark.parametrize("line", LINES)
def test_each_line_is_shown_with_its_comparison(app, bundled, line):
    opened(app, weight_line=line, t="2", i="3")
    _, found = expected(bundled, of(query=2, key=3))
    said = words(app)
    for check in found.lines[line].checks:
        assert check.point in said
        assert (f"{check.difference:.1e}" if check.difference else "<td>0</td>") in markup(app)
    assert said.count("✓ agrees") == len(found.lines[line].checks)
    assert "✕ differs" not in said
    assert len(app.latex) == 1
    charts = app.get("plotly_chart")
    assert len(charts) == (0 if line in ("mask", "shapes") else 1)


def test_the_ladder_is_walked_by_its_buttons_and_stands_in_the_address(app):
    opened(app)
    assert app.radio(key="weight_line").value == "products"
    assert len(app.radio(key="weight_line").options) == len(LINES)
    app.radio(key="weight_line").set_value("softmax").run()
    assert address(app)["weight_line"] == "softmax"
    assert "Softmax of the row" in words(app)
    app.button_group(key="weight_kind").set_value("decoder").run()
    app.button_group(key="weight_layer").set_value(2).run()
    app.button_group(key="weight_head").set_value(3).run()
    assert not app.exception
    chosen = app.session_state["selection"]
    assert (chosen["kind"], chosen["layer"], chosen["heads"]) == ("decoder", 2, (3,))
    assert sent(app, "row")[0]["title"] == wording("title_of_a_row_of_scores", 2, 3, 0)
    app.radio(key="weight_line").set_value("products").run()
    assert "weight_line" not in address(app)


def test_a_line_that_does_not_give_what_was_recorded_is_named(app, bundled, monkeypatch):
    other = parameters(load(bundled / "numbers-tiny").model, "cross", 1)
    monkeypatch.setattr(page, "parameters", lambda model, kind, layer: other)
    opened(app, text="0.07", weight_line="query")
    said = words(app)
    assert wording("these_lines_do_not_give_what_was_recorded_stream") in said
    assert "✕ differs" in said


# ---- the program


def started(downloads, folder):
    """What the program that the page offers prints beside both files that it offers."""
    for name in ("trace.safetensors", "model.safetensors"):
        (folder / name).write_bytes(downloads[name]())
    (folder / "one_weight.py").write_text(downloads["one_weight.py"])
    done = subprocess.run([sys.executable, "-I", "one_weight.py"], capture_output=True, text=True, cwd=folder)
    assert done.stderr == "" and done.returncode == 0
    return done.stdout


def in_math(number):
    """Six digits as LaTeX has them."""
    return number.replace("e-0", r"\cdot 10^{-").replace("e-", r"\cdot 10^{-") + "}" * ("e-" in number)


def test_the_program_on_the_page_prints_what_the_page_says(app, bundled, tmp_path, downloads):
    opened(app, kind="decoder", layer="2", heads="1", t="3", u="2", weight_line="norm")
    program, prints = (code.value for code in app.code)
    assert downloads["one_weight.py"].rstrip() == program.rstrip()
    assert started(downloads, tmp_path).rstrip() == prints.rstrip()
    assert downloads["model.safetensors"]() == (bundled / "numbers" / "model.safetensors").read_bytes()
    assert str(bundled / "numbers" / "model.safetensors") in words(app)
    blocks = re.split(r"^(?=\w)", prints, flags=re.MULTILINE)
    lines = {block.split("\n")[0]: dict(re.findall(r"(?m)^  (.{28}) (\S+)", block)) for block in blocks}
    found = {name: {label.strip(): first for label, first in each.items()} for name, each in lines.items()}

    def equation(line):
        goes_to(app, weight_line=line)
        return app.latex[0].value

    for line, names in {
        "norm": ("mean", "scale"),
        "maps": ("sum", "bias", "key[d]"),
        "products": ("sum",),
        "divisor": ("divisor", "score"),
        "softmax": ("largest", "their sum"),
        "weight": ("weight",),
        "value": ("length of v", "length of weight x v"),
        "head": ("length",),
        "output": ("length from this key", "length from this head", "length of out"),
        "residual": ("length of x", "length of y", "length of x + y"),
    }.items():
        written = equation(line)
        for name in names:
            assert in_math(found[line][name]) in written, (line, name)
    goes_to(app, weight_line="query")
    compared = words(app)
    assert found["merge"]["row, slot"] == "3" and "✓ agrees" in compared


def test_a_new_model_offers_its_random_weights_as_a_file_and_says_so(app, tmp_path, downloads):
    opened(app, checkpoint="new:numbers:own:e1-d2-h2-w8-f8-post-s3", text="7", kind="cross", layer="1", t="1", i="1")
    assert wording("this_model_has_no_file_of_its_own_it_was_made_from_its_name") in words(app)
    assert started(downloads, tmp_path).rstrip() == app.code[1].value.rstrip()
    assert wording("of_comparisons_with_the_record_agree", 19, 19) in app.code[1].value


# ---- beside torch


def test_torch_stands_beside_ours_element_by_element(app, bundled):
    opened(app, t="2", heads="3")
    run, _ = expected(bundled, of())
    table = app.dataframe[0].value
    recorded = run.trace["decoder.1.cross.weights"][0, 3, 2].numpy()
    assert table["ours"].to_numpy().tobytes() == recorded.tobytes()
    assert list(table["token"]) == ["<s>", *TEXT, "</s>"]
    assert table["difference"].abs().max() < 1e-6
    np.testing.assert_array_equal(table["difference"], table["ours"].astype(float) - table["torch"])
    app.button_group(key="weight_beside").set_value("out").run()
    table = app.dataframe[0].value
    assert table["ours"].to_numpy().tobytes() == run.trace["decoder.1.cross.out"][0, 2].numpy().tobytes()
    assert table["difference"].abs().max() < 1e-5
    assert address(app)["weight_beside"] == "out"
    assert re.search(r"weights \d\.\de-\d+, output \d\.\de-\d+\.", words(app))


def test_where_torch_merges_in_another_way_the_page_says_why(at_the_zoo):
    opened(at_the_zoo, checkpoint="en-it-slips", text="bad", kind="encoder", weight_beside="out")
    assert wording("this_model_merges_them_by_a_raw_reshape") in words(at_the_zoo)
    assert len(at_the_zoo.dataframe) == 0
    goes_to(at_the_zoo, weight_beside="weights", i="9")  # a query that is padding
    assert wording("this_row_may_attend_to_nothing_torch") in words(at_the_zoo)
    table = at_the_zoo.dataframe[0].value
    assert pd.isna(table["torch"]).all()
    assert table["masked"].all() and (table["ours"] > 0).all()  # added -1e9 leaves the row its weights


# ---- tables


def test_the_tables_have_all_numbers(app, bundled):
    opened(app, t="2", i="3", weight_line="head")
    _, found = expected(bundled, of(query=2, key=3))
    row, line = open_table(app, "weight_row_strips"), open_table(app, "weight_picture")
    np.testing.assert_array_equal(row["score"], found.row.scores)
    np.testing.assert_allclose(row.filter(like="dimension").sum(axis=1), row["sum of products"], rtol=1e-12)
    part = line.loc["from this key"]["computed"].to_numpy()
    np.testing.assert_array_equal(part, found.lines["head"].vectors[0].values)
    compared = line.loc["head_out, compared"]
    np.testing.assert_allclose(compared["difference"], compared["computed"] - compared["recorded"])


# ---- other models, other selections, bad input


@pytest.mark.parametrize("line", ["stream", "shapes", "merge", "residual"])
@pytest.mark.parametrize(
    ("name", "text", "kind"),
    [("shakespeare", "ROT:", "decoder"), ("en-it-slips", "bad", "cross"), ("own", "face", "encoder")],
)
def test_other_models_have_a_ladder(at_the_zoo, name, text, kind, line):
    opened(at_the_zoo, checkpoint=name, text=text, kind=kind, weight_line=line, t="1", i="1")
    assert wording("agree_up_to_the_rounding_of_float32") in words(at_the_zoo)
    assert sent(at_the_zoo, "row")[0]["scale"] == kind


def test_a_decoder_alone_has_no_cross_attention_and_says_so(at_the_zoo):
    opened(at_the_zoo, checkpoint="shakespeare", text="ROT:", kind="encoder")
    assert wording("no_encoder_attention_so_decoder_attention_is_shown", "shakespeare") in words(at_the_zoo)
    assert at_the_zoo.button_group(key="weight_kind").options == ["Decoder → itself"]


@pytest.mark.parametrize("text", ["7", "7" * 46, "xyz", "🙂"])
def test_one_token_the_maximum_and_unknown_words_only(app, text):
    opened(app, text=text, kind="encoder", layer="0", i="1", j="1")
    assert wording("agree_up_to_the_rounding_of_float32") in words(app)
    assert len(sent(app, "row")[0]["keys"]["tokens"]) == len(text) + 2


def test_a_token_is_text(app):
    opened(app, text="<b>", kind="encoder", layer="0", i="1", j="1")
    assert wording("query_gives_key_the_weight", 1, "<unk>", 1, "<unk>") in words(app)
    assert "<b>" not in markup(app)


@pytest.mark.parametrize(
    ("heads", "sentence"),
    [
        ("mean", wording("a_mean_of_heads_has_no_query_and_no_key_head", 0)),
        ("rollout", wording("a_rollout_of_heads_has_no_query_and_no_key_head", 0)),
        ("2,3", wording("a_weight_belongs_to_one_head_head_is_shown", 2)),
    ],
)
def test_what_is_no_single_head_is_said_and_kept(app, heads, sentence):
    opened(app, heads=heads)
    assert sentence in words(app)
    assert address(app)["heads"] == heads


def bars_of(app, what):
    """The numbers of A, B and A − B in one of the two figures."""
    (chart,) = [each for each in app.get("plotly_chart") if each.key == f"weight_difference_{what}_figure"]
    return [numbers(trace["y"]) for trace in json.loads(chart.proto.spec)["data"]]


PIN = {"pin_checkpoint": "numbers", "shown": "A-B"}


@pytest.mark.parametrize("given", [{"kind": "encoder", "i": "2", "j": "1"}, {"kind": "cross", "t": "1", "i": "2"}])
def test_a_minus_b_of_the_row_is_that_of_both_traces(app, bundled, given):
    opened(app, text="29.30", pin_text="28.30", layer="0", heads="3", **given, **PIN)
    cell = of(kind=given["kind"], layer=0, head=3, query=int(given.get("t", "2")), key=int(given.get("j", given["i"])))
    recorded, below = [], []
    for text in ("29.30", "28.30"):
        run, found = expected(bundled, cell, text)
        recorded.append(run.trace[f"{cell.site}.weights"][0, 3, cell.query].numpy())
        below.append(found.row.scores - found.row.scores.max())
    a, b = recorded
    for drawn, values in zip(bars_of(app, "weights"), (a, b, a - b), strict=True):
        np.testing.assert_allclose(drawn, values, atol=1e-7)
    for drawn, values in zip(bars_of(app, "scores"), (*below, below[0] - below[1]), strict=True):
        np.testing.assert_allclose(drawn, values, atol=1e-6)
    said = words(app)
    assert wording("weights_of_a_key_in_a_and_in_b", cell.key, f"{a[cell.key]!s}", f"{b[cell.key]!s}") in said
    assert f"A − B is {(a - b)[cell.key]!s}." in said
    assert wording("different_tokens_are_in_b_at_key", 2) in said and "These are two models" not in said
    assert (wording("the_query_reads_in_a_and_in_b", "9", "8") in said) == (cell.kind == "encoder")
    table = open_table(app, "weight_difference")
    assert table["weight, A − B"].to_numpy().tobytes() == (a - b).tobytes()
    assert list(table["token, B"]) == ["<s>", *"28.30", "</s>"]
    assert not table[["masked, A", "masked, B"]].to_numpy().any()
    saving = components(app, "saving")
    captions = [json.loads(each.json)["caption"] for each in saving]
    assert sum("A: numbers, “29.30”; B: numbers, “28.30”" in caption for caption in captions) == 2
    goes_to(app, shown="A")
    assert "A − B of this row" not in words(app)


def test_the_table_of_a_difference_keeps_the_weight_of_a_masked_key_and_says_that_it_is_masked(app, bundled):
    opened(app, text="29.30", pin_text="28.30", kind="decoder", layer="0", heads="3", t="1", u="0", **PIN)
    table = open_table(app, "weight_difference")
    for name, text in (("A", "29.30"), ("B", "28.30")):
        run, _ = expected(bundled, of(kind="decoder", layer=0, head=3, query=1, key=0), text)
        recorded = run.trace["decoder.0.self.weights"][0, 3, 1].numpy()
        assert table[f"weight, {name}"].to_numpy().tobytes() == recorded.tobytes()
        later = np.arange(len(recorded)) > 1
        assert table[f"masked, {name}"].to_list() == later.tolist() == table[f"score, {name}"].isna().to_list()


def test_the_ladder_beside_a_difference_is_that_of_a_and_the_page_says_so(app):
    opened(app, text="7", pin_text="-1.50", **PIN)
    sentence = wording("below_the_row_of_a_stands_a_b_a_difference")
    assert sentence in words(app)
    assert len(sent(app, "row")[0]["keys"]["tokens"]) == 3
    goes_to(app, shown="B")
    assert len(sent(app, "row")[0]["keys"]["tokens"]) == 7


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"pin_text": "-1.50"}, wording("there_is_no_difference_of_rows", 3, 7)),
        (
            {"pin_text": "9", "pin_checkpoint": "numbers-tiny", "layer": "2"},
            wording("there_is_no_layer_layers_go_from_to", 2, 0, 1),
        ),
    ],
)
def test_a_row_that_has_no_difference_is_said_in_one_sentence(app, given, sentence):
    opened(app, text="7", **{**PIN, **given})
    assert sentence in words(app)
    assert not [chart.key for chart in app.get("plotly_chart") if chart.key.startswith("weight_difference")]


def test_a_row_of_another_model_is_subtracted_with_a_warning(app):
    opened(app, text="7", pin_text="7", **{**PIN, "pin_checkpoint": "numbers-tiny"}, heads="1")
    assert wording("heads_of_two_models", 1, 1) in words(app)
    opened(app, text="7", pin_text="7", **PIN)
    assert wording("both_rows_of_weights_are_the_same_number") in words(app)


def test_a_text_that_cannot_be_read_is_answered_by_one_sentence(app):
    opened(app, text="")
    assert capitalised(wording("the_text_is_empty")) in words(app)
    assert stale(app) and len(components(app, "row")) == 1
    assert "What not to conclude" in words(app)


def test_what_the_address_cannot_mean_is_said(app):
    said = words(opened(app, weight_line="sum", weight_beside="jax", t="99", i="99"))
    assert wording("the_address_asks_for_weight_line_which_is_not_the_name_of_a_line", "sum") in said
    assert wording("the_address_asks_for_weight_beside_which_is_not_one_of_weights_out", "jax") in said
    assert wording("there_is_no_source_position", 99) in said


def test_the_page_says_how_to_read_it_and_runs_alone(alone, bundled):
    app = alone("weight")
    assert [title.value for title in app.title] == ["One weight"]
    said = words(app)
    assert wording("the_products_add_up_to_the_score") in said
    assert wording("a_large_weight_on_a_tiny_value_moves_nothing") in said


def test_on_a_projector_the_ladder_is_a_scene_before_the_numbers_of_its_line(app):
    said = markup(opened(app, projector="on", text=TEXT, scene="1"))
    assert ":is(.st-key-weight_row, .st-key-weight_panel, .st-key-weight_torch) { display: none !important; }" in said


def test_the_row_is_on_the_screen_before_what_is_slow_to_draw_when_the_page_is_new(app, monkeypatch):
    happened = []
    monkeypatch.setattr(frame, "sleep", lambda seconds: happened.append("pause"))

    def heard(view):
        return replace(view, draw_runs=lambda *given: happened.append(view.key) or view.draw_runs(*given))

    monkeypatch.setattr(page, "PAGE", replace(page.PAGE, views=tuple(map(heard, page.PAGE.views))))
    above, below = ["weight_row", "weight_verdict"], ["weight_ladder", "weight_panel", "weight_python", "weight_torch"]
    opened(app)
    assert happened == [*above, "pause", *below]
    happened.clear()
    goes_to(app, i="1")
    assert happened == [*above, *below]
    app.switch_page("pages/attention.py").run()
    happened.clear()
    opened(app)
    assert happened == [*above, "pause", *below]
