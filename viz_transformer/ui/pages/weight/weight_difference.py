"""A − B on the One weight page: the rows of weights and scores in both runs, and their difference."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from viz_transformer.analysis.weight.row_difference import RowDifference, below_largest, row_difference
from viz_transformer.analysis.weight.weight_numbers import Cell
from viz_transformer.figures import labels
from viz_transformer.figures.one_weight import BarLook, two_rows
from viz_transformer.model.kinds import KINDS
from viz_transformer.numerals import significant
from viz_transformer.sentences import capitalised
from viz_transformer.ui.frame import projector
from viz_transformer.ui.frame.drawn import Chart, Columns, Drawn, Numbers, Text
from viz_transformer.ui.frame.frame import ChartSize, Runs
from viz_transformer.ui.frame.page import Chosen
from viz_transformer.ui.pages.weight import words
from viz_transformer.ui.session.runs import RunView


def draw_difference(both: Runs, chosen: Chosen) -> Iterator[Drawn]:
    """Weights and scores of the row in A and B and their difference, or a sentence on why there is none."""
    assert both.b is not None
    a, b, cell = both.a, both.b, chosen["ladder"].cell
    try:
        found = row_difference(a.trace, b.trace, cell)
    except ValueError as error:
        yield Text(said=f"{capitalised(error)}.", tone="bad")
        return
    first, *others = describe_difference(found, a, b, cell)
    yield Text(said=first)
    charts = [_draw_bars(found, a, b, cell, quantity) for quantity in (words.WEIGHT, words.BELOW_LARGEST)]
    yield Columns(parts=[[chart] for chart in charts], widths=(1, 1))
    yield Text(said=" ".join(others))


def _draw_bars(found: RowDifference, a: RunView, b: RunView, cell: Cell, quantity: str) -> Chart:
    first, second = (row.weights if quantity == words.WEIGHT else below_largest(row) for row in (found.a, found.b))
    tokens = [keys_of(shown, cell) for shown in (a, b)]
    look = BarLook(
        quantity=quantity,
        title=words.SAME_UNITS,
        ticks=[x if x == y else f"{x}|{y}" for x, y in zip(*tokens, strict=True)],
        hover=_hover(found, tokens, quantity, (first, second)),
        picked=cell.key,
        kind=cell.kind,
        type_size=1.5 if projector.is_on() else 1.0,
    )
    what = "weights" if quantity == words.WEIGHT else "scores"
    row = words.row_of(cell.site, cell.head, cell.query)
    captions = words.both(each.caption(row, rows=KINDS[cell.kind].writes) for each in (a, b))
    return Chart(
        figure=lambda theme: two_rows(first, second, replace(look, theme=theme)),
        alt=words.difference_alt(what),
        numbers=Numbers(
            frame=lambda: difference_table(found, a, b, cell),
            note=words.difference_note(captions),
            name=labels.file_name("a-minus-b", a.summary.name, row),
            key="weight_difference",
        ),
        key=f"weight_difference_{what}",
        size=ChartSize(),
        caption=words.of_row(words.both(words.run(each.called, each.words()) for each in (a, b)), row),
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
