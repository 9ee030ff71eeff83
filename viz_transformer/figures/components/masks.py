"""The masks of one kind of attention: padding, causality, both before and after, with cells that one can turn."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from viz_transformer.figures.components import payload
from viz_transformer.figures.components.matrix import Axis, Why
from viz_transformer.model.kinds import KindName

HEIGHT = 640
MAX_CHANGES = 64


def masks_payload(
    padding: ArrayLike,
    causal: ArrayLike,
    rows: Axis,
    columns: Axis,
    *,
    kind: KindName,
    letter: str,
    cells: Sequence[str],
    token: str,
    notes: Sequence[str],
    caption: str,
    name: str,
    why: Why = None,
    parts: tuple[str, str] = ("Padding", "Causal"),
    reasons: tuple[str, str] = ("padding", "causality"),
) -> bytes:
    """What the browser gets. padding, causal: [Q, K], True = may attend; before is both of them, after
    is that with `cells`.

    cells: the changed cells of all kinds, as words; `letter` stands in front of those of this kind. token: of the click
    that was heard last. notes: what stands under the title of each of the four. why: whether a double click on the mask
    before leads to the page that explains a cell. parts, reasons: what the two masks are called, and by what a cell is
    closed that one of them closes. Raises ValueError for shapes that do not fit the tokens.
    """
    grids = [np.asarray(grid, dtype=bool) for grid in (padding, causal)]
    shape = (len(rows.tokens), len(columns.tokens))
    if any(grid.shape != shape for grid in grids) or 0 in shape:
        raise ValueError(f"masks {[grid.shape for grid in grids]} do not fit {shape[0]} rows and {shape[1]} columns")
    titles = (*parts, "Before", "After")
    header = {
        "label": f"Masks: {rows.title} as rows, {columns.title} as columns;"
        f" {parts[0].lower()}, {parts[1].lower()}, both before, and after",
        "caption": caption,
        "name": name,
        "rows": rows.data(),
        "columns": columns.data(),
        "kind": kind,
        "letter": letter,
        "cells": cells,
        "most": MAX_CHANGES,
        "token": token,
        "height": HEIGHT,
        "reasons": reasons,
        "panels": [{"title": title, "note": note} for title, note in zip(titles, notes, strict=True)],
    }
    if why is not None:
        header["why"] = why
    return payload.pack(header, padding=payload.bits(grids[0]), causal=payload.bits(grids[1]))
