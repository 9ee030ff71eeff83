"""Controls for the parts of the selection that several pages choose: few options as buttons, many as a list."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import streamlit as st

from viz_transformer.model.kinds import KINDS, KindName
from viz_transformer.ui.frame import words as said
from viz_transformer.ui.session import state
from viz_transformer.ui.session.passes import has_per_step_rows

if TYPE_CHECKING:
    from viz_transformer.ui.frame.frame import Runs
    from viz_transformer.ui.session.runs import RunView

V = TypeVar("V")

FEW = 6
"""Layers or heads that are offered as buttons."""
TOGETHER = said.TOGETHER
"""What is made of all heads of a layer."""


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
        **state.widget_args(field, key=key, value=value, taken=taken),
    )


def switch(
    label: str, option: str, field: str, options: Sequence[str], *, key: str, turned: bool = False, **more: Any
) -> None:
    """A box for one of the options of a field; `turned`: it is ticked where the option is not chosen."""

    def taken(on: bool) -> tuple[str, ...]:
        chosen = {*state.selection()[field]} - {option} | ({option} if on != turned else set())
        return tuple(each for each in options if each in chosen)

    ticked = (option in state.selection()[field]) != turned
    st.checkbox(label, **more, **state.widget_args(field, key=key, value=ticked, taken=taken))


def kind(kinds: Sequence[KindName], *, key: str) -> None:
    """The kind of attention, of those that the model has."""
    buttons(said.KIND, {each: KINDS[each].label for each in kinds}, "kind", key=key, hidden=True)


def layer_and_head(
    layers: int,
    heads: int,
    *,
    page: str,
    words: tuple[str, ...] = (),
    shown: tuple[int, int | str] | None = None,
) -> None:
    """Layer and head, chosen alike on every page.

    words: what the page shows of all heads together, of those in TOGETHER; one that is selected and that the page does
    not show is offered too, unless it shows single heads only. shown: what the page shows where that is not what is
    selected.
    """
    layer(layers, page=page, shown=None if shown is None else shown[0])
    head(heads, page=page, words=words, shown=None if shown is None else shown[1])


def layer(count: int, *, page: str, shown: int | None = None) -> None:
    """One of the layers; `shown` as above."""
    _numbered(said.LAYER, count, (), **state.widget_args("layer", key=f"{page}_layer", value=shown))


def head(count: int, *, page: str, words: tuple[str, ...] = (), shown: int | str | None = None) -> None:
    """One head, or all together in one of the ways; of several heads that are selected it is the first."""
    selected = state.SHARED.now().heads
    value: int | str = selected if isinstance(selected, str) else selected[0]
    if shown is not None:
        value = shown
    if isinstance(value, str) and value not in words:
        words, value = ((*words, value), value) if words else ((), 0)
    bound = state.widget_args(
        "heads",
        key=f"{page}_head",
        value=value,
        taken=lambda new: new if isinstance(new, str) else (new,),
    )
    _numbered(said.HEAD, count, words, **bound)


def rows(both: Runs, *, key: str) -> bool:
    """The choice of the pass that the decoder's rows come from, only where the steps of a run had rows of their own;
    returns whether it is there."""
    if not any(has_per_step_rows(shown) for shown in (both.a, both.b) if shown is not None):
        return False
    buttons(
        said.ROWS_OF,
        said.ROWS,
        "rows",
        key=key,
        disabled=not KINDS[state.SHARED.now().kind].writes,
        help=said.ROWS_HELP,
    )
    return True


def _numbered(label: str, count: int, words: Sequence[str], **bound: Any) -> None:
    """One of the numbers 0 to count - 1, or one of the words after them: buttons, or a list if there are many."""
    options: list[int | str] = [*range(count), *words]

    def named(option: int | str) -> str:
        return TOGETHER[option] if isinstance(option, str) else str(option)

    if count <= FEW:
        st.segmented_control(label, options, required=True, format_func=named, **bound)
    else:
        st.selectbox(label, options, width=120, format_func=named, **bound)


@dataclass(frozen=True, kw_only=True)
class Control(Generic[V]):
    """A choice that a page offers of a run, kept in a field of the address.

    What an address asks for and the run does not have is replaced, and that is said.
    """

    field: str
    label: str
    options: Callable[[RunView], Mapping[V, str] | range]
    """What can be chosen: values with their names, as buttons, or a range of numbers, as a slider or a box."""
    default: Callable[[RunView], V] | None = None
    """What is shown where nobody chose anything; None for the first option."""
    noun: str = ""
    """What a sentence calls it that says what is shown instead; "" for the label."""
    unset: Any = None
    """The value of the field where nobody chose anything."""
    hidden: bool = False
    """Whether its label is only heard."""
    box: bool = False
    """Whether a number is typed into a box."""
    width: int = 220
    """The width of a slider or a box, in pixels."""
    key: str = ""
    """The widget's key; "" for the field's name."""
    replaced: Callable[[V, V], str] | None = None
    """The sentence on what is asked for and what is shown instead, where it is another one than usual."""

    def value(self, shown: RunView) -> V:
        """What is chosen; of a range the nearest number, else the default, where the run does not have it."""
        return self._find(shown)[1]

    def draw(self, shown: RunView) -> V:
        """The widget; returns what is chosen, and remarks on it where that is not what the address asks for."""
        asked, value, usual, options = self._find(shown)
        fixed = isinstance(options, range) and len(options) == 1
        if asked not in (self.unset, value) and not fixed:
            what = self.noun or self.label
            if self.replaced is not None:
                state.remark(self.replaced(asked, value))
            elif isinstance(options, range):
                state.remark(said.number_replaced(what, asked, value, options))
            else:
                state.remark(said.option_replaced(shown.summary.name, what, asked, options[value]))
        bound: dict[str, Any] = {
            "key": self.key or self.field,
            "taken": lambda new: self.unset if new == usual else new,
        }
        if isinstance(options, range):
            self._draw_number(options, value, bound)
        elif len(options) > 1:
            buttons(self.label, options, self.field, hidden=self.hidden, value=value, **bound)
        return value

    def _find(self, shown: RunView) -> tuple[Any, V, V, Mapping[V, str] | range]:
        """What the address asks for, what is shown, what is shown where nobody chose anything, and the options."""
        options, asked = self.options(shown), state.selection()[self.field]
        usual: Any = next(iter(options)) if self.default is None else self.default(shown)
        if asked == self.unset:
            return asked, usual, usual, options
        if asked in options or not isinstance(options, range):
            return asked, asked if asked in options else usual, usual, options
        nearest: Any = min(options, key=lambda number: (abs(number - asked), -number))
        return asked, nearest, usual, options

    def _draw_number(self, options: range, value: Any, bound: Mapping[str, Any]) -> None:
        least, most = options[0], options[-1]
        if self.box and least < most:
            label, args = said.box(self.label, least, most), state.widget_args(self.field, value=value, **bound)
            st.number_input(label, least, most, step=options.step, width=self.width, **args)
        elif least < most:
            args = state.widget_args(self.field, value=value, **bound)
            st.slider(self.label, least, most, step=options.step, width=self.width, **args)
        elif not self.box:
            st.slider(self.label, 0, most, most, disabled=True, key=f"{bound['key']}_only", width=self.width)
