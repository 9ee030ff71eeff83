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

from viz_transformer import numerals
from viz_transformer.figures import labels
from viz_transformer.figures import theme as themes
from viz_transformer.figures.template import template
from viz_transformer.figures.theme import Theme
from viz_transformer.numerals import significant

MOST_PICKED = 6
_BAR = 120
_NAME = 165  # pixels from one name of a curve to the next
_AXIS = {"showgrid": False, "tickformat": "d", "tickangle": 0, "tickfont": {"size": 13}}
ANNOTATION = {"showarrow": False, "xref": "paper", "yref": "paper"}


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
    theme: Theme = "light",
    height: int = 460,
) -> go.Figure:
    """The table, [L, D], in two colours that part at 0; the selected row framed, picked columns marked above.

    A bar at the left shows the rows that the run reads; rows beyond those trained are hatched. Raises ValueError for
    what is no table and for a position or column that is not in it.
    """
    values = _table(table, marks.position, picked)
    colors = themes.palette(theme)
    rows, columns = values.shape
    largest = float(np.abs(values).max()) or 1.0
    figure = go.Figure(_heatmap(values, largest, theme))
    _hatch(figure, marks.trained, rows, columns, theme)
    top = rows - 0.5
    pixels = (height - 150) / rows
    ring = (5, 2) if pixels >= 14 else (4, 2) if pixels >= 7 else (3, 1.25)
    for width, ink in zip(ring, (colors.page, colors.text), strict=True):
        figure.add_shape(
            type="rect",
            x0=-0.5,
            x1=columns - 0.5,
            y0=marks.position - 0.5,
            y1=marks.position + 0.5,
            line={"width": width, "color": ink},
        )
    for column, ink in zip(picked, colors.heads, strict=False):
        mark = {"xref": "x", "yref": "paper", "x": column, "y": 1, "yanchor": "bottom", "showarrow": False}
        figure.add_annotation(text="▼", font={"size": 12, "color": ink}, **mark)
    figure.add_shape(
        type="line",
        xref="paper",
        x0=-0.008,
        x1=-0.008,
        y0=-0.5,
        y1=min(top, marks.read - 0.5),
        line={"width": 4, "color": colors.muted},
    )
    small = {"size": 13, "color": colors.muted}
    figure.update_layout(
        template=template(theme),
        title_text=labels.escape(title),
        height=height,
        margin={"l": 64, "r": 12, "t": 106, "b": 44},
        xaxis={**_AXIS, "side": "top", "range": [-0.5, columns - 0.5], "ticklabelstandoff": 20},
        yaxis={**_AXIS, "range": [rows - 0.5, -0.5], "ticklabelstandoff": 12},
    )
    figure.add_annotation(text="dimension", x=0, xanchor="left", y=1, yshift=60, font=small, **ANNOTATION)
    figure.add_annotation(text="position", x=0, xanchor="right", xshift=-10, y=1, yshift=60, font=small, **ANNOTATION)
    note = "▌rows of this run"
    if marks.trained is not None and marks.trained < rows:
        note += " · hatched: never trained"
    _legend(figure, largest, note, theme, height)
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
    if len(names) != len(picked):
        raise ValueError(f"{len(names)} names do not fit {len(picked)} columns")
    colors = themes.palette(theme)
    figure = go.Figure()
    positions = np.arange(len(values))
    for number, column in enumerate(picked):
        ink = colors.heads[number]
        if fine is not None:
            places, curves = (np.asarray(each, np.float32) for each in fine)
            line = {"color": ink, "width": 1.5}
            figure.add_scatter(x=places, y=curves[number], mode="lines", line=line, hoverinfo="skip")
        figure.add_scatter(
            x=positions,
            y=values[:, column],
            mode="markers" if fine is not None else "lines+markers",
            marker={"color": ink, "size": 5 if len(values) <= 64 else 3},
            line={"color": ink, "width": 1},
            customdata=_exact(values[:, column]),
            hovertemplate=f"position %{{x}}<br>dimension {column}<br>%{{customdata}}<extra></extra>",
        )
    _position_line(figure, marks.position, theme)
    if marks.trained is not None and marks.trained < len(values):
        _shade(figure, marks.trained - 0.5, len(values) - 0.5, "never trained", theme)
    chart(figure, title, "position", "value", theme, height)
    for number, name in enumerate(names):
        row, place = divmod(number, 2)
        figure.add_annotation(
            text=f'<span style="color:{colors.heads[number]}">●</span> {labels.escape(name)}',
            x=0,
            xanchor="left",
            xshift=place * _NAME - 52,
            y=1,
            yanchor="bottom",
            yshift=12 + 20 * (math.ceil(len(names) / 2) - 1 - row),
            font={"family": themes.MONO_STACK, "size": 13, "color": colors.text},
            **ANNOTATION,
        )
    figure.update_layout(margin={"t": 52 + 20 * math.ceil(len(names) / 2)})
    return figure


def tables_beside(
    tables: Mapping[str, ArrayLike], *, title: str, theme: Theme = "light", height: int = 420
) -> go.Figure:
    """Tables of one size beside each other, on one scale of colours. Raises ValueError if their sizes differ."""
    arrays = {name: np.asarray(values, np.float32) for name, values in tables.items()}
    if len({values.shape for values in arrays.values()}) != 1:
        raise ValueError("tables of different sizes cannot stand beside each other on one scale")
    colors = themes.palette(theme)
    largest = max(float(np.abs(values).max()) for values in arrays.values()) or 1.0
    figure = go.Figure()
    share = 1 / len(arrays)
    small = {"size": 13, "color": colors.muted}
    layout: dict[str, Any] = {}
    for number, (name, values) in enumerate(arrays.items()):
        suffix = str(number + 1) if number else ""
        trace = _heatmap(values, largest, theme)
        trace.update(xaxis=f"x{suffix}", yaxis=f"y{suffix}")
        figure.add_trace(trace)
        rows, columns = values.shape
        left = number * share + (0.03 if number else 0)
        right = (number + 1) * share - (0.03 if number + 1 < len(arrays) else 0)
        axis = {**_AXIS, "side": "top", "range": [-0.5, columns - 0.5], "anchor": f"y{suffix}"}
        layout[f"xaxis{suffix}"] = {**axis, "domain": [left, right]}
        down = {**_AXIS, "range": [rows - 0.5, -0.5], "anchor": f"x{suffix}"}
        layout[f"yaxis{suffix}"] = down
        figure.add_annotation(
            text=f"{labels.escape(name)}: position by dimension",
            x=left,
            xanchor="left",
            y=1,
            yshift=40,
            font=small,
            **ANNOTATION,
        )
    figure.update_layout(
        template=template(theme),
        **layout,
        title_text=labels.escape(title),
        height=height,
        margin={"l": 44, "r": 12, "t": 90, "b": 44},
    )
    _legend(figure, largest, "one scale for both", theme, height)
    return figure


def row_lengths(norms: ArrayLike, marks: Marks, *, title: str, theme: Theme = "light", height: int = 320) -> go.Figure:
    """The length of each row of a table, [L], as a bar; rows beyond those trained stand on a shaded ground."""
    values = np.asarray(norms, np.float32)
    colors = themes.palette(theme)
    figure = go.Figure(
        go.Bar(
            x=np.arange(len(values)),
            y=values,
            marker={"color": colors.derived[3], "line": {"width": 0}},
            customdata=[labels.escape(numerals.number(value)) for value in values.tolist()],
            hovertemplate="position %{x}<br>length %{customdata}<extra></extra>",
        )
    )
    _position_line(figure, marks.position, theme)
    if marks.trained is not None and marks.trained < len(values):
        _shade(figure, marks.trained - 0.5, len(values) - 0.5, "never trained", theme)
    chart(figure, title, "position", "length of the row", theme, height)
    figure.update_yaxes(rangemode="tozero")
    return figure


def _table(table: ArrayLike, position: int, picked: Sequence[int]) -> NDArray[np.float32]:
    values = np.asarray(table, np.float32)
    if values.ndim != 2 or 0 in values.shape:
        raise ValueError(f"a table has the shape [positions, dimensions], not {list(values.shape)}")
    if not 0 <= position < len(values):
        raise ValueError(f"there is no position {position}: the table has positions 0 to {len(values) - 1}")
    if len(picked) > MOST_PICKED or any(not 0 <= column < values.shape[1] for column in picked):
        raise ValueError(f"columns {list(picked)}: choose at most {MOST_PICKED} of 0 to {values.shape[1] - 1}")
    return values


def _exact(values: NDArray[np.float32]) -> list[str]:
    """Each number as a tooltip has it."""
    return [labels.escape(numerals.share(value, 6)) for value in values.tolist()]


def _heatmap(values: NDArray[np.float32], largest: float, theme: Theme) -> go.Heatmap:
    diverging = themes.palette(theme).diverging
    return go.Heatmap(
        z=values,
        zmin=-largest,
        zmax=largest,
        colorscale=[[i / (len(diverging) - 1), color] for i, color in enumerate(diverging)],
        showscale=False,
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
        line={"width": 1, "color": themes.palette(theme).muted},
        fill="toself",
        fillcolor="rgba(0,0,0,0)",
        fillpattern={"shape": "/", "size": 8, "solidity": 0.14, "fgcolor": themes.palette(theme).text},
        hoverinfo="skip",
        showlegend=False,
    )


def _shade(figure: go.Figure, start: float, end: float, note: str, theme: Theme) -> None:
    """A ground from `start` to `end` with a word on it."""
    colors = themes.palette(theme)
    figure.add_vrect(x0=start, x1=end, fillcolor=colors.surface, line={"width": 0}, layer="below")
    figure.add_annotation(
        text=note,
        x=(start + end) / 2,
        xref="x",
        y=1,
        yref="paper",
        yanchor="top",
        showarrow=False,
        font={"size": 13, "color": colors.muted},
    )


def _position_line(figure: go.Figure, position: int, theme: Theme) -> None:
    ink = themes.palette(theme).text
    figure.add_shape(
        type="line", yref="paper", x0=position, x1=position, y0=0, y1=1, line={"color": ink, "width": 1}, layer="below"
    )


def chart(figure: go.Figure, title: str, below: str, left: str, theme: Theme, height: int) -> None:
    """Axes with names, thin lines behind, a title."""
    figure.update_layout(
        template=template(theme),
        title_text=labels.escape(title),
        height=height,
        margin={"l": 60, "r": 12, "t": 44, "b": 48},
        xaxis={"title": {"text": below, "standoff": 6}},
        yaxis={"title": {"text": left, "standoff": 6}},
    )


def _legend(figure: go.Figure, largest: float, note: str, theme: Theme, height: int) -> None:
    """A bar of 8 pixels between its two ends, and what there is to say of the picture."""
    muted = themes.palette(theme).muted
    mono = {"family": themes.MONO_STACK, "size": 13, "color": muted}
    ends = [significant(end, 3) for end in (-largest, largest)]
    start = len(ends[0]) * 8 + 8
    place = {"x": 0, "xanchor": "left", "y": 0, "yanchor": "middle", "yshift": -26, **ANNOTATION}
    figure.add_annotation(text=ends[0], font=mono, **place)
    figure.add_annotation(text=ends[1], font=mono, xshift=start + _BAR + 8, **place)
    at = start + _BAR + 8 + len(ends[1]) * 8 + 16
    figure.add_annotation(text=f"value · {note}", font={"size": 13, "color": muted}, xshift=at, **place)
    bar = {"len": _BAR + 2 * start, "xpad": start, "y": 14 / height}  # plotly counts the padding
    figure.data[0].update(showscale=True, colorbar=bar)
