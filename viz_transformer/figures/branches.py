"""Two runs of one text, step by step: the log-probability of each token written, and of all that was written so far."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from viz_transformer import declared
from viz_transformer.figures import labels
from viz_transformer.figures.template import band, dressed, run_line, steps_axis
from viz_transformer.figures.theme import Theme, palette
from viz_transformer.numerals import nth

_PANELS = (  # its title, what its numbers are, its axis, and where that lies
    ("of the token", "log-probability", "y", [0.56, 1]),
    ("sum so far", "sum so far", "y2", [0, 0.44]),
)


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
    """Curves of the log-probability per step and in total, for two runs; the first is solid, the second dashed.

    a, b: (tokens, natural log-probabilities), one of each per step. parted: the index of the first step at which the
    runs differ, which is marked. A token with
    a probability of 0 is a gap. Raises ValueError for lists of different lengths, for no steps, and for a step that
    neither has.
    """
    for name, (tokens, log_probs) in zip(names, (a, b), strict=True):
        with declared.prefixed(f"{name}: "):
            declared.same_count(tokens=len(tokens), **{"log-probabilities": len(log_probs)})
            declared.within("tokens", len(tokens), declared.Count)
    steps = max(len(a[0]), len(b[0]))
    if parted is not None:
        declared.place("step", parted, steps)
    figure, colors = go.Figure(), palette(theme)
    for panel, what, axis, domain in _PANELS:
        drawn = []
        for name, (tokens, log_probs), ink in zip(names, (a, b), (colors.text, colors.muted), strict=True):
            values = np.asarray(log_probs, np.float64)
            values = values if axis == "y" else values.cumsum()
            drawn.append(values)
            figure.add_scatter(
                x=np.arange(1, len(values) + 1),
                y=np.where(np.isfinite(values), values, np.nan).astype(np.float32),
                name=labels.escape(name),
                customdata=_hover(tokens, values, name, what),
                yaxis=axis,
                showlegend=axis == "y",
                **run_line(ink == colors.muted, ink, 1 if len(values) == 1 else steps),
            )
        own = {"domain": domain, "nticks": 5, "title": {"text": panel, "standoff": 4}, "range": _reach(drawn)}
        figure.update_layout({f"yaxis{axis[1:]}": own})
    if parted is not None:
        _mark(figure, parted, steps, theme)
    return dressed(figure, theme, title=title, height=height, margin=(64, 12, 48, 44)).update_layout(
        showlegend=True,
        xaxis={"anchor": "y2", **steps_axis(steps)},
    )


def _hover(tokens: Sequence[str], values: NDArray[np.float64], name: str, what: str) -> list[str]:
    return [
        f"{labels.escape(name)}, step {step}: “{labels.escape(labels.isolate(labels.visible(token)))}”<br>"
        f"{what} {labels.escape(labels.number(value, 2))}"
        for step, (token, value) in enumerate(zip(tokens, values.tolist(), strict=True), start=1)
    ]


def _mark(figure: go.Figure, parted: int, steps: int, theme: Theme) -> None:
    """Mark a step by a band through both panels, with a label."""
    colors = palette(theme)
    band(figure, nth(parted), colors.surface, {"width": 1, "color": colors.line})
    figure.add_annotation(
        text=f"first difference: step {nth(parted)}",
        font_size=12,
        x=nth(parted),
        xanchor="left" if parted < steps / 8 else "right" if parted >= steps * 7 / 8 else "center",
        yref="paper",
        y=0.5,
        yanchor="middle",
        bgcolor=colors.page,
    )


def _reach(lines: Sequence[NDArray[np.float64]]) -> list[float]:
    """The axis range, from below the lowest value to a little above 0."""
    values = np.concatenate(lines).astype(np.float32).astype(np.float64)
    values = values[np.isfinite(values)]
    low = min(float(values.min()) if values.size else 0.0, -0.1)
    return [low * 1.1, -low * 0.06]
