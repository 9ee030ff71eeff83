"""Whether a number that the slider only passes can be shown ahead of the page, without a run of all of it.

The slider is a widget of the page, so what it tells asks for a run of the page. Where the page stands with all but
another text, the callback asks for a run of one fragment instead (`ahead_view.py`); that stops what runs, as a run of
the page would, and needs no turn behind it.
"""

from __future__ import annotations

from typing import Any

import streamlit as st

from viz_transformer.ui.session import state
from viz_transformer.ui.session.fields import POSITIONS

SLIDER = "run_slider"
FRAGMENT = "run_ahead"
STANDS, PASSES = "run_ahead_stands", "run_ahead_passes"
"""Where the session keeps what the page stands for, and that the fragment alone is run for a number that is passed."""
_OF_THE_TEXT = ("text", *POSITIONS)


def page_begins() -> None:
    """To be called at the start of each run of the page: it stands no longer where something else is chosen now."""
    st.session_state.pop(PASSES, None)
    if st.session_state.get(STANDS) != _beside_the_text():
        page_cannot()


def page_stands() -> None:
    """The page stands, with the fragment, for all that is chosen beside the text."""
    st.session_state[STANDS] = _beside_the_text()


def page_cannot() -> None:
    """The page has nothing in which another run could be shown ahead of it."""
    st.session_state.pop(STANDS, None)


def show_ahead() -> None:
    """In a callback, for what is selected now: runs the fragment instead of the page, where the page stands for it."""
    if st.session_state.get(STANDS) == _beside_the_text():
        st.session_state[PASSES] = True
        st.rerun(FRAGMENT)


def passes() -> bool:
    """In the fragment: whether it alone is run, for a number that is passed. To be asked once in each run of it."""
    return bool(st.session_state.pop(PASSES, False))


def _beside_the_text() -> dict[str, Any]:
    return {name: value for name, value in state.selection().items() if name not in _OF_THE_TEXT}
