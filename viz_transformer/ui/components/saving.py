"""The menu under a plotly chart: it is saved as PNG or SVG with a caption under it, and its table opened."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from viz_transformer.figures.components.source import javascript, style_sheet

HEIGHT = 24
"""Pixels that it takes."""

_saving = st.components.v2.component("viz_transformer_saving", css=style_sheet("saving"), js=javascript("saving"))


def saving(place: str, *, caption: str, name: str, on_table: Callable[[], None] | None = None) -> None:
    """The menu of the one chart in the container with the key `place`, in which it stands too."""
    data = {"chart": f"st-key-{place}", "caption": caption, "name": name, "table": on_table is not None}
    _saving(key=f"{place}_saving", data=data, on_table_change=on_table)
