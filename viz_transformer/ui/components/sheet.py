"""The page on paper: the head and the foot of each sheet, and its charts."""

from __future__ import annotations

from typing import Any

import streamlit as st

from viz_transformer.figures.components.source import javascript
from viz_transformer.figures.theme import light_colours

_sheet = st.components.v2.component("viz_transformer_sheet", js=javascript("sheet"))


def sheet_data(caption: str) -> dict[str, Any]:
    """What a sheet says below its picture, and the colours that charts have on it."""
    return {"caption": caption, "light": light_colours()}


def sheet(caption: str) -> None:
    """What is printed has this caption at the foot of each sheet."""
    _sheet(key="sheet_component", data=sheet_data(caption))
