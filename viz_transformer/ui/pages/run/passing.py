"""Whether an intermediate number of the slider can be shown ahead of the page, without rerunning all of it.

The slider is a widget of the page, so a change requests a rerun of the page. If only the text differs from what the
page shows, the callback requests a run of one fragment instead (`ahead_view.py`); that interrupts the current run, as a
rerun would, and does not queue after it.
"""

from __future__ import annotations

from typing import Any

import streamlit as st

from viz_transformer.ui.session import state
from viz_transformer.ui.session.fields import POSITIONS

SLIDER = "run_slider"
FRAGMENT = "run_ahead"
STANDS, PASSES = "run_ahead_stands", "run_ahead_passes"
"""The session's entries for the selection that the page shows, and for the request to run the fragment alone."""
_OF_THE_TEXT = ("text", *POSITIONS)


def page_begins() -> None:
    """Call at the start of each run of the page: forgets the shown selection if another is chosen now."""
    st.session_state.pop(PASSES, None)
    if st.session_state.get(STANDS) != _select_without_text():
        page_cannot()


def page_stands() -> None:
    """Note that the page, with its fragment, shows the selection except for its text."""
    st.session_state[STANDS] = _select_without_text()


def page_cannot() -> None:
    """Note that the page has no place for a run ahead of it."""
    st.session_state.pop(STANDS, None)


def show_ahead() -> None:
    """Request, in a callback, a run of the fragment instead of the page, if the page shows the rest of the
    selection."""
    if st.session_state.get(STANDS) == _select_without_text():
        st.session_state[PASSES] = True
        st.rerun(FRAGMENT)


def passes() -> bool:
    """Whether the fragment is run alone, for an intermediate number. Call once in each run of it."""
    return bool(st.session_state.pop(PASSES, False))


def _select_without_text() -> dict[str, Any]:
    return {name: value for name, value in state.selection().items() if name not in _OF_THE_TEXT}
