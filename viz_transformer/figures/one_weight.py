"""Vectors as strips of cells, and bars of numbers that add up or share a row."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import ArrayLike, NDArray

from viz_transformer import declared, numerals
from viz_transformer.analysis.weight.weight_numbers import Numbers
from viz_transformer.figures import labels
from viz_transformer.figures.template import ON_PAPER, dressed
from viz_transformer.figures.theme import MONO_STACK, SANS_STACK, Palette, Theme, palette, weight_colors
from viz_transformer.model.kinds import KindName
from viz_transformer.numerals import significant

MAX_NUMBERED = 8
"""Cells of a strip that have room for their numbers."""
BARS = 230
_STRIP, _GAP, _TOP, _BOTTOM = 32, 10, 8, 12
_LEFT, _RIGHT = 156, 92
_LARGEST_BLOCK = 120


def strips(vectors: Sequence[Numbers], *, theme: Theme = "light", type_size: float = 1.0) -> go.Figure:
    """The figure of vectors as strips over the whole width and matrices as blocks; colours diverge at 0.

    All vectors share one scale; a matrix, with numbers of another size, has its own. The scale's limit is at the right
    of each, and up to 8 cells show their numbers. type_size: a factor on all type. Raises ValueError without any
    vector.
    """
    if not vectors:
        raise ValueError("there is no vector to draw")
    colors = palette(theme)
    shared = max((_largest(each.values) for each in vectors if each.values.ndim == 1), default=1.0)
    figure, y = go.Figure(), 0.0
    for each in vectors:
        grid = np.atleast_2d(each.values)
        tall = type_size * (_STRIP if len(grid) == 1 else min(_LARGEST_BLOCK, max(60, 4 * len(grid))))
        largest = shared if each.values.ndim == 1 else _largest(grid)
        figure.add_trace(_cells(each, grid, y, tall, largest, theme, type_size))
        unit = each.axis + ("s" if grid.shape[1] != 1 else "")
        size = f"{grid.shape[1]} {unit}" if len(grid) == 1 else f"{len(grid)} × {grid.shape[1]}"
        _write_beside(figure, y + tall / 2, labels.escape(each.name), "left", colors.text, type_size)
        _write_beside(figure, y + tall / 2, f"{size}<br>±{significant(largest, 3)}", "right", colors.muted, type_size)
        for frame in _frames(each, grid.shape, y, tall):
            figure.add_shape(type="rect", line={"color": colors.text, "width": 1.5}, **frame)
        y += tall + _GAP
    margin = (_LEFT * type_size, _RIGHT * type_size, _TOP, _BOTTOM)
    return dressed(figure, theme, title="", height=int(y - _GAP + _TOP + _BOTTOM), margin=margin).update_layout(
        xaxis={"visible": False, "range": [0, 1]},
        yaxis={"visible": False, "range": [y - _GAP, 0]},
    )


@dataclass(frozen=True, kw_only=True)
class BarLook:
    """The texts and the look of bars."""

    quantity: str
    title: str
    ticks: Sequence[str] | None = None
    """The tick label of each bar, by default its number."""
    hover: Sequence[str] | None = None
    """The tooltip of each, by default the number."""
    picked: int | None = None
    """The bar that is marked."""
    kind: KindName | None = None
    """The colours of weights of a head; None: bars above and below 0 have the two colours of signed numbers."""
    theme: Theme = "light"
    type_size: float = 1.0
    """A factor on all type."""


def bars(values: ArrayLike, look: BarLook, *, running: ArrayLike | None = None, even: float | None = None) -> go.Figure:
    """The chart of one bar for each number; the picked one has an outline.

    values: [N]. running: [N], sums so far, drawn as a line of steps. even: a height that is marked across.
    Raises ValueError for lengths that do not fit.
    """
    ticks, hover, theme, type_size = look.ticks, look.hover, look.theme, look.type_size
    heights = np.asarray(values, dtype=np.float64)
    texts = (
        list(hover) if hover is not None else [f"{look.quantity} {significant(value, 6)}" for value in heights.tolist()]
    )
    for what, given in (("ticks", ticks), ("tooltips", texts), ("sums", running)):
        if given is not None:
            count = len(np.atleast_1d(np.asarray(given, dtype=object)))
            declared.same_count(**{what: count}, values=len(heights))
    colors = palette(theme)
    own = None if look.kind is None else weight_colors(look.kind, theme)[4]
    fills = _colour_by_sign(heights, colors) if own is None else [own] * len(heights)
    edge = {"width": [2 if place == look.picked else 0 for place in range(len(heights))], "color": colors.text}
    places = np.arange(len(heights))
    figure = go.Figure()
    figure.add_bar(x=places, y=heights, customdata=_lines(texts), marker={"color": fills, "line": edge})
    if running is not None:
        sums = np.asarray(running, dtype=np.float64)
        figure.add_scatter(
            x=places,
            y=sums,
            mode="lines+markers" if len(sums) <= 64 else "lines",
            line={"shape": "hv", "color": colors.text, "width": 1.5},
            marker={"size": 5, "color": colors.text},
            customdata=[f"sum of 0 to {place}: {significant(value, 6)}" for place, value in enumerate(sums.tolist())],
        )
    if even is not None:
        figure.add_hline(y=even, line={"color": colors.muted, "width": 1, "dash": "dot"})
    figure.add_hline(y=0, line={"color": colors.line, "width": 1})
    longest = max((labels.width(tick) for tick in ticks), default=1) if ticks else 2
    upright = ticks is not None and len(heights) * (longest * 8 + 6) > 480
    below = min(longest, 10) * 8 * type_size if upright else 0
    small = {"family": SANS_STACK, "size": 12 * type_size}
    margin = (52 * type_size, 12, 30 * type_size, 34 * type_size + below)
    dressed(figure, theme, title="", height=BARS * type_size + below, margin=margin).update_layout(
        bargap=0.25 if len(heights) <= 64 else 0,
        yaxis={"tickfont": small, "nticks": 5},
        xaxis={"tickfont": small, "range": [-0.6, len(heights) - 0.4], "tickangle": -90 if upright else 0},
    )
    if ticks is None:
        figure.update_xaxes(nticks=min(17, len(heights) + 1))
    else:
        shown = places[:: max(1, math.ceil(len(heights) * 15 / 520))]
        names = [labels.tick(ticks[place], 10) for place in shown]
        figure.update_xaxes(tickvals=shown, ticktext=names, tickfont_family=MONO_STACK)
    above = {"y": 1, "yanchor": "bottom", "yshift": 6, "font_size": 13 * type_size, **ON_PAPER}
    figure.add_annotation(text=labels.escape(look.quantity), x=0, xanchor="left", **above)
    figure.add_annotation(text=labels.escape(look.title), x=1, xanchor="right", **above)
    return figure


def two_rows(a: ArrayLike, b: ArrayLike, look: BarLook) -> go.Figure:
    """The chart of two rows side by side, A filled and B in outline, and below them A - B on the same scale.

    a, b: [K]; NaN has no bar. Each key has a tick, the picked one in bold, and a tooltip.
    Raises ValueError for lengths that do not fit.
    """
    first, second = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    ticks, hover, picked, type_size = look.ticks or (), look.hover or (), look.picked, look.type_size
    declared.same_count(weights=len(first), weights_of_the_other_row=len(second), keys=len(ticks), tooltips=len(hover))
    less = first - second
    colors, ink = palette(look.theme), weight_colors(look.kind or "cross", look.theme)[4]
    places = np.arange(len(first))
    shared = {"x": places, "customdata": _lines(hover)}
    figure = go.Figure()
    outline = {"width": 1.5 if len(first) <= 48 else 1, "color": ink}
    for values, name, fill in ((first, "A", ink), (second, "B", colors.page)):
        figure.add_bar(y=values, name=name, marker={"color": fill, "line": outline}, **shared)
    fills = _colour_by_sign(np.nan_to_num(less), colors)
    figure.add_bar(y=less, name="A − B", yaxis="y2", marker={"color": fills}, **shared)
    above, below = _span(np.concatenate([first, second])), _span(less)
    most = max(above[1] - above[0], below[1] - below[0], 1e-12)
    heights = [max(0.2, (high - low) / most) for low, high in (above, below)]
    above, below = (_stretch(span, height * most) for span, height in zip((above, below), heights, strict=True))
    room = 0.1
    share = (1 - room) * heights[1] / sum(heights)
    small = {"family": SANS_STACK, "size": 12 * type_size}
    axis = {"zeroline": True, "zerolinecolor": colors.line, "tickfont": small}
    longest = max((labels.width(labels.visible(tick)) for tick in ticks), default=1)
    upright = len(first) * (min(longest, 10) * 8 * type_size + 6) > 420
    foot = (min(longest, 10) * 8 * type_size if upright else 12) + 20 * type_size
    step = max(1, math.ceil(len(first) * 15 * type_size / 420))
    shown = sorted({*places[::step].tolist(), *([] if picked is None else [picked])})
    names = [labels.tick(ticks[place], 10) for place in shown]
    names = [f"<b>{name}</b>" if place == picked else name for place, name in zip(shown, names, strict=True)]
    margin = (58 * type_size, 8, 30 * type_size, foot)
    dressed(figure, look.theme, title="", height=int(1.5 * BARS + foot), margin=margin).update_layout(
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
    note = {"xanchor": "left", "x": 0, "yanchor": "bottom", "font_size": 13 * type_size, **ON_PAPER}
    figure.add_annotation(text=f"{labels.escape(look.quantity)}: A filled, B in outline", y=1, yshift=6, **note)
    figure.add_annotation(text=labels.escape(look.title), y=share, yshift=4, **note)
    return figure


def _span(values: NDArray[np.float64]) -> tuple[float, float]:
    """The range of the numbers and 0."""
    finite = values[np.isfinite(values)]
    return float(finite.min(initial=0.0)), float(finite.max(initial=0.0))


def _stretch(span: tuple[float, float], size: float) -> tuple[float, float]:
    """The span extended to `size` and a margin, around its middle or from 0."""
    low, high = span
    missing = max(0.0, size - (high - low))
    margin = 0.04 * size
    if low == 0:  # bars that grow from 0 keep their baseline
        return low, high + missing + 2 * margin
    if high == 0:
        return low - missing - 2 * margin, high
    return low - missing / 2 - margin, high + missing / 2 + margin


def _colour_by_sign(values: NDArray[np.float64], colors: Palette) -> list[str]:
    """The colour of each bar, by the sign of its number."""
    return [colors.diverging[5 if value >= 0 else 1] for value in values.tolist()]


def _lines(texts: Sequence[str]) -> list[str]:
    """Texts for tooltips."""
    return ["<br>".join(map(labels.escape, text.split("\n"))) for text in texts]


def _largest(values: NDArray[np.float64]) -> float:
    finite = np.abs(values[np.isfinite(values)])
    return float(finite.max(initial=0.0)) or 1.0


def _cells(
    each: Numbers, grid: NDArray[np.float64], y: float, tall: float, largest: float, theme: Theme, type_size: float
) -> go.Heatmap:
    rows, columns = grid.shape
    hover = []
    for row, line in enumerate(grid.tolist()):
        place = f"{labels.escape(each.name)}, " + (f"dimension {row}, " if rows > 1 else "") + each.axis
        hover.append([f"{place} {column}<br>{significant(value, 6)}" for column, value in enumerate(line)])
    numbered: dict[str, Any] = {}
    if rows == 1 and columns <= MAX_NUMBERED:
        numbers = [[labels.escape(numerals.number(value, 2)) for value in line] for line in grid.tolist()]
        font = {"family": MONO_STACK, "size": 11 * type_size}
        numbered = {"text": numbers, "texttemplate": "%{text}", "textfont": font}
    return go.Heatmap(
        z=grid.astype(np.float32),
        x=np.linspace(0, 1, columns + 1),
        y=np.linspace(y, y + tall, rows + 1),
        zmin=-largest,
        zmax=largest,
        colorscale=palette(theme).diverging,
        xgap=1 if columns <= 128 else 0,
        ygap=1 if 1 < rows <= 20 else 0,
        customdata=hover,
        **numbered,
    )


def _frames(each: Numbers, shape: tuple[int, ...], y: float, tall: float) -> list[dict[str, float]]:
    """Frames around the picked cells of a strip, and around the picked row of a block."""
    rows, columns = shape
    top, bottom = y, y + tall
    spans = [each.span] if each.span is not None else []
    if rows > 1 and each.picked is not None:
        top, bottom = y + tall * each.picked / rows, y + tall * (each.picked + 1) / rows
        spans.append((0, columns))
    return [{"x0": first / columns, "x1": last / columns, "y0": top, "y1": bottom} for first, last in spans]


def _write_beside(figure: go.Figure, y: float, text: str, side: str, color: str, type_size: float) -> None:
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
        font={"size": (13 if left else 12) * type_size, "color": color},
    )
