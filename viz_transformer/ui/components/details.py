"""The deeper levels of whole runs, handed to the pictures of a page by invisible components."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import streamlit as st

from viz_transformer.figures.components.source import javascript

_ASKED = "whole_asked"
_detail = st.components.v2.component("viz_transformer_whole_detail", js=javascript("whole_detail"))


def whole_details(details: Sequence[bytes], answer: Callable[[Sequence[Mapping[str, Any]]], bytes]) -> None:
    """Tell the browser details of runs, each value several `together`. It keeps them, so what was visited is there.

    Each value has a component of its own, apart from the picture: Streamlit sends again only what has changed. What the
    browser lacks it asks for, by the places, and gets the answer without a run of the page. What answers stands before
    all of them: Streamlit knows a fragment by its place, and drops what is asked of one that has moved.
    """

    def asked() -> None:
        told = st.session_state.get(_ASKED)
        places = None if told is None else told.ask
        wanted = [each for each in places if isinstance(each, Mapping)] if isinstance(places, list) else []
        _detail(key=_ASKED, data=answer(wanted), on_ask_change=lambda: None)

    with st.container(key="details"):
        st.fragment(asked)()
        for number, data in enumerate(details):
            _detail(key=f"whole_detail_{number}", data=data)
