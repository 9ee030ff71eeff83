"""The masks of one kind of attention: padding, causal, both before and after the changes, with cells to flip."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from viz_transformer import declared, payload
from viz_transformer.analysis.attention.axes import Axes
from viz_transformer.analysis.attention.picture import Why
from viz_transformer.model.kinds import KINDS, KindName

HEIGHT = 640
MAX_CHANGES = 64


@dataclass(frozen=True, eq=False)
class MaskGrids:
    """Two masks of one kind of attention, and the changes to both together."""

    kind: KindName
    first: ArrayLike
    """[Q, K], True = may attend: padding."""
    second: ArrayLike
    """The same shape: the causal mask, or another that differs between queries."""
    axes: Axes
    cells: Sequence[str]
    """The changed cells of all kinds, as words."""


@dataclass(frozen=True)
class MaskWords:
    """The texts of the four grids."""

    notes: Sequence[str]
    """The line below the title of each of the four."""
    caption: str
    name: str
    parts: tuple[str, str] = ("Padding", "Causal")
    """The names of the two masks."""
    reasons: tuple[str, str] = ("padding", "causality")
    """The reasons for a closed cell, one for each mask."""


def masks_payload(grids: MaskGrids, words: MaskWords, *, token: str, why: Why = None) -> bytes:
    """The payload of the four mask grids.

    token: of the last click received. why: whether a double click on the mask before the changes opens the page that
    explains a cell. Raises ValueError for shapes that do not fit the tokens.
    """
    padding, causal = (np.asarray(grid, dtype=bool) for grid in (grids.first, grids.second))
    (rows, columns), parts = grids.axes, words.parts
    for grid in (padding, causal):
        declared.shaped("masks", grid.shape, rows=len(rows), columns=len(columns))
    titles = (*parts, "Before", "After")
    header = {
        "label": f"Masks: {rows.title} as rows, {columns.title} as columns;"
        f" {parts[0].lower()}, {parts[1].lower()}, both before, and after",
        "caption": words.caption,
        "name": words.name,
        "rows": rows.data(),
        "columns": columns.data(),
        "kind": grids.kind,
        "letter": KINDS[grids.kind].letter,
        "cells": grids.cells,
        "most": MAX_CHANGES,
        "token": token,
        "height": HEIGHT,
        "reasons": words.reasons,
        "panels": [{"title": title, "note": note} for title, note in zip(titles, words.notes, strict=True)],
    }
    if why is not None:
        header["why"] = why
    return payload.pack(header, padding=payload.bits(padding), causal=payload.bits(causal))
