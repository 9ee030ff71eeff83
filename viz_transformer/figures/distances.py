"""How rows of a table of positions relate to each other: products, rotated pairs, wavelengths."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Unpack

import numpy as np
import plotly.graph_objects as go
from numpy.typing import ArrayLike

from viz_transformer import numerals
from viz_transformer.analysis.positions.table import Products
from viz_transformer.figures import labels
from viz_transformer.figures.positions import MAX_PICKED, chart
from viz_transformer.figures.template import LEGEND_ABOVE, ON_PAPER, SILENT, Look, dressed, theme_and_height
from viz_transformer.figures.theme import Theme, palette

_RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def product_curves(found: Products, *, title: str, theme: Theme = "light", height: int = 400) -> go.Figure:
    """Products of one row with all others against their distance, over those of all pairs of rows at each distance.

    Where all pairs at a distance agree, the grey band between the lowest and the highest has no width.
    """
    colors = palette(theme)
    places = found.distance
    lows, means, highs = (each.astype(np.float32)[np.abs(places)] for each in (found.low, found.mean, found.high))
    figure = go.Figure()
    plain = {"x": places, "mode": "lines", **SILENT}
    fill = {"line": {"width": 0}, "fill": "tonexty", "fillcolor": _fade(colors.derived[3], 0.35)}
    figure.add_scatter(y=lows, line={"width": 0}, showlegend=False, **plain)
    figure.add_scatter(y=highs, name="all pairs, lowest to highest", **fill, **plain)
    figure.add_scatter(y=means, line={"color": colors.derived[2], "width": 2}, name="mean of all pairs", **plain)
    figure.add_scatter(
        x=places,
        y=found.from_position.astype(np.float32),
        mode="lines+markers",
        line={"color": colors.text, "width": 1.5},
        marker={"size": 5 if len(places) <= 64 else 3},
        name=f"from position {found.position}",
        customdata=[
            f"position {found.position} with {place + found.position}<br>distance {place}<br>"
            + labels.escape(numerals.number(value))
            for place, value in zip(places.tolist(), found.from_position.tolist(), strict=True)
        ],
    )
    chart(figure, title, "distance, in positions", "product of the two rows", theme, height, top=68)
    return figure.update_layout(showlegend=True, legend=LEGEND_ABOVE)


def rotated_products(
    distance: ArrayLike,
    product: ArrayLike,
    at: int,
    recorded: float,
    *,
    title: str,
    theme: Theme = "light",
    height: int = 400,
) -> go.Figure:
    """The curve of one query times one key, rotated to each distance, [N]; the dot is the run's own product, at
    `at`."""
    colors = palette(theme)
    places, values = np.asarray(distance), np.asarray(product, np.float64)
    figure = go.Figure()
    figure.add_scatter(
        x=places,
        y=values,
        mode="lines+markers",
        line={"color": colors.text, "width": 1.5},
        marker={"size": 5 if len(places) <= 64 else 3},
        customdata=[labels.escape(numerals.number(value)) for value in values.tolist()],
        hovertemplate="distance %{x}<br>q · k %{customdata}<extra></extra>",
    )
    figure.add_scatter(
        x=[at],
        y=[recorded],
        mode="markers",
        marker={"size": 13, "color": colors.accent},
        hovertemplate=f"as recorded, distance {at}<br>q · k {labels.escape(numerals.number(recorded))}<extra></extra>",
    )
    return chart(figure, title, "distance: query less key, in positions", "q · k, not yet divided", theme, height)


def turned_pairs(
    pairs: Sequence[tuple[str, ArrayLike]], position: int, shift: int, *, title: str, theme: Theme = "light"
) -> go.Figure:
    """Circles of pairs of columns, with a point for each position, [L, 2] (sine, cosine); two are connected.

    Cosine goes to the right and sine upwards, so that the angle is the argument. The full dot is `position`, the ring
    the position `shift` later. Raises ValueError for no pair, too many, and a position that is not there.
    """
    if not 1 <= len(pairs) <= MAX_PICKED:
        raise ValueError(f"{len(pairs)} pairs cannot be drawn: choose 1 to {MAX_PICKED}")
    colors = palette(theme)
    figure = go.Figure()
    step = 1 / max(4, len(pairs))
    around = np.linspace(0, 2 * math.pi, 90)
    layout: dict[str, Any] = {}
    for number, (name, points) in enumerate(pairs):
        values = np.asarray(points, np.float64)
        if not 0 <= position < position + shift < len(values):
            raise ValueError(f"positions {position} and {position + shift} are not both in a table of {len(values)}")
        suffix = str(number + 1) if number else ""
        on = {"xaxis": f"x{suffix}", "yaxis": f"y{suffix}"}
        start, end = (math.atan2(*values[place]) for place in (position, position + shift))
        arc = start + np.linspace(0, (end - start) % (2 * math.pi), 60)
        silent = {**SILENT, **on}
        circle = {"color": colors.line, "width": 1}
        figure.add_scatter(x=np.cos(around), y=np.sin(around), mode="lines", line=circle, **silent)
        figure.add_scatter(
            x=values[:, 1],
            y=values[:, 0],
            mode="markers",
            marker={"size": 4, "color": colors.derived[2]},
            customdata=[
                labels.escape(f"position {place}: sin {numerals.share(sin)}, cos {numerals.share(cos)}")
                for place, (sin, cos) in enumerate(values.tolist())
            ],
            **on,
        )
        bow = {"color": colors.text, "width": 3}
        figure.add_scatter(x=np.cos(arc), y=np.sin(arc), mode="lines", line=bow, **silent)
        full, ring = {"size": 11, "color": colors.text}, {"size": 11, "color": colors.page, "line": bow}
        for (sine, cosine), marker in ((values[position], full), (values[position + shift], ring)):
            figure.add_scatter(x=[cosine], y=[sine], mode="markers", marker=marker, **silent)
        bare = {"range": [-1.15, 1.15], "visible": False, "constrain": "domain"}
        layout[f"xaxis{suffix}"] = {**bare, "domain": [number * step, (number + 1) * step - 0.02]}
        layout[f"yaxis{suffix}"] = {**bare, "scaleanchor": f"x{suffix}", "anchor": f"x{suffix}"}
        place = {"x": number * step + (step - 0.02) / 2, "xanchor": "center", "y": 1, "yanchor": "bottom"}
        figure.add_annotation(text=name, **place, **ON_PAPER)
    return dressed(figure, theme, title=title, height=290, margin=(8, 0, 78, 4)).update_layout(**layout)


def wavelength_curves(
    curves: Mapping[str, ArrayLike],
    length: int,
    *,
    shown: str,
    title: str,
    whose: str = "the table's",
    pairs: bool = False,
    **look: Unpack[Look],
) -> go.Figure:
    """Curves of the positions per turn, by pair of columns, on a logarithmic axis; longer turns than the line at
    `length` are not completed. shown: the name of the curve drawn strong, the others are dotted; whose: the owner of
    the positions. pairs: pairs are numbered instead of named by their first column.
    """
    theme, height = theme_and_height(**look)
    colors = palette(theme)
    figure = go.Figure()
    largest = 10.0
    for name, wavelengths in curves.items():
        values = np.asarray(wavelengths, np.float64)
        largest = max(largest, float(values.max()))
        ink, width, dash = (colors.text, 2.5, "solid") if name == shown else (colors.muted, 2, "dot")
        figure.add_scatter(
            x=(1 if pairs else 2) * np.arange(len(values)),
            y=values,
            mode="lines+markers" if len(values) < 16 else "lines",
            name=labels.escape(name),
            line={"color": ink, "width": width, "dash": dash},
            customdata=[numerals.number(value, 2, ",") for value in values.tolist()],
            hovertemplate=f"{'pair %{x}' if pairs else 'dimensions %{x} and one more'}<br>one turn in"
            " %{customdata} positions<extra></extra>",
        )
    across = {"xref": "paper", "x0": 0, "x1": 1, "y0": length, "y1": length}
    figure.add_shape(type="line", line={"color": colors.accent, "width": 1, "dash": "dash"}, **across)
    chart(figure, title, "pair" if pairs else "dimension", "wavelength, in positions", theme, height or 420, top=68)
    decades = range(math.ceil(math.log10(largest * 1.5)) + 1)
    figure.update_layout(
        showlegend=True,
        legend=LEGEND_ABOVE,
        margin_l=68,
        yaxis={
            "type": "log",
            "range": [0.4, math.log10(largest * 2)],
            "tickvals": [10.0**power for power in decades],
            "ticktext": [f"10{str(power).translate(_RAISED)}" if power > 3 else f"{10**power:,d}" for power in decades],
        },
    )
    end = {"x": 1, "xanchor": "right", "xref": "paper", "y": math.log10(length), "yref": "y", "yanchor": "top"}
    return figure.add_annotation(text=f"{whose} {length} positions", font_color=colors.text, **end)


def _fade(color: str, opacity: float) -> str:
    """The colour #RRGGBB with this opacity."""
    red, green, blue = (int(color[place : place + 2], 16) for place in (1, 3, 5))
    return f"rgba({red},{green},{blue},{opacity})"
