"""Tables of numbers beside each other, each cell with its number and its colour; nothing here knows what they mean."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import plotly.graph_objects as go
from numpy.typing import ArrayLike, NDArray

from viz_transformer import numerals
from viz_transformer.figures import labels
from viz_transformer.figures.legend import CHARACTER
from viz_transformer.figures.template import SILENT, dressed
from viz_transformer.figures.theme import MONO_STACK, Theme, palette
from viz_transformer.model.kinds import KindName
from viz_transformer.numerals import significant

Scale = KindName | Literal["derived", "diverging"]
WIDTH = 984
"""The width in pixels that grids are laid out for; a page stretches or shrinks them to what it has."""
ROW, COLUMN = 32, 56
_SMALLEST_FONT = 8.0
_CAPTION = 44
_LEGEND = 34


@dataclass(frozen=True, eq=False)
class Grid:
    """One table of numbers."""

    values: NDArray[np.float64]
    left: float
    """The left edge of its first cell, in pixels."""
    top: float
    """The top edge of its first cell, in pixels."""
    scale: Scale
    """Scales other than diverging start at 0."""
    limit: float
    """The value with full colour."""
    hover: Sequence[Sequence[str]]
    """A tooltip for each cell."""
    digits: int = 2
    mask: NDArray[np.bool_] | None = None
    """True = may attend."""
    above: str = ""
    """The line above it."""
    below: tuple[str, ...] = ()
    """Lines below it, the first in bold."""
    rows: tuple[str, ...] = ()
    """Names at its left."""
    columns: tuple[str, ...] = ()
    boxes: tuple[tuple[int, int, int, int], ...] = field(default=())
    """Framed ranges: (first row, first column, rows, columns)."""

    @property
    def allowed(self) -> NDArray[np.bool_]:
        """The mask, True = may attend; all True without one."""
        return np.ones(self.values.shape, bool) if self.mask is None else self.mask

    @property
    def low(self) -> float:
        """The value at which the colours begin."""
        return -self.limit if self.scale == "diverging" else 0.0


@dataclass(frozen=True)
class _Parts:
    """The elements of a figure, to be added at once: plotly validates all annotations again with each added one."""

    traces: list[go.Heatmap | go.Bar | go.Scatter] = field(default_factory=list)
    notes: list[dict[str, Any]] = field(default_factory=list)
    shapes: list[dict[str, Any]] = field(default_factory=list)

    def note(self, **given: Any) -> None:
        self.notes.append(given)


def number_grids(
    grids: Sequence[Grid],
    *,
    column: float,
    scales: Sequence[tuple[Scale, float, str]],
    title: str,
    theme: Theme = "light",
    row: float = ROW,
) -> go.Figure:
    """A figure of tables side by side, with one scale for each sort of number; cells are `column` x `row` pixels.

    scales: colours, limit and name of each sort, for the legend. Texts are escaped here. Raises ValueError for none.
    """
    if not grids:
        raise ValueError("there is no table to draw")
    bottom = max(grid.top + len(grid.values) * row + (_CAPTION if grid.below else 0) for grid in grids)
    height = math.ceil(bottom + _LEGEND)
    parts = _Parts()
    for grid in grids:
        _cells(parts, grid, column, row, theme)
    _legend(parts, scales, bottom + _LEGEND, theme)
    return dressed(go.Figure(parts.traces), theme, title=title, height=height, margin=(0, 0, 0, 0)).update_layout(
        barmode="overlay",
        annotations=parts.notes,
        shapes=parts.shapes,
        xaxis={"visible": False, "range": [0, WIDTH]},
        yaxis={"visible": False, "range": [height, 0]},
    )


def _cells(parts: _Parts, grid: Grid, column: float, row: float, theme: Theme) -> None:
    rows, columns = grid.values.shape
    x, y = grid.left + column * (np.arange(columns) + 0.5), grid.top + row * (np.arange(rows) + 0.5)
    parts.traces.append(
        go.Heatmap(
            z=np.where(grid.allowed, grid.values, np.nan).astype(np.float32),
            x=x,
            y=y,
            customdata=[list(texts) for texts in grid.hover],
            hoverongaps=True,
            zmin=grid.low,
            zmax=grid.limit,
            xgap=1,
            ygap=1,
            colorscale=_ramp(grid.scale, theme),
        )
    )
    if not grid.allowed.all():
        parts.traces.append(_hatch(np.argwhere(~grid.allowed), x, y, column, row, theme))
    _numbers(parts, grid, x, y, column, theme)
    _words(parts, grid, x, y, row, theme)
    for first, start, tall, wide in grid.boxes:
        parts.shapes.append(
            {
                "type": "rect",
                "x0": grid.left + start * column + 1,
                "x1": grid.left + (start + wide) * column - 1,
                "y0": grid.top + first * row + 1,
                "y1": grid.top + (first + tall) * row - 1,
                "line": {"color": palette(theme).text, "width": 2},
            }
        )


def _hatch(places: NDArray[np.int64], x: Any, y: Any, column: float, row: float, theme: Theme) -> go.Bar:
    """The hatching of masked cells. places: [N, 2]."""
    colors = palette(theme)
    pattern = {"shape": "/", "size": 5, "solidity": 0.2, "fgcolor": colors.line, "bgcolor": colors.surface}
    return go.Bar(
        orientation="h",
        y=[y[i] for i, _ in places],
        base=[x[j] - column / 2 + 0.5 for _, j in places],
        x=[column - 1] * len(places),
        width=row - 1,
        **SILENT,
        marker={"color": colors.surface, "line": {"width": 0}, "pattern": pattern},
    )


def _numbers(parts: _Parts, grid: Grid, x: Any, y: Any, column: float, theme: Theme) -> None:
    """Add the number of each cell, in an ink that contrasts with its colour; none where it would be too small to
    read."""
    texts = [[numerals.number(value, grid.digits) for value in line] for line in grid.values.tolist()]
    longest = max(len(text) for line in texts for text in line)
    size = min(13.0, (column - 4) / (longest * CHARACTER))
    if size < _SMALLEST_FONT:
        return
    ends, ramp = (palette(theme).page, palette(theme).text), _ramp(grid.scale, theme)
    cells = np.argwhere(grid.allowed)

    def ink(value: float) -> str:
        light = _light(ramp, (value - grid.low) / (grid.limit - grid.low))
        return max(ends, key=lambda color: abs(_light([color], 0.0) - light))

    parts.traces.append(
        go.Scatter(
            x=[x[j] for _, j in cells],
            y=[y[i] for i, _ in cells],
            text=[labels.escape(texts[i][j]) for i, j in cells],
            textfont={"family": MONO_STACK, "size": size, "color": [ink(grid.values[i, j]) for i, j in cells]},
            mode="text",
            **SILENT,
        )
    )


def _words(parts: _Parts, grid: Grid, x: Any, y: Any, row: float, theme: Theme) -> None:
    """Add the texts above, below and beside a table."""
    note = {"xanchor": "left", "x": grid.left}
    if grid.above:
        lift = 18 if grid.columns else 0
        parts.note(text=labels.escape(grid.above), y=grid.top - 4 - lift, yanchor="bottom", **note)
    strong = {**note, "font": {"size": 14, "color": palette(theme).text, "weight": 600}}
    for place, line in enumerate(grid.below):
        at = grid.top + len(grid.values) * row + 3 + 19 * place
        parts.note(text=labels.escape(line), y=at, yanchor="top", **(note if place else strong))
    mono = {"font": {"family": MONO_STACK, "size": 12}}
    for i, name in enumerate(grid.rows):
        parts.note(text=labels.escape(name), x=grid.left - 6, xanchor="right", y=y[i], **mono)
    for j, name in enumerate(grid.columns):
        parts.note(text=labels.escape(name), x=x[j], y=grid.top - 2, yanchor="bottom", **mono)


def _legend(parts: _Parts, scales: Sequence[tuple[Scale, float, str]], height: float, theme: Theme) -> None:
    """Add a colour bar for each sort of number, with its two ends and its name."""
    middle, left = height - 10, 0.0
    mono = {"family": MONO_STACK, "size": 12}
    place = {"y": middle, "yanchor": "middle", "xanchor": "left"}
    for scale, limit, name in scales:
        lowest = -limit if scale == "diverging" else 0.0
        low, high = significant(lowest, 3) if lowest else "0", significant(limit, 3)
        parts.note(text=low, x=left, font=mono, **place)
        left += 8 * len(low) + 6
        parts.traces.append(
            go.Heatmap(
                z=[np.linspace(lowest, limit, 64)],
                x=np.linspace(left, left + 80, 64),
                y=[middle],
                dy=8,
                y0=middle,
                ytype="scaled",
                colorscale=_ramp(scale, theme),
                zmin=lowest,
                zmax=limit,
                **SILENT,
            )
        )
        left += 80 + 6
        parts.note(text=high, x=left, font=mono, **place)
        left += 8 * len(high) + 8
        parts.note(text=labels.escape(name), x=left, **place)
        left += 6.6 * len(name) + 28


def _ramp(scale: Scale, theme: Theme) -> Sequence[str]:
    colors: Sequence[str] = getattr(palette(theme), scale)
    return colors


def _light(ramp: Sequence[str], place: float) -> float:
    """The luminance of a colour ramp at a place from 0 to 1: 0 to 255, weighting red, green and blue."""
    shares = (0.2126, 0.7152, 0.0722)
    lights = [sum(s * int(c[i : i + 2], 16) for s, i in zip(shares, (1, 3, 5), strict=True)) for c in ramp]
    return float(np.interp(place, np.linspace(0, 1, len(ramp)), lights)) if len(ramp) > 1 else lights[0]


def full(value: float) -> str:
    """A number for a tooltip: four decimals, more where these would make it 0 or 1, no zeros at its end."""
    near = abs(value) < 1e-4 or 0 < abs(abs(value) - 1) < 5e-5
    if (value and near) or not math.isfinite(value):
        return significant(value, 2 if abs(value) < 0.5 else 5)
    return numerals.number(value).rstrip("0").rstrip(".")


def limit_of(*tables: ArrayLike) -> float:
    """The value with full colour on a scale shared by several tables: their largest absolute value, 1 if all are 0."""
    return max((float(np.abs(np.asarray(table)).max(initial=0.0)) for table in tables), default=0.0) or 1.0
