"""The stream from sub-layer to sub-layer, one panel for each quantity, and a norm's gain and offset by feature."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import ArrayLike, NDArray

from viz_transformer import declared
from viz_transformer.figures import labels
from viz_transformer.figures.enlarged import enlarge_letters
from viz_transformer.figures.template import ON_PAPER, SILENT, band, dressed
from viz_transformer.figures.theme import SANS_STACK, Theme, palette

_PANEL, _BETWEEN, _TOP, _BOTTOM = 128, 38, 76, 50  # pixels
_LEFT, _RIGHT = 58, 12
_LEGEND = 26  # pixels from the upper edge: under the title, over the name of the first panel
_LINE = 20  # pixels of a line of the legend
_BASELINE = "baseline"
_MAX_NAMED = 16  # stations that carry a word each; with more only the layers are named


@dataclass(frozen=True, eq=False)
class Panel:
    """One quantity at each station."""

    name: str
    values: ArrayLike
    """[S, T], NaN where a station has none."""
    bounds: tuple[float | None, float | None] = (None, None)
    """The least range of the axis; None: by the values."""
    baseline: ArrayLike | None = None
    """[S]"""
    other: ArrayLike | None = None
    """[S], the mean of another run."""


@dataclass(frozen=True, kw_only=True)
class Marked:
    """The highlighted token and station."""

    token: int
    """The position whose line is drawn strong."""
    token_name: str
    station: int | None = None
    """The station with a shaded background."""


@dataclass(frozen=True, kw_only=True)
class Size:
    """The size of a chart."""

    letters: float = 1
    """A factor on all type."""
    height: float | None = None
    """In pixels; None: by the number of panels."""


def stream_chart(
    panels: Sequence[Panel],
    stations: Sequence[tuple[str, str]],
    marked: Marked,
    *,
    title: str,
    names: tuple[str, str] = ("mean", "mean of B"),
    size: Size = Size(),
    theme: Theme = "light",
) -> go.Figure:
    """The chart of all panels by station: all tokens as a grey band, their mean, the chosen token, and the baseline.

    stations: the names of each, (layer, sub-layer); stations of one layer are adjacent. names: of the mean and of the
    other run's mean. Names and legend have the same room in any height. Raises ValueError for shapes that do not fit
    and for a position out of range.
    """
    if not panels or not stations:
        raise ValueError("there is nothing to draw: give at least one panel and one station")
    grids = [_grid(panel, len(stations), marked.token) for panel in panels]
    type_size, height = size.letters, size.height
    wraps = any(panel.other is not None for panel in panels)  # a fifth name is below the others in a narrow window
    top, bottom = round((_TOP + _LINE * wraps) * type_size), round(_BOTTOM * type_size)
    between = round(_BETWEEN * type_size)
    drawn = len(panels) * _PANEL + (len(panels) - 1) * between if height is None else height - top - bottom
    panel_height = (drawn - (len(panels) - 1) * between) / len(panels)
    ticks = min(5, 1 + int(panel_height / (22 * type_size)))
    figure = go.Figure()
    hovers = [" ".join(filter(None, station)) for station in stations]
    for number, (panel, grid) in enumerate(zip(panels, grids, strict=True)):
        axis = "y" if number == 0 else f"y{number + 1}"
        for trace in _lines(panel, grid, hovers, marked, names, theme):
            figure.add_trace(trace.update(yaxis=axis, showlegend=number == 0 or trace.name == _BASELINE))
        upper = 1 - number * (panel_height + between) / drawn
        figure.update_layout({f"yaxis{axis[1:]}": _axis(panel, grid, (upper - panel_height / drawn, upper), ticks)})
        place = {"x": 0, "xanchor": "left", "y": upper, "yanchor": "bottom", "yshift": 3, **ON_PAPER}
        figure.add_annotation(text=labels.escape(panel.name), **place)
    if marked.station is not None:
        band(figure, marked.station, palette(theme).surface, {"width": 0})
    margin = (round(_LEFT * type_size), _RIGHT, top, bottom)
    whole = top + drawn + bottom
    dressed(figure, theme, title=title, height=whole, margin=margin).update_layout(
        showlegend=True,
        legend={"xref": "container", "x": 0, "xanchor": "left", "y": 1 - _LEGEND * type_size / whole},
        xaxis=_stations_axis(stations, len(panels)),
        hovermode="x",
    )
    enlarge_letters(figure, type_size)
    return figure


def gain_chart(gain: ArrayLike, offset: ArrayLike, *, title: str, theme: Theme = "light") -> go.Figure:
    """The chart of a norm's gain and offset, a bar for each feature around 1 and around 0. gain, offset: [D].

    Raises ValueError if they are not one number for each feature.
    """
    up, shift = np.asarray(gain, np.float64), np.asarray(offset, np.float64)
    if up.ndim != 1 or up.shape != shift.shape or not len(up):
        raise ValueError(f"gain {up.shape} and offset {shift.shape} are not one number for each feature")
    figure = go.Figure()
    for name, values, base, axis, domain in (("gain", up, 1, "y", [0.56, 1]), ("offset", shift, 0, "y2", [0, 0.44])):
        figure.add_bar(
            x=np.arange(len(up)),
            y=(values - base).astype(np.float32),
            base=base,
            yaxis=axis,
            marker={"color": palette(theme).derived[4], "line": {"width": 0}},
            customdata=[labels.escape(labels.number(value)) for value in values.tolist()],
            hovertemplate=f"feature %{{x}}<br>{name} %{{customdata}}<extra></extra>",
        )
        reach = max(float(np.abs(values - base).max()), 0.1) * 1.08
        own = {"domain": domain, "range": [base - reach, base + reach], "nticks": 5}
        figure.update_layout({f"yaxis{axis[1:]}": {**own, "title": {"text": name, "standoff": 4}}})
    return dressed(figure, theme, title=title, height=420, margin=(_LEFT, _RIGHT, 40, 44)).update_layout(
        bargap=0 if len(up) > 150 else 0.2,
        xaxis={"anchor": "y2", "range": [-0.5, len(up) - 0.5], "title": {"text": "feature", "standoff": 4}},
    )


def _grid(panel: Panel, stations: int, token: int) -> NDArray[np.float64]:
    grid = np.asarray(panel.values, np.float64)
    if grid.ndim != 2 or len(grid) != stations or not grid.shape[1]:
        raise ValueError(f"{panel.name!r} has the shape {grid.shape}, the chart needs [{stations} stations, tokens]")
    declared.place("position", token, grid.shape[1])
    for what in ("baseline", "other"):
        line = getattr(panel, what)
        if line is not None and np.shape(line) != (stations,):
            raise ValueError(f"the {what} of {panel.name!r} has the shape {np.shape(line)}, not ({stations},)")
    return grid


def _lines(
    panel: Panel,
    grid: NDArray[np.float64],
    hovers: Sequence[str],
    marked: Marked,
    names: tuple[str, str],
    theme: Theme,
) -> list[go.Scatter]:
    """The band of all tokens, the mean, the other run's mean, the chosen token; last the baseline, if there is one."""
    colors, x = palette(theme), np.arange(len(hovers))
    quantity = labels.escape(panel.name)
    there = np.isfinite(grid).any(axis=1)
    spread = grid[there]

    def line(values: ArrayLike, name: str, style: dict[str, Any], *, marks: bool = False) -> go.Scatter:
        points = np.asarray(values, np.float64)
        texts = [f"{name}, {where}: {labels.number(v)}" for where, v in zip(hovers, points.tolist(), strict=True)]
        return go.Scatter(
            x=x,
            y=points.astype(np.float32),
            name=labels.escape(name),
            mode="lines+markers" if marks else "lines",
            line=style,
            marker={"size": 7, "color": style["color"]},
            customdata=[labels.escape(text) for text in texts],
            hovertemplate=f"{quantity}<br>%{{customdata}}<extra></extra>",
        )

    low, high = np.nanmin(spread, axis=1), np.nanmax(spread, axis=1)
    band = go.Scatter(
        x=np.concatenate([x[there], x[there][::-1]]),
        y=np.concatenate([high, low[::-1]]).astype(np.float32),
        name="all tokens",
        fill="toself",
        fillcolor=colors.derived[1],
        line={"width": 0},
        mode="lines",
        **SILENT,
    )
    mean = np.full(len(x), np.nan)
    mean[there] = np.nanmean(spread, axis=1)
    drawn = [band, line(mean, names[0], {"color": colors.derived[4], "width": 2})]
    if panel.other is not None:
        drawn.append(line(panel.other, names[1], {"color": colors.derived[4], "width": 2, "dash": "dash"}))
    drawn.append(line(grid[:, marked.token], marked.token_name, {"color": colors.text, "width": 2.5}, marks=True))
    if panel.baseline is not None:
        style = {"color": colors.muted, "width": 2, "dash": "dot"}
        drawn.append(line(panel.baseline, _BASELINE, style))
    return drawn


def _axis(panel: Panel, grid: NDArray[np.float64], domain: tuple[float, float], ticks: int) -> dict[str, Any]:
    lines = [np.asarray(line, np.float64) for line in (grid, panel.baseline, panel.other) if line is not None]
    seen = np.concatenate([line[np.isfinite(line)] for line in lines])
    low, high = (float(seen.min()), float(seen.max())) if seen.size else (0.0, 1.0)
    bottom, top = panel.bounds
    low, high = min(low, low if bottom is None else bottom), max(high, high if top is None else top)
    room = 0.04 * (high - low or 1.0)
    return {"domain": [max(0.0, domain[0]), min(1.0, domain[1])], "range": [low - room, high + room], "nticks": ticks}


def _stations_axis(stations: Sequence[tuple[str, str]], panels: int) -> dict[str, Any]:
    """The sub-layer of each station and, under the first of a layer, the layer's name; of the layers alone if many."""
    many = len(stations) > _MAX_NAMED
    texts = []
    for number, (layer, part) in enumerate(stations):
        starts = number == 0 or stations[number - 1][0] != layer
        lines = ([] if many else [part or " "]) + [layer if starts else " "]
        texts.append("<br>".join(labels.escape(line) for line in lines))
    return {
        "anchor": "y" if panels == 1 else f"y{panels}",
        "range": [-0.5, len(stations) - 0.5],
        "tickangle": 0,
        "tickmode": "array",
        "tickvals": list(range(len(stations))),
        "ticktext": texts,
        "tickfont": {"family": SANS_STACK, "size": 13},
    }
