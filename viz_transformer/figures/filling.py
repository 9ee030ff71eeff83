"""Predictions of a masked language model at one position, as bars: probabilities over the whole vocabulary."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from viz_transformer import declared
from viz_transformer.figures import labels
from viz_transformer.figures.template import dressed
from viz_transformer.figures.theme import Theme, palette, weight_colors
from viz_transformer.numerals import exponential, number

BAR, _TOP, _BOTTOM = 24, 36, 44
LONGEST = 16


@dataclass(frozen=True, kw_only=True)
class Shares:
    """The most probable tokens of a vocabulary, best first, with their probabilities."""

    tokens: Sequence[str]
    log_probs: Sequence[float]
    """Natural, over the whole vocabulary, not renormalised."""
    others: float
    """The probability of all other tokens."""
    vocabulary: int
    """The size of the vocabulary."""
    hidden: int | None = None
    """The index of the token that was masked there."""
    what: str = "tokens"
    """The word for what they are."""


def filling_bars(best: Shares, *, title: str, theme: Theme = "light") -> go.Figure:
    """Bars of the tokens, best first, and one for all others together; the widths are probabilities from 0 to 1.

    Raises ValueError for what does not fit together.
    """
    tokens, log_probs, others, hidden = best.tokens, best.log_probs, best.others, best.hidden
    declared.same_count(tokens=len(tokens), **{"log-probabilities": len(log_probs)})
    declared.within("tokens", len(tokens), declared.Count)
    colors = palette(theme)
    names = [labels.shorten(labels.visible(token), LONGEST) for token in tokens]
    shares = [exponential(each) for each in log_probs]
    said = [
        f"{labels.escape(labels.visible(token))}<br>probability {labels.share(share)}<br>log-probability"
        f" {labels.escape(number(log_prob, 2))}{'<br>the token that was masked' if place == hidden else ''}"
        for place, (token, share, log_prob) in enumerate(zip(tokens, shares, log_probs, strict=True))
    ]
    left = best.vocabulary - len(tokens)
    if left > 0:
        names, shares = [*names, f"other {left:,}"], [*shares, others]
        said.append(f"all other {best.what} together<br>probability {labels.share(others)}")
    ink = weight_colors("encoder", theme)[4]
    figure = go.Figure(
        go.Bar(
            x=shares,
            y=list(range(len(names))),
            orientation="h",
            customdata=said,
            marker={"color": [ink] * len(tokens) + [colors.derived[2]] * (len(names) - len(tokens))},
            width=0.6,
        )
    )
    for place, share in enumerate(shares):
        note = f"{labels.share(share)}{', was masked' if place == hidden else ''}"
        figure.add_annotation(x=share, y=place, text=labels.escape(note), xanchor="left", xshift=4)
    height = _TOP + _BOTTOM + BAR * len(names)
    dressed(figure, theme, title=title, height=height, margin=(120, 12, _TOP, _BOTTOM)).update_layout(
        xaxis={
            "range": [0, 1.2],
            "tickvals": [0, 0.5, 1],
            "ticktext": ["0", "0.5", "1"],
            "title": {"text": "probability", "standoff": 4},
        },
        yaxis={
            "tickvals": list(range(len(names))),
            "ticktext": [labels.escape(name) for name in names],
            "range": [len(names) - 0.5, -0.5],
            "showgrid": False,
            "ticks": "outside",
            "ticklen": 6,
            "tickcolor": colors.page,
        },
    )
    return figure
