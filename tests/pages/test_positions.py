import html
import re

import numpy as np
import pytest
from builders import SPECIALS, saved, tiny_checkpoint
from page_driver import again, all_sent, figures, goes_to, markup, opener, select, stale, table_rows, words
from wording import wording

from viz_transformer import numerals
from viz_transformer.analysis.positions.orders import removable, two_orders
from viz_transformer.analysis.positions.table import derivation, movement, own_table, products, rotation
from viz_transformer.checkpoint import load
from viz_transformer.text import Characters, Codec, Vocabulary
from viz_transformer.ui.frame import pictures
from viz_transformer.ui.pages.positions import choices, orders_view, position_topics
from viz_transformer.ui.pages.positions import words as page_words

opened = opener("positions")
KINDS = {
    "doubled": {"positions": "sinusoidal-doubled"},
    "learned": {"positions": "learned"},
    "untrained": {"positions": "learned"},
    "none": {"positions": "none"},
    "slips": {"merge": "raw-reshape", "pad_to": 20, "max_target": 20, "mask_fill": "added-1e9", "norm": "post"},
}


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """Random models with other positions; the card of "learned" says how long its training texts were."""
    folder = tmp_path_factory.mktemp("positions")
    for name, changes in KINDS.items():
        saved(
            tiny_checkpoint(**changes),
            folder / name,
            card={"training_lengths": {"source": 12, "target": 30}},
            dtype="float32",
        )
    saved(tiny_checkpoint(positions="learned", seed=5), folder / "untrained", dtype="float32")
    saved(tiny_checkpoint("decoder-only", max_target=150), folder / "decoder", dtype="float32")
    saved(tiny_checkpoint("decoder-only", positions="none"), folder / "silent", dtype="float32")
    saved(tiny_checkpoint("encoder-only"), folder / "reader", dtype="float32")
    return folder


@pytest.fixture
def among(app, models, models_in):
    """The page with the models of KINDS."""
    models_in(models)
    return app


def tables(app):
    """The pictures of cells: the header and the numbers of each."""
    return [(header, arrays["values"]) for header, arrays in all_sent(app, "matrix")]


def cells(app):
    """The numbers of the table, the first of them where there are more."""
    return tables(app)[0][1]


def hatched(app):
    """The rows of the table that are hatched, from the first to that behind the last."""
    return [(each["start"], each["end"]) for each in tables(app)[0][0]["rows"]["spans"] if each["look"] == "hatched"]


def names_of(curves):
    """What the curves are called."""
    notes = [note["text"] for note in curves["layout"]["annotations"]]
    return [text.partition("</span> ")[2] for text in notes if "●" in text]


# --- which table


@pytest.mark.parametrize("stack", ["encoder", "decoder"])
def test_the_picture_is_the_models_own_table(app, bundled, stack):
    opened(app, pos_stack=stack)
    assert [title.value for title in app.title] == ["Positions"]
    own = own_table(load(bundled / "numbers").model, stack)
    ((header, table),), (curves,) = tables(app), figures(app)
    assert table.tobytes() == own.tobytes()
    assert header["title"] == f"Table of positions, {len(own)} × 16: numbers, {stack}"
    assert names_of(curves) == ["0 sin 6.283", "1 cos 6.283", "2 sin 19.87", "4 sin 62.83", "8 sin 628.3"]
    assert wording("adds_a_fixed_table_of_sines_and_cosines", "numbers") in words(app)
    assert f"Its {stack}’s table has {len(own)} × 16 numbers" in words(app)
    assert wording("what_is_added_to_embeddings") in words(app)


def test_step_5_is_said_to_be_the_models_table_and_the_runs(app):
    opened(app, text="29,284.30", i="3")
    assert wording("the_last_step_is_the_models_own_table_and_the_runs", 3, ",", 2, 5, 768, 11) in words(app)


def test_the_ladder_has_the_five_numbers_of_the_selected_position(app):
    opened(app, i="3", pos_columns="5")
    made = derivation(48, 16)
    found = re.findall(r"<b>(.*?)</b>", markup(app))
    assert found == ["2", "10", "3", "0.3", f"{made.encoding[3, 5]:.6f}"]  # 10000^(4/16) = 10
    assert "cos(0.3)" in words(app)


def test_the_five_tables_of_a_tutorial_are_written_out(app):
    opened(app, pos_table="doubled", pos_width="6", pos_length="10", i="4")
    made = derivation(10, 6, doubled=True)
    first, argument, encoding = (
        table_rows(table) for table in re.findall(r'(?s)<table class="vt-steps">.*?</table>', markup(app))
    )
    assert first[1] == ["1 index i", "0", "0", "2", "2", "4", "4"]
    assert first[2] == ["2 denominator", "1", "1", "464.159", "464.159", "215,443", "215,443"]
    for table, values in ((argument, made.argument), (encoding, made.encoding)):
        assert [row[0] for row in table[1:]] == [str(position) for position in range(10)]
        assert [row[1:] for row in table[1:]] == [
            [html.escape(numerals.share(number)) for number in row] for row in values
        ]
    assert markup(app).count('<tr class="vt-here"><th>4</th>') == 2
    assert wording("this_is_not_the_models_own_table") in words(app)
    assert wording("what_is_drawn_is_another_table_by_its_formula_doubled", 10, 6) in words(app)


def test_the_sliders_make_another_table_and_back(app):
    opened(app)
    app.slider(key="pos_width").set_value(8)
    again(app)
    app.slider(key="pos_length").set_value(20)
    again(app)
    assert np.array_equal(cells(app), derivation(20, 8).table)
    assert {"pos_width": 8, "pos_length": 20}.items() <= app.session_state["selection"].items()
    app.slider(key="pos_width").set_value(16)
    again(app)
    app.slider(key="pos_length").set_value(48)
    again(app)
    assert {"pos_width": None, "pos_length": None}.items() <= app.session_state["selection"].items()
    assert "identical as float32" in words(app)


def test_rows_beyond_the_models_are_the_formulas_and_said(app):
    opened(app, pos_length="60")
    assert np.array_equal(cells(app), derivation(60, 16).table)
    assert wording("rows_from_on_are_the_formulas_the_model_reads_at_most", 48, 48) in words(app)


@pytest.mark.parametrize(
    ("address", "sentence"),
    [
        ({"pos_width": "7"}, wording("width_can_be_in_steps", 2, 512, 2, 8, 7)),
        ({"pos_width": "99999"}, wording("width_can_be_in_steps", 2, 512, 2, 512, 99999)),
        ({"pos_length": "0"}, wording("length_can_be", 2, 512, 2, 0)),
        ({"pos_length": "4", "i": "9"}, wording("position_can_be", 0, 3, 3, 9)),
        ({"pos_columns": "3,16"}, wording("there_is_no_dimension", 16, 0, 15)),
        ({"pos_columns": "3,x"}, wording("which_is_not_at_most_different_whole_numbers", 6)),
        ({"pos_table": "learned"}, wording("has_no_learned_table")),
        ({"pos_topic": "magic"}, wording("which_is_not_one_of_steps_distance_shift_waves_orders")),
    ],
)
def test_what_the_address_asks_for_and_is_not_there_is_said(app, address, sentence):
    assert sentence in words(opened(app, **address))


def test_the_position_is_that_of_the_whole_app(app):
    opened(app, i="2")
    box = app.number_input(key="pos_i")
    assert (box.value, box.min, box.max) == (2, 0, 10)
    box.set_value(7)
    again(app)
    assert app.session_state["selection"]["i"] == 7
    opened(app, pos_stack="decoder", t="0")
    assert app.number_input(key="pos_t").value == 0


def test_picked_dimensions_are_curves(app):
    opened(app)
    app.multiselect(key="pos_columns").set_value([3, 0])
    again(app)
    assert app.session_state["selection"]["pos_columns"] == (3, 0)
    assert names_of(figures(app)[0]) == ["3 cos 19.87", "0 sin 6.283"]
    app.multiselect(key="pos_columns").set_value([])
    again(app)
    assert app.session_state["selection"]["pos_columns"] == ()
    assert len(names_of(figures(app)[0])) == 5


@pytest.mark.parametrize("text", ["7", "7" * 46, "🙂🙂", "x<b>y"])
@pytest.mark.parametrize("topic", [*page_words.TOPICS])
def test_every_topic_is_there_for_one_token_the_maximum_and_unknown_text(app, text, topic):
    opened(app, text=text, pos_topic=topic)
    assert len(tables(app)) + len(figures(app)) >= 2
    assert "<b>y" not in markup(app)


def test_each_topic_has_its_own_question_with_the_numbers_of_the_run(app, models):
    opened(app, text="12.5", pos_shift="3")
    asked = {topic: words(goes_to(app, pos_topic=topic)) for topic in page_words.TOPICS}
    ckpt = load(app.session_state["selection"]["checkpoint"])
    table = own_table(ckpt.model, "encoder")
    derived = derivation(*table.shape, doubled=False)
    assert "What tells the encoder that" in asked["steps"]
    gap = numerals.scientific(products(table, 0, derived.frequency).error)
    said = f"Does the product of two rows depend only on their distance? Yes, to within {gap} over all pairs of rows;"
    assert said in asked["distance"]
    gap = numerals.scientific(rotation(table, derived.frequency, 3).error)
    said = "Can one matrix move every row by 3 positions? Yes, a rotation of each pair: the largest difference from"
    assert f"{said} the table is {gap}." in asked["shift"]
    slow = movement(derived).below_one_turn
    assert "How fast do the dimensions turn? Once in 6.28 to " in asked["waves"]
    assert f"; {slow} of {table.shape[1]} not even once over {len(table)}." in asked["waves"]
    changes = two_orders(ckpt, "12.5", "5.21", removable(ckpt.model.config)[0])
    assert "Does the model notice a change of order? Yes: with positions a logit changes by up to " in asked["orders"]
    assert f"without them by {orders_view.number(changes.without.change)}" in asked["orders"]


def test_a_learned_table_answers_no_where_a_formula_says_yes(among):
    opened(among, checkpoint="learned", text="abc", pos_topic="distance")
    assert "depend only on their distance? No: pairs at the same distance differ by up to " in words(among)
    assert "Not here: this table has no frequencies" in words(goes_to(among, pos_topic="shift"))


def test_a_topic_that_is_chosen_is_brought_into_view_and_one_of_the_address_is_not(app):
    opened(app, text="7", pos_topic="waves")
    assert position_topics.SWITCHED not in app.session_state
    app.button_group(key="pos_topic").set_value("distance").run()
    app.button_group(key="pos_topic").set_value("shift").run()
    assert not app.exception and app.session_state[position_topics.SWITCHED] == 2


def test_an_empty_text_is_said(app):
    assert "The text is empty" in words(opened(app, text="")) and stale(app)


# --- models of other kinds


def test_a_doubled_exponent_is_the_models_own(among, models):
    opened(among, checkpoint="doubled", text="abc")
    assert np.array_equal(cells(among), own_table(load(models / "doubled").model, "encoder"))
    assert wording("sines_and_cosines_with_the_exponent_doubled") in words(among)
    assert "i = 0, 0, 2, 2…" in words(among)
    assert "identical as float32" in words(among)


def test_rows_of_a_learned_table_that_were_never_trained_are_marked(among, models):
    opened(among, checkpoint="learned", text="abc")
    curves, lengths = figures(among)
    own = own_table(load(models / "learned").model, "encoder")
    assert np.array_equal(cells(among), own)
    assert hatched(among) == [(12, len(own))]
    assert wording("rows_from_on_were_never_trained_and_are_hatched", 12) in words(among)
    assert wording("a_learned_table_has_no_steps") in words(among)
    for drawn in (curves, lengths):
        assert "never trained" in [note["text"] for note in drawn["layout"]["annotations"]]
    opened(among, pos_stack="decoder")
    assert wording("training_texts_reached_all_of_them", 24) in words(among)
    assert hatched(among) == []


def test_without_a_word_of_the_card_no_row_is_marked(among):
    opened(among, checkpoint="untrained", text="abc")
    assert wording("its_card_does_not_say_how_long_the_training") in words(among)
    assert hatched(among) == []


def test_a_sinusoidal_model_that_met_short_texts_only_says_so_without_a_mark(among):
    opened(among, checkpoint="doubled", text="abc")
    assert wording("training_texts_had_at_most_tokens", 12) in words(among)
    assert hatched(among) == []


def test_a_learned_table_has_no_rotation_and_no_wavelengths_and_says_so(among):
    opened(among, checkpoint="learned", text="abc", pos_topic="shift")
    assert wording("a_learned_table_has_no_frequencies") in words(among)
    opened(among, pos_topic="waves")
    assert wording("this_models_positions_have_no_wavelengths_these_are_the_formulas") in words(among)
    opened(among, pos_topic="distance")
    assert wording("in_a_learned_table_two_pairs_at_the_same") in words(among)


def test_a_formula_can_be_looked_at_beside_a_learned_table(among):
    opened(among, checkpoint="learned", text="abc", pos_table="standard", pos_topic="shift")
    assert np.array_equal(cells(among), derivation(20, 16).table)
    assert wording("what_is_drawn_is_another_table") in words(among) and wording(
        "turns_every_row_into_a_later_one", 1
    ) in words(among)


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        ("none", "abc", wording("an_encoder_is_then_blind_to_order")),
        ("silent", "uvw", wording("a_causal_decoder_can_still_tell_orders_apart")),
    ],
)
def test_a_model_without_positions_says_what_that_means(among, name, text, sentence):
    for topic in page_words.TOPICS:
        opened(among, checkpoint=name, text=text, pos_topic=topic)
        assert f"{name} adds no positions. {sentence}" in words(among)
    assert wording("this_model_adds_no_positions_there_is_nothing_to_leave") in words(among)
    assert "number by number" not in words(among)


def test_a_model_that_writes_nothing_has_its_table_and_no_answers(among, models):
    opened(among, checkpoint="reader", text="abc", pos_topic="orders")
    assert np.array_equal(cells(among), own_table(load(models / "reader").model, "encoder"))
    assert wording("an_encoder_only_model_writes_no_answer") in words(among)


def test_a_decoder_alone_has_one_stack_and_a_long_table_is_cut(among, models):
    opened(among, checkpoint="decoder", text="uvw")
    assert np.array_equal(cells(among), own_table(load(models / "decoder").model, "decoder")[:128])
    assert not [group for group in among.button_group if group.key == "pos_stack"]
    opened(among, pos_stack="encoder")
    assert wording("decoder_has_no_encoder_stack") in words(among)


# --- topics


def test_the_rotation_is_printed_with_its_matrix_and_error(app, bundled):
    opened(app, i="2", pos_topic="shift", pos_shift="3", pos_columns="4,5,0")
    own = own_table(load(bundled / "numbers").model, "encoder")
    found = rotation(own, derivation(48, 16).frequency, 3)
    _head, *pairs = table_rows(re.search(r'(?s)<table class="vt-steps vt-rotation">.*?</table>', markup(app))[0])
    assert [row[0] for row in pairs] == ["4, 5", "0, 1"]
    cosine, sine = f"{np.cos(0.3):9.6f}", f"{np.sin(0.3):9.6f}"
    assert f"{cosine} {sine}<br>{'-' + sine.strip():>9} {cosine}" in pairs[0][2]
    for column, values in ((3, own[2, 4:6]), (4, found.turned[2, 4:6]), (5, own[5, 4:6])):
        assert pairs[0][column] == "<br>".join(f"{number:.6f}" for number in values)
    assert wording("the_largest_difference_from_the_table_is", numerals.scientific(found.error)) in words(app)


def test_a_shift_is_brought_into_the_table(app):
    opened(app, i="2", pos_topic="shift", pos_shift="400", pos_length="10")
    assert app.number_input(key="pos_shift").value == 7
    opened(app, i="9")
    assert wording("position_is_the_last_of_this_table", 9) in words(app)


def test_products_are_said_to_be_the_formulas(app):
    opened(app, pos_topic="distance")
    found = re.search(r"the largest difference from that sum is ([\d.]+)\s·\s10(⁻\S+?)\.", words(app))
    assert found and found[2] in ("⁻⁷", "⁻⁸")
    assert wording("product_at_distance_0", 0, 2, 8) in words(app)


def test_both_exponents_stand_beside_each_other_with_counts(app):
    opened(app, pos_topic="waves")
    _curves, waves = figures(app)
    assert len(waves["data"]) == 2
    _own, *beside = tables(app)
    for (header, shown), doubled in zip(beside, (False, True), strict=True):
        assert header["most"] == 1 and header["paired"]
        assert shown == pytest.approx(derivation(48, 16, doubled=doubled).encoding, abs=1e-7)
    assert "12 of 16 dimensions" in words(app) and "14 of 16 dimensions" in words(app)


# --- two orders


def test_two_orders_have_one_answer_without_the_encoders_positions(app, bundled):
    opened(app, text="7.20", pos_topic="orders")
    assert app.text_area(key="pos_a").value == "7.20"
    assert app.text_area(key="pos_b").value == "02.7"
    found = two_orders(load(bundled / "numbers"), "7.20", "02.7", ("encoder",))
    assert found.with_positions.matters and not found.without.matters
    body = html.unescape(markup(app))
    for change in (found.with_positions, found.without):
        assert f"<b>{orders_view.number(change.change)}</b>" in body
        assert change.a.text in body and change.b.text in body
    assert "answer to A<br><q>7.20</q>" in body and "answer to B<br><q>02.7</q>" in body
    assert "Two orders, one answer" in words(app)
    assert wording("logits_are_compared_in_rows", found.rows) in words(app)


def test_other_positions_can_be_left_out(app):
    opened(app, text="7.20", pos_topic="orders")
    app.button_group(key="pos_off").set_value("decoder")
    again(app)
    assert app.session_state["selection"]["pos_off"] == "decoder"
    assert wording("the_encoder_still_adds_its_positions") in words(app)
    app.button_group(key="pos_off").set_value("both")
    again(app)
    assert wording("positions_off_encoder_and_decoder") in words(app)
    app.button_group(key="pos_off").set_value("encoder")
    again(app)
    assert app.session_state["selection"]["pos_off"] == ""


def test_b_can_be_typed_and_a_reversed_again(app):
    opened(app, text="7.20", pos_topic="orders")
    app.text_area(key="pos_b").set_value("7.24")
    again(app)
    assert app.session_state["selection"]["pos_order"] == "7.24"
    assert wording("b_does_not_have_the_tokens_of_a", 0, 4) in words(app)
    assert app.button(key="pos_again").label == "Reverse A again"
    app.button(key="pos_again").click()
    again(app)
    assert app.session_state["selection"]["pos_order"] is None
    assert app.text_area(key="pos_b").value == "02.7"


def test_another_a_is_another_run_with_its_own_b(app):
    opened(app, text="7.20", pos_topic="orders", pos_order="0.27")
    app.text_area(key="pos_a").set_value("1.46")
    again(app)
    assert app.session_state["selection"]["text"] == "1.46"
    assert app.text_area(key="pos_b").value == "64.1"


@pytest.mark.parametrize(
    ("b", "sentence"), [("", "B: the text is empty"), ("7" * 60, wording("source_of_b_is_too_long", 62, 48))]
)
def test_a_b_that_cannot_be_read_is_said_in_place(app, b, sentence):
    opened(app, text="7.20", pos_topic="orders")
    select(app, pos_order=b)
    assert sentence in words(again(app))


def test_a_text_with_one_order_says_so(app):
    assert wording("all_parts_of_are_equal_there_is_no_other_order", "77") in words(
        opened(app, text="77", pos_topic="orders")
    )


def test_a_raw_reshape_is_named_as_the_reason(among):
    opened(among, checkpoint="slips", text="abcde", pos_topic="orders")
    assert wording("tells_the_orders_apart_even_without") in words(among)


def test_a_decoder_alone_is_not_blind_without_positions(among):
    opened(among, checkpoint="decoder", text="uvwxy", pos_topic="orders")
    assert among.text_area(key="pos_b").value == "xwvuy"
    assert wording("a_causal_decoder_is_not_blind_without_positions") in words(among)
    assert wording("logits_are_compared_in_the_last_row") in words(among)
    assert "were stopped after 64 tokens" in words(among)
    opened(among, pos_off="encoder")
    assert wording("positions_cannot_be_left_out_of_encoder") in words(among)


def test_what_a_model_writes_and_what_is_typed_stands_as_text(app, tmp_path, models_in):
    ckpt = tiny_checkpoint()
    letters = Vocabulary((*SPECIALS.values(), *"<b>&u;v/i`*_#$!"), SPECIALS)
    saved(
        ckpt,
        tmp_path / "models" / "markup",
        target_codec=Codec(Characters(), Vocabulary((*letters.tokens[:19], "?"), SPECIALS)),
        dtype="float32",
    )
    models_in(tmp_path / "models")
    opened(app, checkpoint="markup", text="ab<i>", pos_topic="orders", pos_order="<i>ba")
    assert "<i>" not in markup(app) and "<b>&" not in markup(app)


# --- numbers to take along, projector, tests of small functions


def test_the_tables_can_be_saved(app, bundled, monkeypatch):
    made = {}
    monkeypatch.setattr(
        pictures, "table", lambda numbers, *, note, name, key, csv=None: made.update({key: (numbers(), name)})
    )
    opened(app)
    own = own_table(load(bundled / "numbers").model, "encoder")
    frame, name = made["pos_heatmap"]
    assert np.array_equal(frame.to_numpy(), own)
    assert name == "numbers-positions-encoder-standard"
    assert made["pos_arguments"][0].to_numpy() == pytest.approx(derivation(48, 16).argument)
    opened(app, pos_topic="distance", i="2")
    products = made["pos_products"][0]
    assert products["distance"].tolist() == list(range(-2, 46))
    assert products["product with 2"].to_numpy() == pytest.approx(own @ own[2], abs=1e-5)


# --- the pinned run


def test_two_runs_of_one_table_are_said_to_read_it(app, bundled):
    pin = {"pin_checkpoint": "numbers", "pin_text": "7", "shown": "A|B"}
    opened(app, **pin)
    own = own_table(load(bundled / "numbers").model, "encoder")
    assert wording("a_and_b_read_the_same_table", len(own), own.shape[1], 10, 2) in words(app)
    assert np.array_equal(cells(app), own) and len(tables(app)) == len(figures(app)) == 1


@pytest.mark.parametrize("shown", ["A|B", "A-B"])
def test_tables_of_two_models_stand_beside_each_other_on_one_scale_or_are_subtracted(among, models, shown):
    opened(among, checkpoint="learned", text="abc", pin_checkpoint="untrained", pin_text="ab", shown=shown)
    a, b = (own_table(load(models / name).model, "encoder") for name in ("learned", "untrained"))
    drawn = tables(among)
    if shown == "A-B":
        ((header, values),) = drawn
        assert np.array_equal(values, a - b) and header["title"].startswith("A − B") and "most" not in header
        assert header["caption"].startswith("A: ") and "; B: " in header["caption"]
        return
    assert np.array_equal(drawn[0][1], a) and np.array_equal(drawn[1][1], b)
    ends = [header["most"] for header, _ in drawn]
    assert ends[0] == ends[1] == pytest.approx(max(abs(a).max(), abs(b).max()))
    assert [header["title"][:2] for header, _ in drawn] == ["A:", "B:"] and all(header["paired"] for header, _ in drawn)


@pytest.mark.parametrize(
    ("pinned", "sentence"),
    [
        ("none", wording("b_adds_no_positions")),
        ("decoder", wording("b_has_no_encoder_so_the_table_is_as")),
    ],
)
def test_where_b_has_no_table_one_sentence_says_so(among, pinned, sentence):
    opened(among, checkpoint="learned", text="abc", pin_checkpoint=pinned, pin_text="ab", shown="A|B")
    assert sentence in words(among) and not tables(among)[0][0]["title"].startswith("A:")


def test_on_a_projector_the_type_is_larger(app):
    opened(app)
    before = figures(app)[0]["layout"]["template"]["layout"]["font"]["size"]
    opened(app, projector="on")
    assert figures(app)[0]["layout"]["template"]["layout"]["font"]["size"] == choices.PROJECTED * before
    assert ".st-key-pos_below" in markup(app)


def test_the_caption_on_a_projector_says_which_position_of_which_table(app):
    opened(app, projector="on", text="29,284.30", i="3", t="5", layer="1", heads="2")
    assert "“29,284.30”, encoder, position 3 (" in words(app) and ", head " not in words(app)
    opened(app, projector="on", text="29,284.30", pos_stack="decoder")
    assert "“29,284.30”, decoder, position 5 (" in words(app)


def test_positions_around_the_selected_one_are_listed():
    assert list(position_topics.listed(0, 48)) == list(range(10))
    assert list(position_topics.listed(20, 48)) == list(range(15, 25))
    assert list(position_topics.listed(47, 48)) == list(range(38, 48))
    assert list(position_topics.listed(1, 3)) == [0, 1, 2]


@pytest.mark.parametrize(
    ("value", "said"),
    [(0.0, "0"), (1.0, "1"), (464.1588, "464.159"), (215443.469, "215,443"), (1e-5, "1.0\u00a0·\u00a010⁻⁵")],
)
def test_numbers_are_said_without_powers_of_ten_where_that_is_short(value, said):
    assert choices.short(value) == said


def test_one_of_something_is_said_as_one():
    assert "adds row 0." in page_words.fixed_table("m", "sines", "encoder", (8, 4), 0)
    assert "adds rows 0 to 2." in page_words.fixed_table("m", "sines", "encoder", (8, 4), 2)
    assert page_words.added_rows(1, None).startswith("The row that this run added matches")
    assert page_words.in_rows(1).startswith("Logits are compared in 1 row,")
    assert " Over 1 row the " in page_words.one_matrix(4, 1, 1, "0", "0")
    assert page_words.unturned(4, 4, 5).startswith("Feature 4 of each head’s 5 is not turned")
    assert page_words.follows_distance(0, 3, 0, 4, 1).endswith(
        "One of these numbers covers several distances: it is a bucket."
    )


def test_a_bias_that_does_not_grow_evenly_is_no_multiple_of_the_distance():
    assert page_words.follows_key(2, None).endswith("In head 2 the bias depends only on the position of the key.")
    assert "0.5 more for each position: within a row that is a multiple" in page_words.follows_key(2, "0.5")


def test_the_page_runs_alone(alone):
    app = alone("positions")
    assert [title.value for title in app.title] == ["Positions"] and len(tables(app)) == len(figures(app)) == 1
