"""Any tensor: two of its axes as a heatmap, coloured by its kind of numbers, or its values as a histogram."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal, Unpack

import numpy as np
import plotly.graph_objects as go
from numpy.typing import ArrayLike, NDArray

from viz_transformer.analysis.attention.axes import Axis, Texts, numbered
from viz_transformer.analysis.attention.picture import Meta, Picture
from viz_transformer.analysis.tensors.pictures import TRUE_OR_FALSE, in_blocks
from viz_transformer.figures import labels, legend
from viz_transformer.figures.template import ON_PAPER, Look, dressed
from viz_transformer.figures.theme import Theme, palette, weight_colors
from viz_transformer.model.kinds import SIDES, KindName, SideName
from viz_transformer.numerals import significant

MAX_CELLS = 512
"""The most rows and columns drawn; larger tensors are pooled."""
Scale = Literal["signed", "weights", "mask"]

_NOMINAL_WIDTH = 660  # where the real width is unknown: on a page the figure fills its container
_LABEL_COLUMNS = 12
_TOP, _BOTTOM, _AXIS_TITLE = 40, 52, 26
_LARGEST_CELL = 52
_HOVER_TEXTS = 2**16  # cells: with more, a text for each would outweigh the numbers


@dataclass(frozen=True)
class AxisLabels:
    """The labels of one axis."""

    name: str
    """One place on it ("query")."""
    title: str
    tokens: Sequence[str] | None = None
    """The tokens along the axis; None: its places are numbered."""
    side: SideName | None = None
    """The side of the tokens, for their ink."""

    def axis(self, size: int) -> Axis:
        """The side of a picture. Raises ValueError if it has another number of tokens than of places."""
        if self.tokens is not None and len(self.tokens) != size:
            raise ValueError(f"{len(self.tokens)} tokens do not fit an axis of {size}")
        return Axis("", self.name, self.title, self.side, numbered(size) if self.tokens is None else Texts(self.tokens))


class InColor(Look, total=False):
    """How a chart of a tensor looks: in the colour of this kind of attention, or in grey if its values are derived."""

    kind: KindName
    derived: bool


def tensor_heatmap(
    values: ArrayLike,
    rows: AxisLabels,
    columns: AxisLabels,
    *,
    title: str,
    scale: Scale = "signed",
    scale_name: str | None = None,
    largest: float | None = None,
    **look: Unpack[InColor],
) -> go.Figure:
    """The heatmap of a [rows, columns] array, each cell at its integer position, with tokens or numbers along the axes.

    scale "signed": two colours that part at 0, from -largest to largest; "weights": from 0 to 1 or, where dropout made
    a weight larger, to `largest`, in the kind's colour or in grey if derived (with an edited weight below 0: "signed");
    "mask": Boolean, two tones. largest: what the colours reach to, by default the largest absolute value of the array.
    NaN and infinity have a colour of their own, and the legend says so. More than MAX_CELLS rows or columns are
    pooled: a cell then shows the value farthest from 0 in its block, which title, legend and tooltip say.
    Raises ValueError for an array that is not two-dimensional or does not fit the tokens.
    """
    kind, derived, theme, height = _look(**look)
    array = np.asarray(values)
    if array.ndim != 2 or 0 in array.shape:
        raise ValueError(f"values have the shape {array.shape}, a heatmap needs [rows, columns] with at least one each")
    if scale == "mask" and array.dtype != bool:
        raise ValueError(f"a mask is Boolean, not {array.dtype}")
    meta = Meta(title, title, "", names=TRUE_OR_FALSE if scale == "mask" else None)
    axes = (rows.axis(array.shape[0]), columns.axis(array.shape[1]))
    picture = in_blocks(Picture(array, axes, np.ones(array.shape, dtype=bool), meta), MAX_CELLS)
    down, across = (_Side.of(axis) for axis in picture.axes)
    sizes = _Sizes.of(down, across, height)
    numbers = picture.values.astype(np.float64)
    finite = np.isfinite(numbers)
    if largest is None:
        largest = float(np.abs(numbers[finite]).max(initial=0.0))
    if scale == "weights" and numbers[finite].min(initial=0.0) < 0:
        scale = "signed"
    low, high = _range(scale, largest)
    colors = _colors(scale, kind, derived, theme)
    bad = palette(theme).bad
    gap = 1 if min(sizes.row, sizes.column) >= 6 else 0
    cells = {"x": across.places, "y": down.places, "xgap": gap, "ygap": gap}
    cells |= _hover(picture.values, down, across)
    layers = [go.Heatmap(z=_layer(numbers, finite), zmin=low, zmax=high, colorscale=colors, **cells)]
    if not finite.all():
        marks = _layer(np.ones(numbers.shape), ~finite)
        layers.append(go.Heatmap(z=marks, zmin=0, zmax=1, colorscale=[bad, bad], **cells))
    figure = go.Figure(layers)
    dressed(figure, theme, title=picture.meta.title, height=height, margin=(sizes.left, 12, sizes.top, _BOTTOM))
    _draw_axes(figure, down, across, sizes, theme)
    place = {"y": 1, "yanchor": "top", "yshift": sizes.top - _TOP + 4, **ON_PAPER}
    figure.add_annotation(text=labels.escape(columns.title), x=0, xanchor="left", **place)
    figure.add_annotation(text=labels.escape(rows.title), x=0, xanchor="right", xshift=-6, **place)
    notes = [scale_name or "value" if scale == "signed" else scale_name or "attention weight"]
    if scale == "mask":
        false, true = TRUE_OR_FALSE
        notes = [f"{_swatch(colors[-1])} {true}", f"{_swatch(colors[0])} {false}"]
    notes += picture.meta.notes
    if not finite.all():
        notes.append(f"{_swatch(bad)} NaN or infinite")
    legend.draw(figure, [" · ".join(notes)], ends=None if scale == "mask" else (low, high))
    return figure


def value_histogram(
    counts: Sequence[int] | NDArray[np.int64],
    edges: Sequence[float] | NDArray[np.float64],
    *,
    title: str,
    left_out: int = 0,
    names: Sequence[str] | None = None,
    **look: Unpack[InColor],
) -> go.Figure:
    """The histogram of counts between edges; the axis below is the value, the heights are counts.

    names: the names of the bins for values that are no numbers, such as True and False. left_out: the number of NaN and
    infinite values, which the legend states. Raises ValueError unless there is one edge more than counts.
    """
    if len(edges) != len(counts) + 1 or not len(counts):
        raise ValueError(f"{len(edges)} edges do not fit {len(counts)} counts: one edge more is needed")
    kind, derived, theme, height = _look(**look)
    bounds, heights = np.asarray(edges, np.float64), np.asarray(counts, np.int64)
    total = int(heights.sum())
    spans = names or [f"{significant(a)} to {significant(b)}" for a, b in pairwise(bounds.tolist())]
    gap = {"width": 1 if names is None else 12, "color": palette(theme).page}
    bars = go.Bar(
        x=(bounds[:-1] + bounds[1:]) / 2,
        y=heights,
        width=np.diff(bounds),
        customdata=[f"{span}<br>{n:,} of {total:,} values" for span, n in zip(spans, heights.tolist(), strict=True)],
        marker={"color": weight_colors(kind, theme, derived=derived)[3], "line": gap},
    )
    said = f"{total:,} values in {len(heights)} bin{'s' if len(heights) > 1 else ''}"
    if left_out:
        said += f"; {left_out:,} NaN or infinite left out"
    figure = dressed(go.Figure(bars), theme, title=title, height=height, margin=(64, 12, 72, _BOTTOM)).update_layout(
        xaxis={"title": {"text": "value", "standoff": 4}},
        yaxis={"rangemode": "tozero", "tickformat": ",d"},
        bargap=0,
    )
    if int(heights.max(initial=0)) < 8:
        figure.update_yaxes(dtick=1)
    if names is not None:
        figure.update_xaxes(tickvals=list(range(len(names))), ticktext=list(map(labels.escape, names)), title=None)
    note = {"y": 1, "yanchor": "bottom", "yshift": 6, **ON_PAPER}
    figure.add_annotation(text="count", x=0, xanchor="right", xshift=-6, **note)
    figure.add_annotation(text=said, x=0, xanchor="left", **note)
    return figure


def _look(
    *, kind: KindName = "decoder", derived: bool = False, theme: Theme = "light", height: int = 560
) -> tuple[KindName, bool, Theme, int]:
    return kind, derived, theme, height


@dataclass(frozen=True)
class _Side:
    """One drawn axis: `places` are the centres of its cells, each `step` positions wide."""

    axis: Axis
    step: int
    places: NDArray[np.float64]

    @classmethod
    def of(cls, axis: Axis) -> _Side:
        step = axis.ends[0] - axis.starts[0] if axis.blocks else 1
        return cls(axis, step, np.arange(len(axis), dtype=np.float64) * step + (step - 1) / 2)

    @property
    def size(self) -> int:
        return len(self.axis)

    @property
    def is_numbered(self) -> bool:
        return self.axis.reads.numbered

    def label(self, cell: int) -> str:
        """The label of a cell: the token at its first position, or its number."""
        token = self.axis.reads.tokens[cell]
        return token if self.is_numbered else labels.tick(token, _LABEL_COLUMNS)

    def named(self, cell: int) -> str:
        """The full name of a cell, for a tooltip."""
        first = self.axis.positions[cell]
        if self.axis.blocks:
            return f"{self.axis.role} {first} to {self.axis.ends[cell] - 1}"
        if self.is_numbered:
            return f"{self.axis.role} {first}"
        token = labels.isolate(labels.shorten(labels.visible(self.axis.reads.tokens[cell]), 200))
        return f"{self.axis.role} {first}: “{labels.escape(token)}”"

    def columns(self, cell: int) -> int:
        """The width of the label, in columns of the font."""
        token = self.axis.reads.tokens[cell]
        return len(token) if self.is_numbered else min(_LABEL_COLUMNS, labels.width(labels.visible(token)))

    @property
    def longest(self) -> int:
        return max(self.columns(cell) for cell in range(self.size))

    def ticks(self, cell: float, room: float, blank: str = " ") -> dict[str, Any]:
        """The tick settings: every label, or every second, fifth, tenth ... if a label needs more `room` than a cell
        has. blank: the space around each, which separates it from the cells."""
        every = next(n for n in _steps() if n * cell >= room)
        shown = range(0, self.size, every)
        ticks = {
            "tickvals": [float(self.places[i]) for i in shown],
            "ticktext": [f"{blank}{self.label(i)}{blank}" for i in shown],
        }
        return {"tickmode": "array", **ticks}


@dataclass(frozen=True)
class _Sizes:
    """Sizes in pixels."""

    left: float
    top: float
    row: float
    column: float
    shown_rows: float
    shown_columns: float
    upright: bool

    @classmethod
    def of(cls, down: _Side, across: _Side, height: int) -> _Sizes:
        left = max(24 + math.ceil(down.longest * 14 * legend.CHARACTER), 18 + 6.5 * len(down.axis.title))
        width = _NOMINAL_WIDTH - left - 12
        shown_columns = max(float(across.size), width / _LARGEST_CELL)
        column = width / shown_columns
        upright = not across.is_numbered and (across.longest * 13 * legend.CHARACTER + 6) > column
        top = _TOP + _AXIS_TITLE + (across.longest * 13 * legend.CHARACTER + 4 if upright else 18)
        shown_rows = max(float(down.size), (height - top - _BOTTOM) / _LARGEST_CELL)
        return cls(left, top, (height - top - _BOTTOM) / shown_rows, column, shown_rows, shown_columns, upright)


def _steps() -> Any:
    """1, 2, 5, 10, 20, 50, ...: the possible distances between ticks, in cells."""
    return (digit * 10**power for power in range(12) for digit in (1, 2, 5))


def _range(scale: Scale, largest: float) -> tuple[float, float]:
    if scale == "signed":
        return (-largest, largest) if largest else (-1.0, 1.0)
    return 0.0, max(1.0, largest)


def _colors(scale: Scale, kind: KindName, derived: bool, theme: Theme) -> Sequence[str]:
    if scale == "signed":
        return palette(theme).diverging
    ramp = weight_colors(kind, theme, derived=derived)
    return ramp if scale == "weights" else (ramp[1], ramp[5])


def _layer(numbers: NDArray[np.float64], shown: NDArray[np.bool_]) -> NDArray[np.float32]:
    """The numbers where they are shown, NaN elsewhere; as float32, which is what the page is sent."""
    return np.where(shown, numbers, np.nan).astype(np.float32)


def _hover(values: NDArray[Any], down: _Side, across: _Side) -> dict[str, Any]:
    """The tooltip of each cell: its text, or where there are too many cells its numbers alone."""
    if values.size > _HOVER_TEXTS:
        row, column = (f"{side.role} round" if side.blocks else side.role for side in (down.axis, across.axis))
        all_digits = "%{z:.9~g}"  # of a float32
        return {"hovertemplate": f"{row} %{{y}}<br>{column} %{{x}}<br>{all_digits}<extra></extra>"}
    names = [across.named(cell) for cell in range(across.size)]
    rows = ((down.named(i), values[i].tolist()) for i in range(down.size))
    text = [
        [f"{row}<br>{name}<br>{_value(value)}" for name, value in zip(names, line, strict=True)] for row, line in rows
    ]
    return {"customdata": text}


def _value(value: float | bool) -> str:
    if isinstance(value, bool):
        return "True" if value else "False"
    if math.isinf(value):
        return "infinite" if value > 0 else "-infinite"
    return "not a number" if math.isnan(value) else significant(value, 5)


def _draw_axes(figure: go.Figure, down: _Side, across: _Side, sizes: _Sizes, theme: Theme) -> None:
    row_font, column_font = max(11.0, min(14.0, sizes.row * 0.82)), 13.0
    numbers = across.longest * 13 * legend.CHARACTER + 10
    room = column_font + 1 if sizes.upright else numbers if across.is_numbered else 0
    figure.update_xaxes(
        **across.ticks(sizes.column, room, " " if sizes.upright else ""),
        side="top",
        range=[-0.5, sizes.shown_columns * across.step - 0.5],
        tickangle=-90 if sizes.upright else 0,
        tickfont={"size": column_font, "color": _ink(across.axis, theme)},
    )
    figure.update_yaxes(
        showgrid=False,
        **down.ticks(sizes.row, row_font + 1 if sizes.row > row_font else 1.4 * row_font),
        range=[sizes.shown_rows * down.step - 0.5, -0.5],
        tickfont={"size": row_font, "color": _ink(down.axis, theme)},
    )


def _ink(axis: Axis, theme: Theme) -> str:
    colors = palette(theme)
    if axis.reads.numbered or axis.side is None:
        return colors.muted
    return SIDES[axis.side].of(colors.source_ink, colors.target_ink)


def _swatch(color: str) -> str:
    return f'<span style="color:{color}">■</span>'
