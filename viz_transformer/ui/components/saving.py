"""Two small buttons that save a plotly chart as PNG or SVG, with a caption under it."""

from __future__ import annotations

import streamlit as st

from viz_transformer.figures.components.source import javascript, style_sheet

HEIGHT = 24
"""Pixels that the buttons take."""

_saving = st.components.v2.component("viz_transformer_saving", css=style_sheet("saving"), js=javascript("saving"))


def saving(place: str, *, caption: str, name: str) -> None:
    """The buttons for the one chart in the container with the key `place`, in which they stand too."""
    _saving(key=f"{place}_saving", data={"chart": f"st-key-{place}", "caption": caption, "name": name})
