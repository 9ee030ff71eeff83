import html
import json
import math
import re
import shutil
from types import SimpleNamespace

import numpy as np
import pytest
from page_driver import (
    address,
    again,
    all_sent,
    chosen,
    components,
    csv_lines,
    goes_to,
    markup,
    open_table,
    opener,
    recorded,
    select,
    sent,
    stale,
    the_run,
    told,
    words,
)
from page_driver import drawn as alone
from wording import wording

from viz_transformer import payload
from viz_transformer.analysis.attention.maps import step_row
from viz_transformer.analysis.models.untrained import make_untrained, recipe_like
from viz_transformer.analysis.run.whole import sublayers_at, whole_run
from viz_transformer.checkpoint import load
from viz_transformer.checkpoint.contents import bundled_folder, read_summary
from viz_transformer.figures import details
from viz_transformer.figures.components.strongest_only import strongest
from viz_transformer.running.decoding import decode
from viz_transformer.running.edits import RemovePositions
from viz_transformer.sentences import capitalised, shorten
from viz_transformer.ui.frame.questions import cite
from viz_transformer.ui.frame.text import literal
from viz_transformer.ui.pages.run import passing, whole_view
from viz_transformer.ui.session import examples, state

opened = opener("run", run_view="map")  # the whole run is asked for where it is meant


def drawn(app):
    """Whether the map and the steps are there."""
    return [len(components(app, name)) for name in ("matrix", "scrubber")] == [1, 1]


def test_the_page_opens_with_the_example_and_its_answer(app, bundled):
    opened(app)
    run = the_run(bundled)
    assert [title.value for title in app.title] == ["Run"]
    assert app.text_area(key="run_text").value == "29,284.30"
    assert f">{html.escape(run.text)}</p>" in markup(app)
    reads, writes = told(app, "chips")["rows"]
    assert [chip["text"] for chip in reads["chips"]] == ["<s>", *"29,284.30", "</s>"]
    assert [chip["text"] for chip in writes["chips"]] == list(run.tokens)
    assert [chip["share"] for chip in writes["chips"]] == [math.exp(step.log_prob) for step in run.steps]


def test_the_map_is_the_recorded_attention_of_the_chosen_head(app, bundled):
    opened(app, text="29,284.30", layer="2", heads="3", t="1")
    header, arrays = sent(app, "matrix")
    run = the_run(bundled)
    assert np.array_equal(arrays["values"], recorded(run, "cross", 2, 3)[0])
    assert header["title"] == wording("title_of_cross_attention", 2, 3)
    assert [token["text"] for token in header["columns"]["tokens"]] == ["<s>", *"29,284.30", "</s>"]  # 2 stands twice
    assert [token["text"] for token in header["writes"]] == list(run.tokens)


@pytest.mark.parametrize("kind", ["encoder", "decoder"])
def test_the_kind_that_was_chosen_elsewhere_is_shown(app, bundled, kind):
    header, arrays = sent(opened(app, kind=kind, layer="0", heads="2"), "matrix")
    assert np.array_equal(arrays["values"], recorded(the_run(bundled), kind, 0, 2)[0])
    assert header["scale"] == kind
    assert app.button_group(key="run_layer").options == (["0"] if kind == "encoder" else ["0", "1", "2"])


def test_the_mean_is_grey_and_called_derived(app):
    header, _ = sent(opened(app, heads="mean"), "matrix")
    assert header["title"] == wording("title_of_a_mean_of_heads", 1, 4)
    assert (header["scale"], header["unit"]) == ("derived", "mean attention weight (derived)")


@pytest.mark.parametrize("heads", ["max", "rollout"])
def test_no_head_is_marked_as_chosen_under_a_picture_that_is_none(app, heads):
    assert sent(opened(app, heads=heads), "matrix")[0]["scale"] == "derived"
    assert app.button_group(key="run_head").value != 0


def test_how_much_is_hidden_is_said_on_this_page_too(app, bundled):
    opened(app, options="hidden")
    weights = recorded(the_run(bundled), "cross", 1, 0)[0]
    assert sent(app, "matrix")[1]["values"].shape[1] == weights.shape[1] - 2
    assert f"{100 * (weights[:, 0] + weights[:, -1]).mean():.1f} %" in words(app)


def test_all_steps_are_sent_at_once_with_their_candidates(app, bundled):
    opened(app, t="2")
    header, arrays = sent(app, "scrubber")
    run = the_run(bundled)
    assert (header["first_row"], len(header["candidates"])) == (0, len(run.steps))
    assert header["vocabulary"] == run.trace.config.target_vocab_size
    for step, places, log_probs in zip(run.steps, header["candidates"], arrays["log_probs"], strict=True):
        expected = np.array([each.log_prob for each in step.candidates], np.float32)
        assert np.array_equal(log_probs[: len(expected)], expected)
        tokens = [header["tokens"][place]["text"] for place in places]
        assert tokens[: len(expected)] == [each.token for each in step.candidates]
        assert tokens[header["written"][step.index]] == step.token
        left = 1 - sum(math.exp(each.log_prob) for each in step.candidates)
        assert arrays["rest"][step.index] == pytest.approx(left, abs=1e-6)  # float32
    assert [token["text"] for token in header["reads"]] == ["<s>", *run.tokens[:-1]]


def test_the_chosen_step_is_a_row_of_the_map_and_a_chip_of_the_answer(app):
    opened(app, t="2")
    assert chosen(app)["t"] == 2
    assert sent(app, "matrix")[0]["rows"]["field"] == "t"
    reads, writes = told(app, "chips")["rows"]
    assert (reads["field"], reads["first"], writes["field"], writes["first"]) == ("i", 0, "t", 0)


def test_the_first_step_is_chosen_to_begin_with(app):
    opened(app)
    assert chosen(app)["t"] == 0
    assert app.query_params["t"] in ("0", ["0"])


def test_layer_and_head_are_chosen_by_their_numbers(app):
    opened(app)
    app.button_group(key="run_layer").set_value(2).run()
    app.button_group(key="run_head").set_value(3).run()
    key = int(sent(app, "matrix")[1]["values"][0].argmax())  # nobody chose one
    chosen_then = {"run_view": "map", "layer": 2, "heads": (3,), "t": 0, "i": key}
    assert app.session_state["selection"] == {**state.DEFAULTS, **chosen_then}
    app.button_group(key="run_head").set_value("mean").run()
    assert app.session_state["selection"]["heads"] == "mean"
    assert sent(app, "matrix")[0]["title"] == wording("title_of_a_mean_of_heads", 2, 4)


def test_the_tables_have_the_same_numbers(app, bundled, downloads):
    opened(app, layer="0", heads="1")
    assert len(app.dataframe) == 0
    open_table(app, "run_matrix")
    open_table(app, "run_scrubber")
    run = the_run(bundled)
    of_map = csv_lines(downloads["numbers-decoder-layer-0-head-1-cross-attention.csv"]())
    weights = np.array([line[1:] for line in of_map[1:]], np.float32)
    assert np.array_equal(weights, recorded(run, "cross", 0, 1)[0])
    names, *rows = csv_lines(downloads["numbers-candidates.csv"]())
    expected = [(step.index + 1, each.token, each.log_prob) for step in run.steps for each in step.candidates]
    shown = [dict(zip(names, row, strict=True)) for row in rows]
    assert [(int(row["step"]), row["token"]) for row in shown] == [(step, token) for step, token, _ in expected]
    np.testing.assert_allclose(
        [float(row["probability"]) for row in shown], [math.exp(log_prob) for _, _, log_prob in expected], rtol=1e-6
    )


def test_an_example_goes_into_the_box(app):
    opened(app, t="3")
    app.button_group(key="run_example").set_value("-79.42").run()
    assert app.text_area(key="run_text").value == "-79.42"
    assert app.session_state["selection"]["t"] == 0
    assert not app.exception


def test_the_slider_follows_the_number_in_the_box(app):
    slider = told(opened(app), "slider")
    bounds = [slider[name] for name in ("least", "most", "step", "decimals")]
    assert (bounds, slider["value"], slider["text"]) == ([-100_000, 100_000, 0.1, 2], 29284.3, "29,284.30")
    for text, value in (("0.07", 0.07), ("hello", None), ("1,000,000.00", None)):
        app.text_area(key="run_text").set_value(text).run()
        slider = told(app, "slider")
        assert (slider["value"], slider["text"]) == (value, text)


# ---- a number that the slider passes, shown ahead of the page


def ahead_of(**address):
    """The fragment of Run alone, as it is run for a number that the slider passes, with this in the address."""

    def fragment():
        import streamlit as st

        from viz_transformer.ui import pages  # noqa: F401
        from viz_transformer.ui.frame import frame
        from viz_transformer.ui.pages.run import ahead_view, passing

        frame.start_page()
        st.session_state[passing.PASSES] = True
        ahead_view.place()

    return sent(alone(fragment, **address), "ahead")


@pytest.mark.parametrize(
    "address",
    [
        {"run_view": "whole", "t": "3"},
        {"run_view": "whole", "level": "attention", "t": "2", "heads": "1"},
        {"run_view": "map", "kind": "encoder", "layer": "0", "i": "2"},
        {"run_view": "map", "heads": "mean", "t": "20"},
    ],
)
def test_what_is_shown_ahead_of_the_page_is_what_the_page_shows(app, address):
    header, arrays = ahead_of(text="42.10", checkpoint="numbers", **address)
    opened(app, text="42.10", checkpoint="numbers", **address)
    run = header["run"]
    assert header["text"] == "42.10" and run["rows"] == told(app, "chips")["rows"] and run["chosen"] == chosen(app)
    for paragraph in run["paragraphs"]:
        lead = f'<span class="vt-lead">{html.escape(paragraph["lead"])}</span>' if paragraph["lead"] else ""
        said = f'<p class="{paragraph["style"]}">{lead}{html.escape(paragraph["text"])}</p>'
        assert said in re.sub(r'(<p class="vt-question[^"]*") title="[^"]*"', r"\1", markup(app))
    pictures = ["whole"] if address["run_view"] == "whole" else ["matrix", "scrubber"]
    assert len(run["paragraphs"]) == len(pictures)
    for name in pictures:
        (component,) = components(app, name)
        assert arrays[name].tobytes() == component.bytes
    wanted = [array.tobytes() for _, parts in all_sent(app, "whole_detail") for array in parts.values()]
    assert [array.tobytes() for name, array in arrays.items() if name.startswith("detail.")] == (
        wanted if "level" in address else []
    )


def stands(app):
    return passing.STANDS in app.session_state


def test_the_page_says_whether_a_number_can_be_shown_ahead_of_it(app, at_the_zoo):
    assert stands(opened(app)) and sent(app, "ahead")[0] == {"text": "29,284.30"}
    for cannot in (
        {"pin_checkpoint": "numbers", "pin_text": "42"},  # two runs
        {"target": "one"},  # whose answer is given
        {"text": "x" * 60},  # another run is shown in its place
    ):
        assert not stands(opened(app, **cannot)) and not components(app, "ahead")
        select(app, **state.PIN, target=None, text="42")
        assert stands(again(app))
    assert not stands(opened(at_the_zoo, checkpoint="own", text="bad"))


def test_a_number_is_shown_ahead_only_of_a_page_that_stands_for_all_else_that_is_chosen(monkeypatch):
    memory, asked, fields = {}, [], {"text": "42", "t": 3, "layer": 1}
    monkeypatch.setattr(passing, "st", SimpleNamespace(session_state=memory, rerun=asked.append))
    monkeypatch.setattr(passing, "state", SimpleNamespace(selection=lambda: fields))
    passing.show_ahead()
    assert asked == [] and not passing.passes()
    passing.page_begins()
    passing.page_stands()
    fields |= {"text": "43", "t": 0}
    passing.show_ahead()
    assert asked == [passing.FRAGMENT] and passing.passes() and not passing.passes()
    passing.page_begins()  # for another text it still stands while it is run anew
    passing.show_ahead()
    passing.page_begins()
    assert asked == [passing.FRAGMENT] * 2 and not passing.passes()
    fields["layer"] = 0
    passing.show_ahead()
    assert len(asked) == 2
    passing.page_begins()
    fields["layer"] = 1
    passing.show_ahead()
    assert len(asked) == 2


def test_only_models_of_numbers_have_a_slider(at_the_zoo):
    opened(at_the_zoo, checkpoint="own", text="bad")
    assert components(at_the_zoo, "slider") == [] and drawn(at_the_zoo)


def test_the_examples_can_all_be_run(app):
    opened(app)
    for text in examples.examples("numbers"):
        app.text_area(key="run_text").set_value(text).run()
        assert not app.exception
        assert drawn(app)


def test_what_is_said_against_an_answer_stands_in_the_headline_once_before_the_question(at_the_zoo):
    opened(at_the_zoo, checkpoint="en-it-slips", text="bad ☃")
    said, all_of_it = wording("are_unknown_to_this_model"), plain(words(at_the_zoo))
    assert all_of_it.count(said) == 1 and "not in the vocabulary" not in all_of_it
    assert all_of_it.index(said) < all_of_it.index("Where did")
    assert wording("every_step_was_a_whole_pass_over") in all_of_it
    assert told(at_the_zoo, "chips")["rows"][1]["mark"]["kind"] == "doubtful"
    opened(at_the_zoo, text="bad")
    assert "Not to be trusted" not in words(at_the_zoo) and "mark" not in told(at_the_zoo, "chips")["rows"][1]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", capitalised(wording("the_text_is_empty"))),
        ("   ", capitalised(wording("the_text_is_empty"))),
        ("7" * 10_000, capitalised(wording("source_is_too_long", "10,002", 48))),
        ("hello", wording("not_to_be_trusted_unknown", "“h”, “e”, “l” and 1 more are", "<unk>")),
        ("1🙂", wording("not_to_be_trusted_unknown", "“🙂” is", "<unk>")),
        ("שלום 1", wording("are_unknown_to_this_model")),
        ("\x00\x07\x1b1", wording("are_unknown_to_this_model")),
        ("<b>1</b>", wording("not_to_be_trusted_unknown", "“<”, “b”, “>” and 1 more are", "<unk>")),
        ("&amp;", wording("not_to_be_trusted_unknown", "“&”, “a”, “m” and 2 more are", "<unk>")),
        ("**1** $x$ :red[2]", wording("are_unknown_to_this_model")),
    ],
)
def test_bad_input_is_answered_by_one_sentence_and_stays(app, text, sentence):
    opened(app)
    app.text_area(key="run_text").set_value(text).run()
    assert not app.exception
    assert app.text_area(key="run_text").value == text
    assert sentence in plain(words(app))
    if text.strip():
        assert "<b>" not in markup(app)


def test_a_text_that_cannot_be_read_keeps_the_last_run_dimmed_and_says_what_can_be_done(app, bundled):
    opened(app, text="7")
    before = sent(app, "matrix")[1]["values"]
    assert not stale(app)
    app.text_area(key="run_text").set_value("9" * 100).run()
    assert stale(app) and np.array_equal(sent(app, "matrix")[1]["values"], before)
    assert wording("dimmed_below_the_run_of", "7") in words(app)
    row = told(app, "chips")["rows"][0]
    assert row["edit"]["text"] == "9" * 100 and [chip["text"] for chip in row["chips"]] == ["<s>", "7", "</s>"]
    assert [button.label for button in app.button if button.key.startswith("problem")] == [
        "Use the first 48 tokens",
        "Back to the last run",
    ]
    app.button(key="problem_0").click().run()
    assert app.text_area(key="run_text").value == "9" * 46
    assert not stale(app) and len(told(app, "chips")["rows"][0]["chips"]) == 48
    app.text_area(key="run_text").set_value("").run()
    app.button(key="problem_0").click().run()
    assert app.text_area(key="run_text").value == "9" * 46 and not stale(app)


def test_a_text_that_an_example_took_the_place_of_is_the_first_entry_of_more(app):
    typed = "9 **9**" * 300
    opened(app, text="9" * 100)
    assert "run_typed" not in {button.key for button in app.button}
    app.text_area(key="run_text").set_value(typed).run()
    (button,) = [button for button in app.button if button.label == "Use the example"]
    assert button.help == wording("your_text_is_kept")
    button.click().run()
    assert app.text_area(key="run_text").value == examples.examples("numbers")[0] and not stale(app)
    back = app.button(key="run_typed")
    assert back.label.replace("\\", "").replace("\u2060", "").startswith("Your text: 9 **9**9 **9**")
    back.click().run()
    assert app.text_area(key="run_text").value == typed and stale(app)
    assert "run_typed" not in {button.key for button in app.button}


def test_a_model_without_examples_keeps_a_typed_text_too(at_the_zoo):
    opened(at_the_zoo, checkpoint="own", text="bad")
    at_the_zoo.text_area(key="run_text").set_value("").run()
    next(each for each in at_the_zoo.button if each.label == "Back to the last run").click().run()
    at_the_zoo.text_area(key="run_text").set_value("b" * 1000).run()
    next(each for each in at_the_zoo.button if each.label == "Back to the last run").click().run()
    at_the_zoo.button(key="run_typed").click().run()
    assert at_the_zoo.text_area(key="run_text").value == "b" * 1000


def test_notes_on_a_text_go_with_it_where_the_next_one_cannot_be_read(app, noted):
    noted(LAB)
    note = wording("not_checked_no_number_in_digits", "12.5%")
    assert note in words(opened(app, text="12.5%"))
    for text in ("9" * 100, ""):
        app.text_area(key="run_text").set_value(text).run()
        assert stale(app) and note not in words(app) and "Not to be trusted" not in words(app)
        assert offered(app) == [] and offered(app, "problem")[-1] == "Back to the last run"
    app.button(key=f"problem_{len(offered(app, 'problem')) - 1}").click().run()
    assert app.text_area(key="run_text").value == "12.5%" and note in words(app)


def test_another_model_that_cannot_read_the_text_offers_its_own_example_and_the_way_back(app):
    opened(app, text="7")
    opened(app, checkpoint="numbers-tiny", text="9" * 100)
    assert stale(app)
    labels = [button.label for button in app.button if button.key.startswith("problem")]
    assert labels[-2:] == ["Use the example", "Back to the last run"]
    app.button(key=f"problem_{len(labels) - 2}").click().run()
    assert app.text_area(key="run_text").value == examples.examples("numbers-tiny")[0] and not stale(app)
    opened(app, text="7", checkpoint="numbers")
    opened(app, checkpoint="numbers-tiny", text="9" * 100)
    app.button(key=f"problem_{len(labels) - 1}").click().run()
    assert app.query_params["checkpoint"] in ("numbers", ["numbers"])
    assert app.text_area(key="run_text").value == "7" and not stale(app)


def test_without_a_run_before_there_is_no_way_back(app):
    opened(app, text="9" * 100)
    assert "Back to the last run" not in offered(app, "problem")


def test_a_link_to_a_text_that_cannot_be_read_shows_the_first_example_dimmed(app, bundled):
    opened(app, text="9" * 100)
    assert stale(app) and drawn(app)
    assert wording("dimmed_below_the_run_of", examples.examples("numbers")[0]) in words(app)


def test_one_character_is_enough(app, bundled):
    opened(app, text="7")
    assert the_run(bundled, "7").text in words(app)


def test_unknown_characters_are_marked_with_what_was_typed(app):
    reads = told(opened(app, text="1&"), "chips")["rows"][0]["chips"]
    assert [(chip["text"], chip.get("note"), chip["unknown"]) for chip in reads[1:3]] == [
        ("1", None, False),
        ("<unk>", "&", True),
    ]


def test_a_text_of_the_longest_length_is_read(app):
    opened(app, text="7" * 46)
    assert drawn(app)


def test_a_run_without_an_end_token_says_so(app, bundled):
    run = the_run(bundled)
    sentence = wording("stopped_at_its_maximum_of_steps", len(run.steps))
    assert (sentence in words(opened(app))) == (run.stopped == "maximum length")


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
        box = at_the_zoo.text_area(key="run_text")
        expected = {"own": ("bad", "face")}.get(name) or examples.examples(name)
        assert (box.label, box.placeholder, box.value) == (label, label, expected[0])
        shown = [literal(shorten(offered, 28)) for offered in expected]
        assert at_the_zoo.button_group(key="run_example").options == shown


def test_an_example_of_two_lines_is_offered_on_one(app, monkeypatch):
    monkeypatch.setattr(examples, "list_examples", lambda summary: ("so\nit goes", "7"))
    opened(app, text="7")
    pills = app.button_group(key="run_example")
    assert pills.options == [literal("so↵it goes"), "7"]
    pills.set_value("so\nit goes")
    again(app)
    assert app.text_area(key="run_text").value == "so\nit goes"


def test_an_address_with_a_model_alone_starts_with_its_first_example(at_the_zoo):
    opened(at_the_zoo, checkpoint="own")
    assert at_the_zoo.text_area(key="run_text").value == "bad"
    assert drawn(at_the_zoo)


def test_a_text_that_was_typed_stays_with_another_model(at_the_zoo):
    opened(at_the_zoo)
    at_the_zoo.text_area(key="run_text").set_value("-5.00").run()
    at_the_zoo.selectbox(key="sidebar_model").set_value("own").run()
    assert at_the_zoo.text_area(key="run_text").value == "-5.00"


def test_a_model_whose_examples_are_damaged_runs(at_the_zoo, zoo, tmp_path, models_in):
    shutil.copytree(zoo / "own", tmp_path / "own")
    (tmp_path / "own" / "examples.tsv").write_bytes(b"\xff no tab\n")
    models_in(tmp_path)
    opened(at_the_zoo, checkpoint="own", text="abc")
    assert drawn(at_the_zoo)


def test_a_model_that_goes_on_writing_is_shown_with_its_beginning(at_the_zoo, zoo):
    opened(at_the_zoo, checkpoint="shakespeare", text="ROT:", t="2")
    run = the_run(zoo, "ROT:", "shakespeare")
    reads, writes = told(at_the_zoo, "chips")["rows"]
    assert [chip["text"] for chip in reads["chips"]] == list("ROT:")
    assert len(writes["chips"]) == len(run.steps) == 21
    assert f'<span class="vt-lead">ROT:</span>{html.escape(run.text)}</p>' in markup(at_the_zoo)
    said = words(at_the_zoo)
    assert wording("this_model_knows_no_end_it_stopped_after", 21, 24) in said
    assert "without an end token" not in said
    assert sent(at_the_zoo, "matrix")[0]["title"] == wording("title_of_decoder_attention", 1, 0)
    assert (reads["field"], reads["first"], writes["field"], writes["first"]) == ("t", 0, "t", 3)
    assert sent(at_the_zoo, "scrubber")[0]["first_row"] == 3  # three rows only read, the fourth writes step 0


def test_a_beginning_has_its_last_row_chosen_which_writes_the_first_step(at_the_zoo):
    assert chosen(opened(at_the_zoo, checkpoint="shakespeare", text="ROT:"))["t"] == 3


def test_a_beginning_that_fills_the_model_gets_one_step_and_a_longer_one_a_sentence(at_the_zoo):
    opened(at_the_zoo, checkpoint="shakespeare", text="A" * 24)
    assert len(sent(at_the_zoo, "scrubber")[0]["candidates"]) == 1
    at_the_zoo.text_area(key="run_text").set_value("A" * 25).run()
    assert capitalised(wording("source_is_too_long", 25, 24)) in words(at_the_zoo)


def test_a_model_that_sees_ahead_says_what_the_picture_is(at_the_zoo):
    sentence = wording("every_step_was_a_whole_pass_over")
    opened(at_the_zoo, checkpoint="en-it-slips", text="bad", t="2")
    assert sentence in words(at_the_zoo)
    assert sent(at_the_zoo, "scrubber")[0]["first_row"] == 0  # padding comes after the steps
    at_the_zoo.selectbox(key="sidebar_model").set_value("multi30k-de-en").run()
    assert sentence not in words(at_the_zoo)


def test_a_pinned_run_comes_with_its_answer_its_steps_and_its_map(app, bundled):
    opened(app, text="-1.50", heads="1")
    app.button(key="pin_set").click().run()
    app.text_area(key="run_text").set_value("7").run()
    for shown, text in (("B", "-1.50"), ("A", "7")):
        app.button_group(key="pin_shown").set_value(shown).run()
        assert not app.exception
        run = the_run(bundled, text)
        assert f">{html.escape(run.text)}</p>" in markup(app)
        assert [chip["text"] for chip in told(app, "chips")["rows"][0]["chips"]] == ["<s>", *text, "</s>"]
        assert len(sent(app, "scrubber")[0]["candidates"]) == len(run.steps)
        assert np.array_equal(sent(app, "matrix")[1]["values"], recorded(run, "cross", 1, 1)[0])
    app.button(key="pin_off").click().run()
    assert {button.key for button in app.button} == {"run_give", "run_view", "pin_set", "tour_over"}


def test_a_pinned_run_stands_beside_the_other_whatever_their_lengths(app, bundled):
    opened(app, text="-1.50", heads="1")
    app.button(key="pin_set").click().run()
    assert app.session_state["selection"]["shown"] == "A|B"
    app.text_area(key="run_text").set_value("29,284.30").run()
    assert not app.exception
    a, b = the_run(bundled, "29,284.30"), the_run(bundled, "-1.50")
    (first, second) = all_sent(app, "matrix")
    for (header, arrays), run, name in ((first, a, "A"), (second, b, "B")):
        assert header["title"] == f"{name}: {wording('title_of_cross_attention', 1, 1)}"
        assert np.array_equal(arrays["values"], recorded(run, "cross", 1, 1)[0])
    assert (first[0].get("follows"), second[0].get("follows")) == (True, None)
    assert first[0]["most"] == second[0]["most"] == max(recorded(run, "cross", 1, 1)[0].max() for run in (a, b))
    rows = told(app, "chips")["rows"]
    assert [row["label"] for row in rows] == ["A writes", "B writes"]
    assert [[chip["text"] for chip in row["chips"]] for row in rows] == [list(a.tokens), list(b.tokens)]
    assert rows[0]["edit"]["text"] == "29,284.30" and "edit" not in rows[1]
    assert "B: “-1.50”" in words(app)


def test_of_two_answers_the_tokens_are_marked_that_differ(app, bundled):
    opened(app, text="42", pin_checkpoint="numbers", pin_text="43", shown="A|B")
    rows = told(app, "chips")["rows"]
    marked, same = (
        [[chip["text"] for chip in row["chips"] if chip.get("differs", False) is differs] for row in rows]
        for differs in (True, False)
    )
    assert same[0] == same[1] and any(marked)
    opened(app, pin_text="42")
    assert not any(chip.get("differs") for row in told(app, "chips")["rows"] for chip in row["chips"])


def test_of_two_answers_each_has_its_mark_and_the_headline_says_what_is_wrong_with_which(app):
    seven, eight = (wording("wrong_it_should_be", each) for each in ("seven", "eight"))  # an untrained model's answers
    opened(app, text="7", pin_checkpoint="numbers", pin_text="8", shown="A|B")
    wrong = [{"kind": "wrong", "said": each} for each in (seven, eight)]
    assert [row["mark"] for row in told(app, "chips")["rows"]] == wrong
    of_a, of_b = (f"is {said[:1].lower()}{said[1:]}" for said in (seven, eight))
    assert f"A {of_a} B {of_b}" in words(app)
    opened(app, pin_text="7")
    assert [row["mark"] for row in told(app, "chips")["rows"]] == [wrong[0], wrong[0]]
    assert f"A and B are {of_a.removeprefix('is ')}" in words(app) and "A is" not in words(app)
    app.button_group(key="pin_shown").set_value("B").run()
    assert seven in words(app) and "A and B are" not in words(app)
    opened(app, run_view="whole", projector="on", pin_text="8", shown="A|B")  # a scene of A
    assert seven in words(app) and of_a not in words(app) and of_b not in words(app)


def test_a_map_that_one_of_two_models_lacks_is_a_sentence_in_its_place(at_the_zoo):
    opened(at_the_zoo, checkpoint="own", text="bad", pin_checkpoint="shakespeare", pin_text="ROT:", shown="A|B")
    assert len(all_sent(at_the_zoo, "matrix")) == 1 and "B cannot be shown this way: " in words(at_the_zoo)


def offered_pairs(app):
    """The prepared pairs: what can be clicked, by its key."""
    app.session_state["pairs"] = True
    again(app)
    return {button.key.removeprefix("pair_"): button for button in app.button if button.key.startswith("pair_")}


def run_of_b(app):
    header, arrays = all_sent(app, "matrix")[1]
    assert app.button_group(key="pin_shown").value == "A|B" and header["title"].startswith("B: ")
    return arrays["values"]


def test_an_untrained_twin_is_one_click_away_and_the_trained_one_from_there(app, bundled):
    opened(app, text="7")
    assert components(app, "matrix") != [] and "pair_training" not in {button.key for button in app.button}
    offered_pairs(app)["training"].click().run()
    twin = make_untrained(recipe_like(read_summary(bundled / "numbers")), load(bundled / "numbers"))
    assert np.array_equal(run_of_b(app), recorded(decode(twin, "7"), "cross", 1, 0)[0])
    assert "B: untrained" in words(app)
    opened(app, checkpoint=twin.name, text="7")
    app.button(key="pin_off").click().run()
    offered_pairs(app)["training"].click().run()
    assert np.array_equal(run_of_b(app), recorded(the_run(bundled, "7"), "cross", 1, 0)[0])


def test_the_same_words_in_another_order_are_one_click_away_where_there_is_one(app, bundled):
    opened(app, text="12")
    offered_pairs(app)["order"].click().run()
    assert np.array_equal(run_of_b(app), recorded(the_run(bundled, "21"), "cross", 1, 0)[0])
    app.button(key="pin_off").click().run()
    app.text_area(key="run_text").set_value("77").run()
    assert "order" not in offered_pairs(app)
    assert "All parts of this text are equal: there is no other order." in words(app)


def test_a_run_without_positions_is_one_click_away_and_says_so(app, bundled):
    opened(app, text="12")
    offered_pairs(app)["positions"].click().run()
    run = the_run(bundled, "12", edits=[RemovePositions("encoder")])
    assert np.array_equal(run_of_b(app), recorded(run, "cross", 1, 0)[0])
    assert not np.array_equal(run_of_b(app), recorded(the_run(bundled, "12"), "cross", 1, 0)[0])
    assert "without the positions of the encoder" in all_sent(app, "matrix")[1][0]["caption"]
    assert "B: without the positions of the encoder" in words(app)
    again(goes_to(app, **address(app)))
    assert np.array_equal(run_of_b(app), recorded(run, "cross", 1, 0)[0])


def test_a_model_without_vectors_of_positions_says_so_and_nothing_of_models_that_are_not_selected(at_the_zoo, bundled):
    opened(at_the_zoo, checkpoint="new:numbers:rotary:e1-d1-h2-w16-f16-pre-s0", text="12")
    assert offered_pairs(at_the_zoo).keys() == {"training", "order"}
    assert "which act in attention: there is no vector to leave out." in words(at_the_zoo)
    assert "tatoeba" not in words(at_the_zoo)
    opened(at_the_zoo, checkpoint="en-it-slips", text="bad")
    assert "slips" not in offered_pairs(at_the_zoo) and "tatoeba" not in words(at_the_zoo)


def test_the_same_text_in_another_model_is_one_click_away(app, bundled, tmp_path, models_in):
    for name in ("numbers", "another"):
        shutil.copytree(bundled / "numbers", tmp_path / name)
    models_in(tmp_path)
    opened(app, checkpoint="numbers", text="12")
    button = offered_pairs(app)["model_another"]
    assert button.label == wording("the_same_text_in_another_model", "another")
    button.click().run()
    assert address(app)["pin_checkpoint"] == "another" and np.array_equal(
        run_of_b(app), recorded(the_run(bundled, "12"), "cross", 1, 0)[0]
    )


def test_a_model_with_slips_and_the_one_without_are_a_pair(at_the_zoo, zoo, tmp_path, models_in):
    for name, folder in (("en-it-slips", "en-it-slips"), ("tatoeba-en-it", "multi30k-de-en")):
        shutil.copytree(zoo / folder, tmp_path / name)
    models_in(tmp_path)
    opened(at_the_zoo, checkpoint="en-it-slips", text="bad", ban="5", layer="0")
    offered_pairs(at_the_zoo)["slips"].click().run()
    run = decode(load(tmp_path / "tatoeba-en-it"), "bad")
    assert np.array_equal(run_of_b(at_the_zoo), recorded(run, "cross", 0, 0)[0])
    assert address(at_the_zoo)["pin_checkpoint"] == "tatoeba-en-it" and "pin_how" not in address(at_the_zoo)


def stops(app):
    """Whether the run in five stops is offered."""
    return any("five stops" in link.proto.label.replace("\u2060", "") for link in app.get("page_link"))


def test_the_run_in_five_stops_is_offered_until_it_is_sent_away(app):
    assert stops(opened(app)) and stops(again(app))
    app.button(key="tour_over").click().run()
    assert not stops(app) and not stops(again(app))


def test_the_run_in_five_stops_is_not_offered_again_once_the_page_was_left(app, new_app):
    assert stops(opened(app))
    opener("attention")(app)
    assert not stops(opened(app))
    other = opener("attention")(new_app())
    assert stops(opened(other))


def test_an_answer_is_given_in_the_place_of_the_models_own_and_taken_back(app, bundled):
    opened(app, text="7")
    own = the_run(bundled, "7")
    app.button(key="run_give").click().run()
    assert told(app, "chips")["rows"][1]["edit"]["text"] == own.text
    assert drawn(app) and told(app, "chips")["rows"][1]["label"] == "given"
    goes_to(app, target="six & a half")
    assert not app.exception
    run = decode(load(bundled / "numbers"), "7", target="six & a half")
    given = told(app, "chips")["rows"][1]["chips"]
    assert [chip["share"] for chip in given] == pytest.approx([math.exp(step.log_prob) for step in run.steps])
    read = run.trace.tgt
    unknown = [typed for token, typed in zip(read.tokens, read.originals, strict=True) if token == "<unk>"]
    assert [chip["note"] for chip in given if chip["unknown"]] == unknown and "half" in unknown
    assert sent(app, "scrubber")[0]["forced"] == [*range(len(run.steps))]
    assert np.array_equal(sent(app, "matrix")[1]["values"], recorded(run, "cross", 1, 0)[0])
    assert wording("its_log_probability_is_over_steps", f"{run.log_prob:.2f}", len(run.steps)) in words(app)
    assert "“7” with the given target “six & a half”" in sent(app, "matrix")[0]["caption"]
    goes_to(app, target="seven " * 200)
    assert "shorten the target" in words(app)
    assert told(app, "chips")["rows"][1]["edit"] == {
        "field": "target",
        "text": "seven " * 200,
        "said": "Edit the given answer",
    }
    goes_to(app, target="")
    assert [chip["text"] for chip in told(app, "chips")["rows"][1]["chips"]] == ["</s>"] and " over 1 step." in words(
        app
    )
    app.button(key="run_write").click().run()
    assert own.text in words(app) and told(app, "chips")["rows"][1]["label"] == "writes"


def test_a_given_answer_is_pinned_and_compared_with_the_models_own(app, bundled):
    opened(app, text="7", target="six")
    app.button(key="pin_set").click().run()
    app.button(key="run_write").click().run()
    app.button_group(key="pin_shown").set_value("B").run()
    assert not app.exception
    run = decode(load(bundled / "numbers"), "7", target="six")
    assert np.array_equal(sent(app, "matrix")[1]["values"], recorded(run, "cross", 1, 0)[0])


def test_a_difference_that_there_is_not_is_a_sentence_in_the_place_of_the_map(app):
    opened(app, text="7", kind="encoder", pin_checkpoint="numbers", pin_text="-1.50", shown="A-B")
    assert wording("only_maps_of_one_size_can_be_subtracted", 3, 3, 7, 7) in words(app)
    assert components(app, "matrix") == []
    assert len(components(app, "scrubber")) == 1


def test_what_is_undefined_in_a_model_is_a_sentence_in_the_place_of_the_map(at_the_zoo):
    opened(at_the_zoo, checkpoint="en-it-slips", text="bad", heads="rollout")
    assert wording("rollout_is_undefined_this_model_merges_its_heads") in words(at_the_zoo)
    assert components(at_the_zoo, "matrix") == []
    at_the_zoo.button_group(key="run_head").set_value(1).run()
    assert drawn(at_the_zoo)


def test_another_model_clips_the_selection_and_says_so(app):
    opened(app, layer="2", heads="3")
    app.selectbox(key="sidebar_model").set_value("numbers-tiny").run()
    assert not app.exception
    assert app.session_state["selection"]["layer"] == 1
    assert wording("there_is_no_layer_so_another_is_shown", 2, "numbers-tiny", 0, 1, 1) in words(app)
    assert sent(app, "matrix")[0]["title"] == wording("title_of_cross_attention", 1, 3)


def test_what_an_address_cannot_mean_is_said(app):
    opened(app, layer="9", heads="x", t="77", i="-1", colour="red", checkpoint="nope")
    said = words(app)
    for sentence in (
        "no layer 9",
        "asks for heads “x”",
        "no target position 77",
        "asks for i “-1”",
        "“colour”",
        "no model named “nope”",
    ):
        assert sentence in said


def test_the_page_says_how_to_read_it_and_what_not_to_conclude(app):
    said = words(opened(app))
    assert "How to read it" in said and "What not to conclude" in said
    for claim in (
        wording("it_reads_the_token_on_the_left_and_writes_the_one_on_the_right"),
        wording("a_row_sums_to_over_the_tokens_that_it_may", 1),
    ):
        assert claim in said
    for claim in (
        wording("neither_a_translation_link_nor_a_cause"),
        wording("a_mean_over_heads_is_not_the_attention_of_any"),
    ):
        assert claim in said


@pytest.fixture
def carded(folder, tmp_path, models_in):
    """Puts these entries into the card of the random model of numbers."""

    def states(**entries):
        shutil.copytree(folder / "numbers", tmp_path / "numbers")
        card = json.loads((tmp_path / "numbers" / "card.json").read_text(encoding="utf-8"))
        (tmp_path / "numbers" / "card.json").write_text(json.dumps(card | entries), encoding="utf-8")
        models_in(tmp_path)

    return states


@pytest.fixture
def noted(carded):
    """The same of the notation."""
    return lambda notation: carded(notation=notation)


def plain(said):
    """A text without the signs that isolate right-to-left tokens in it."""
    return said.replace("\u2068", "").replace("\u2069", "")


LAB = {"kind": "numbers", "decimals": 2, "largest": 190_446_829_568}


def offered(app, key="doubt_way"):
    """What the buttons beside the headline say."""
    labels = [button.label for button in app.button if (button.key or "").startswith(f"{key}_")]
    return [label.replace("\\", "").replace("\u2060", "") for label in labels]


def test_a_text_in_another_notation_is_run_as_typed_and_offered_as_learned(app, noted):
    noted(LAB)
    opened(app, text="1984")
    assert offered(app) == [wording("try_a_text", "1,984.00")]
    assert wording("wrong_it_should_be", "one thousand, nine hundred and eighty-four") in words(app)
    assert [chip["text"] for chip in told(app, "chips")["rows"][0]["chips"]] == ["<s>", *"1984", "</s>"]
    assert app.text_area(key="run_text").value == "1984"
    app.button(key="doubt_way_0").click().run()
    assert not app.exception
    assert app.text_area(key="run_text").value == "1,984.00"
    assert [chip["text"] for chip in told(app, "chips")["rows"][0]["chips"]] == ["<s>", *"1,984.00", "</s>"]
    assert offered(app) == []


def test_what_cannot_be_offered_is_a_sentence(app, noted):
    noted(LAB)
    opened(app, text="12 apples")
    assert offered(app) == []
    assert "“apples” was never in the training numbers" in plain(words(app))
    for text in ("<b>1</b>", "7" * 10_000, "\x00", "٤٢", ""):
        app.text_area(key="run_text").set_value(text).run()
        assert not app.exception and "<b>" not in markup(app)
    app.text_area(key="run_text").set_value("1000000000000").run()
    assert offered(app) == [wording("try_a_text", "1,000,000,000,000.00")]
    assert wording("the_numbers_that_this_model_learned_go_up_to", "190,446,829,568") in words(app)


def test_an_offer_is_there_where_the_text_cannot_be_run(app, noted):
    noted({"kind": "letters", "letters": "abc", "longest": 10})
    opened(app, text="ABC" * 100)
    assert wording("the_model_reads_at_most", 48) in words(app)
    first, *_, last = offered(app, "problem")
    assert (first, last) == ("Try it as the model learned it", "Use the example")
    app.button(key="problem_0").click().run()
    assert app.text_area(key="run_text").value == "abc" * 100


@pytest.mark.parametrize("notation", [None, [], {"kind": "x" * 100_000}, LAB | {"decimals": "<b>"}], ids=str)
def test_a_notation_that_cannot_be_read_is_one_sentence(app, noted, notation):
    noted(notation)
    opened(app, text="1984")
    assert drawn(app) and offered(app) == []
    assert words(app).count("The card's notation") == 1 and "<b>" not in markup(app)


def test_the_page_opens_with_what_the_model_is_by_its_card(app, carded):
    carded(does="reads <b>a number</b>")
    said = wording("this_network_does", "reads <b>a number</b>", "Click any cell.")
    assert said in html.unescape(markup(opened(app)))
    assert "<b>a number" not in markup(app)
    opened(app, run_view="whole")
    assert wording("what_to_try_first") in words(app)


def test_the_page_opens_with_what_the_model_is_by_its_spec(app):
    assert wording("an_encoder_and_a_decoder_of_layers", 1, 3) in words(opened(app))


def test_a_newcomers_words_are_explained_where_they_are_met_first(app):
    for view in ("map", "whole"):
        shown = markup(opened(app, run_view=view))
        for term in ("Token", "Step", "Layer", "Head", "Query", "Key", "Memory", "Logits"):
            assert f'<dfn tabindex="0" title="{term}: ' in shown
        assert re.search(r'class="vt-question[^>]*title="Head: ', shown)


def test_it_is_said_once_that_indices_are_counted_from_0(app):
    for view in ("map", "whole"):
        assert words(opened(app, run_view=view)).count(wording("counted_from_0")) == 1


# ---- the whole run in one picture


def whole(app, number=0):
    """Header and arrays of the picture of A, or of B."""
    return all_sent(app, "whole")[number]


def test_the_whole_run_is_one_picture_and_its_head_the_selected_one(app, bundled):
    opened(app, run_view="whole", heads="2", t="3")
    run = the_run(bundled)
    header, arrays = whole(app)
    found = whole_run(run.trace, head=2)
    for kind, weights in found.weights.items():
        np.testing.assert_array_equal(arrays[f"weights.{kind}"], strongest(weights).weights)
    assert header["of"] == details.run_id(run.trace)
    for stack in found.stacks:
        np.testing.assert_array_equal(arrays[f"stream.{stack.stack}"], stack.stream)
    assert (header["answer"], header["title"]) == (run.text, "")
    assert components(app, "matrix") == components(app, "scrubber") == []
    assert f"when it wrote “{run.tokens[3]}”" in words(app)  # the question follows the selection here too


@pytest.mark.parametrize("heads", ["mean", "max", "rollout", "0,1"])
def test_of_several_heads_the_whole_run_has_the_mean(app, heads):
    opened(app, run_view="whole", heads=heads)
    assert whole(app)[0]["head"] is None


def test_one_button_leads_from_the_whole_run_to_one_map_and_back(app):
    opener("run")(app)
    assert not drawn(app)
    assert [len(components(app, name)) for name in ("whole", "slider", "chips")] == [1, 1, 1]
    app.button(key="run_view").click().run()
    assert drawn(app)
    assert address(app)["run_view"] == "map"
    app.button(key="run_view").click().run()
    assert len(components(app, "whole")) == 1
    assert "run_view" not in address(app)


def test_a_and_b_stand_below_each_other_each_with_its_letter(app):
    opened(app, run_view="whole", text="42", pin_text="7", pin_checkpoint="numbers-tiny", shown="A|B")
    titles = [whole(app, number)[0]["title"] for number in range(len(components(app, "whole")))]
    assert len(titles) == 2
    assert titles[0].startswith("A")
    assert titles[1].startswith("B")


LENGTHS = {"checkpoint": "numbers-any", "pin_checkpoint": "numbers-any"}  # writes “two”, and “twenty-nine”, and an end


def test_of_two_whole_runs_the_steps_go_to_the_end_of_the_longer_one(app, models_in):
    """Each is drawn at its last step behind its end, and what is said of A too."""
    models_in(bundled_folder())
    model = load(bundled_folder() / "numbers-any")
    for text, pinned in (("2", "29"), ("29", "2")):
        a, b = decode(model, text), decode(model, pinned)
        last = max(len(a.steps), len(b.steps)) - 1
        assert len(a.steps) != len(b.steps)
        opened(app, run_view="whole", text=text, pin_text=pinned, shown="A|B", t=str(last), **LENGTHS)
        assert app.session_state["selection"]["t"] == last
        assert "There is no" not in words(app)
        assert f"when it wrote {cite(a.steps[min(last, len(a.steps) - 1)].token)}" in words(app)
        for number, run in enumerate((a, b)):
            assert whole(app, number)[0]["along"] == {"first_row": 0, "steps": last + 1, "reads": True}
            table = open_table(app, f"run_whole_{number}")
            row = min(last, len(run.steps) - 1)
            assert list(table["sub-layer"]) == [told.title for told in sublayers_at(whole_run(run.trace, head=0), row)]
            cross = table[table["sub-layer"] == "decoder layer 1, cross-attention"].iloc[0]
            assert cross["weight"] == float(run.trace["decoder.1.cross.weights"][0, 0, row].max())
    opened(app, run_view="whole", text="2", pin_text="29", shown="A", t="3", **LENGTHS)
    assert app.session_state["selection"]["t"] == 1  # alone it has no such step
    assert "along" not in whole(app)[0]


def test_of_two_answers_that_begin_at_other_rows_the_same_step_is_drawn(app, models_in):
    models_in(bundled_folder())
    opened(
        app,
        run_view="whole",
        checkpoint="shakespeare",
        text="ROMEO:",
        pin_checkpoint="shakespeare",
        pin_text="O",
        shown="A|B",
        t="20",
    )
    headers = [whole(app, number)[0] for number in range(2)]
    assert headers[0]["first_row"] == 5 and headers[1]["first_row"] == 0
    assert [each["along"]["first_row"] for each in headers] == [5, 5]
    assert headers[0]["along"]["steps"] == max(len(each["candidates"]) for each in headers)
    rows = told(app, "chips")["rows"]
    assert [row["first"] for row in rows] == [5, 5]
    run = decode(load(bundled_folder() / "shakespeare"), "O")
    table = open_table(app, "run_whole_1")
    weights = run.trace["decoder.0.self.weights"][0, 0, 15]
    first = table[table["sub-layer"] == "decoder layer 0, self-attention"].iloc[0]
    assert first["weight"] == float(weights.max())


@pytest.mark.parametrize(
    ("model", "text", "t", "step"),
    [("en-it-slips", "a dog", 3, -1), ("en-it-slips", "a dog", 99, -1), ("shakespeare", "ROMEO:", 0, 0)],
)
def test_at_a_row_without_a_step_page_and_picture_have_the_nearest_step(app, models_in, model, text, t, step):
    """Padding that the run added, what is behind it, and a token that is only read."""
    models_in(bundled_folder())
    run = decode(load(bundled_folder() / model), text)
    row = step_row(run, step % len(run.steps))
    opened(app, run_view="whole", checkpoint=model, text=text, t=str(t))
    assert app.session_state["selection"]["t"] == row
    assert f"There is no step at target position {t}: " in words(app)
    assert f"when it wrote {cite(run.steps[step].token)}" in words(app)
    shares = [each.share for each in sublayers_at(whole_run(run.trace, head=0), row)]
    assert list(open_table(app, "run_whole_0")["share added"]) == shares
    opened(app, run_view="map", checkpoint=model, text=text, t=str(t))  # where each row can be looked at
    assert "There is no step" not in words(app)


def test_on_a_projector_each_of_two_whole_runs_is_a_scene_with_its_own_question_and_caption(app, models_in):
    models_in(bundled_folder())
    b = decode(load(bundled_folder() / "numbers-any"), "29")
    pair = {"text": "2", "pin_text": "29", "shown": "A|B", "t": "2", **LENGTHS}
    opened(app, run_view="whole", projector="on", scene="1", **pair)
    assert ".st-key-run_whole_0) { display: none" in markup(app)
    assert f"when it wrote {cite(b.steps[2].token)}" in words(app)
    assert "“29”" in words(app) and "target position 2" in words(app)
    opened(app, run_view="whole", projector="on", scene="0", **pair)
    assert ".st-key-run_whole_1) { display: none" in markup(app)
    assert "“2”" in words(app) and "target position 1" in words(app)


def test_where_the_whole_run_cannot_be_drawn_a_sentence_says_why_and_the_map_is_there(app, monkeypatch):
    def untold(*_given, **_more):
        raise ValueError("this model does not tell its stream")

    monkeypatch.setattr(whole_view, "pack_whole_run", untold)
    opened(app, run_view="whole", level="layer")
    assert "This model does not tell its stream: the whole run cannot be drawn in one picture." in words(app)
    assert components(app, "whole") == []
    assert len(components(app, "matrix")) == 1


TEXTS = {"taylor": "sin(x)", "shakespeare": "To be", "en-it-slips": "a dog", "multi30k-tutorial6": "ein hund"}


@pytest.mark.parametrize("name", TEXTS)
def test_every_kind_of_model_has_the_picture(app, name):
    opened(app, run_view="whole", checkpoint=name, text=TEXTS[name])
    header, arrays = whole(app)
    assert len(header["candidates"]) == len(arrays["log_probs"])
    assert all(np.isfinite(arrays[f"stream.{stack['name']}"]).all() for stack in header["stacks"])


def test_the_table_of_the_whole_run_has_a_row_for_each_sub_layer(app, bundled):
    opened(app, run_view="whole", heads="2", t="3")
    table = open_table(app, "run_whole_0")
    run = the_run(bundled)
    assert list(table["sub-layer"]) == [told.title for told in sublayers_at(whole_run(run.trace, head=2), 3)]
    cross = table[table["sub-layer"] == "decoder layer 1, cross-attention"].iloc[0]
    weights = run.trace["decoder.1.cross.weights"][0, 2, 3]
    assert cross["weight"] == float(weights.max())
    assert cross["attends most to"] == run.trace.src.tokens[int(weights.argmax())]


def inside(app):
    """Of each picture that has any, the details that the browser is told before it asks."""
    told = [payload.unpack(each.bytes) for each in components(app, "whole_detail")]
    assert told[0] == ({"answers": True}, {}), "nothing was asked for"
    return [[values.tobytes() for values in arrays.values()] for _, arrays in told[1:]]


DEEPER = {"run_view": "whole", "kind": "cross", "layer": "1", "heads": "2", "t": "3", "i": "4"}
LEVELS = ("run", "layer", "attention", "weight")


def test_the_details_of_what_is_chosen_are_there_and_stay_the_same_at_each_level(app, bundled):
    trace = the_run(bundled).trace
    heads = [details.pack_attention(trace, "cross", 1, head) for head in range(4)]
    everything = details.details_of(the_run(bundled))
    layers = [each for each in everything if payload.unpack(each)[0]["level"] == "layer"]
    for level in LEVELS:
        opened(app, **DEEPER, level=level)
        assert address(app).get("level", "run") == level
        picture = components(app, "whole")[0].bytes
        if level == "run":
            first = picture
        assert picture == first
        assert inside(app) == [heads, layers]


def test_of_a_larger_run_the_layer_that_is_chosen_is_there(app, bundled, monkeypatch):
    monkeypatch.setattr(whole_view, "EAGER", 3)
    trace = the_run(bundled).trace
    heads = [details.pack_attention(trace, "cross", 1, head) for head in range(4)]
    opened(app, **DEEPER)
    assert inside(app) == [[details.pack_layer(trace, "decoder", 1)], heads]


def test_a_number_that_is_only_passed_on_the_way_has_no_details_until_one_looks_into_it(app):
    opened(app, **DEEPER)
    for level, there in (("run", 0), ("layer", 2)):
        goes_to(app, level=level)
        app.session_state["selection_passing"] = True
        assert len(inside(again(app))) == there


def test_of_a_longer_text_only_what_the_level_needs_is_there(app, bundled, monkeypatch):
    monkeypatch.setattr(whole_view, "EAGER", 3)
    monkeypatch.setattr(whole_view, "AHEAD", 3)
    trace = the_run(bundled).trace
    layer, head = details.pack_layer(trace, "decoder", 1), details.pack_attention(trace, "cross", 1, 2)
    for level, found in zip(LEVELS, ([], [[layer]], [[head]], [[head]]), strict=True):
        opened(app, **DEEPER, level=level)
        assert inside(app) == found


@pytest.mark.parametrize("heads", ["mean", "rollout", "1,3"])
def test_of_several_heads_the_first_of_the_layer_is_looked_into(app, heads, monkeypatch):
    monkeypatch.setattr(whole_view, "EAGER", 3)
    monkeypatch.setattr(whole_view, "AHEAD", 3)
    opened(app, **{**DEEPER, "heads": heads, "level": "weight"})
    assert payload.unpack(inside(app)[0][0])[0]["head"] == 0


def test_what_the_browser_asks_for_is_answered_while_the_store_has_the_run(bundled):
    run = the_run(bundled)
    answer = whole_view.answering([run.trace])
    of = details.run_id(run.trace)
    asked = [{"of": of, "stack": "decoder", "layer": 2}, {"of": of, "kind": "cross", "layer": 0, "head": 3}]
    header, arrays = payload.unpack(answer(asked))
    assert header["answers"] is True
    assert [values.tobytes() for values in arrays.values()] == [
        details.pack_layer(run.trace, "decoder", 2),
        details.pack_attention(run.trace, "cross", 0, 3),
    ]
    assert payload.unpack(answer([]))[1] == {}


def test_a_page_does_not_keep_the_run_that_it_answers_for(bundled):
    run = decode(load(bundled_folder() / "numbers-tiny"), "7")
    of = {"of": details.run_id(run.trace), "stack": "decoder", "layer": 0}
    answer = whole_view.answering([run.trace])
    assert len(payload.unpack(answer([of]))[1]) == 1
    del run
    assert payload.unpack(answer([of]))[1] == {}


def test_a_and_b_have_details_each_and_b_none_of_what_it_lacks(app):
    opened(app, **{**DEEPER, "text": "42", "pin_text": "7", "pin_checkpoint": "numbers-tiny", "shown": "A|B"})
    for level in LEVELS[:2]:
        goes_to(app, level=level, layer="1")
        named = [{payload.unpack(each)[0]["of"] for each in found} for found in inside(app)]
        assert [len(each) for each in named] == [1, 1, 1, 1]  # heads and layers of A, then of B
        assert named[0] == named[1] != named[2] == named[3]
        goes_to(app, layer="2")
        assert {payload.unpack(found[0])[0]["of"] for found in inside(app)} == named[0]
        assert len(components(app, "whole")) == 2


def level_table(app, level, **fields):
    opened(app, **{**DEEPER, **fields, "level": level})
    return open_table(app, "run_whole_0")


def test_the_table_of_a_layer_has_the_vectors_of_each_sub_layer(app, bundled):
    table = level_table(app, "layer")
    trace = the_run(bundled).trace
    assert list(table["vector"]) == ["before", "after norm", "added", "after"] * 3
    cross = table[(table["sub-layer"] == "cross-attention") & (table["vector"] == "added")].iloc[0]
    added = trace["decoder.1.cross.out"][0, 3]
    assert cross["length"] == pytest.approx(float(added.norm()), rel=1e-6)
    last = len(added) - 1
    assert cross[f"feature {last}"] == float(added[last])
    read = table[(table["sub-layer"] == "cross-attention") & (table["vector"] == "after norm")].iloc[0]
    assert read["norm scale"] == float(trace["decoder.1.cross.norm_scale"][0, 3, 0])


def test_the_table_of_an_attention_has_the_keys_of_the_row(app, bundled):
    table = level_table(app, "attention")
    trace = the_run(bundled).trace
    assert list(table["token"]) == list(trace.src.tokens)
    assert list(table["score"]) == trace["decoder.1.cross.scores"][0, 2, 3].tolist()
    assert list(table["weight"]) == trace["decoder.1.cross.weights"][0, 2, 3].tolist()
    assert not table["masked"].any()
    causal = level_table(app, "attention", kind="decoder")
    assert list(causal["masked"]) == (~trace["decoder.1.self.mask"][0, 0, 3]).tolist()
    assert causal["masked"].any()


def test_the_table_of_a_weight_has_its_products_and_what_becomes_of_them(app, bundled):
    table = level_table(app, "weight").set_index("number")["product or result"]
    trace = the_run(bundled).trace
    query, key = trace["decoder.1.cross.query"][0, 2, 3].double(), trace["decoder.1.cross.key"][0, 2, 4].double()
    assert table[[f"dimension {n}" for n in range(len(query))]].tolist() == (query * key).tolist()
    assert table["sum"] == pytest.approx(float(query @ key), rel=1e-12)
    assert table["divisor"] == trace.scalars["decoder.1.cross.divisor"]
    assert table["score"] == float(trace["decoder.1.cross.scores"][0, 2, 3, 4])
    assert table["weight"] == float(trace["decoder.1.cross.weights"][0, 2, 3, 4])
