"""The keys of the whole page: an overlay that lists them, and what a projector's clicker sends."""

from __future__ import annotations

import streamlit as st

from viz_transformer.ui.components.source import javascript, style_sheet

_keys = st.components.v2.component("viz_transformer_keys", css=style_sheet("keys"), js=javascript("keys"))

GROUPS = (
    (
        "Everywhere",
        (
            (("?",), "show or hide this list"),
            (("p",), "projector on or off"),
            (("Tab", "Shift Tab"), "to the next or the previous control"),
            (("Enter", "Space"), "press, or choose"),
        ),
    ),
    (
        "Matrix, in focus",
        (
            (("←", "→", "↑", "↓"), "choose the next cell; with Shift ten further"),
            (("Home", "End"), "first and last column"),
            (("+", "-"), "zoom; drag zooms too"),
            (("Esc",), "show all; a double click too"),
        ),
    ),
    ("Heads, in focus", ((("←", "→", "↑", "↓"), "go to a head"), (("Enter", "Ctrl Enter"), "choose it, or add it"))),
    (
        "Chips, text, lines, scrubber, in focus",
        (
            (("←", "→", "↑", "↓"), "the next token or step"),
            (("Home", "End"), "the first and the last"),
            (("Space",), "play or pause, on the play button"),
        ),
    ),
    (
        "Projector",
        (
            (("←", "→"), "previous and next step"),
            (("PgUp", "PgDn"), "previous and next scene"),
            (("Esc",), "leave"),
        ),
    ),
)


def keys(*, projector: bool, scene: int, scenes: int, rows: tuple[int, int] | None) -> None:
    """Listen to the keys of the page. rows: the first and the last target position that has a step."""
    data = {"projector": projector, "scene": scene, "scenes": scenes, "rows": rows, "groups": GROUPS}
    _keys(key="keys_component", data=data)
