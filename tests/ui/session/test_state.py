"""The selection: what the address says, what a person did, and which of the two is believed."""

import ast
from dataclasses import FrozenInstanceError, dataclass, fields, is_dataclass
from functools import partial
from pathlib import Path

import pytest
from page_driver import address, again, drawn, goes_to
from streamlit.testing.v1 import AppTest
from wording import wording

from viz_transformer.ui import pages  # all fields are known
from viz_transformer.ui.session import state
from viz_transformer.ui.session.fields import Shared
from viz_transformer.ui.session.url_fields import NUMBER, url_field


def page():
    """A page with one widget per field, and its remarks."""
    import streamlit as st

    from viz_transformer.ui.session import state

    state.start(["numbers-any", "numbers-tiny"])
    st.text_input("text", **state.widget_args("text", key="text"))
    st.number_input("layer", min_value=0, **state.widget_args("layer", key="layer"))
    st.number_input("t", min_value=0, **state.widget_args("t", key="t"))
    first = heads if isinstance(heads := state.selection()["heads"], str) else heads[0]
    one = state.widget_args(
        "heads", key="head", value=first, taken=lambda head: head if isinstance(head, str) else (head,)
    )
    st.selectbox("head", [0, 1, 2, "mean"], **one)

    def pass_through(text):
        state.select(text=text)
        state.set_transient()

    st.button("on the way", key="on the way", on_click=pass_through, args=("1.00",))
    st.button("after a loss", key="after a loss", on_click=state.keep_after_loss)
    st.checkbox("interrupted", key="interrupted")
    for sentence in state.remarks():
        st.text(sentence)
    if st.session_state["interrupted"]:
        st.stop()  # as another request does
    state.finish()


opened = partial(drawn, page)


def selection(app):
    return app.session_state["selection"]


def remarks(app):
    return [element.value for element in app.text]


def test_without_an_address_the_defaults_are_shown_and_written():
    app = opened()
    assert selection(app) == state.DEFAULTS
    written = address(app)
    assert written == {
        "checkpoint": "numbers-any",
        "text": "29,284.30",
        "kind": "cross",
        "layer": str(state.DEFAULTS["layer"]),
        "heads": str(state.DEFAULTS["heads"][0]),
        # no t: there was no run that could say which; no i, j, u: nobody chose them
    }
    assert remarks(app) == []


def test_an_address_is_taken_over_by_selection_and_widgets():
    given = {"checkpoint": "numbers-tiny", "text": "<b> & é", "kind": "decoder", "layer": "2", "heads": "mean"}
    app = opened(**given, i="1", j="2", t="7", u="3")
    assert selection(app) == {**state.VIEW, **given, "layer": 2, "i": 1, "j": 2, "t": 7, "u": 3}
    assert app.text_input(key="text").value == "<b> & é"
    assert app.selectbox(key="head").value == "mean"


def test_a_link_that_names_a_model_and_no_head_means_what_it_always_did():
    chosen = selection(opened(checkpoint="numbers-tiny", text="7"))
    assert (chosen["layer"], chosen["heads"]) == (1, (0,))


def test_a_part_of_an_address_leaves_the_rest_at_its_defaults():
    assert selection(opened(text="0.07"))["layer"] == state.DEFAULTS["layer"]


def test_an_empty_text_in_the_address_is_an_empty_text():
    assert selection(opened(text=""))["text"] == ""


@pytest.mark.parametrize("given", ["-1", "x", "1.5", "", "99999999999999999999", "²", "mean"])
def test_a_layer_that_is_no_number_is_dropped_and_said(given):
    app = opened(layer=given)
    assert selection(app)["layer"] == state.DEFAULTS["layer"]
    assert remarks(app) == [wording("the_address_asks_for_layer_which_is_not_a_whole_number", given, 0)]


@pytest.mark.parametrize("given", ["x", "", "0,", "0,0", "-1", "0,1,2,3,4,5,6", "mean,0", "Mean"])
def test_heads_are_a_few_different_numbers_or_a_word(given):
    app = opened(heads=given)
    assert selection(app)["heads"] == state.DEFAULTS["heads"]
    assert remarks(app)[0].startswith(wording("the_address_asks_for_heads_which_is_not_at_most_different", given, 6))


def test_several_heads_are_told_by_commas():
    assert selection(opened(heads="3,1"))["heads"] == (1, 3)
    assert selection(opened(kind="self"))["kind"] == "cross"


def test_how_things_are_shown_is_in_the_address_only_where_it_is_not_as_usual():
    view = {"options": "words,hidden", "scale": "row", "sort": "first token", "panel": "text", "scene": "1"}
    app = opened(checkpoint="numbers-any", **view, pin_checkpoint="numbers-tiny", pin_text="1", shown="A-B")
    assert selection(app)["options"] == ("words", "hidden") and selection(app)["scene"] == 1
    written = address(app)
    assert written.items() >= view.items()
    for name in (*view, "pin_checkpoint", "pin_text", "shown"):
        del app.query_params[name]
    app.run()
    assert {name: selection(app)[name] for name in state.VIEW} == dict(state.VIEW)


def test_unknown_models_and_fields_are_dropped_and_said():
    app = opened(checkpoint="nope", colour="red")
    assert selection(app)["checkpoint"] == "numbers-any"
    assert remarks(app) == [
        wording("the_address_asks_for_which_means_nothing_here", "colour"),
        wording("there_is_no_model_named_here_is_shown", "nope", "numbers-any"),
    ]


def test_what_the_address_has_in_two_lines_is_quoted_on_one():
    assert "“1↵2”" in remarks(opened(layer="1\n2"))[0]


def test_line_breaks_of_a_text_stay_at_its_ends_too():
    app = opened(text="\nso\n")
    assert app.text_input(key="text").value == "\nso\n"
    app.text_input(key="text").set_value("\n\nit\ngoes\n").run()
    assert selection(app)["text"] == address(app)["text"] == "\n\nit\ngoes\n"


def test_a_widget_changes_selection_and_address():
    app = opened()
    app.number_input(key="layer").set_value(2).run()
    assert selection(app)["layer"] == 2
    assert app.query_params["layer"] in ("2", ["2"])


def test_what_is_only_passed_is_selected_and_leaves_the_address_until_something_else_happens():
    app = opened(text="2.00")
    app.button(key="on the way").click().run()
    assert selection(app)["text"] == "1.00" and address(app)["text"] == "2.00"
    app.number_input(key="layer").set_value(0).run()
    assert selection(app)["text"] == address(app)["text"] == "1.00"


def test_another_text_goes_back_to_the_first_positions():
    app = opened(t="5")
    app.text_input(key="text").set_value("0.07").run()
    assert (selection(app)["text"], selection(app)["t"]) == ("0.07", None)


def test_a_given_target_goes_with_its_text_and_its_model():
    app = opened(text="1.00", target="one", t="2", pin_text="2.00", pin_checkpoint="numbers-any", pin_target="two")
    assert selection(app)["target"] == "one" and selection(app)["pin_target"] == "two"
    app.number_input(key="layer").set_value(2).run()
    assert (selection(app)["target"], selection(app)["t"]) == ("one", 2)
    app.text_input(key="text").set_value("0.07").run()
    assert (selection(app)["target"], selection(app)["t"]) == (None, None)
    assert "target" not in app.query_params
    assert selection(app)["pin_target"] == "two"


@pytest.mark.parametrize(("field", "what"), [("target", "A target"), ("pin_text", "A pinned text")])
def test_a_long_text_of_any_kind_is_left_out_of_the_address_and_said(field, what):
    app = opened(
        checkpoint="numbers-any", pin_checkpoint="numbers-any", **{field: "7" * (state.LONGEST_LINKED_TEXT + 1)}
    )
    assert remarks(app) == [wording("what_is_too_long_for_the_address", what, "1,500")]
    assert field not in app.query_params


def test_the_back_button_brings_the_old_selection_back():
    app = opened(text="1.00")
    app.text_input(key="text").set_value("2.00").run()
    app.query_params["text"] = "1.00"
    app.run()
    assert selection(app)["text"] == "1.00"
    assert app.text_input(key="text").value == "1.00"


def test_what_a_person_did_beats_an_address_that_is_one_step_behind():
    app = opened(text="1.00")
    app.number_input(key="layer").set_value(2).run()
    app.query_params["layer"] = "1"  # the browser has not seen the latest address when the next change is sent
    app.number_input(key="t").set_value(3).run()
    assert (selection(app)["layer"], selection(app)["t"]) == (2, 3)


def test_an_address_that_is_behind_is_not_believed_before_the_run_that_wrote_another_has_ended():
    app = opened(text="1")
    app.checkbox(key="interrupted").check().run()
    app.text_input(key="text").set_value("2").run()
    assert selection(goes_to(app, text="1"))["text"] == "2" == address(app)["text"]
    assert selection(goes_to(app, text="3"))["text"] == "3"
    app.text_input(key="text").set_value("4").run()
    app.checkbox(key="interrupted").uncheck().run()
    assert selection(goes_to(app, text="3"))["text"] == "3"  # the Back button


def test_after_a_lost_connection_the_selection_stays_though_the_address_is_the_one_before():
    app = opened(text="1.00")
    app.text_input(key="text").set_value("7" * 1501).run()
    app.number_input(key="layer").set_value(2).run()
    there = selection(app)
    app.query_params["layer"] = "1"  # Streamlit asks again for what the browser has seen last
    app.run()
    assert selection(app)["layer"] == 1
    app.query_params["layer"] = "1"
    app.button(key="after a loss").click().run()
    assert selection(app) == there
    assert address(app)["layer"] == "2"


def test_a_step_back_before_a_loss_that_lost_nothing_stays():
    app = opened(text="1.00")
    app.text_input(key="text").set_value("2.00").run()
    app.query_params["text"] = "1.00"
    app.run()
    app.number_input(key="layer").set_value(2).run()
    app.button(key="after a loss").click().run()
    assert (selection(app)["text"], selection(app)["layer"]) == ("1.00", 2)


def test_an_address_without_a_selection_keeps_it():
    app = opened(text="1.00", heads="mean")
    for name in list(app.query_params):
        del app.query_params[name]  # as Streamlit does when the page changes
    app.run()
    assert (selection(app)["text"], selection(app)["heads"]) == ("1.00", "mean")
    assert app.query_params["heads"] in ("mean", ["mean"])


def test_a_long_text_stays_but_not_in_the_address_and_that_is_said():
    app = opened()
    app.text_input(key="text").set_value("7" * 1501).run()
    assert selection(app)["text"] == "7" * 1501
    assert "text" not in app.query_params
    assert remarks(app) == [wording("a_text_is_too_long_for_the_address", "1,500")]
    app.text_input(key="text").set_value("7" * 1500).run()
    assert app.query_params["text"] in ("7" * 1500, ["7" * 1500])


def test_the_back_button_brings_a_text_back_that_is_too_long_for_the_address():
    app = opened(text="1.00")
    app.text_input(key="text").set_value("7" * 1501).run()
    left = address(app)
    app.text_input(key="text").set_value("2.00").run()
    goes_to(app, **left)
    assert "text" not in left and selection(app)["text"] == "2.00"  # the address has it, and only that
    del app.query_params["text"]
    again(app)
    assert selection(app)["text"] == "7" * 1501


def test_an_address_without_a_text_brings_no_text_back_that_was_there_before_another_long_one():
    app = opened(text="1.00")
    app.text_input(key="text").set_value("7" * 1501).run()
    app.number_input(key="layer").set_value(1).run()
    app.text_input(key="text").set_value("8" * 1501).run()
    app.number_input(key="layer").set_value(0).run()
    goes_to(app, layer="1")
    assert selection(app)["text"] == "8" * 1501


def test_the_last_text_that_was_typed_is_known_whatever_took_its_place():
    app = opened()
    assert "typed_text" not in app.session_state  # what a page opens with was typed by nobody
    app.text_input(key="text").set_value("my own").run()
    app.button(key="on the way").click().run()
    app.text_input(key="text").set_value("  ").run()
    assert app.session_state["typed_text"] == "my own"
    assert opened(text="linked").session_state["typed_text"] == "linked"


def choosing():
    """A page whose model is chosen by a widget or by a callback, with texts offered for each but one."""
    import streamlit as st

    from viz_transformer.ui.session import state

    offers = {"numbers-any": ["29,284.30", "0.07"], "numbers-tiny": ["29,284.30", "0.07"], "copy": ["badge", "abc"]}
    names = ["numbers-any", "numbers-tiny", "copy", "unknown"]
    state.start(names, lambda name: offers.get(name, []))
    st.selectbox("model", names, **state.widget_args("checkpoint", key="model"))
    st.text_input("text", **state.widget_args("text", key="text"))
    st.button("select", key="select", on_click=state.select, kwargs={"checkpoint": "copy"})
    state.finish()


choose = partial(drawn, choosing)


def chosen(app):
    return selection(app)["checkpoint"], selection(app)["text"], selection(app)["t"]


@pytest.mark.parametrize("text", ["29,284.30", "0.07"])
def test_an_offered_text_gives_way_to_one_that_fits_the_new_model(text):
    app = choose(text=text, t="3")
    app.selectbox(key="model").set_value("copy").run()
    assert chosen(app) == ("copy", "badge", None)
    assert app.text_input(key="text").value == "badge"
    assert app.query_params["text"] in ("badge", ["badge"])
    app.selectbox(key="model").set_value("numbers-tiny").run()
    assert chosen(app) == ("numbers-tiny", "29,284.30", None)


def test_a_text_that_the_browser_still_has_is_not_typed_before_the_run_that_wrote_another_has_ended():
    def page_of(ends):
        import streamlit as st

        from viz_transformer.ui.session import state

        state.start(["numbers-any"])
        st.button("select", on_click=state.select, kwargs={"text": "2"})
        st.text_input("text", **state.widget_args("text", key="text"))
        if ends:
            state.finish()

    for ends, text in ((False, "2"), (True, "1")):
        app = drawn(page_of, ends, text="1")
        app.button[0].click().run()
        assert app.text_input[0].value == "2"
        app.text_input[0].set_value("1").run()  # with something else that was done, from a browser that is behind
        assert selection(app)["text"] == text and app.text_input[0].value == text
        app.text_input[0].set_value("3").run()
        assert selection(app)["text"] == "3"


def test_the_back_button_is_believed_behind_what_was_shown_ahead_of_the_page():
    def page_ahead():
        import streamlit as st

        from viz_transformer.ui.session import state

        if st.session_state.pop("ahead", False):  # a run of a fragment alone
            state.select(text="2")
            state.set_transient()
            state.preview()
        else:
            state.start(["numbers-any"])
            state.finish()

    app = drawn(page_ahead, text="1")
    app.session_state["ahead"] = True
    assert selection(again(app))["text"] == "2" and address(app)["text"] == "1"
    assert selection(goes_to(app, text="0"))["text"] == "0"
    app.session_state["ahead"] = True
    again(app)
    assert selection(again(app))["text"] == "2" and address(app)["text"] == "2"


def test_a_callback_that_selects_a_model_brings_its_text_too():
    app = choose()
    app.button(key="select").click().run()
    assert chosen(app) == ("copy", "badge", None)


def test_a_text_that_was_typed_stays_with_every_model():
    app = choose()
    app.text_input(key="text").set_value("12.00").run()
    app.selectbox(key="model").set_value("copy").run()
    assert chosen(app) == ("copy", "12.00", None)


def test_an_offered_text_that_fits_the_new_model_too_stays_with_its_step():
    app = choose(text="0.07", t="3")
    app.selectbox(key="model").set_value("numbers-tiny").run()
    assert chosen(app) == ("numbers-tiny", "0.07", 3)


def test_a_model_without_texts_leaves_the_text_and_the_default_never_sticks():
    app = choose()
    app.selectbox(key="model").set_value("unknown").run()
    assert chosen(app) == ("unknown", "29,284.30", None)
    app.selectbox(key="model").set_value("copy").run()
    assert chosen(app) == ("copy", "badge", None)


@pytest.mark.parametrize("text", ["29,284.30", "", "badge"])
def test_a_link_with_a_text_is_never_overridden(text):
    app = choose(checkpoint="copy", text=text)
    assert chosen(app) == ("copy", text, None)
    app.button(key="select").click().run()
    assert chosen(app) == ("copy", text, None)


def test_a_link_without_a_text_starts_with_the_model_s_first_one():
    assert chosen(choose(checkpoint="copy")) == ("copy", "badge", None)
    assert chosen(choose(checkpoint="copy", t="2")) == ("copy", "badge", 2)
    assert chosen(choose(checkpoint="nope")) == ("numbers-any", "29,284.30", None)


def test_the_back_button_brings_model_and_text_back_together():
    app = choose(text="0.07")
    app.selectbox(key="model").set_value("copy").run()
    app.query_params["checkpoint"], app.query_params["text"] = "numbers-any", "0.07"
    app.run()
    assert chosen(app) == ("numbers-any", "0.07", None)


def clipped():
    import streamlit as st

    from viz_transformer.ui.session import state

    state.start(["numbers-any"])
    st.text(f"{state.fit_kind(['decoder', 'encoder'], 'numbers')} {state.clamp_index('layer', 3, 'numbers')}")
    st.text(state.fit_heads(4, "numbers-any"))
    state.fit_positions(5, 3, first_row=1)
    st.text(" ".join(f"{name}={state.selection()[name]}" for name in "ijtu"))
    for sentence in state.remarks():
        st.text(sentence)
    state.finish()


def test_what_the_model_does_not_have_is_clipped_and_said():
    app = drawn(clipped, layer="9", heads="9", i="9", t="9")
    assert remarks(app) == [
        "decoder 2",
        "(3,)",
        "i=4 j=0 t=2 u=0",
        wording("there_is_no_layer_so_another_is_shown", 9, "numbers", 0, 2, 2),
        wording("there_is_no_head_so_another_is_shown", 9, "numbers-any", 0, 3, 3),
        wording("there_is_no_source_position_so_another_is_shown", 9, 0, 4, 4),
        wording("there_is_no_target_position_so_another_is_shown", 9, 0, 2, 2),
    ]
    assert app.query_params["t"] in ("2", ["2"])


def test_of_several_heads_those_stay_that_the_model_has():
    app = drawn(clipped, heads="1,2,7")
    assert remarks(app)[1] == "(1, 2)"
    assert remarks(app)[3] == wording("there_is_no_head_so_others_are_shown", 7, "numbers-any", 0, 3, 1, 2)


def test_without_a_position_the_first_step_is_chosen_and_a_derived_picture_has_no_number():
    app = drawn(clipped, heads="rollout")
    assert remarks(app) == [f"decoder {state.DEFAULTS['layer']}", "rollout", "i=0 j=0 t=1 u=0"]


def picking():
    """A page whose selection is changed by what a component sends."""
    import streamlit as st

    from viz_transformer.ui.session import state

    state.start(["numbers-any"])
    st.button("pick", key="pick", on_click=lambda: state.pick(st.session_state["sent"]))
    state.finish()


def test_of_what_a_component_sends_only_what_can_be_used_is_taken():
    app = AppTest.from_function(picking)
    app.session_state["sent"] = {"t": 3, "i": -1, "u": "x", "heads": [2, 0], "layer": 1.5, "kind": None, "text": "<b>"}
    app.run()
    app.button(key="pick").click().run()
    assert selection(app) == {**state.DEFAULTS, "t": 3, "heads": (0, 2)}


# --- one value of each declaration


def values(app):
    return dict(selection(app).by_owner)


def test_a_session_keeps_one_frozen_value_of_each_declaration():
    app = opened(text="7", pos_shift="3")
    own = [page.fields.FIELDS for page in (pages.attention, pages.decoding, pages.input, pages.layers, pages.masks)]
    own += [
        page.fields.FIELDS
        for page in (pages.models, pages.playground, pages.positions, pages.run, pages.tensors, pages.weight)
    ]
    assert {owner: type(value) for owner, value in values(app).items()} == {
        each.owner: each.declaration for each in (state.SHARED, *own)
    }
    assert values(app)[state.SHARED.owner] == Shared(text="7", t=None)
    assert values(app)[pages.positions.fields.FIELDS.owner] == pages.positions.fields.Positions(pos_shift=3)
    for value in values(app).values():
        assert is_dataclass(value)
        with pytest.raises(FrozenInstanceError):
            setattr(value, fields(value)[0].name, "other")


def reading():
    """A page that keeps what it reads, before and behind a change."""
    import streamlit as st

    from viz_transformer.ui import pages
    from viz_transformer.ui.session import state

    state.start(["numbers-any"])
    own = pages.tensors.fields.FIELDS
    before, shared = state.selection(), state.SHARED.now()
    state.clamp(chart="histogram")
    st.session_state["read"] = (before, shared, state.SHARED.now(), own.now(), state.selection())
    state.finish()


def test_what_is_read_is_the_value_that_is_kept_and_a_selection_that_was_taken_stays_as_it_was():
    app = drawn(reading)
    before, shared, shared_then, tensors, after = app.session_state["read"]
    assert shared is shared_then is values(app)[state.SHARED.owner]
    assert tensors is values(app)[pages.tensors.fields.FIELDS.owner] and after is selection(app)
    assert (before["chart"], after["chart"], tensors.chart) == ("heatmap", "histogram", "histogram")


def test_the_selection_cannot_be_written_to():
    chosen = selection(opened())
    with pytest.raises(TypeError, match="item assignment"):
        chosen["rows"] = "own"
    with pytest.raises(TypeError, match="item assignment"):
        chosen.by_owner[state.SHARED.owner] = Shared(rows="own")
    with pytest.raises(FrozenInstanceError):
        chosen.by_owner = {}
    assert not hasattr(chosen, "update")


def test_a_change_touches_the_values_that_declare_its_fields_and_no_other():
    app = opened()
    before = values(app)
    app.number_input(key="layer").set_value(2).run()
    after = values(app)
    assert {owner for owner in after if after[owner] is not before[owner]} == {state.SHARED.owner}
    assert before[state.SHARED.owner].layer == 1 and after[state.SHARED.owner].layer == 2
    other = selection(app).changed({"play_seed": 5, "scale": "row"})
    changed = {owner for owner in after if other.by_owner[owner] is not after[owner]}
    assert changed == {state.SHARED.owner, pages.playground.fields.FIELDS.owner}
    with pytest.raises(KeyError, match="colour"):
        other.changed({"colour": "red"})


def test_a_field_of_a_page_is_forgotten_with_none_of_another_page():
    own = {owner: {*each.names} for owner, each in state._declarations.items()}
    shared = own.pop(state.SHARED.owner)
    for names in own.values():
        assert {with_ for name in names for with_ in state.fields()[name].forgotten_with} <= shared | names
    assert {with_ for name in shared for with_ in state.fields()[name].forgotten_with} <= shared


def test_the_address_states_fields_in_the_order_in_which_they_are_declared():
    given = {"seed": "3", "chart": "points", "scale": "row", "pos_shift": "2", "dec_tab": "tree", "text": "7"}
    app = opened(checkpoint="numbers-any", **given)
    written = [*address(app)]
    assert {*given} <= {*written} and written == [name for name in state.fields() if name in written]


def test_a_session_that_began_before_a_page_declared_its_fields_gets_them_with_the_next_run():
    app = opened(text="1.00", scale="row")
    app.session_state["selection"] = state.Selection({state.SHARED.owner: values(app)[state.SHARED.owner]})
    assert len(selection(app)) == 31 and "dec_node" not in selection(app)
    app.text_input(key="text").set_value("2.00").run()  # with which dec_node is forgotten
    assert not app.exception
    assert selection(app) == {**state.DEFAULTS, "text": "2.00", "scale": "row"}


def test_a_session_outlives_a_change_of_the_code():
    app = opened()
    app.session_state["selection"] = {"text": "1.00", "pos_shift": 2, "no_longer_there": 3}
    app.run()
    assert not app.exception
    assert selection(app) == {**state.DEFAULTS, "text": "1.00", "pos_shift": 2}


@dataclass(frozen=True, kw_only=True)
class Again:
    play_seed: int = url_field(1, NUMBER)


def test_a_field_is_declared_once_and_each_page_s_are_known():
    with pytest.raises(ValueError, match=r"play_seed of .* is declared by .*\.Playground"):
        state.declare(Again)
    assert state.DEFAULTS["play_seed"] == 0
    folders = {path.parent.name for path in Path(pages.__file__).parent.glob("*/fields.py")}
    assert len(folders) == 11 and len(state.SHARED.names) == 31
    assert {*state.DEFAULTS} == {*state.fields()} and len(state.DEFAULTS) == 88


def test_pages_read_their_own_fields_as_one_typed_value():
    own = set(state.fields()) - set(state.SHARED.names)
    root = Path(__file__).resolve().parents[3]
    files = [*(root / "pages").glob("*.py"), *(root / "viz_transformer/ui/pages").rglob("*.py")]
    indexed = []
    for path in files:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        given = {  # what the functions of a view are given has the choices of its page
            node
            for function in ast.walk(tree)
            if isinstance(function, ast.FunctionDef | ast.Lambda)
            and "chosen" in [each.arg for each in function.args.args]
            for node in ast.walk(function)
        }
        indexed += [
            (path.name, node.slice.value)
            for node in ast.walk(tree)
            if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and node not in given
            if ast.unparse(node.value) in ("state.selection()", "chosen", "selected")
        ]
    assert ("question.py", "heads") in indexed
    assert [each for each in indexed if each[1] in own] == []


def test_what_is_declared_can_be_read_as_the_address_has_it_and_its_start_is_kept():
    for name, field in state.fields().items():
        if field.start not in (None, (), ""):
            assert field.reading.read(field.reading.write(field.start)) == field.start, name
        assert {*field.forgotten_with} <= {*state.fields()}, name
    with pytest.raises(FrozenInstanceError):
        pages.playground.fields.Playground().play_seed = 3


def keys_of():
    """A page that shows the run's keys, recomputed each time: i follows t."""
    import streamlit as st

    from viz_transformer.ui.session import state

    state.start(["numbers", "copy"])
    state.fit_positions(6, 6, 0)
    if "i" in state.auto_fields():
        state.clamp(i=(state.selection()["t"] or 0) + 1)
    st.button("t", key="t", on_click=lambda: state.select(t=3))
    st.button("i", key="i", on_click=lambda: state.select(i=2))
    st.button("text", key="text", on_click=lambda: state.select(text="other"))
    st.text(f"{state.selection()['i']} {sorted(state.auto_fields())}")
    state.finish()


def test_a_key_that_nobody_chose_follows_and_stands_in_no_address():
    app = drawn(keys_of)
    assert app.text[0].value == "1 ['i', 'j', 'u']" and "i" not in address(app)
    app.button(key="t").click().run()
    assert app.text[0].value == "4 ['i', 'j', 'u']"


def test_a_key_that_a_person_chose_stays_until_the_text_is_another():
    app = drawn(keys_of)
    app.button(key="i").click().run()
    app.button(key="t").click().run()
    assert app.text[0].value == "2 ['j', 'u']" and address(app)["i"] == "2"
    app.button(key="text").click().run()
    assert app.text[0].value == "1 ['i', 'j', 'u']" and "i" not in address(app)


def test_a_link_chooses_the_keys_that_it_states_and_no_others():
    app = drawn(keys_of, checkpoint="numbers", i="5")
    assert app.text[0].value == "5 ['j', 'u']"
    app.query_params.clear()
    for name, value in {"checkpoint": "numbers", "t": "1"}.items():
        app.query_params[name] = value
    app.run()
    assert app.text[0].value == "2 ['i', 'j', 'u']"


def test_a_key_that_follows_never_lies_outside_of_the_run():
    app = drawn(keys_of, t="5")
    assert app.text[0].value == "6 ['i', 'j', 'u']"  # this page's own rule goes too far
    app.run()
    assert not app.exception and app.session_state["selection_remarks"] == []


def page_that_opens_with(opens):
    from viz_transformer.ui.session import state

    state.start(["numbers-any", "copy"], opens=opens)
    state.finish()


EXAMPLE = {"checkpoint": "copy", "text": "abc", "heads": (1,)}


def test_a_session_without_an_address_begins_with_what_the_page_opens_with_and_keeps_it():
    app = drawn(page_that_opens_with, EXAMPLE)
    assert {name: selection(app)[name] for name in EXAMPLE} == EXAMPLE
    assert address(app)["checkpoint"] == "copy" and address(app)["text"] == "abc"
    goes_to(app, text="other")
    assert selection(app)["text"] == "other"


@pytest.mark.parametrize("given", [{"layer": "0"}, {"text": "7"}, {"projector": "on"}])
def test_any_address_is_a_choice_so_what_the_page_opens_with_is_left_out(given):
    app = drawn(page_that_opens_with, EXAMPLE, **given)
    assert selection(app)["checkpoint"] == "numbers-any"


def test_where_its_model_is_not_there_a_page_opens_as_all_others():
    app = drawn(page_that_opens_with, {"checkpoint": "missing", "text": "abc"})
    assert selection(app) == state.DEFAULTS
