"""Links from page to page: the next one, and from a number to the page that says why it is so."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from urllib.parse import urlencode

import streamlit as st

from viz_transformer.ui.frame import text
from viz_transformer.ui.session import state

NOWHERE: Mapping[str, Path] = MappingProxyType({})
"""The other pages of a page that runs without the app around it: it leads nowhere."""
_FILES, _TOUR = "links_files", "links_tour"
QUOTES = '"""'
TOUR_ON = "Run"


def begin(files: Mapping[str, Path]) -> None:
    """Say which pages this run has, by their titles, in the order in which they lead on."""
    st.session_state[_FILES] = files


def to(title: str, label: str, **fields: str) -> None:
    """A link to a page, where the same selection is looked at but for these fields, which stand in its address; nothing
    where the app does not have that page."""
    files: Mapping[str, Path] = st.session_state[_FILES]
    if title in files:
        st.page_link(files[title], label=text.literal(label), query_params=fields or None)


def address(**fields: str) -> str | None:
    """Where *Run* shows these fields, as an address within the app; None for a text that is too long for one."""
    if any(len(value) > state.LONGEST_LINKED_TEXT for value in fields.values()):
        return None
    known = state.fields()
    return f"./?{urlencode({name: known[name].reading.write(value) for name, value in fields.items()})}"


def to_next(title: str) -> None:
    """What stands at the end of the page of this title: the next page and what it asks; behind the last the first."""
    titles = [*st.session_state[_FILES]]
    if title != TOUR_ON and st.session_state.get(_TOUR) == "offered":
        st.session_state[_TOUR] = "over"
    if title in titles:
        following = titles[(titles.index(title) + 1) % len(titles)]
        with st.container(key="next"):
            to(following, f"Next: {asks(st.session_state[_FILES][following])}")


@cache
def asks(file: Path) -> str:
    """What a page asks, as the first line of its file says: "Attention: where does each head look?".

    Read as text: Python 3.11 counts how deep all threads are in their syntax trees with one counter, so that pages
    that parse at once may stop with "AST constructor recursion depth mismatch".
    """
    with file.open(encoding="utf-8") as lines:
        first = next(lines)
    assert first.startswith(QUOTES), f"{file} does not say what it asks"
    return first.strip().strip(QUOTES)


TOUR = (
    ("Input", "read"),
    ("Attention", "look"),
    ("One weight", "compute"),
    ("Layers", "add"),
    ("Decoding", "write"),
)
"""The stops of a run through the model, in the order of the forward pass: the page, and what happens there."""


def tour() -> None:
    """The same run in five stops, for a newcomer: offered once, until it is sent away or the page is left."""
    if st.session_state.setdefault(_TOUR, "offered") == "over":
        return
    with st.container(horizontal=True, vertical_alignment="center", key="tour"):
        text.paragraph("This run in five stops:")
        for number, (title, does) in enumerate(TOUR, start=1):
            to(title, f"{number} {does}", stop=str(number))
        st.button("Hide", key="tour_over", on_click=_end_tour, type="tertiary")


def _end_tour() -> None:
    st.session_state[_TOUR] = "over"


def stop(title: str) -> None:
    """Beside the heading of a stop of the run in five stops: which it is, and what leads on to the next.

    A reader who goes to any other page has left that way.
    """
    if not (number := state.SHARED.now().stop):
        return
    page, does = TOUR[number - 1]
    if page != title:
        state.correct(stop=0)
        return
    with st.container(horizontal=True, vertical_alignment="center", width="content", key="stop"):
        text.paragraph(f"Stop {number} of {len(TOUR)}: {does}")
        if number < len(TOUR):
            to(TOUR[number][0], f"Next ({number + 1} of {len(TOUR)}): {TOUR[number][1]}", stop=str(number + 1))
        else:
            to(TOUR_ON, f"Back to {TOUR_ON}", stop="0")
        st.button("Leave the tour", key="stop_over", on_click=state.select, kwargs={"stop": 0}, type="tertiary")


_LEVELS = {"run": None, "layer": "Layers", "attention": "Attention", "weight": None}


def from_cell(*, decoding: bool = True, level: str = "run") -> None:
    """Under a map: why the chosen cell has its number, and what else could have been written in its row, unless nothing
    is (`decoding` False); under a deeper `level` of the whole run first the page that is about it."""
    with st.container(horizontal=True, key="from_cell"):
        if page := _LEVELS[level]:
            to(page, f"Open this {level} as a page")
        to("One weight", "Why this weight?")
        if decoding:
            to("Decoding", "What else could it have written?")
