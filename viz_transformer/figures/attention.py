"""The attention of one head as a heatmap: queries as rows, keys as columns, colour is the weight, from 0 to 1."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import ArrayLike, NDArray

from viz_transformer.analysis.attention.hidden_keys import MOSTLY_HIDDEN
from viz_transformer.figures import labels
from viz_transformer.figures import theme as themes
from viz_transformer.figures.theme import Theme
from viz_transformer.model.kinds import KINDS, KindName

_CHARACTER = 0.61  # width of one column of the mono font, in parts of its size
_NOMINAL_WIDTH = 600  # where the real width is not known: on a page the figure takes what it gets
_LABEL_COLUMNS = 12
_SMALL = 9  # pixels, for "<unk>" beside what was typed
_TOP, _BOTTOM, _AXIS_TITLE = 40, 52, 26
_TALLEST_ROW = 52  # a figure of three rows is not three stripes


def attention_heatmap(
    weights: ArrayLike,
    query_tokens: Sequence[str],
    key_tokens: Sequence[str],
    *,
    mask: ArrayLike | None = None,
    title: str,
    kind: KindName = "cross",
    theme: Theme = "light",
    selected_query: int | None = None,
    query_writes: Sequence[str] | None = None,
    query_originals: Sequence[str] | None = None,
    key_originals: Sequence[str] | None = None,
    derived: bool = False,
    scale_name: str = "attention weight",
    hidden: ArrayLike | None = None,
    height: int = 540,
) -> go.Figure:
    """The weights of one head, or in grey a derived picture such as a mean, drawn on a fixed scale from 0 to 1.

    weights: [Q, K]. mask: [Q, K], True = may attend; masked cells are hatched, and their weight is in the tooltip.
    query_tokens, key_tokens: what each row and column reads; tokens may repeat and hold anything, "<b>" stays "<b>".
    query_writes: what each row writes, for decoder rows; it stands at the right of the row.
    query_originals, key_originals: what was typed; where a token stands for something else, both are shown.
    selected_query: the row that gets a ring and bold labels.
    hidden: [Q], the share of each row's weight that keys hold which were left out; it is in the tooltip, and rows of
    which that is more than 0.9 are faint.
    Cells carry their own text, so that a figure is meant for up to about 256 tokens a side.
    Raises ValueError if the shapes and the numbers of tokens do not fit.
    """
    grid = np.asarray(weights, dtype=np.float32)
    _check(grid, mask, query_tokens, key_tokens, query_writes, selected_query, hidden)
    allowed = np.ones(grid.shape, bool) if mask is None else np.asarray(mask, bool)
    queries = _Labels.of(query_tokens, query_originals)
    keys = _Labels.of(key_tokens, key_originals)
    writes = _Labels.of(query_writes) if query_writes else None
    shares = None if hidden is None else np.asarray(hidden, dtype=np.float64)
    faint = [] if shares is None else np.flatnonzero(shares > MOSTLY_HIDDEN).tolist()
    sizes = _Sizes.of(queries, keys, writes, height)
    gap = 1 if min(sizes.row, sizes.column) >= 6 else 0
    figure = go.Figure(
        go.Heatmap(
            z=np.where(allowed | (grid != 0), grid, np.float32(np.nan)),
            x=np.arange(grid.shape[1]),
            y=np.arange(grid.shape[0]),
            text=_hover(grid, allowed, queries, keys, writes, shares),
            hovertemplate="%{text}<extra></extra>",
            zmin=0,
            zmax=1,
            zsmooth=False,
            xgap=gap,
            ygap=gap,
            colorscale=themes.colorscale(kind, theme, derived=derived),
        )
    )
    figure.add_traces(_hatch(grid, allowed, theme))
    figure.update_layout(
        **themes.base_layout(theme),
        title=themes.title(labels.escape(title), theme),
        height=height,
        margin={"l": sizes.left, "r": sizes.right, "t": sizes.top, "b": _BOTTOM, "pad": 0},
        barmode="overlay",
    )
    _draw_axes(figure, queries, keys, writes, sizes, kind, theme, selected_query)
    _legend(
        figure, f"{scale_name}{f'; faint: more than {MOSTLY_HIDDEN} of the row is hidden' * bool(faint)}", theme, height
    )
    _fade(figure, faint, grid.shape[1], theme)
    _name_axes(figure, kind, writes is not None, sizes.top - _TOP + 4, theme)
    if selected_query is not None:
        _ring(figure, selected_query, grid.shape[1], sizes, theme)
    return figure


@dataclass(frozen=True)
class _Labels:
    """The tokens of one axis, and what was typed where the model reads something else."""

    tokens: tuple[str, ...]
    originals: tuple[str, ...]

    @classmethod
    def of(cls, tokens: Sequence[str], originals: Sequence[str] | None = None) -> _Labels:
        return cls(tuple(tokens), tuple(tokens if originals is None else originals))

    def replaced(self, i: int) -> bool:
        """Whether the model reads something else than what was typed; another case of it is the same."""
        return self.originals[i].lower() != self.tokens[i].lower()

    @property
    def any_replaced(self) -> bool:
        return any(map(self.replaced, range(len(self.tokens))))

    def columns(self, i: int, *, side_by_side: bool = False) -> float:
        """How wide the label is, in columns of the font; its two parts stand one above the other or side by side."""
        if not self.replaced(i):
            return _columns(self.tokens[i])
        typed, read = _columns(self.originals[i]), _columns(self.tokens[i]) * _SMALL / 14
        return typed + 1 + read if side_by_side else max(typed, read)

    @property
    def longest(self) -> float:
        """The widest label, in one line."""
        return max(self.columns(i, side_by_side=True) for i in range(len(self.tokens)))

    def tick(self, i: int, join: str, *, bold: bool) -> str:
        """What the model reads, in small behind what was typed where that is something else."""
        text = labels.tick(self.tokens[i], _LABEL_COLUMNS)
        if self.replaced(i):
            small = f'<span style="font-size:{_SMALL}px">{text}</span>'
            text = f"{labels.tick(self.originals[i], _LABEL_COLUMNS)}{join}{small}"
        return f" <b>{text}</b> " if bold else f" {text} "

    def named(self, i: int) -> str:
        """The token in full, for a tooltip."""
        if self.originals[i] == self.tokens[i]:
            return _quoted(self.tokens[i])
        return f"{_quoted(self.tokens[i])}, typed {_quoted(self.originals[i])}"


@dataclass(frozen=True)
class _Sizes:
    """Pixels. Margins are the same for all runs whose words are of usual length, so that nothing jumps."""

    left: float
    right: float
    top: float
    row: float
    column: float
    shown_rows: float
    upright: bool  # the labels over the columns
    key_font: float

    @classmethod
    def of(cls, queries: _Labels, keys: _Labels, writes: _Labels | None, height: int) -> _Sizes:
        left, right = _margin(queries), 12 if writes is None else _margin(writes)
        rows, columns = len(queries.tokens), len(keys.tokens)
        column = (_NOMINAL_WIDTH - left - right) / columns
        widths = [keys.columns(i) for i in range(columns)]
        widest = max([*map(sum, pairwise(widths)), 1]) / 2  # half of each of two neighbours
        fitting = [size for size in (14, 13, 12, 11) if widest * size * _CHARACTER + 1 <= column]
        upright = not fitting
        key_font = max(8, min(14, column * 0.82)) if upright else fitting[0]
        label_height = keys.longest * key_font * _CHARACTER + 4 if upright else 18 + 12 * keys.any_replaced
        top = _TOP + _AXIS_TITLE + label_height
        shown_rows = max(float(rows), (height - top - _BOTTOM) / _TALLEST_ROW)
        row = (height - top - _BOTTOM) / shown_rows
        return cls(left, right, top, row, column, shown_rows, upright, key_font)


def _columns(token: str) -> int:
    return min(_LABEL_COLUMNS, labels.width(labels.visible(token)))


def _margin(side: _Labels) -> float:
    return 24 + math.ceil(max(8, side.longest) * 14 * _CHARACTER)


def _check(
    grid: NDArray[np.float32],
    mask: ArrayLike | None,
    query_tokens: Sequence[str],
    key_tokens: Sequence[str],
    query_writes: Sequence[str] | None,
    selected_query: int | None,
    hidden: ArrayLike | None,
) -> None:
    if grid.ndim != 2 or 0 in grid.shape:
        raise ValueError(f"weights have the shape {grid.shape}, a heatmap needs [queries, keys] with at least one each")
    if grid.shape != (len(query_tokens), len(key_tokens)):
        raise ValueError(f"weights {grid.shape} do not fit {len(query_tokens)} query and {len(key_tokens)} key tokens")
    if mask is not None and np.shape(mask) != grid.shape:
        raise ValueError(f"mask {np.shape(mask)} does not have the shape of the weights {grid.shape}")
    if query_writes is not None and len(query_writes) != len(query_tokens):
        raise ValueError(f"{len(query_writes)} written tokens do not fit {len(query_tokens)} queries")
    if hidden is not None and np.shape(hidden) != grid.shape[:1]:
        raise ValueError(f"hidden {np.shape(hidden)} does not fit {len(query_tokens)} query tokens")
    if selected_query is not None and not 0 <= selected_query < grid.shape[0]:
        raise ValueError(f"selected_query={selected_query} is not a row: rows go from 0 to {grid.shape[0] - 1}")


def _draw_axes(
    figure: go.Figure,
    queries: _Labels,
    keys: _Labels,
    writes: _Labels | None,
    sizes: _Sizes,
    kind: KindName,
    theme: Theme,
    selected: int | None,
) -> None:
    """Integer positions with the tokens as tick text: equal tokens keep their own rows and columns."""
    query_ink, key_ink = themes.inks(kind, theme)
    plain = {"zeroline": False, "showgrid": False, "fixedrange": True, "ticks": ""}
    figure.update_xaxes(
        **plain,
        **_ticks(keys, sizes.column, sizes.key_font if sizes.upright else 0, " " if sizes.upright else "<br>"),
        side="top",
        range=[-0.5, len(keys.tokens) - 0.5],
        tickangle=-90 if sizes.upright else 0,
        tickfont={"family": themes.MONO_STACK, "size": sizes.key_font, "color": key_ink},
    )
    font = max(8, min(14, sizes.row * 0.82))
    down = {**plain, "range": [sizes.shown_rows - 0.5, -0.5]}
    down["tickfont"] = {"family": themes.MONO_STACK, "size": font, "color": query_ink}
    figure.update_layout(yaxis={**down, **_ticks(queries, sizes.row, font, " ", selected)})
    if writes is not None:
        figure.add_trace(go.Scatter(x=[None], y=[None], yaxis="y2", hoverinfo="skip"))  # an axis needs a trace
        right = {**down, "overlaying": "y", "side": "right"}
        figure.update_layout(yaxis2={**right, **_ticks(writes, sizes.row, font, " ", selected)})


def _ticks(side: _Labels, cell: float, size: float, join: str, selected: int | None = None) -> dict[str, Any]:
    """Integer positions with the tokens as their text; every second, third, ... where cells are small."""
    every = max(1, math.ceil((size + 1) / cell)) if size else 1
    shown = [i for i in range(len(side.tokens)) if i % every == 0 or i == selected]
    return {
        "tickmode": "array",
        "tickvals": shown,
        "ticktext": [side.tick(i, join, bold=i == selected) for i in shown],
    }


def _hover(
    grid: NDArray[np.float32],
    allowed: NDArray[np.bool_],
    queries: _Labels,
    keys: _Labels,
    writes: _Labels | None,
    hidden: NDArray[np.float64] | None,
) -> list[list[str]]:
    """The tooltip of each cell: both tokens in full with their positions, and the value with its name."""
    key_lines = [f"key {j}: {keys.named(j)}" for j in range(len(keys.tokens))]
    texts = []
    for i in range(len(queries.tokens)):
        query = f"query {i}: {'' if writes is None else 'reads '}{queries.named(i)}"
        if writes is not None:
            query += f", writes {writes.named(i)}"
        values = (
            f"weight {labels.share(float(w))}" if may else f"masked, weight {labels.share(float(w))}"
            for w, may in zip(grid[i], allowed[i], strict=True)
        )
        more = (
            ""
            if hidden is None
            else f"<br>{labels.escape(labels.share(float(hidden[i])))} of this row's weight is hidden"
        )
        texts.append([f"{query}<br>{key}<br>{value}{more}" for key, value in zip(key_lines, values, strict=True)])
    return texts


def _quoted(token: str) -> str:
    return f"“{labels.escape(labels.isolated(labels.shorten(labels.visible(token), 200)))}”"


def _legend(figure: go.Figure, name: str, theme: Theme, height: int) -> None:
    """A bar of 8 pixels with its two ends, and beside it what it measures."""
    colors = themes.palette(theme)
    figure.update_traces(
        selector={"type": "heatmap"},
        colorbar={
            "orientation": "h",
            "thickness": 8,
            "lenmode": "pixels",
            "len": 160,
            "x": 0,
            "xanchor": "left",
            "xref": "paper",
            "xpad": 16,
            "y": 8 / height,
            "yanchor": "bottom",
            "yref": "container",
            "ypad": 0,
            "outlinewidth": 0,
            "showticklabels": False,
            "ticks": "",
        },
    )
    place = {"xref": "paper", "x": 0, "xanchor": "left", "yref": "paper", "y": 0, "yanchor": "middle"}
    note = {**place, "yshift": 12 - _BOTTOM, "showarrow": False}
    mono = {"family": themes.MONO_STACK, "size": 13, "color": colors.muted}
    figure.add_annotation(text="0", font=mono, **note)
    figure.add_annotation(text="1", font=mono, xshift=152, **note)
    figure.add_annotation(text=labels.escape(name), font={"size": 13, "color": colors.muted}, xshift=176, **note)


def _hatch(grid: NDArray[np.float32], allowed: NDArray[np.bool_], theme: Theme) -> list[go.Bar]:
    """Bars with a 45 degree hatch over each run of masked cells: opaque where the weight is 0, see-through above it."""
    colors = themes.palette(theme)
    bars = []
    for cells, fill in ((~allowed & (grid == 0), colors.surface), (~allowed & (grid != 0), "rgba(0,0,0,0)")):
        runs = [(i, start, end) for i, row in enumerate(cells) for start, end in _runs(row)]
        if runs:
            pattern = {"shape": "/", "size": 5, "solidity": 0.2, "fgcolor": colors.line, "bgcolor": fill}
            bars.append(
                go.Bar(
                    orientation="h",
                    y=[i for i, _, _ in runs],
                    base=[start - 0.5 for _, start, _ in runs],
                    x=[end - start for _, start, end in runs],
                    width=1,
                    hoverinfo="skip",
                    marker={"color": fill, "line": {"width": 0}, "pattern": pattern},
                )
            )
    return bars


def _runs(cells: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Start and end of each run of True."""
    edges = np.flatnonzero(np.diff(np.concatenate(([0], cells.astype(np.int8), [0]))))
    return list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))


def _name_axes(figure: go.Figure, kind: KindName, writes: bool, lift: float, theme: Theme) -> None:
    """What rows and columns are, in words, `lift` pixels above the cells."""
    query_noun, key_noun = KINDS[kind].sides("source", "target")
    place = {"yref": "paper", "y": 1, "yanchor": "top", "yshift": lift}
    note = {**place, "showarrow": False, "font": {"size": 13, "color": themes.palette(theme).muted}}
    figure.add_annotation(text=f"keys: {key_noun} tokens", xref="paper", x=0.5, xanchor="center", **note)
    side = "queries read" if writes else f"queries: {query_noun}"
    figure.add_annotation(text=side, xref="paper", x=0, xanchor="right", xshift=-6, **note)
    if writes:
        figure.add_annotation(text="and write", xref="paper", x=1, xanchor="left", xshift=6, **note)


def _fade(figure: go.Figure, rows: Sequence[int], columns: int, theme: Theme) -> None:
    """A veil of page colour over each of these rows."""
    veil = {"type": "rect", "fillcolor": themes.palette(theme).page, "opacity": 0.5, "line": {"width": 0}}
    for row in rows:
        figure.add_shape(x0=-0.5, x1=columns - 0.5, y0=row - 0.5, y1=row + 0.5, layer="above", **veil)


def _ring(figure: go.Figure, row: int, columns: int, sizes: _Sizes, theme: Theme) -> None:
    """A ring round the selected row: 2 pixels of text colour, inside it 2 pixels of page colour."""
    colors = themes.palette(theme)
    for inset, color in ((0, colors.text), (2, colors.page)):
        figure.add_shape(
            type="rect",
            x0=-0.5 + inset / sizes.column,
            x1=columns - 0.5 - inset / sizes.column,
            y0=row - 0.5 + inset / sizes.row,
            y1=row + 0.5 - inset / sizes.row,
            line={"color": color, "width": 2},
            layer="above",
        )
