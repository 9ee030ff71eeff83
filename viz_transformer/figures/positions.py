"""Tables of positions: their numbers, single columns, products, turned pairs, wavelengths and lengths of rows.

Rows of a table are positions and go downwards, columns are dimensions. Picked columns have the colours for several
curves, in the order in which they are picked; what stands over all rows or pairs is grey.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import ArrayLike, NDArray

from viz_transformer import declared, numerals
from viz_transformer.figures import labels, legend
from viz_transformer.figures.template import ON_PAPER, SILENT, dressed
from viz_transformer.figures.theme import MONO_STACK, Theme, palette

MAX_PICKED = 6
_NAME = 165  # pixels from one name of a curve to the next
_AXIS = {"showgrid": False, "tickformat": "d", "tickangle": 0, "tickfont": {"size": 13}}
_NEVER = "never trained"


@dataclass(frozen=True, kw_only=True)
class Marks:
    """What is pointed out in a table: the selected position, how many rows the run reads, and how many were trained.

    trained: None where that is not known.
    """

    position: int
    read: int
    trained: int | None = None


def position_heatmap(
    table: ArrayLike,
    marks: Marks,
    *,
    picked: Sequence[int] = (),
    title: str,
    largest: float = 0.0,
    theme: Theme = "light",
    height: int = 460,
) -> go.Figure:
    """The table, [L, D], in two colours that part at 0; the selected row framed, picked columns marked above.

    A bar at the left shows the rows that the run reads; rows beyond those trained are hatched. The colours reach to
    `largest` at least, which brings two tables onto one scale. Raises ValueError for what is no table and for a
    position or column that is not in it.
    """
    values = _table(table, marks.position, picked)
    colors = palette(theme)
    rows, columns = values.shape
    largest = max(largest, float(np.abs(values).max())) or 1.0
    figure = go.Figure(_heatmap(values, largest, theme))
    _hatch(figure, marks.trained, rows, columns, theme)
    pixels = (height - 150) / rows
    ring = (5, 2) if pixels >= 14 else (4, 2) if pixels >= 7 else (3, 1.25)
    row = {"x0": -0.5, "x1": columns - 0.5, "y0": marks.position - 0.5, "y1": marks.position + 0.5}
    for width, ink in zip(ring, (colors.page, colors.text), strict=True):
        figure.add_shape(type="rect", line={"width": width, "color": ink}, **row)
    for column, ink in zip(picked, colors.heads, strict=False):
        mark = {"yref": "paper", "yanchor": 1, "ysizemode": "pixel", "y0": 2, "y1": 14}  # two may be neighbours
        figure.add_shape(type="line", x0=column, x1=column, line={"width": 3, "color": ink}, **mark)
    at = {"xref": "paper", "x0": -0.008, "x1": -0.008, "y0": -0.5, "y1": min(rows, marks.read) - 0.5}
    figure.add_shape(type="line", line={"width": 4, "color": colors.muted}, **at)
    dressed(figure, theme, title=title, height=height, margin=(64, 12, 106, 44)).update_layout(
        xaxis={**_AXIS, "side": "top", "range": [-0.5, columns - 0.5], "ticklabelstandoff": 20},
        yaxis={**_AXIS, "range": [rows - 0.5, -0.5], "ticklabelstandoff": 12},
    )
    above = {"x": 0, "y": 1, "yshift": 60, **ON_PAPER}
    figure.add_annotation(text="dimension", xanchor="left", **above)
    figure.add_annotation(text="position", xanchor="right", xshift=-10, **above)
    hatched = f" · hatched: {_NEVER}" if marks.trained is not None and marks.trained < rows else ""
    legend.draw(figure, [f"value · ▌rows of this run{hatched}"], ends=(-largest, largest))
    return figure


def dimension_curves(
    table: ArrayLike,
    picked: Sequence[int],
    names: Sequence[str],
    marks: Marks,
    *,
    fine: tuple[ArrayLike, ArrayLike] | None = None,
    title: str,
    theme: Theme = "light",
    height: int = 460,
) -> go.Figure:
    """Each picked column over the positions, as points; the selected position is a line across.

    fine: places [P] and values [C, P] of the curves between whole positions, drawn thin, where a formula has them.
    names: one for each curve. Raises ValueError for what does not fit the table, and for too many columns.
    """
    values = _table(table, marks.position, picked)
    declared.same_count(names=len(names), columns=len(picked))
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
    chart(figure, title, "position", "value", theme, height, top=52 + 20 * lines)
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


def tables_beside(
    tables: Mapping[str, ArrayLike], *, title: str, theme: Theme = "light", height: int = 420
) -> go.Figure:
    """Tables of one size beside each other, on one scale of colours. Raises ValueError if their sizes differ."""
    arrays = {name: np.asarray(values, np.float32) for name, values in tables.items()}
    if len({values.shape for values in arrays.values()}) != 1:
        raise ValueError("tables of different sizes cannot share one scale")
    largest = max(float(np.abs(values).max()) for values in arrays.values()) or 1.0
    figure = go.Figure()
    share = 1 / len(arrays)
    layout: dict[str, Any] = {}
    for number, (name, values) in enumerate(arrays.items()):
        suffix = str(number + 1) if number else ""
        figure.add_trace(_heatmap(values, largest, theme).update(xaxis=f"x{suffix}", yaxis=f"y{suffix}"))
        rows, columns = values.shape
        left = number * share + (0.03 if number else 0)
        right = (number + 1) * share - (0.03 if number + 1 < len(arrays) else 0)
        axis = {**_AXIS, "side": "top", "range": [-0.5, columns - 0.5], "anchor": f"y{suffix}"}
        layout[f"xaxis{suffix}"] = {**axis, "domain": [left, right]}
        layout[f"yaxis{suffix}"] = {**_AXIS, "range": [rows - 0.5, -0.5], "anchor": f"x{suffix}"}
        said = f"{labels.escape(name)}: position by dimension"
        figure.add_annotation(text=said, x=left, xanchor="left", y=1, yshift=40, **ON_PAPER)
    dressed(figure, theme, title=title, height=height, margin=(44, 12, 90, 44)).update_layout(**layout)
    legend.draw(figure, ["value · one scale for both"], ends=(-largest, largest))
    return figure


def row_lengths(norms: ArrayLike, marks: Marks, *, title: str, theme: Theme = "light") -> go.Figure:
    """The length of each row of a table, [L], as a bar; rows beyond those trained stand on a shaded ground."""
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


def _heatmap(values: NDArray[np.float32], largest: float, theme: Theme) -> go.Heatmap:
    return go.Heatmap(
        z=values,
        zmin=-largest,
        zmax=largest,
        colorscale=palette(theme).diverging,
        hovertemplate="position %{y}<br>dimension %{x}<br>%{z:.9~g}<extra></extra>",  # all digits of a float32
    )


def _hatch(figure: go.Figure, trained: int | None, rows: int, columns: int, theme: Theme) -> None:
    """Hatches over the rows from `trained` on."""
    if trained is None or trained >= rows:
        return
    left, right, top, bottom = -0.5, columns - 0.5, trained - 0.5, rows - 0.5
    figure.add_scatter(
        x=[left, right, right, left, left],
        y=[top, top, bottom, bottom, top],
        mode="lines",
        line={"width": 1, "color": palette(theme).muted},
        fill="toself",
        fillcolor="rgba(0,0,0,0)",
        fillpattern={"shape": "/", "size": 8, "solidity": 0.14, "fgcolor": palette(theme).text},
        **SILENT,
        showlegend=False,
    )


def _mark(figure: go.Figure, marks: Marks, rows: int, theme: Theme) -> None:
    """A line at the selected position, and a ground with a word on it behind the rows that were never trained."""
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
    """Axes with names, thin lines behind, a title."""
    return dressed(figure, theme, title=title, height=height, margin=(60, 12, top, 48)).update_layout(
        xaxis={"title": {"text": below, "standoff": 6}},
        yaxis={"title": {"text": left, "standoff": 6}},
    )
