"""Probabilities of tokens or labels as bars, with their table, for models that generate no text."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd

from viz_transformer.figures import labels
from viz_transformer.figures.filling import Shares, filling_bars
from viz_transformer.ui.frame import frame, pictures
from viz_transformer.ui.pages.run import words
from viz_transformer.ui.session.runs import RunView


def bars(shown: RunView, best: Shares, *, title: str, key: str, table: Callable[[], pd.DataFrame], note: str) -> None:
    """Draw a bar for each, best first, and one for all others; note: shown below the table."""
    frame.chart(
        filling_bars(best, title=title, theme=frame.theme()),
        key=key,
        alt=title,
        on_table=pictures.table(
            table,
            note=words.bars_note(shown.caption(title), note),
            name=labels.file_name(shown.summary.name, title),
            key=key,
        ),
    )
