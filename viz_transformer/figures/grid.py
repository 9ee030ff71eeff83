"""All heads of one kind of attention as small maps in one heatmap: layers as rows, heads as columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import ArrayLike, NDArray

from viz_transformer.analysis.tensors.points import max_pooled
from viz_transformer.figures import labels, legend
from viz_transformer.figures import theme as themes
from viz_transformer.figures.theme import Theme
from viz_transformer.model.kinds import KINDS, KindName
from viz_transformer.numerals import significant

LARGEST_SIDE = 64
"""Maps of more tokens a side are max-pooled, and so are smaller ones where a cell would be less than a pixel."""

_LEFT, _RIGHT, _TOP = 66, 12, 60
_LARGEST_MAP = 160  # pixels
_GAP = 0.06  # between two maps, in parts of a map, but at least one cell
_HOVER_TEXTS = 2**16  # cells: with more, a text for each would outweigh the numbers


def head_grid(
    maps: ArrayLike | Sequence[ArrayLike],
    *,
    kind: KindName,
    title: str,
    mask: ArrayLike | None = None,
    theme: Theme = "light",
    scale_name: str = "attention weight",
    width: int = 900,
) -> go.Figure:
    """Every head's weights as one heatmap of integer positions, with gaps between the maps, on a scale from 0 to 1.

    maps: [L, H, Q, K], or L arrays [H, Q, K], at least 0; NaN stays blank. mask: what broadcasts to [L, H, Q, K],
    True = may attend; masked cells are hatched, and those that have a weight all the same show it through the hatch.
    The tooltip has layer, head, positions and weight; cells without a weight have none. Where dropout or an edit made a
    weight larger than 1, the scale reaches to it. Maps of more cells than pixels are max-pooled, which legend and
    tooltip say. The height follows from the width: maps are square.
    Raises ValueError for shapes that do not fit, and for weights below 0 or infinite.
    """
    weights = np.asarray(maps, dtype=np.float32)
    allowed = _check(weights, mask)
    layers, heads, queries, keys = weights.shape
    room = width - _LEFT - _RIGHT
    limit = max(1, min(LARGEST_SIDE, int(room / heads / (1 + _GAP))))
    steps = (-(-queries // limit), -(-keys // limit))  # cells to a block, rounded up
    pooled, may = (
        _pooled(weights, limit),
        np.broadcast_to(_pooled(allowed, limit), (layers, heads, *_blocks(weights, limit))),
    )
    tiles = _Tiles.of(pooled.shape, room)
    height = round(_TOP + tiles.rows * tiles.row + legend.space(2))
    figure = go.Figure(
        go.Heatmap(
            z=tiles.composed(np.where(may | (pooled != 0), pooled, np.float32(np.nan)), np.nan),
            x=np.arange(tiles.columns),
            y=np.arange(tiles.rows),
            customdata=_places(tiles, weights.shape, steps),
            **_hover(tiles, pooled, may, steps),
            hoverongaps=False,
            zmin=0,
            zmax=max(1.0, float(np.nanmax(weights, initial=0.0))),
            zsmooth=False,
            colorscale=themes.colorscale(kind, theme),
        )
    )
    hatches = _hatch(tiles, pooled, may, theme)
    figure.add_traces([*hatches, _frames(tiles, theme)])
    figure.update_layout(
        **themes.base_layout(theme),
        title=themes.title(labels.escape(title), theme),
        width=width,
        height=height,
        margin={"l": _LEFT, "r": _RIGHT, "t": _TOP, "b": legend.space(2), "pad": 0},
    )
    _draw_axes(figure, tiles, room, theme)
    notes = [labels.escape(scale_name)]
    if steps != (1, 1):
        notes.append(f"max-pooled: a cell is the largest of {steps[0]} × {steps[1]}")
    if hatches:
        notes.append("hatched: masked")
    if np.isnan(weights).any():
        notes.append("blank: not a number")
    rows, columns = KINDS[kind].sides("source", "target")
    counted = [f"{count} {noun} token{'s' * (count > 1)}" for count, noun in ((queries, rows), (keys, columns))]
    axes = f"in each map a row is a query ({counted[0]}), a column a key ({counted[1]})"
    legend.draw(figure, [" · ".join(notes), axes], theme, ends=("0", significant(figure.data[0].zmax, 3)))
    return figure


@dataclass(frozen=True)
class _Tiles:
    """Where maps [L, H, Q, K] stand in one array: gaps are between them, counted in cells, and none is outside."""

    layers: int
    heads: int
    queries: int
    keys: int
    row_gap: int
    column_gap: int
    row: float  # pixels
    column: float

    @classmethod
    def of(cls, shape: tuple[int, ...], room: float) -> _Tiles:
        layers, heads, queries, keys = shape
        row_gap, column_gap = (max(1, round(size * _GAP)) for size in (queries, keys))
        column = min(room / (heads * (keys + column_gap) - column_gap), _LARGEST_MAP / keys)
        return cls(layers, heads, queries, keys, row_gap, column_gap, column * keys / queries, column)

    @property
    def rows(self) -> int:
        return self.layers * (self.queries + self.row_gap) - self.row_gap

    @property
    def columns(self) -> int:
        return self.heads * (self.keys + self.column_gap) - self.column_gap

    def corner(self, layer: int, head: int) -> tuple[int, int]:
        """The row and the column of the map's first cell."""
        return layer * (self.queries + self.row_gap), head * (self.keys + self.column_gap)

    def composed(self, maps: NDArray[Any], gap: Any) -> NDArray[Any]:
        """[L, H, Q, K] -> [rows, columns], with `gap` in the gaps."""
        whole = (self.layers, self.queries + self.row_gap, self.heads, self.keys + self.column_gap)
        spread = np.full(whole, gap, dtype=maps.dtype)
        spread[:, : self.queries, :, : self.keys] = maps.transpose(0, 2, 1, 3)
        flat = spread.reshape(whole[0] * whole[1], whole[2] * whole[3])
        return np.ascontiguousarray(flat[: self.rows, : self.columns])


def _check(weights: NDArray[np.float32], mask: ArrayLike | None) -> NDArray[np.bool_]:
    """The mask in four dimensions, of which the first two may be 1 for all layers and heads."""
    if weights.ndim != 4 or 0 in weights.shape:
        raise ValueError(f"maps have the shape {weights.shape}, a grid needs [layers, heads, queries, keys]")
    if np.any(weights < 0) or np.any(np.isinf(weights)):
        raise ValueError("only finite weights from 0 on can be drawn as a grid: some are below 0 or infinite")
    given = np.asarray(True if mask is None else mask, dtype=bool)
    try:
        np.broadcast_to(given, weights.shape)
    except ValueError:
        raise ValueError(f"mask {given.shape} does not fit the maps {weights.shape}") from None
    four = given.reshape((1,) * (4 - given.ndim) + given.shape)
    return np.broadcast_to(four, (*four.shape[:2], *weights.shape[2:]))


def _blocks(weights: NDArray[Any], limit: int) -> tuple[int, ...]:
    return max_pooled(weights[0, 0], limit).values.shape


def _pooled(maps: NDArray[Any], limit: int) -> NDArray[Any]:
    """Each map with at most `limit` cells a side: the largest weight of a block, True where any of it is."""
    layers, heads = maps.shape[:2]
    return np.stack([np.stack([max_pooled(maps[i, h], limit).values for h in range(heads)]) for i in range(layers)])


def _places(tiles: _Tiles, shape: tuple[int, ...], steps: tuple[int, int]) -> NDArray[Any]:
    """[rows, columns, 4 or 6]: layer, head, query and key of each cell, or the first and last ones of its block."""
    layer, head, query, key = np.indices((tiles.layers, tiles.heads, tiles.queries, tiles.keys))
    numbers = [layer, head]
    for index, step, size in zip((query, key), steps, shape[2:], strict=True):
        first = index * step
        numbers += [first] if steps == (1, 1) else [first, np.minimum(first + step, size) - 1]
    smallest = np.min_scalar_type(max(shape))  # there are as many of these as of weights, and four of them for each
    return np.stack([tiles.composed(number.astype(smallest), 0) for number in numbers], axis=-1)


def _hover(tiles: _Tiles, maps: NDArray[np.float32], may: NDArray[np.bool_], steps: tuple[int, int]) -> dict[str, Any]:
    """The tooltip of each cell: its place, and its weight in words or, where there are too many cells, as a number."""
    template = "layer %{customdata[0]}, head %{customdata[1]}<br>"
    if steps == (1, 1):
        template, name = f"{template}query %{{customdata[2]}}, key %{{customdata[3]}}<br>", "weight"
    else:
        template += "queries %{customdata[2]} to %{customdata[3]}, keys %{customdata[4]} to %{customdata[5]}<br>"
        name = "largest weight"
    if maps.size > _HOVER_TEXTS:
        return {"hovertemplate": f"{template}{name} %{{z:.9~g}}<extra></extra>"}  # all digits of a float32
    texts = [
        f"{'' if allowed else 'masked, '}{name} {labels.escape(labels.share(weight))}"
        for weight, allowed in zip(maps.ravel().tolist(), may.ravel().tolist(), strict=True)
    ]
    composed = tiles.composed(np.array(texts, dtype=object).reshape(maps.shape), "")
    return {"text": composed, "hovertemplate": f"{template}%{{text}}<extra></extra>"}


def _frames(tiles: _Tiles, theme: Theme) -> go.Scatter:
    """A thin line round each map: one of small weights is hardly darker than the page."""
    corners = [tiles.corner(i, h) for i, h in product(range(tiles.layers), range(tiles.heads))]
    boxes = [(row, column, row + tiles.queries, column + tiles.keys) for row, column in corners]
    return _outlines(boxes, line={"color": themes.palette(theme).line, "width": 1})


def _hatch(tiles: _Tiles, maps: NDArray[np.float32], may: NDArray[np.bool_], theme: Theme) -> list[go.Scatter]:
    """A 45 degree hatch over masked cells: opaque where the weight is 0, see-through above it."""
    colors = themes.palette(theme)
    traces = []
    for cells, fill in ((~may & (maps == 0), colors.surface), (~may & (maps != 0), "rgba(0,0,0,0)")):
        if boxes := _boxes(tiles.composed(cells, False)):
            pattern = {"shape": "/", "size": 5, "solidity": 0.2, "fgcolor": colors.line, "bgcolor": fill}
            traces.append(_outlines(boxes, fill="toself", fillcolor=fill, fillpattern=pattern, line={"width": 0}))
    return traces


_Box = tuple[int, int, int, int]  # first row, first column, and the row and column behind the last


def _outlines(boxes: Sequence[_Box], **style: Any) -> go.Scatter:
    """The outlines of boxes of cells as one line with gaps."""
    top, left, bottom, right = np.asarray(boxes, dtype=np.float32).T - np.float32(0.5)
    gap = np.full(len(boxes), np.nan, dtype=np.float32)
    return go.Scatter(
        x=np.stack([left, right, right, left, left, gap], axis=-1).ravel(),
        y=np.stack([top, top, bottom, bottom, top, gap], axis=-1).ravel(),
        mode="lines",
        hoverinfo="skip",
        **style,
    )


def _boxes(cells: NDArray[np.bool_]) -> list[_Box]:
    """The runs of True in each row, joined where the row below has the same one."""
    done: list[_Box] = []
    current: dict[tuple[int, int], int] = {}  # start and end -> its first row
    for row, line in enumerate(np.vstack([cells, np.zeros_like(cells[:1])])):
        edges = np.flatnonzero(np.diff(np.concatenate(([0], line.astype(np.int8), [0]))))
        runs = list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))
        done += [(first, a, row, b) for (a, b), first in current.items() if (a, b) not in runs]
        current = {run: current.get(run, row) for run in runs}
    return done


def _draw_axes(figure: go.Figure, tiles: _Tiles, room: float, theme: Theme) -> None:
    """Layers and heads at the middles of their maps; in a wide figure the maps stand at the left."""
    muted = themes.palette(theme).muted
    plain = {"zeroline": False, "showgrid": False, "fixedrange": True, "ticks": "", "tickmode": "array"}
    plain["tickfont"] = {"size": 13, "color": muted}
    middles = [
        [tiles.corner(i, 0)[0] + (tiles.queries - 1) / 2 for i in range(tiles.layers)],
        [tiles.corner(0, h)[1] + (tiles.keys - 1) / 2 for h in range(tiles.heads)],
    ]
    apart = (tiles.keys + tiles.column_gap) * tiles.column
    words = len(f"head {tiles.heads - 1}") * 7 <= apart
    figure.update_xaxes(
        **plain,
        side="top",
        range=[-0.5, room / tiles.column - 0.5],
        tickangle=0,
        tickvals=middles[1],
        ticktext=[f"head {h}" if words or not h else str(h) for h in range(tiles.heads)],
    )
    figure.update_yaxes(
        **plain,
        range=[tiles.rows - 0.5, -0.5],
        tickvals=middles[0],
        ticktext=[f"layer {i} " for i in range(tiles.layers)],
    )
