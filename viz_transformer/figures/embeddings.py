"""The input of a stack: embedding, position and their sum as strips on one scale."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from viz_transformer import declared
from viz_transformer.analysis.tensors.points import max_pooled
from viz_transformer.figures import labels, legend
from viz_transformer.figures.template import dressed
from viz_transformer.figures.theme import Theme, palette
from viz_transformer.model.kinds import SIDES, SideName
from viz_transformer.numerals import significant

MAX_CELLS = 512
"""The most features and tokens drawn; more are pooled."""
_NAME, _GAP, _TOP = 26, 10, 36
_ONE_ROW, _FEW_ROWS, _ROW, _MOST = 36.0, 22.0, 16.0, 260.0
_LABEL_COLUMNS = 12
_HOVER_TEXTS = 2**16


@dataclass(frozen=True, eq=False)
class Strip:
    """One summand: its name ("+ position") and its numbers, [T, D], or fewer features."""

    name: str
    values: NDArray[np.float32]


@dataclass(frozen=True)
class StripRows:
    """The labels of a strip's rows: the tokens, their positions in the run, and their side."""

    tokens: Sequence[str]
    positions: Sequence[int]
    side: SideName


def input_strips(
    strips: Sequence[Strip],
    read: StripRows,
    *,
    title: str,
    scale: float = 0.0,
    beside: bool = False,
    theme: Theme = "light",
) -> go.Figure:
    """The strips below each other, a row for each token, all on one scale from minus to plus the largest value.

    A cell is equally wide in all of them: a strip of fewer features is shorter, and its name says how many it has.

    The scale goes to `scale` at least, so that two pictures can share one. beside: narrow strips beside others, with a
    shorter legend.

    More than MAX_CELLS rows or features are pooled:
    a cell then shows the value farthest from 0 in its block, which the legend says. Raises ValueError if there is no
    strip, or if one is empty or does not fit the tokens.
    """
    _check(strips, read)
    count, features = len(strips[0].values), max(strip.values.shape[1] for strip in strips)
    equal = all(strip.values.shape[1] == features for strip in strips)
    largest = max(scale, *(float(np.abs(strip.values).max(initial=0.0)) for strip in strips)) or 1.0
    row = _ONE_ROW if count == 1 else max(1.0, min(_FEW_ROWS if count <= 4 else _ROW, _MOST / count))
    panel = row * count
    total = len(strips) * (_NAME + panel + _GAP)
    colors = palette(theme)
    figure, ticks, notes = go.Figure(), dict[float, str](), set[str]()
    names = [labels.tick(token, _LABEL_COLUMNS) for token in read.tokens]
    every = max(1, math.ceil(13 / row))
    for number, strip in enumerate(strips):
        top = number * (_NAME + panel + _GAP) + _NAME
        pooled = max_pooled(strip.values, MAX_CELLS)
        if pooled.rows * pooled.columns > 1:
            blocks = f"{pooled.rows} × {pooled.columns}"
            of = "" if equal else f"strips of {strip.values.shape[1]:,} features are "
            notes.add(f"{of}max-pooled in blocks of {blocks}: each shows its value farthest from 0")
        rows, columns = pooled.values.shape
        edges = top + np.minimum(np.arange(rows + 1) * pooled.rows, count) * row
        figure.add_heatmap(
            z=pooled.values.astype(np.float32),
            x=np.arange(columns) * pooled.columns + (pooled.columns - 1) / 2,
            y=edges,
            zmin=-largest,
            zmax=largest,
            colorscale=colors.diverging,
            ygap=1 if 1 < count <= 4 else 0,
            **_hover(strip, read, pooled.values, (pooled.rows, pooled.columns)),
        )
        ticks |= {top + (index + 0.5) * row: names[index] for index in range(0, count, every)}
        place = {"x": 0, "xref": "paper", "xanchor": "left", "y": top - _NAME / 2, "yanchor": "middle"}
        name = strip.name if equal else f"{strip.name}, {strip.values.shape[1]:,} features"
        figure.add_annotation(text=labels.escape(name), font={"size": 14, "color": colors.text}, **place)
    widest = max(min(_LABEL_COLUMNS, labels.width(labels.visible(token))) for token in read.tokens)
    lower = legend.space(1 + len(notes))
    margin = (16 + math.ceil(widest * 12 * legend.CHARACTER), 12, _TOP, lower)
    dressed(figure, theme, title=title, height=math.ceil(_TOP + total + lower), margin=margin).update_layout(
        xaxis={"range": [-0.5, features - 0.5]},
        yaxis={
            "showgrid": False,
            "range": [total, 0],
            "tickvals": [*ticks],
            "ticktext": [f"{text} " for text in ticks.values()],
            "tickfont": {"color": SIDES[read.side].of(colors.source_ink, colors.target_ink)},
        },
    )
    said = ["value" if beside else "value, one scale for all; features along the axis", *sorted(notes)]
    legend.draw(figure, said, ends=(-largest, largest))
    return figure


def _check(strips: Sequence[Strip], read: StripRows) -> None:
    if not strips:
        raise ValueError("there are no strips to draw")
    shapes = {strip.values.shape for strip in strips}
    if any(len(shape) != 2 or 0 in shape for shape in shapes) or len({shape[0] for shape in shapes}) != 1:
        raise ValueError(f"strips have the shapes {sorted(shapes)}: all need to be [T, D] with the same T")
    declared.same_count(tokens=len(read.tokens), positions=len(read.positions), rows=strips[0].values.shape[0])


def _hover(strip: Strip, read: StripRows, values: NDArray[np.float32], steps: tuple[int, int]) -> dict[str, Any]:
    """The tooltip of each cell: its text, or where there are too many cells its number alone."""
    name = labels.escape(strip.name)
    if steps != (1, 1) or values.size > _HOVER_TEXTS:
        near = "feature" if steps == (1, 1) else "features round"
        return {"hovertemplate": f"{name}<br>{near} %{{x}}<br>%{{z:.9~g}}<extra></extra>"}  # all digits of a float32
    text = [
        [
            f"{name}<br>position {position}: {labels.tick(token, 40)}<br>feature {d}<br>{significant(value, 5)}"
            for d, value in enumerate(row)
        ]
        for position, token, row in zip(read.positions, read.tokens, values.tolist(), strict=True)
    ]
    return {"customdata": text}
