"""Projector mode: one scene of the page at a time, in large type, with the selection in words."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from viz_transformer.ui.frame import style, text
from viz_transformer.ui.session import state

ROOM = 470
"""What a chart has of the 720 pixels that a projected page is laid out for, as `--vt-room` in projector.css."""
ROOM_OF_CHART = 500
"""The same for a chart that is alone in its scene."""
ROOM_ALONE = 600
"""What a chart has on a page without a strip."""
COLUMNS, COLUMN = '[data-testid="stHorizontalBlock"]', '[data-testid="stColumn"]'


def is_on() -> bool:
    """Whether the page is on a projector."""
    return state.SHARED.now().projector == "on"


def scene(scenes: Sequence[str]) -> int:
    """The number of the scene that is shown; `scenes` are the keys of containers, of which one is."""
    return state.SHARED.now().scene % max(1, len(scenes))


def show_scenes(scenes: Sequence[str], caption: str) -> None:
    """Leave only the chosen scene on the page, and say below it in words what is selected."""
    style.project()
    st.html('<i class="vt-anchor vt-projector"></i>')
    text.paragraph(caption, style="vt-caption")
    if not scenes:
        return
    shown = f".st-key-{scenes[scene(scenes)]}"
    others = ", ".join(f".st-key-{key}" for key in scenes if f".st-key-{key}" != shown)
    rules = [
        f"{COLUMNS}:has({shown}) > {COLUMN}:not(:has({shown})) {{ display: none !important; }}",
        f"{COLUMN}:has({shown}) {{ flex: 1 1 100%; width: 100%; }}",
    ]
    if others:
        rules.append(f":is({others}) {{ display: none !important; }}")
        rules.append(f"{COLUMNS}:has({others}):not(:has({shown})) {{ display: none !important; }}")
    st.html(f"<style>{' '.join(rules)}</style>")
