"""Training curves: loss against steps, both on a logarithmic axis, and the learning rate below on a linear one."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, TypedDict, Unpack

import numpy as np
import plotly.graph_objects as go

from viz_transformer import declared, numerals
from viz_transformer.figures import labels
from viz_transformer.figures.template import dressed
from viz_transformer.figures.theme import Theme, palette
from viz_transformer.given import takes_named

UNIT = "negative log-likelihood, nats per token"
RATE_HEIGHT = 150
"""Pixels that the learning rate adds to the height."""


class Tooltips(TypedDict, total=False):
    """More texts for the tooltips of losses."""

    times: Mapping[float, str] | None
    """The time at each step where it is known."""
    measured_on: Mapping[str, str] | None
    """The examples that each curve was measured on, by its name."""


@takes_named
def loss_curves(
    curves: Mapping[str, tuple[Sequence[float], Sequence[float]]],
    *,
    title: str,
    rate: tuple[Sequence[float], Sequence[float]] | None = None,
    best: tuple[float, float] | None = None,
    theme: Theme = "light",
    height: int = 400,
    **tooltips: Unpack[Tooltips],
) -> go.Figure:
    """Curves of losses by step, on logarithmic axes; the first is drawn thin and muted, the others strong.

    curves: (steps, losses) by name. rate: (steps, learning rates), drawn below on the same steps and a linear axis.
    best: step and loss of the point to mark, of the last curve.

    A logarithmic axis has no place for steps or losses that are 0, negative or not finite: these points are left out.
    Raises ValueError if a curve's lists differ in length, or if no curve has a point left.
    """
    times, measured_on = tooltips.get("times"), tooltips.get("measured_on")
    colors = palette(theme)
    figure = go.Figure()
    low, high, last = np.inf, 0.0, 0.0
    for number, (name, (steps, losses)) in enumerate(curves.items()):
        with declared.prefixed(f"curve {name!r}: "):
            declared.same_count(steps=len(steps), losses=len(losses))
        x, y = np.asarray(steps, np.float32), np.asarray(losses, np.float32)
        usable = np.isfinite(x) & np.isfinite(y) & (x > 0) & (y > 0)
        if not usable.any():
            continue
        x, y = x[usable], y[usable]
        low, high, last = min(low, float(y.min())), max(high, float(y.max())), max(last, float(x.max()))
        color, width, dash = (colors.text, 2.5, "solid") if number else (colors.muted, 1.5, "dot")
        kept = [step for step, keep in zip(steps, usable, strict=True) if keep]
        said = None if times is None else [labels.escape(times.get(step, "")) for step in kept]
        figure.add_scatter(
            x=x,
            y=y,
            name=labels.escape(name),
            mode="lines" if len(x) > 1 else "markers",
            line={"color": color, "width": width, "dash": dash},
            text=[labels.escape(numerals.number(loss)) for loss in y.tolist()],
            customdata=said,
            hovertemplate=f"step %{{x:,d}}<br>{labels.escape(name)}: %{{text}} nats per token"
            f"{_name_examples(measured_on, name)}{'' if said is None else '<br>%{customdata}'}<extra></extra>",
        )
    if not figure.data:
        raise ValueError("there is no point to draw: every curve is empty")
    axis = {"type": "log", "showgrid": True}
    dressed(figure, theme, title=title, height=height, margin=(64, 36, 40, 48)).update_layout(
        xaxis={**axis, **_decades(1, last), "title": {"text": "optimiser step"}},
        yaxis={**axis, **_decades(low, high, fewest=3), "title": {"text": UNIT}},
        showlegend=True,
        legend_yref="paper",
    )
    if best is not None:
        _mark(figure, best, _name_examples(measured_on, [*curves][-1]), theme)
    if rate is not None:
        _add_rate(figure, rate, theme)
    return figure


def _name_examples(measured_on: Mapping[str, str] | None, name: str) -> str:
    """The tooltip's line on what a curve was measured on."""
    said = (measured_on or {}).get(name, "")
    return f"<br>on {labels.escape(said)}" if said else ""


def _mark(figure: go.Figure, best: tuple[float, float], measured_on: str, theme: Theme) -> None:
    """Mark a point with a ring."""
    step, loss = best
    if step > 0 and loss > 0:
        ring = {"symbol": "circle-open", "size": 12, "color": palette(theme).text, "line": {"width": 2}}
        said = f"{labels.escape(numerals.number(loss))} nats per token{measured_on}<extra></extra>"
        said = f"lowest validation loss<br>step {int(step):,}: {said}"
        look = {"mode": "markers", "marker": ring, "name": "lowest", "showlegend": False}
        figure.add_scatter(x=[step], y=[loss], hovertemplate=said, **look)


def _add_rate(figure: go.Figure, rate: tuple[Sequence[float], Sequence[float]], theme: Theme) -> None:
    """Add the learning rate below the losses, from 0 up, over the same logarithmic steps.

    Raises ValueError for lists that differ in length.
    """
    steps, rates = rate
    declared.same_count(steps=len(steps), learning_rates=len(rates))
    x, y = np.asarray(steps, np.float32), np.asarray(rates, np.float32)
    usable = np.isfinite(x) & np.isfinite(y) & (x > 0) & (y >= 0)
    if not usable.any() or not y[usable].any():
        return
    x, y = x[usable], y[usable]
    figure.add_scatter(
        x=x,
        y=y,
        name="learning rate",
        mode="lines" if len(x) > 1 else "markers",
        line={"color": palette(theme).muted, "width": 1.5},
        customdata=[numerals.significant(value, 3) for value in y.tolist()],
        hovertemplate="step %{x:,d}<br>learning rate: %{customdata}<extra></extra>",
        yaxis="y2",
        showlegend=False,
    )
    height = int(figure.layout.height) + RATE_HEIGHT
    part = RATE_HEIGHT / height
    figure.update_layout(
        height=height,
        yaxis={"domain": [part + 0.04, 1]},
        yaxis2={
            "type": "linear",
            "range": [0, 1.08 * float(y.max())],
            "nticks": 4,
            "tickformat": ".3~g",
            "domain": [0, part - 0.04],
            "title": {"text": "learning rate"},
        },
        xaxis={"anchor": "y2"},
    )


def _decades(low: float, high: float, fewest: int = 1) -> dict[str, Any]:
    """An axis range that holds low and high, with labels at 1, 2 and 5 of each decade, or at decades if there are many;
    if that gives fewer than `fewest`, at multiples of 1, 2 or 5 times a power of 10 that give enough."""
    start, end = math.log10(low), math.log10(high)
    room = max(0.05, (end - start) * 0.06)
    bottom, top = start - room, end + room
    decades = range(math.floor(bottom), math.ceil(top) + 1)
    shown: list[float] = []
    for factors in [(1, 2, 5)] if end - start < 2.2 else [(1,), (1, 2, 5)]:
        if len(shown) < fewest:
            values = [factor * 10.0**decade for decade in decades for factor in factors]
            shown = [value for value in values if bottom <= math.log10(value) <= top]
    steps = (factor * 10.0**power for power in range(decades[-1], decades[0] - 9, -1) for factor in (5, 2, 1))
    while len(shown) < fewest:
        step = next(steps)
        shown = [step * times for times in range(math.ceil(10**bottom / step), math.floor(10**top / step) + 1)]
    return {"range": [bottom, top], "tickvals": shown, "ticktext": [numerals.tick(value) for value in shown]}
