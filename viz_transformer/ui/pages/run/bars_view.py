"""Probabilities of tokens or labels as bars, with their table, for models that generate no text."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd

from viz_transformer.figures import labels
from viz_transformer.figures.filling import Shares, filling_bars
from viz_transformer.ui.frame import frame
from viz_transformer.ui.frame.drawn import Chart, Numbers
from viz_transformer.ui.pages.run import words
from viz_transformer.ui.session.runs import RunView


def draw_bars(
    shown: RunView, best: Shares, *, title: str, key: str, table: Callable[[], pd.DataFrame], note: str
) -> Chart:
    """A bar for each, best first, and one for all others; note: shown below the table."""
    numbers = Numbers(
        frame=table,
        note=words.bars_note(shown.caption(title), note),
        name=labels.file_name(shown.summary.name, title),
    )
    return Chart(
        figure=lambda theme: filling_bars(best, title=title, theme=theme),
        alt=title,
        numbers=numbers,
        key=key,
        size=frame.ChartSize(),
    )
