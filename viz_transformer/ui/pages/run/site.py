"""The layer and head that the page shows: the head drawn for a selection, and the control that changes it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from viz_transformer.model.hooked_model import ModelSpec
from viz_transformer.model.kinds import KINDS
from viz_transformer.ui.frame import controls
from viz_transformer.ui.pages.run.fields import FIELDS
from viz_transformer.ui.session import state

MEAN = ("mean",)
LABELS, BUTTON, WORD, LIST = 100, 28, 54, 120
"""Widths in pixels: both labels with their margins, a number, a word, and a list of many numbers."""


def show_site(spec: ModelSpec, *, whole: bool) -> None:
    """Draw the controls of layer and head; whole: for the run overview, which shows one head or the mean, and one head
    at deeper levels."""
    shared = state.SHARED.now()
    layers, heads = KINDS[shared.kind].layers(spec), spec.heads(shared.kind, shared.layer).query
    words: tuple[str, ...] = MEAN
    shown: tuple[int, int | str] | None = None
    if whole:
        looks_into_one = FIELDS.now().level in ("attention", "weight")
        drawn = only_head(shared.heads) if looks_into_one else head_of(spec, state.selection())
        words = () if looks_into_one or heads == 1 else MEAN
        if drawn is None and words:
            shown = (shared.layer, *words)
        else:
            shown = (shared.layer, drawn if drawn is not None and drawn < heads else 0)
        room = LABELS + WORD * len(words) + sum(BUTTON * n if n <= controls.FEW else LIST for n in (layers, heads))
        st.html(f"<style>.stApp {{ --vt-site: {room}px; }}</style>")
    with st.container(horizontal=True, key="site"):
        controls.layer_and_head(layers, heads, page="run", words=words, shown=shown)


def only_head(heads: str | tuple[int, ...]) -> int:
    """The single head to show: the chosen one, or the first of none or several."""
    return 0 if isinstance(heads, str) or len(heads) > 1 else heads[0]


def head_of(spec: ModelSpec, chosen: Mapping[str, Any]) -> int | None:
    """The chosen head, if every attention of this model has it; None for the mean."""
    heads = chosen["heads"]
    if isinstance(heads, str) or len(heads) > 1:
        return None
    fewest = min(each.query for each in spec.attentions.values())
    return heads[0] if heads[0] < fewest else None
