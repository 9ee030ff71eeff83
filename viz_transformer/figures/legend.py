"""The lines under a figure: a bar of colours between its two ends, and in words what is seen and what is not."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from viz_transformer.figures import theme as themes
from viz_transformer.figures.theme import Theme

CHARACTER = 0.61
"""Width of one column of the mono font, in parts of its size."""
_LINE = 20
_BAR = 120


def space(lines: int) -> int:
    """The lower margin, in pixels, that a legend of this many lines needs."""
    return 32 + _LINE * lines


def draw(figure: go.Figure, lines: Sequence[str], theme: Theme, *, ends: tuple[str, str] | None = None) -> None:
    """Write lines of text, already escaped, under the figure, the first beside the bar of the first trace's colours.

    ends: what stands at the two ends of the bar; without it there is none. The figure's height and its lower margin,
    `space(len(lines))`, are already set.
    """
    muted = themes.palette(theme).muted
    place = {"xref": "paper", "x": 0, "xanchor": "left", "yref": "paper", "y": 0, "yanchor": "middle"}
    start = 0.0
    if ends is not None:
        above = 12 + _LINE * (len(lines) - 1)  # from the lower edge to the middle of the bar
        start = _bar(figure, ends, above, muted)
    for number, line in enumerate(lines):
        shift = 12 + _LINE * (len(lines) - 1 - number) - space(len(lines))
        figure.add_annotation(
            text=line,
            font={"size": 13, "color": muted},
            xshift=0 if number else start,
            yshift=shift,
            showarrow=False,
            **place,
        )


def _bar(figure: go.Figure, ends: tuple[str, str], above: int, muted: str) -> float:
    """Draw the bar and its ends; where the words after it begin."""
    height, margin = figure.layout.height, figure.layout.margin.b
    low, high = ends
    font = {"family": themes.MONO_STACK, "size": 13, "color": muted}
    place = {"xref": "paper", "x": 0, "xanchor": "left", "yref": "paper", "y": 0, "yanchor": "middle"}
    start = len(low) * 13 * CHARACTER + 8
    for text, shift in ((low, 0.0), (high, start + _BAR + 8)):
        figure.add_annotation(text=text, font=font, xshift=shift, yshift=above - margin, showarrow=False, **place)
    figure.data[0].update(
        showscale=True,
        colorbar={
            "len": _BAR + 2 * start,  # plotly counts the padding
            "xpad": start,
            "y": (above - 4) / height,
        },
    )
    return start + _BAR + 8 + len(high) * 13 * CHARACTER + 16
