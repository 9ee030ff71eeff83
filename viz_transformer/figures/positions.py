"""Tables of positions as curves: single columns, products, turned pairs, wavelengths and lengths of rows.

Picked columns have the colours for several curves, in the order in which they are picked; summaries over all rows or
pairs are grey.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Unpack

import numpy as np
import plotly.graph_objects as go
from numpy.typing import ArrayLike, NDArray

from viz_transformer import declared, numerals
from viz_transformer.figures import labels
from viz_transformer.figures.template import ON_PAPER, SILENT, Look, dressed, theme_and_height
from viz_transformer.figures.theme import MONO_STACK, Theme, palette

MAX_PICKED = 6
_NAME = 165  # pixels from one name of a curve to the next
_NEVER = "never trained"


@dataclass(frozen=True, kw_only=True)
class Marks:
    """The highlights of a table: the selected position, how many rows the run reads, and how many were trained.

    trained: None if unknown.
    """

    position: int
    read: int
    trained: int | None = None


def dimension_curves(
    table: ArrayLike,
    picked: Sequence[int],
    names: Sequence[str],
    marks: Marks,
    *,
    fine: tuple[ArrayLike, ArrayLike] | None = None,
    title: str,
    **look: Unpack[Look],
) -> go.Figure:
    """Curves of the picked columns by position, as points; the selected position is a vertical line.

    fine: places [P] and values [C, P] of the curves between whole positions, drawn thin, if a formula gives them.
    names: one for each curve. Raises ValueError for what does not fit the table, and for too many columns.
    """
    values = _table(table, marks.position, picked)
    declared.same_count(names=len(names), columns=len(picked))
    theme, height = theme_and_height(**look)
    colors = palette(theme)
    figure = go.Figure()
    for number, (column, ink) in enumerate(zip(picked, colors.heads, strict=False)):
        if fine is not None:
            places, curves = (np.asarray(each, np.float32) for each in fine)
            line = {"color": ink, "width": 1.5}
            figure.add_scatter(x=places, y=curves[number], mode="lines", line=line, **SILENT)
        figure.add_scatter(
            x=np.arange(len(values)),
            y=values[:, column],
            mode="markers" if fine is not None else "lines+markers",
            marker={"color": ink, "size": 5 if len(values) <= 64 else 3},
            line={"color": ink, "width": 1},
            customdata=[labels.escape(numerals.share(value, 6)) for value in values[:, column].tolist()],
            hovertemplate=f"position %{{x}}<br>dimension {column}<br>%{{customdata}}<extra></extra>",
        )
    _mark(figure, marks, len(values), theme)
    lines = math.ceil(len(names) / 2)
    chart(figure, title, "position", "value", theme, height or 460, top=52 + 20 * lines)
    for number, (name, ink) in enumerate(zip(names, colors.heads, strict=False)):
        row, place = divmod(number, 2)
        figure.add_annotation(
            text=f'<span style="color:{ink}">●</span> {labels.escape(name)}',
            x=0,
            xanchor="left",
            xshift=place * _NAME - 52,
            y=1,
            yanchor="bottom",
            yshift=12 + 20 * (lines - 1 - row),
            font={"family": MONO_STACK, "color": colors.text},
            **ON_PAPER,
        )
    return figure


def row_lengths(norms: ArrayLike, marks: Marks, *, title: str, theme: Theme = "light") -> go.Figure:
    """Bars of the length of each row of a table, [L]; rows beyond those trained have a shaded background."""
    values = np.asarray(norms, np.float32)
    figure = go.Figure()
    figure.add_bar(
        x=np.arange(len(values)),
        y=values,
        marker={"color": palette(theme).derived[3], "line": {"width": 0}},
        customdata=[labels.escape(numerals.number(value)) for value in values.tolist()],
        hovertemplate="position %{x}<br>length %{customdata}<extra></extra>",
    )
    _mark(figure, marks, len(values), theme)
    return chart(figure, title, "position", "length of the row", theme, 320).update_yaxes(rangemode="tozero")


def _table(table: ArrayLike, position: int, picked: Sequence[int]) -> NDArray[np.float32]:
    values = np.asarray(table, np.float32)
    if values.ndim != 2 or 0 in values.shape:
        raise ValueError(f"a table has the shape [positions, dimensions], not {list(values.shape)}")
    declared.place("position", position, len(values))
    if len(picked) > MAX_PICKED or any(not 0 <= column < values.shape[1] for column in picked):
        raise ValueError(f"columns {list(picked)}: choose at most {MAX_PICKED} of 0 to {values.shape[1] - 1}")
    return values


def _mark(figure: go.Figure, marks: Marks, rows: int, theme: Theme) -> None:
    """Mark the selected position with a line, and rows that were never trained with a labelled background."""
    colors = palette(theme)
    at = {"x0": marks.position, "x1": marks.position, "yref": "paper", "y0": 0, "y1": 1}
    figure.add_shape(type="line", line={"color": colors.text, "width": 1}, layer="below", **at)
    if marks.trained is not None and marks.trained < rows:
        start, end = marks.trained - 0.5, rows - 0.5
        figure.add_vrect(x0=start, x1=end, fillcolor=colors.surface, line={"width": 0}, layer="below")
        place = {"x": (start + end) / 2, "xref": "x", "y": 1, "yref": "paper", "yanchor": "top"}
        figure.add_annotation(text=_NEVER, **place)


def chart(
    figure: go.Figure, title: str, below: str, left: str, theme: Theme, height: int, *, top: int = 44
) -> go.Figure:
    """The figure with axis titles, thin grid lines and a title."""
    return dressed(figure, theme, title=title, height=height, margin=(60, 12, top, 48)).update_layout(
        xaxis={"title": {"text": below, "standoff": 6}},
        yaxis={"title": {"text": left, "standoff": 6}},
    )
