import html
import json
import re
import shutil
from dataclasses import replace
from pathlib import Path
from urllib.parse import parse_qs

import numpy as np
import page_driver
import pytest
from builders import saved
from page_driver import again, all_sent, drawn, figures, goes_to, markup, numbers, opener, told, words
from wording import wording

from viz_transformer.analysis.models.answers import PairAnswer, greedy_answers
from viz_transformer.analysis.models.counting import token_counts
from viz_transformer.analysis.models.diagnostics import Check
from viz_transformer.analysis.models.parameters import parameter_total
from viz_transformer.analysis.models.snapshots import snapshot_series
from viz_transformer.analysis.models.untrained import make_untrained, recipe_of
from viz_transformer.checkpoint import contents, load
from viz_transformer.figures.architecture import architecture
from viz_transformer.measuring.comparing import both_answers
from viz_transformer.model.config import ModelConfig
from viz_transformer.running.decoding import decode
from viz_transformer.ui.pages.models import model_tabs, view
from viz_transformer.ui.pages.models import words as of_models
from viz_transformer.ui.pages.models.fields import TABS
from viz_transformer.ui.session import cached, examples

opened = opener("models")
CHECKPOINTS = Path(__file__).parents[2] / "checkpoints"
TELLS_APART = {
    "numbers": "such as 29,284.30",
    "numbers-any": "in any usual notation",
    "numbers-tiny": "small enough to watch it learn",
    "multi30k-de-en": "trained for quality",
    "multi30k-tutorial6": "a tutorial’s settings",
    "tatoeba-en-it": "Everyday English",
    "en-it-slips": "bugs left in",
    "taylor": "one to five functions",
    "taylor-2terms": "one or two functions",
}
"""Models whose names are alike: what only this one's title says."""


def test_there_is_a_card_for_each_model(app, bundled):
    opened(app)
    assert [title.value for title in app.title] == ["Models"]
    said = markup(app)
    for summary in contents.list_checkpoints():
        assert f">{summary.name}</div>" in said
        assert f"{summary.parameter_count:,} parameters" in said
    assert "Numbers &lt;to&gt; words &amp; back" in said


def test_a_card_states_its_metric_with_interval_pairs_and_unseen_sources(app):
    said = markup(opened(app)).replace("\u2060", "")
    assert ">99.00 %<" in said
    assert "exact match, 95 % interval 98.46–99.35" in said
    assert "<th>test_full, first 2,000<i>greedy, 2,000 pairs</i></th>" in said
    assert "<th>exact match</th><td>99.00 %\n(98.46 % to 99.35 %)</td>" in said
    assert "<th>exact match, unseen sources</th><td>98.75 %</td>" in said


def test_the_selected_model_is_the_one_of_the_whole_app(app):
    opened(app)
    assert [button.label.split(":")[0] for button in app.button] == ["Selected", "Select"]
    app.button(key="select_numbers-tiny").click().run()
    assert not app.exception
    assert app.session_state["selection"]["checkpoint"] == "numbers-tiny"
    assert '<h2 class="vt-model">numbers-tiny</h2>' in markup(app)
    assert app.selectbox(key="sidebar_model").value == "numbers-tiny"


def test_the_configuration_is_that_of_the_model(app):
    said = markup(opened(app, checkpoint="numbers-tiny"))
    for name, value in (("layers", "1 encoder + 2 decoder"), ("d_model", "16"), ("heads", "4, head_dim 4")):
        assert f"<th>{name}</th><td>{value}</td>" in said


def test_both_losses_are_drawn_on_logarithmic_axes(app):
    figure = figures(opened(app, model_tab="curves"))[0]
    assert figure["layout"]["xaxis"]["type"] == figure["layout"]["yaxis"]["type"] == "log"
    training, validation, best, rate = figure["data"]
    assert (training["name"], validation["name"]) == ("training", "validation")
    values = [numbers(curve["y"]) for curve in (training, validation)]
    assert np.array_equal(values[0], np.float32([1.5, 1.0]))  # step 0 has no place on a logarithmic axis
    assert np.array_equal(values[1], np.float32([1.6]))
    assert figure["layout"]["yaxis"]["title"]["text"] == wording("negative_log_likelihood_nats_per_token")
    assert (best["x"], best["y"]) == ([10], [1.6])
    assert rate["yaxis"] == "y2" and rate["name"] == "learning rate"
    said = markup(app)
    assert wording("measured_on_a_part_of_the_data_that_its_card_does_not_state", "1.6", 10) in said
    assert "perplexity of 4.95303." in said
    assert wording("whether_its_decoder_reads_the_answer_is_not_stated") in said


CURVE = "step,train_loss,validation_loss,learning_rate,gradient_norm\n10,1.5,1.6,0.1,1\n"


def with_changes(folder, model, models_in, history=None, **card):
    """A copy of one of the models in this folder with other fields in its card, alone among the models."""
    shutil.copytree(model, folder / model.name)
    stated = json.loads((model / "card.json").read_text(encoding="utf-8"))
    (folder / model.name / "card.json").write_text(json.dumps(stated | card), encoding="utf-8")
    if history is not None:
        (folder / model.name / "history.csv").write_text(history, encoding="utf-8")
    models_in(folder)


def test_the_lowest_loss_says_of_how_many_pairs_it_is(app, bundled, tmp_path, models_in):
    on = {"train": "512 of 29,000 pairs", "validation": "512 of 1,014 pairs"}
    with_changes(tmp_path, bundled / "numbers", models_in, losses_on=on, causal=True)
    said = markup(opened(app, model_tab="curves"))
    assert "reads the answer" not in said
    assert wording("the_lowest_validation_loss_measured_on_of_pairs", 512, "1,014", "1.6", 10) in said
    training, validation, best, _ = figures(app)[0]["data"]
    assert "on 512 of 29,000 pairs" in training["hovertemplate"]
    assert "on 512 of 1,014 pairs" in validation["hovertemplate"] and "on 512 of 1,014 pairs" in best["hovertemplate"]
    app.button_group(key="models_tab").set_value("data").run()
    both = wording("training_loss_on_of_pairs_validation_loss", 512, "29,000", 512, "1,014")
    assert f"<th>curves</th><td>{both}</td>" in markup(app)


def test_the_curves_of_a_decoder_that_reads_the_answer_say_so(app, zoo, tmp_path, models_in):
    with_changes(tmp_path, zoo / "en-it-slips", models_in, history=CURVE, causal=False)
    said = markup(opened(app, checkpoint="en-it-slips", model_tab="curves"))
    assert wording("these_are_losses_of_a_decoder_that_reads_the_answer") in said


def test_the_curves_say_how_long_the_training_took(app, bundled, tmp_path, models_in):
    assert wording("is_not_known_this_history_has_no_column", "seconds") in markup(opened(app, model_tab="curves"))
    shutil.copytree(bundled / "numbers", tmp_path / "numbers")
    header, *rows = (bundled / "numbers" / "history.csv").read_text(encoding="utf-8").splitlines()
    timed = [f"{header},seconds", *(f"{row},{minutes * 60}" for row, minutes in zip(rows, (0, 28, 37), strict=True))]
    (tmp_path / "numbers" / "history.csv").write_text("\n".join(timed), encoding="utf-8")
    models_in(tmp_path)
    said = markup(app.run())
    assert wording("trained_in_min_the_measurements_of_the_losses_included", 37) in said
    assert wording("the_lowest_validation_loss_came_after", 28, 9) in said
    training, *_ = figures(app)[0]["data"]
    assert training["customdata"] == ["after 28 min, 9 min left", "after 37 min, none left"]
    table = model_tabs.history_table(contents.list_checkpoints()[0].history())
    assert [*table["seconds_left"]] == [37 * 60, 9 * 60, 0]


def test_examples_are_run_and_counted_and_differences_marked(app):
    said = markup(opened(app, model_tab="errors"))
    assert wording("greedy_answers_are_right_or_wrong", "3 test pairs", 1, 2) in said
    assert "Wrong, 2 shown" in said and "Right, 1 shown" in said
    assert "<del>" in said and "<ins>" in said
    assert "&lt;b&gt;" in said and "<b>" not in said


def test_licence_and_commands_are_stated(app):
    said = markup(opened(app))
    assert "licence of the data" in said and ">MIT<" in said
    assert [code.value for code in app.code] == ["viz-transformer evaluate numbers", "viz-transformer train numbers"]


def test_the_selection_stays_when_the_page_changes(app):
    opened(app, text="0.07", heads="mean", t="1")
    app.switch_page("pages/run.py").run()
    assert not app.exception
    assert app.text_area(key="run_text").value == "0.07"
    assert app.session_state["selection"]["heads"] == "mean"


def test_opened_first_the_page_still_has_the_frame(app):
    app.switch_page("pages/models.py").run()
    assert not app.exception
    assert app.selectbox(key="sidebar_model").value == "numbers"


def test_a_folder_that_is_no_model_has_a_card_that_says_why(app, bundled, tmp_path, models_in):
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "config.json").write_text("{", encoding="utf-8")
    (tmp_path / "numbers").symlink_to(bundled / "numbers")
    models_in(tmp_path)
    said = markup(opened(app))
    assert "config.json" in said
    assert ">numbers</div>" in said


@pytest.mark.parametrize(
    ("file", "tab"), [("model.safetensors", "card"), ("history.csv", "curves"), ("examples.tsv", "errors")]
)
def test_a_damaged_file_is_said_in_one_sentence_and_the_rest_is_shown(app, bundled, tmp_path, models_in, file, tab):
    shutil.copytree(bundled / "numbers", tmp_path / "numbers")
    (tmp_path / "numbers" / file).write_bytes(b"not\tthis\tfile\n")
    models_in(tmp_path)
    said = markup(opened(app, model_tab=tab))
    assert file in said and "What not to conclude" in said
    app.button_group(key="models_tab").set_value("data").run()
    assert not app.exception
    assert ">MIT<" in markup(app)


def test_a_card_without_measurements_says_so():
    assert view.metric_lines({}) == [("vt-card-value", "–"), ("vt-card-what", "not measured")]
    assert view.metric_lines({"metrics": "many"})[0] == ("vt-card-value", "–")


def values_and_lines(**entry):
    lines = view.metric_lines({"metrics": [entry]})
    assert [style for style, _ in lines] == ["vt-card-value"] + ["vt-card-what"] * (len(lines) - 1)
    return [line for _, line in lines]


BLEU = {"bleu": 40.96, "chrf": 61.04, "bleu_signature": "nrefs:1|case:lc|tok:none", "exact_match": 0.25}
INTERVAL = {"exact_match": 0.25, "exact_match_low": 0.2, "exact_match_high": 0.3}


def test_a_translator_is_judged_by_bleu_with_how_it_was_measured():
    beam = values_and_lines(split="flickr", pairs=1000, command="evaluate x --beam 4", **BLEU)
    assert beam == ["41.0", "BLEU, sacrebleu tok:none, beam 4", "chrF 61.0", "1,000 pairs of flickr"]
    assert values_and_lines(bleu=3, command="evaluate x") == ["3.0", "BLEU, greedy", "an unnamed split"]


def test_equal_expressions_stand_under_exact_matches():
    assert values_and_lines(split="test, 593 pairs", pairs=593, equivalent=0.5, **INTERVAL) == [
        "25.00 %",
        "exact match, 95 % interval 20.00–30.00",
        "test, 593 pairs",
        "equal as expressions: 50.00 %",
    ]


def test_a_card_says_which_pairs_its_number_leaves_out_and_the_share_with_them():
    with_them = {"split": "all", "pairs": 2300, "too_long": 852, "exact_match": 0.53}
    assert view.too_long_lines({"metrics": [INTERVAL, with_them]}) == [
        wording("pairs_left_out_counted_as_wrong", 852, "2,300", "53.00")
    ]
    assert view.too_long_lines({"metrics": [INTERVAL]}) == []


def test_many_measurements_have_a_row_each_and_few_a_column(app, bundled, tmp_path, models_in):
    metrics = [{"split": f"part {n}", "command": f"evaluate {n}", "pairs": 10, "exact_match": 0.5} for n in range(5)]
    with_changes(tmp_path, bundled / "numbers", models_in, metrics=metrics)
    said = markup(opened(app))
    table = said[said.index('<table class="vt-measured vt-rows">') :].partition("</table>")[0]
    assert table.count("<tr>") == 6 and table.count("<td>50.00 %</td>") == 5
    assert [expander.label for expander in app.expander] == ["5 commands"]
    assert {f"evaluate {n}" for n in range(5)} <= {code.value for code in app.code}
    (tmp_path / "few").mkdir()
    with_changes(tmp_path / "few", bundled / "numbers", models_in, metrics=metrics[:4])
    said = markup(app.run())
    table = said[said.index('<table class="vt-measured">') :].partition("</table>")[0]
    assert table.count("<tr>") == 2 and not app.expander


def test_what_the_test_leaves_out_stands_on_card_errors_and_data(app, bundled, tmp_path, models_in):
    with_them = {"split": "all", "command": "evaluate", "pairs": 2300, "too_long": 852, "exact_match": 0.53}
    with_changes(tmp_path, bundled / "numbers", models_in, metrics=[{"exact_match": 0.99}, with_them])
    left_out = "852 of 2,300 pairs, too long"
    assert wording("what_is_left_out_counted_as_wrong", "852 of 2,300 pairs", "53.00") in markup(opened(app))
    app.button_group(key="models_tab").set_value("errors").run()
    assert wording("left_out_as_in_its_test", left_out) in markup(app)
    app.button_group(key="models_tab").set_value("data").run()
    assert f"<th>left out of the test</th><td>{left_out}</td>" in markup(app)


def test_a_model_without_answers_is_judged_by_its_loss():
    entry = {"split": "val", "pairs": 872, "exact_match": None, "bleu": None, "loss": 1.523}
    assert values_and_lines(**entry, perplexity=4.586) == [
        "1.52 nats per token",
        "loss, perplexity 4.59",
        "872 windows of val",
    ]
    assert values_and_lines(**entry, perplexity=None)[1] == "loss"
    assert values_and_lines(**entry | INTERVAL)[0] == "25.00 %"


def test_a_translation_is_equal_to_the_reference_or_differs_and_is_not_called_wrong(at_the_zoo):
    said = markup(opened(at_the_zoo, checkpoint="multi30k-de-en", model_tab="errors"))
    assert wording("greedy_answers_match_the_reference_or_differ", "2 test pairs", 1, "matches", 1, "differs") in said
    assert (
        wording("different_from_the_reference_shown", 1) in said and wording("equal_to_the_reference_shown", 1) in said
    )
    assert ">reference</span>" in said and ">asked for<" not in said
    tables = said[said.index("<table") : said.rindex("</table>")]
    assert "✕" not in tables and "vt-bad" not in tables and "Wrong" not in tables


def test_a_model_that_was_not_measured_by_bleu_is_right_or_wrong(at_the_zoo):
    said = markup(opened(at_the_zoo, checkpoint="own", model_tab="errors"))
    assert wording("greedy_answers_are_right_or_wrong", "2 test pairs", 0, 2) in said
    assert "Wrong, 2 shown" in said and "✕" in said


def test_a_model_that_writes_on_has_no_right_answers_and_is_not_run(at_the_zoo, monkeypatch):
    monkeypatch.setattr(cached, "example_answers", lambda *_: pytest.fail("the pairs were run"))
    said = markup(opened(at_the_zoo, checkpoint="shakespeare", model_tab="errors"))
    assert wording("goes_on_writing_from_any_text_there_is_no_right") in said
    assert "Greedy answers" not in said


def test_the_pairs_of_a_model_with_slips_are_run_and_its_slips_named(at_the_zoo):
    said = markup(opened(at_the_zoo, checkpoint="en-it-slips", model_tab="errors"))
    assert "model on 1 test pair: " in said
    at_the_zoo.button_group(key="models_tab").set_value("card").run()
    said = markup(at_the_zoo)
    for name, value in (("merge", "raw-reshape"), ("mask fill", "added-1e9"), ("pad to", "20")):
        assert f"<th>{name}</th><td>{value}</td>" in said
    assert said.count("<th>embedding scale</th>") == 1


def test_selecting_a_model_brings_a_text_that_fits_it(at_the_zoo):
    opened(at_the_zoo)
    at_the_zoo.button(key="select_multi30k-de-en").click().run()
    at_the_zoo.switch_page("pages/run.py").run()
    assert not at_the_zoo.exception
    assert at_the_zoo.text_area(key="run_text").value == examples.examples("multi30k")[0]


@pytest.mark.parametrize(("share", "text"), [(1, "100 %"), (1.0, "100 %"), (0.99999, ">99.99 %"), (0.9955, "99.55 %")])
def test_a_share_is_never_rounded_up_to_all(share, text):
    assert view.percent(share) == text


def test_the_rows_of_other_kinds_of_models_are_right():
    config = ModelConfig(target_vocab_size=65, decoder_layers=2, d_model=8, n_heads=2, d_ff=8, tied_output=True)
    rows = dict(view.config_rows(config, {"source": None, "target": None}))
    assert rows["layers"] == "2 decoder"
    assert rows["target"] == wording("tokens_in_the_vocabulary_ids_only", 65, 512)
    assert "source" not in rows
    assert rows["output layer"] == "tied to the embedding"
    assert rows["embedding scale"] == "sqrt(d_model)"
    learned = dict(view.config_rows(replace(config, embedding_scale="learned"), {}))
    assert learned["embedding scale"] == "learned"


@pytest.mark.parametrize(("translates", "captions"), [(True, ["9 shown"]), (False, ["6 of 9 shown"])])
def test_all_answers_of_a_translator_are_there_to_be_read(translates, captions, monkeypatch):
    shown = []
    monkeypatch.setattr(view.st, "html", shown.append)
    answers = [PairAnswer(f"source {i}", "a", "b", right=False) for i in range(9)]
    left = view.answer_tables(answers, 6, translates=translates, model="numbers")
    assert left == (0 if translates else 3)
    assert len(shown) == len(captions)
    assert all(caption in table for caption, table in zip(captions, shown, strict=True))
    assert shown[0].count("<tr>") == (9 if translates else 6)


# ---- tabs


def test_only_the_selected_tab_is_worked_out(app, monkeypatch):
    for name in ("checkpoint", "example_answers", "run"):
        monkeypatch.setattr(cached, name, lambda *_: pytest.fail("the model was loaded"))
    app.switch_page("pages/models.py")
    for tab in ("card", "architecture", "curves", "data", "new"):
        app.query_params["model_tab"] = tab
        again(app)
        assert app.button_group(key="models_add" if tab == "new" else "models_tab").value == tab
        assert "What not to conclude" in markup(app)


def test_the_tab_stands_in_the_address(app):
    opened(app)
    app.button_group(key="models_tab").set_value("data").run()
    assert not app.exception
    assert app.query_params["model_tab"] in ("data", ["data"])
    assert of_models.AS_CARD_STATES in markup(app)


def test_a_tab_that_is_not_known_is_said(app):
    app.switch_page("pages/models.py")
    app.query_params["model_tab"] = "weights"
    app.run()
    assert wording("which_is_not_one_of_card_architecture") in markup(app)


@pytest.mark.parametrize("name", ["numbers", "shakespeare", "en-it-slips"])
def test_the_architecture_is_drawn_with_the_models_own_parts(at_the_zoo, zoo, name):
    said = markup(opened(at_the_zoo, model_tab="architecture", checkpoint=name))
    drawn, norms = (header for header, _ in all_sent(at_the_zoo, "architecture"))
    summary = contents.read_summary(zoo / name)
    wanted = architecture(summary.config)
    assert [box["part"] for box in drawn["boxes"]] == [box.part for box in wanted.boxes]
    assert [box["detail"] for box in drawn["boxes"]] == [box.detail for box in wanted.boxes]
    assert f"{name}, architecture" in drawn["caption"] and "position of the norm" in norms["caption"]
    total = f"{summary.parameter_count:,}"
    assert f"<th>total</th><td></td><td>{total}</td>" in said
    assert wording("the_weights_file_holds_the_same_number", total) in said


def test_steps_have_commas_and_a_seed_has_none():
    rows = dict(view.origin_rows({"steps": 6282, "seed": 1234, "date": "2026-11-21"}))
    assert rows == {"optimiser steps": "6,282", "seed": "1234", "trained on": "2026-11-21"}


def test_the_data_card_states_what_the_card_does(app):
    said = markup(opened(app, model_tab="data"))
    assert "<th>licence</th><td>MIT</td>" in said
    assert "<th>overlap</th><td>not stated</td>" in said
    assert "<th>pairs</th><td>3</td>" in said


def test_every_row_of_the_errors_leads_to_its_sentence_on_run(app, new_app):
    said = markup(opened(app, model_tab="errors"))
    sources = re.findall(r'<th><a href="\./\?([^"]+)">([^<]+)</a></th>', said)
    assert {source for _, source in sources} == {"4.20", "7.10", "8"}
    for address, source in sources:
        fields = {name: values[0] for name, values in parse_qs(html.unescape(address)).items()}
        assert fields == {"checkpoint": "numbers", "text": source}
    shown = goes_to(new_app(), **fields)
    assert (shown.session_state["selection"]["text"], shown.session_state["selection"]["checkpoint"]) == (
        fields["text"],
        "numbers",
    )


def test_a_source_that_is_too_long_for_an_address_and_one_with_signs_stand_in_their_row(app):
    opened(app, model_tab="errors")

    def cells() -> None:
        import streamlit as st

        from viz_transformer.ui.pages.models import view

        for source in ("x" * 1501, '<b>"&'):
            st.html(view.source_cell(source, checkpoint="numbers"))

    said = markup(drawn(cells))
    assert f"<th>{'x' * 1501}</th>" in said
    assert "&lt;b&gt;&quot;&amp;</a>" in said and "text=%3Cb%3E%22%26" in said and "<b>" not in said


def test_more_answers_are_listed_until_all_are_there(app, monkeypatch):
    answers = tuple(PairAnswer(f"s{i}", "a", "b", right=False, ids=(1,)) for i in range(480))
    monkeypatch.setattr(cached, "example_answers", lambda *_: answers)
    monkeypatch.setattr(model_tabs, "_draw_counts", lambda *_: None)
    assert markup(opened(app, model_tab="errors")).count("./?") == 6
    for said, count in (("200 more", 206), ("200 more", 406), ("74 more", 480)):
        button = app.button(key="models_more")
        assert button.label == said
        button.click().run()
        assert markup(app).count("./?") == count
    assert not [button for button in app.button if button.key == "models_more"]
    app.text_input(key="models_find").set_value("s1").run()
    assert app.button(key="models_more").label == "51 more"  # of 111, from the beginning


def test_another_model_s_answers_stand_beside_with_a_link_to_both_runs(app, bundled, new_app):
    opened(app, model_tab="errors")
    assert app.selectbox(key="models_other").value == "no other model" and "Different answers" not in markup(app)
    app.selectbox(key="models_other").set_value("numbers-tiny").run()
    both = both_answers(load(bundled / "numbers"), load(bundled / "numbers-tiny"), examples_of(bundled))
    assert both.differences()
    said = markup(app)
    assert f"Different answers, {len(both.differences())} shown" in said and "<b>" not in said
    assert app.session_state["selection"]["model_other"] == "numbers-tiny"
    source = both.differences()[0].source
    (found,) = {link for link in re.findall(r'href="\./\?([^"]+)"', said) if f"pin_text={source}" in link}
    fields = {name: values[0] for name, values in parse_qs(html.unescape(found)).items()}
    shown = goes_to(new_app(), **fields)
    chosen = shown.session_state["selection"]
    assert (chosen["text"], chosen["pin_checkpoint"], chosen["pin_text"]) == (source, "numbers-tiny", source)
    assert chosen["shown"] == "A|B" and not shown.exception


def test_the_pinned_run_s_model_is_the_one_beside_unless_another_is_chosen(app):
    pinned = {"pin_checkpoint": "numbers-tiny", "pin_text": "8", "shown": "A|B"}
    opened(app, model_tab="errors", **pinned)
    assert app.selectbox(key="models_other").value == "numbers-tiny" and "Different answers" in markup(app)


def examples_of(bundled):
    return contents.read_examples(bundled / "numbers")


def test_answers_are_filtered_by_kind_and_words(app):
    opened(app, model_tab="errors")
    app.button_group(key="models_answers").set_value("wrong").run()
    said = markup(app)
    assert "Wrong, 2 shown" in said and "Right, 1 shown" not in said
    app.text_input(key="models_find").set_value("eight").run()
    assert not app.exception
    said = markup(app)
    assert "Wrong, 1 shown" in said and "7.10" not in said
    app.text_input(key="models_find").set_value("nowhere").run()
    assert wording("no_answer_matches_the_filter") in markup(app)
    assert app.session_state["selection"]["model_answers"] == "wrong"


def test_what_is_confused_is_counted_beside_the_answers(app):
    said = markup(opened(app, model_tab="errors"))
    assert "Most frequent differences" in said and "<b>" not in said


def test_answers_are_counted_in_the_ways_of_other_texts_too(app, bundled, monkeypatch):
    pairs = (("84.33", "one hundred and two"), ("1.20", "four"), ("6", "one point two"), ("8", "two"))
    monkeypatch.setattr(contents.Summary, "examples", lambda _: pairs)
    said = words(opened(app, model_tab="errors", model_answers="right"))
    ckpt = load(bundled / app.session_state["selection"]["checkpoint"])
    found = token_counts(ckpt, greedy_answers(ckpt, pairs))
    assert wording("exact_match_of_with_its_interval", found.right, found.pairs, 95) in said
    assert wording("equal_positions_as_the_upc_lab_counts", f"{100 * found.positions:.2f}") in said
    assert wording("loss_averaged_over_tokens", f"{found.loss:.4g}") in said
    assert wording("loss_averaged_by_text_first", f"{found.text_loss:.4g}") in said


def test_targets_that_the_model_cannot_read_are_not_counted_and_the_answers_stay(app, monkeypatch):
    monkeypatch.setattr(contents.Summary, "examples", lambda _: (("84.33", "two"), ("1.20", " ".join(["one"] * 40))))
    said = markup(opened(app, model_tab="errors"))
    assert "model on 2 test pairs: " in said and wording("target_of_a_pair_is_too_long", 2, 41, 12) in said


def test_the_doctor_says_what_it_found(app):
    said = markup(opened(app, model_tab="doctor"))
    assert wording("each_check_was_worked_out_now_on_the_loaded_model") in said
    for name in ("weights file", "numbers", "sizes", "looking", "causality", "better than guessing"):
        assert f"<th>{name}</th>" in said
    assert wording("every_bit_is_the_same") in said


def test_a_check_is_said_in_its_own_words_and_never_as_markup():
    sentences = (
        "They differ by at most 4.8\u00a0·\u00a010⁻⁶, by rounding.",  # the number's parts stay on one line
        "2 of 12 tokens are zero: “<b>”, “\\n”.",
    )
    said = model_tabs.checks_table([Check("numbers", "ok", sentence) for sentence in sentences])
    assert "<td>They differ by at most 4.8\u00a0·\u00a010⁻⁶, by rounding.</td>" in said
    assert "<td>2 of 12 tokens are zero: “&lt;b&gt;”, “\\n”.</td>" in said


def test_no_sentence_of_the_doctor_marks_the_blanks_of_a_number(app):
    said = markup(opened(app, model_tab="doctor"))
    assert "\u00a0·\u00a010" in said and "␣" not in said


def test_the_doctor_finds_a_decoder_that_reads_the_future(at_the_zoo):
    said = markup(opened(at_the_zoo, model_tab="doctor", checkpoint="en-it-slips", text="abc"))
    assert wording("this_decoder_reads_the_future") in said
    assert '<tr class="vt-check-bad">' in said


def test_a_text_that_the_doctor_cannot_use_is_said_in_a_sentence(app):
    said = markup(opened(app, model_tab="doctor", text="4" * 100))
    assert wording("the_model_reads_at_most", 48) in said and "Traceback" not in said


# ---- new models

NEW = "new:numbers:own:e1-d2-h2-w8-f12-post-s7"


def test_a_new_model_is_put_together_and_opened(app, bundled):
    opened(app, model_tab="new")
    drawn = all_sent(app, "architecture")[0][0]
    assert "new:numbers:own:e1-d3-h4-w16-f16-pre-s0" in markup(app)
    app.number_input(key="new_decoder_layers").set_value(2).run()
    app.number_input(key="new_n_heads").set_value(2).run()
    app.number_input(key="new_d_model").set_value(8).run()
    app.number_input(key="new_d_ff").set_value(12).run()
    app.number_input(key="new_seed").set_value(7).run()
    app.button_group(key="new_norm").set_value("post").run()
    assert not app.exception
    assert app.session_state["selection"]["model_recipe"] == NEW
    config = recipe_of(NEW).config(contents.read_summary(bundled / "numbers").config)
    total = f"{parameter_total(config):,}"
    assert wording("the_model_that_torch_builds_has_the_same_number", total) in markup(app)
    changed = all_sent(app, "architecture")[0][0]
    assert drawn["label"] != changed["label"] == architecture(config).label
    app.button(key="new_open").click().run()
    assert not app.exception
    assert app.session_state["selection"]["checkpoint"] == NEW
    assert app.selectbox(key="sidebar_model").value == NEW
    assert app.button(key="new_open").label == "Opened"


def test_a_link_to_a_new_model_makes_it_in_any_browser(new_app, bundled):
    app = opened(new_app(), checkpoint=NEW)
    said = markup(app)
    assert f'<h2 class="vt-model">{NEW}</h2>' in said
    assert "Random parameters, never trained" in said and "New: never trained" in said
    app.switch_page("pages/tensors.py").run()
    assert not app.exception
    summary = next(each for each in cached.summaries() if each.name == "numbers")
    made = make_untrained(recipe_of(NEW), load(summary.path))
    run = decode(made, "29,284.30")
    assert f"{len(run.trace.points(derived=True))} points" in "".join(each.label for each in app.text_input)


@pytest.mark.parametrize("page", ["run", "attention", "tensors"])
def test_a_new_model_is_shown_on_every_page(app, page):
    opened(app, checkpoint=NEW)
    app.switch_page(f"pages/{page}.py").run()
    assert not app.exception
    assert app.selectbox(key="sidebar_model").value == NEW
    wrong = page == "run"  # random weights write a wrong answer, which is said beside it
    assert ("✕" in markup(app)) == wrong


def test_it_stays_in_the_list_when_another_model_is_selected(app):
    opened(app, checkpoint=NEW)
    app.selectbox(key="sidebar_model").set_value("numbers-tiny").run()
    assert not app.exception
    assert app.selectbox(key="sidebar_model").options == ["numbers", "numbers-tiny", NEW]
    assert app.session_state["selection"]["checkpoint"] == "numbers-tiny"


def test_the_list_keeps_the_last_few_and_the_selected_and_pinned(app):
    names = [f"new:numbers:own:e1-d1-h2-w8-f12-pre-s{seed}" for seed in range(8)]
    opened(app, pin_checkpoint=names[0], pin_text="1")
    for name in names[1:]:
        app.query_params["checkpoint"] = name
        again(app)
    options = app.selectbox(key="sidebar_model").options
    assert options[:2] == ["numbers", "numbers-tiny"]
    assert {names[0], names[7]} <= set(options) and len(options) == 2 + 2 + 4


def test_opened_beside_the_trained_one_both_have_one_target(app, bundled):
    opened(app, model_tab="new", model_recipe=NEW)
    app.button(key="new_beside").click().run()
    assert not app.exception
    chosen = app.session_state["selection"]
    answer = decode(load(bundled / "numbers"), "29,284.30").text
    assert (chosen["checkpoint"], chosen["pin_checkpoint"], chosen["target"]) == (NEW, "numbers", answer)
    app.switch_page("pages/attention.py").run()
    assert not app.exception
    assert app.button_group(key="pin_shown").value == "A"


def test_sizes_that_do_not_fit_are_said_and_cannot_be_opened(app):
    opened(app, model_tab="new")
    app.number_input(key="new_n_heads").set_value(3).run()
    assert not app.exception
    assert wording("sizes_that_do_not_fit_as_a_sentence", 16, 3) in markup(app)
    assert app.button(key="new_open").disabled and app.button(key="new_beside").disabled
    assert not all_sent(app, "architecture")


def test_a_link_to_sizes_that_do_not_fit_says_so(app):
    said = markup(opened(app, checkpoint="new:numbers:own:e1-d2-h3-w8-f12-pre-s0"))
    assert wording("sizes_that_do_not_fit", 8, 3) in said
    assert ">numbers-tiny</div>" in said  # the others are there to be chosen


@pytest.mark.parametrize("name", ["new:nonsense", "new:elsewhere:own:e1-d2-h2-w8-f12-pre-s0"])
def test_a_name_that_is_no_recipe_of_a_model_here_is_said(app, name):
    app.switch_page("pages/models.py")
    app.query_params["checkpoint"] = name
    said = markup(app.run())
    assert wording("there_is_no_model_named", name[:40]) in said
    assert app.session_state["selection"]["checkpoint"] == "numbers"


def test_another_architecture_brings_its_sizes(app):
    opened(app, model_tab="new", model_recipe="new:numbers:own:e1-d2-h2-w8-f12-pre-s7")
    app.selectbox(key="new_architecture").set_value("tutorial6").run()
    assert not app.exception
    assert app.session_state["selection"]["model_recipe"] == "new:numbers:tutorial6:e2-d2-h2-w8-f16-post-s7"


def test_a_decoder_alone_is_given_no_encoder(at_the_zoo):
    opened(at_the_zoo, model_tab="new", checkpoint="shakespeare")
    assert not [each for each in at_the_zoo.number_input if each.key == "new_encoder_layers"]
    assert "new:shakespeare:own:e0-d3-h4-w16-f24-pre-s0" in markup(at_the_zoo)
    at_the_zoo.button(key="new_beside").click().run()
    assert not at_the_zoo.exception
    assert at_the_zoo.session_state["selection"]["target"] is None


def test_a_new_model_has_no_history_and_its_pairs_are_the_bases(app):
    said = markup(opened(app, model_tab="curves", checkpoint=NEW))
    assert wording("no_history_was_kept_with_this_model") in said
    app.button_group(key="models_tab").set_value("errors").run()
    assert "model on 3 test pairs: " in markup(app)
    app.button_group(key="models_tab").set_value("doctor").run()
    assert not app.exception
    assert "made in memory" in markup(app) and wording("no_row_was_ever_trained") in markup(app)


# ---- the training slider


@pytest.fixture
def with_snapshots(app, bundled, tmp_path, models_in):
    """The app with a model that has snapshots, and one that has none."""
    (tmp_path / "numbers").symlink_to(bundled / "numbers")
    tiny = load(bundled / "numbers-tiny")
    states = {step: dict(load(bundled / "numbers-tiny").model.state_dict()) for step in (0, 5)}
    states[0]["output.bias"] = states[0]["output.bias"] + 1.5
    states[5]["output.weight"] = states[5]["output.weight"] * 0.25
    saved(
        tiny,
        tmp_path / "numbers-tiny",
        card={"task": "numbers-tiny", "exported_step": 9},
        examples=[("4.20", "four point two")],
        snapshots=states,
    )
    models_in(tmp_path)
    return app


def test_the_sentence_is_run_at_every_snapshot(with_snapshots, tmp_path):
    said = markup(opened(with_snapshots, model_tab="training", checkpoint="numbers-tiny", text="4.20"))
    ((header, arrays),) = all_sent(with_snapshots, "snapshots")
    series = snapshot_series(load(tmp_path / "numbers-tiny"), "4.20")
    assert [each["step"] for each in header["snapshots"]] == [0, 5, 9]
    assert np.array_equal(arrays["losses"], np.float32([run.loss for run in series.runs]))
    for i, kind in enumerate(("cross", "decoder", "encoder")):
        assert header["kinds"][i]["kind"] == kind
        assert np.array_equal(arrays[f"maps_{i}"], series.maps(kind))
    assert wording("the_target_of_the_example_pair", "four point two") in said
    assert [token["text"] for token in header["kinds"][0]["rows"]["tokens"]][1:] == ["four", "point", "two"]


def test_a_given_target_of_two_lines_is_quoted_on_one(with_snapshots):
    opened(with_snapshots, model_tab="training", checkpoint="numbers-tiny", text="4.20", target="four\ntwo")
    assert "“four↵two”" in words(with_snapshots)


def test_a_snapshot_and_a_head_are_taken_from_the_address(with_snapshots):
    address = {"checkpoint": "numbers-tiny", "text": "4.20", "model_snapshot": "5", "heads": "2", "layer": "1"}
    opened(with_snapshots, model_tab="training", **address)
    chosen = page_driver.chosen(with_snapshots)
    assert (chosen["model_snapshot"], chosen["heads"], chosen["layer"]) == (5, [2], 1)


def test_the_replay_opens_on_a_row_and_a_key_that_say_something(with_snapshots):
    view = {"checkpoint": "numbers-tiny", "text": "4.20", "kind": "encoder", "layer": "0", "heads": "0"}
    opened(with_snapshots, model_tab="training", **view)
    chosen = page_driver.chosen(with_snapshots)
    (_, arrays) = all_sent(with_snapshots, "snapshots")[0]
    assert chosen["i"] == 1  # the row behind that of <s>
    assert chosen["j"] == arrays["maps_2"][-1, 0, 0, 1].argmax()


def test_a_given_target_is_that_of_all_snapshots(with_snapshots):
    said = markup(opened(with_snapshots, model_tab="training", checkpoint="numbers-tiny", text="4.20", target="two"))
    assert wording("the_target_given_on_the_run_page", "two") in said


def test_a_model_without_snapshots_says_who_has_them(with_snapshots):
    said = markup(opened(with_snapshots, model_tab="training", checkpoint="numbers"))
    assert wording("came_without_snapshots_of_its_training_has_them", "numbers", "numbers-tiny") in said


def test_a_text_that_no_snapshot_can_read_is_said(with_snapshots):
    said = markup(opened(with_snapshots, model_tab="training", checkpoint="numbers-tiny", text="4" * 100))
    assert wording("the_model_reads_at_most", 48) in said


def test_on_a_projector_the_loss_axis_is_named_within_its_length(app):
    layout = figures(opened(app, model_tab="curves", projector="on"))[0]["layout"]
    axis = layout["yaxis"]
    tall = layout["height"] - layout["margin"]["t"] - layout["margin"]["b"]
    room = tall * (axis["domain"][1] - axis["domain"][0])
    assert 18 * 0.55 * len(axis["title"]["text"]) < room  # letters of 18 pixels, somewhat over half as wide


@pytest.mark.parametrize(
    ("tab", "keys"),
    [
        ("card", ["cards", "model_measured", "model_origin", "model_settings"]),
        ("architecture", ["model_drawing", "model_norms", "model_settings", "model_parameters"]),
        ("curves", ["loss"]),
        ("data", ["model_data", "model_pairs"]),
        ("errors", ["model_answers", "model_confused", "model_counts"]),
        ("doctor", ["doctor"]),
        ("new", ["model_drawing", "model_parameters"]),
    ],
)
def test_on_a_projector_a_tab_is_shown_scene_by_scene(app, tab, keys):
    said = markup(opened(app, model_tab=tab, projector="on", scene=str(len(keys) - 1)))
    hidden = ", ".join(f".st-key-{key}" for key in keys[:-1])
    assert "vt-projector" in said and (not hidden or f":is({hidden}) {{ display: none !important; }}" in said)
    keys_told = told(app, "keys")
    assert (keys_told["scene"], keys_told["scenes"]) == (len(keys) - 1, len(keys))


def test_on_a_projector_the_slider_stands_alone(with_snapshots):
    said = markup(opened(with_snapshots, model_tab="training", checkpoint="numbers-tiny", text="4.20", projector="on"))
    assert "vt-projector" in said and ".st-key-training_slider" in said


# ---- which models there are


def test_the_tabs_of_the_model_and_those_that_lead_to_another_stand_apart_and_every_address_opens_its_tab(app):
    for tab in TABS:
        opened(app, model_tab=tab)
        chosen = {key: app.button_group(key=key).value for key in ("models_tab", "models_add")}
        own, other = (tab, None) if tab in of_models.OF_THE_MODEL else (None, tab)
        assert chosen == {"models_tab": own, "models_add": other}, tab
    assert {*TABS} == {*of_models.TABS} and not {*of_models.OF_THE_MODEL} & {*of_models.OF_ANOTHER}
    app.button_group(key="models_add").set_value("new").run()
    assert app.button_group(key="models_tab").value is None


def test_a_model_that_is_broken_on_purpose_says_so_on_its_card_and_why_its_bleu_is_zero(
    app, bundled, tmp_path, models_in
):
    broken = json.loads((CHECKPOINTS / "en-it-slips" / "card.json").read_text(encoding="utf-8"))["broken"]
    assert broken.startswith(of_models.BROKEN) and "BLEU is 0.0" in broken
    assert of_models.BROKEN not in markup(opened(app))
    with_changes(tmp_path, bundled / "numbers", models_in, broken=broken)
    said = markup(app.run())
    badge, above = said.partition("Measured")[0], said.partition("Measured")[0].rpartition("<p")[2]
    assert f"</span>{of_models.BROKEN}</div>" in badge and html.escape(broken) in above


def test_what_the_cards_of_similar_names_say_tells_them_apart():
    titles = {each.name: str(each.card["title"]) for each in contents.list_checkpoints(CHECKPOINTS)}
    assert len({*titles.values()}) == len(titles)
    for name, word in TELLS_APART.items():
        others = [other for other in titles if other != name]
        assert word in titles[name] and not [other for other in others if word in titles[other]], name
