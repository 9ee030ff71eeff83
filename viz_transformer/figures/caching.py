"""The work of each step of a decode, with a cache and as whole passes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from viz_transformer import declared
from viz_transformer.figures.template import dressed, run_line, steps_axis
from viz_transformer.figures.theme import Theme, palette
from viz_transformer.numerals import nth

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
    """Curves of the multiply-adds per step, [steps] each; the area between them is the cache's saving.

    chosen: the index of the step that is marked. Raises ValueError for lists of different lengths, for no steps, and
    for a step out of range.
    """
    declared.same_count(steps_with_the_cache=len(cached), steps_without=len(whole))
    declared.within("steps", len(whole), declared.Count)
    if chosen is not None:
        declared.place("step", chosen, len(whole))
    colors, steps = palette(theme), len(whole)
    figure = go.Figure()
    for name, values, ink in zip(NAMES, (whole, cached), (colors.muted, colors.text), strict=True):
        figure.add_scatter(
            x=np.arange(1, steps + 1),
            y=np.asarray(values, np.float64),
            name=name,
            fill="tonexty" if values is cached else None,
            fillcolor=colors.surface,
            customdata=[f"{value:,}" for value in values],
            hovertemplate=f"step %{{x}}, {name}<br>%{{customdata}} multiply-adds<extra></extra>",
            **run_line(values is whole, ink, steps),
        )
    if chosen is not None:
        left = chosen < steps / 2
        figure.add_vline(x=nth(chosen), line={"width": 1, "dash": "dot", "color": colors.text})
        figure.add_annotation(
            text=f"step {nth(chosen)}",
            font_size=12,
            x=nth(chosen),
            xanchor="left" if left else "right",
            xshift=4 if left else -4,
            yref="paper",
            y=1,
            yanchor="bottom",
        )
    most = {"range": [0, 1.06 * max(max(whole), max(cached))], "nticks": 5, "tickformat": "~s"}
    return dressed(figure, theme, title=title, height=height, margin=(64, 12, 60, 44)).update_layout(
        showlegend=True,
        xaxis=steps_axis(steps),
        yaxis={**most, "title": {"text": "multiply-adds", "standoff": 4}},
    )
