import base64
import re
from dataclasses import replace

import numpy as np
import pytest
import torch
from builders import saved as built
from builders import tiny_checkpoint
from page_driver import (
    TEXT,
    again,
    all_sent,
    csv_lines,
    figures,
    markup,
    open_table,
    opener,
    select,
    sent,
    stale,
    the_run,
    words,
)
from safetensors.torch import save
from watched import watched_trace
from wording import wording

from viz_transformer.analysis.tensors import points
from viz_transformer.analysis.tensors.points import entries, statistics
from viz_transformer.analysis.tensors.trace_files import open_trace as trace_of
from viz_transformer.analysis.tensors.trace_files import pack_trace
from viz_transformer.checkpoint import load
from viz_transformer.running.decoding import decode
from viz_transformer.running.tracing import trace
from viz_transformer.running.training_mode import training_trace
from viz_transformer.ui.pages.tensors import page, point_list, tensor_sources
from viz_transformer.ui.session import cached

open_trace = opener("tensors")


def figure(app):
    (found,) = figures(app)
    return found


def title(app):
    """That of the one picture, which is of cells or of bars."""
    drawn = [header["title"] for header, _ in all_sent(app, "matrix")]
    (found,) = (*drawn, *(each["layout"]["title"]["text"] for each in figures(app)))
    return found


def cells(app):
    """The numbers of a heatmap, as the browser gets them."""
    return sent(app, "matrix")[1]["values"]


def the_trace(folder, *of):
    return the_run(folder, *of).trace


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


def test_the_page_opens_with_the_attention_that_is_selected(app, bundled):
    open_trace(app, kind="encoder", layer="0", heads="2")
    assert [title.value for title in app.title] == ["Tensors"]
    assert app.radio(key="tensors_point").value == "encoder.0.self.weights"
    recorded = the_trace(bundled)["encoder.0.self.weights"][0, 2].numpy()
    assert np.array_equal(cells(app), recorded)
    assert title(app) == "encoder.0.self.weights[0, 2, :, :]"


def test_the_table_has_shape_type_and_statistics_of_the_whole_and_of_the_picture(app, bundled):
    open_trace(app, point="decoder.1.cross.head_out", heads="3")
    value = the_trace(bundled)["decoder.1.cross.head_out"]
    whole, part = statistics(value), statistics(value[0, 3])
    rows = re.findall(r"<tr><th>(\w+)</th>(.*?)</tr>", markup(app))
    assert [name for name, _ in rows] == ["whole", "picture"]
    for found, (_, row), letters, shape in zip(
        (whole, part), rows, ("[B, H, Q, E]", "[Q, E]"), (value.shape, value.shape[2:]), strict=True
    ):
        cell = re.findall(r"<td>(.*?)</td>", row)
        assert cell[0] == f"<i>{letters}</i>{list(shape)}"
        assert cell[1] == "float32"
        numbers = (found.minimum, found.mean, found.maximum, found.variance)
        assert cell[2:6] == [f"{number:.4g}" for number in numbers]
        assert cell[6:] == ["0", "0", point_list.percent(found.zeros, found.count)]
    assert "weights @ value by head" in words(app)


@pytest.mark.parametrize("layers", ["last", pytest.param("all", marks=pytest.mark.slow)])
def test_every_point_can_be_looked_at(app, bundled, layers):
    open_trace(app, checkpoint="numbers-tiny")
    listed = entries(the_trace(bundled, TEXT, "numbers-tiny"))
    last = {re.sub(r"\d+", "", entry.name): entry for entry in listed}
    for place, entry in enumerate(listed if layers == "all" else last.values()):
        select(app, point=entry.name, chart=("heatmap", "histogram")[place % 2], **point_list._implied(entry.name))
        again(app)
        assert title(app).startswith(f"{entry.name}[0,"), entry.name
        assert app.radio(key="tensors_point").value == entry.name
        assert ("derived from recorded points" in words(app)) == entry.derived


def test_a_mask_is_drawn_in_two_tones_with_its_share_of_true(app, bundled):
    open_trace(app, point="decoder.0.self.mask", kind="decoder", layer="0")
    mask = the_trace(bundled)["decoder.0.self.mask"]
    assert np.array_equal(cells(app), mask[0, 0].numpy().astype(np.float32))
    assert sent(app, "matrix")[0]["names"] == ["False", "True: may attend"]
    assert "Boolean" in words(app) and "share of True" in words(app)
    share = point_list.percent(int(mask.sum()), mask.numel())
    assert f"<td>{share}</td>" in markup(app)


def test_the_histogram_counts_the_values_of_the_slice(app, bundled):
    open_trace(app, point="logits", chart="histogram")
    recorded = the_trace(bundled)["logits"]
    bars = figure(app)["data"][0]
    counts = np.frombuffer(base64.b64decode(bars["y"]["bdata"]), bars["y"]["dtype"])
    assert counts.sum() == recorded.numel()
    assert any(
        f"{recorded.numel():,} values in 48 bins" in note["text"] for note in figure(app)["layout"]["annotations"]
    )


def test_the_columns_of_the_logits_are_the_vocabulary(app, bundled):
    columns = sent(open_trace(app, point="logits"), "matrix")[0]["columns"]
    shown = [token["text"] for token in columns["tokens"]]
    assert shown[:2] == ["<s>", "</s>"] and "<b>" in shown
    assert (columns["role"], columns["field"], columns["ink"]) == ("vocabulary entry", "", "muted")


def test_the_head_is_the_one_of_the_whole_app(app):
    open_trace(app, heads="1")
    box = app.number_input(key="tensors_head")
    assert (box.value, box.min, box.max) == (1, 0, 3)
    box.set_value(3)
    again(app)
    assert app.session_state["selection"]["heads"] == (3,)
    assert title(app) == "decoder.1.cross.weights[0, 3, :, :]"


def test_a_scale_reaches_as_far_as_the_whole_point(app, bundled):
    open_trace(app, point="decoder.1.cross.head_out", heads="0")
    largest = the_trace(bundled)["decoder.1.cross.head_out"].abs().max().item()
    header, _ = sent(app, "matrix")
    assert header["most"] == pytest.approx(largest) and header["signed"]
    assert (header["unit"], header["quantity"], header["digits"]) == ("value", "value", 9)


def test_a_point_that_would_be_too_large_to_compute_is_said(app, monkeypatch):
    monkeypatch.setattr(points, "LARGEST_DERIVED", 10)
    page._viewed.clear()
    open_trace(app, point="decoder.1.cross.scores")
    assert wording("decoder_cross_scores_would_be_computed_now") in words(app)
    assert app.radio(key="tensors_point").value == "decoder.1.cross.scores"


# --- the tree


def test_the_tree_lists_a_part_with_recorded_and_derived_points(app, bundled):
    open_trace(app)
    listed = entries(the_trace(bundled))
    assert app.selectbox(key="tensors_part").options == list(dict.fromkeys(entry.part for entry in listed))
    inside = [(entry.short, "derived" if entry.derived else "recorded") for entry in listed]
    assert tree(app) == [item for item, entry in zip(inside, listed, strict=True) if entry.part == "decoder, layer 1"]
    assert ("cross.scores", "derived") in tree(app) and ("cross.weights", "recorded") in tree(app)


def test_choosing_a_point_chooses_its_kind_and_layer_for_the_whole_app(app):
    open_trace(app)
    app.radio(key="tensors_point").set_value("decoder.1.self.query")
    again(app)
    assert {"point": "decoder.1.self.query", "kind": "decoder", "layer": 1}.items() <= app.session_state[
        "selection"
    ].items()
    app.selectbox(key="tensors_part").set_value("encoder, layer 0")
    again(app)
    selection = app.session_state["selection"]
    assert (selection["point"], selection["kind"], selection["layer"]) == ("encoder.0.self.query", "encoder", 0)


def test_another_part_that_lacks_the_point_shows_its_first(app):
    open_trace(app, point="decoder.1.cross.weights")
    app.selectbox(key="tensors_part").set_value("encoder, embedding")
    again(app)
    assert app.session_state["selection"]["point"] == "encoder.embed.token"
    assert app.session_state["selection"]["kind"] == "cross"


def test_a_kind_and_layer_chosen_elsewhere_move_the_point(app):
    open_trace(app, point="decoder.1.cross.key")
    select(app, kind="encoder", layer=0)
    again(app)
    assert app.radio(key="tensors_point").value == "encoder.0.self.key"
    again(app)  # what was moved stays there
    assert app.radio(key="tensors_point").value == "encoder.0.self.key"
    assert app.session_state["selection"]["point"] == "encoder.0.self.key"
    select(app, point="decoder.2.ffn.hidden", kind="cross", layer=1)
    again(app)
    assert app.radio(key="tensors_point").value == "decoder.2.ffn.hidden"


def test_an_address_with_a_point_alone_shows_it(app):
    open_trace(app, point="decoder.2.self.value")
    assert app.radio(key="tensors_point").value == "decoder.2.self.value"
    selection = app.session_state["selection"]
    assert (selection["kind"], selection["layer"]) == ("decoder", 2)


def test_a_point_that_is_not_there_is_said(app):
    open_trace(app, point="decoder.7.ffn.hidden")
    assert wording("there_is_no_such_point_so_another_is_shown") in words(app)
    assert not app.exception


def test_a_filter_lists_whole_names(app):
    open_trace(app, point="decoder.1.cross.weights")
    app.text_input(key="tensors_filter").set_value("CROSS.weights")
    again(app)
    assert tree(app) == [(f"decoder.{layer}.cross.weights", "recorded") for layer in range(3)]
    assert app.radio(key="tensors_point").value == "decoder.1.cross.weights"
    app.text_input(key="tensors_filter").set_value("ffn hidden")
    again(app)
    assert app.radio(key="tensors_point").value is None
    assert title(app).startswith("decoder.1.cross.weights")
    app.radio(key="tensors_point").set_value("decoder.2.ffn.hidden")
    again(app)
    assert title(app) == "decoder.2.ffn.hidden[0, :, :]"


@pytest.mark.parametrize("words_given", ["nothing here", "<b>", "cross*", "🙂"])
def test_a_filter_that_finds_nothing_says_so(app, words_given):
    open_trace(app)
    app.text_input(key="tensors_filter").set_value(words_given)
    again(app)
    assert wording("no_name_of_a_point_holds", words_given) in words(app)
    assert "<b>" not in markup(app)


def test_a_long_list_is_cut_and_says_so(app, monkeypatch):
    monkeypatch.setattr(point_list, "MAX_LISTED", 5)
    open_trace(app)
    app.text_input(key="tensors_filter").set_value("r")
    again(app)
    assert len(tree(app)) == 5
    assert re.search(r"The first 5 of \d+ are listed: type more", words(app))


# --- CSV, saving


def test_the_csv_is_made_when_it_is_asked_for(app, bundled, downloads):
    open_trace(app, point="decoder.1.cross.weights", heads="2")
    recorded = the_trace(bundled)
    assert set(downloads) == {f"numbers-{recorded.id}.safetensors"}
    table = open_table(app, "tensors_heatmap")
    assert list(table.columns[:2]) == ["0 <s>", f"1 {recorded.src_tokens[1]}"]
    assert np.array_equal(table.to_numpy(np.float32), recorded["decoder.1.cross.weights"][0, 2].numpy())
    head, *rows = csv_lines(downloads["decoder.1.cross.weights-0-2.csv"]())
    assert head == ["query", "token", *recorded.src_tokens]
    values = np.array([[np.float32(cell) for cell in row[2:]] for row in rows])
    assert np.array_equal(values, recorded["decoder.1.cross.weights"][0, 2].numpy())


def test_a_saved_trace_is_the_run(app, bundled, downloads):
    open_trace(app, seed="5")
    want = the_training(bundled, 5)
    after = trace_of(downloads[f"numbers-{want.id}-seed-5.safetensors"](), "x")
    assert all(torch.equal(after[point], want[point]) for point in want.points())


def the_training(bundled, seed, text="29,284.30", name="numbers"):
    ckpt = load(bundled / name)
    return training_trace(ckpt, text, decode(ckpt, text).trace.tgt_ids, seed)


# --- training mode


def test_training_mode_is_a_run_with_dropout_under_its_seed(app, bundled):
    open_trace(app, point="encoder.0.self.head_out", kind="encoder", layer="0")
    assert app.number_input(key="tensors_seed").disabled
    before = cells(app)
    app.toggle(key="tensors_training").set_value(True)
    again(app)
    assert app.session_state["selection"]["seed"] == 0
    assert wording("training_mode_dropout_of_with_seed_another", "0.1", 0) in words(app)
    assert wording("rows_of_attention_weights_need_not_sum_to", 1) in words(app)
    assert np.array_equal(cells(app), the_training(bundled, 0)["encoder.0.self.head_out"][0, 0].numpy())
    app.number_input(key="tensors_seed").set_value(7)
    again(app)
    assert np.array_equal(cells(app), the_training(bundled, 7)["encoder.0.self.head_out"][0, 0].numpy())
    app.toggle(key="tensors_training").set_value(False)
    again(app)
    assert app.session_state["selection"]["seed"] is None
    assert np.array_equal(cells(app), before)
    assert "dropout of" not in words(app)
    app.toggle(key="tensors_training").set_value(True)
    again(app)
    assert app.session_state["selection"]["seed"] == 7  # the seed is kept


def test_an_address_with_a_seed_is_in_training_mode(app, bundled):
    open_trace(app, point="logits", seed="3")
    assert app.toggle(key="tensors_training").value
    assert np.array_equal(cells(app), the_training(bundled, 3)["logits"][0].numpy())


def test_the_cached_model_and_run_stay_as_they_were(app, bundled):
    open_trace(app, seed="3")
    (summary,) = [summary for summary in cached.summaries() if summary.name == "numbers"]
    ckpt = cached.checkpoint(summary)
    assert not any(module.training for module in ckpt.model.modules())
    want = the_trace(bundled)
    kept = cached.run(summary, "29,284.30").trace
    assert all(torch.equal(kept[name], want[name]) for name in want.points())
    assert torch.equal(decode(ckpt, "29,284.30").trace["logits"], want["logits"])


def test_a_model_that_only_writes_has_a_training_mode(at_the_zoo, zoo):
    open_trace(at_the_zoo, checkpoint="shakespeare", text="ROT:", point="logits", seed="3")
    ckpt = load(zoo / "shakespeare")
    ids = decode(ckpt, "ROT:").trace.tgt_ids
    assert np.array_equal(cells(at_the_zoo), training_trace(ckpt, ids, None, 3)["logits"][0].numpy())


@pytest.mark.parametrize("name", ["multi30k-de-en", "en-it-slips", "own", "shakespeare"])
@pytest.mark.parametrize("seed", [None, "1"])
def test_models_of_all_kinds_are_shown(at_the_zoo, name, seed):
    address = {} if seed is None else {"seed": seed}
    open_trace(at_the_zoo, checkpoint=name, text="ROT:" if name == "shakespeare" else "bad", **address)
    assert len(all_sent(at_the_zoo, "matrix")) == 1, words(at_the_zoo)
    select(at_the_zoo, chart="points")
    again(at_the_zoo)
    assert len(at_the_zoo.dataframe) == 1


# --- a file beside the run


def test_an_opened_file_is_looked_at(app, bundled):
    open_trace(app, point="logits")
    other = the_trace(bundled, "-5.00")
    give(app, pack_trace(other))
    assert app.button_group(key="tensors_choice").value == "file"
    assert np.array_equal(cells(app), other["logits"][0].numpy())
    assert "File: run.safetensors, a run of numbers that reads <s> - 5 . 0 0 </s>" in words(app)
    app.button_group(key="tensors_choice").set_value("run")
    again(app)
    assert np.array_equal(cells(app), the_trace(bundled)["logits"][0].numpy())


def test_a_file_has_layers_and_heads_of_its_own(at_the_zoo, folder, zoo):
    open_trace(at_the_zoo, checkpoint="own", text="bad", layer="1")
    other = the_trace(folder)
    give(at_the_zoo, pack_trace(other))
    at_the_zoo.radio(key="tensors_point").set_value("decoder.1.cross.key")
    again(at_the_zoo)
    selection = dict(at_the_zoo.session_state["selection"])
    at_the_zoo.selectbox(key="tensors_part").set_value("decoder, layer 2")
    again(at_the_zoo)
    at_the_zoo.number_input(key="tensors_own_h").set_value(3)
    again(at_the_zoo)
    assert np.array_equal(cells(at_the_zoo), other["decoder.2.cross.key"][0, 3].numpy())
    now = at_the_zoo.session_state["selection"]
    assert [now[name] for name in ("kind", "layer", "heads")] == [
        selection[name] for name in ("kind", "layer", "heads")
    ]


def test_the_file_of_a_watched_module_is_looked_at(app, bundled):
    watched = watched_trace(name="mine")
    give(open_trace(app), pack_trace(watched))
    assert "File: run.safetensors, a run of mine that reads the cat sat <b> (empty)" in words(app)
    for name, at in (("decoder.1.cross.weights", (0, 0)), ("encoder.1.residual_out", (0,)), ("modules.decoder", (0,))):
        select(app, point=name)
        again(app)
        assert np.array_equal(cells(app), watched[name][at].numpy()), name
    for choice in ("difference", "file"):
        app.button_group(key="tensors_choice").set_value(choice)
        select(app, chart="points")
        again(app)
    assert list(table(app)["point"]) == list(watched.points())


def test_run_less_file_is_the_difference(app, bundled):
    open_trace(app, point="decoder.1.cross.query", heads="1")
    give(app, pack_trace(the_training(bundled, 4)))
    app.button_group(key="tensors_choice").set_value("difference")
    again(app)
    name = "decoder.1.cross.query"
    want = the_trace(bundled)[name].double() - the_training(bundled, 4)[name].double()
    assert np.array_equal(cells(app), want[0, 1].float().numpy())
    assert title(app) == f"run − file, {name}[0, 1, :, :]"
    assert "float64" in words(app)
    header, _ = sent(app, "matrix")
    assert header["unit"] == "run − file" and header["quantity"] == "difference"


def table(app):
    (frame,) = app.dataframe
    return frame.value


def test_all_points_of_a_difference_are_sorted_and_what_only_one_has_is_listed(app, bundled):
    open_trace(app, chart="points")
    other = decode(load(bundled / "numbers-tiny"), "29,284.30").trace
    give(app, pack_trace(other))
    app.button_group(key="tensors_choice").set_value("difference")
    again(app)
    rows, mine = table(app), the_trace(bundled)
    shared = mine.diff(other)
    assert dict(zip(rows["point"], rows["largest |run − file|"], strict=True)) == shared
    assert list(rows["largest |run − file|"]) == sorted(shared.values(), reverse=True)
    assert wording("only_in_run_decoder_residual_in") in words(app)


def test_traces_of_two_models_without_a_common_point_are_said(app, bundled):
    open_trace(app)
    ckpt = load(bundled / "numbers")
    other = trace(ckpt, "7", "one")
    give(app, pack_trace(other))
    app.button_group(key="tensors_choice").set_value("difference")
    again(app)
    assert wording("the_two_traces_have_no_point_of_the_same_name") in words(app)
    assert wording("in_two_shapes_so_not_subtracted_encoder_embed_token") in words(app)


def test_all_points_of_a_run_have_their_statistics(app, bundled):
    rows = table(open_trace(app, chart="points"))
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
    assert wording("derived_points_are_not_in_the_table") in words(app)


def test_two_files_that_say_the_same_of_themselves_are_two(app, bundled):
    open_trace(app, chart="points")
    recorded = the_trace(bundled)
    give(app, pack_trace(recorded))
    first = dict(zip(table(app)["point"], table(app)["max"], strict=True))
    values = {name: value if name.endswith(".mask") else value * 2 for name, value in recorded.values.items()}
    give(app, pack_trace(replace(recorded, values=values)), "other.safetensors")
    second = dict(zip(table(app)["point"], table(app)["max"], strict=True))
    assert second == {name: most if name.endswith(".mask") else most * 2 for name, most in first.items()}


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"not a trace", "notes <b>.safetensors is not a whole trace"),
        (b"", "notes <b>.safetensors is not a whole trace"),
        (save({"a": torch.zeros(2)}), wording("is_a_safetensors_file_but_not_a_trace")),
    ],
)
def test_another_file_is_answered_by_one_sentence(app, bundled, data, sentence):
    open_trace(app, point="logits")
    give(app, data, "notes <b>.safetensors")
    assert sentence in words(app)
    assert "<b>" not in markup(app)
    assert np.array_equal(cells(app), the_trace(bundled)["logits"][0].numpy())
    assert "tensors_choice" not in app.session_state


def test_a_closed_file_is_gone(app, bundled):
    open_trace(app, point="logits")
    give(app, pack_trace(the_trace(bundled, "-5.00")))
    app.button(key="tensors_close").click()
    again(app)
    assert "tensors_choice" not in app.session_state
    assert np.array_equal(cells(app), the_trace(bundled)["logits"][0].numpy())


def test_a_file_that_is_no_longer_kept_is_said(app, bundled):
    open_trace(app)
    give(app, pack_trace(the_trace(bundled, "-5.00")))
    cached.store().clear()
    again(app)
    assert wording("run_safetensors_is_no_longer_kept_open_it_again") in words(app)


# --- the pinned run


def test_a_less_b_is_the_difference_to_the_pinned_run(app, bundled):
    open_trace(app, point="decoder.1.cross.weights", pin_checkpoint="numbers", pin_text="-5.00", shown="A-B")
    assert wording("there_is_no_such_point_of_one_shape") in words(app)  # other lengths
    open_trace(
        app, text="29,284.31", pin_checkpoint="numbers", pin_text="29,284.30", shown="A-B", point="encoder.0.self.key"
    )
    mine, other = the_trace(bundled, "29,284.31"), the_trace(bundled)
    want = mine["encoder.0.self.key"].double() - other["encoder.0.self.key"].double()
    assert np.array_equal(cells(app), want[0, 0].float().numpy())
    assert title(app) == "A − B, encoder.0.self.key[0, 0, :, :]"


def test_the_pinned_run_can_be_looked_at(app, bundled):
    open_trace(app, point="logits", pin_checkpoint="numbers", pin_text="-5.00", shown="B")
    assert np.array_equal(cells(app), the_trace(bundled, "-5.00")["logits"][0].numpy())


def both_pictures(app):
    """The numbers of the two heatmaps."""
    drawn = all_sent(app, "matrix")
    assert len(drawn) == 2
    return [arrays["values"] for _, arrays in drawn]


def test_a_pinned_run_has_the_same_point_beside_it_on_one_scale_with_its_own_tokens(app, bundled):
    pin = {"pin_checkpoint": "numbers-tiny", "pin_text": "7", "shown": "A|B"}
    open_trace(app, point="encoder.0.self.key", heads="2", **pin)
    a, b = the_trace(bundled), the_run(bundled, "7", name="numbers-tiny").trace
    for found, run in zip(both_pictures(app), (a, b), strict=True):
        assert np.array_equal(found, run["encoder.0.self.key"][0, 2].numpy())
    headers = [header for header, _ in all_sent(app, "matrix")]
    ends = [header["most"] for header in headers]
    largest = max(float(each["encoder.0.self.key"].abs().max()) for each in (a, b))
    assert ends[0] == ends[1] == pytest.approx(largest)
    assert [header["title"][:2] for header in headers] == ["A:", "B:"] and all(header["paired"] for header in headers)
    sizes = [list(each["encoder.0.self.key"].shape) for each in (a, b)]
    assert wording("a_minus_b_needs_one_shape", *sizes) in words(app)
    rows = re.findall(r"<tr><th>([^<]+)</th>", markup(app))
    assert rows == ["whole, A", "picture, A", "whole, B", "picture, B"]
    assert "values of A: min" in words(app)


def test_histograms_of_two_runs_have_the_same_ends(app):
    pin = {"pin_checkpoint": "numbers", "pin_text": "7", "shown": "A|B"}
    open_trace(app, point="encoder.0.ffn.hidden", chart="histogram", **pin)
    first, second = figures(app)
    for axis in ("xaxis", "yaxis"):
        assert first["layout"][axis]["range"] == second["layout"][axis]["range"]


@pytest.mark.parametrize(
    ("point", "sentence"),
    [
        ("encoder.0.self.weights", wording("b_has_no_such_point", "encoder.0.self.weights")),
        ("decoder.0.self.weights", wording("b_has_no_such_head", 3, 1)),
    ],
)
def test_what_b_does_not_have_is_said_beside_as_picture(at_the_zoo, zoo, point, sentence):
    saved_with_two_heads = tiny_checkpoint("decoder-only", n_heads=2)
    built(saved_with_two_heads, zoo / "two-heads")
    pin = {"pin_checkpoint": "two-heads", "pin_text": "ab", "shown": "A|B"}
    open_trace(at_the_zoo, checkpoint="own", text="abc", point=point, heads="3", **pin)
    assert len(all_sent(at_the_zoo, "matrix")) == 1 and sentence in words(at_the_zoo)


# --- the page


@pytest.mark.parametrize("text", ["", "7" * 10_000])
def test_bad_input_is_answered_by_one_sentence(app, text):
    open_trace(app, text=text)
    assert stale(app) and len(all_sent(app, "matrix")) == 1
    assert wording("type_at_least_one_character") in words(app) or "10,002 tokens" in words(app)


@pytest.mark.parametrize("text", ["7", "7" * 46, "<b>1</b>&amp;", "1🙂", "שלום 1"])
def test_any_text_that_is_read_is_shown(app, text):
    open_trace(app, text=text, point="encoder.0.self.weights")
    assert cells(app).shape[0] >= 3
    assert "<b>" not in markup(app)


def test_on_a_projector_picture_and_numbers_are_scenes_of_their_own_and_the_type_is_larger(app):
    open_trace(app, chart="histogram")
    before = figure(app)["layout"]
    open_trace(app, chart="histogram", projector="on")
    after = figure(app)["layout"]
    now, then = (layout["template"]["layout"]["font"]["size"] for layout in (after, before))
    assert now == pytest.approx(page.PROJECTED * then)
    assert after["height"] < 620  # of 720, with room for the caption
    said = markup(app)
    assert ".st-key-tensors_facts" in said and "decoder.1.cross.weights of the run" in said


def test_the_page_says_how_to_read_it_and_what_not_to_conclude(app):
    open_trace(app)
    assert "How to read it" in words(app) and "What not to conclude" in words(app)
    assert wording("numbers_change_with_the_seed") in words(app)


def test_the_page_runs_alone(alone):
    app = alone("tensors")
    assert [heading.value for heading in app.title] == ["Tensors"]
    assert len(all_sent(app, "matrix")) == 1


def test_a_saved_picture_says_whose_numbers_it_has(bundled):
    ckpt = load(bundled / "numbers")
    plain = trace(ckpt, "4.20", "one")
    dropped = training_trace(ckpt, "4.20", plain.tgt_ids, 7)

    def caption(first, name="run", second=None):
        return tensor_sources.Looked(first, name, "", None, second).caption

    assert caption(plain) is None  # the run of the page
    assert caption(plain, tensor_sources.FILE) == f"numbers, trace {plain.id}"
    in_training = wording("caption_of_a_trace_in_training_mode", dropped.id, 7)
    assert caption(dropped) == in_training
    assert caption(plain, second=dropped) == f"numbers, trace {plain.id} − {in_training}"
