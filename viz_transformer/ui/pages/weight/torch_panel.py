"""The same attention by nn.MultiheadAttention with the same weights, element by element."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from viz_transformer.analysis.weight.ladder import Ladder
from viz_transformer.analysis.weight.torch_attention import Pair, TorchComparison, torch_attention
from viz_transformer.figures import labels
from viz_transformer.model.kinds import KindName
from viz_transformer.numerals import number
from viz_transformer.ui.frame import projector
from viz_transformer.ui.frame.controls import Control
from viz_transformer.ui.frame.drawn import Drawn, Grid, Heading, Table, Text
from viz_transformer.ui.frame.frame import Runs
from viz_transformer.ui.frame.number_columns import number_column
from viz_transformer.ui.frame.page import Chosen
from viz_transformer.ui.pages.weight import words
from viz_transformer.ui.pages.weight.weight_difference import keys_of
from viz_transformer.ui.session.memoize import memoize
from viz_transformer.ui.session.runs import RunView

MAX_UNSCROLLED_ROWS = 14
"""The most rows of a table that is shown whole, without scrolling."""
MAX_ON_A_PROJECTOR = 6
"""Rows of a table that are readable on a projector."""
COMPARED = Control(
    field="weight_beside", label=words.COMPARED, options=lambda shown: words.BESIDE, unset="weights", hidden=True
)


def draw_torch(both: Runs, chosen: Chosen) -> Iterator[Drawn]:
    """How far torch's weights and outputs are from ours, and both of this row beside each other."""
    shown, found, which = both.main, chosen["ladder"], chosen["weight_beside"]
    comparison = _torch(shown, found.cell.kind, found.cell.layer)
    yield Heading(said=words.TORCH)
    if comparison.weights is None:
        yield Text(said=words.nothing_to_compare(comparison.reason))
        return
    output = None if comparison.out is None else _largest(comparison.out)
    yield Text(said=words.torch_differs(_largest(comparison.weights), output))
    if projector.is_on():
        yield _draw_largest(torch_table(shown, found, comparison, "weights"))
        return
    yield COMPARED
    if which == "out" and comparison.out is None:
        yield Text(said=words.output_does_not_compare(comparison.out_reason))
        return
    if not found.row.mask.any():
        yield Text(said=words.NOTHING_ALLOWED, tone="warning")
    numbers = torch_table(shown, found, comparison, which)
    yield Grid(
        numbers=numbers,
        key="weight_torch_table",
        columns=_set_columns(numbers),
        height="content" if len(numbers) <= MAX_UNSCROLLED_ROWS else 420,
    )
    largest = numbers[words.DIFFERENCE].abs().max()
    if largest == largest:
        yield Text(said=words.table_differs(words.difference(largest)))


def _set_columns(numbers: pd.DataFrame) -> dict[str, Any]:
    """How the columns are set: of weights there are so many that each needs a width, or numbers lose their first
    digits."""
    narrow = words.MASKED_KEY in numbers
    ours = number_column(numbers[[words.OURS, words.THEIRS]], 7, width=106 if narrow else None)
    return {
        words.OURS: ours,
        words.THEIRS: ours,
        "_index": st.column_config.NumberColumn(width=40 if narrow else None),
        words.TOKEN: st.column_config.TextColumn(width=94 if narrow else None),
        words.MASKED_KEY: st.column_config.CheckboxColumn(width=56),
        words.DIFFERENCE: st.column_config.NumberColumn(format="%.1e", width=74 if narrow else None),
    }


def _draw_largest(numbers: pd.DataFrame) -> Table:
    """The largest weights of the row, ours and torch's, readable on a projector."""
    largest = numbers.nlargest(MAX_ON_A_PROJECTOR, words.OURS).sort_index()
    columns = (largest[name].tolist() for name in (words.TOKEN, *words.TORCH_HEAD[1:]))
    rows = [
        (f"{key}: {token}", number(ours, 7), number(theirs, 7), words.difference(difference))
        for key, token, ours, theirs, difference in zip(largest.index, *columns, strict=True)
    ]
    return Table(head=words.TORCH_HEAD, rows=rows, style="vt-measured")


def torch_table(shown: RunView, found: Ladder, comparison: TorchComparison, which: str) -> pd.DataFrame:
    """The table of ours as recorded, torch's, and the difference: a row of weights by key, or the output by feature."""
    cell = found.cell
    pair = comparison.out if which == "out" else comparison.weights
    assert pair is not None
    at = (cell.query,) if which == "out" else (cell.head, cell.query)
    ours, theirs = pair.ours[at], pair.torch[at]
    columns: dict[str, Any] = {}
    if which == "weights":
        tokens = [labels.visible(token) for token in keys_of(shown, cell)]
        columns = {words.TOKEN: tokens, words.MASKED_KEY: ~found.row.mask}
    columns |= {words.OURS: ours, words.THEIRS: theirs, words.DIFFERENCE: ours.astype(np.float64) - theirs}
    name = words.FEATURE if which == "out" else words.KEY
    return pd.DataFrame(columns, index=pd.RangeIndex(len(ours), name=name))


@memoize(8)
def _torch(shown: RunView, kind: KindName, layer: int) -> TorchComparison:
    return torch_attention(shown.trace, shown.ckpt.model, kind, layer)


def _largest(pair: Pair) -> str:
    return words.largest(words.difference(pair.largest), everywhere=bool(pair.defined.all()))
