"""The deeper levels of whole runs, told to the browser: what answers its questions."""

from __future__ import annotations

from streamlit.testing.v1 import AppTest


def page() -> None:
    import streamlit as st
    from streamlit_inside import get_script_run_ctx

    from viz_transformer.figures.details import answer, together
    from viz_transformer.ui.components.ahead import whole_details

    whole_details([together([])] * st.session_state["count"], lambda places: answer([]))
    ctx = get_script_run_ctx()
    assert ctx is not None
    st.session_state["fragments"] = ctx.shared.new_fragment_ids.snapshot()


def test_what_answers_the_browser_stays_the_same_however_many_details_it_is_told():
    """Else a question that comes while the page is run for another level is dropped, and asked again seconds later."""
    app = AppTest.from_function(page, default_timeout=120)
    found = []
    for count in (0, 1, 2):
        app.session_state["count"] = count
        app.run()
        assert not app.exception
        found.append(app.session_state["fragments"])
    assert len(found[0]) == 1
    assert found[0] == found[1] == found[2]
