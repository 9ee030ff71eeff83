"""One score of all heads as a small table: a number in each cell, its grey on a scale between the score's bounds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import ArrayLike, NDArray

from viz_transformer.figures import labels, legend
from viz_transformer.figures import theme as themes
from viz_transformer.figures.theme import Theme
from viz_transformer.numerals import significant

_LEFT, _RIGHT, _TOP = 66, 12, 60
_ROW, _LARGEST_COLUMN = 36, 84  # pixels


def score_table(
    values: ArrayLike,
    *,
    name: str,
    title: str,
    bounds: tuple[float, float],
    baseline: ArrayLike | None = None,
    n: ArrayLike | None = None,
    theme: Theme = "light",
    width: int = 660,
) -> go.Figure:
    """The score of each head, layers as rows and heads as columns, in grey: a score is derived.

    values: [L, H], NaN where a head has none ("–"). name: the score's, such as "entropy". bounds: what the grey reaches
    from and to, the same for every run; a value outside widens it. baseline: [L, H], or one number, what a head would
    have that attends evenly; it stands in the legend and in the tooltip. n: [L, H], or one number, the rows that a
    value comes from. The height follows from the number of layers. Raises ValueError for shapes that do not fit.
    """
    scores = np.asarray(values, dtype=np.float64)
    if scores.ndim != 2 or 0 in scores.shape:
        raise ValueError(f"scores have the shape {scores.shape}, a table needs [layers, heads]")
    others = {"baseline": baseline, "n": n}
    even, counts = (None if each is None else _fitting(each, scores, what) for what, each in others.items())
    low, high = (
        float(reduce([*scores[np.isfinite(scores)], end])) for reduce, end in zip((min, max), bounds, strict=True)
    )
    layers, heads = scores.shape
    lines = [labels.escape(name)]
    if even is not None:
        lines.append(f"baseline {_span(even)}")
    room = width - _LEFT - _RIGHT
    column = min(_LARGEST_COLUMN, room / heads)
    colors = themes.palette(theme)
    cells = go.Heatmap(
        z=np.where(np.isfinite(scores), scores, np.nan).astype(np.float32),
        x=np.arange(heads),
        y=np.arange(layers),
        customdata=_hover(name, scores, even, counts),
        hovertemplate="%{customdata}<extra></extra>",
        zmin=low,
        zmax=high if high > low else low + 1,
        zsmooth=False,
        xgap=1,
        ygap=1,
        colorscale=themes.colorscale("decoder", theme, derived=True),
    )
    figure = go.Figure([cells, _numbers(cells, 13 if column > 44 else 10, theme)])
    figure.update_layout(
        **themes.base_layout(theme),
        title=themes.title(labels.escape(title), theme),
        width=width,
        height=_TOP + layers * _ROW + legend.space(len(lines)),
        margin={"l": _LEFT, "r": _RIGHT, "t": _TOP, "b": legend.space(len(lines)), "pad": 0},
    )
    plain = {"zeroline": False, "showgrid": False, "fixedrange": True, "ticks": "", "tickmode": "array"}
    plain["tickfont"] = {"size": 13, "color": colors.muted}
    words = len(f"head {heads - 1}") * 7 <= column
    figure.update_xaxes(
        **plain,
        side="top",
        range=[-0.5, room / column - 0.5],
        tickangle=0,
        tickvals=list(range(heads)),
        ticktext=[f"head {h}" if words or not h else str(h) for h in range(heads)],
    )
    figure.update_yaxes(
        **plain,
        range=[layers - 0.5, -0.5],
        tickvals=list(range(layers)),
        ticktext=[f"layer {layer} " for layer in range(layers)],
    )
    legend.draw(figure, lines, theme, ends=(significant(low, 3), significant(figure.data[0].zmax, 3)))
    return figure


def _fitting(values: ArrayLike, scores: NDArray[np.float64], what: str) -> NDArray[np.float64]:
    given = np.asarray(values, dtype=np.float64)
    if given.shape not in ((), scores.shape):
        raise ValueError(f"{what} {given.shape} does not have the shape of the scores {scores.shape}")
    return np.broadcast_to(given, scores.shape)


def _numbers(cells: go.Heatmap, size: int, theme: Theme) -> go.Scatter:
    """The number of each cell in the ink that stands out from its grey, a dash where a head has no score."""
    colors = themes.palette(theme)
    rows, columns = np.indices(cells.z.shape)
    texts, inks = [], []
    for value in cells.z.ravel().tolist():
        there = value == value
        grey = _grey(colors.derived, (value - cells.zmin) / (cells.zmax - cells.zmin)) if there else 0.0
        ends = sorted((colors.page, colors.text), key=lambda ink: abs(_grey((ink,), 0) - grey))
        texts.append(labels.escape(labels.number(value, 2)) if there else "–")
        inks.append(ends[-1] if there else colors.muted)
    font = {"family": themes.MONO_STACK, "size": size, "color": inks}
    return go.Scatter(x=columns.ravel(), y=rows.ravel(), text=texts, textfont=font, mode="text", hoverinfo="skip")


def _grey(ramp: Sequence[str], place: float) -> float:
    """How light a ramp of greys is at a place from 0 to 1: its mean of red, green and blue, from 0 to 255."""
    means = [sum(int(color[i : i + 2], 16) for i in (1, 3, 5)) / 3 for color in ramp]
    return float(np.interp(place, np.linspace(0, 1, len(ramp)), means))


def _span(values: NDArray[np.float64]) -> str:
    """One number where all heads share it, else the smallest and the largest."""
    there = values[np.isfinite(values)]
    if not there.size:
        return "–"
    ends = list(dict.fromkeys(labels.number(float(end)) for end in (there.min(), there.max())))
    return " to ".join(map(labels.escape, ends))


def _hover(name: str, scores: NDArray[np.float64], even: Any, counts: Any) -> list[list[str]]:
    """The tooltip of each cell: the head, the value beside its baseline, and how many rows it comes from."""

    def words(layer: int, head: int) -> str:
        value = float(scores[layer, head])
        lines = [
            f"layer {layer}, head {head}",
            f"{name} {labels.number(value)}" if value == value else f"no {name} here",
        ]
        if even is not None and np.isfinite(even[layer, head]):
            lines.append(f"baseline {labels.number(float(even[layer, head]))}")
        if counts is not None:
            lines.append(f"from {(rows := int(counts[layer, head])):,} row{'s' * (rows != 1)}")
        return "<br>".join(map(labels.escape, lines))

    layers, heads = scores.shape
    return [[words(layer, head) for head in range(heads)] for layer in range(layers)]
