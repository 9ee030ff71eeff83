"""Controls for the parts of the selection that several pages choose: few options as buttons, many as a list."""

from __future__ import annotations

from typing import Any

import streamlit as st

from viz_transformer.ui import state

FEW = 8


def number(label: str, count: int, **bound: Any) -> None:
    """One of the numbers 0 to count - 1."""
    choice(label, [*range(count)], **bound)


def heads(count: int, *, key: str, words: tuple[str, ...] = ("mean",)) -> None:
    """One head, or the word of a derived picture; of several heads that are chosen the first is shown."""
    chosen = state.selection()["heads"]
    shown = chosen if isinstance(chosen, str) else chosen[0]
    others = (shown,) if isinstance(shown, str) and shown not in words else ()
    options: list[int | str] = [*range(count), *words, *others]
    choice(
        "Head",
        options,
        **state.bind("heads", key=key, value=shown, taken=lambda new: new if isinstance(new, str) else (new,)),
    )


def choice(label: str, options: list[Any], **bound: Any) -> None:
    """One of the options; what is bound has the value."""
    if len(options) <= FEW:
        st.segmented_control(label, options, required=True, **bound)
    else:
        st.selectbox(label, options, width=120, **bound)
