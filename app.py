"""The app: its pages. Imports Streamlit and what a heading needs; the rest is imported when the heading is sent."""

from __future__ import annotations

import streamlit as st

from viz_transformer.ui.frame import opening


def declare() -> None:
    """Make the fields of all pages known."""
    from viz_transformer.ui import pages  # noqa: F401


st.set_page_config(page_title="Viz Transformer", layout="wide", initial_sidebar_state=240)
page = st.navigation(
    {
        "RUN": [
            st.Page("pages/run.py", title="Run", default=True),
            st.Page("pages/decoding.py", title="Decoding"),
        ],
        "INSIDE": [
            st.Page("pages/input.py", title="Input"),
            st.Page("pages/positions.py", title="Positions"),
            st.Page("pages/attention.py", title="Attention"),
            st.Page("pages/weight.py", title="One weight"),
            st.Page("pages/layers.py", title="Layers"),
            st.Page("pages/tensors.py", title="Tensors"),
        ],
        "TRY": [
            st.Page("pages/masks.py", title="Masks"),
            st.Page("pages/playground.py", title="Playground"),
        ],
        "MODELS": [st.Page("pages/models.py", title="Models")],
    }
)
opening.show(page, declare)
