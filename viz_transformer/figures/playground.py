"""The pictures of the Playground: attention as tables, norms, the simplex, and curves of small experiments."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import ArrayLike, NDArray

from viz_transformer.figures import labels
from viz_transformer.figures import theme as themes
from viz_transformer.figures.number_grids import COLUMN, ROW, WIDTH, Grid, Scale, full, limit_of, number_grids
from viz_transformer.figures.template import template
from viz_transformer.figures.theme import Theme
from viz_transformer.numerals import significant

if TYPE_CHECKING:
    from viz_transformer.analysis.playground.by_hand import Attended, Normalised

_LABEL = 46  # pixels for names of rows
_GAP = 26
_LAST = 84  # pixels of the name under the last table


# --- attention as a row of tables


def attention_row(
    attended: Attended, *, kind: Scale = "cross", scaled: bool = True, title: str, theme: Theme = "light"
) -> go.Figure:
    """Q and K make the products, then scaled, masked, softmax, and with V the output: one table beside the other.

    A product stands where the row of its query meets the column of its key, an output where the row of its weights
    meets a column of V. Tooltips write each number out.
    """
    given, mask = attended.vectors, attended.mask
    queries, keys, d_v = *attended.products.shape, given.value.shape[1]
    d_k = given.query.shape[1]
    has_mask = not mask.all()
    between = 3 + scaled + has_mask
    cells = d_k + (2 + scaled + has_mask) * keys + d_v
    room = WIDTH - _LABEL - between * _GAP
    column = min(COLUMN, room / cells)
    column = min(column, (room - max(0.0, _LAST - d_v * column)) / cells)  # a narrow output keeps room for its name
    over = max(d_k, keys) * ROW
    top = 52.0 + over
    own = limit_of(given.query, given.key, given.value, attended.output)
    most = limit_of(attended.products)
    left = float(_LABEL)
    names = tuple(f"q{i}" for i in range(queries))
    key_names = tuple(f"k{j}" for j in range(keys))
    grids = [
        Grid(
            given.query,
            left,
            top,
            "diverging",
            own,
            [
                [f"query {i}, feature {f}<br>{full(v)}" for f, v in enumerate(line)]
                for i, line in enumerate(given.query)
            ],
            digits=_digits(given.query),
            below=("Q", f"{queries} queries of {d_k}"),
            rows=names,
        )
    ]
    left += d_k * column + _GAP
    grids.append(
        Grid(
            given.key.T,
            left,
            top - 14 - d_k * ROW,
            "diverging",
            own,
            [
                [f"key {j}, feature {f}<br>{full(float(v))}" for j, v in enumerate(line)]
                for f, line in enumerate(given.key.T)
            ],
            digits=_digits(given.key),
            above="Kᵀ: a column is a key",
            columns=key_names,
        )
    )
    digits = 2 if column >= 40 else 1
    grids.append(
        Grid(
            attended.products,
            left,
            top,
            "diverging",
            most,
            [[_sum_of(given.query[i], given.key[j], f"q{i} · k{j}") for j in range(keys)] for i in range(queries)],
            digits=digits,
            below=("Q Kᵀ", "products"),
        )
    )
    left += keys * column + _GAP
    if scaled:
        said = [
            [
                f"query {i}, key {j}<br>{full(attended.products[i, j])} ÷ {significant(attended.divisor)}"
                f" = {full(attended.scores[i, j])}"
                for j in range(keys)
            ]
            for i in range(queries)
        ]
        below = (f"÷ √{d_k}", "scores")
        grids.append(Grid(attended.scores, left, top, "diverging", most, said, digits=digits, below=below))
        left += keys * column + _GAP
    if has_mask:
        said = [
            [f"query {i}, key {j}<br>{full(attended.scores[i, j]) if mask[i, j] else 'masked'}" for j in range(keys)]
            for i in range(queries)
        ]
        below = ("mask", "hatched: forbidden")
        grids.append(Grid(attended.scores, left, top, "diverging", most, said, digits=digits, mask=mask, below=below))
        left += keys * column + _GAP
    grids.append(
        Grid(
            attended.weights,
            left,
            top,
            kind,
            1.0,
            [[_weight_words(attended, i, j) for j in range(keys)] for i in range(queries)],
            mask=mask if has_mask else None,
            below=("softmax", "weights: rows sum to 1" if mask.any(axis=1).all() else "no key allowed: zeros"),
            columns=key_names,
        )
    )
    left += keys * column + _GAP
    grids.append(
        Grid(
            given.value,
            left,
            top - 14 - keys * ROW,
            "diverging",
            own,
            [
                [f"value {j}, feature {f}<br>{full(v)}" for f, v in enumerate(line)]
                for j, line in enumerate(given.value)
            ],
            digits=_digits(given.value),
            above="V",
        )
    )
    grids.append(
        Grid(
            attended.output,
            left,
            top,
            "diverging",
            own,
            [
                [
                    _sum_of(attended.weights[i], given.value[:, f], f"output of query {i}, feature {f}")
                    for f in range(d_v)
                ]
                for i in range(queries)
            ],
            digits=digits,
            below=("weights · V", "output"),
        )
    )
    scales: list[tuple[Scale, float, str]] = [
        ("diverging", own, "Q, K, V, output"),
        ("diverging", most, "products and scores"),
        (kind, 1.0, "weights"),
    ]
    return number_grids(grids, column=column, scales=scales, title=title, theme=theme)


def _digits(table: NDArray[np.float64]) -> int:
    """One decimal where that is all that the numbers have, else two."""
    return 1 if np.array_equal(np.round(table, 1), table) else 2


def _sum_of(first: NDArray[np.float64], second: NDArray[np.float64], name: str) -> str:
    """The products of two vectors and their sum, as one writes it by hand."""
    terms = " + ".join(f"{full(float(a))}×{full(float(b))}" for a, b in zip(first, second, strict=True))
    return f"{name}<br>{terms}<br>= {full(float(first @ second))}"


def _weight_words(attended: Attended, query: int, key: int) -> str:
    place = f"query {query}, key {key}"
    if not attended.mask[query, key]:
        return f"{place}<br>masked, weight 0"
    score, weight = float(attended.scores[query, key]), float(attended.weights[query, key])
    total = float(np.exp(attended.scores[query][attended.mask[query]]).sum())
    return f"{place}<br>exp({full(score)}) ÷ {full(total)}<br>weight {labels.share(weight)}"


# --- tables of the norms and of the trainings


FRAME = 4.0
"""Room for the line of a frame at the right edge, in pixels."""


def norm_row(found: Sequence[Normalised], *, title: str, theme: Theme = "light") -> go.Figure:
    """The table before, and after each norm; a frame holds the numbers that share one mean and one variance."""
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
    hover = [
        [f"{name}, feature {f}<br>{full(v)}" for f, v in enumerate(line)] for name, line in zip(rows, flat, strict=True)
    ]
    left, top = float(label), 72.0
    grids = [
        Grid(
            flat,
            left,
            top,
            "diverging",
            before,
            hover,
            digits=_digits(flat),
            below=("Before", "the stream of two texts"),
            rows=rows,
            columns=columns,
            above="feature",
        )
    ]
    for each in found:
        left += features * column + gap
        mean, variance = (np.broadcast_to(part, x.shape).reshape(flat.shape) for part in (each.mean, each.variance))
        values = each.values.reshape(flat.shape)
        said = [
            [
                f"{name}, feature {f}<br>({full(flat[i, f])} - {full(mean[i, f])})"
                f" ÷ √({full(variance[i, f])} + 0.00001)<br>= {full(values[i, f])} with gain and offset"
                for f in range(features)
            ]
            for i, name in enumerate(rows)
        ]
        grids.append(
            Grid(
                values,
                left,
                top,
                "diverging",
                most,
                said,
                below=(names[each.norm], over[each.norm]),
                columns=columns,
                boxes=boxes[each.norm],
            )
        )
    scales: list[tuple[Scale, float, str]] = [("diverging", before, "before"), ("diverging", most, "after, all norms")]
    return number_grids(grids, column=column, scales=scales, title=title, theme=theme)


def rebuilt_row(
    wanted: ArrayLike,
    outputs: Sequence[tuple[str, ArrayLike]],
    *,
    title: str,
    theme: Theme = "light",
) -> go.Figure:
    """The input, and beside it what each network gives out: [T, D] tables on one scale."""
    tables = [("input, wanted", np.asarray(wanted, np.float64))]
    tables += [(name, np.asarray(output, np.float64)) for name, output in outputs]
    tokens, size = tables[0][1].shape
    column = min(COLUMN, (WIDTH - _LABEL - (len(tables) - 1) * _GAP) / (len(tables) * size))
    limit = limit_of(*(table for _, table in tables))
    grids = []
    for place, (name, table) in enumerate(tables):
        said = [
            [
                f"{name}<br>vector {i}, feature {f}: {full(table[i, f])}"
                + (f"<br>wanted {full(tables[0][1][i, f])}" if place else "")
                for f in range(size)
            ]
            for i in range(tokens)
        ]
        left = _LABEL + place * (size * column + _GAP)
        rows = tuple(f"x{i}" for i in range(tokens)) if not place else ()
        grids.append(Grid(table, left, 34.0, "diverging", limit, said, below=(name,), rows=rows))
    return number_grids(
        grids, column=column, scales=[("diverging", limit, "the vectors' numbers")], title=title, theme=theme
    )


def map_row(
    maps: Sequence[tuple[str, ArrayLike]],
    *,
    names: Sequence[str],
    kind: Scale,
    title: str,
    mask: ArrayLike | None = None,
    theme: Theme = "light",
) -> go.Figure:
    """Attention maps of the same vectors beside each other, [T, T] each, from 0 to 1; names are the vectors'."""
    tables = [(name, np.asarray(table, np.float64)) for name, table in maps]
    size = len(names)
    column = min(COLUMN, (WIDTH - _LABEL - (len(tables) - 1) * _GAP) / (len(tables) * size))
    allowed = None if mask is None else np.asarray(mask, bool)
    grids = []
    for place, (name, table) in enumerate(tables):
        said = [
            [
                f"{name}<br>{names[i]} reads {names[j]}<br>"
                + (f"weight {labels.share(float(table[i, j]))}" if allowed is None or allowed[i, j] else "masked")
                for j in range(size)
            ]
            for i in range(size)
        ]
        left = _LABEL + place * (size * column + _GAP)
        rows = tuple(names) if not place else ()
        grids.append(
            Grid(table, left, 52.0, kind, 1.0, said, mask=allowed, below=(name,), rows=rows, columns=tuple(names))
        )
    row = min(ROW, max(column, 14))
    return number_grids(grids, column=column, row=row, scales=[(kind, 1.0, "weight")], title=title, theme=theme)


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
    """A segment or a triangle whose corners are keys; filled points with scaling, hollow ones without.

    corners: [K, 2], K two or three; names: the keys' and their vectors. Raises ValueError for other numbers of them.
    """
    ends = np.asarray(corners, np.float64)
    if len(ends) not in (2, 3) or len(names) != len(ends):
        raise ValueError(f"{len(ends)} corners and {len(names)} names: a simplex here has two or three of both")
    colors = themes.palette(theme)
    segment = len(ends) == 2
    closed = np.vstack([ends, ends[:1]])
    figure = go.Figure(
        go.Scatter(
            x=closed[:, 0], y=closed[:, 1], mode="lines", line={"color": colors.muted, "width": 2}, hoverinfo="skip"
        )
    )
    middle = ends.mean(axis=0)
    figure.add_trace(
        go.Scatter(
            x=[middle[0]],
            y=[middle[1]],
            mode="markers",
            marker={"symbol": "cross-thin", "size": 14, "line": {"width": 2, "color": colors.muted}},
            hovertemplate="even weights<extra></extra>",
        )
    )
    for dot in dots:
        figure.add_trace(
            go.Scatter(
                x=[dot.unscaled[0], dot.place[0]],
                y=[dot.unscaled[1], dot.place[1]],
                mode="lines",
                line={"color": colors.muted, "width": 1},
                hoverinfo="skip",
            )
        )
    for places, symbol, hovers in (
        ([dot.unscaled for dot in dots], "circle-open", [dot.unscaled_hover for dot in dots]),
        ([dot.place for dot in dots], "circle", [dot.hover for dot in dots]),
    ):
        figure.add_trace(
            go.Scatter(
                x=[place[0] for place in places],
                y=[place[1] for place in places],
                mode="markers",
                marker={"symbol": symbol, "size": 13, "color": colors.source_ink, "line": {"width": 2}},
                customdata=hovers,
                hovertemplate="%{customdata}<extra></extra>",
            )
        )
    _dot_names(figure, dots, segment, theme)
    _corner_names(figure, ends, names, theme)
    figure.update_layout(
        template=template(theme),
        title_text=labels.escape(title),
        height=280 if segment else 520,
        margin={"l": 8, "r": 8, "t": 40, "b": 8},
    )
    figure.update_xaxes(visible=False, range=[-0.24, 1.24])
    if segment:
        figure.update_yaxes(visible=False, range=[-0.5, 0.75])
    else:
        figure.update_yaxes(visible=False, range=[-0.15, 1.0], scaleanchor="x")
    return figure


def _dot_names(figure: go.Figure, dots: Sequence[Dot], segment: bool, theme: Theme) -> None:
    """Names of the filled points: on a segment each on a level of its own, in a triangle where most room is."""
    font = {"family": themes.MONO_STACK, "size": 14, "color": themes.palette(theme).text}
    taken = [place * _SIDE for dot in dots for place in (dot.place, dot.unscaled)]
    order = sorted(range(len(dots)), key=lambda i: float(dots[i].place[0]))
    for level, i in enumerate(order):
        x, y = (float(part) for part in dots[i].place)
        shift = np.array([0.0, 16.0 + 17 * (level % 4)])
        if not segment:
            here = dots[i].place * _SIDE
            others = [spot for spot in taken if not np.array_equal(spot, here)]
            shift = max(_AROUND, key=lambda way: min((math.dist(here + way, spot) for spot in others), default=0.0))
            taken.append(here + shift)
        figure.add_annotation(
            text=labels.escape(dots[i].name), x=x, y=y, showarrow=False, xshift=shift[0], yshift=shift[1], font=font
        )


def _corner_names(figure: go.Figure, ends: NDArray[np.float64], names: Sequence[tuple[str, str]], theme: Theme) -> None:
    font = {"family": themes.MONO_STACK, "size": 13, "color": themes.palette(theme).source_ink}
    for (x, y), (name, vector) in zip(ends, names, strict=True):
        text = f"<b>{labels.escape(name)}</b><br>{labels.escape(vector)}"
        figure.add_annotation(
            text=text, x=float(x), y=float(y), showarrow=False, font=font, yshift=28 if y > 0 else -28
        )


# --- curves


@dataclass(frozen=True, eq=False)
class Curve:
    """One line: `ink` is the number of its colour, or None for a muted one; hover is a template for x and y."""

    name: str
    x: ArrayLike
    y: ArrayLike
    ink: int | None = None
    dash: str = "solid"
    width: float = 2.5


def curves(
    lines: Sequence[Curve],
    *,
    title: str,
    x_title: str,
    y_title: str,
    levels: Sequence[tuple[float, str]] = (),
    log_x: bool = False,
    log_y: bool = False,
    x_range: tuple[float, float] | None = None,
    y_range: tuple[float, float] | None = None,
    theme: Theme = "light",
    height: int = 340,
) -> go.Figure:
    """Lines on one pair of axes, with their names above; `levels` are horizontal lines with a word on each.

    Points that have no place on a logarithmic axis are left out. Ranges are in the units of the axes.
    """
    colors = themes.palette(theme)
    figure = go.Figure()
    for line in lines:
        x, y = np.asarray(line.x, np.float64), np.asarray(line.y, np.float64)
        usable = np.isfinite(x) & np.isfinite(y) & ((x > 0) | (not log_x)) & ((y > 0) | (not log_y))
        name = labels.escape(line.name)
        figure.add_trace(
            go.Scatter(
                x=x[usable],
                y=y[usable],
                name=name,
                mode="lines",
                line={
                    "color": colors.muted if line.ink is None else colors.heads[line.ink],
                    "width": line.width,
                    "dash": line.dash,
                },
                customdata=[significant(value) for value in y[usable].tolist()],
                hovertemplate=f"{name}<br>{labels.escape(x_title)} %{{x:,}}<br>%{{customdata}}<extra></extra>",
            )
        )
    for value, word in levels:
        figure.add_hline(y=value, line={"color": colors.muted, "width": 1, "dash": "dot"})
        figure.add_annotation(
            text=labels.escape(word),
            xref="paper",
            x=1,
            xanchor="right",
            y=math.log10(value) if log_y else value,
            yanchor="bottom",
            showarrow=False,
            font={"size": 13, "color": colors.muted},
        )
    figure.update_layout(
        template=template(theme),
        title_text=labels.escape(title),
        height=height,
        margin={"l": 64, "r": 12, "t": 72, "b": 48},
        xaxis={"showgrid": True, **_axis(log_x, x_range), "title": {"text": labels.escape(x_title)}},
        yaxis={**_axis(log_y, y_range), "title": {"text": labels.escape(y_title)}},
        showlegend=len(lines) > 1,
        legend={"x": 0, "xanchor": "left", "y": 1.02, "yanchor": "bottom", "yref": "paper"},
    )
    return figure


def _axis(log: bool, bounds: tuple[float, float] | None) -> dict[str, Any]:
    if not log:
        return {} if bounds is None else {"range": list(bounds)}
    found: dict[str, Any] = {"type": "log", "dtick": 1, "exponentformat": "power"}
    if bounds is not None:
        found["range"] = [math.log10(bounds[0]), math.log10(bounds[1])]
    return found
