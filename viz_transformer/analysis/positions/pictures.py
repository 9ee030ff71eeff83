"""Tables of positions as pictures: positions as rows, dimensions as columns, some of them highlighted."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from viz_transformer.analysis.attention.axes import Axis, Span, numbered
from viz_transformer.analysis.attention.picture import Meta, Picture
from viz_transformer.model.kinds import Side

ROW, COLUMN = "position", "dimension"
DIGITS = 9


def table_picture(
    values: NDArray[np.float32],
    meta: Meta,
    *,
    side: Side | None = None,
    read: int = 0,
    trained: int | None = None,
    picked: Sequence[int] = (),
) -> Picture:
    """The picture of a table of positions, [L, D], with colours around 0; it sets scale and unit of `meta` itself.

    side: the side whose positions the first `read` rows are; None for a table that no run reads. trained: how many rows
    were trained; the others have lines over them. picked: columns with a mark in the colours of curves."""
    rows, columns = values.shape
    spans = [Span(0, min(rows, read), "bar", "rows of this run")] if read else []
    if trained is not None and trained < rows:
        spans.append(Span(trained, rows, "hatched", "never trained"))
    marks = tuple(Span(column, column + 1, "mark", ink=f"heads-{n}") for n, column in enumerate(picked))
    axes = (
        Axis("" if side is None else side.field, ROW, ROW, None, numbered(rows), reach=read, spans=tuple(spans)),
        Axis("", COLUMN, COLUMN, None, numbered(columns), spans=marks),
    )
    made = Picture(values, axes, np.ones(values.shape, dtype=bool), meta)
    return made.with_meta(
        scale="diverging", unit="value", quantity="value", bounded=False, adds_up=False, digits=DIGITS
    )
