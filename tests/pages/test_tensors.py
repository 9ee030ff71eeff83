import base64
import csv
import html
import io
import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save
from streamlit.testing.v1 import AppTest

from viz_transformer.analysis.tensors import points
from viz_transformer.analysis.tensors.points import entries, statistics
from viz_transformer.analysis.tensors.trace_files import opened as trace_of
from viz_transformer.analysis.tensors.trace_files import saved
from viz_transformer.checkpoint import contents, load
from viz_transformer.running.decoding import decode
from viz_transformer.running.tracing import trace
from viz_transformer.running.training_mode import training_trace
from viz_transformer.ui.pages.tensors import tensor_sources, view
from viz_transformer.ui.session import cached

ROOT = Path(__file__).resolve().parents[2]
APP = f"""
import streamlit as st
from viz_transformer.ui.frame import opening
page = st.navigation([st.Page({str(ROOT / "pages" / "tensors.py")!r}, title='Tensors', default=True)])
opening.show(page, lambda: None)
"""


@pytest.fixture
def page(bundled, tmp_path):
    """The page in the frame of the app, not yet run."""
    (tmp_path / "app.py").write_text(APP, encoding="utf-8")
    return AppTest.from_file(str(tmp_path / "app.py"), default_timeout=120)


@pytest.fixture
def page_at_the_zoo(page, zoo, monkeypatch):
    monkeypatch.setattr(contents, "bundled_folder", lambda: zoo)
    return page


def opened(app, **address):
    for name, value in address.items():
        app.query_params[name] = value
    app.run()
    assert not app.exception
    return app


def again(app):
    app.run()
    assert not app.exception
    return app


def said(app):
    return "".join(element.proto.body for element in app.get("html"))


def words(app):
    """What is said, without markup."""
    return html.unescape(re.sub(r"(?s)<style>.*?</style>|<[^>]+>", " ", said(app)))


def figure(app):
    (chart,) = app.get("plotly_chart")
    return json.loads(chart.proto.spec)


def cells(app, layer=0):
    """The numbers of a heatmap, as plotly sends them."""
    z = figure(app)["data"][layer]["z"]
    array = np.frombuffer(base64.b64decode(z["bdata"]), z["dtype"])
    return array.reshape([int(n) for n in z["shape"].split(",")])


def the_trace(folder, text="29,284.30", name="numbers"):
    return decode(load(folder / name), text).trace


def tree(app):
    """Short names and origins, as the list has them."""
    return [
        re.fullmatch(r"`(.+)` :gray\[(\w+)\]", option).groups() for option in app.radio(key="tensors_point").options
    ]


def give(app, data, name="run.safetensors"):
    """Open a file."""
    app.file_uploader(key="tensors_file").set_value((name, data, "application/octet-stream"))
    return again(app)


# --- a point


def test_the_page_opens_with_the_attention_that_is_selected(page, bundled):
    opened(page, kind="encoder", layer="0", heads="2")
    assert [title.value for title in page.title] == ["Tensors"]
    assert page.radio(key="tensors_point").value == "encoder.0.self.weights"
    recorded = the_trace(bundled)["encoder.0.self.weights"][0, 2].numpy()
    assert np.array_equal(cells(page), recorded)
    assert figure(page)["layout"]["title"]["text"] == "encoder.0.self.weights[0, 2, :, :]"


def test_the_table_has_shape_type_and_statistics_of_the_whole_and_of_the_picture(page, bundled):
    opened(page, point="decoder.1.cross.head_out", heads="3")
    value = the_trace(bundled)["decoder.1.cross.head_out"]
    whole, part = statistics(value), statistics(value[0, 3])
    rows = re.findall(r"<tr><th>(\w+)</th>(.*?)</tr>", said(page))
    assert [name for name, _ in rows] == ["whole", "picture"]
    for found, (_, row), letters, shape in zip(
        (whole, part), rows, ("[B, H, Q, E]", "[Q, E]"), (value.shape, value.shape[2:]), strict=True
    ):
        cell = re.findall(r"<td>(.*?)</td>", row)
        assert cell[0] == f"<i>{letters}</i>{list(shape)}"
        assert cell[1] == "float32"
        numbers = (found.minimum, found.mean, found.maximum, found.variance)
        assert cell[2:6] == [f"{number:.4g}" for number in numbers]
        assert cell[6:] == ["0", "0", view.percent(found.zeros, found.count)]
    assert "weights @ value by head" in words(page)


def test_every_point_can_be_looked_at(page, bundled):
    opened(page, checkpoint="numbers-tiny")
    listed = entries(the_trace(bundled, name="numbers-tiny"))
    for place, entry in enumerate(listed):
        page.session_state["selection"].update(point=entry.name, **view._implied(entry.name))
        page.session_state["selection"]["chart"] = ("heatmap", "histogram")[place % 2]
        again(page)
        assert figure(page)["layout"]["title"]["text"].startswith(f"{entry.name}[0,"), entry.name
        assert page.radio(key="tensors_point").value == entry.name
        assert ("derived from recorded points" in words(page)) == entry.derived


def test_a_mask_is_drawn_in_two_tones_with_its_share_of_true(page, bundled):
    opened(page, point="decoder.0.self.mask", kind="decoder", layer="0")
    mask = the_trace(bundled)["decoder.0.self.mask"]
    assert np.array_equal(cells(page), mask[0, 0].numpy().astype(np.float32))
    assert "Boolean" in words(page) and "share of True" in words(page)
    share = view.percent(int(mask.sum()), mask.numel())
    assert f"<td>{share}</td>" in said(page)


def test_the_histogram_counts_the_values_of_the_slice(page, bundled):
    opened(page, point="logits", chart="histogram")
    recorded = the_trace(bundled)["logits"]
    bars = figure(page)["data"][0]
    counts = np.frombuffer(base64.b64decode(bars["y"]["bdata"]), bars["y"]["dtype"])
    assert counts.sum() == recorded.numel()
    assert any(
        f"{recorded.numel():,} values in 48 bins" in note["text"] for note in figure(page)["layout"]["annotations"]
    )


def test_the_columns_of_the_logits_are_the_vocabulary(page, bundled):
    ticks = figure(opened(page, point="logits"))["layout"]["xaxis"]["ticktext"]
    shown = [tick.strip() for tick in ticks]
    assert shown[:2] == ["&lt;s&gt;", "&lt;/s&gt;"] and "&lt;b&gt;" in shown


def test_the_head_is_the_one_of_the_whole_app(page):
    opened(page, heads="1")
    box = page.number_input(key="tensors_head")
    assert (box.value, box.min, box.max) == (1, 0, 3)
    box.set_value(3)
    again(page)
    assert page.session_state["selection"]["heads"] == (3,)
    assert figure(page)["layout"]["title"]["text"] == "decoder.1.cross.weights[0, 3, :, :]"


def test_a_scale_reaches_as_far_as_the_whole_point(page, bundled):
    opened(page, point="decoder.1.cross.head_out", heads="0")
    largest = the_trace(bundled)["decoder.1.cross.head_out"].abs().max().item()
    assert figure(page)["data"][0]["zmax"] == pytest.approx(largest)
    assert figure(page)["data"][0]["zmin"] == -figure(page)["data"][0]["zmax"]


def test_a_point_that_would_be_too_large_to_compute_is_said(page, monkeypatch):
    monkeypatch.setattr(points, "LARGEST_DERIVED", 10)
    view._viewed.clear()
    opened(page, point="decoder.1.cross.scores")
    assert "decoder.1.cross.scores would be computed now" in words(page)
    assert page.radio(key="tensors_point").value == "decoder.1.cross.scores"


# --- the tree


def test_the_tree_lists_a_part_with_recorded_and_derived_points(page, bundled):
    opened(page)
    listed = entries(the_trace(bundled))
    assert page.selectbox(key="tensors_part").options == list(dict.fromkeys(entry.part for entry in listed))
    inside = [(entry.short, "derived" if entry.derived else "recorded") for entry in listed]
    assert tree(page) == [item for item, entry in zip(inside, listed, strict=True) if entry.part == "decoder, layer 1"]
    assert ("cross.scores", "derived") in tree(page) and ("cross.weights", "recorded") in tree(page)


def test_choosing_a_point_chooses_its_kind_and_layer_for_the_whole_app(page):
    opened(page)
    page.radio(key="tensors_point").set_value("decoder.1.self.query")
    again(page)
    assert {"point": "decoder.1.self.query", "kind": "decoder", "layer": 1}.items() <= page.session_state[
        "selection"
    ].items()
    page.selectbox(key="tensors_part").set_value("encoder, layer 0")
    again(page)
    selection = page.session_state["selection"]
    assert (selection["point"], selection["kind"], selection["layer"]) == ("encoder.0.self.query", "encoder", 0)


def test_another_part_that_lacks_the_point_shows_its_first(page):
    opened(page, point="decoder.1.cross.weights")
    page.selectbox(key="tensors_part").set_value("encoder, embedding")
    again(page)
    assert page.session_state["selection"]["point"] == "encoder.embed.token"
    assert page.session_state["selection"]["kind"] == "cross"


def test_a_kind_and_layer_chosen_elsewhere_move_the_point(page):
    opened(page, point="decoder.1.cross.key")
    page.session_state["selection"].update(kind="encoder", layer=0)
    again(page)
    assert page.radio(key="tensors_point").value == "encoder.0.self.key"
    page.session_state["selection"].update(point="decoder.2.ffn.hidden", kind="cross", layer=1)
    again(page)
    assert page.radio(key="tensors_point").value == "decoder.2.ffn.hidden"


def test_an_address_with_a_point_alone_shows_it(page):
    opened(page, point="decoder.2.self.value")
    assert page.radio(key="tensors_point").value == "decoder.2.self.value"
    selection = page.session_state["selection"]
    assert (selection["kind"], selection["layer"]) == ("decoder", 2)


def test_a_point_that_is_not_there_is_said(page):
    opened(page, point="decoder.7.ffn.hidden")
    assert "There is no point decoder.7.ffn.hidden here: encoder.0.self.weights is shown." in words(page)
    assert not page.exception


def test_a_filter_lists_whole_names(page):
    opened(page, point="decoder.1.cross.weights")
    page.text_input(key="tensors_filter").set_value("CROSS.weights")
    again(page)
    assert tree(page) == [(f"decoder.{layer}.cross.weights", "recorded") for layer in range(3)]
    assert page.radio(key="tensors_point").value == "decoder.1.cross.weights"
    page.text_input(key="tensors_filter").set_value("ffn hidden")
    again(page)
    assert page.radio(key="tensors_point").value is None
    assert figure(page)["layout"]["title"]["text"].startswith("decoder.1.cross.weights")
    page.radio(key="tensors_point").set_value("decoder.2.ffn.hidden")
    again(page)
    assert figure(page)["layout"]["title"]["text"] == "decoder.2.ffn.hidden[0, :, :]"


@pytest.mark.parametrize("words_given", ["nothing here", "<b>", "cross*", "🙂"])
def test_a_filter_that_finds_nothing_says_so(page, words_given):
    opened(page)
    page.text_input(key="tensors_filter").set_value(words_given)
    again(page)
    assert f"No name of a point holds “{words_given}”." in words(page)
    assert "<b>" not in said(page)


def test_a_long_list_is_cut_and_says_so(page, monkeypatch):
    monkeypatch.setattr(view, "MOST_LISTED", 5)
    opened(page)
    page.text_input(key="tensors_filter").set_value("r")
    again(page)
    assert len(tree(page)) == 5
    assert re.search(r"The first 5 of \d+ are listed: go on typing\.", words(page))


# --- CSV, saving


def test_the_csv_is_made_when_it_is_asked_for(page, bundled, monkeypatch):
    made = []
    monkeypatch.setattr(
        view.st, "download_button", lambda label, data, name, *rest, **more: made.append((label, data, name))
    )
    opened(page, point="decoder.1.cross.weights", heads="2")
    files = {label: (data, name) for label, data, name in made}
    assert set(files) == {"Save trace", "CSV"}
    data, name = files["CSV"]
    assert name == "decoder.1.cross.weights-0-2.csv"
    head, *rows = csv.reader(io.StringIO(data().decode("utf-8"), newline=""))
    recorded = the_trace(bundled)
    assert head == ["query", "token", *recorded.src_tokens]
    values = np.array([[np.float32(cell) for cell in row[2:]] for row in rows])
    assert np.array_equal(values, recorded["decoder.1.cross.weights"][0, 2].numpy())


def test_a_saved_trace_is_the_run(page, bundled, monkeypatch):
    made = {}
    monkeypatch.setattr(
        view.st, "download_button", lambda label, data, name, *rest, **more: made.update({label: (data, name)})
    )
    opened(page, seed="5")
    data, name = made["Save trace"]
    after = trace_of(data(), "x")
    want = the_training(bundled, 5)
    assert name == f"numbers-{want.id}-seed-5.safetensors"
    assert all(torch.equal(after[point], want[point]) for point in want.points())


def the_training(bundled, seed, text="29,284.30", name="numbers"):
    ckpt = load(bundled / name)
    return training_trace(ckpt, text, decode(ckpt, text).trace.tgt_ids, seed)


# --- training mode


def test_training_mode_is_a_run_with_dropout_under_its_seed(page, bundled):
    opened(page, point="encoder.0.self.head_out", kind="encoder", layer="0")
    assert page.number_input(key="tensors_seed").disabled
    before = cells(page)
    page.toggle(key="tensors_training").set_value(True)
    again(page)
    assert page.session_state["selection"]["seed"] == 0
    assert "Training mode: dropout of 0.1 with seed 0; another seed gives other numbers." in words(page)
    assert "Rows of attention weights need not sum to 1." in words(page)
    assert np.array_equal(cells(page), the_training(bundled, 0)["encoder.0.self.head_out"][0, 0].numpy())
    page.number_input(key="tensors_seed").set_value(7)
    again(page)
    assert np.array_equal(cells(page), the_training(bundled, 7)["encoder.0.self.head_out"][0, 0].numpy())
    page.toggle(key="tensors_training").set_value(False)
    again(page)
    assert page.session_state["selection"]["seed"] is None
    assert np.array_equal(cells(page), before)
    assert "dropout of" not in words(page)
    page.toggle(key="tensors_training").set_value(True)
    again(page)
    assert page.session_state["selection"]["seed"] == 7  # the seed is kept


def test_an_address_with_a_seed_is_in_training_mode(page, bundled):
    opened(page, point="logits", seed="3")
    assert page.toggle(key="tensors_training").value
    assert np.array_equal(cells(page), the_training(bundled, 3)["logits"][0].numpy())


def test_the_cached_model_and_run_stay_as_they_were(page, bundled):
    opened(page, seed="3")
    (summary,) = [summary for summary in cached.summaries() if summary.name == "numbers"]
    ckpt = cached.checkpoint(summary)
    assert not any(module.training for module in ckpt.model.modules())
    want = the_trace(bundled)
    kept = cached.run(summary, "29,284.30").trace
    assert all(torch.equal(kept[name], want[name]) for name in want.points())
    assert torch.equal(decode(ckpt, "29,284.30").trace["logits"], want["logits"])


def test_a_model_that_only_writes_has_a_training_mode(page_at_the_zoo, zoo):
    opened(page_at_the_zoo, checkpoint="shakespeare", text="ROT:", point="logits", seed="3")
    ckpt = load(zoo / "shakespeare")
    ids = decode(ckpt, "ROT:").trace.tgt_ids
    assert np.array_equal(cells(page_at_the_zoo), training_trace(ckpt, ids, None, 3)["logits"][0].numpy())


@pytest.mark.parametrize("name", ["multi30k-de-en", "en-it-slips", "own", "shakespeare"])
@pytest.mark.parametrize("seed", [None, "1"])
def test_models_of_all_kinds_are_shown(page_at_the_zoo, name, seed):
    address = {} if seed is None else {"seed": seed}
    opened(page_at_the_zoo, checkpoint=name, text="ROT:" if name == "shakespeare" else "bad", **address)
    assert len(page_at_the_zoo.get("plotly_chart")) == 1, words(page_at_the_zoo)
    page_at_the_zoo.session_state["selection"]["chart"] = "points"
    again(page_at_the_zoo)
    assert len(page_at_the_zoo.dataframe) == 1


# --- a file beside the run


def test_an_opened_file_is_looked_at(page, bundled):
    opened(page, point="logits")
    other = the_trace(bundled, "-5.00")
    give(page, saved(other))
    assert page.button_group(key="tensors_choice").value == "file"
    assert np.array_equal(cells(page), other["logits"][0].numpy())
    assert "File: run.safetensors, a run of numbers that reads <s> - 5 . 0 0 </s>" in words(page)
    page.button_group(key="tensors_choice").set_value("run")
    again(page)
    assert np.array_equal(cells(page), the_trace(bundled)["logits"][0].numpy())


def test_a_file_has_layers_and_heads_of_its_own(page_at_the_zoo, folder, zoo):
    opened(page_at_the_zoo, checkpoint="own", text="bad", layer="1")
    other = the_trace(folder)
    give(page_at_the_zoo, saved(other))
    page_at_the_zoo.radio(key="tensors_point").set_value("decoder.1.cross.key")
    again(page_at_the_zoo)
    selection = dict(page_at_the_zoo.session_state["selection"])
    page_at_the_zoo.selectbox(key="tensors_part").set_value("decoder, layer 2")
    again(page_at_the_zoo)
    page_at_the_zoo.number_input(key="tensors_own_h").set_value(3)
    again(page_at_the_zoo)
    assert np.array_equal(cells(page_at_the_zoo), other["decoder.2.cross.key"][0, 3].numpy())
    now = page_at_the_zoo.session_state["selection"]
    assert [now[name] for name in ("kind", "layer", "heads")] == [
        selection[name] for name in ("kind", "layer", "heads")
    ]


def test_run_less_file_is_the_difference(page, bundled):
    opened(page, point="decoder.1.cross.query", heads="1")
    give(page, saved(the_training(bundled, 4)))
    page.button_group(key="tensors_choice").set_value("difference")
    again(page)
    name = "decoder.1.cross.query"
    want = the_trace(bundled)[name].double() - the_training(bundled, 4)[name].double()
    assert np.array_equal(cells(page), want[0, 1].float().numpy())
    assert figure(page)["layout"]["title"]["text"] == f"run − file, {name}[0, 1, :, :]"
    assert "float64" in words(page)
    assert any("run − file" in note["text"] for note in figure(page)["layout"]["annotations"])


def table(app):
    (frame,) = app.dataframe
    return frame.value


def test_all_points_of_a_difference_are_sorted_and_what_only_one_has_is_listed(page, bundled):
    opened(page, chart="points")
    other = decode(load(bundled / "numbers-tiny"), "29,284.30").trace
    give(page, saved(other))
    page.button_group(key="tensors_choice").set_value("difference")
    again(page)
    rows, mine = table(page), the_trace(bundled)
    shared = mine.diff(other)
    assert dict(zip(rows["point"], rows["largest |run − file|"], strict=True)) == shared
    assert list(rows["largest |run − file|"]) == sorted(shared.values(), reverse=True)
    assert "Only in run: decoder.2.residual_in," in words(page)


def test_traces_of_two_models_without_a_common_point_are_said(page, bundled):
    opened(page)
    ckpt = load(bundled / "numbers")
    other = trace(ckpt, "7", "one")
    give(page, saved(other))
    page.button_group(key="tensors_choice").set_value("difference")
    again(page)
    assert "The two traces have no point of the same name and shape." in words(page)
    assert "In two shapes, so not subtracted: encoder.embed.token," in words(page)


def test_all_points_of_a_run_have_their_statistics(page, bundled):
    rows = table(opened(page, chart="points"))
    recorded = the_trace(bundled)
    assert list(rows["point"]) == list(recorded.points())
    at = list(rows["point"]).index("decoder.1.cross.weights")
    found = statistics(recorded["decoder.1.cross.weights"])
    assert (rows["min"][at], rows["mean"][at], rows["max"][at], rows["variance"][at]) == (
        found.minimum,
        found.mean,
        found.maximum,
        found.variance,
    )
    assert "Derived points are not in the table" in words(page)


def test_two_files_that_say_the_same_of_themselves_are_two(page, bundled):
    opened(page, chart="points")
    recorded = the_trace(bundled)
    give(page, saved(recorded))
    first = dict(zip(table(page)["point"], table(page)["max"], strict=True))
    values = {name: value if name.endswith(".mask") else value * 2 for name, value in recorded.values.items()}
    give(page, saved(replace(recorded, values=values)), "other.safetensors")
    second = dict(zip(table(page)["point"], table(page)["max"], strict=True))
    assert second == {name: most if name.endswith(".mask") else most * 2 for name, most in first.items()}


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"not a trace", "notes <b>.safetensors is not a whole trace"),
        (b"", "notes <b>.safetensors is not a whole trace"),
        (save({"a": torch.zeros(2)}), "is a safetensors file, but not a trace"),
    ],
)
def test_another_file_is_answered_by_one_sentence(page, bundled, data, sentence):
    opened(page, point="logits")
    give(page, data, "notes <b>.safetensors")
    assert sentence in words(page)
    assert "<b>" not in said(page)
    assert np.array_equal(cells(page), the_trace(bundled)["logits"][0].numpy())
    assert "tensors_choice" not in page.session_state


def test_a_closed_file_is_gone(page, bundled):
    opened(page, point="logits")
    give(page, saved(the_trace(bundled, "-5.00")))
    page.button(key="tensors_close").click()
    again(page)
    assert "tensors_choice" not in page.session_state
    assert np.array_equal(cells(page), the_trace(bundled)["logits"][0].numpy())


def test_a_file_that_is_no_longer_kept_is_said(page, bundled):
    opened(page)
    give(page, saved(the_trace(bundled, "-5.00")))
    tensor_sources._opened.clear()
    again(page)
    assert "run.safetensors is no longer kept: open it again" in words(page)


# --- the pinned run


def test_a_less_b_is_the_difference_to_the_pinned_run(page, bundled):
    opened(page, point="decoder.1.cross.weights", pin_checkpoint="numbers", pin_text="-5.00", shown="A-B")
    assert "There is no point decoder.1.cross.weights of one shape in A and B:" in words(page)  # other lengths
    opened(
        page, text="29,284.31", pin_checkpoint="numbers", pin_text="29,284.30", shown="A-B", point="encoder.0.self.key"
    )
    mine, other = the_trace(bundled, "29,284.31"), the_trace(bundled)
    want = mine["encoder.0.self.key"].double() - other["encoder.0.self.key"].double()
    assert np.array_equal(cells(page), want[0, 0].float().numpy())
    assert figure(page)["layout"]["title"]["text"] == "A − B, encoder.0.self.key[0, 0, :, :]"


def test_the_pinned_run_can_be_looked_at(page, bundled):
    opened(page, point="logits", pin_checkpoint="numbers", pin_text="-5.00", shown="B")
    assert np.array_equal(cells(page), the_trace(bundled, "-5.00")["logits"][0].numpy())


# --- the page


@pytest.mark.parametrize("text", ["", "7" * 10_000])
def test_bad_input_is_answered_by_one_sentence(page, text):
    opened(page, text=text)
    assert not page.get("plotly_chart")
    assert "type at least one character" in words(page) or "10,002 tokens" in words(page)


@pytest.mark.parametrize("text", ["7", "7" * 46, "<b>1</b>&amp;", "1🙂", "שלום 1"])
def test_any_text_that_is_read_is_shown(page, text):
    opened(page, text=text, point="encoder.0.self.weights")
    assert cells(page).shape[0] >= 3
    assert "<b>" not in said(page)


def test_on_a_projector_picture_and_numbers_are_scenes_of_their_own_and_the_type_is_larger(page):
    opened(page)
    before = json.loads(page.get("plotly_chart")[0].proto.spec)["layout"]
    opened(page, projector="on")
    after = json.loads(page.get("plotly_chart")[0].proto.spec)["layout"]
    now, then = (layout["template"]["layout"]["font"]["size"] for layout in (after, before))
    assert now == pytest.approx(view.PROJECTED * then)
    assert after["height"] < 620  # of 720, with room for the caption
    said = "".join(element.proto.body for element in page.get("html"))
    assert ".st-key-tensors_facts" in said and "decoder.1.cross.weights of the run" in said


def test_the_page_says_how_to_read_it_and_what_not_to_conclude(page):
    opened(page)
    assert "How to read it" in words(page) and "What not to conclude" in words(page)
    assert "numbers change with the seed" in words(page)


def test_the_page_runs_alone(alone):
    app = alone("tensors.py")
    assert not app.exception
    assert [title.value for title in app.title] == ["Tensors"]
    assert len(app.get("plotly_chart")) == 1


def test_without_a_model_the_page_says_what_to_do(page, tmp_path_factory, monkeypatch):
    empty = tmp_path_factory.mktemp("empty")
    monkeypatch.setattr(contents, "bundled_folder", lambda: empty)
    assert "viz-transformer train numbers" in said(opened(page))


def test_a_saved_picture_says_whose_numbers_it_has(bundled):
    ckpt = load(bundled / "numbers")
    plain = trace(ckpt, "4.20", "one")
    dropped = training_trace(ckpt, "4.20", plain.tgt_ids, 7)

    def caption(first, name="run", second=None):
        return tensor_sources.Looked(first, name, "", None, second).caption

    assert caption(plain) is None  # the run of the page
    assert caption(plain, tensor_sources.FILE) == f"numbers, trace {plain.id}"
    in_training = f"numbers, trace {dropped.id} in training mode with dropout seed 7"
    assert caption(dropped) == in_training
    assert caption(plain, second=dropped) == f"numbers, trace {plain.id} − {in_training}"
