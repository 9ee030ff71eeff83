"""A list that scrolls in itself is scrolled to what is chosen in it."""

from __future__ import annotations

import streamlit as st

from viz_transformer.figures.components.source import javascript

_reveal = st.components.v2.component("viz_transformer_reveal", js=javascript("reveal"))


def reveal(place: str, at: str) -> None:
    """Brings what is chosen in the list in the container with the key `place` into view whenever `at` is another."""
    with st.container(key="reveal"):
        _reveal(key=f"{place}_reveal", data={"list": f"st-key-{place}", "at": at})
