"""The deeper levels of whole runs, handed to the pictures of a page by invisible components."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from viz_transformer.figures.components.source import javascript

_detail = st.components.v2.component("viz_transformer_whole_detail", js=javascript("whole_detail"))


def whole_details(details: Sequence[bytes]) -> None:
    """Tell the browser details of runs, each value several `together`. It keeps them, so what was visited is there.

    Each value has a component of its own, apart from the picture: Streamlit sends again only what has changed.
    """
    with st.container(key="details"):
        for number, data in enumerate(details):
            _detail(key=f"whole_detail_{number}", data=data)
