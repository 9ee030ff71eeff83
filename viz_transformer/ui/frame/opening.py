"""How each run of the app begins: with the page's heading, before anything is imported that a heading does not need.

What comes before `show_page` is all that a first visitor waits for. So this module imports Streamlit and the style, and
the imports inside its functions stay there, whatever pages and frame come to need.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from threading import Lock
from typing import TYPE_CHECKING

import streamlit as st

from viz_transformer.ui.frame import style

if TYPE_CHECKING:
    from pathlib import Path

SHOWN = "page_shown"
"""Where the session keeps the name of the page that was drawn last, to its end."""

_importing = Lock()


def heading(name: str) -> None:
    """The style and the page's heading; then, in one session while all others wait, what must not be seen half done.

    Plotly looks for pandas among the modules that are there, where a module stands from the moment at which its import
    begins. A page that made a chart while another session was importing pandas failed.
    """
    style.apply()
    st.title(name, anchor=False)
    with _importing:
        import pandas  # noqa: F401


def show_page(page: st.Page, declare: Callable[[], None], files: Mapping[str, Path | st.Page]) -> None:
    """Draw a page, heading first; `declare` makes the fields of all pages known, before the address is read.

    files: of all pages of the app, by their titles, in the order in which they lead on.
    """
    heading(page.title)
    declare()
    from viz_transformer.ui.frame import frame, links, tour

    frame.start_page(files, page.title)
    frame.sidebar(page.title)
    tour.begin(page.title)
    stop = st.container(key="stop")  # in front of the page, so that the panel is the same one on the next page
    with frame.guard_replay():
        page.run()
    with stop:
        tour.show_tour()
    links.link_to_next(page.title)
    frame.finish_page()
    st.session_state[SHOWN] = page.title
