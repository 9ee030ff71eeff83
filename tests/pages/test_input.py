import html
import re

import numpy as np
import pytest
import spacy
from page_driver import TEXT, again, figures, goes_to, markup, numbers, open_table, opener, stale, the_run, words
from wording import wording

from viz_transformer.analysis.inputs.dataset import Source
from viz_transformer.analysis.inputs.embeddings import embedding_table, measure_spread, neighbours
from viz_transformer.checkpoint import load
from viz_transformer.measuring.data import DATA_VARIABLE
from viz_transformer.running.decoding import decode
from viz_transformer.ui.pages.input import data_view, vocabulary_view
from viz_transformer.ui.pages.input import words as input_words
from viz_transformer.ui.session import state

opened = opener("input")
TRAIN = [("4.20", "four point two"), ("12", "twelve"), ("-1", "minus one"), ("1,000.00", "one thousand")]
TEST = [("7.10", "four <b> point"), ("124", "one two four"), ("8", "eight")]


@pytest.fixture(autouse=True)
def no_data(tmp_path, monkeypatch):
    """Without a data folder, unless a test makes one."""
    monkeypatch.setenv(DATA_VARIABLE, str(tmp_path / "data"))


@pytest.fixture
def data(tmp_path):
    """A data folder with a few numbers."""
    (tmp_path / "data" / "numbers").mkdir(parents=True)
    for name, pairs in (("train_full", TRAIN), ("dev", TRAIN[:1]), ("test_full", TEST)):
        said = "".join(f"{source}\t{target}\n" for source, target in pairs)
        (tmp_path / "data" / "numbers" / f"{name}.tsv.gz").write_text(said, encoding="utf-8")
    return tmp_path / "data"


def cells(app):
    """Text, token and id of each cell of the first list of tokens."""
    (first, *_) = re.findall(r'<div class="vt-tokens">(.*?)</div>', markup(app))
    found = re.findall(r'<span class="(vt-token[^"]*)"[^>]*><i>(.*?)</i><b>(.*?)</b><small>(.*?)</small>', first)
    return [(set(kinds.split()), *map(html.unescape, texts)) for kinds, *texts in found if kinds != "vt-token-head"]


def strips(app):
    """The figure of the strips and its numbers, [T, D] each."""
    spec = figures(app)[0]
    return spec, [numbers(trace["z"]) for trace in spec["data"]]


def table(app, key):
    """A table by its key, which Streamlit tells of those whose rows can be chosen; of others by a column's name."""
    (found,) = [
        each.value for each in app.dataframe if (each.key or "").startswith(f"{key}_") or key in each.value.columns
    ]
    return found


# --- tokens and ids


def test_the_page_shows_what_the_encoder_reads_with_ids_and_specials(app, bundled):
    opened(app, text=TEXT, i="2")
    run = the_run(bundled)
    assert [title.value for title in app.title] == ["Input"]
    shown = cells(app)
    assert [(token, int(id)) for _, _, token, id in shown] == list(
        zip(run.trace.src_tokens, run.trace.src_ids, strict=True)
    )
    assert [text for _, text, _, _ in shown] == ["", *TEXT, ""]
    special = [position for position, (kinds, *_) in enumerate(shown) if "vt-token-special" in kinds]
    assert special == [0, len(shown) - 1]
    assert [position for position, (kinds, *_) in enumerate(shown) if "vt-token-selected" in kinds] == [2]


def test_an_unknown_token_has_its_original_above(app):
    opened(app, text="1<b>&2")
    unknown = [(text, token) for kinds, text, token, _ in cells(app) if "vt-token-unknown" in kinds]
    assert unknown == [(sign, "<unk>") for sign in "<b>&"]
    assert "4 different words are hidden under <unk>" in words(app)
    assert "1<b>" not in markup(app) and "<i>&lt;</i>" in markup(app)
    goes_to(app, text="1x")
    assert "“x” is not in the vocabulary: the model reads <unk> instead." in words(app)


def test_the_ids_at_a_fixed_length_are_those_that_a_tutorial_prints(app, bundled):
    opened(app, text="12", input_below="ids")
    source = load(bundled / "numbers").source_codec
    ids = [*source.encode("12").ids]
    assert app.code[0].value == f"[{', '.join(map(str, ids + [3] * (60 - len(ids))))}]"
    assert f"60 ids, {60 - len(ids)} of them <pad>." in words(app)
    app.number_input(key="input_length_numbers_source").set_value(6)
    app.checkbox(key="input_start_numbers_source").uncheck()
    again(app)
    assert app.code[0].value == f"[{', '.join(map(str, [*ids[1:], 3, 3, 3]))}]"
    app.number_input(key="input_length_numbers_source").set_value(2)
    again(app)
    assert wording("the_text_has_tokens_which_do_not_fit_into", 3, 2) in words(app)


def test_the_ids_of_the_target_are_the_whole_answer(app, bundled):
    opened(app, input_side="target", input_below="ids")
    run = the_run(bundled)
    ids = [run.trace.tgt_ids[0], *(step.token_id for step in run.steps)]
    ids = [ids[0], *(id for id in ids[1:] if id not in (0, 1, 3)), 1]
    assert app.code[0].value == f"[{', '.join(map(str, ids + [3] * (60 - len(ids))))}]"


# --- embedding x scale + position = input


@pytest.mark.parametrize(("side", "stack", "field"), [("source", "encoder", "i"), ("target", "decoder", "t")])
def test_the_strips_are_the_recorded_points_of_the_selected_token(app, bundled, side, stack, field):
    opened(app, input_side=side, **{field: "3"})
    run = the_run(bundled).trace
    spec, arrays = strips(app)
    for array, name in zip(arrays, ("token", "position", "out"), strict=True):
        assert np.array_equal(array, run[f"{stack}.embed.{name}"][0, 3:4].numpy()), name
    assert spec["layout"]["title"]["text"] == f"{stack}.embed, position 3"
    assert len({(trace["zmin"], trace["zmax"]) for trace in spec["data"]}) == 1
    assert "✓ Exact: all 16 recorded numbers" in words(app)
    assert wording("the_scale_multiplies_the_variance_by", 16) in words(app)


def test_all_tokens_are_shown_with_the_variances_of_all(app, bundled):
    opened(app, input_rows="all")
    run = the_run(bundled).trace
    _, arrays = strips(app)
    assert np.array_equal(arrays[2], run["encoder.embed.out"][0].numpy())
    for name in ("token", "position", "out"):
        found = measure_spread(run[f"encoder.embed.{name}"].numpy())
        assert f"<td>{found.variance:.4f}</td><td>{found.sample_variance:.4f}</td><td>{found.count:,}</td>" in markup(
            app
        )
    assert not [box for box in app.selectbox if box.key == "input_position"]


def the_difference(folder, a, b, side="source"):
    """Token, position and input of both runs, [T, D] each, straight from their traces."""
    stack = "encoder" if side == "source" else "decoder"
    runs = the_runs(folder, a, b)
    return [[run[f"{stack}.embed.{part}"][0].numpy() for run in runs] for part in ("token", "position", "out")]


def the_runs(folder, *of):
    of = of or (("numbers", "29.30"), ("numbers", "28.30"))
    return [decode(load(folder / name), text).trace for name, text in of]


PIN = {"pin_checkpoint": "numbers", "shown": "A-B"}


@pytest.mark.parametrize(("side", "field"), [("source", "i"), ("target", "t")])
def test_a_minus_b_is_the_difference_of_both_recorded_inputs_on_one_scale(app, bundled, side, field):
    ids = [run.src_ids if side == "source" else run.tgt_ids for run in the_runs(bundled)]
    at = next(place for place, (x, y) in enumerate(zip(*ids, strict=False)) if x != y)
    opened(app, text="29.30", pin_text="28.30", input_side=side, **{field: str(at)}, **PIN)
    recorded = the_difference(bundled, ("numbers", "29.30"), ("numbers", "28.30"), side)
    spec, drawn = strips(app)
    largest = 0.0
    for (a, b), rows in zip(recorded, drawn, strict=True):
        assert rows.tobytes() == np.stack([a[at], b[at], a[at] - b[at]]).tobytes()
        largest = max(largest, float(np.abs(rows).max()))
    assert {(trace["zmin"], trace["zmax"]) for trace in spec["data"]} == {(-largest, largest)}
    ticks = [text.strip() for text in spec["layout"]["yaxis"]["ticktext"]]
    tokens = ("9", "8") if side == "source" else tuple(run.tgt_tokens[at] for run in the_runs(bundled))
    assert ticks == [html.escape(name) for name in (f"A:{tokens[0]}", f"B:{tokens[1]}", "A−B")] * 3
    a, b = recorded[2]
    (length, *lengths) = (float(np.linalg.norm(each.astype(float))) for each in (a[at] - b[at], a[at], b[at]))
    feature = int(np.abs(a[at] - b[at]).argmax())
    assert wording(
        "how_long_a_difference_of_inputs_is",
        f"{length:.4g}",
        f"{lengths[0]:.4g}",
        f"{lengths[1]:.4g}",
        f"{(a[at] - b[at])[feature]:.4g}",
        feature,
    ) in words(app)
    shown = open_table(app, "input_strips")
    np.testing.assert_array_equal(shown["input, A − B"], a[at] - b[at])
    np.testing.assert_array_equal(shown["position, A"], recorded[1][0][at])


def test_the_tokens_of_both_runs_stand_below_each_other_and_what_differs_is_said(app):
    opened(app, text="29.30", pin_text="28.30", i="2", **PIN)
    assert markup(app).index("A: numbers, “29.30”") < markup(app).index("B: numbers, “28.30”")
    both = re.findall(r'<div class="vt-tokens">(.*?)</div>', markup(app))[:2]
    assert [re.findall(r"<b>(\d)</b>", each) for each in both] == [list("2930"), list("2830")]
    assert all(each.count("vt-token-selected") == 1 for each in both)
    assert wording("two_tokens_are_compared_a_reads_here_and_b", "9", "8") in words(app)
    goes_to(app, i="1")
    assert wording("both_read_the_same_numbers_a_b_is_everywhere", 0) in words(app)
    assert "Two different tokens are compared" not in words(app) and "These are two models" not in words(app)
    goes_to(app, checkpoint="numbers-tiny")
    assert wording("features_of_two_models", 5, 5) in words(app)


def test_all_tokens_of_two_runs_are_subtracted_on_the_scale_of_both(app, bundled):
    opened(app, text="29.30", pin_text="28.30", input_rows="all", **PIN)
    recorded = the_difference(bundled, ("numbers", "29.30"), ("numbers", "28.30"))
    spec, drawn = strips(app)
    for (a, b), rows in zip(recorded, drawn, strict=True):
        assert rows.tobytes() == (a - b).tobytes()
    most = max(float(np.abs(each).max()) for pair in recorded for each in (*pair, pair[0] - pair[1]))
    assert {trace["zmax"] for trace in spec["data"]} == {most}
    assert "9|8 " in spec["layout"]["yaxis"]["ticktext"]
    assert wording("a_and_b_read_other_tokens_at_of_positions", 1, 7) in words(app)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (
            {"i": "6"},
            wording("there_is_no_difference_of_inputs", 6, 2),
        ),
        ({"input_rows": "all"}, wording("only_inputs_of_one_size_can_be_subtracted", 7, 3)),
    ],
)
def test_where_there_is_no_difference_of_inputs_one_sentence_says_so(app, given, sentence):
    opened(app, text="29.30", pin_text="7", **given, **PIN)
    assert sentence in words(app)
    assert "input_strips_figure" not in [chart.key for chart in app.get("plotly_chart")]
    app.button_group(key="pin_shown").set_value("A")
    again(app)
    assert len(strips(app)[1]) == 3 and sentence not in words(app)


def test_inputs_of_two_sizes_stand_beside_each_other_on_one_scale(app):
    opened(app, text="29.30", pin_text="7", input_rows="all", pin_checkpoint="numbers", shown="A|B")
    charts = dict(zip([chart.key for chart in app.get("plotly_chart")], figures(app), strict=True))
    drawn = [charts["input_strips_figure"], charts["input_strips_b_figure"]]
    assert [each["layout"]["title"]["text"].split("encoder")[0][-3:] for each in drawn] == ["A: ", "B: "]
    (most,) = {line["zmax"] for each in drawn for line in each["data"]}
    assert most > 0
    opened(app, text="29.30", pin_text="7", input_rows="all", pin_checkpoint="numbers", shown="A-B")
    assert "input_strips_figure" not in [chart.key for chart in app.get("plotly_chart")]


def test_a_model_without_that_side_has_no_difference_of_inputs(at_the_zoo):
    opened(at_the_zoo, checkpoint="own", text="bad", pin_text="ROT:", pin_checkpoint="shakespeare", shown="A-B")
    assert wording("b_has_no_encoder_that_reads_a_text") in words(at_the_zoo)
    assert wording("since_b_has_no_such_input_has_no_encoder", "shakespeare") in words(at_the_zoo)


def test_choosing_a_position_chooses_it_for_the_whole_app(app):
    opened(app)
    app.selectbox(key="input_position").set_value(4)
    again(app)
    assert app.session_state["selection"]["i"] == 4
    app.button_group(key="input_side").set_value("target")
    again(app)
    app.selectbox(key="input_position").set_value(2)
    again(app)
    assert (app.session_state["selection"]["i"], app.session_state["selection"]["t"]) == (4, 2)


# --- vocabulary and neighbours


def test_the_vocabulary_is_searched_and_its_counts_are_those_of_the_training_texts(app, data):
    opened(app)
    found = table(app, "input_vocabulary")
    counted = dict(zip(found["token"], found["count"], strict=True))
    letters = "".join(source for source, _ in TRAIN)
    assert counted["0"] == letters.count("0") and counted["."] == letters.count(".")
    assert counted["<unk>"] == 0 and np.isnan(counted["<pad>"])
    assert wording("counts_are_of_tokens_in_training_texts_each", len(letters), 4) in words(app)
    app.text_input(key="input_find").set_value("-")
    again(app)
    assert list(table(app, "input_vocabulary")["token"]) == ["-"]
    app.text_input(key="input_find").set_value("<b>x")
    again(app)
    assert "No entry contains “<b>x”: the model reads <unk>, id 2." in words(app)
    assert "<b>x" not in markup(app)


def test_the_other_side_has_its_own_vocabulary_and_counts(app, data):
    opened(app, input_side="target")
    found = table(app, "input_vocabulary")
    assert dict(zip(found["token"], found["count"], strict=True))["one"] == 2
    assert "Vocabulary: 15 entries" in words(app)
    # "minus" and "twelve" have no entry in this tiny vocabulary.
    assert wording("of_them_different_ones_are_read_as_unknown", 2, "25.0", 2) in words(app)


def test_without_data_nothing_is_counted_and_a_sentence_says_what_to_put_where(app):
    opened(app)
    assert "count" not in table(app, "input_vocabulary").columns
    assert wording("counts_need_the_training_data") in words(app)
    assert words(app).count(DATA_VARIABLE) == 1


def test_neighbours_are_those_of_the_selected_token_until_an_entry_is_chosen(app, bundled):
    opened(app, i="3")
    ckpt = load(bundled / "numbers")
    entry = ckpt.source_codec.encode(TEXT).ids[3]
    want = neighbours(embedding_table(ckpt, "source"), entry, vocabulary_view.NEAREST)
    found = table(app, "input_nearest")
    assert list(found["id"]) == [each.id for each in want.nearest]
    assert list(found["cosine"]) == pytest.approx([each.cosine for each in want.nearest])
    assert f"Nearest to “{TEXT[2]}”, id {entry}" in words(app)
    assert f": {want.mean:.3f} (standard deviation {want.deviation:.3f})" in words(app)
    goes_to(app, input_entry="9")
    assert "id 9" in words(app) and app.session_state["selection"]["input_entry"] == 9
    app.button(key="input_own").click()
    again(app)
    assert f"id {entry}" in words(app)


def test_another_position_shows_its_own_neighbours_again(app):
    opened(app, i="3", input_entry="9")
    assert app.session_state["selection"]["input_entry"] == 9
    app.selectbox(key="input_position").set_value(1)
    again(app)
    assert app.session_state["selection"]["input_entry"] is None


def test_an_entry_that_is_not_there_is_said(app):
    opened(app, input_entry="99")
    assert wording("there_is_no_entry", 99, 0, 16) in words(app)


# --- the data set


def test_a_pair_is_opened_with_its_gold_target(app, data):
    opened(app, input_part="test", input_item="1")
    assert "one two four" in words(app)
    app.button(key="input_open_gold").click()
    again(app)
    chosen = app.session_state["selection"]
    assert (chosen["text"], chosen["target"]) == TEST[1]
    assert [token for _, _, token, _ in cells(app)] == ["<s>", *"124", "</s>"]
    goes_to(app, input_side="target")
    assert [token for _, _, token, _ in cells(app)] == ["<s>", "one", "two", "four"]
    assert wording("what_the_decoder_reads_the_given_target") in words(app)
    app.button(key="input_open_free").click()
    again(app)
    assert app.session_state["selection"]["target"] is None


def test_every_part_is_browsed_by_index(app, data):
    opened(app)
    assert app.button_group(key="input_part").value == "test"  # the part that is shown first
    assert "input_part" not in app.query_params
    app.button_group(key="input_part").set_value("train")
    app.number_input(key="input_item").set_value(2)
    again(app)
    assert "minus one" in words(app) and app.number_input(key="input_item").max == 3
    goes_to(app, input_item="77")
    assert wording("there_is_no_item_so_another_is_shown", 77, 0, 3, 3) in words(app)


def test_split_sizes_lengths_and_what_a_filter_keeps(app, data):
    opened(app, input_part="test")
    assert "<th>Training</th><td>4</td><td>0</td><td>4</td>" in markup(app)
    assert "<th>Test</th><td>3</td><td>0</td><td>3</td>" in markup(app)
    assert "<th>source</th><td>2.67</td>" in markup(app)  # 7.10, 124 and 8 have 4, 3 and 1 characters
    assert "all 3" in words(app)
    app.number_input(key="input_most_source_numbers_test").set_value(3)
    app.checkbox(key="input_known_numbers_test").check()
    again(app)
    found = dict(re.findall(r"<tr><th>([a-z ]+)</th><td>([^<]+)</td></tr>", markup(app)))
    assert (found["kept"], found["source too long"]) == ("1 of 3 (33.3 %)", "1")
    assert (found["target too long"], found["has an unknown word"]) == ("0", "1")


def test_a_batch_has_its_padding_marked(app, data):
    opened(app, input_part="test")
    made = re.findall(r'<table class="vt-batch vt-batch-(\w+)">(.*?)</table>', markup(app))
    assert [side for side, _ in made] == ["source", "target"]
    rows = re.findall(r"<tr><th>pair (\d+)</th>(.*?)</tr>", dict(made)["source"])
    assert {int(index) for index, _ in rows} == {0, 1, 2}
    for index, row in rows:
        padding = 4 - len(TEST[int(index)][0])
        assert row.count('class="vt-filled"') == padding and row.count("<td") == 6
    before = markup(app)
    app.number_input(key="input_batch").set_value(3)
    again(app)
    assert app.session_state["selection"]["input_batch"] == 3 and markup(app) != before


def test_more_padding_than_three_ids_is_one_cell_with_its_count(at_the_zoo):
    opened(at_the_zoo, checkpoint="en-it-slips", text="ab")
    source = re.findall(r'<table class="vt-batch vt-batch-source">(.*?)</table>', markup(at_the_zoo))[0]
    for row in re.findall(r"<tr>(.*?)</tr>", source):
        written = len(re.findall("<td title", row))
        ((across, filled),) = re.findall(r'<td class="vt-filled" colspan="(\d+)"[^>]*>0 ×(\d+)</td>', row)
        assert across == filled and written + int(filled) == 20  # the batch stays a rectangle


def test_without_data_the_examples_come_first_and_one_link_says_what_to_put_where(app):
    opened(app)
    assert app.button_group(key="input_part").value == "examples"
    assert app.button_group(key="input_part").options[0] == "Examples"
    assert wording("the_example_pairs_that_came_with_the_model_are_shown") not in words(app)
    assert wording("the_test_data_are_read_from_files_which_are_not_here_put") in words(app)
    opened(app, input_part="test")
    assert app.button_group(key="input_part").value == "test"
    assert wording("the_test_data_are_read_from_files_which_are_not_here_put") in words(app)
    assert wording("the_example_pairs_that_came_with_the_model_are_shown") in words(app)
    assert app.number_input(key="input_item").max == 2  # 4.20, 7.10, 8
    assert "4.20" in words(app)


def test_a_data_file_that_is_damaged_is_said(app, data):
    (data / "numbers" / "test_full.tsv.gz").write_text("no tab here\n", encoding="utf-8")
    opened(app, input_part="test")
    assert "line 1 has 1 column" in words(app)
    assert app.number_input(key="input_item").max == 2


# --- a vocabulary from sentences, and words


def built(app):
    (found,) = [each.value for each in app.dataframe if each.key is None]
    return list(found["token"])


def test_a_vocabulary_is_built_as_one_types(app):
    opened(app, input_below="build", input_side="target")
    app.text_area(key="input_sentences_numbers_target").set_value("one two\none three")
    again(app)
    assert built(app) == ["<s>", "</s>", "<unk>", "<pad>", "one"]
    assert wording("left_out_because_they_occur", 2, 1, 1) in words(app)
    app.number_input(key="input_least_numbers_target").set_value(1)
    app.text_area(key="input_specials_numbers_target").set_value("<unk> <s>")
    app.text_input(key="input_lookup_numbers_target").set_value("raccoon")
    again(app)
    assert built(app) == ["<unk>", "<s>", "one", "two", "three"]
    assert "“raccoon” has the id 0, that of <unk>: it is unknown." in words(app)
    assert "[2, 3]" in words(app) and "[2, 4]" in words(app)
    app.text_area(key="input_specials_numbers_target").set_value("<b>")
    again(app)
    assert "'<b>' is not one of this model's special tokens" in words(app)


def test_spacy_says_what_it_can_without_a_model(app, monkeypatch):
    monkeypatch.setattr(spacy.util, "get_installed_models", list)
    opened(app, input_below="words")
    assert list(table(app, "shape")["token"]) == [TEXT]
    assert list(table(app, "shape")["kind"]) == ["number"]
    assert wording("by_spacys_rules_for_english") in words(app)
    assert wording("no_trained_spacy_pipeline_for_english_is_installed_here") in words(app)
    assert wording("the_model_itself_cuts_the_text_by_other_rules") in words(app)


def test_grammar_is_shown_where_a_pipeline_is_installed(app, monkeypatch):
    from viz_transformer.text import linguistics

    found = (linguistics.Tagged("29", "29", "NUM", "CD", "ROOT", 0, "numeral, root"),)
    monkeypatch.setattr(linguistics, "installed_pipelines", lambda language: (f"{language}_own", f"{language}_two"))
    monkeypatch.setattr(linguistics, "tag", lambda pipeline, text: found if pipeline == "en_two" else ())
    opened(app, input_below="words")
    app.selectbox(key="input_pipeline").set_value("en_two")
    again(app)
    assert list(table(app, "lemma")["part of speech"]) == ["NUM"]
    assert "Found by en_two" in words(app)


# --- all kinds of models and texts


@pytest.mark.parametrize("name", ["multi30k-de-en", "en-it-slips", "own", "shakespeare"])
@pytest.mark.parametrize("below", list(input_words.BELOW))
def test_each_kind_of_model_has_the_page(at_the_zoo, name, below):
    opened(at_the_zoo, checkpoint=name, text="ab", input_below=below)
    assert "Exact: all" in words(at_the_zoo)
    assert "What not to conclude" in words(at_the_zoo)


def test_a_decoder_alone_has_one_side_and_no_padding(at_the_zoo):
    opened(at_the_zoo, checkpoint="shakespeare", text="ROT:", t="2")
    assert at_the_zoo.button_group(key="input_side").options == ["Target, decoder"]
    assert [token for _, _, token, _ in cells(at_the_zoo)][:4] == list("ROT:")
    goes_to(at_the_zoo, input_below="ids")
    assert wording("this_vocabulary_has_no_padding_token") in words(at_the_zoo)
    assert "input_side" not in at_the_zoo.query_params


def test_padding_that_a_model_reads_is_one_cell(at_the_zoo):
    opened(at_the_zoo, checkpoint="en-it-slips", text="ab")
    assert cells(at_the_zoo)[-1][2:] == ("<pad> × 16", "0")
    assert len(strips(at_the_zoo)[1][0]) == 1
    goes_to(at_the_zoo, input_rows="all")
    assert len(strips(at_the_zoo)[1][0]) == 20


@pytest.mark.parametrize("text", ["7", "7" * 46, "🙂", "مرحبا"])
def test_any_text_that_the_model_reads_is_shown(app, bundled, text):
    opened(app, text=text, input_rows="all")
    assert [token for _, _, token, _ in cells(app)] == list(the_run(bundled, text).trace.src_tokens)


def test_a_text_that_cannot_be_run_leaves_vocabulary_and_data(app):
    opened(app, text="7" * 60)
    assert wording("the_model_reads_at_most", 48) in words(app)
    assert stale(app)
    assert len(table(app, "input_vocabulary")) == 17
    app.button(key="input_open_gold").click()
    again(app)
    assert app.session_state["selection"]["text"] == "4.20"


def test_fields_of_the_page_are_restored_from_the_address(app, data):
    view = {
        "input_side": "target",
        "input_rows": "all",
        "input_below": "data",
        "input_part": "train",
        "input_item": "2",
    }
    opened(app, **view, input_batch="4")
    chosen = app.session_state["selection"]
    assert {name: str(chosen[name]) for name in view} == view and chosen["input_batch"] == 4
    assert all(name in state.VIEW for name in view)


def test_input_says_which_training_pairs_are_left_out_and_that_symbols_are_renamed(app, monkeypatch):
    renamed = "the symbols of each pair are renamed at random"
    found = (Source("train", ("train.gz", "generated:x"), 3910, 1415, 2774, made=400, alike=120, varied=renamed),)
    monkeypatch.setattr(data_view, "sources", lambda _: found)
    shown = words(opened(app, input_below="data"))
    assert "Training 3,910 + 400 generated 1,415 2,774" in shown
    assert wording("in_training_the_symbols_of_each_pair_are_renamed") in shown
    assert wording("training_pairs_are_left_out_because", 120) in shown


def test_the_caption_on_a_projector_says_which_token_is_looked_at(app):
    opened(app, projector="on", text="29,284.30", i="3", layer="1", heads="2")
    assert "“29,284.30”, source position 3 (" in words(app) and ", head " not in words(app)
    opened(app, projector="on", text="29,284.30", input_side="target", t="5")
    assert "“29,284.30”, target position 5 (" in words(app)
