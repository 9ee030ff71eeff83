"""Training curves: loss against steps, both on a logarithmic axis."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from viz_transformer.figures import labels
from viz_transformer.figures import theme as themes
from viz_transformer.figures.theme import Theme

UNIT = "negative log-likelihood, nats per token"


def loss_curves(
    curves: Mapping[str, tuple[Sequence[float], Sequence[float]]],
    *,
    title: str,
    theme: Theme = "light",
    height: int = 400,
) -> go.Figure:
    """Each named curve is (steps, losses); the first is drawn thin and muted, the others strong.

    A logarithmic axis has no place for steps or losses that are 0, negative or not finite: these points are left out.
    Raises ValueError if a curve's lists differ in length, or if no curve has a point left.
    """
    colors = themes.palette(theme)
    figure = go.Figure()
    low, high, last = np.inf, 0.0, 0.0
    for number, (name, (steps, losses)) in enumerate(curves.items()):
        if len(steps) != len(losses):
            raise ValueError(f"curve {name!r} has {len(steps)} steps and {len(losses)} losses")
        x, y = np.asarray(steps, np.float32), np.asarray(losses, np.float32)
        usable = np.isfinite(x) & np.isfinite(y) & (x > 0) & (y > 0)
        if not usable.any():
            continue
        x, y = x[usable], y[usable]
        low, high, last = min(low, float(y.min())), max(high, float(y.max())), max(last, float(x.max()))
        ink = colors.muted if number == 0 else colors.text
        figure.add_trace(
            go.Scatter(
                x=x,
                y=y,
                name=labels.escape(name),
                mode="lines" if len(x) > 1 else "markers",
                line={"color": ink, "width": 1.5 if number == 0 else 2.5, "dash": "dot" if number == 0 else "solid"},
                hovertemplate=f"step %{{x:,d}}<br>{labels.escape(name)}: %{{y:.4f}} nats per token<extra></extra>",
            )
        )
    if not figure.data:
        raise ValueError("there is no point to draw: every curve is empty")
    muted = {"size": 13, "color": colors.muted}
    axis = {
        "type": "log",
        "fixedrange": True,
        "gridcolor": colors.line,
        "zeroline": False,
        "tickfont": {"family": themes.MONO_STACK, "size": 12, "color": colors.muted},
    }
    figure.update_layout(
        **themes.base_layout(theme),
        title=themes.title(labels.escape(title), theme),
        height=height,
        margin={"l": 64, "r": 16, "t": 40, "b": 48, "pad": 0},
        xaxis={**axis, **_decades(1, last), "title": {"text": "optimiser step", "font": muted}},
        yaxis={**axis, **_decades(low, high), "title": {"text": UNIT, "font": muted}},
        legend={
            "orientation": "h",
            "x": 1,
            "xanchor": "right",
            "y": 1,
            "yanchor": "top",
            "bgcolor": "rgba(0,0,0,0)",
            "font": {"size": 13},
        },
    )
    figure.update_layout(showlegend=True)
    return figure


def _decades(low: float, high: float) -> dict[str, Any]:
    """A range that holds low and high, with labels at 1, 2 and 5 of each decade, or at decades if there are many."""
    start, end = math.log10(low), math.log10(high)
    room = max(0.05, (end - start) * 0.06)
    factors = (1, 2, 5) if end - start < 2.2 else (1,)
    decades = range(math.floor(start - room), math.ceil(end + room) + 1)
    values = [factor * 10.0**decade for decade in decades for factor in factors]
    shown = [value for value in values if start - room <= math.log10(value) <= end + room]
    return {"range": [start - room, end + room], "tickvals": shown, "ticktext": [f"{value:,.10g}" for value in shown]}
