"""Links from page to page: the next one along the forward pass, and from a number to the page that says why."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from viz_transformer.ui.frame import text

NEXT: Mapping[str, tuple[str, str]] = {
    "Run": ("input", "Input: what does the model read?"),
    "Input": ("positions", "Positions: how does it know the order?"),
    "Positions": ("attention", "Attention: where does each head look?"),
    "Attention": ("weight", "One weight: why is it this number?"),
    "One weight": ("layers", "Layers: what does each one add?"),
    "Layers": ("decoding", "Decoding: what else could it have written?"),
    "Decoding": ("tensors", "Tensors: where is every number of the run?"),
    "Tensors": ("masks", "Masks: what if it may not look there?"),
    "Masks": ("playground", "Playground: what if I change the numbers myself?"),
    "Playground": ("models", "Models: how good are they, and how did they learn?"),
    "Models": ("run", "Run: what does this model write?"),
}
"""The page that follows each one, by their titles, and its question: along the forward pass, then what can be tried."""
_APP = "links_lead_somewhere"


def begin(*, in_app: bool) -> None:
    """Say whether this run has the app's pages around it: a page that runs alone has nowhere to lead to."""
    st.session_state[_APP] = in_app


def to(page: str, label: str) -> None:
    """A link to a page of the app, where the same selection is looked at."""
    if st.session_state.get(_APP):
        st.page_link(f"pages/{page}.py", label=text.literal(label))


def to_next(title: str) -> None:
    """What stands at the end of the page of this title."""
    with st.container(key="next"):
        to(NEXT[title][0], f"Next: {NEXT[title][1]}")


def from_cell(*, weight: bool = True, decoding: bool = True) -> None:
    """Under a map: why the chosen cell has its number, and what else could have been written in its row."""
    with st.container(horizontal=True, key="from_cell"):
        if weight:
            to("weight", "Why this weight?")
        if decoding:
            to("decoding", "What else could it have written?")
