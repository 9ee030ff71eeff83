"""The pictures of the Playground: attention as tables, norms, the simplex, and curves of small experiments."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import ArrayLike, NDArray

from viz_transformer.figures import labels
from viz_transformer.figures.number_grids import COLUMN, ROW, WIDTH, Grid, Scale, full, limit_of, number_grids
from viz_transformer.figures.template import LEGEND_ABOVE, SILENT, dressed
from viz_transformer.figures.theme import MONO_STACK, Theme, palette
from viz_transformer.numerals import significant

if TYPE_CHECKING:
    from viz_transformer.analysis.playground.by_hand import Attended, Normalised

_LABEL = 46  # pixels for names of rows
_GAP = 26
_LAST = 84  # pixels of the name under the last table
ON_A_LINE = 4
"""Products of a sum per line of a tooltip."""
_RAISED = 14  # pixels by which a raised table is above its neighbours


def _fill_tooltips(values: NDArray[np.float64], text: Callable[[int, int], str]) -> list[list[str]]:
    """The tooltips of all cells, from a function of row and column."""
    return [[text(i, j) for j in range(values.shape[1])] for i in range(len(values))]


# --- attention as a row of tables


def attention_row(
    attended: Attended, *, kind: Scale = "cross", scaled: bool = True, title: str, theme: Theme = "light"
) -> go.Figure:
    """Tables of attention side by side: Q, K, their products, scaled, masked, softmax, V and the output.

    A product is at the row of its query and the column of its key, an output at the row of its weights and a column of
    V. Tooltips show each computation.
    """
    query, key, value = attended.vectors.query, attended.vectors.key, attended.vectors.value
    products, scores, weights, mask = attended.products, attended.scores, attended.weights, attended.mask
    queries, keys, d_k, d_v = *products.shape, query.shape[1], value.shape[1]
    has_mask = not mask.all()
    cells = d_k + (2 + scaled + has_mask) * keys + d_v
    room = WIDTH - _LABEL - (3 + scaled + has_mask) * _GAP
    column = min(COLUMN, room / cells)
    column = min(column, (room - max(0.0, _LAST - d_v * column)) / cells)  # a narrow output keeps room for its name
    own, most = limit_of(query, key, value, attended.output), limit_of(products)
    digits = 2 if column >= 40 else 1
    left, top = float(_LABEL), 58.0 + max(d_k, keys) * ROW
    grids: list[Grid] = []

    def put(values: NDArray[np.float64], limit: float, text: Callable[[int, int], str], **more: Any) -> None:
        """Add a table right of the last one; a raised one has the next below it."""
        nonlocal left
        raised = "above" in more
        at = top - _RAISED - len(values) * ROW if raised else top
        more = {"scale": "diverging", "digits": digits, **more}
        grids.append(Grid(values, left, at, limit=limit, hover=_fill_tooltips(values, text), **more))
        left += 0 if raised else values.shape[1] * column + _GAP

    def given(name: str, table: NDArray[np.float64]) -> Callable[[int, int], str]:
        return lambda i, f: f"{name} {i}, feature {f}<br>{full(table[i, f])}"

    def cell(i: int, j: int) -> str:
        return f"query {i}, key {j}<br>"

    divisor = significant(attended.divisor)
    names, key_names = tuple(f"q{i}" for i in range(queries)), tuple(f"k{j}" for j in range(keys))
    below = ("Q", f"{queries} queries of {d_k}")
    put(query, own, given("query", query), digits=_digits(query), below=below, rows=names)
    of_key = given("key", key)
    above = "Kᵀ: a column is a key"
    put(key.T, own, lambda f, j: of_key(j, f), digits=_digits(key), above=above, columns=key_names)
    put(products, most, lambda i, j: _sum_of(query[i], key[j], f"q{i} · k{j}"), below=("Q Kᵀ", "products"))
    if scaled:
        put(
            scores,
            most,
            lambda i, j: f"{cell(i, j)}{full(products[i, j])} ÷ {divisor}<br>= {full(scores[i, j])}",
            below=(f"÷ √{d_k}", "scores"),
        )
    if has_mask:
        below = ("mask", "hatched: forbidden")
        put(
            scores,
            most,
            lambda i, j: cell(i, j) + (full(scores[i, j]) if mask[i, j] else "masked"),
            mask=mask,
            below=below,
        )
    put(
        weights,
        1.0,
        lambda i, j: cell(i, j) + _weight_words(attended, i, j),
        scale=kind,
        digits=2,
        mask=mask if has_mask else None,
        below=("softmax", "weights: rows sum to 1" if mask.any(axis=1).all() else "no key allowed: zeros"),
        columns=key_names,
    )
    put(value, own, given("value", value), digits=_digits(value), above="V")
    put(
        attended.output,
        own,
        lambda i, f: _sum_of(weights[i], value[:, f], f"output of query {i}, feature {f}"),
        below=("weights · V", "output"),
    )
    scales: list[tuple[Scale, float, str]] = [
        ("diverging", own, "Q, K, V, output"),
        ("diverging", most, "products and scores"),
        (kind, 1.0, "weights"),
    ]
    return number_grids(grids, column=column, scales=scales, title=title, theme=theme)


def _digits(table: NDArray[np.float64]) -> int:
    """The decimals to show: one if the numbers have no more, else two."""
    return 1 if np.array_equal(np.round(table, 1), table) else 2


def _sum_of(first: NDArray[np.float64], second: NDArray[np.float64], name: str) -> str:
    """The dot product of two vectors, written out in the lines of a tooltip."""
    terms = [f"{full(float(a))}×{full(float(b))}" for a, b in zip(first, second, strict=True)]
    lines = [" + ".join(terms[start : start + ON_A_LINE]) for start in range(0, len(terms), ON_A_LINE)]
    return f"{name}<br>{'<br>+ '.join(lines)}<br>= {full(float(first @ second))}"


def _weight_words(attended: Attended, query: int, key: int) -> str:
    if not attended.mask[query, key]:
        return "masked, weight 0"
    score, weight = float(attended.scores[query, key]), float(attended.weights[query, key])
    total = float(np.exp(attended.scores[query][attended.mask[query]]).sum())
    return f"exp({full(score)}) ÷ {full(total)}<br>weight {labels.share(weight)}"


# --- tables of the norms and of the trainings


FRAME = 4.0
"""Room for a frame's line at the right edge, in pixels."""


def norm_row(found: Sequence[Normalised], *, title: str, theme: Theme = "light") -> go.Figure:
    """Tables before and after each norm; a frame surrounds the numbers that share one mean and one variance."""
    x = found[0].x
    texts, tokens, features = x.shape
    names = {"layer": "Layer norm", "batch": "Batch norm", "positions-and-features": "Positions and features"}
    over = {
        "layer": "over the features of a token",
        "batch": "over texts and tokens, by feature",
        "positions-and-features": "over all numbers of a text",
    }
    boxes = {
        "layer": tuple((row, 0, 1, features) for row in range(texts * tokens)),
        "batch": tuple((0, column, texts * tokens, 1) for column in range(features)),
        "positions-and-features": tuple((text * tokens, 0, tokens, features) for text in range(texts)),
    }
    rows = tuple(f"text {b}, token {t}" for b in range(texts) for t in range(tokens))
    label, gap = 140, 30
    column = (WIDTH - label - len(found) * gap - FRAME) / ((len(found) + 1) * features)
    before, most = limit_of(x), limit_of(*(each.values for each in found))
    flat = x.reshape(texts * tokens, features)
    columns = tuple(str(f) for f in range(features))
    left, top = float(label), 72.0
    grids = [
        Grid(
            flat,
            left,
            top,
            "diverging",
            before,
            _fill_tooltips(flat, lambda i, f: f"{rows[i]}, feature {f}<br>{full(flat[i, f])}"),
            digits=_digits(flat),
            below=("Before", "the stream of two texts"),
            rows=rows,
            columns=columns,
            above="feature",
        )
    ]
    for each in found:
        left += features * column + gap
        said, below = _fill_tooltips(flat, _normalised_words(each, rows)), (names[each.norm], over[each.norm])
        values, framed = each.values.reshape(flat.shape), boxes[each.norm]
        grids.append(Grid(values, left, top, "diverging", most, said, below=below, columns=columns, boxes=framed))
    scales: list[tuple[Scale, float, str]] = [("diverging", before, "before"), ("diverging", most, "after, all norms")]
    return number_grids(grids, column=column, scales=scales, title=title, theme=theme)


def _normalised_words(found: Normalised, rows: Sequence[str]) -> Callable[[int, int], str]:
    """A function that explains each number, by its row and feature."""
    x = found.x.reshape(len(rows), -1)
    mean, variance, values = (
        np.broadcast_to(each, found.x.shape).reshape(x.shape) for each in (found.mean, found.variance, found.values)
    )
    return lambda i, f: (
        f"{rows[i]}, feature {f}<br>({full(x[i, f])} - {full(mean[i, f])})"
        f" ÷ √({full(variance[i, f])} + 0.00001)<br>= {full(values[i, f])} with gain and offset"
    )


def rebuilt_row(
    wanted: ArrayLike, outputs: Sequence[tuple[str, ArrayLike]], *, title: str, theme: Theme = "light"
) -> go.Figure:
    """Tables of the input and of each network's output, [T, D], on one scale."""
    asked = np.asarray(wanted, np.float64)
    tables = [("input, wanted", asked), *((name, np.asarray(output, np.float64)) for name, output in outputs)]
    column = _column(tables)
    limit = limit_of(*(table for _, table in tables))
    grids: list[Grid] = []
    for left, name, table in _lay_out(tables, column):
        said = [
            [
                f"{name}<br>vector {i}, feature {f}: {full(value)}"
                + (f"<br>wanted {full(asked[i, f])}" if grids else "")
                for f, value in enumerate(line)
            ]
            for i, line in enumerate(table)
        ]
        rows = () if grids else tuple(f"x{i}" for i in range(len(table)))
        grids.append(Grid(table, left, 34.0, "diverging", limit, said, below=(name,), rows=rows))
    scales: list[tuple[Scale, float, str]] = [("diverging", limit, "the vectors' numbers")]
    return number_grids(grids, column=column, scales=scales, title=title, theme=theme)


def map_row(
    maps: Sequence[tuple[str, ArrayLike]], *, names: Sequence[str], kind: Scale, title: str, theme: Theme = "light"
) -> go.Figure:
    """Attention maps of the same vectors side by side, [T, T] each, from 0 to 1; names are the vectors'."""
    tables = [(name, np.asarray(table, np.float64)) for name, table in maps]
    column = _column(tables)
    grids: list[Grid] = []
    for left, name, table in _lay_out(tables, column):
        said = [
            [f"{name}<br>{a} reads {b}<br>weight {labels.share(w)}" for b, w in zip(names, line, strict=True)]
            for a, line in zip(names, table.tolist(), strict=True)
        ]
        rows = () if grids else tuple(names)
        grids.append(Grid(table, left, 52.0, kind, 1.0, said, below=(name,), rows=rows, columns=tuple(names)))
    row = min(ROW, max(column, 14))
    return number_grids(grids, column=column, row=row, scales=[(kind, 1.0, "weight")], title=title, theme=theme)


def _column(tables: Sequence[tuple[str, NDArray[np.float64]]]) -> float:
    """The width of the cells of tables of one size that fit side by side."""
    size: int = tables[0][1].shape[1]
    return min(COLUMN, (WIDTH - _LABEL - (len(tables) - 1) * _GAP) / (len(tables) * size))


def _lay_out(
    tables: Sequence[tuple[str, NDArray[np.float64]]], column: float
) -> Iterator[tuple[float, str, NDArray[np.float64]]]:
    """The left edge, name and numbers of each table."""
    for place, (name, table) in enumerate(tables):
        yield _LABEL + place * (table.shape[1] * column + _GAP), name, table


# --- the simplex


_SIDE = 400.0  # pixels of a triangle's side, about
_AROUND = tuple(np.array(way) for way in ((16.0, 13.0), (-16.0, 13.0), (16.0, -13.0), (-16.0, -13.0)))


@dataclass(frozen=True, eq=False)
class Dot:
    """A query's weights as a point of the simplex: with scaling and without, [2] each, and what a tooltip says."""

    name: str
    place: NDArray[np.float64]
    unscaled: NDArray[np.float64]
    hover: str
    unscaled_hover: str


def simplex(
    dots: Sequence[Dot], corners: ArrayLike, names: Sequence[tuple[str, str]], *, title: str, theme: Theme = "light"
) -> go.Figure:
    """The figure of a segment or a triangle whose corners are keys; filled points with scaling, hollow ones without.

    corners: [K, 2], K two or three; names: the keys' and their vectors. Raises ValueError for other numbers of them.
    """
    ends = np.asarray(corners, np.float64)
    if len(ends) not in (2, 3) or len(names) != len(ends):
        raise ValueError(f"{len(ends)} corners and {len(names)} names: a simplex here has two or three of both")
    colors = palette(theme)
    segment = len(ends) == 2
    closed, middle = np.vstack([ends, ends[:1]]), ends.mean(axis=0)
    figure = go.Figure()
    silent = {"mode": "lines", **SILENT}
    figure.add_scatter(x=closed[:, 0], y=closed[:, 1], line={"color": colors.muted, "width": 2}, **silent)
    figure.add_scatter(
        x=[middle[0]],
        y=[middle[1]],
        mode="markers",
        marker={"symbol": "cross-thin", "size": 14, "line": {"width": 2, "color": colors.muted}},
        hovertemplate="even weights<extra></extra>",
    )
    for dot in dots:
        x, y = zip(dot.unscaled, dot.place, strict=True)
        figure.add_scatter(x=x, y=y, line={"color": colors.muted, "width": 1}, **silent)
    for places, symbol, hovers in (
        ([dot.unscaled for dot in dots], "circle-open", [dot.unscaled_hover for dot in dots]),
        ([dot.place for dot in dots], "circle", [dot.hover for dot in dots]),
    ):
        figure.add_scatter(
            x=[place[0] for place in places],
            y=[place[1] for place in places],
            mode="markers",
            marker={"symbol": symbol, "size": 13, "color": colors.source_ink, "line": {"width": 2}},
            customdata=hovers,
        )
    _dot_names(figure, dots, segment, theme)
    for (x, y), (name, vector) in zip(ends.tolist(), names, strict=True):
        text = f"<b>{labels.escape(name)}</b><br>{labels.escape(vector)}"
        font = {"family": MONO_STACK, "color": colors.source_ink}
        figure.add_annotation(text=text, x=x, y=y, font=font, yshift=28 if y > 0 else -28)
    upwards = {"range": [-0.5, 0.75]} if segment else {"range": [-0.15, 1.0], "scaleanchor": "x"}
    return dressed(figure, theme, title=title, height=280 if segment else 520, margin=(8, 8, 40, 8)).update_layout(
        xaxis={"visible": False, "range": [-0.24, 1.24]},
        yaxis={"visible": False, **upwards},
    )


def _dot_names(figure: go.Figure, dots: Sequence[Dot], segment: bool, theme: Theme) -> None:
    """Add the names of the filled points: on a segment each on its own level, in a triangle where there is most
    room."""
    font = {"family": MONO_STACK, "size": 14, "color": palette(theme).text}
    taken = [place * _SIDE for dot in dots for place in (dot.place, dot.unscaled)]
    for level, dot in enumerate(sorted(dots, key=lambda dot: float(dot.place[0]))):
        x, y = dot.place.tolist()
        shift = np.array([0.0, 16.0 + 17 * (level % 4)])
        if not segment:
            here = dot.place * _SIDE
            others = [spot for spot in taken if not np.array_equal(spot, here)]
            shift = max(_AROUND, key=lambda way: min((math.dist(here + way, spot) for spot in others), default=0.0))
            taken.append(here + shift)
        figure.add_annotation(text=labels.escape(dot.name), x=x, y=y, xshift=shift[0], yshift=shift[1], font=font)


# --- curves


@dataclass(frozen=True, eq=False)
class Curve:
    """One line: `ink` is the number of its colour, or None for a muted one."""

    name: str
    x: ArrayLike
    y: ArrayLike
    ink: int | None = None
    dash: str = "solid"
    width: float = 2.5


@dataclass(frozen=True)
class CurveAxis:
    """An axis of curves."""

    title: str
    log: bool = False
    bounds: tuple[float, float] | None = None
    """The range of the axis, in its own units; None: the range of the lines."""


def curves(
    lines: Sequence[Curve],
    x_axis: CurveAxis,
    y_axis: CurveAxis,
    *,
    title: str,
    levels: Sequence[tuple[float, str]] = (),
    theme: Theme = "light",
) -> go.Figure:
    """The chart of lines on one pair of axes, with their names above; levels: horizontal lines with a label each.

    Points outside the domain of a logarithmic axis are left out.
    """
    colors = palette(theme)
    figure = go.Figure()
    for line in lines:
        x, y = np.asarray(line.x, np.float64), np.asarray(line.y, np.float64)
        usable = np.isfinite(x) & np.isfinite(y) & ((x > 0) | (not x_axis.log)) & ((y > 0) | (not y_axis.log))
        name, ink = labels.escape(line.name), colors.muted if line.ink is None else colors.heads[line.ink]
        figure.add_scatter(
            x=x[usable],
            y=y[usable],
            name=name,
            mode="lines",
            line={"color": ink, "width": line.width, "dash": line.dash},
            customdata=[significant(value) for value in y[usable].tolist()],
            hovertemplate=f"{name}<br>{labels.escape(x_axis.title)} %{{x:,}}<br>%{{customdata}}<extra></extra>",
        )
    for value, word in levels:
        figure.add_hline(y=value, line={"color": colors.muted, "width": 1, "dash": "dot"})
        end = {"xref": "paper", "x": 1, "xanchor": "right", "y": math.log10(value) if y_axis.log else value}
        figure.add_annotation(text=labels.escape(word), yanchor="bottom", **end)
    return dressed(figure, theme, title=title, height=340, margin=(64, 12, 72, 48)).update_layout(
        xaxis={
            "showgrid": True,
            **_axis(x_axis, [line.x for line in lines]),
            "title": {"text": labels.escape(x_axis.title)},
        },
        yaxis={**_axis(y_axis, [line.y for line in lines]), "title": {"text": labels.escape(y_axis.title)}},
        showlegend=len(lines) > 1,
        legend={**LEGEND_ABOVE, "y": 1.02},
    )


def _axis(axis: CurveAxis, shown: Sequence[ArrayLike]) -> dict[str, Any]:
    """A linear axis, or a logarithmic one with a label at each decade: plotly's own powers are in larger type."""
    log, bounds = axis.log, axis.bounds
    reach = {} if bounds is None else {"range": [math.log10(end) if log else end for end in bounds]}
    if not log:
        return reach
    values = np.concatenate([np.asarray(each, np.float64).ravel() for each in shown] + [np.asarray(bounds or ())])
    values = values[np.isfinite(values) & (values > 0)]
    ends = np.log10([values.min(), values.max()]) if len(values) else (0.0, 0.0)
    powers = range(math.floor(ends[0]), math.ceil(ends[1]) + 1)
    said = ["1" if not power else "10" if power == 1 else f"10<sup>{power}</sup>" for power in powers]
    return {"type": "log", "tickvals": [10.0**power for power in powers], "ticktext": said, **reach}
