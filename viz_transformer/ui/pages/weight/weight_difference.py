"""A − B on the One weight page: the rows of weights and scores in both runs, and their difference."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd
import streamlit as st

from viz_transformer.analysis.weight.row_difference import RowDifference, below_largest, row_difference
from viz_transformer.analysis.weight.weight_numbers import Cell
from viz_transformer.figures import labels
from viz_transformer.figures.one_weight import BarLook
from viz_transformer.figures.one_weight import two_rows as draw
from viz_transformer.model.kinds import KINDS
from viz_transformer.numerals import significant
from viz_transformer.sentences import capitalised
from viz_transformer.ui.components.pictures import Asked
from viz_transformer.ui.frame import frame, pictures, projector, text
from viz_transformer.ui.pages.weight import words
from viz_transformer.ui.session.runs import RunView


def two_rows(a: RunView, b: RunView, cell: Cell) -> None:
    """Draw weights and scores of the row in A and B and their difference, or a sentence on why there is none."""
    text.section(words.A_MINUS_B)
    try:
        found = row_difference(a.trace, b.trace, cell)
    except ValueError as error:
        text.paragraph(f"{capitalised(error)}.", tone="bad")
        return
    first, *others = describe_difference(found, a, b, cell)
    text.paragraph(first)
    title = words.row_of(cell.site, cell.head, cell.query)
    captions = words.both(each.caption(title, rows=KINDS[cell.kind].writes) for each in (a, b))
    asked = pictures.table(
        lambda: difference_table(found, a, b, cell),
        note=words.difference_note(captions),
        name=labels.file_name("a-minus-b", a.summary.name, title),
        key="weight_difference",
    )
    for column, quantity in zip(st.columns(2, gap="medium"), (words.WEIGHT, words.BELOW_LARGEST), strict=True):
        with column:
            _chart(found, a, b, cell, quantity, asked)
    text.paragraph(" ".join(others))


def _chart(found: RowDifference, a: RunView, b: RunView, cell: Cell, quantity: str, asked: Asked) -> None:
    first, second = (row.weights if quantity == words.WEIGHT else below_largest(row) for row in (found.a, found.b))
    tokens = [keys_of(shown, cell) for shown in (a, b)]
    look = BarLook(
        quantity=quantity,
        title=words.SAME_UNITS,
        ticks=[x if x == y else f"{x}|{y}" for x, y in zip(*tokens, strict=True)],
        hover=_hover(found, tokens, quantity, (first, second)),
        picked=cell.key,
        kind=cell.kind,
        theme=frame.theme(),
        type_size=1.5 if projector.is_on() else 1.0,
    )
    figure = draw(first, second, look)
    what = "weights" if quantity == words.WEIGHT else "scores"
    runs = words.both(words.run(each.called, each.words()) for each in (a, b))
    frame.chart(
        figure,
        key=f"weight_difference_{what}",
        alt=words.difference_alt(what),
        caption=words.of_row(runs, words.row_of(cell.site, cell.head, cell.query)),
        on_table=asked,
    )


def _hover(found: RowDifference, tokens: Sequence[Sequence[str]], quantity: str, values: tuple[Any, Any]) -> list[str]:
    said = []
    for key, (first, second) in enumerate(zip(*values, strict=True)):
        in_a, in_b = (labels.visible(side[key]) for side in tokens)
        lines = [words.key(key, in_a if in_a == in_b else words.in_both(in_a, in_b))]
        for name, row, value in (("A", found.a, first), ("B", found.b, second)):
            lines.append(words.value_in(name, quantity, significant(float(value), 6), masked=not row.mask[key]))
        lines.append(words.named(words.MINUS, significant(float(first - second), 6)))
        said.append("\n".join(lines))
    return said


def describe_difference(found: RowDifference, a: RunView, b: RunView, cell: Cell) -> list[str]:
    """Sentences on the cell in both runs, the distance of the rows, and what else differs."""
    in_a, in_b, difference = (str(row[cell.key]) for row in (found.a.weights, found.b.weights, found.weights))
    said = [words.weights_of_key(cell.key, in_a, in_b, difference)]
    if found.equal:
        said.append(words.SAME_ROWS)
    elif found.total_variation == found.total_variation:
        said.append(words.total_variation(labels.number(found.total_variation)))
    sides = [KINDS[cell.kind].queries.of(shown.trace.src_tokens, shown.trace.tgt_tokens) for shown in (a, b)]
    queries = [labels.isolate(labels.visible(tokens[cell.query])) for tokens in sides]
    if queries[0] != queries[1]:
        said.append(words.queries_read(*queries))
    others = [str(at) for at, (x, y) in enumerate(zip(keys_of(a, cell), keys_of(b, cell), strict=True)) if x != y]
    if others:
        which = ", ".join(others[:8]) + (", ..." if len(others) > 8 else "")
        said.append(words.other_tokens(which, several=len(others) > 1))
    if a.ckpt.weights_sha256 != b.ckpt.weights_sha256:
        said.append(words.two_models(cell.head))
    return said


def difference_table(found: RowDifference, a: RunView, b: RunView, cell: Cell) -> pd.DataFrame:
    """The table of the keys in both runs: token, weight, whether it is masked, and score; a masked key has no score
    relative to the largest open one."""
    columns: dict[str, Any] = {
        words.of_letter(words.TOKEN, name): [labels.visible(token) for token in keys_of(shown, cell)]
        for name, shown in (("A", a), ("B", b))
    }
    scores = below_largest(found.a), below_largest(found.b), found.scores
    for name, values in (
        (words.WEIGHT, (found.a.weights, found.b.weights, found.weights)),
        (words.MASKED_KEY, (~found.a.mask, ~found.b.mask)),
        (words.SCORE, scores),
    ):
        letters = ("A", "B", words.MINUS)[: len(values)]
        columns |= {words.of_letter(name, letter): each for letter, each in zip(letters, values, strict=True)}
    return pd.DataFrame(columns, index=pd.RangeIndex(len(found.weights), name=words.KEY))


def keys_of(shown: RunView, cell: Cell) -> tuple[str, ...]:
    """The token of each key."""
    return KINDS[cell.kind].keys.of(shown.trace.src_tokens, shown.trace.tgt_tokens)
