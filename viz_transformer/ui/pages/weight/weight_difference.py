"""A − B on the One weight page: the row of weights and of scores in both runs, and the one less the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd
import streamlit as st

from viz_transformer.analysis.weight.row_difference import RowDifference, below_largest, row_difference
from viz_transformer.analysis.weight.weight_numbers import Cell
from viz_transformer.figures import labels
from viz_transformer.figures.one_weight import two_rows as draw
from viz_transformer.model.kinds import KINDS
from viz_transformer.numerals import significant
from viz_transformer.sentences import capitalised
from viz_transformer.ui.components.pictures import Asked
from viz_transformer.ui.frame import frame, pictures, projector, text
from viz_transformer.ui.session.runs import Shown

WEIGHTS, SCORES = "weight", "score below the row's largest"


def two_rows(a: Shown, b: Shown, cell: Cell) -> None:
    """Weights and scores of the row in A and in B and their difference, or one sentence that says why there is none."""
    text.section("A − B of this row")
    try:
        found = row_difference(a.trace, b.trace, cell)
    except ValueError as error:
        text.paragraph(f"{capitalised(error)}.", tone="bad")
        return
    first, *others = in_words(found, a, b, cell)
    text.paragraph(first)
    title = f"{cell.site}, head {cell.head}, query {cell.query}"
    captions = "; ".join(f"{each.name}: {each.caption(title, rows=KINDS[cell.kind].writes)}" for each in (a, b))
    asked = pictures.table(
        lambda: difference_table(found, a, b, cell),
        note=f"{captions}. Scores are taken from the largest open one of their row.",
        name=labels.file_name("a-minus-b", a.summary.name, title),
        key="weight_difference",
    )
    for column, quantity in zip(st.columns(2, gap="medium"), (WEIGHTS, SCORES), strict=True):
        with column:
            _chart(found, a, b, cell, quantity, asked)
    text.paragraph(" ".join(others))


def _chart(found: RowDifference, a: Shown, b: Shown, cell: Cell, quantity: str, asked: Asked) -> None:
    first, second = (row.weights if quantity == WEIGHTS else below_largest(row) for row in (found.a, found.b))
    tokens = [keys_of(shown, cell) for shown in (a, b)]
    figure = draw(
        first,
        second,
        quantity=quantity,
        title="A − B, the same units",
        ticks=[x if x == y else f"{x}|{y}" for x, y in zip(*tokens, strict=True)],
        hover=_hover(found, tokens, quantity, (first, second)),
        picked=cell.key,
        kind=cell.kind,
        theme=frame.theme(),
        type_size=1.5 if projector.is_on() else 1.0,
    )
    what = "weights" if quantity == WEIGHTS else "scores"
    runs = "; ".join(f"{each.name}: {each.called}, {each.words()}" for each in (a, b))
    frame.chart(
        figure,
        key=f"weight_difference_{what}",
        alt=f"The {what} of this row in A, in B, and A − B",
        caption=f"{runs}; {cell.site}, head {cell.head}, query {cell.query}",
        on_table=asked,
    )


def _hover(found: RowDifference, tokens: Sequence[Sequence[str]], quantity: str, values: tuple[Any, Any]) -> list[str]:
    said = []
    for key, (first, second) in enumerate(zip(*values, strict=True)):
        words = [labels.visible(side[key]) for side in tokens]
        lines = [f"key {key}: {words[0] if words[0] == words[1] else ' in A, '.join(words) + ' in B'}"]
        for name, row, value in (("A", found.a, first), ("B", found.b, second)):
            masked = "" if row.mask[key] else ", masked"
            lines.append(f"{quantity} in {name} {significant(float(value), 6)}{masked}")
        said.append("\n".join([*lines, f"A − B {significant(float(first - second), 6)}"]))
    return said


def in_words(found: RowDifference, a: Shown, b: Shown, cell: Cell) -> list[str]:
    """The cell in both, how far the rows are apart, and what is not the same in both."""
    weights = [row.weights[cell.key] for row in (found.a, found.b)]
    said = [
        f"Key {cell.key} has the weight {weights[0]!s} in A and {weights[1]!s} in B; A − B is"
        f" {found.weights[cell.key]!s}."
    ]
    if found.equal:
        said.append("Both rows of weights are the same, number by number.")
    elif found.total_variation == found.total_variation:
        said.append(
            f"Half the sum of all absolute differences, the total variation, is"
            f" {labels.number(found.total_variation)}: 0 is the same shares, 1 none in common."
        )
    sides = [KINDS[cell.kind].queries.of(shown.trace.src_tokens, shown.trace.tgt_tokens) for shown in (a, b)]
    queries = [labels.isolated(labels.visible(tokens[cell.query])) for tokens in sides]
    if queries[0] != queries[1]:
        said.append(f"The query reads “{queries[0]}” in A and “{queries[1]}” in B.")
    others = [str(at) for at, (x, y) in enumerate(zip(keys_of(a, cell), keys_of(b, cell), strict=True)) if x != y]
    if others:
        which = ", ".join(others[:8]) + (", ..." if len(others) > 8 else "")
        said.append(f"B has other tokens at {'keys' if len(others) > 1 else 'key'} {which}.")
    if a.ckpt.weights_sha256 != b.ckpt.weights_sha256:
        said.append(
            f"These are two models: head {cell.head} of one need not have anything to do with head {cell.head} of the"
            " other."
        )
    return said


def difference_table(found: RowDifference, a: Shown, b: Shown, cell: Cell) -> pd.DataFrame:
    """Each key in both runs: token, weight, whether it is masked, and score; a masked key's score is empty, for it is
    not measured from the largest open one."""
    columns: dict[str, Any] = {
        f"token, {name}": [labels.visible(token) for token in keys_of(shown, cell)]
        for name, shown in (("A", a), ("B", b))
    }
    columns |= {"weight, A": found.a.weights, "weight, B": found.b.weights, "weight, A − B": found.weights}
    columns |= {"masked, A": ~found.a.mask, "masked, B": ~found.b.mask}
    columns |= {"score, A": below_largest(found.a), "score, B": below_largest(found.b), "score, A − B": found.scores}
    return pd.DataFrame(columns, index=pd.RangeIndex(len(found.weights), name="key"))


def keys_of(shown: Shown, cell: Cell) -> tuple[str, ...]:
    """What stands at each key."""
    return KINDS[cell.kind].keys.of(shown.trace.src_tokens, shown.trace.tgt_tokens)
