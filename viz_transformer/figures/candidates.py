"""The candidates of one decoding step as horizontal bars: probabilities over the whole vocabulary, scale 0 to 1."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from viz_transformer import numerals
from viz_transformer.figures import labels
from viz_transformer.figures import theme as themes
from viz_transformer.figures.theme import Theme

_LABEL_COLUMNS = 12


def candidate_bars(
    tokens: Sequence[str],
    log_probs: Sequence[float],
    *,
    chosen: int | None = None,
    vocabulary: int | None = None,
    title: str,
    theme: Theme = "light",
    height: int = 352,
    rows: int = 10,
) -> go.Figure:
    """One bar per candidate, best first, with its probability beside it; the last bar, in grey, is all other tokens.

    log_probs: natural logarithms, over the whole vocabulary, not renormalised. vocabulary: its size; without it the
    last bar is left out. chosen: the candidate that was written, in full colour. `rows` places are kept free, so that
    figures with fewer candidates have bars of the same height. Raises ValueError for lists of different lengths.
    """
    if len(tokens) != len(log_probs) or not tokens:
        raise ValueError(f"{len(tokens)} tokens do not fit {len(log_probs)} log-probabilities")
    colors = themes.palette(theme)
    values = [numerals.exponential(log_prob) for log_prob in log_probs]
    bars = [colors.target_ink if i == chosen else colors.decoder[3] for i in range(len(values))]
    ticks = [labels.tick(token, _LABEL_COLUMNS) for token in tokens]
    hover = [
        f"candidate {i}: “{labels.escape(labels.isolated(labels.visible(token)))}”<br>probability {labels.share(p)}"
        f"<br>log-probability {labels.number(log_prob, 2)}{'<br>written' if i == chosen else ''}"
        for i, (token, p, log_prob) in enumerate(zip(tokens, values, log_probs, strict=True))
    ]
    ticks = [f"<b>{tick}</b>" if i == chosen else tick for i, tick in enumerate(ticks)]
    if vocabulary is not None and vocabulary > len(values):
        rest = max(math.ulp(0.0), 1.0 - math.fsum(values))  # not none, however few
        values.append(rest)
        bars.append(colors.derived[3])
        ticks.append(f'<span style="color:{colors.muted}">{vocabulary - len(tokens)} others</span>')
        hover.append(f"the other {vocabulary - len(tokens)} tokens together<br>probability {labels.share(rest)}")
    places = max(len(values), rows + 1)
    figure = go.Figure(
        go.Bar(
            orientation="h",
            x=np.asarray(values, np.float32),
            y=np.arange(len(values)),
            width=0.72,
            marker={"color": bars, "line": {"width": 0}},
            customdata=hover,
            hovertemplate="%{customdata}<extra></extra>",
            text=[labels.share(p) for p in values],
            textposition="outside",
            textfont={"family": themes.MONO_STACK, "size": 13, "color": colors.text},
            cliponaxis=False,
        )
    )
    figure.update_layout(
        **themes.base_layout(theme),
        title=themes.title(labels.escape(title), theme),
        height=height,
        margin={"l": 108, "r": 64, "t": 40, "b": 44, "pad": 0},
        xaxis={
            "range": [0, 1],
            "fixedrange": True,
            "tickvals": [0, 0.5, 1],
            "ticktext": ["0", "0.5", "1"],
            "tickfont": {"family": themes.MONO_STACK, "size": 12, "color": colors.muted},
            "gridcolor": colors.line,
            "gridwidth": 1,
            "zeroline": False,
            "title": {
                "text": "probability over the whole vocabulary",
                "font": {"size": 13, "color": colors.muted},
                "standoff": 4,
            },
        },
        yaxis={
            "range": [places - 0.5, -0.5],
            "fixedrange": True,
            "tickmode": "array",
            "tickvals": list(range(len(values))),
            "ticktext": [f"{tick} " for tick in ticks],
            "tickfont": {"family": themes.MONO_STACK, "size": 14, "color": colors.target_ink},
            "showgrid": False,
            "zeroline": False,
        },
    )
    return figure
