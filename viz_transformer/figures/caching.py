"""The work of each step of a decode, with a cache and as whole passes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from viz_transformer.figures import labels
from viz_transformer.figures import theme as themes
from viz_transformer.figures.template import template
from viz_transformer.figures.theme import Theme

NAMES = ("whole pass", "with the cache")


def work_curves(
    cached: Sequence[int],
    whole: Sequence[int],
    *,
    title: str,
    chosen: int | None = None,
    theme: Theme = "light",
    height: int = 320,
) -> go.Figure:
    """Multiply-adds of each step, [steps] each; the area between the lines is what the cache saves.

    chosen: the step that is marked. Raises ValueError for lists of different lengths, for no steps, and for a step
    that there is not.
    """
    if len(cached) != len(whole) or not len(whole):
        raise ValueError(f"{len(cached)} steps with the cache do not fit {len(whole)} without")
    if chosen is not None and not 0 <= chosen < len(whole):
        raise ValueError(f"there is no step {chosen} among {len(whole)}")
    colors = themes.palette(theme)
    steps = np.arange(len(whole))
    figure = go.Figure()
    for number, (name, values) in enumerate(zip(NAMES, (whole, cached), strict=True)):
        ink = colors.text if number else colors.muted
        figure.add_trace(
            go.Scatter(
                x=steps,
                y=np.asarray(values, np.float64),
                name=name,
                mode="lines+markers" if len(steps) <= 80 else "lines",
                line={"color": ink, "width": 2.5 if number else 2, "dash": "solid" if number else "dash"},
                marker={"symbol": "circle" if number else "square-open", "size": 7 if number else 9, "color": ink},
                fill="tonexty" if number else None,
                fillcolor=colors.surface,
                customdata=[f"{value:,}" for value in values],
                hovertemplate=f"step %{{x}}, {name}<br>%{{customdata}} multiply-adds<extra></extra>",
            )
        )
    if chosen is not None:
        figure.add_vline(x=chosen, line={"width": 1, "dash": "dot", "color": colors.text})
        figure.add_annotation(
            text=f"step {chosen}",
            font={"size": 12, "color": colors.muted},
            x=chosen,
            xanchor="left" if chosen < len(steps) / 2 else "right",
            xshift=4 if chosen < len(steps) / 2 else -4,
            yref="paper",
            y=1,
            yanchor="bottom",
            showarrow=False,
        )
    figure.update_layout(
        template=template(theme),
        showlegend=True,
        title_text=labels.escape(title),
        height=height,
        margin={"l": 64, "r": 12, "t": 60, "b": 44},
        xaxis={
            "range": [-0.5, len(steps) - 0.5],
            "tickformat": "d",
            **({"dtick": 1} if len(steps) <= 30 else {"nticks": 16}),
            "title": {"text": "step", "standoff": 4},
        },
        yaxis={
            "range": [0, 1.06 * max(max(whole), max(cached))],
            "nticks": 5,
            "tickformat": "~s",
            "title": {"text": "multiply-adds", "standoff": 4},
        },
    )
    return figure
