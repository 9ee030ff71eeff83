"""What all charts share: fonts, backgrounds, tooltips, axes, legend and colour bar, as one plotly template a theme.

A chart states what is its own: ranges, titles, margins, and where it differs.
"""

from __future__ import annotations

from functools import cache

import plotly.graph_objects as go

from viz_transformer.figures.theme import MONO_STACK, SANS_STACK, Theme, palette


@cache
def template(theme: Theme) -> go.layout.Template:
    """In place of plotly's default, which a library that shows figures may change. Nothing is dragged or zoomed, lines
    lie behind values of y, a legend, once it is shown, stands above at the right, a colour bar lies at the lower edge.
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
    return go.layout.Template(layout=layout, data={"heatmap": [go.Heatmap(zsmooth=False, colorbar=bar)]})
