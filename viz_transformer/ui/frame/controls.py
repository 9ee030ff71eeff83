"""Controls for the parts of the selection that several pages choose: few options as buttons, many as a list."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import streamlit as st

from viz_transformer.model.kinds import KINDS, KindName
from viz_transformer.ui.session import state
from viz_transformer.ui.session.passes import has_own_rows

if TYPE_CHECKING:
    from viz_transformer.ui.frame.frame import Runs

FEW = 8
ROWS = {"last": "the last pass", "own": "each step"}


def text_box(label: str, **given: Any) -> str:
    """The text in a box that is as high as it; Enter runs it, Shift+Enter breaks the line (parts/boxes.js).

    given: as `st.text_area` has them.
    """
    typed: str = st.text_area(label, height="content", **given)
    return typed


def buttons(
    label: str,
    names: Mapping[Any, str],
    field: str,
    *,
    key: str,
    hidden: bool = False,
    value: Any = None,
    taken: Callable[[Any], Any] = lambda new: new,
    **more: Any,
) -> None:
    """One value of a field, each as a button with its name; a label that is `hidden` is only heard.

    value, taken: as `state.bind` has them; `more` goes to the widget.
    """
    st.segmented_control(
        label,
        [*names],
        required=True,
        format_func=names.__getitem__,
        label_visibility="collapsed" if hidden else "visible",
        **more,
        **state.bind(field, key=key, value=value, taken=taken),
    )


def switch(
    label: str, option: str, field: str, options: Sequence[str], *, key: str, turned: bool = False, **more: Any
) -> None:
    """A box for one of the options of a field; `turned`: it is ticked where the option is not chosen."""

    def taken(on: bool) -> tuple[str, ...]:
        chosen = {*state.selection()[field]} - {option} | ({option} if on != turned else set())
        return tuple(each for each in options if each in chosen)

    ticked = (option in state.selection()[field]) != turned
    st.checkbox(label, **more, **state.bind(field, key=key, value=ticked, taken=taken))


def kind(kinds: Sequence[KindName], *, key: str) -> None:
    """The kind of attention, of those that the model has."""
    buttons("Kind", {each: KINDS[each].label for each in kinds}, "kind", key=key, hidden=True)


def number(label: str, count: int, **bound: Any) -> None:
    """One of the numbers 0 to count - 1."""
    choice(label, [*range(count)], **bound)


def heads(count: int, *, key: str, words: tuple[str, ...] = ("mean",)) -> None:
    """One head, or the word of a derived picture; of several heads that are chosen the first is shown."""
    chosen = state.SHARED.now().heads
    shown = chosen if isinstance(chosen, str) else chosen[0]
    others = (shown,) if isinstance(shown, str) and shown not in words else ()
    options: list[int | str] = [*range(count), *words, *others]
    choice(
        "Head",
        options,
        **state.bind("heads", key=key, value=shown, taken=lambda new: new if isinstance(new, str) else (new,)),
    )


def rows(both: Runs, *, key: str) -> bool:
    """Of which pass the decoder's rows are: a choice only where the steps of a run had rows of their own; whether it is
    there."""
    if not any(has_own_rows(shown) for shown in (both.a, both.b) if shown is not None):
        return False
    buttons(
        "Rows of",
        ROWS,
        "rows",
        key=key,
        disabled=not KINDS[state.SHARED.now().kind].writes,
        help="Every step was a pass of its own: all rows as the last pass had them, or each as it was in the step that"
        " wrote its token. The encoder's rows are the same in every pass",
    )
    return True


def choice(label: str, options: list[Any], **bound: Any) -> None:
    """One of the options; what is bound has the value."""
    if len(options) <= FEW:
        st.segmented_control(label, options, required=True, **bound)
    else:
        st.selectbox(label, options, width=120, **bound)
