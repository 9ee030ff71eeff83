"""Two runs of one text, step by step: the log-probability of each token written, and of all that was written so far."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from viz_transformer.figures import labels
from viz_transformer.figures import theme as themes
from viz_transformer.figures.template import template
from viz_transformer.figures.theme import Theme

_PANELS = ("of the token", "sum so far")
_MOST_MARKED = 80  # steps; with more of them the lines carry no marks


def branch_curves(
    a: tuple[Sequence[str], Sequence[float]],
    b: tuple[Sequence[str], Sequence[float]],
    *,
    title: str,
    parted: int | None = None,
    names: tuple[str, str] = ("A", "B"),
    theme: Theme = "light",
    height: int = 420,
) -> go.Figure:
    """Each run is (tokens, log-probabilities), one of each for every step; the first is solid, the second dashed.

    Natural logarithms. parted: the first step at which the runs differ, which is marked. A token with a probability
    of 0 is a gap. Raises ValueError for lists of different lengths, for no steps, and for a step that neither has.
    """
    for name, (tokens, log_probs) in zip(names, (a, b), strict=True):
        if len(tokens) != len(log_probs) or not tokens:
            raise ValueError(f"{name} has {len(tokens)} tokens and {len(log_probs)} log-probabilities")
    steps = max(len(a[0]), len(b[0]))
    if parted is not None and not 0 <= parted < steps:
        raise ValueError(f"there is no step {parted} among {steps}")
    figure = go.Figure()
    for number in range(len(_PANELS)):
        for second, (tokens, log_probs) in enumerate((a, b)):
            values = np.asarray(log_probs, np.float64)
            drawn = values if number == 0 else values.cumsum()
            figure.add_trace(_line(drawn, tokens, names[second], number, bool(second), steps, theme))
    if parted is not None:
        _mark(figure, parted, steps, theme)
    domains = ([0.56, 1], [0, 0.44])
    for number, (name, domain) in enumerate(zip(_PANELS, domains, strict=True)):
        figure.update_layout(
            {
                ("yaxis", "yaxis2")[number]: {
                    "domain": domain,
                    "nticks": 5,
                    "title": {"text": name, "standoff": 4},
                    "range": _reach([trace for trace in figure.data if trace.yaxis == ("y", "y2")[number]]),
                }
            }
        )
    figure.update_layout(
        template=template(theme),
        showlegend=True,
        title_text=labels.escape(title),
        height=height,
        margin={"l": 64, "r": 12, "t": 48, "b": 44},
        xaxis={
            "anchor": "y2",
            "range": [-0.5, steps - 0.5],
            "tickformat": "d",
            **({"dtick": 1} if steps <= 30 else {"nticks": 16}),
            "title": {"text": "step", "standoff": 4},
        },
    )
    return figure


def _line(
    values: NDArray[np.float64],
    tokens: Sequence[str],
    name: str,
    panel: int,
    second: bool,
    steps: int,
    theme: Theme,
) -> go.Scatter:
    colors = themes.palette(theme)
    ink = colors.muted if second else colors.text
    what = ("log-probability", "sum so far")[panel]
    hover = [
        f"{labels.escape(name)}, step {step}: “{labels.escape(labels.isolated(labels.visible(token)))}”<br>"
        f"{what} {labels.escape(labels.number(float(value), 2))}"
        for step, (token, value) in enumerate(zip(tokens, values, strict=True))
    ]
    marked = steps <= _MOST_MARKED or len(values) == 1
    return go.Scatter(
        x=np.arange(len(values)),
        y=np.where(np.isfinite(values), values, np.nan).astype(np.float32),
        name=labels.escape(name),
        mode="lines+markers" if marked else "lines",
        line={"color": ink, "width": 2 if second else 2.5, "dash": "dash" if second else "solid"},
        marker={"symbol": "square-open" if second else "circle", "size": 9 if second else 7, "color": ink},
        customdata=hover,
        hovertemplate="%{customdata}<extra></extra>",
        yaxis=("y", "y2")[panel],
        showlegend=panel == 0,
    )


def _mark(figure: go.Figure, parted: int, steps: int, theme: Theme) -> None:
    """A band through both panels, and its words."""
    colors = themes.palette(theme)
    figure.add_shape(
        type="rect",
        x0=parted - 0.45,
        x1=parted + 0.45,
        yref="paper",
        y0=0,
        y1=1,
        fillcolor=colors.surface,
        line={"width": 1, "color": colors.line},
        layer="below",
    )
    figure.add_annotation(
        text=f"first difference: step {parted}",
        font={"size": 12, "color": colors.muted},
        x=parted,
        xanchor="left" if parted < steps / 8 else "right" if parted >= steps * 7 / 8 else "center",
        yref="paper",
        y=0.5,
        yanchor="middle",
        bgcolor=colors.page,
        showarrow=False,
    )


def _reach(lines: Sequence[go.Scatter]) -> list[float]:
    """From below the lowest value to a little over 0."""
    values = np.concatenate([np.asarray(line.y, np.float64) for line in lines])
    values = values[np.isfinite(values)]
    low = min(float(values.min()) if values.size else 0.0, -0.1)
    return [low * 1.1, -low * 0.06]
