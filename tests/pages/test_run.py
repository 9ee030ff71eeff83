import base64
import html
import json
import math

import numpy as np
import pytest

from viz_transformer.checkpoint import contents, load
from viz_transformer.decoding import decode
from viz_transformer.ui import examples
from viz_transformer.ui.text import literal


def opened(app, **address):
    for name, value in address.items():
        app.query_params[name] = value
    app.run()
    assert not app.exception
    return app


def html_of(app):
    return "".join(element.proto.body for element in app.get("html"))


def figures(app):
    return [json.loads(element.proto.spec) for element in app.get("plotly_chart")]


def numbers_in(values):
    """A typed array as plotly sends it."""
    array = np.frombuffer(base64.b64decode(values["bdata"]), values["dtype"])
    return array.reshape([int(n) for n in values["shape"].split(",")]) if "shape" in values else array


def chips(app):
    (component,) = [c for c in app.get("bidi_component") if c.proto.component_name == "viz_transformer_chips"]
    return json.loads(component.proto.json)


def the_run(bundled, text, name="numbers"):
    return decode(load(bundled / name), text)


def test_the_page_opens_with_the_example_and_its_answer(app, bundled):
    opened(app)
    run = the_run(bundled, "29,284.30")
    assert [title.value for title in app.title] == ["Run"]
    assert app.text_input(key="run_text").value == "29,284.30"
    assert f">{html.escape(run.text)}</p>" in html_of(app)
    reads, writes = chips(app)["rows"]
    assert [chip["text"] for chip in reads["chips"]] == ["<s>", *"29,284.30", "</s>"]
    assert [chip["text"] for chip in writes["chips"]] == list(run.tokens)
    assert [chip["share"] for chip in writes["chips"]] == [math.exp(step.log_prob) for step in run.steps]


def test_the_heatmap_is_the_recorded_attention_of_the_chosen_head(app, bundled):
    opened(app, text="29,284.30", layer="2", head="3", step="1")
    heatmap = figures(app)[0]
    recorded = the_run(bundled, "29,284.30").trace["decoder.2.cross.weights"][0, 3].numpy()
    assert np.array_equal(numbers_in(heatmap["data"][0]["z"]), recorded)
    assert heatmap["layout"]["title"]["text"] == "decoder layer 2, head 3, cross-attention"
    ticks = [label.strip() for label in heatmap["layout"]["xaxis"]["ticktext"]]
    assert ticks == ["&lt;s&gt;", *"29,284.30", "&lt;/s&gt;"]  # 2 stands twice


def test_the_mean_is_grey_and_called_derived(app):
    heatmap = figures(opened(app, head="mean"))[0]
    assert heatmap["layout"]["title"]["text"] == "decoder layer 1, mean of 4 heads, cross-attention"
    assert heatmap["data"][0]["colorscale"][0][1] == "#F4F7FB"
    assert any("derived" in note["text"] for note in heatmap["layout"]["annotations"])


def test_the_step_marks_its_row_and_shows_its_candidates(app, bundled):
    opened(app, step="2")
    heatmap, bars = figures(app)
    step = the_run(bundled, "29,284.30").steps[2]
    assert heatmap["layout"]["shapes"][0]["y0"] == 1.5
    assert chips(app)["selected"] == 2
    shown = numbers_in(bars["data"][0]["x"])
    assert np.array_equal(shown[:10], np.array([math.exp(c.log_prob) for c in step.candidates], np.float32))
    assert abs(shown.sum() - 1) < 1e-6  # float32 shares of a whole
    assert bars["layout"]["title"]["text"] == "Candidates of step 2"
    app.slider(key="run_step").set_value(3).run()
    assert figures(app)[1]["layout"]["title"]["text"] == "Candidates of step 3"
    assert app.session_state["selection"]["step"] == 3


def test_layer_and_head_are_chosen_by_their_numbers(app):
    opened(app)
    app.button_group(key="run_layer").set_value(2).run()
    app.button_group(key="run_head").set_value("mean").run()
    assert app.session_state["selection"] | {"text": ""} == {
        "checkpoint": "numbers",
        "text": "",
        "layer": 2,
        "head": "mean",
        "step": 0,
    }


def test_an_example_goes_into_the_box(app):
    opened(app, step="3")
    app.button_group(key="run_example").set_value("-79.42").run()
    assert app.text_input(key="run_text").value == "-79.42"
    assert app.session_state["selection"]["step"] == 0
    assert not app.exception


def test_the_slider_writes_the_number_into_the_box_and_follows_it(app):
    opened(app)
    slider = app.slider(key="run_slider")
    assert (slider.min, slider.max, slider.step, slider.value) == (-100_000, 100_000, 0.1, 29284.3)
    slider.set_value(-1234.5).run()
    assert app.text_input(key="run_text").value == "-1,234.50"
    app.text_input(key="run_text").set_value("0.07").run()
    assert app.slider(key="run_slider").value == 0.07


def test_the_examples_can_all_be_run(app):
    opened(app)
    for text in examples.examples("numbers"):
        app.text_input(key="run_text").set_value(text).run()
        assert not app.exception
        assert len(figures(app)) == 2


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "the text is empty: type at least one character"),
        ("   ", "the text is empty: type at least one character"),
        ("7" * 10_000, "source has 10,002 tokens, the model reads at most 48"),
        ("hello", "5 tokens are not in the vocabulary, the model reads &lt;unk&gt; instead: h, e, l, o"),
        ("1🙂", "1 token is not in the vocabulary, the model reads &lt;unk&gt; instead: 🙂"),
        ("שלום 1", "are not in the vocabulary"),
        ("\x00\x07\x1b1", "3 tokens are not in the vocabulary"),
        ("<b>1</b>", "&lt;, b, &gt;, /"),
        ("&amp;", "&amp;, a, m, p, ;"),
        ("**1** $x$ :red[2]", "are not in the vocabulary"),
    ],
)
def test_bad_input_is_answered_by_one_sentence_and_stays(app, text, sentence):
    opened(app)
    app.text_input(key="run_text").set_value(text).run()
    assert not app.exception
    assert app.text_input(key="run_text").value == text
    assert sentence in html_of(app)
    if text.strip():
        assert "<b>" not in html_of(app)


def test_one_character_is_enough(app, bundled):
    opened(app, text="7")
    assert html.escape(the_run(bundled, "7").text) in html_of(app)


def test_unknown_characters_are_marked_with_what_was_typed(app):
    reads = chips(opened(app, text="1&"))["rows"][0]["chips"]
    assert [(chip["text"], chip.get("note"), chip["unknown"]) for chip in reads[1:3]] == [
        ("1", None, False),
        ("<unk>", "&", True),
    ]


def test_a_text_of_the_longest_length_is_read(app):
    opened(app, text="7" * 46)
    assert len(figures(app)) == 2


def test_a_run_without_an_end_token_says_so(app, bundled):
    run = the_run(bundled, "29,284.30")
    sentence = f"stopped at its maximum of {len(run.steps)} steps"
    assert (sentence in html_of(opened(app))) == (run.stopped == "maximum length")


def test_another_model_comes_with_a_text_that_it_reads(at_the_zoo):
    opened(at_the_zoo)
    for name, label in (
        ("multi30k-de-en", "A sentence in German"),
        ("en-it-slips", "A sentence in English"),
        ("own", "A text"),
        ("numbers", "A number, written as 29,284.30"),
    ):
        at_the_zoo.selectbox(key="sidebar_model").set_value(name).run()
        assert not at_the_zoo.exception
        box = at_the_zoo.text_input(key="run_text")
        expected = {"own": ("bad", "face")}.get(name) or examples.examples(name)
        assert (box.label, box.value) == (label, expected[0])
        assert at_the_zoo.button_group(key="run_example").options == [literal(offered) for offered in expected]


def test_an_address_with_a_model_alone_starts_with_its_first_example(at_the_zoo):
    opened(at_the_zoo, checkpoint="own")
    assert at_the_zoo.text_input(key="run_text").value == "bad"
    assert len(figures(at_the_zoo)) == 2


def test_a_text_that_was_typed_stays_with_another_model(at_the_zoo):
    opened(at_the_zoo)
    at_the_zoo.text_input(key="run_text").set_value("-5.00").run()
    at_the_zoo.selectbox(key="sidebar_model").set_value("own").run()
    assert at_the_zoo.text_input(key="run_text").value == "-5.00"


def test_a_model_whose_examples_are_damaged_runs(at_the_zoo, zoo, tmp_path, monkeypatch):
    (tmp_path / "own").mkdir()
    for file in (zoo / "own").iterdir():
        (tmp_path / "own" / file.name).write_bytes(file.read_bytes())
    (tmp_path / "own" / "examples.tsv").write_bytes(b"\xff no tab\n")
    monkeypatch.setattr(contents, "bundled_folder", lambda: tmp_path)
    opened(at_the_zoo, checkpoint="own", text="abc")
    assert len(figures(at_the_zoo)) == 2


def test_a_model_that_goes_on_writing_is_shown_with_its_beginning(at_the_zoo, zoo):
    opened(at_the_zoo, checkpoint="shakespeare", text="ROT:", step="2")
    run = the_run(zoo, "ROT:", "shakespeare")
    reads, writes = chips(at_the_zoo)["rows"]
    assert [chip["text"] for chip in reads["chips"]] == list("ROT:")
    assert len(writes["chips"]) == len(run.steps) == 21
    said = html_of(at_the_zoo)
    assert f'<span class="vt-lead">ROT:</span>{html.escape(run.text)}</p>' in said
    assert "This model knows no end: it stopped after 21 steps, when it had read 24 tokens, its maximum." in said
    assert "without an end token" not in said
    heatmap = figures(at_the_zoo)[0]
    assert heatmap["layout"]["title"]["text"] == "decoder layer 1, head 0, self-attention"
    assert heatmap["layout"]["shapes"][0]["y0"] == 4.5  # three rows only read, the fourth writes step 0


def test_a_beginning_that_fills_the_model_gets_one_step_and_a_longer_one_a_sentence(at_the_zoo):
    opened(at_the_zoo, checkpoint="shakespeare", text="A" * 24)
    assert "The answer has a single step, step 0." in html_of(at_the_zoo)
    at_the_zoo.text_input(key="run_text").set_value("A" * 25).run()
    assert "source has 25 tokens, the model reads at most 24" in html_of(at_the_zoo)


def test_a_model_that_sees_ahead_says_what_the_picture_is(at_the_zoo):
    sentence = "later tokens change earlier rows"
    opened(at_the_zoo, checkpoint="en-it-slips", text="bad", step="2")
    assert sentence in html_of(at_the_zoo)
    heatmap = figures(at_the_zoo)[0]
    assert heatmap["layout"]["shapes"][0]["y0"] == 1.5  # padding comes after the steps
    at_the_zoo.selectbox(key="sidebar_model").set_value("multi30k-de-en").run()
    assert sentence not in html_of(at_the_zoo)


def test_another_model_clips_the_selection_and_says_so(app):
    opened(app, layer="2", head="3")
    app.selectbox(key="sidebar_model").set_value("numbers-tiny").run()
    assert not app.exception
    assert app.session_state["selection"]["layer"] == 1
    assert "There is no layer 2: numbers-tiny has layers 0 to 1, so layer 1 is shown." in html_of(app)
    assert figures(app)[0]["layout"]["title"]["text"].startswith("decoder layer 1, head 3")


def test_what_an_address_cannot_mean_is_said(app):
    opened(app, layer="9", head="x", step="77", checkpoint="nope")
    said = html_of(app)
    for sentence in ("no layer 9", "asks for head “x”", "no step 77", "no model named “nope”"):
        assert sentence in said


def test_the_page_says_how_to_read_it_and_what_not_to_conclude(app):
    said = html_of(opened(app))
    assert "How to read it" in said and "What not to conclude" in said
    assert "neither a translation link nor a cause" in said


def test_the_page_runs_alone(alone):
    app = alone("run.py")
    assert not app.exception
    assert [title.value for title in app.title] == ["Run"]
    assert len(figures(app)) == 2


def test_without_a_model_the_page_says_what_to_do(app, tmp_path, monkeypatch):
    monkeypatch.setattr(contents, "bundled_folder", lambda: tmp_path)
    assert "viz-transformer train numbers" in html_of(opened(app))


def test_a_damaged_model_is_said_in_one_sentence(app, bundled, tmp_path, monkeypatch):
    broken = tmp_path / "numbers"
    broken.mkdir()
    for file in (bundled / "numbers").iterdir():
        (broken / file.name).write_bytes(file.read_bytes())
    (broken / "model.safetensors").write_bytes(b"not weights")
    monkeypatch.setattr(contents, "bundled_folder", lambda: tmp_path)
    assert "model.safetensors" in html_of(opened(app))
