"""The lines below a figure: a colour bar between its two ends, and an explanation in words."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from viz_transformer.figures.template import ON_PAPER
from viz_transformer.figures.theme import MONO_STACK
from viz_transformer.numerals import significant

CHARACTER = 0.61
"""Width of one column of the mono font, in parts of its size."""
_LINE = 20
_BAR = 88


def space(lines: int) -> int:
    """The lower margin, in pixels, for a legend of this many lines."""
    return 32 + _LINE * lines


def draw(figure: go.Figure, lines: Sequence[str], *, ends: tuple[float, float] | None = None) -> None:
    """Write lines of text, already escaped, under the figure, the first beside the bar of the first trace's colours.

    ends: the numbers at the two ends of the bar; without them there is none. The figure's height and its lower margin
    are already set.
    """
    place = {"x": 0, "xanchor": "left", "y": 0, "yanchor": "middle", **ON_PAPER}
    margin = figure.layout.margin.b
    start, above = 0.0, 12 + _LINE * (len(lines) - 1)  # from the lower edge to the middle of the bar
    if ends is not None:
        low, high = (significant(end, 3) for end in ends)
        before = len(low) * 13 * CHARACTER + 8
        for text, shift in ((low, 0.0), (high, before + _BAR + 8)):
            font = {"family": MONO_STACK}
            figure.add_annotation(text=text, font=font, xshift=shift, yshift=above - margin, **place)
        bar = {
            "len": _BAR + 2 * before,
            "xpad": before,
            "yref": "container",  # below the axes it would have as much room again under it
            "y": 0,
            "yanchor": "bottom",
            "ypad": above - 4,
        }
        figure.data[0].update(showscale=True, colorbar=bar)
        start = before + _BAR + 8 + len(high) * 13 * CHARACTER + 16
    for number, line in enumerate(lines):
        xshift = 0 if number else start
        figure.add_annotation(text=line, xshift=xshift, yshift=above - _LINE * number - margin, **place)
