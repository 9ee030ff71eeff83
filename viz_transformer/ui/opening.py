"""How each run of the app begins: with the page's heading, before anything is imported that a heading does not need.

What stands above `show` is all that a first visitor waits for. So this module imports Streamlit and the style, and the
imports inside `show` stay there, whatever pages and frame come to need.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from viz_transformer.ui import style

if TYPE_CHECKING:
    from streamlit.navigation.page import StreamlitPage


def heading(name: str) -> None:
    """The style, and the page's heading."""
    style.apply()
    st.title(name, anchor=False)


def show(page: StreamlitPage) -> None:
    """Draw a page, heading first."""
    heading(page.title)
    from viz_transformer.ui import frame

    frame.begin()
    frame.sidebar()
    page.run()
    frame.end()
