"""The One weight page: a row with its cell, where its weight comes from, and how to check that elsewhere."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np
import pandas as pd
import streamlit as st

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
from viz_transformer.analysis.weight.weight_numbers import Cell, parameters
from viz_transformer.checkpoint.files import WEIGHTS
from viz_transformer.figures import labels
from viz_transformer.model.kinds import KINDS
from viz_transformer.numerals import SMALL, number, percent, scientific, significant, write_in_sentence
from viz_transformer.ui.components.pictures import row
from viz_transformer.ui.frame import controls, maps, text
from viz_transformer.ui.frame.drawn import Code, Component, Download, Drawn, Group, Heading, Numbers, Text, Widget
from viz_transformer.ui.frame.frame import Runs
from viz_transformer.ui.frame.page import Chosen, Page, SharedChoice, View
from viz_transformer.ui.frame.questions import Question, cite
from viz_transformer.ui.pages.weight import words
from viz_transformer.ui.pages.weight.line_panel import draw_line
from viz_transformer.ui.pages.weight.torch_panel import draw_torch
from viz_transformer.ui.pages.weight.weight_difference import draw_difference, keys_of
from viz_transformer.ui.session import state
from viz_transformer.ui.session.memoize import memoize
from viz_transformer.ui.session.passes import has_per_step_rows
from viz_transformer.ui.session.runs import RunView

LARGEST_POWER = 700.0
"""Above this gap, e to its power is written as a power of ten: it soon exceeds a float64."""

# ---- what is chosen; positions are picked in the chips and in the row


def _draw_layer_and_head(both: Runs) -> None:
    trace, chosen = both.main.trace, state.SHARED.now()
    count = trace.spec.heads(chosen.kind, chosen.layer).query
    controls.layer_and_head(layer_count(trace, chosen.kind), count, page="weight")


CHOICES = (
    SharedChoice("kind", lambda both: controls.kind(attention_kinds(both.main.trace), key="weight_kind")),
    SharedChoice("heads", _draw_layer_and_head),
)


def prepare(both: Runs, chosen: Chosen) -> Chosen:
    """The ladder of the selected cell, with remarks on parts of the selection that the page cannot show."""
    kind, heads, head = chosen["kind"], chosen["heads"], 0
    if isinstance(heads, str):
        state.remark(words.joined_heads(heads))
    else:
        head = heads[0]
        if len(heads) > 1:
            state.remark(words.several_heads(head))
    if both.difference:
        state.remark(words.DIFFERENCE_IS_OF_THE_ROW)
    query, key = (chosen[field] for field in KINDS[kind].fields)
    return {"ladder": _ladder(both.main, Cell(kind=kind, layer=chosen["layer"], head=head, query=query, key=key))}


@memoize(16)
def _ladder(shown: RunView, cell: Cell) -> Ladder:
    return worked_out(shown.trace, parameters(shown.ckpt.model, cell.kind, cell.layer), cell)


# ---- the row, its cell, and whether all lines agree with the record


def draw_row(both: Runs, chosen: Chosen) -> Iterator[Drawn]:
    """One query against all keys, the cell picked; a click picks another. Then the cell in words."""
    shown, found = both.main, chosen["ladder"]
    cell, numbers = found.cell, found.row
    written = shown.trace.next_tokens[cell.query] if KINDS[cell.kind].writes else None
    title = words.row_title(cell)
    meta = shown.names.meta(title, cell.kind, scale=cell.kind, fill=mask_fill_name(shown.trace))
    note = f"{meta.caption}. {words.SCORES_IN_FLOAT64}"
    yield Component(
        draw=row,
        data=numbers.pack(maps.axes(shown, cell.kind), cell.query, written, meta),
        key="weight_row_strips",
        numbers=Numbers(frame=lambda: row_table(shown, found), note=note, name=meta.name),
    )
    yield describe_cell(shown, found)


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


def describe_cell(shown: RunView, found: Ladder) -> Text:
    """The cell in words with its recorded weight; a small one has its digits in a tooltip."""
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
    return Text(said=said, style="vt-cell", detail="" if recorded == exact else words.exactly(exact))


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


def draw_verdict(both: Runs, chosen: Chosen) -> Text:
    """Whether all lines agree with the recorded values; if not, which do not."""
    lines = chosen["ladder"].lines
    if wrong := [name for name, line in lines.items() if not line.agrees]:
        return Text(said=words.disagree(", ".join(wrong)), tone="bad")
    return Text(said=words.agree(sum(len(line.checks) for line in lines.values())), tone="ok")


# ---- the ladder


def draw_ladder(both: Runs, chosen: Chosen) -> Widget:
    """All lines as formulas with their results; a click, or an arrow key, makes another one active."""
    config, found = both.main.trace.config, chosen["ladder"]
    lines = {name: words.line_words(found, config, name) for name in LINES}
    said = {
        name: " ".join((f"${line.formula}$", f":gray[{text.literal(line.result)}]")) for name, line in lines.items()
    }
    return Widget(
        put=lambda: st.radio(
            words.LINE,
            [*said],
            format_func=said.__getitem__,
            label_visibility="collapsed",
            width="stretch",
            **state.widget_args("weight_line", key="weight_line"),
        )
    )


# ---- the program


def draw_program(both: Runs, chosen: Chosen) -> Iterator[Drawn]:
    """The program, the two files that it reads, and its output."""
    trace, ckpt, found = both.main.trace, both.main.ckpt, chosen["ladder"]
    program = python_copy(trace, found.cell)
    yield Heading(said=words.COPY)
    yield Text(said=words.PROGRAM)
    files = [_save("program", program, "one_weight.py", "text/x-python")]
    if trace.is_kept_whole:
        files.append(_save("trace", lambda: pack_trace(trace), FILE))
    else:
        yield Text(said=TOO_LARGE)
    files.append(_save("model", lambda: model_file(ckpt), MODEL_FILE))
    yield Group(parts=files, key="weight_files", aligned="center")
    yield Text(said=words.NO_FILE if ckpt.path is None else words.model_file(str(ckpt.path / WEIGHTS)))
    yield Code(listing=program, language="python")
    yield Text(said=words.PRINTS)
    yield Code(listing=found.printed)


def _save(
    what: str, data: Callable[[], bytes] | str, name: str, media_type: str = "application/octet-stream"
) -> Download:
    return Download(label=words.save(what), data=data, name=name, media_type=media_type, key=f"weight_{what}")


# ---- the question, and the stop of the tour


def ask(shown: RunView, chosen: Chosen) -> Question:
    """Why this key gets this weight, answered with its score and the largest other score of the row: the softmax turns
    their difference into a ratio."""
    cell, row = chosen["ladder"].cell, chosen["ladder"].row
    keys = KINDS[cell.kind].keys.of(shown.trace.src_tokens, shown.trace.tgt_tokens)
    key, weight = cite(keys[cell.key]), float(row.weights[cell.key])
    asks = words.asks(key, percent(weight))
    if np.isnan(weight):
        asks = words.asks_not_a_number(key)
        if not row.mask.any():
            return Question(asks, words.EVERY_KEY_MASKED)
        return Question(asks, words.SO_IS_THE_SUM)
    if not row.mask[cell.key]:
        return Question(asks, words.MASKED)
    others = row.mask.copy()
    others[cell.key] = False
    score = float(row.scores[cell.key])
    if not np.isfinite(row.scores[row.mask]).all():
        return Question(asks, words.A_SCORE_IS_NOT_A_NUMBER)
    if not others.any():
        return Question(asks, words.ONLY_KEY)
    best = int(np.where(others, row.scores, -np.inf).argmax())
    gap, other = score - float(row.scores[best]), cite(keys[best])
    if gap == 0:
        return Question(asks, words.same_score(significant(score), other))
    power, ratio = _power_and_ratio(abs(gap))
    return Question(asks, words.score_beside(significant(score), other, power, ratio, above=gap > 0))


def _power_and_ratio(gap: float) -> tuple[str, str]:
    """The gap and e to its power with three digits; the gap has enough digits to reproduce these with a calculator."""
    if gap > LARGEST_POWER:
        return significant(gap), f"10^{number(gap / np.log(10), 0)}"
    times = float(significant(np.exp(gap), 3))
    ratio = scientific(times) if times >= 1e9 else number(times, 0, ",") if times >= 100 else significant(times, 3)
    texts = (significant(gap, digits) for digits in range(3, 18))
    power = next(text for text in texts if float(text) == gap or float(significant(np.exp(float(text)), 3)) == times)
    return power, ratio


def at_stop(both: Runs, chosen: Chosen) -> tuple[str, ...]:
    """The sentences at the tour's stop: product, divisor, score and softmax; for a masked weight or NaN, the page's
    question and answer."""
    shown, found = both.main, chosen["ladder"]
    cell, row = found.cell, found.row
    weight = float(row.weights[cell.key])
    if not row.mask[cell.key] or math.isnan(weight) or not np.isfinite(row.scores[row.mask]).all():
        asked = ask(shown, chosen)
        return (f"{asked.asks} {asked.answer}",)
    queries, keys = KINDS[cell.kind].sides(shown.trace.src_tokens, shown.trace.tgt_tokens)
    scalars, config = found.lines["divisor"].scalars, shown.trace.config
    root = {"sqrt-head-dim": f" (√{config.head_dim})", "sqrt-d-model": f" (√{config.d_model})"}.get(config.divisor, "")
    divisor = f"{significant(scalars['divisor'])}{root}"
    dot, score = (significant(scalars[name]) for name in ("dot", "s"))
    bias = significant(scalars["bias"]) if "bias" in scalars else None
    return (
        words.becomes_score(cite(queries[cell.query]), cite(keys[cell.key]), dot, divisor, score, bias=bias),
        words.becomes_weight(int(row.mask.sum()), percent(weight)),
    )


PAGE = Page(
    title="One weight",
    how=words.HOW,
    not_to_conclude=words.NOT,
    controls=CHOICES,
    prepare=prepare,
    problem_in="place",
    needs=words.MAPS_AND_NORMS,
    views=(
        View(key="weight_row", draw_runs=draw_row),
        View(
            key="weight_difference",
            title=words.A_MINUS_B,
            draw_runs=draw_difference,
            is_there=lambda both, chosen: both.compared,
        ),
        View(key="weight_verdict", draw_runs=draw_verdict, is_scene=False),
        View(key="weight_ladder", draw_runs=draw_ladder, column="left", comes_later=True),
        View(key="weight_panel", draw_runs=draw_line, column="right"),
        View(key="weight_python", draw_runs=draw_program, column="left", widths=(1, 1), is_scene=False),
        View(key="weight_torch", draw_runs=draw_torch, column="right"),
    ),
    columns=(3, 5),
    ask=ask,
    at_stop=at_stop,
    ringed=(
        ".st-key-weight_ladder [role=radiogroup] > :nth-child(n+8):nth-child(-n+12)",  # from the product to the weight
        ".st-key-weight_row >>> .row .stage",
        ".st-key-question",
    ),
    looks="kind",
)
