"""The one selection of all components of a page, joined to Python by two invisible components.

A pick in any component is seen by all others at once, in the browser; Python hears of it when it has settled.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import streamlit as st

from viz_transformer.figures.components.source import javascript

_KEY, _TOKEN, _LOST = "selection_component", "selection_token", "selection_lost"
_selection = st.components.v2.component("viz_transformer_selection", js=javascript("selection"))


def hear_picks(on_pick: Callable[[Mapping[str, Any]], None], on_loss: Callable[[], None]) -> None:
    """Hand on what is picked in the browser as new values of some of the fields; to be called early in each run.

    The token of the pick that was heard last goes back. `on_loss` is called before, where the connection was lost and
    is there again. A pick while another page is on its way comes without its fields, for Streamlit forgets a component
    when the page changes, until it is drawn again: the browser is asked again.
    """

    def picked() -> None:
        if (told := st.session_state.get(_KEY)) is None:
            st.session_state[_LOST] = st.session_state.get(_LOST, 0) + 1
            return
        pick = told.pick
        if isinstance(pick, Mapping) and isinstance(pick.get("fields"), Mapping):
            st.session_state[_TOKEN] = str(pick.get("token", ""))
            if pick.get("again") is True:
                on_loss()
            on_pick(pick["fields"])

    with st.container(key="picks"):
        _selection(
            key=_KEY, data={"token": last_heard_token(), "lost": st.session_state.get(_LOST, 0)}, on_pick_change=picked
        )


def tell_chosen(chosen: Mapping[str, Any]) -> None:
    """Send the browser what is chosen at the end of a run, with the token of the last pick that the run received, so
    that the browser knows which picks Python has not seen yet."""
    with st.container(key="selection"):
        _selection(key="selection_chosen", data={"chosen": dict(chosen), "token": last_heard_token()})


def last_heard_token() -> str:
    """The token of the pick that this session has heard of last; "" before there was one."""
    return str(st.session_state.get(_TOKEN, ""))
