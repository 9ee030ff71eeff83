"""What is chosen is scrolled into view: in a list that scrolls in itself, and the picture of another view of a page."""

from __future__ import annotations

import streamlit as st

from viz_transformer.figures.components.source import javascript

_reveal = st.components.v2.component("viz_transformer_reveal", js=javascript("reveal"))

_in_view = st.components.v2.component("viz_transformer_in_view", js=javascript("in_view"))


def reveal(place: str, at: str) -> None:
    """Brings what is chosen in the list in the container with the key `place` into view whenever `at` is another."""
    with st.container(key="reveal"):
        _reveal(key=f"{place}_reveal", data={"list": f"st-key-{place}", "at": at})


def bring_into_view(place: str, at: int) -> None:
    """Scrolls the page so that the picture in the container with the key `place` is seen, whenever `at` is another."""
    with st.container(key="reveal"):
        _in_view(key="in_view", data={"place": f"st-key-{place}", "at": at})
