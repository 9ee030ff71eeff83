"""What a view draws as values: groups and columns of parts, and buttons."""

from page_driver import drawn, words


def test_what_is_laid_out_first_may_be_drawn_last():
    def page():
        import streamlit as st

        from viz_transformer.ui.frame.drawn import Columns, Group, Text, lay_out, show

        places = {}
        columns = Columns(parts=(("left",), ("right", "below")), widths=(1, 3))
        lay_out(Group(parts=(columns, "end"), key="all"), lambda key: places.update({key: st.container()}))
        for key in ("end", "below", "right", "left"):
            with places[key]:
                show(Text(said=f"the {key}"), None, key)

    app = drawn(page)
    assert [each for each in words(app).split() if each != "the"] == ["left", "right", "below", "end"]
    assert [column.weight for column in app.columns] == [0.25, 0.75]


def test_parts_of_groups_are_drawn_in_their_order_and_a_button_does_what_it_says():
    def page():
        import streamlit as st

        from viz_transformer.ui.frame.drawn import Button, Group, Heading, Markup, Text, show
        from viz_transformer.ui.frame.text import Html

        def count():
            st.session_state["count"] = st.session_state.get("count", 0) + 1

        does = Button(label="count", key="count_button", does=count, help="adds one")
        line = Group(parts=(does, Button(label="no", key="no_button", disabled=True)), key="line", aligned="center")
        parts = (Heading(said="first"), Markup(html=Html("<b>second</b>")), line, Text(said="third", lead="and "))
        show(Group(parts=parts, key="all"), None, "")

    app = drawn(page)
    assert words(app).split() == ["first", "second", "and", "third"]
    app.button(key="count_button").click().run()
    assert app.session_state["count"] == 1 and app.button(key="no_button").disabled


def test_what_is_entered_is_said_above_the_box_that_it_is_entered_into():
    def page():
        from functools import partial

        import streamlit as st

        from viz_transformer.ui.frame.drawn import Entry, Group, Text, show

        entry = Entry(put=partial(st.number_input, "least", 1, 9), key="least_box", unset=2)
        show(Group(parts=(Text(said=f"at least {entry.value()}"), entry), key="all"), None, "")

    app = drawn(page)
    assert words(app) == "at least 2" and app.number_input(key="least_box").value == 2
    app.number_input(key="least_box").set_value(5).run()
    assert words(app) == "at least 5"


def test_a_wait_that_fails_leaves_nothing_in_its_place():
    def page():
        import streamlit as st

        from viz_transformer.ui.frame import frame

        place = st.empty()
        frame.set_waiting_place(place)
        try:
            with frame.wait("Reading ..."):
                raise ValueError("no file")
        except ValueError as error:
            st.text(str(error))

    (place, said) = drawn(page).main.children.values()
    assert place.type == "empty" and said.value == "no file"
