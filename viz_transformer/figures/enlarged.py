"""Figures enlarged for a projector: everything measured in pixels is larger."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import plotly.graph_objects as go

_MARGINS = ("l", "r", "t", "b")
_BAR = ("thickness", "len", "xpad", "ypad")


def enlarged(figure: go.Figure, zoom: float) -> go.Figure:
    """The figure with its height, margins, letters and shifts `zoom` times as large; its width stays the page's.

    Fractions of the figure, such as the place of a colour bar, stay as they are.
    """
    figure = type(figure)(figure)
    layout = figure.layout
    figure.update_layout(
        height=round(layout.height * zoom),
        margin={side: layout.margin[side] * zoom for side in _MARGINS if layout.margin[side] is not None},
    )
    enlarge_letters(figure, zoom)
    for note in layout.annotations:
        note.update(xshift=(note.xshift or 0) * zoom, yshift=(note.yshift or 0) * zoom)
    scales = [trace for trace in figure.data if trace.type == "heatmap" and trace.showscale]
    for bar in (trace.colorbar for trace in (*scales, *layout.template.data.heatmap)):
        bar.update({name: bar[name] * zoom for name in _BAR if bar[name]})
    return figure


def enlarge_letters(figure: go.Figure, zoom: float) -> None:
    """Make all letters of the figure `zoom` times as large, its own and those of its template."""
    if zoom == 1:
        return
    for layout in (figure.layout, figure.layout.template.layout):
        axes = [layout[name] for name in layout if name[1:5] == "axis"]
        fonts = [font for axis in axes for font in (axis.tickfont, axis.title.font)]
        fonts += [note.font for note in (layout.annotationdefaults, *layout.annotations)]
        for font in (layout.font, layout.title.font, layout.hoverlabel.font, layout.legend.font, *fonts):
            if font.size is not None:
                font.size = font.size * zoom
