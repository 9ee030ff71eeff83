"""Editable tables of a few numbers; edits are kept in the selection, so that links have them.

The widget keeps its own changes on top of the table it was made with. So the same widget is kept while only it changes,
and a new one is made when its numbers change otherwise: another seed or size, a link, "as drawn".
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
"""Seconds by which new tables come after the picture above them: building them blocks the browser for longer, which
would delay painting the picture."""


@dataclass(frozen=True)
class _Mounted:
    """One widget: the inputs of its table, the edits in that table, and the edits it shows now."""

    made_of: Any
    start: Mapping[tuple[int, int], float]
    now: Mapping[tuple[int, int], float]
    count: int


def edits() -> dict[Cell, float]:
    """All edited cells of the Playground: (table, row, column) and the number there."""
    found: dict[Cell, float] = {}
    for word in filter(None, FIELDS.now().play_numbers.split(",")):
        place, _, value = word.partition("=")
        letter: Letter = next(each for each in LETTERS if each == place[0])
        found[(letter, int(place[1]), int(place[3]))] = float(value)
    return found


def as_text(cells: Mapping[Cell, float]) -> str:
    """The edited cells as text for the address."""
    return ",".join(f"{letter}{row}.{column}={_plain(value)}" for (letter, row, column), value in sorted(cells.items()))


def take_problem() -> str | None:
    """Take the message that the last change was one too many, if any, and clear it."""
    if st.session_state.pop(_FULL, False):
        return words.too_many(MOST)
    return None


def let_the_picture_be_first() -> None:
    """Wait, if none of the tables is on the page yet; call between the picture and the tables."""
    memory: dict[str, _Mounted] = st.session_state.get(_MEMORY, {})
    if not any(_key(letter, kept) in st.session_state for letter, kept in memory.items()):
        sleep(PICTURE_FIRST)


def forget() -> None:
    """Reset the numbers to those drawn."""
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
    """Draw an editable table. drawn: the numbers without edits; made_of: the values that `drawn` depends on.

    boxes: checkboxes instead of numbers.
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
        on_change=_take_edits,
        args=(letter, key, tuple(columns)),
        alt=f"{label}{words.EDIT}",
    )


def _take_edits(letter: Letter, key: str, columns: Sequence[str]) -> None:
    """Store the user's changes in the widget."""
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
