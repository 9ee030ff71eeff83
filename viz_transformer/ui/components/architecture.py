"""The architecture: a drawing of a model's parts, each of which says its sizes when one points at it."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import streamlit as st

from viz_transformer.ui.components import payload
from viz_transformer.ui.components.source import javascript, style_sheet

if TYPE_CHECKING:
    from viz_transformer.figures.architecture import Drawing

_architecture = st.components.v2.component(
    "viz_transformer_architecture", css=style_sheet("architecture"), js=javascript("architecture")
)


def architecture_payload(drawing: Drawing, *, caption: str, name: str) -> bytes:
    """What the browser gets: everything that is drawn, in the drawing's own pixels; `name` is a file name."""
    return payload.pack({**asdict(drawing), "caption": caption, "name": name})


def architecture_view(data: bytes, *, key: str) -> None:
    """Paint what `architecture_payload` made."""
    _architecture(key=key, data=data)
