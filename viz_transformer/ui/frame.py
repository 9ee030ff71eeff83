"""What stands on every page: the selected model in the sidebar, the wait for the imports, remarks on the selection."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import streamlit as st
from streamlit.delta_generator import DeltaGenerator
from streamlit.runtime.pages_manager import PagesManager

from viz_transformer.checkpoint.contents import Summary, Unreadable
from viz_transformer.figures.theme import Theme
from viz_transformer.ui import cached, examples, state, style, text
from viz_transformer.ui.components.address import keep_back_button

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

NO_MODELS = "There is no trained model here yet: train one with “viz-transformer train numbers”, then reload this page."


def begin() -> None:
    """What comes first in each run: the style, and the selection as the address has it."""
    style.apply()
    found = {summary.name: summary for summary in cached.summaries()}
    state.begin([*found], lambda name: examples.offered(found[name]) if name in found else ())


def title(name: str) -> None:
    """The page's heading. A page that runs without app.py around it begins for itself.

    Until st.navigation has run once in a server, Streamlit takes the files in pages/ for the navigation and runs the
    one in the address without app.py: then this run is given up for one with it.
    """
    if not state.begun():
        if PagesManager.uses_pages_directory:
            PagesManager.uses_pages_directory = False
            st.rerun()
        begin()
    st.title(name, anchor=False)


def sidebar() -> None:
    """The choice of the model, under the pages."""
    names = [summary.name for summary in cached.summaries()]
    with st.sidebar:
        if names:
            st.selectbox("Model", names, **state.bind("checkpoint", key="sidebar_model"))
        keep_back_button()


def theme() -> Theme:
    """The theme that the browser shows; light where there is no browser."""
    return "dark" if st.context.theme.type == "dark" else "light"


def place(key: str) -> DeltaGenerator:
    """A container whose height is kept while it is empty (page.css says which); Streamlit leaves out an empty one."""
    container = st.container(key=key)
    container.html('<i class="vt-anchor"></i>')
    return container


@contextmanager
def waiting(sentence: str, place: DeltaGenerator) -> Iterator[None]:
    """Say in `place` what is being waited for."""
    with place, st.spinner(sentence):
        yield


def selected() -> Summary | str:
    """The selected model's folder, or a sentence that says why there is none."""
    found = {summary.name: summary for summary in cached.summaries()}
    summary = found.get(state.selection()["checkpoint"])
    if summary is None:
        return NO_MODELS
    return summary.error if isinstance(summary, Unreadable) else summary


def say(place: DeltaGenerator, *sentences: str, error: str | None = None) -> None:
    """What is wrong, if anything, and the sentences, in `place`, which is cleared first."""
    with place.container():
        if error is not None:
            text.paragraph(error, tone="bad")
        for sentence in sentences:
            text.paragraph(sentence)


def chart(figure: Figure, *, key: str, alt: str) -> None:
    """A figure with its own colours, without plotly's tool bar, in a place that keeps its height.

    Streamlit makes a new chart of each new figure; for a moment there is none.
    """
    with st.container(key=key, height=int(figure.layout.height), border=False):
        st.plotly_chart(
            figure,
            theme=None,
            key=f"{key}_figure",
            alt=alt,
            config={"displayModeBar": False, "doubleClick": False},
        )
