"""Links from page to page: the next one, and from a number to the page that says why it is so."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from urllib.parse import urlencode

import streamlit as st

from viz_transformer.extensions import PAGES, load_extension
from viz_transformer.ui.frame import text, words
from viz_transformer.ui.session import state

NOWHERE: Mapping[str, Path | st.Page] = MappingProxyType({})
"""The other pages of a page that runs without the app around it: it leads nowhere."""
_FILES = "links_files"
QUOTES = '"""'


def begin(files: Mapping[str, Path | st.Page]) -> None:
    """Say which pages this run has, by their titles, in the order in which they lead on."""
    st.session_state[_FILES] = files


def leads_to(title: str) -> bool:
    """Whether the app has the page of this title."""
    return title in st.session_state[_FILES]


def link_to(title: str, label: str, **fields: str) -> None:
    """A link to a page with the same selection except for these fields, which its address states; nothing where the app
    does not have that page."""
    if leads_to(title):
        st.page_link(st.session_state[_FILES][title], label=text.literal(label), query_params=fields or None)


def address(**fields: str) -> str | None:
    """Where *Run* shows these fields, as an address within the app; None for a text that is too long for one."""
    if any(len(value) > state.LONGEST_LINKED_TEXT for value in fields.values()):
        return None
    known = state.fields()
    return f"./?{urlencode({name: known[name].reading.write(value) for name, value in fields.items()})}"


def link_to_next(title: str) -> None:
    """The link at the end of a page: the next page and what it asks; after the last page the first."""
    titles = [*st.session_state[_FILES]]
    if title in titles:
        following = titles[(titles.index(title) + 1) % len(titles)]
        with st.container(key="next"):
            link_to(following, words.next_page(_asks(following)))


def _asks(title: str) -> str:
    """What the page of this title asks."""
    page = st.session_state[_FILES][title]
    if isinstance(page, Path):
        return asks(page)
    asked = getattr(load_extension(PAGES, title), "asks", "")
    return f"{title}: {asked}" if asked else title


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


_LEVELS = {"run": None, "layer": "Layers", "attention": "Attention", "weight": None}


def link_from_cell(*, decoding: bool = True, level: str = "run") -> None:
    """Under a map: why the chosen cell has its number, and what else could have been written in its row, unless nothing
    is (`decoding` False); under a deeper `level` of the whole run first the page that is about it."""
    with st.container(horizontal=True, key="from_cell"):
        if page := _LEVELS[level]:
            link_to(page, words.open_as_page(level))
        link_to("One weight", words.WHY_THIS_WEIGHT)
        if decoding:
            link_to("Decoding", words.WHAT_ELSE)
