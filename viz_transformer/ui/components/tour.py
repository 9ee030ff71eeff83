"""The panel of the run in five stops: floats over the page, with a ring around what its words are about."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import streamlit as st

from viz_transformer.figures.components.source import javascript, style_sheet

_tour = st.components.v2.component("viz_transformer_tour", css=style_sheet("tour"), js=javascript("tour"))


def tour_panel(
    *,
    number: int,
    titles: Sequence[str],
    sentences: Sequence[str],
    ring: Sequence[str],
    onward: str,
    invited: bool,
    on_leave: Callable[[], None],
) -> None:
    """Draw the panel of one stop, from 1, of those with these titles.

    The ways to the other stops are the page's own links, in the containers stop_back and stop_next; `onward` is what
    the second says. invited: somebody asked for the tour; else the browser decides whether it plays by itself.
    """
    data = {
        "number": number,
        "titles": [*titles],
        "sentences": [*sentences],
        "ring": [*ring],
        "onward": onward,
        "invited": invited,
    }
    _tour(key="tour_component", data=data, on_leave_change=on_leave)
