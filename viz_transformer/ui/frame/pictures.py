"""The selected map, of A, of B or of their difference, and the table of its numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd
import streamlit as st

from viz_transformer.analysis.attention.axes import Texts
from viz_transformer.analysis.attention.picture import HEIGHT, Picture
from viz_transformer.ui.components.pictures import Asked, matrix
from viz_transformer.ui.frame import projector, text, words
from viz_transformer.ui.frame.frame import TABLE_ASKED, TABLE_OPEN
from viz_transformer.ui.frame.number_columns import number_columns
from viz_transformer.ui.session import state

if TYPE_CHECKING:
    from viz_transformer.ui.frame.frame import Runs

ACROSS, SMALL = 4, 330
"""Maps of several heads in a row at most, and their height where there is more than one row."""
LETTER, AROUND, LONGEST, SHORTEST = 8.4, 24, 101, 60
"""Pixels of a letter of a label, round it, and of the longest and the shortest label: as matrix.js has them."""
MAX_ROWS, MAX_COLUMNS = 512, 1024  # of a map of 512 keys, each with the mark that says whether it is masked


def select_picture(both: Runs, options: tuple[str, ...] | None = None) -> Picture:
    """The map of what is selected, or the same with other options. Raises ValueError with one sentence for
    what is undefined, or has no difference."""
    from viz_transformer.ui.frame import maps  # loads torch, which pages without a run have no need of

    chosen: Mapping[str, Any] = state.selection()
    if options is not None:
        chosen = {**chosen, "options": options}
    if not both.difference or both.b is None:
        return maps.picture(both.main, chosen)
    pictures = []
    for shown in (both.a, both.b):
        try:
            pictures.append(maps.picture(shown, chosen))
        except ValueError as error:
            raise ValueError(words.cannot_be_shown(shown.name, error)) from None
    a, b = pictures
    return a - b


def asked_about(both: Runs) -> Picture | None:
    """The map that a page's question is about: the selected one, or A's where the two have no difference; None where
    there is none either."""
    try:
        return select_picture(both)
    except ValueError:
        return asked_about(replace(both, looked_at="A")) if both.difference else None


def heads_apart(made: Sequence[Picture], titles: Sequence[str], *, key: str) -> None:
    """The maps of several heads, up to four in a row, all of one scale; labels of rows are at the ends of a row. The
    first map is the page's own. titles: of each where there are more than two, as the bar says the kind."""
    made = [*made]
    if len(made) > 2:
        made = [each.with_meta(title=title) for each, title in zip(made, titles, strict=True)]
    made[1:] = [each.with_meta(remarks=()) for each in made[1:]]  # they hold for all
    if not made[0].meta.bounded:  # shares have one scale already
        most = max(float(np.nanmax(np.abs(each.values), initial=0)) for each in made)
        made = [each.with_meta(most=most or None) for each in made]
    across = len(made) if len(made) <= ACROSS else math.ceil(len(made) / 2)
    height = SMALL if len(made) > across else HEIGHT
    with st.container(key="heads_apart"):
        _same_cells(made[0])
        for start in range(0, len(made), across):
            columns = st.columns(across, gap="small")
            for index, picture in enumerate(made[start : start + across], start):
                place = index - start
                bare = (*(("left",) if place else ()), *(("right",) if place < across - 1 else ()))
                with columns[place]:
                    own = f"{key}_{index}" if index else key
                    matrix_of(picture, key=own, follows=not index, height=height, bare=bare)


def _same_cells(picture: Picture) -> None:
    """Columns that differ by the labels at their sides, so that the cells of all maps in them are of one size."""

    def wide(texts: Texts | None) -> int:
        longest = max(map(len, texts.names()), default=0) if texts else 0
        return AROUND + round(min(LONGEST, max(SHORTEST, LETTER * longest))) if texts else 0

    column = '.st-key-heads_apart [data-testid="stColumn"]'
    first, last = wide(picture.rows.reads), wide(picture.rows.writes)
    st.html(
        f"<style>{column} {{ flex: 1 1 24px; min-width: 0; }} {column}:first-child {{ flex-basis: {first + 12}px; }}"
        f" {column}:last-child {{ flex-basis: {last + 12}px; }}</style>"
    )


def matrix_of(
    picture: Picture,
    *,
    key: str,
    grows: bool = False,
    follows: bool = False,
    height: int = HEIGHT,
    bare: Sequence[Literal["left", "right"]] = (),
) -> None:
    """The map as a matrix, with its table; if it `grows`, rows after the selected one stay empty. It `follows` if it
    is the page's own map: a key that nobody chose is the one with most weight in the chosen row. `bare`: sides without
    labels."""
    data = picture.pack(height=height, grows=grows, follows=follows, bare=bare)
    matrix(data, key=key, on_table=table_of(picture, key=key))
    for remark in picture.meta.remarks:
        text.paragraph(remark)


def table_of(picture: Picture, *, key: str) -> Asked:
    """What a picture's component calls when its table is asked for, as `table` has it."""
    return table(picture.table, note=picture.note, name=picture.meta.name, key=key)


def table(
    numbers: Callable[[], pd.DataFrame],
    *,
    note: str,
    name: str,
    key: str,
    csv: Callable[[], bytes] | None = None,
) -> Asked:
    """What a picture's component, a chart or a button calls when its table is asked for; if it was, it opens here.

    In a dialog, which the component's menu leads to: the numbers, made only then, and all of them as a CSV file, which
    is `csv` or made of the numbers. It stays through other runs of the page until it is closed. Pictures of the same
    numbers may have the same key.
    """
    if st.session_state.get(TABLE_ASKED) == key and TABLE_OPEN not in st.session_state:
        st.session_state[TABLE_OPEN] = True
        closed = partial(st.session_state.pop, TABLE_ASKED, None)
        st.dialog(words.TABLE, width="large", on_dismiss=closed)(_opened)(numbers(), note, name, csv)
    return lambda: st.session_state.update({TABLE_ASKED: key})


def table_button(numbers: Callable[[], pd.DataFrame], *, note: str, name: str, key: str) -> None:
    """A button that opens a table that is of no picture, as `table` does; a projector has no room for it."""
    asked = table(numbers, note=note, name=name, key=key)
    if not projector.is_on():
        st.button(words.TABLE_AND_CSV, type="tertiary", key=f"{key}_button", on_click=asked)


def _opened(frame: pd.DataFrame, note: str, name: str, csv: Callable[[], bytes] | None) -> None:
    text.paragraph(note)
    if frame.shape[0] <= MAX_ROWS and frame.shape[1] <= MAX_COLUMNS:
        st.dataframe(frame, height=400, width="stretch", column_config=number_columns(frame))
    else:
        text.paragraph(words.too_large(*frame.shape))
    st.download_button(
        words.SAVE_CSV,
        data=csv or (lambda: frame.to_csv().encode("utf-8")),
        file_name=f"{name}.csv",
        mime="text/csv",
        on_click="ignore",
        key="table_csv",
    )
