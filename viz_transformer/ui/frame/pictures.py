"""The selected map, of A, of B or of their difference, and the table of its numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import streamlit as st

from viz_transformer.ui.components.pictures import matrix
from viz_transformer.ui.frame import text
from viz_transformer.ui.frame.number_columns import number_columns
from viz_transformer.ui.session import state

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

    from viz_transformer.ui.frame.frame import Runs
    from viz_transformer.ui.frame.maps import Picture

MOST_ROWS, MOST_COLUMNS = 512, 1024  # of a map of 512 keys, each with the mark that says whether it is masked


def selected_picture(both: Runs, options: tuple[str, ...] | None = None) -> Picture:
    """The map of what is selected, or the same with other options. Raises ValueError with one sentence for what is
    undefined, or has no difference."""
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
            raise ValueError(f"{shown.name} cannot be shown so: {error}") from None
    return maps.difference(*pictures)


def selected_map(both: Runs, *, key: str, grows: bool = False) -> Picture | None:
    """The map of what is selected as a matrix, which is returned, or why there is none; `grows` as below."""
    try:
        picture = selected_picture(both)
    except ValueError as error:
        text.paragraph(f"{error}.", tone="bad")
        return None
    matrix_of(picture, key=key, grows=grows, follows=True)
    return picture


def side_by_side(both: Runs) -> tuple[Picture | str, ...]:
    """The selected map of A and of B on one scale, each with its letter; for one that cannot be shown so the sentence
    that says why."""
    from viz_transformer.ui.frame import maps

    chosen = state.selection()
    found: list[Picture | str] = []
    for shown in (both.a, both.b):
        assert shown is not None
        try:
            picture = maps.picture(shown, chosen)
            found.append(replace(picture, title=f"{shown.name}: {picture.title}"))
        except ValueError as error:
            found.append(f"{shown.name} cannot be shown so: {error}.")
    drawn = [each for each in found if not isinstance(each, str)]
    most = max((float(np.nanmax(each.values, initial=0)) for each in drawn), default=0.0)
    return tuple(each if isinstance(each, str) else replace(each, most=most or None) for each in found)


def maps_beside(both: Runs, places: Sequence[DeltaGenerator], *, key: str) -> Picture | None:
    """The maps of A and of B in two places, of which A's is returned; keys that nobody chose follow A's."""
    found = side_by_side(both)
    for name, place, picture in zip("ab", places, found, strict=True):
        with place:
            if isinstance(picture, str):
                text.paragraph(picture, tone="bad")
            else:
                matrix_of(picture, key=key if name == "a" else f"{key}_b", follows=name == "a")
    return None if isinstance(found[0], str) else found[0]


def matrix_of(picture: Picture, *, key: str, grows: bool = False, follows: bool = False) -> None:
    """The map as a matrix, and the button to its table; if it `grows`, rows behind the selected one stay empty. It
    `follows` if it is the page's own map: a key that nobody chose is that with most weight in the chosen row."""
    matrix(picture.matrix(grows=grows, follows=follows), key=key)
    table(picture.table, note=picture.note, name=picture.name, key=f"{key}_table")
    for remark in picture.remarks:
        text.paragraph(remark)


def table(numbers: Callable[[], pd.DataFrame], *, note: str, name: str, key: str) -> None:
    """A button that opens the numbers of a picture as a table, with all of them as CSV. Made when it is opened."""
    opened = st.popover("Table", type="tertiary", key=key, on_change="rerun")
    if not opened.open:
        return
    frame = numbers()
    with opened:
        text.paragraph(note)
        if frame.shape[0] <= MOST_ROWS and frame.shape[1] <= MOST_COLUMNS:
            st.dataframe(frame, height=360, width="stretch", column_config=number_columns(frame))
        else:
            text.paragraph(f"{frame.shape[0]:,} rows and {frame.shape[1]:,} columns are too many to show here.")
        st.download_button(
            "Save as CSV",
            data=lambda: frame.to_csv().encode("utf-8"),
            file_name=f"{name}.csv",
            mime="text/csv",
            on_click="ignore",
            key=f"{key}_csv",
        )
