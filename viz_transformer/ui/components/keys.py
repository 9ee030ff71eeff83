"""The foot of the sidebar: theme, a short guide, the keys of the whole page, and what a projector's clicker sends."""

from __future__ import annotations

import streamlit as st

from viz_transformer.figures.components.source import javascript, style_sheet

_keys = st.components.v2.component("viz_transformer_keys", css=style_sheet("keys"), js=javascript("keys"))

GUIDE = (
    (
        "What you see",
        "A sentence goes through a transformer, and every number on these pages is one of that run, or of a small"
        " experiment in front of you. Type another text on Run, or choose another model in the sidebar, and every page"
        " shows the new run.",
    ),
    (
        "One selection",
        "Text, layer, head and tokens are chosen once and stay chosen from page to page. They are in the address: a"
        " copied link opens the same view, and Back undoes one change. “Keep run” keeps it as B; then maps and"
        " tensors are shown side by side, or one at a time, or as the difference A − B.",
    ),
    (
        "How to read a page",
        "Under the title is the page’s question with this run’s answer. At the foot of each page, “How to read it” says"
        " what the picture shows, and “What not to conclude” what it does not show. Layers, heads and positions are"
        " counted from 0.",
    ),
    (
        "The map of the model",
        "In the sidebar each part of the model is a small block, from the input down to the output. A ring marks what"
        " the page looks at; a click leads to a page that shows that part.",
    ),
    (
        "Signs",
        "Blue is the source, orange the target, green the attention between them. Hatched cells are forbidden by the"
        " mask. Grey is derived: a mean, a maximum or a rollout is not a head's own attention. A ring is what is"
        " chosen. <0.0001 is small, 0.0000 is exactly zero.",
    ),
    (
        "Taking it along",
        "Maps, heads, lines, texts, steps and charts are saved as PNG or SVG with their caption, tables as CSV. On"
        " Tensors the whole run is saved as a trace, which a notebook opens with viz_transformer.Trace.load. Print a"
        " page (Ctrl-P) to hand it out: with its question, its answer and the address of the view.",
    ),
)
GROUPS = (
    (
        "Everywhere",
        (
            (("?",), "show or hide this list"),
            (("←", "→"), "one step back, one step on"),
            (("Space",), "play the steps or pause, on Run, Decoding and Attention"),
            (("e",), "edit the text; Enter runs it, Escape leaves it"),
            (("Shift Enter",), "a new line in a text"),
            (("p",), "projector on or off"),
            (("Tab", "Shift Tab"), "to the next or the previous control"),
            (("Enter", "Space"), "press, or choose what has the focus"),
        ),
    ),
    (
        "Matrix, in focus",
        (
            (("←", "→", "↑", "↓"), "choose the next cell; with Shift ten further"),
            (("Home", "End"), "first and last column"),
            (("+", "-"), "zoom; drag zooms too"),
            (("Esc",), "show all; a double click too"),
            (("Enter",), "why this weight; a double click on the whole map too"),
        ),
    ),
    ("Heads, in focus", ((("←", "→", "↑", "↓"), "go to a head"), (("Enter", "Ctrl Enter"), "choose it, or add it"))),
    (
        "Beam tree, in focus",
        (
            (("←", "→"), "what a hypothesis extends, and what extends it"),
            (("↑", "↓"), "along its step"),
            (("Enter",), "choose it"),
            (("End",), "the answer"),
            (("+", "-", "0"), "wider or narrower columns; as at first"),
        ),
    ),
    (
        "Chips, text, lines, scrubber, in focus",
        (
            (("←", "→", "↑", "↓"), "the next token or step"),
            (("Home", "End"), "the first and the last"),
            (("Enter",), "take the candidate shown, on Decoding"),
        ),
    ),
    (
        "Map of the model, in focus",
        (
            (("←", "→", "↑", "↓"), "go from part to part"),
            (("Home", "End"), "input and end of a stack"),
            (("Enter",), "open the part, or choose it"),
        ),
    ),
    (
        "The run in five stops",
        ((("←", "→"), "the stop before and the next; PgUp and PgDn too"), (("Esc",), "leave the tour")),
    ),
    (
        "Projector",
        (
            (("←", "→"), "previous and next step"),
            (("PgUp", "PgDn"), "previous and next scene, or part of a tall one"),
            (("Esc",), "leave"),
        ),
    ),
)


def keys(*, projector: bool, scene: int, scenes: int, rows: tuple[int, int] | None) -> None:
    """Listen to the keys of the page. rows: the first and the last target position that has a step."""
    data = {"projector": projector, "scene": scene, "scenes": scenes, "rows": rows, "guide": GUIDE, "groups": GROUPS}
    _keys(key="keys_component", data=data)
