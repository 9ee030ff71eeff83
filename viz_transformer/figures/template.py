"""The common look of all charts: fonts, backgrounds, tooltips, axes, legend and colour bar, as one plotly template per
theme.

A chart sets only its own ranges, titles and margins, and where it differs.
"""

from __future__ import annotations

from functools import cache
from typing import Any, TypedDict

import plotly.graph_objects as go

from viz_transformer.figures.labels import escape
from viz_transformer.figures.theme import MONO_STACK, SANS_STACK, Theme, palette

ON_PAPER = {"xref": "paper", "yref": "paper"}
LEGEND_ABOVE = {"x": 0, "xanchor": "left", "y": 1, "yanchor": "bottom", "yref": "paper"}
SILENT = {"hoverinfo": "skip", "hovertemplate": ""}
"""Settings of a trace without tooltips: a hover template, even one of the plotly template, overrides hoverinfo."""
MAX_MARKED = 80
"""The most steps for which lines have markers."""


class Look(TypedDict, total=False):
    """How a chart looks: light if no theme is given, and as high as it is by itself if no height is, in pixels."""

    theme: Theme
    height: int


def theme_and_height(*, theme: Theme = "light", height: int | None = None) -> tuple[Theme, int | None]:
    """What `Look` says, and light where it says nothing."""
    return theme, height


def dressed(
    figure: go.Figure, theme: Theme, *, title: str, height: float, margin: tuple[float, float, float, float]
) -> go.Figure:
    """The figure with the common look of all charts. margin: left, right, top and bottom, in pixels, as the height
    is."""
    room = dict(zip("lrtb", margin, strict=True))
    return figure.update_layout(template=template(theme), title_text=escape(title), height=height, margin=room)


def band(figure: go.Figure, place: int, color: str, line: dict[str, Any]) -> None:
    """Add a band in the background of all panels, around one place of the axis below."""
    upright = {"x0": place - 0.45, "x1": place + 0.45, "yref": "paper", "y0": 0, "y1": 1}
    figure.add_shape(type="rect", fillcolor=color, line=line, layer="below", **upright)


def steps_axis(steps: int) -> dict[str, Any]:
    """The axis of this many steps, from 1 on."""
    ticks = {"dtick": 1} if steps <= 30 else {"nticks": 16}
    title = {"text": "step", "standoff": 4}
    return {"range": [0.5, steps + 0.5], "tickformat": "d", **ticks, "title": title}


def run_line(second: bool, ink: str, steps: int) -> dict[str, Any]:
    """The line style of one of two runs: the first solid with dots, the second dashed with squares."""
    return {
        "mode": "lines+markers" if steps <= MAX_MARKED else "lines",
        "line": {"color": ink, "width": 2 if second else 2.5, "dash": "dash" if second else "solid"},
        "marker": {"symbol": "square-open" if second else "circle", "size": 9 if second else 7, "color": ink},
    }


@cache
def template(theme: Theme) -> go.layout.Template:
    """The template of a theme, independent of plotly's default, which other libraries may change. No drag or zoom; grid
    lines for y only; a legend above at the right, a colour bar at the lower edge, tooltips from the point's text,
    annotations without arrow.
    """
    colors = palette(theme)
    axis = {
        "fixedrange": True,
        "zeroline": False,
        "ticks": "",
        "gridcolor": colors.line,
        "tickfont": {"family": MONO_STACK, "size": 12, "color": colors.muted},
        "title": {"font": {"size": 13, "color": colors.muted}},
    }
    layout = go.Layout(
        font={"family": SANS_STACK, "size": 14, "color": colors.text},
        paper_bgcolor=colors.page,
        plot_bgcolor=colors.page,
        colorway=list(colors.heads),
        hoverlabel={
            "font": {"family": MONO_STACK, "size": 13, "color": colors.text},
            "bgcolor": colors.surface,
            "bordercolor": colors.line,
            "align": "left",
        },
        title={
            "x": 0,
            "xanchor": "left",
            "xref": "container",
            "y": 1,
            "yanchor": "top",
            "yref": "container",
            "pad": {"t": 4, "l": 0},
            "font": {"size": 16, "color": colors.text, "weight": 600},
        },
        xaxis={**axis, "showgrid": False},
        yaxis=axis,
        legend={
            "orientation": "h",
            "x": 1,
            "xanchor": "right",
            "y": 1,
            "yanchor": "top",
            "yref": "container",
            "bgcolor": "rgba(0,0,0,0)",
            "font": {"size": 13},
        },
        annotationdefaults={"showarrow": False, "font": {"size": 13, "color": colors.muted}},
        dragmode=False,
        showlegend=False,
        separators=".,",
    )
    bar = {
        "orientation": "h",
        "thickness": 8,
        "lenmode": "pixels",
        "x": 0,
        "xanchor": "left",
        "xref": "paper",
        "yanchor": "bottom",
        "yref": "container",
        "ypad": 0,
        "outlinewidth": 0,
        "showticklabels": False,
        "ticks": "",
    }
    hover = "%{customdata}<extra></extra>"
    data = {
        "scatter": [go.Scatter(hovertemplate=hover)],
        "bar": [go.Bar(hovertemplate=hover)],
        "heatmap": [go.Heatmap(hovertemplate=hover, zsmooth=False, showscale=False, colorbar=bar)],
    }
    return go.layout.Template(layout=layout, data=data)
