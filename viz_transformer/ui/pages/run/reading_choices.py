"""How the text is read, beside where it is typed: languages, special tokens, where the model leaves a choice."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import streamlit as st

from viz_transformer.checkpoint import Checkpoint
from viz_transformer.ui.pages.run import words
from viz_transformer.ui.session import state


def show_reading_choices(ckpt: Checkpoint) -> None:
    """Lists of the model's languages, switches for special tokens and a chat; nothing for a model without a choice."""
    offered = {name: codec for codec in ckpt.codecs.values() for name in codec.choices}
    if not offered:
        return
    for name, label in (("source_language", words.FROM), ("language", words.INTO)):
        if name in offered:
            now = getattr(state.SHARED.now().read_as, name)
            known = ["", *offered[name].languages]
            st.selectbox(
                label,
                known if now in known else [*known, now],
                format_func=lambda code: code or words.USUAL,
                width=170,
                **state.widget_args("read_as", key=f"run_{name}", value=now, taken=_taken(name)),
            )
    switches = (("special_tokens", words.SPECIAL_TOKENS, words.SPECIAL), ("chat", words.CHAT_TEMPLATE, words.CHAT))
    for name, label, help in switches:
        if name in offered:
            on = getattr(state.SHARED.now().read_as, name)
            st.toggle(label, help=help, **state.widget_args("read_as", key=f"run_{name}", value=on, taken=_taken(name)))


def _taken(name: str) -> Any:
    """What a change of one choice makes of all of them."""
    return lambda new: replace(state.SHARED.now().read_as, **{name: new})
