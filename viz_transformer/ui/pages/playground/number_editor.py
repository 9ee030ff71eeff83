"""Tables of a few numbers that a person edits; what was changed is kept in the selection, so that a link has it.

The widget keeps its own changes on top of the table it was made with. So the same widget stays while only it is used,
and a new one is made when its numbers come from elsewhere: another seed or size, a link, "as drawn".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from time import sleep
from typing import Any

import pandas as pd
import streamlit as st
from numpy.typing import NDArray

from viz_transformer.analysis.playground.by_hand import LETTERS, Cell, Letter
from viz_transformer.ui.frame import text
from viz_transformer.ui.pages.playground import words
from viz_transformer.ui.pages.playground.fields import FIELDS, MAX_NUMBERS
from viz_transformer.ui.session import state

MOST, LARGEST = MAX_NUMBERS, 999.0
_MEMORY, _FULL = "play_editors", "play_editors_full"
PICTURE_FIRST = 0.1
"""Seconds by which tables that are new in the browser come behind the picture above them: to build them keeps it busy
for longer, and what it has got by then is not painted before that."""


@dataclass(frozen=True)
class _Mounted:
    """One widget: what its table was made of, the edits that the table has, and those that it shows by now."""

    made_of: Any
    start: Mapping[tuple[int, int], float]
    now: Mapping[tuple[int, int], float]
    count: int


def edits() -> dict[Cell, float]:
    """All edited cells of the Playground: (table, row, column) and the number that stands there."""
    found: dict[Cell, float] = {}
    for word in filter(None, FIELDS.now().play_numbers.split(",")):
        place, _, value = word.partition("=")
        letter: Letter = next(each for each in LETTERS if each == place[0])
        found[(letter, int(place[1]), int(place[3]))] = float(value)
    return found


def as_text(cells: Mapping[Cell, float]) -> str:
    """The edited cells as the address has them."""
    return ",".join(f"{letter}{row}.{column}={_plain(value)}" for (letter, row, column), value in sorted(cells.items()))


def take_problem() -> str | None:
    """A sentence if the last change was one too many, which is then forgotten."""
    if st.session_state.pop(_FULL, False):
        return words.too_many(MOST)
    return None


def let_the_picture_be_first() -> None:
    """Wait, where none of the tables stands on the page yet: called between the picture and them."""
    memory: dict[str, _Mounted] = st.session_state.get(_MEMORY, {})
    if not any(_key(letter, kept) in st.session_state for letter, kept in memory.items()):
        sleep(PICTURE_FIRST)


def forget() -> None:
    """Go back to the numbers as they were drawn."""
    state.select(play_numbers="")


def editor(
    letter: Letter,
    drawn: NDArray[Any],
    *,
    label: str,
    rows: Sequence[str],
    columns: Sequence[str],
    made_of: Any,
    boxes: bool = False,
) -> None:
    """A table with a person's changes on it. drawn: the numbers without them; made_of: what `drawn` depends on.

    boxes: a box to tick in each cell instead of a number.
    """
    mine = {(row, column): value for (table, row, column), value in edits().items() if table == letter}
    memory: dict[str, _Mounted] = st.session_state.setdefault(_MEMORY, {})
    kept = memory.get(letter)
    if kept is None or kept.made_of != made_of or kept.now != mine:
        kept = memory[letter] = _Mounted(made_of, mine, mine, 0 if kept is None else kept.count + 1)
    table = drawn.astype(float)
    for (row, column), value in kept.start.items():
        if row < table.shape[0] and column < table.shape[1]:
            table[row, column] = value
    shown = pd.DataFrame(table if not boxes else table != 0, index=list(rows), columns=list(columns))
    one = st.column_config.NumberColumn(required=True, min_value=-LARGEST, max_value=LARGEST, width=52)
    if boxes:
        one = st.column_config.CheckboxColumn(required=True, width=64)
    key = _key(letter, kept)
    text.paragraph(label, screen=words.EDIT)
    st.data_editor(
        shown,
        key=key,
        width="stretch",
        column_config={"_index": st.column_config.TextColumn(disabled=True), **dict.fromkeys(columns, one)},
        on_change=_taken,
        args=(letter, key, tuple(columns)),
        alt=f"{label}{words.EDIT}",
    )


def _taken(letter: Letter, key: str, columns: Sequence[str]) -> None:
    """Take over what a person has changed in the widget."""
    memory: dict[str, _Mounted] = st.session_state[_MEMORY]
    kept = memory[letter]
    changed = dict(kept.start)
    for row, cells in st.session_state[key]["edited_rows"].items():
        for name, value in cells.items():
            if name in columns and value is not None:
                changed[(int(row), list(columns).index(name))] = round(float(value), 4)
    every: dict[Cell, float] = {cell: value for cell, value in edits().items() if cell[0] != letter}
    every |= {(letter, row, column): value for (row, column), value in changed.items()}
    if len(every) > MOST:
        st.session_state[_FULL] = True
        return
    memory[letter] = _Mounted(kept.made_of, kept.start, changed, kept.count)
    state.select(play_numbers=as_text(every))


def _key(letter: str, kept: _Mounted) -> str:
    return f"play_{letter}_{kept.count}"


def _plain(value: float) -> str:
    text = f"{value:.4f}".rstrip("0").rstrip(".")
    return "0" if text in ("", "-0") else text
