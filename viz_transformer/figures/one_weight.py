"""Vectors as strips of cells, and bars of numbers that add up or share a row."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import ArrayLike, NDArray

from viz_transformer import numerals
from viz_transformer.analysis.weight.weight_numbers import Numbers
from viz_transformer.figures import labels
from viz_transformer.figures import theme as themes
from viz_transformer.figures.template import template
from viz_transformer.figures.theme import Theme
from viz_transformer.model.kinds import KindName
from viz_transformer.numerals import significant

MOST_NUMBERED = 8
"""Cells of a strip that have room for their numbers."""
BARS = 230
_STRIP, _GAP, _TOP, _BOTTOM = 32, 10, 8, 12
_LEFT, _RIGHT = 156, 92
_LARGEST_BLOCK = 120


def strips(vectors: Sequence[Numbers], *, theme: Theme = "light", type_size: float = 1.0) -> go.Figure:
    """Each vector as a strip over the whole width, each matrix as a block; colours part at 0.

    All vectors share one scale; a matrix, whose numbers are of another size, has its own. The scale's end stands at
    the right of each, and up to 8 cells carry their numbers. type_size: how much larger all letters are than usual.
    Raises ValueError without any vector.
    """
    if not vectors:
        raise ValueError("there is no vector to draw")
    colors = themes.palette(theme)
    shared = max((_largest(each.values) for each in vectors if each.values.ndim == 1), default=1.0)
    figure, y = go.Figure(), 0.0
    for each in vectors:
        grid = np.atleast_2d(each.values)
        tall = type_size * (_STRIP if len(grid) == 1 else min(_LARGEST_BLOCK, max(60, 4 * len(grid))))
        largest = shared if each.values.ndim == 1 else _largest(grid)
        figure.add_trace(_cells(each, grid, y, tall, largest, theme, type_size))
        unit = each.axis + ("s" if grid.shape[1] != 1 else "")
        size = f"{grid.shape[1]} {unit}" if len(grid) == 1 else f"{len(grid)} × {grid.shape[1]}"
        _beside(figure, y + tall / 2, labels.escape(each.name), "left", colors.text, type_size)
        _beside(figure, y + tall / 2, f"{size}<br>±{significant(largest, 3)}", "right", colors.muted, type_size)
        for first, last in filter(None, (each.span, _row_of(each, len(grid)))):
            _ring(figure, each, (first, last), grid.shape, y, tall, theme)
        y += tall + _GAP
    figure.update_layout(
        template=template(theme),
        height=int(y - _GAP + _TOP + _BOTTOM),
        margin={"l": _LEFT * type_size, "r": _RIGHT * type_size, "t": _TOP, "b": _BOTTOM},
    )
    figure.update_xaxes(visible=False, range=[0, 1])
    figure.update_yaxes(visible=False, range=[y - _GAP, 0])
    return figure


def bars(
    values: ArrayLike,
    *,
    quantity: str,
    title: str,
    ticks: Sequence[str] | None = None,
    hover: Sequence[str] | None = None,
    picked: int | None = None,
    running: ArrayLike | None = None,
    even: float | None = None,
    kind: KindName | None = None,
    theme: Theme = "light",
    type_size: float = 1.0,
) -> go.Figure:
    """One bar for each number; the picked one has an outline.

    values: [N]. ticks: what stands below each bar, by default its number. hover: what the tooltip says of each, by
    default the number. running: [N], sums so far, drawn as a line of steps. even: a height that is marked across.
    kind: the colours of weights of a head; without one, bars above and below 0 have the two colours of signed numbers.
    type_size: how much larger all letters are than usual. Raises ValueError for lengths that do not fit.
    """
    heights = np.asarray(values, dtype=np.float64)
    texts = list(hover) if hover is not None else [f"{quantity} {significant(value, 6)}" for value in heights.tolist()]
    for what, given in (("ticks", ticks), ("tooltips", texts), ("sums", running)):
        if given is not None and len(np.atleast_1d(np.asarray(given, dtype=object))) != len(heights):
            raise ValueError(f"the {what} do not fit {len(heights)} values")
    colors = themes.palette(theme)
    if kind is None:
        fills = [colors.diverging[5] if value >= 0 else colors.diverging[1] for value in heights.tolist()]
    else:
        fills = [str(themes.colorscale(kind, theme)[4][1])] * len(heights)
    edge = [2 if place == picked else 0 for place in range(len(heights))]
    places = np.arange(len(heights))
    figure = go.Figure(
        go.Bar(
            x=places,
            y=heights,
            customdata=["<br>".join(map(labels.escape, text.split("\n"))) for text in texts],
            hovertemplate="%{customdata}<extra></extra>",
            marker={"color": fills, "line": {"width": edge, "color": colors.text}},
        )
    )
    if running is not None:
        sums = np.asarray(running, dtype=np.float64)
        figure.add_trace(
            go.Scatter(
                x=places,
                y=sums,
                mode="lines+markers" if len(sums) <= 64 else "lines",
                line={"shape": "hv", "color": colors.text, "width": 1.5},
                marker={"size": 5, "color": colors.text},
                customdata=[
                    f"sum of 0 to {place}: {significant(value, 6)}" for place, value in enumerate(sums.tolist())
                ],
                hovertemplate="%{customdata}<extra></extra>",
            )
        )
    small = {"family": themes.SANS_STACK, "size": 12 * type_size}
    if even is not None:
        figure.add_hline(y=even, line={"color": colors.muted, "width": 1, "dash": "dot"})
    figure.add_hline(y=0, line={"color": colors.line, "width": 1})
    longest = max((labels.width(tick) for tick in ticks), default=1) if ticks else 2
    upright = ticks is not None and len(heights) * (longest * 8 + 6) > 480
    below = min(longest, 10) * 8 * type_size if upright else 0
    figure.update_layout(
        template=template(theme),
        height=BARS * type_size + below,
        margin={"l": 52 * type_size, "r": 12, "t": 30 * type_size, "b": 34 * type_size + below},
        bargap=0.25 if len(heights) <= 64 else 0,
        yaxis={"tickfont": small, "nticks": 5},
        xaxis={"tickfont": small, "range": [-0.6, len(heights) - 0.4]},
    )
    if ticks is None:
        figure.update_xaxes(nticks=min(17, len(heights) + 1), tickangle=0)
    else:
        step = max(1, math.ceil(len(heights) * 15 / 520))
        shown = places[::step]
        figure.update_xaxes(
            tickvals=shown,
            ticktext=[labels.tick(ticks[place], 10) for place in shown],
            tickangle=-90 if upright else 0,
            tickfont_family=themes.MONO_STACK,
        )
    font = {"size": 13 * type_size, "color": colors.muted}
    place = {"xref": "paper", "yref": "paper", "showarrow": False, "font": font}
    figure.add_annotation(text=labels.escape(quantity), x=0, xanchor="left", y=1, yanchor="bottom", yshift=6, **place)
    figure.add_annotation(text=labels.escape(title), x=1, xanchor="right", y=1, yanchor="bottom", yshift=6, **place)
    return figure


def two_rows(
    a: ArrayLike,
    b: ArrayLike,
    *,
    quantity: str,
    title: str,
    ticks: Sequence[str],
    hover: Sequence[str],
    picked: int | None = None,
    kind: KindName,
    theme: Theme = "light",
    type_size: float = 1.0,
) -> go.Figure:
    """Two rows side by side, A filled and B in outline, and below them A - B, a unit as tall as above.

    a, b: [K]; NaN has no bar. ticks: what stands below each key, the picked one in bold; hover: what the tooltip says
    of it. Raises ValueError for lengths that do not fit.
    """
    first, second = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    if not len(first) == len(second) == len(ticks) == len(hover):
        raise ValueError(f"rows of {len(first)} and {len(second)} do not fit {len(ticks)} keys, {len(hover)} tooltips")
    less = first - second
    colors = themes.palette(theme)
    ink = str(themes.colorscale(kind, theme)[4][1])
    places = np.arange(len(first))
    said = ["<br>".join(map(labels.escape, text.split("\n"))) for text in hover]
    shared = {"x": places, "customdata": said, "hovertemplate": "%{customdata}<extra></extra>"}
    figure = go.Figure()
    outline = 1.5 if len(first) <= 48 else 1
    for values, name, fill in ((first, "A", ink), (second, "B", colors.page)):
        marker = {"color": fill, "line": {"width": outline, "color": ink}}
        figure.add_trace(go.Bar(y=values, name=name, marker=marker, **shared))
    fills = [colors.diverging[5] if value >= 0 else colors.diverging[1] for value in np.nan_to_num(less).tolist()]
    figure.add_trace(go.Bar(y=less, name="A − B", yaxis="y2", marker={"color": fills}, **shared))
    above, below = _span(np.concatenate([first, second])), _span(less)
    most = max(above[1] - above[0], below[1] - below[0], 1e-12)
    heights = [max(0.2, (high - low) / most) for low, high in (above, below)]
    above, below = (_stretched(span, height * most) for span, height in zip((above, below), heights, strict=True))
    room = 0.1
    share = (1 - room) * heights[1] / sum(heights)
    small = {"family": themes.SANS_STACK, "size": 12 * type_size}
    axis = {"zeroline": True, "zerolinecolor": colors.line, "tickfont": small}
    longest = max((labels.width(labels.visible(tick)) for tick in ticks), default=1)
    upright = len(first) * (min(longest, 10) * 8 * type_size + 6) > 420
    foot = (min(longest, 10) * 8 * type_size if upright else 12) + 20 * type_size
    step = max(1, math.ceil(len(first) * 15 * type_size / 420))
    shown = sorted({*places[::step].tolist(), *([] if picked is None else [picked])})
    names = [labels.tick(ticks[place], 10) for place in shown]
    names = [f"<b>{name}</b>" if place == picked else name for place, name in zip(shown, names, strict=True)]
    figure.update_layout(
        template=template(theme),
        height=int(1.5 * BARS + foot),
        margin={"l": 58 * type_size, "r": 8, "t": 30 * type_size, "b": foot},
        barmode="group",
        bargap=0.25 if len(first) <= 64 else 0,
        bargroupgap=0,
        yaxis={**axis, "nticks": 5, "range": above, "domain": [share + room, 1]},
        yaxis2={**axis, "nticks": 3, "range": below, "domain": [0, share], "anchor": "x"},
        xaxis={
            "range": [-0.6, len(first) - 0.4],
            "anchor": "y2",
            "tickvals": shown,
            "ticktext": names,
            "tickangle": -90 if upright else 0,
            "tickfont": {"size": 12 * type_size},
        },
    )
    note: dict[str, Any] = {"xref": "paper", "yref": "paper", "showarrow": False, "xanchor": "left", "x": 0}
    note |= {"yanchor": "bottom", "font": {"size": 13 * type_size, "color": colors.muted}}
    figure.add_annotation(text=f"{labels.escape(quantity)}: A filled, B in outline", y=1, yshift=6, **note)
    figure.add_annotation(text=labels.escape(title), y=share, yshift=4, **note)
    return figure


def _span(values: NDArray[np.float64]) -> tuple[float, float]:
    """From the lowest to the highest number, 0 between them."""
    finite = values[np.isfinite(values)]
    return float(finite.min(initial=0.0)), float(finite.max(initial=0.0))


def _stretched(span: tuple[float, float], size: float) -> tuple[float, float]:
    """The span made `size` long, and a little more for room, round its middle or on from 0."""
    low, high = span
    missing = max(0.0, size - (high - low))
    margin = 0.04 * size
    if low == 0:  # what grows from 0 keeps standing on it
        return low, high + missing + 2 * margin
    if high == 0:
        return low - missing - 2 * margin, high
    return low - missing / 2 - margin, high + missing / 2 + margin


def _largest(values: NDArray[np.float64]) -> float:
    finite = np.abs(values[np.isfinite(values)])
    return float(finite.max(initial=0.0)) or 1.0


def _cells(
    each: Numbers,
    grid: NDArray[np.float64],
    y: float,
    tall: float,
    largest: float,
    theme: Theme,
    type_size: float,
) -> go.Heatmap:
    rows, columns = grid.shape
    colors = themes.palette(theme)
    scale = [[i / (len(colors.diverging) - 1), color] for i, color in enumerate(colors.diverging)]
    place = "{axis} {column}" if rows == 1 else "dimension {row}, {axis} {column}"
    hover = [
        [
            f"{labels.escape(each.name)}, {place.format(axis=each.axis, row=row, column=column)}"
            f"<br>{significant(value, 6)}"
            for column, value in enumerate(line)
        ]
        for row, line in enumerate(grid.tolist())
    ]
    numbered: dict[str, Any] = {}
    if rows == 1 and columns <= MOST_NUMBERED:
        numbered = {
            "text": [[labels.escape(numerals.number(value, 2)) for value in line] for line in grid.tolist()],
            "texttemplate": "%{text}",
        }
        numbered["textfont"] = {"family": themes.MONO_STACK, "size": 11 * type_size}
    return go.Heatmap(
        z=grid.astype(np.float32),
        x=np.linspace(0, 1, columns + 1),
        y=np.linspace(y, y + tall, rows + 1),
        zmin=-largest,
        zmax=largest,
        colorscale=scale,
        showscale=False,
        xgap=1 if columns <= 128 else 0,
        ygap=1 if 1 < rows <= 20 else 0,
        customdata=hover,
        hovertemplate="%{customdata}<extra></extra>",
        **numbered,
    )


def _row_of(each: Numbers, rows: int) -> tuple[int, int] | None:
    """The whole width, where a row of a matrix is picked."""
    return (0, each.values.shape[-1]) if rows > 1 and each.picked is not None else None


def _ring(
    figure: go.Figure,
    each: Numbers,
    span: tuple[int, int],
    shape: tuple[int, ...],
    y: float,
    tall: float,
    theme: Theme,
) -> None:
    """A frame round cells of a strip, or round the picked row of a block."""
    top, bottom = y, y + tall
    if shape[0] > 1 and each.picked is not None:
        top, bottom = y + tall * each.picked / shape[0], y + tall * (each.picked + 1) / shape[0]
    frame = {"x0": span[0] / shape[1], "x1": span[1] / shape[1], "y0": top, "y1": bottom}
    figure.add_shape(type="rect", line={"color": themes.palette(theme).text, "width": 1.5}, **frame)


def _beside(figure: go.Figure, y: float, text: str, side: str, color: str, type_size: float) -> None:
    left = side == "left"
    figure.add_annotation(
        text=text,
        x=0 if left else 1,
        xref="paper",
        xanchor="right" if left else "left",
        xshift=-10 if left else 8,
        y=y,
        yref="y",
        yanchor="middle",
        align="right" if left else "left",
        showarrow=False,
        font={"size": (13 if left else 12) * type_size, "color": color},
    )
