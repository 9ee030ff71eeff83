"""No change that a browser tells is lost: callbacks run to their end, and of two that wait both are taken."""

from __future__ import annotations

import pytest
from streamlit.proto.WidgetStates_pb2 import WidgetState, WidgetStates
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.runtime.scriptrunner_utils import script_requests
from streamlit.runtime.scriptrunner_utils.script_requests import RerunData, ScriptRequests
from streamlit.runtime.state.safe_session_state import SafeSessionState
from streamlit.testing.v1 import AppTest

from viz_transformer.ui import compat


@pytest.fixture(autouse=True)
def kept() -> None:
    compat.patch()


def page():
    """A button whose callback touches the session after another request has come."""
    import streamlit as st

    from tests.ui.test_compat import ask

    def pressed():
        ask()
        st.session_state["first"] = st.session_state.get("first", 0) + 1
        st.session_state["second"] = st.session_state.get("second", 0) + 1

    st.button("press", on_click=pressed)
    st.text(f"{st.session_state.get('first')} {st.session_state.get('second')}")


def ask() -> None:
    """Another request comes, as from the thread that hears the browser."""
    context = get_script_run_ctx()
    context.script_requests.request_rerun(RerunData(page_script_hash=context.page_script_hash))


def test_a_callback_runs_to_its_end_while_another_request_waits():
    app = AppTest.from_function(page).run()
    assert not app.exception
    app.button[0].click().run()
    assert [text.value for text in app.text] == ["1 1"]


def states(**values: str) -> WidgetStates:
    return WidgetStates(widgets=[WidgetState(id=name, string_value=value) for name, value in values.items()])


def waiting(*asked: RerunData) -> RerunData:
    waits = ScriptRequests()
    for each in asked:
        waits.request_rerun(each)
    return waits.on_scriptrunner_ready().rerun_data


def test_of_two_requests_that_wait_the_later_one_does_not_take_back_what_it_does_not_tell():
    of_run = RerunData(page_script_hash="run", widget_states=states(text="7", kind="cross"))
    of_layers = RerunData(page_script_hash="layers", widget_states=states(kind="encoder"))
    both = waiting(of_run, of_layers)
    assert both.page_script_hash == "layers"
    assert {each.id: each.string_value for each in both.widget_states.widgets} == {"text": "7", "kind": "encoder"}
    assert [each.id for each in waiting(of_run, RerunData()).widget_states.widgets] == ["text", "kind"]
    assert [each.id for each in waiting(RerunData(), of_run).widget_states.widgets] == ["text", "kind"]
    assert waiting(RerunData(), RerunData()).widget_states is None


def test_asked_for_again_it_changes_nothing():
    before = SafeSessionState.on_script_will_rerun, script_requests._coalesce_widget_states
    compat.patch()
    assert (SafeSessionState.on_script_will_rerun, script_requests._coalesce_widget_states) == before
