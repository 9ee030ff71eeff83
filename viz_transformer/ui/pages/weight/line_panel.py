"""The active line of the ladder: what it does, its formula and its picture, and the comparison with the record."""

from __future__ import annotations

import html
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from plotly.graph_objects import Figure

from viz_transformer.analysis.weight.ladder import Ladder
from viz_transformer.analysis.weight.step_source import digits
from viz_transformer.analysis.weight.weight_numbers import Check, Line
from viz_transformer.figures import labels
from viz_transformer.figures.one_weight import BarLook, bars, strips
from viz_transformer.figures.theme import Theme
from viz_transformer.model.kinds import KINDS
from viz_transformer.numerals import significant
from viz_transformer.ui.frame import projector, text
from viz_transformer.ui.frame.drawn import Chart, Drawn, Formula, Heading, Numbers, Table, TableButton, Text
from viz_transformer.ui.frame.frame import ChartSize, Runs
from viz_transformer.ui.frame.page import Chosen
from viz_transformer.ui.pages.weight import words
from viz_transformer.ui.pages.weight.weight_difference import keys_of
from viz_transformer.ui.session.runs import RunView


def draw_line(both: Runs, chosen: Chosen) -> Iterator[Drawn]:
    """The active line: an explanation, its formula with numbers, its picture, and the comparison with the record."""
    shown, found, name = both.main, chosen["ladder"], chosen["weight_line"]
    line, said = found.lines[name], words.line_words(found, shown.trace.config, name)
    yield Heading(said=said.title)
    for sentence in said.sentences:
        yield Text(said=sentence)
    yield Formula(latex=said.equation or said.formula)
    if line.vectors:
        yield _draw_numbers(shown, found, name, said.title)
    if line.shapes:
        shapes = [(each.name, each.letters, each.sizes) for each in line.shapes]
        yield Table(head=(), rows=shapes, style="vt-definitions vt-mono vt-shapes")
    if line.checks:
        rows = [_check_row(check) for check in line.checks]
        yield Table(head=words.CHECKS_HEAD, rows=rows, style="vt-facts vt-compared", caption=words.CHECKS_CAPTION)
    elif name in words.NOT_RECORDED:
        yield Text(said=words.NOT_RECORDED[name])


def _draw_numbers(shown: RunView, found: Ladder, name: str, title: str) -> Drawn:
    """The picture of a line with its table, or the table alone."""
    line, cell = found.lines[name], words.cell(found.cell)
    whole, writes = words.line_title(cell, title), KINDS[found.cell.kind].writes
    numbers = Numbers(
        frame=lambda: line_table(line),
        note=words.in_float64(shown.caption(whole, rows=writes)),
        name=labels.file_name(shown.summary.name, whole),
    )
    if name in ("mask", "shapes"):  # of which no picture says more
        return TableButton(numbers=numbers, key="weight_picture")
    return Chart(
        figure=lambda theme: _picture(shown, found, name, theme),
        alt=f"{title}: {', '.join(v.name for v in line.vectors)}",
        numbers=numbers,
        key="weight_picture",
        size=ChartSize(room=250),
        caption=words.of_run(shown.called, shown.words(), cell),
        rows=shown.row_source if writes else "",
    )


def _picture(shown: RunView, found: Ladder, name: str, theme: Theme) -> Figure:
    """A line as strips of its vectors, or as bars where its numbers add up or share a row."""
    cell, line = found.cell, found.lines[name]
    look: dict[str, Any] = {"theme": theme, "type_size": 1.5 if projector.is_on() else 1.0}
    by_key: dict[str, Any] = {"ticks": keys_of(shown, cell), "picked": cell.key, "title": words.BY_KEY, **look}
    if name == "products":
        products, running = line.vectors[2].values, line.vectors[3].values
        hover = [words.product_hover(d, significant(value, 6)) for d, value in enumerate(products.tolist())]
        said = BarLook(quantity=words.PRODUCT_OF_ONE, title=words.PRODUCTS_AND_SUM, hover=hover, **look)
        return bars(products, said, running=running)
    if name == "divisor":
        said = BarLook(quantity=words.SCORE, hover=_hover(shown, found, "score"), **by_key)
        return bars(line.vectors[-1].values, said)
    if name in ("softmax", "weight"):
        even = found.lines["weight"].scalars["even"] if found.row.mask.any() else None
        hover = _hover(shown, found, "weight")
        quantity = words.WEIGHT if even is None else words.WEIGHT_AND_EVEN
        said = BarLook(quantity=quantity, hover=hover, kind=cell.kind, **by_key)
        return bars(line.vectors[-1].values, said, even=even)
    return strips(line.vectors, **look)


def _hover(shown: RunView, found: Ladder, what: str) -> list[str]:
    """Tooltips of the row's keys."""
    softmax = [vector.values for vector in found.lines["softmax"].vectors]
    names = words.SOFTMAX_OF_A_KEY if what == "weight" else ()
    said = []
    for key, token in enumerate(keys_of(shown, found.cell)):
        lines = [words.key(key, labels.visible(token)), words.named(words.SCORE, significant(found.row.scores[key], 6))]
        lines += [
            words.named(name, significant(float(values[key]), 6)) for name, values in zip(names, softmax, strict=False)
        ]
        said.append("\n".join(lines if found.row.mask[key] else [*lines, words.MASKED_KEY]))
    return said


def line_table(line: Line) -> pd.DataFrame:
    """The table of a line's numbers, one per row: computed ones first, then compared ones."""
    rows: list[tuple[str, str, float, float, float]] = []
    for vector in line.vectors:
        for at, value in np.ndenumerate(vector.values):
            rows.append((vector.name, ", ".join(map(str, at)), float(value), math.nan, math.nan))
    for check in line.checks:
        if check.derived.ndim > 1:
            continue  # whole tensors, which the Tensors page has
        recorded = np.broadcast_to(check.recorded, check.derived.shape)
        for at, value in np.ndenumerate(check.derived):
            numbers = float(value), float(recorded[at]), float(value - recorded[at])
            rows.append((words.compared(check.name), ", ".join(map(str, at)), *numbers))
    return pd.DataFrame(rows, columns=[*words.LINE_COLUMNS]).set_index([*words.LINE_COLUMNS[:2]])


def _check_row(check: Check) -> tuple[str, ...]:
    """Computed beside recorded values, with the largest difference and the verdict."""
    if check.derived.ndim:
        derived = recorded = words.numbers(check.derived.size)
    else:
        derived, recorded = digits(float(check.derived)), str(np.float32(check.recorded))
    point = html.escape(check.point)
    name = text.Html(f'{html.escape(check.name)}<i title="{point}">{point}</i>')
    style, word = ("vt-ok", words.AGREES) if check.agrees else ("vt-bad", words.DIFFERS)
    verdict = text.Html(f"<span class={style}>{word}</span>")
    return name, derived, recorded, words.difference(check.difference), verdict
