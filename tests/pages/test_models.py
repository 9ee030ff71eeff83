import base64
import html
import json
from dataclasses import replace

import numpy as np
import pytest

from viz_transformer.analysis.answers import Answer
from viz_transformer.checkpoint import contents
from viz_transformer.config import ModelConfig
from viz_transformer.ui import cached, examples, model_view


def opened(app, **address):
    for name, value in address.items():
        app.query_params[name] = value
    app.run()
    app.switch_page("pages/models.py").run()
    assert not app.exception
    return app


def html_of(app):
    return "".join(element.proto.body for element in app.get("html"))


def test_there_is_a_card_for_each_model(app, bundled):
    opened(app)
    assert [title.value for title in app.title] == ["Models"]
    said = html_of(app)
    for summary in contents.list_checkpoints():
        assert f">{summary.name}</div>" in said
        assert f"{summary.parameter_count:,} parameters" in said
    assert "Numbers &lt;to&gt; words &amp; back" in said


def test_a_card_states_its_metric_with_interval_pairs_and_unseen_sources(app):
    said = html_of(opened(app))
    assert ">99.00 %<" in said
    assert "exact match, 95 % interval 98.46–99.35" in said
    assert "2,000 pairs of test_full, first 2,000" in said
    assert "sources not in the training data: 98.75 %" in said


def test_the_selected_model_is_the_one_of_the_whole_app(app):
    opened(app)
    assert [button.label for button in app.button] == ["Selected", "Select"]
    app.button(key="select_numbers-tiny").click().run()
    assert not app.exception
    assert app.session_state["selection"]["checkpoint"] == "numbers-tiny"
    assert [header.value for header in app.header] == ["numbers-tiny"]
    assert app.selectbox(key="sidebar_model").value == "numbers-tiny"


def test_the_configuration_is_that_of_the_model(app):
    said = html_of(opened(app, checkpoint="numbers-tiny"))
    for name, value in (("layers", "1 encoder + 2 decoder"), ("d_model", "16"), ("heads", "4, head_dim 4")):
        assert f"<th>{name}</th><td>{value}</td>" in said


def test_both_losses_are_drawn_on_logarithmic_axes(app):
    figure = json.loads(opened(app).get("plotly_chart")[0].proto.spec)
    assert figure["layout"]["xaxis"]["type"] == figure["layout"]["yaxis"]["type"] == "log"
    training, validation = figure["data"]
    assert (training["name"], validation["name"]) == ("training", "validation")
    values = [
        np.frombuffer(base64.b64decode(curve["y"]["bdata"]), curve["y"]["dtype"]) for curve in (training, validation)
    ]
    assert np.array_equal(values[0], np.float32([1.5, 1.0]))  # step 0 has no place on a logarithmic axis
    assert np.array_equal(values[1], np.float32([1.6]))
    assert figure["layout"]["yaxis"]["title"]["text"] == "negative log-likelihood, nats per token"


def test_examples_are_run_and_counted_and_differences_marked(app):
    said = html_of(opened(app))
    assert "3 test pairs were run, greedily, with the weights that are loaded: 1 right, 2 wrong." in said
    assert "Wrong, 2 shown" in said and "Right, 1 shown" in said
    assert "<del>" in said and "<ins>" in said
    assert "&lt;b&gt;" in said and "<b>" not in said


def test_licence_and_commands_are_stated(app):
    said = html_of(opened(app))
    assert "licence of the data" in said and ">MIT<" in said
    assert [code.value for code in app.code] == ["viz-transformer train numbers", "viz-transformer evaluate numbers"]


def test_the_selection_stays_when_the_page_changes(app):
    opened(app, text="0.07", heads="mean", t="1")
    app.switch_page("pages/run.py").run()
    assert not app.exception
    assert app.text_input(key="run_text").value == "0.07"
    assert app.session_state["selection"]["heads"] == "mean"


def test_the_page_runs_alone(alone):
    app = alone("models.py")
    assert not app.exception
    assert [title.value for title in app.title] == ["Models"]


def test_opened_first_the_page_still_has_the_frame(app):
    app.switch_page("pages/models.py").run()
    assert not app.exception
    assert app.selectbox(key="sidebar_model").value == "numbers"


def test_a_folder_that_is_no_model_has_a_card_that_says_why(app, bundled, tmp_path, monkeypatch):
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "config.json").write_text("{", encoding="utf-8")
    (tmp_path / "numbers").symlink_to(bundled / "numbers")
    monkeypatch.setattr(contents, "bundled_folder", lambda: tmp_path)
    said = html_of(opened(app))
    assert "config.json" in said
    assert ">numbers</div>" in said


@pytest.mark.parametrize("file", ["model.safetensors", "history.csv", "examples.tsv"])
def test_a_damaged_file_is_said_in_one_sentence_and_the_rest_is_shown(app, bundled, tmp_path, monkeypatch, file):
    (tmp_path / "numbers").mkdir()
    for source in (bundled / "numbers").iterdir():
        (tmp_path / "numbers" / source.name).write_bytes(source.read_bytes())
    (tmp_path / "numbers" / file).write_bytes(b"not\tthis\tfile\n")
    monkeypatch.setattr(contents, "bundled_folder", lambda: tmp_path)
    said = html_of(opened(app))
    assert file in said
    assert ">MIT<" in said


def test_without_models_the_page_says_what_to_do(app, tmp_path, monkeypatch):
    monkeypatch.setattr(contents, "bundled_folder", lambda: tmp_path)
    assert "viz-transformer train numbers" in html_of(opened(app))


def test_a_card_without_measurements_says_so():
    assert model_view.metric_lines({}) == [("vt-card-value", "–"), ("vt-card-what", "not measured yet")]
    assert model_view.metric_lines({"metrics": "many"})[0] == ("vt-card-value", "–")


def values_and_lines(**entry):
    lines = model_view.metric_lines({"metrics": [entry]})
    assert [style for style, _ in lines] == ["vt-card-value"] + ["vt-card-what"] * (len(lines) - 1)
    return [line for _, line in lines]


BLEU = {"bleu": 40.96, "chrf": 61.04, "bleu_signature": "nrefs:1|case:lc|tok:none", "exact_match": 0.25}
INTERVAL = {"exact_match": 0.25, "exact_match_low": 0.2, "exact_match_high": 0.3}


def test_a_translator_is_judged_by_bleu_with_how_it_was_measured():
    beam = values_and_lines(split="flickr", pairs=1000, command="evaluate x --beam 4", **BLEU)
    assert beam == ["41.0", "BLEU, sacrebleu tok:none, beam 4", "chrF 61.0", "1,000 pairs of flickr"]
    assert values_and_lines(bleu=3, command="evaluate x") == ["3.0", "BLEU, greedy", "a split not stated"]


def test_equal_expressions_stand_under_exact_matches():
    assert values_and_lines(split="test, 593 pairs", pairs=593, equivalent=0.5, **INTERVAL) == [
        "25.00 %",
        "exact match, 95 % interval 20.00–30.00",
        "test, 593 pairs",
        "equal as expressions: 50.00 %",
    ]


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
    said = html_of(opened(at_the_zoo, checkpoint="multi30k-de-en"))
    assert "loaded: 1 equal the reference letter by letter, in lower case, 1 differ." in said
    assert "Different from the reference, 1 shown" in said and "Equal to the reference, 1 shown" in said
    assert ">reference</span>" in said and ">asked for<" not in said
    tables = said[said.index("<table") : said.rindex("</table>")]
    assert "✕" not in tables and "vt-bad" not in tables and "Wrong" not in tables


def test_a_model_that_was_not_measured_by_bleu_is_right_or_wrong(at_the_zoo):
    said = html_of(opened(at_the_zoo, checkpoint="own"))
    assert "2 test pairs were run" in said and ": 0 right, 2 wrong." in said
    assert "Wrong, 2 shown" in said and "✕" in said


def test_a_model_that_writes_on_has_no_right_answers_and_is_not_run(at_the_zoo, monkeypatch):
    monkeypatch.setattr(cached, "example_answers", lambda *_: pytest.fail("the pairs were run"))
    said = html_of(opened(at_the_zoo, checkpoint="shakespeare"))
    assert "goes on writing from any text: there is no right answer" in said
    assert "test pairs were run" not in said


def test_the_pairs_of_a_model_with_slips_are_run_and_its_slips_named(at_the_zoo):
    said = html_of(opened(at_the_zoo, checkpoint="en-it-slips"))
    assert "1 test pairs were run" in said
    for name, value in (("merge", "raw-reshape"), ("mask fill", "added-1e9"), ("pad to", "20")):
        assert f"<th>{name}</th><td>{value}</td>" in said
    assert said.count("<th>embedding scale</th>") == 1


def test_selecting_a_model_brings_a_text_that_fits_it(at_the_zoo):
    opened(at_the_zoo)
    at_the_zoo.button(key="select_multi30k-de-en").click().run()
    at_the_zoo.switch_page("pages/run.py").run()
    assert not at_the_zoo.exception
    assert at_the_zoo.text_input(key="run_text").value == examples.examples("multi30k")[0]


@pytest.mark.parametrize(("share", "text"), [(1, "100 %"), (1.0, "100 %"), (0.99999, "99.99 %"), (0.9955, "99.55 %")])
def test_a_share_is_never_rounded_up_to_all(share, text):
    assert model_view.percent(share) == text


def test_the_rows_of_other_kinds_of_models_are_right():
    config = ModelConfig(target_vocab_size=65, decoder_layers=2, d_model=8, n_heads=2, d_ff=8, tied_output=True)
    rows = dict(model_view.config_rows(config, {"source": None, "target": None}))
    assert rows["layers"] == "2 decoder"
    assert rows["target"] == "65 tokens (ids only), at most 512"
    assert "source" not in rows
    assert html.escape(rows["output layer"]) == "tied to the embedding"
    assert rows["embedding scale"] == "sqrt(d_model)"
    learned = dict(model_view.config_rows(replace(config, embedding_scale="learned"), {}))
    assert learned["embedding scale"] == "learned"


@pytest.mark.parametrize(("translates", "captions"), [(True, ["9 shown"]), (False, ["6 of 9 shown"])])
def test_all_answers_of_a_translator_are_there_to_be_read(translates, captions, monkeypatch):
    shown = []
    monkeypatch.setattr(model_view.st, "html", shown.append)
    answers = [Answer(f"source {i}", "a", "b", right=False) for i in range(9)]
    model_view.answer_tables(answers, 6, translates=translates)
    assert len(shown) == len(captions)
    assert all(caption in table for caption, table in zip(captions, shown, strict=True))
    assert shown[0].count("<tr>") == (9 if translates else 6)
