"""The pictures that one touches, put on a page: each draws what its payload holds and shares the page's selection."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any

import streamlit as st

from viz_transformer.figures.components.source import javascript, style_sheet
from viz_transformer.payload import with_table

Asked = Callable[[], None]
"""What is called when a picture's table is asked for; a picture that has none has no entry for it."""

_TOKEN = "masks_token"
_WRITTEN = ("text", "target")
"""The fields that a row of chips writes."""


def matrix(data: bytes, *, key: str, on_table: Asked | None = None) -> None:
    """Draw what `Picture.pack` made. A picked cell goes into the selection of the page."""
    _put("matrix", key, data, on_table)


def lines(data: bytes, *, key: str) -> None:
    """Draw what `Picture.pack_lines` made. A picked token or pair goes into the selection of the page."""
    _put("lines", key, data)


def grid(data: bytes, *, key: str, on_table: Asked | None = None) -> None:
    """Draw what `grid_payload` made. What is picked goes into the selection of the page: layer and heads."""
    _put("grid", key, data, on_table)


def row(data: bytes, *, key: str, on_table: Asked | None = None) -> None:
    """Draw what `QueryRow.pack` made. A picked key, or a step to another query, goes into the page's selection."""
    _put("row", key, data, on_table)


def shading(data: bytes, *, key: str) -> None:
    """Draw what `Picture.pack_text` made. A picked token goes into the selection of the page."""
    _put("shading", key, data)


def snapshots_view(data: bytes, *, key: str, on_table: Asked | None = None) -> None:
    """Draw what `snapshots_payload` made. Snapshot, kind, layer, head and cell go into the selection of the page."""
    _put("snapshots", key, data, on_table)


def beam_tree(data: bytes, *, key: str, on_table: Asked | None = None) -> None:
    """Draw what `beam_tree_payload` made. A picked hypothesis goes into the selection of the page as `dec_node`."""
    _put("beam_tree", key, data, on_table)


def whole(data: bytes, *, key: str, on_table: Asked | None = None) -> None:
    """Draw what `whole_payload` made. The row of the step goes into the selection of the page."""
    _put("whole", key, data, on_table)


def architecture_view(data: bytes, *, key: str) -> None:
    """Paint what `architecture_payload` made."""
    _put("architecture", key, data)


def rail(data: Mapping[str, Any], *, key: str) -> None:
    """Draw what `rail_data` made. A picked sub-layer goes into the selection of the page."""
    _put("rail", key, dict(data))


def locator(data: Mapping[str, Any], *, key: str) -> None:
    """Draw what `locator_data` made. A click changes the selection of the page, and may open another page."""
    _put("locator", key, dict(data))


def chip_rows(
    rows: Sequence[Mapping[str, Any]], *, key: str, on_text: Callable[[str, str], None], plays: bool = False
) -> None:
    """Draw rows of chips, as `ChipRow.data` makes them. A picked chip goes into the selection of the page.

    `on_text` gets the field and the text of a row that was written anew. `plays`: they have the button that plays the
    steps.
    """

    def heard() -> None:
        told = _told(key, "text")
        if isinstance(told, Mapping) and told.get("field") in _WRITTEN and isinstance(told.get("text"), str):
            on_text(told["field"], told["text"])

    _put("chips", key, {"rows": rows, **({"plays": True} if plays else {})}, on_text_change=heard)


def last_clicked_token() -> str:
    """The token of the last click on masks that this session has heard of."""
    return str(st.session_state.get(_TOKEN, ""))


def masks(data: bytes, *, key: str, on_cells: Callable[[Sequence[str], Mapping[str, Any]], None]) -> None:
    """Draw what `masks_payload` made. `on_cells` gets all changed cells after a click, and where the click was."""

    def heard() -> None:
        told = _told(key, "cells")
        if isinstance(told, Mapping) and isinstance(told.get("cells"), list):
            st.session_state[_TOKEN] = str(told.get("token", ""))
            fields = told.get("fields")
            on_cells([str(word) for word in told["cells"]], fields if isinstance(fields, Mapping) else {})

    _put("masks", key, data, on_cells_change=heard)


def scrubber(
    data: bytes,
    *,
    key: str,
    on_take: Callable[[int, int], None] | None = None,
    on_table: Asked | None = None,
) -> None:
    """Draw what `scrubber_payload` made. The step's row goes into the selection of the page as its field `t`.

    `on_take` gets the step and the id of the token that is to be written there instead, if the payload `takes`.
    """

    if on_take is None:
        _put("scrubber", key, data, on_table)
        return

    def heard() -> None:
        take = _told(key, "take")
        if isinstance(take, Mapping) and all(_is_place(take.get(name)) for name in ("step", "token_id")):
            on_take(take["step"], take["token_id"])

    _put("scrubber", key, data, on_table, on_take_change=heard)


@dataclass(frozen=True, kw_only=True)
class Range:
    """The numbers of a slider. decimals: those of one that is dragged."""

    least: float
    most: float
    step: float
    decimals: int


def slider_data(value: float | None, text: str, numbers: Range, *, label: str, count: int = 0) -> dict[str, Any]:
    """What the browser draws. `text`: the number as it is written now; value: None for one out of the slider's range.

    count: the place of the thumb that this is the answer to.
    """
    return {"label": label, "value": value, "text": text, **asdict(numbers), "count": count}


def slider(
    value: float | None, text: str, numbers: Range, *, label: str, key: str, on_number: Callable[[float, bool], None]
) -> None:
    """Draw a slider over these numbers, at `value`, which is written as `text`.

    `on_number` gets the number under the thumb while it is dragged, and whether it has settled. The browser takes what
    is drawn for the answer, so this comes last on a page.
    """

    def heard() -> None:
        told = _told(key, "number")
        if isinstance(told, Mapping) and _is_place(told.get("count")) and _is_number(told.get("value")):
            st.session_state[_count_of(key)] = told["count"]
            on_number(min(max(float(told["value"]), numbers.least), numbers.most), told.get("settled") is True)

    data = slider_data(value, text, numbers, label=label, count=slider_count(key))
    _put("slider", key, data, on_number_change=heard)


def slider_count(key: str) -> int:
    """The number of the move that the slider with this key told last; 0 before there was one."""
    return int(st.session_state.get(_count_of(key), 0))


def _count_of(key: str) -> str:
    return f"{key}_count"


def _put(
    name: str, key: str, data: bytes | dict[str, Any], on_table: Asked | None = None, **heard: Callable[[], None]
) -> None:
    if on_table is not None:
        assert isinstance(data, bytes)
        data, heard["on_table_change"] = with_table(data), on_table
    _component(name)(key=key, data=data, **heard)


def _told(key: str, name: str) -> object:
    """What a component tells in its callback; None while another page is on its way and Streamlit has forgotten it."""
    return getattr(st.session_state.get(key), name, None)


@cache
def _component(name: str) -> Any:
    return st.components.v2.component(f"viz_transformer_{name}", css=style_sheet(name), js=javascript(name))


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _is_place(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
