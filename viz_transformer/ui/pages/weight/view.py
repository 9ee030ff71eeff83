"""Parts of the One weight page: the row with its cell, the ladder, the active line's numbers, program and torch."""

from __future__ import annotations

import html
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st
from plotly.graph_objects import Figure

from viz_transformer.analysis.attention.maps import (
    attention_kinds,
    layer_count,
    layer_weights,
    mask_fill_name,
    valid_mask,
)
from viz_transformer.analysis.tensors.trace_files import TOO_LARGE, pack_trace
from viz_transformer.analysis.weight import LINES
from viz_transformer.analysis.weight.ladder import Ladder
from viz_transformer.analysis.weight.ladder import ladder as worked_out
from viz_transformer.analysis.weight.python_copy import FILE, MODEL_FILE, model_file, python_copy
from viz_transformer.analysis.weight.step_source import digits
from viz_transformer.analysis.weight.torch_attention import Pair, TorchComparison, torch_attention
from viz_transformer.analysis.weight.weight_numbers import Cell, Check, Line, parameters
from viz_transformer.checkpoint import Checkpoint
from viz_transformer.checkpoint.files import WEIGHTS
from viz_transformer.figures import labels
from viz_transformer.figures.one_weight import BarLook, bars, strips
from viz_transformer.model.kinds import KINDS, KindName
from viz_transformer.numerals import SMALL, number, significant, write_in_sentence
from viz_transformer.ui.components.pictures import row as draw
from viz_transformer.ui.frame import controls, frame, maps, pictures, projector, text
from viz_transformer.ui.frame.frame import Runs
from viz_transformer.ui.frame.number_columns import number_column
from viz_transformer.ui.pages.weight import words
from viz_transformer.ui.pages.weight.fields import FIELDS
from viz_transformer.ui.pages.weight.weight_difference import keys_of
from viz_transformer.ui.session import state
from viz_transformer.ui.session.memoize import memoize
from viz_transformer.ui.session.passes import has_per_step_rows
from viz_transformer.ui.session.runs import RunView

MAX_UNSCROLLED_ROWS = 14
"""The most rows of a table that is shown whole, without scrolling."""
MAX_ON_A_PROJECTOR = 6
"""Rows of a table that are readable on a projector."""


def choices(both: Runs) -> None:
    """Draw the controls of kind, layer and head; positions are picked in the chips and in the row."""
    trace, chosen = both.main.trace, state.SHARED.now()
    with st.container(horizontal=True, key="choices", vertical_alignment="bottom"):
        controls.kind(attention_kinds(trace), key="weight_kind")
        count = trace.spec.heads(chosen.kind, chosen.layer).query
        controls.layer_and_head(layer_count(trace, chosen.kind), count, page="weight")


def ladder_of(both: Runs) -> Ladder:
    """The ladder of the selected cell, with remarks on parts of the selection that the page cannot show."""
    heads = state.SHARED.now().heads
    if isinstance(heads, str):
        state.remark(words.joined_heads(heads))
    elif len(heads) > 1:
        state.remark(words.several_heads(heads[0]))
    if both.difference:
        state.remark(words.DIFFERENCE_IS_OF_THE_ROW)
    return _ladder(both.main, _cell())


def _cell() -> Cell:
    chosen = state.selection()
    kind: KindName = chosen["kind"]
    query, key = KINDS[kind].fields
    head = 0 if isinstance(chosen["heads"], str) else chosen["heads"][0]
    return Cell(kind=kind, layer=chosen["layer"], head=head, query=chosen[query], key=chosen[key])


@memoize(16)
def _ladder(shown: RunView, cell: Cell) -> Ladder:
    return worked_out(shown.trace, parameters(shown.ckpt.model, cell.kind, cell.layer), cell)


def row(shown: RunView, found: Ladder) -> None:
    """Draw one query against all keys, the cell picked; a click picks another."""
    cell, numbers = found.cell, found.row
    written = shown.trace.next_tokens[cell.query] if KINDS[cell.kind].writes else None
    title = words.row_title(_place(cell), cell.query)
    meta = shown.names.meta(title, cell.kind, scale=cell.kind, fill=mask_fill_name(shown.trace))
    data = numbers.pack(maps.axes(shown, cell.kind), cell.query, written, meta)
    asked = pictures.table(
        lambda: row_table(shown, found),
        note=f"{meta.caption}. {words.SCORES_IN_FLOAT64}",
        name=meta.name,
        key="weight_row_strips",
    )
    draw(data, key="weight_row_strips", on_table=asked)


def row_table(shown: RunView, found: Ladder) -> pd.DataFrame:
    """The table of the row's keys: token, score before scaling, score, whether it may be attended to, and recorded
    weight."""
    numbers = found.row
    tokens = [labels.visible(token) for token in keys_of(shown, found.cell)]
    columns = {
        words.TOKEN: tokens,
        words.SUM_OF_PRODUCTS: numbers.products.sum(axis=1),
        words.SCORE: numbers.scores,
        words.MAY_ATTEND: numbers.mask,
        words.WEIGHT: numbers.weights,
    }
    if (own := own_weights(shown, found.cell)) is not None:
        columns[words.WEIGHT_IN_OWN_STEP] = own
    products = {words.product_of(d): values for d, values in enumerate(numbers.products.T)}
    return pd.DataFrame({**columns, **products}, index=pd.RangeIndex(len(tokens), name=words.KEY))


def cell_sentence(shown: RunView, found: Ladder) -> None:
    """Write the cell in words with its recorded weight; a small one has its digits in a tooltip."""
    cell = found.cell
    queries, keys = KINDS[cell.kind].sides(shown.trace.src_tokens, shown.trace.tgt_tokens)
    query, key = (labels.isolate(labels.visible(side[at])) for side, at in ((queries, cell.query), (keys, cell.key)))
    weight = found.row.weights[cell.key]
    exact = str(weight)  # the fewest digits that give the same float32
    recorded = write_in_sentence(float(weight)) if 0 < abs(weight) < SMALL else exact
    in_step = None
    if (own := own_weights(shown, cell)) is not None:
        in_step = words.NOT_THERE_YET if own[cell.key] is None else words.it_was(str(own[cell.key]))
    query, key = words.at(cell.query, query), words.at(cell.key, key)
    said = words.cell_sentence(query, key, recorded, masked=not found.row.mask[cell.key], in_own_step=in_step)
    text.paragraph(said, style="vt-cell", detail="" if recorded == exact else words.exactly(exact))


def own_weights(shown: RunView, cell: Cell) -> list[np.float32 | None] | None:
    """The weights of the row in the step that wrote its token, None for later keys.

    None if the step had the same row as the ladder, kept none, or is missing.
    """
    own = shown.run.per_step_rows
    there = valid_mask(own, cell.kind)
    if there is None or not there[cell.query].any() or not has_per_step_rows(shown):
        return None
    weights = layer_weights(own, cell.kind, cell.layer)[0][cell.head, cell.query]
    return [weight if is_there else None for weight, is_there in zip(weights, there[cell.query], strict=True)]


def verdict(found: Ladder) -> None:
    """Say whether all lines agree with the recorded values; if not, which do not."""
    if wrong := [name for name, line in found.lines.items() if not line.agrees]:
        text.paragraph(words.disagree(", ".join(wrong)), tone="bad")
        return
    checks = sum(len(line.checks) for line in found.lines.values())
    text.paragraph(words.agree(checks), tone="ok")


def ladder(shown: RunView, found: Ladder) -> None:
    """Draw all lines as formulas with their results; a click, or an arrow key, makes another one active."""
    lines = {name: words.line_words(found, shown.trace.config, name) for name in LINES}
    said = {
        name: " ".join((f"${line.formula}$", f":gray[{text.literal(line.result)}]")) for name, line in lines.items()
    }
    st.radio(
        words.LINE,
        [*said],
        format_func=said.__getitem__,
        label_visibility="collapsed",
        width="stretch",
        **state.widget_args("weight_line", key="weight_line"),
    )


def line_panel(shown: RunView, found: Ladder) -> None:
    """Draw the active line: an explanation, its formula with numbers, its picture, and the comparison with the
    record."""
    name = FIELDS.now().weight_line
    line, said = found.lines[name], words.line_words(found, shown.trace.config, name)
    text.section(said.title)
    for sentence in said.sentences:
        text.paragraph(sentence)
    st.latex(said.equation or said.formula, width="stretch")
    figure = _picture(shown, found, name)
    asked = None
    if line.vectors:
        title = words.line_title(_cell_words(found.cell), said.title)
        ask = pictures.table_button if figure is None else pictures.table
        asked = ask(
            lambda: line_table(line),
            note=words.in_float64(shown.caption(title, rows=KINDS[found.cell.kind].writes)),
            name=labels.file_name(shown.summary.name, title),
            key="weight_picture",
        )
    if figure is not None:
        alt = f"{said.title}: {', '.join(v.name for v in line.vectors)}"
        caption = words.of_run(shown.called, shown.words(), _cell_words(found.cell))
        rows = shown.row_source if KINDS[found.cell.kind].writes else ""
        frame.chart(
            figure,
            key="weight_picture",
            alt=alt,
            caption=caption,
            rows=rows,
            on_table=asked,
            size=frame.ChartSize(room=250),
        )
    if line.shapes:
        shapes = [(each.name, each.letters, each.sizes) for each in line.shapes]
        st.html(text.table(shapes, style="vt-definitions vt-mono vt-shapes"))
    if line.checks:
        check_table(line.checks)
    elif name in words.NOT_RECORDED:
        text.paragraph(words.NOT_RECORDED[name])


def _picture(shown: RunView, found: Ladder, name: str) -> Figure | None:
    """The active line as strips of its vectors, or as bars where its numbers add up or share a row."""
    cell, line = found.cell, found.lines[name]
    look: dict[str, Any] = {"theme": frame.theme(), "type_size": 1.5 if projector.is_on() else 1.0}
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
    if name in ("mask", "shapes"):
        return None
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


def check_table(checks: tuple[Check, ...]) -> None:
    """Draw computed beside recorded values, with the largest difference and the verdict."""
    head, caption = words.CHECKS_HEAD, words.CHECKS_CAPTION
    st.html(text.table(map(_check_row, checks), head=head, style="vt-facts vt-compared", caption=caption))


def _check_row(check: Check) -> tuple[str, ...]:
    if check.derived.ndim:
        derived = recorded = words.numbers(check.derived.size)
    else:
        derived, recorded = digits(float(check.derived)), str(np.float32(check.recorded))
    point = html.escape(check.point)
    name = text.Html(f'{html.escape(check.name)}<i title="{point}">{point}</i>')
    style, word = ("vt-ok", words.AGREES) if check.agrees else ("vt-bad", words.DIFFERS)
    return name, derived, recorded, _gap(check.difference), text.Html(f"<span class={style}>{word}</span>")


def python_panel(shown: RunView, found: Ladder) -> None:
    """Draw the program, the two files that it reads, and its output."""
    text.section(words.COPY)
    text.paragraph(words.PROGRAM)
    trace, ckpt = shown.trace, shown.ckpt
    program = python_copy(trace, found.cell)
    files: tuple[tuple[str, Callable[[], bytes] | str, str, str], ...] = (
        ("program", program, "one_weight.py", "text/x-python"),
        ("trace", lambda: pack_trace(trace), FILE, "application/octet-stream"),
        ("model", lambda: model_file(ckpt), MODEL_FILE, "application/octet-stream"),
    )
    if not trace.is_kept_whole:
        text.paragraph(TOO_LARGE)
    with st.container(horizontal=True, vertical_alignment="center"):
        for what, data, name, kind in files:
            if what == "trace" and not trace.is_kept_whole:
                continue
            st.download_button(words.save(what), data, name, kind, key=f"weight_{what}", on_click="ignore")
    text.paragraph(_whose_file(ckpt))
    st.code(program, language="python", height=420)
    text.paragraph(words.PRINTS)
    st.code(found.printed, language=None, height=420)


def _whose_file(ckpt: Checkpoint) -> str:
    """A phrase for the file of “Save the model”: the checkpoint's own, or one written for a model without any."""
    if ckpt.path is None:
        return words.NO_FILE
    return words.model_file(str(ckpt.path / WEIGHTS))


def torch_panel(shown: RunView, found: Ladder) -> None:
    """Draw the same attention by nn.MultiheadAttention with the same weights, element by element."""
    text.section(words.TORCH)
    cell = found.cell
    comparison = _torch(shown, cell.kind, cell.layer)
    if comparison.weights is None:
        text.paragraph(words.nothing_to_compare(comparison.reason))
        return
    output = None if comparison.out is None else _largest(comparison.out)
    text.paragraph(words.torch_differs(_largest(comparison.weights), output))
    if projector.is_on():
        _draw_largest(torch_table(shown, found, comparison, "weights"))
        return
    controls.buttons(words.COMPARED, words.BESIDE, "weight_beside", key="weight_beside", hidden=True)
    if FIELDS.now().weight_beside == "out" and comparison.out is None:
        text.paragraph(words.output_does_not_compare(comparison.out_reason))
        return
    if not found.row.mask.any():
        text.paragraph(words.NOTHING_ALLOWED, tone="warning")
    numbers = torch_table(shown, found, comparison, FIELDS.now().weight_beside)
    narrow = (
        words.MASKED_KEY in numbers
    )  # so many columns that each needs a set width, or numbers lose their first digits
    st.dataframe(
        numbers,
        height="content" if len(numbers) <= MAX_UNSCROLLED_ROWS else 420,
        key="weight_torch_table",
        column_config={
            **dict.fromkeys(
                (words.OURS, words.THEIRS),
                number_column(numbers[[words.OURS, words.THEIRS]], 7, width=106 if narrow else None),
            ),
            "_index": st.column_config.NumberColumn(width=40 if narrow else None),
            words.TOKEN: st.column_config.TextColumn(width=94 if narrow else None),
            words.MASKED_KEY: st.column_config.CheckboxColumn(width=56),
            words.DIFFERENCE: st.column_config.NumberColumn(format="%.1e", width=74 if narrow else None),
        },
    )
    largest = numbers[words.DIFFERENCE].abs().max()
    if largest == largest:
        text.paragraph(words.table_differs(_gap(largest)))


def _draw_largest(numbers: pd.DataFrame) -> None:
    """Draw the largest weights of the row, ours and torch's, readable on a projector."""
    largest = numbers.nlargest(MAX_ON_A_PROJECTOR, words.OURS).sort_index()
    columns = (largest[name].tolist() for name in (words.TOKEN, *words.TORCH_HEAD[1:]))
    rows = [
        (f"{key}: {token}", number(ours, 7), number(theirs, 7), _gap(difference))
        for key, token, ours, theirs, difference in zip(largest.index, *columns, strict=True)
    ]
    st.html(text.table(rows, head=words.TORCH_HEAD, style="vt-measured"))


def torch_table(shown: RunView, found: Ladder, comparison: TorchComparison, which: str) -> pd.DataFrame:
    """The table of ours as recorded, torch's, and the difference: a row of weights by key, or the output by feature."""
    cell = found.cell
    pair = comparison.out if which == "out" else comparison.weights
    assert pair is not None
    at = (cell.query,) if which == "out" else (cell.head, cell.query)
    ours, theirs = pair.ours[at], pair.torch[at]
    columns: dict[str, Any] = {
        words.OURS: ours,
        words.THEIRS: theirs,
        words.DIFFERENCE: ours.astype(np.float64) - theirs,
    }
    if which == "weights":
        tokens = [labels.visible(token) for token in keys_of(shown, cell)]
        columns = {words.TOKEN: tokens, words.MASKED_KEY: ~found.row.mask, **columns}
    name = words.FEATURE if which == "out" else words.KEY
    return pd.DataFrame(columns, index=pd.RangeIndex(len(ours), name=name))


@memoize(8)
def _torch(shown: RunView, kind: KindName, layer: int) -> TorchComparison:
    return torch_attention(shown.trace, shown.ckpt.model, kind, layer)


def _largest(pair: Pair) -> str:
    return words.largest(_gap(pair.largest), everywhere=bool(pair.defined.all()))


def _gap(difference: float) -> str:
    """A difference with two digits; 0 only if exact."""
    return f"{difference:.1e}" if difference else "0"


def _place(cell: Cell) -> str:
    """The place in the model, in words."""
    return words.place(cell.stack, cell.layer, cell.head)


def _cell_words(cell: Cell) -> str:
    """The cell's query and key, in words."""
    return words.cell(_place(cell), cell.query, cell.key)
