"""A figure for the last row: everything in it that is measured in pixels, larger."""

from __future__ import annotations

from typing import Any

import plotly.graph_objects as go

_MARGINS = ("l", "r", "t", "b")
_BAR = ("thickness", "len", "xpad", "ypad")


def enlarged(figure: go.Figure, zoom: float) -> go.Figure:
    """The same figure with its height, margins, letters and shifts `zoom` times as large; its width stays the page's.

    Fractions of the figure, such as the place of a colour bar, stay as they are. The figure itself is changed.
    """
    layout = figure.layout
    figure.update_layout(
        height=round(layout.height * zoom),
        margin={side: layout.margin[side] * zoom for side in _MARGINS if layout.margin[side] is not None},
    )
    for letters in (layout.font, layout.title.font, layout.hoverlabel.font, layout.legend.font):
        _larger(letters, zoom)
    for axis in (*figure.select_xaxes(), *figure.select_yaxes()):
        _larger(axis.tickfont, zoom)
        _larger(axis.title.font, zoom)
    for note in layout.annotations:
        _larger(note.font, zoom)
        note.update(xshift=(note.xshift or 0) * zoom, yshift=(note.yshift or 0) * zoom)
    for trace in figure.data:
        if "colorbar" in trace and trace.showscale:
            bar = trace.colorbar
            pixels = bar.lenmode == "pixels"
            bar.update({name: bar[name] * zoom for name in _BAR if bar[name] and (name != "len" or pixels)})
    return figure


def _larger(letters: Any, zoom: float) -> None:
    if letters.size is not None:
        letters.size = letters.size * zoom
