"""What any page has beside its pictures: the Back button, paper, menus of charts, the panel of the tour."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import streamlit as st

from viz_transformer.figures.components.source import javascript, style_sheet
from viz_transformer.figures.theme import light_colours

_address = st.components.v2.component("viz_transformer_address", js=javascript("address"))
_sheet = st.components.v2.component("viz_transformer_sheet", js=javascript("sheet"))
_saving = st.components.v2.component("viz_transformer_saving", css=style_sheet("saving"), js=javascript("saving"))
_tour = st.components.v2.component("viz_transformer_tour", css=style_sheet("tour"), js=javascript("tour"))

MENU_HEIGHT = 24
"""Pixels that the menu under a chart takes."""


def keep_back_button() -> None:
    """Draw nothing; from now on, an address that is only completed does not count as a step back."""
    with st.container(key="address"):
        _address(key="address_component")


def sheet(caption: str) -> None:
    """What is printed has this caption at the foot of each sheet, and its charts are light."""
    _sheet(key="sheet_component", data={"caption": caption, "light": light_colours()})


def saving(place: str, *, caption: str, name: str, on_table: Callable[[], None] | None = None) -> None:
    """The menu under the one chart in the container with the key `place`, in which it stands too: the
    chart is saved as PNG or SVG with a caption under it, and its table opened."""
    data = {"chart": f"st-key-{place}", "caption": caption, "name": name, "table": on_table is not None}
    _saving(key=f"{place}_saving", data=data, on_table_change=on_table)


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
    """Draw the panel of one stop, from 1, of those with these titles: over the page, with a ring around its subject.

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
