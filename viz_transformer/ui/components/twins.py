"""Two plotly charts beside each other: what is pointed at in one has its tooltip in the other too."""

from __future__ import annotations

import streamlit as st

from viz_transformer.figures.components.source import javascript

_twins = st.components.v2.component("viz_transformer_twins", js=javascript("twins"))


def twins(*places: str) -> None:
    """Joins the charts in the containers with these two keys."""
    with st.container(key="twins"):
        _twins(key=f"{places[0]}_twins", data={"charts": [f"st-key-{place}" for place in places]})
