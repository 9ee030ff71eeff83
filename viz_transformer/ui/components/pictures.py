"""The pictures that one touches, put on a page: each draws what its payload holds and shares the page's selection."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import streamlit as st

from viz_transformer.figures.components.source import javascript, style_sheet

_TOKEN = "masks_token"
_WRITTEN = ("text", "target")
"""The fields that a row of chips writes."""


def matrix(data: bytes, *, key: str) -> None:
    """Draw what `matrix_payload` made. A picked cell goes into the selection of the page."""
    _put("matrix", key, data)


def lines(data: bytes, *, key: str) -> None:
    """Draw what `lines_payload` made. A picked token or pair goes into the selection of the page."""
    _put("lines", key, data)


def grid(data: bytes, *, key: str) -> None:
    """Draw what `grid_payload` made. What is picked goes into the selection of the page: layer and heads."""
    _put("grid", key, data)


def row(data: bytes, *, key: str) -> None:
    """Draw what `row_payload` made. A picked key, and a step to another query, goes into the selection of the page."""
    _put("row", key, data)


def shading(data: bytes, *, key: str) -> None:
    """Draw what `shading_payload` made. A picked token goes into the selection of the page."""
    _put("shading", key, data)


def snapshots_view(data: bytes, *, key: str) -> None:
    """Draw what `snapshots_payload` made. Snapshot, kind, layer, head and cell go into the selection of the page."""
    _put("snapshots", key, data)


def beam_tree(data: bytes, *, key: str) -> None:
    """Draw what `beam_tree_payload` made. A picked hypothesis goes into the selection of the page as `dec_node`."""
    _put("beam_tree", key, data)


def architecture_view(data: bytes, *, key: str) -> None:
    """Paint what `architecture_payload` made."""
    _put("architecture", key, data)


def rail(data: Mapping[str, Any], *, key: str) -> None:
    """Draw what `rail_data` made. A picked sub-layer goes into the selection of the page."""
    _put("rail", key, dict(data))


def chip_rows(rows: Sequence[Mapping[str, Any]], *, key: str, on_text: Callable[[str, str], None]) -> None:
    """Draw rows of chips, as `ChipRow.data` makes them. A picked chip goes into the selection of the page.

    `on_text` gets the field and the text of a row that was written anew.
    """

    def heard() -> None:
        told = st.session_state[key].text
        if isinstance(told, Mapping) and told.get("field") in _WRITTEN and isinstance(told.get("text"), str):
            on_text(told["field"], told["text"])

    _put("chips", key, {"rows": rows}, on_text_change=heard)


def heard_token() -> str:
    """The token of the last click on masks that this session has heard of."""
    return str(st.session_state.get(_TOKEN, ""))


def masks(data: bytes, *, key: str, on_cells: Callable[[Sequence[str], Mapping[str, Any]], None]) -> None:
    """Draw what `masks_payload` made. `on_cells` gets all changed cells after a click, and where the click was."""

    def heard() -> None:
        told = st.session_state[key].cells
        if isinstance(told, Mapping) and isinstance(told.get("cells"), list):
            st.session_state[_TOKEN] = str(told.get("token", ""))
            fields = told.get("fields")
            on_cells([str(word) for word in told["cells"]], fields if isinstance(fields, Mapping) else {})

    _put("masks", key, data, on_cells_change=heard)


def scrubber(data: bytes, *, key: str, on_take: Callable[[int, int], None] | None = None) -> None:
    """Draw what `scrubber_payload` made. The step's row goes into the selection of the page as its field `t`.

    `on_take` gets the step and the id of the token that is to be written there instead, if the payload `takes`.
    """

    if on_take is None:
        _put("scrubber", key, data)
        return

    def heard() -> None:
        take = st.session_state[key].take
        if isinstance(take, Mapping) and all(_is_place(take.get(name)) for name in ("step", "token_id")):
            on_take(take["step"], take["token_id"])

    _put("scrubber", key, data, on_take_change=heard)


def _put(name: str, key: str, data: bytes | dict[str, Any], **heard: Callable[[], None]) -> None:
    _component(name)(key=key, data=data, **heard)


@cache
def _component(name: str) -> Any:
    return st.components.v2.component(f"viz_transformer_{name}", css=style_sheet(name), js=javascript(name))


def _is_place(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
