import html
import json
import re

import numpy as np
import pytest
from builders import saved, tiny_checkpoint
from page_driver import TEXT, again, csv_lines, figures, markup, open_table, opener, stale, told, words
from wording import wording

import viz_transformer.analysis.layers.lens as lens_module
from viz_transformer.analysis.layers.lens import lens
from viz_transformer.analysis.layers.sublayers import flows, norm_view, place_of
from viz_transformer.checkpoint import load
from viz_transformer.figures import labels
from viz_transformer.model.hooked_model import spec_of
from viz_transformer.running.decoding import decode
from viz_transformer.running.tracing import trace

opened = opener("layers")


def rows(app, number=0):
    """The cells of a table by token: head, body and foot, as text."""
    tables = re.findall(r'<table class="vt-layers.*?</table>', markup(app), flags=re.DOTALL)
    found = re.findall(r"<tr.*?</tr>", tables[number], flags=re.DOTALL)
    cells = (re.findall(r"<t[hd].*?</t[hd]>", row, flags=re.DOTALL) for row in found)
    return [[html.unescape(re.sub(r"<[^>]+>", "", cell)) for cell in row] for row in cells]


def marked(app):
    """The heads of the rows that are marked as selected."""
    return [
        re.sub(r"<[^>]+>", " ", head) for head in re.findall(r'<tr class="vt-ly-chosen">(<th>.*?</th>)', markup(app))
    ]


def the_run(folder, text=TEXT, name="numbers"):
    ckpt = load(folder / name)
    return ckpt, decode(ckpt, text)


def shown(values, digits):
    return [labels.number(float(value), digits) for value in values]


def saved_csv(app, downloads, key):
    """The lines of the CSV of a table."""
    downloads.clear()
    open_table(app, key)
    (data,) = downloads.values()
    head, *lines = csv_lines(data())
    return [dict(zip(head, line, strict=True)) for line in lines]


# ---- a sub-layer


@pytest.mark.parametrize(
    ("kind", "part", "site"),
    [
        ("cross", "attention", "decoder.1.cross"),
        ("decoder", "attention", "decoder.1.self"),
        ("cross", "ffn", "decoder.1.ffn"),
        ("encoder", "ffn", "encoder.0.ffn"),
    ],
)
def test_the_table_has_what_the_sub_layer_read_added_and_left_by_token(app, bundled, kind, part, site):
    _, run = the_run(bundled)
    opened(app, kind=kind, layer=site.split(".")[1], part=part)
    flow = next(flow for flow in flows(run.trace, site.split(".")[0]) if flow.place.site == site)
    head, *body = rows(app)
    assert head[:7] == ["token", "before", "after norm", "added", "share added", "after", "cosine"]
    assert (head[-1] == "active units") is (part == "ffn")
    columns = list(zip(*body[:-2], strict=True))
    tokens = run.trace.src_tokens if kind == "encoder" else run.trace.tgt_tokens
    assert columns[0] == tuple(f"{row}{labels.visible(token)}" for row, token in enumerate(tokens))
    for column, name, digits in ((1, "came", 2), (2, "read", 2), (3, "added", 2), (4, "share", 3), (6, "cosine", 3)):
        assert list(columns[column]) == shown(getattr(flow, name), digits)
        assert body[-2][column] == labels.number(float(getattr(flow, name).mean()), digits)
    assert body[-1][0] == "baseline" and body[-1][6] == labels.number(flow.baseline, 3)
    assert f"averaged over {flow.pairs:,} pairs" in words(app)


def test_a_post_norm_model_shows_the_sum_before_its_norm_and_says_why(at_the_zoo, zoo):
    opened(at_the_zoo, checkpoint="en-it-slips", text="bad", kind="cross", layer="1")
    assert rows(at_the_zoo)[0] == ["token", "before", "added", "share added", "sum", "after", "cosine"]
    _, run = the_run(zoo, "bad", "en-it-slips")
    flow = flows(run.trace, "decoder")[4]
    own = int(flow.counted.sum())
    assert [row[4] for row in rows(at_the_zoo)[1:-2]] == shown(flow.total[:own], 2)
    assert wording("a_norm_over_positions_rescales_the_stream") in words(at_the_zoo)
    assert "by construction" not in words(at_the_zoo)
    assert wording("formula_of_a_post_norm") in words(at_the_zoo)
    opened(at_the_zoo, kind="encoder", i="1")
    given = sum(typed != "" for typed in run.trace.src_originals)
    assert wording("positions_of_padding_are_left_out_the_table", 20 - given) in words(at_the_zoo)
    assert len(rows(at_the_zoo)) == 1 + given + 2
    assert told(at_the_zoo, "rail")["norm"] == "post"


def test_lengths_behind_a_post_norm_of_each_token_are_said_to_be_constant_and_those_of_a_pre_norm_are_not(
    app, tmp_path, models_in
):
    opened(app)
    assert "by construction" not in words(app) and "whole text at once" not in words(app)
    assert wording("formula_of_a_pre_norm") in words(app)
    saved(tiny_checkpoint(norm="post", final_norm=False), tmp_path / "zoo" / "post")
    models_in(tmp_path / "zoo")
    opened(app, checkpoint="post", text="abc")
    assert wording("lengths_are_nearly_constant_by_construction") in words(app)


def test_the_selected_token_is_marked_in_every_table(app, bundled):
    opened(app, kind="decoder", t="2")
    assert [mark.split()[0] for mark in marked(app)] == ["2", "2", "2"]
    opened(app, kind="encoder", layer="0", i="3")
    assert [mark.split()[0] for mark in marked(app)] == ["3", "2", "3"]  # the lens is the decoder's


def test_active_units_are_counted_for_a_feed_forward_alone(app, bundled):
    _, run = the_run(bundled)
    opened(app, kind="decoder", part="ffn")
    active = run.trace["decoder.1.ffn.hidden"][0] > 0
    never, always = int((~active.any(0)).sum()), int(active.all(0).sum())
    assert wording("of_hidden_units_are_active_at_no_token_of_this_text", 16, never, always) in words(app)
    opened(app, part="attention")
    assert "hidden units" not in words(app).split("How to read it")[0]


# ---- norms


def test_mean_and_variance_before_and_after_stand_by_token_with_gain_and_offset(app, bundled):
    ckpt, run = the_run(bundled)
    opened(app, kind="cross", layer="2")
    view = norm_view(run.trace, ckpt.model, place_of(spec_of(ckpt.config), "cross", 2, "attention"))
    head, *body = rows(app, -1)
    assert head == [
        "token",
        *(f"{name} {at}" for at in ("before", "normalised", "after") for name in ("mean", "variance")),
    ]
    for column, values in enumerate((*view.before, *view.between, *view.after), 1):
        assert [row[column] for row in body] == shown(values, 3)
    gains, offsets = figures(app)[-1]["data"]
    assert gains["customdata"] == shown(view.gain, 4) and offsets["customdata"] == shown(view.offset, 4)
    assert wording("matches_the_recorded_one_to_within", f"{view.gap:.1e}") in words(app)
    assert wording("norm_before_cross_attention_decoder_layer", 2) in words(app)


def test_a_norm_over_positions_says_that_all_share_one_mean(at_the_zoo):
    opened(at_the_zoo, checkpoint="en-it-slips", text="bad")
    assert wording("one_mean_and_one_variance_for_all_positions_and_features") in words(at_the_zoo)
    assert re.search(r"One mean, -?\d+\.\d{4}, and one divisor, \d+\.\d{4}, for all positions", words(at_the_zoo))


def test_the_final_norm_can_be_chosen_where_there_is_one(at_the_zoo):
    opened(at_the_zoo, checkpoint="numbers", text="7", kind="encoder", layer="0", part="final")
    assert wording("final_norm_of_the_encoder") in words(at_the_zoo)
    assert "after" not in rows(at_the_zoo)[0]
    opened(at_the_zoo, checkpoint="en-it-slips", text="bad", part="final")
    assert wording("has_no_final_norm_so_an_attention_is_shown", "en-it-slips") in words(at_the_zoo)
    assert at_the_zoo.session_state["selection"]["part"] == "attention"
    assert "after" in rows(at_the_zoo)[0]


# ---- along the stream


def test_the_curves_are_those_of_the_selected_stack_and_token(app, bundled):
    _, run = the_run(bundled)
    for kind, stack, address in (("cross", "decoder", {"t": "3"}), ("encoder", "encoder", {"i": "3"})):
        opened(app, kind=kind, layer="0", **address)
        found = flows(run.trace, stack)
        figure = figures(app)[0]
        assert figure["layout"]["title"]["text"] == f"Along the {stack}'s stream"
        strong = next(line for line in figure["data"] if line["name"].startswith("token 3: "))
        texts = [flow.total[3] for flow in found]
        assert [text.rpartition(": ")[2] for text in strong["customdata"]] == shown([found[0].came[3], *texts], 4)


def test_the_rail_is_this_models_and_carries_the_mean_share(app, bundled):
    _, run = the_run(bundled)
    encoder, decoder = told(opened(app), "rail")["stacks"]
    assert (len(encoder["layers"]), len(decoder["layers"])) == (1, 3)
    shares = [node["share"] for layer in decoder["layers"] for node in layer]
    np.testing.assert_allclose(shares, [flow.share.mean() for flow in flows(run.trace, "decoder")])


# ---- the lens


def test_the_lens_is_that_of_the_run_and_its_last_column_the_answer(app, bundled):
    ckpt, run = the_run(bundled)
    opened(app)
    found = lens(run.trace, ckpt.model)
    head, *body = rows(app, 1)
    assert [name.partition("mean KL")[0] for name in head] == [
        "reads",
        "writes",
        "embedding",
        "layer 0",
        "layer 1",
        "layer 2 = final",
    ]
    assert head[-1].endswith("mean KL 0.00")
    tokens = ckpt.target_codec.vocabulary.tokens
    for row, (cells, step) in enumerate(zip(body, run.steps, strict=True)):
        assert cells[1] == labels.visible(step.token)
        assert cells[-1].startswith(labels.visible(step.token)) and cells[-1].endswith("· 0.00")
        for column in range(4):
            assert cells[2 + column].startswith(labels.visible(tokens[found.top_ids[row, column, 0]]))
            assert cells[2 + column].endswith(f"· {labels.number(float(found.divergence[row, column]), 2)}")
    assert wording("the_logit_lens_is_not_defined_for_the_encoder") in words(app)


def test_the_lens_calls_its_columns_what_they_are_where_each_step_was_a_pass_of_its_own(at_the_zoo, zoo, downloads):
    ckpt = load(zoo / "en-it-slips")
    run = decode(ckpt, "bad")
    found = lens(run.trace, ckpt.model, own=run.per_step_rows)
    opened(at_the_zoo, checkpoint="en-it-slips", text="bad")
    head, *body = rows(at_the_zoo, 1)
    assert [name.partition("mean KL")[0] for name in head][-2:] == ["layer 2 = last pass", "own step"]
    other = 0
    for cells, step in zip(body, run.steps, strict=True):
        assert cells[-1].startswith(labels.visible(step.token))
        other += int(run.trace["logits"][0, step.position].argmax()) != step.token_id
    said = words(at_the_zoo)
    assert wording("in_of_rows_another_token_is_most_probable_there", other, len(run.steps)) in said
    assert "KL(last pass ‖ here)" in said and wording("the_last_column_is_the_runs_own_logits") not in said
    lines = saved_csv(at_the_zoo, downloads, "layers_lens")
    own = [line for line in lines if line["station"] == "own step"][: len(run.steps)]
    assert [float(line["its probability"]) for line in own] == found.written[: len(run.steps), -1].tolist()
    assert [line["best token"] for line in own] == [labels.visible(step.token) for step in run.steps]


def test_the_table_of_the_lens_and_its_csv_hold_all_of_it(app, bundled, downloads):
    ckpt, run = the_run(bundled)
    opened(app)
    lines = saved_csv(app, downloads, "layers_lens")
    found = lens(run.trace, ckpt.model)
    assert len(lines) == 4 * len(run.steps)
    for number, line in enumerate(lines):
        column, row = divmod(number, len(run.steps))
        assert line["station"] == found.stations[column].name
        assert float(line["divergence"]) == found.divergence[row, column]
        assert float(line["probability"]) == found.top_probs[row, column, 0]
        assert float(line["its probability"]) == found.written[row, column]
        assert int(float(line["its rank"])) == found.rank[row, column]


def test_of_a_large_vocabulary_the_lens_has_the_tokens_near_the_chosen_one_and_the_others_when_asked(
    app, bundled, downloads, monkeypatch
):
    ckpt, run = the_run(bundled)
    cost = 4 * len(ckpt.target_codec.names) * (ckpt.spec.own.d_model + lens_module.PER_LOGIT)
    monkeypatch.setattr(lens_module, "AT_A_GLANCE", 2 * cost)
    opened(app, t="3")
    _, *body = rows(app, 1)
    assert [cells[0][0] for cells in body] == ["2", "3"]
    assert f"Showing tokens 2 to 3 of {len(run.trace.tgt)}:" in words(app)
    assert [line["station"] for line in saved_csv(app, downloads, "layers_lens")].count("layer 0") == len(run.trace.tgt)
    app.button(key="lens_all").click()
    again(app)
    assert len(rows(app, 1)) == 1 + len(run.trace.tgt) and "Showing tokens" not in words(app)
    app.button(key="lens_near").click()
    assert len(rows(again(app), 1)) == 3


@pytest.mark.parametrize(
    ("checkpoint", "text", "says"),
    [
        ("en-it-slips", "bad", wording("this_model_has_no_final_norm_each_column")),
        ("shakespeare", "ABBA", wording("through_the_models_own_final_norm_and_output_layer")),
        ("own", "face", wording("knows_nothing_of_the_source")),
    ],
)
def test_every_model_of_the_zoo_has_rail_tables_and_lens(at_the_zoo, checkpoint, text, says):
    opened(at_the_zoo, checkpoint=checkpoint, text=text)
    assert says in words(at_the_zoo)
    assert len(figures(at_the_zoo)) == 2 and len(rows(at_the_zoo, 1)) > 1
    assert (wording("not_defined_for_the_encoder") in words(at_the_zoo)) is (checkpoint != "shakespeare")


# ---- tables as CSV


def test_the_tables_of_sub_layer_norm_and_stream_are_the_numbers_of_the_run(app, bundled, downloads):
    ckpt, run = the_run(bundled)
    opened(app, kind="decoder", layer="0")
    found = flows(run.trace, "decoder")
    lines = saved_csv(app, downloads, "layers_flow")
    assert [float(line["before"]) for line in lines] == found[0].came.tolist()
    lines = saved_csv(app, downloads, "layers_stream")
    assert list(lines[0])[1:] == [
        *("sub-layer", "before", "after norm", "added", "sum", "after", "share added", "cosine", "baseline")
    ]
    assert [float(line["sum"]) for line in lines] == np.concatenate([flow.total for flow in found]).tolist()
    lines = saved_csv(app, downloads, "layers_norm")
    view = norm_view(run.trace, ckpt.model, found[0].place)
    assert [float(line["variance after"]) for line in lines] == view.after[1].tolist()


# ---- inputs, A and B


@pytest.mark.parametrize("text", ["7", "7" * 46, "1<b>&", "🙂", "مرحبا"])
def test_any_text_that_the_model_reads_is_shown_as_text(app, text):
    opened(app, text=text, kind="encoder", layer="0")
    assert len(rows(app)) == 1 + len(text) + 2 + 2
    assert "<b>" not in markup(app)
    heads = [row[0] for row in rows(app)[2:-3]]
    for row, (head, typed) in enumerate(zip(heads, text, strict=True), 1):
        assert head in (f"{row}{typed}", f"{row}{typed}<unk>")


def test_bad_input_is_a_sentence(app):
    opened(app, text="")
    assert "The text is empty" in words(app) and stale(app)
    opened(app, text="7" * 60)
    assert wording("the_model_reads_at_most", 48) in words(app)


def test_the_lens_of_an_encoder_alone_names_the_numbers_of_its_classes(app, tmp_path, models_in):
    saved(tiny_checkpoint("encoder-only"), tmp_path / "zoo" / "reader")
    models_in(tmp_path / "zoo")
    opened(app, text="abc")
    wanted = trace(load(tmp_path / "zoo" / "reader"), "abc")["logits"][0].softmax(-1).max(-1)
    for share, place in zip(wanted.values.tolist(), wanted.indices.tolist(), strict=True):
        assert f'title="{place} {share:.4f}, ' in markup(app)


def test_two_runs_are_compared_by_their_means_on_one_scale(app, bundled):
    opened(app, text="7", pin_checkpoint="numbers", pin_text="29,284.30", shown="A-B")
    _, run = the_run(bundled)
    (mean,) = [line for line in figures(app)[0]["data"] if line["name"] == "mean of B"][:1]
    expected = [
        flows(run.trace, "decoder")[0].came.mean(),
        *(flow.total.mean() for flow in flows(run.trace, "decoder")),
    ]
    assert [text.rpartition(": ")[2] for text in mean["customdata"]] == shown(expected, 4)
    assert wording("means_of_a_and_of_b_on_one_scale") in words(app)
    for looked_at, name in (("A|B", "A"), ("A-B", "A"), ("B", "B")):  # whose the numbers are stands where they begin
        opened(app, text="7", pin_checkpoint="numbers", pin_text="29,284.30", shown=looked_at)
        for heading in ("Decoder layer 1, cross-attention", "Logit lens"):
            assert f">{heading}, of {name}<" in markup(app)


def test_models_with_other_sub_layers_are_not_compared(app):
    opened(app, pin_checkpoint="numbers-tiny", pin_text="7", shown="A-B")
    assert wording("a_and_b_do_not_have_the_same_sub_layers_in_the_decoder") in words(app)
    opened(app, pin_checkpoint="numbers-tiny", pin_text="7", shown="B")
    assert len(told(app, "rail")["stacks"][1]["layers"]) == 2


def test_what_is_chosen_stands_in_the_address_and_comes_back(app):
    opened(app, kind="encoder", layer="0", part="ffn")
    (part,) = [app.query_params["part"]]
    assert part in ("ffn", ["ffn"])
    assert "Encoder layer 0, feed-forward" in words(app)
    opened(app, part="sideways")
    assert wording("the_address_asks_for_part_which_is_not_one_of_attention_ffn", "sideways") in words(app)


def test_on_a_projector_the_norm_is_a_scene_of_its_own(app):
    opened(app, projector="on", text=TEXT)
    hidden = ".st-key-layers_depth, .st-key-layers_lens, .st-key-layers_norm"
    assert f":is({hidden}) {{ display: none !important; }}" in markup(app)
    opened(app, scene="3")
    hidden = ".st-key-layers_top, .st-key-layers_depth, .st-key-layers_lens"
    assert f":is({hidden}) {{ display: none !important; }}" in markup(app)
    (gain,) = [figure for figure in figures(app) if "gain" in json.dumps(figure)]
    assert gain["layout"]["template"]["layout"]["font"]["size"] > 16
