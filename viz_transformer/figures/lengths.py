"""The lengths of a data set's texts."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import plotly.graph_objects as go
from numpy.typing import ArrayLike

from viz_transformer.figures.template import dressed
from viz_transformer.figures.theme import Theme, palette
from viz_transformer.model.kinds import SIDES, SideName

MAX_BARS = 60


def length_histogram(
    lengths: Mapping[SideName, ArrayLike],
    *,
    title: str,
    limits: Mapping[SideName, int] | None = None,
    theme: Theme = "light",
) -> go.Figure:
    """The histogram of text lengths in tokens: source in blue, target in orange, each a stepped outline.

    limits: the longest that a filter keeps, drawn as a dashed line. Where the range is wider than MAX_BARS, several
    lengths share a step. Raises ValueError for no texts.
    """
    colors = palette(theme)
    arrays = {side: np.asarray(values, np.int64) for side, values in lengths.items()}
    if not arrays or any(not values.size for values in arrays.values()):
        raise ValueError("there are no texts to count the lengths of")
    longest = max(int(values.max()) for values in arrays.values())
    width = -(-(longest + 1) // MAX_BARS)
    steps = np.arange(0, longest + width + 1, width)
    figure = go.Figure()
    for side, values in arrays.items():
        counts, _ = np.histogram(values, bins=np.append(steps, steps[-1] + width))
        ink = SIDES[side].of(colors.source_ink, colors.target_ink)
        figure.add_scatter(
            x=steps + (width - 1) / 2,
            y=counts,
            name=side,
            mode="lines",
            line={"color": ink, "width": 2, "shape": "hvh", "dash": SIDES[side].of("solid", "dot")},
            customdata=[_span(int(start), width) for start in steps],
            hovertemplate=f"{side}, %{{customdata}}<br>%{{y:,d}} of {values.size:,} texts<extra></extra>",
        )
        limit = (limits or {}).get(side)
        if limit is not None and limit <= longest:
            figure.add_vline(x=limit + 0.5, line={"color": ink, "width": 1, "dash": "dash"})
    unit = "tokens, start and end not counted" + (f"; {width} lengths to a step" if width > 1 else "")
    return dressed(figure, theme, title=title, height=320, margin=(64, 12, 40, 48)).update_layout(
        xaxis={"range": [-0.5, longest + width], "title": {"text": unit}},
        yaxis={"rangemode": "tozero", "tickformat": ",d", "title": {"text": "texts"}},
        showlegend=len(arrays) > 1,
        legend={"yref": "paper", "yanchor": "bottom", "font": {"size": 14}},
    )


def _span(start: int, width: int) -> str:
    return f"{start} token{'' if start == 1 else 's'}" if width == 1 else f"{start} to {start + width - 1} tokens"
