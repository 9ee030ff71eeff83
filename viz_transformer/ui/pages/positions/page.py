"""The Positions page: the table that is added, its curves and a topic below them, or what self-attention does."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial

import numpy as np
import streamlit as st
import torch

from viz_transformer.analysis.attention.picture import Meta, Picture
from viz_transformer.analysis.positions.pictures import table_picture
from viz_transformer.analysis.positions.table import interpolate_columns
from viz_transformer.figures import labels
from viz_transformer.figures.positions import dimension_curves
from viz_transformer.model.hooked_model import Unavailable
from viz_transformer.model.kinds import SIDE_OF, StackName
from viz_transformer.numerals import significant
from viz_transformer.running.trace import Trace
from viz_transformer.sentences import capitalised
from viz_transformer.ui.components.pictures import matrix
from viz_transformer.ui.frame import frame, text
from viz_transformer.ui.frame.drawn import Chart, Columns, Component, Drawn, Numbers, Text, Widget
from viz_transformer.ui.frame.frame import Runs
from viz_transformer.ui.frame.page import Chosen, Column, Page, SharedChoice, View
from viz_transformer.ui.frame.questions import Question, cite
from viz_transformer.ui.pages.positions import attention_view, position_topics, words
from viz_transformer.ui.pages.positions.attention_view import acts_in_attention
from viz_transformer.ui.pages.positions.choices import (
    HIGHEST,
    LENGTH,
    POSITION,
    SIZE,
    STACK,
    TABLE,
    WIDTH,
    PositionTable,
    describe_table,
    draw_cell_choices,
    height,
    read_table,
    table_of_b,
)
from viz_transformer.ui.pages.positions.fields import FIELDS, MAX_COLUMNS
from viz_transformer.ui.session import state
from viz_transformer.ui.session.memoize import memoize_figure

_dimension_curves = memoize_figure(dimension_curves)

TALL, PICK = 400, 48
"""Pixels of the curves, and of what picks them."""


# ---- what can be chosen


def _draw_tools(both: Runs) -> None:
    in_attention = acts_in_attention(both.main)
    if in_attention and both.compared:
        text.paragraph(words.A_ALONE)
    with st.container(horizontal=True, key="pos_tools", vertical_alignment="center"):
        stack = STACK.draw(both.main)
        if in_attention:
            draw_cell_choices(both.main, stack)
            return
        TABLE.draw(both.main)
        with st.popover(words.SIZE, key="pos_size"):
            WIDTH.draw(both.main)
            LENGTH.draw(both.main)
        POSITION[SIDE_OF[stack].field].draw(both.main)


def _draw_dimensions(table: PositionTable) -> None:
    width = table.values.shape[1]
    missing = next((column for column in FIELDS.now().pos_columns if column >= width), None)
    if missing is not None:
        state.remark(words.no_dimension(missing, width - 1))
    bound = state.widget_args("pos_columns", key="pos_columns", value=list(table.picked), taken=tuple)
    with st.container(key="pos_pick"):
        st.multiselect(
            words.CURVES,
            [*range(width)],
            max_selections=MAX_COLUMNS,
            placeholder=words.CHOOSE,
            label_visibility="collapsed",
            **bound,
        )


# ---- the table


def draw_table(both: Runs, chosen: Chosen) -> Iterator[Drawn]:
    """The table as a picture; of two tables both on one scale, or their difference."""
    table = read_table(both.main)
    other = table_of_b(both, table)
    if not isinstance(other, PositionTable):
        if other is not None:
            yield Text(said=other)
        yield _numbered(picture_table(table), table)
    elif both.beside:
        most = max(float(np.abs(each.values).max()) for each in (table, other)) or None
        made = []
        for each, name, own in ((table, "A", ""), (other, "B", "_b")):
            called = words.called(name)
            picture = picture_table(each, called).with_meta(most=most, paired=True)
            made.append((_numbered(picture, each, called=called, own=own),))
        yield Columns(parts=made)
    elif table.values.shape == other.values.shape:
        less = picture_table(table, words.called("A")) - picture_table(other, words.called("B"))
        called = words.called_difference(other.shown.summary.name)
        yield _numbered(less.with_meta(title=f"{called}{table.title}"), table, called=called)
    else:
        yield Text(said=words.two_sizes(table.values.shape, other.values.shape))
        yield _numbered(picture_table(table), table)


def picture_table(table: PositionTable, called: str = "") -> Picture:
    """What is drawn of a table. called: before its title, where it is one of two."""
    shown, title = table.shown, f"{called}{table.title}"
    of = f"{shown.called}, {shown.words()}" if called else None
    caption, name = frame.saved_as(title, of=of)
    marks, side = table.marks, SIDE_OF[table.stack]
    trained = marks.trained if table.is_trained else None  # rows of a formula are not trained
    meta = Meta(title, caption, name)
    return table_picture(table.values, meta, side=side, read=marks.read, trained=trained, picked=table.picked)


def _numbered(picture: Picture, table: PositionTable, *, called: str = "", own: str = "") -> Component:
    """A table's picture with its numbers. called: precedes their note; own: ends the keys of B's."""
    numbers = Numbers(
        frame=picture.table,
        note=words.table_note(called, table.shown.caption(words.POSITIONS)),
        name=labels.file_name(called.strip(" :"), table.shown.summary.name, "positions", table.stack, table.scheme),
    )
    data = picture.pack(height=HIGHEST, exact=True, why=())
    return Component(draw=matrix, data=data, key=f"pos_heatmap{own}", numbers=numbers)


def place_table(both: Runs) -> Column:
    """Two tables are over the whole width, and so are the curves below them."""
    return "" if both.beside and isinstance(table_of_b(both, read_table(both.main)), PositionTable) else "left"


def place_curves(both: Runs) -> Column:
    """Beside the table."""
    return "right" if place_table(both) else ""


def draw_curves(both: Runs, chosen: Chosen) -> Iterator[Drawn]:
    """The picked dimensions over the positions, below what picks them."""
    table = read_table(both.main)
    if both.compared:
        yield Text(said=words.OF_A)
    yield Widget(put=partial(_draw_dimensions, table))
    picked = [*table.picked]
    points = min(2400, 12 * len(table.values))  # enough for the fastest one, which turns once in 6.28 positions
    fine = None if table.derived is None else interpolate_columns(table.derived, picked, points=points)
    yield Chart(
        figure=lambda theme: _dimension_curves(
            table.values,
            picked,
            [table.column_name(column) for column in picked],
            table.marks if table.is_trained else replace(table.marks, trained=None),  # as above
            fine=fine,
            title=words.CURVES_TITLE if table.derived is None else words.WAVELENGTHS,
            theme=theme,
            height=height(TALL - PICK),
        ),
        alt=words.curves_alt(", ".join(map(str, picked))),
        key="pos_curves_figure",
        size=replace(SIZE, fills=True),
    )


def draw_topic(both: Runs, chosen: Chosen) -> Iterator[Drawn]:
    """The chosen topic."""
    draw, _ = position_topics.TOPICS[chosen["pos_topic"]]
    yield from draw(read_table(both.main))
    yield Widget(put=position_topics.bring_topics_into_view)


# ---- the question, and how to read it


def _has_question_of_topic(both: Runs, chosen: Chosen) -> bool:
    return chosen["pos_topic"] != "steps" and not acts_in_attention(both.main)


def ask(both: Runs, chosen: Chosen) -> Question | None:
    """What tells the position of the chosen token, where that is the page's question from the start."""
    return None if _has_question_of_topic(both, chosen) else _ask_of_position(both)


def ask_last(both: Runs, chosen: Chosen) -> Question | None:
    """The question of the topic, or of the position where it has none."""
    if not _has_question_of_topic(both, chosen):
        return None
    _, ask_of_topic = position_topics.TOPICS[chosen["pos_topic"]]
    with suppress(Unavailable):  # which the topic has said
        if (found := ask_of_topic(read_table(both.main))) is not None:
            return found
    return _ask_of_position(both)


def _ask_of_position(both: Runs) -> Question | None:
    stack = STACK.value(both.main)
    return ask_of_position(both.main.trace, stack, state.selection()[SIDE_OF[stack].field])


def ask_of_position(trace: Trace, stack: StackName, position: int) -> Question | None:
    """The vector that was added at this position, or what self-attention does with positions.

    Raises Unavailable for a model that does not state its positions.
    """
    read = SIDE_OF[stack].of(trace.src_tokens, trace.tgt_tokens)
    if not 0 <= position < len(read):
        return None
    asks = words.asks(stack, cite(read[position]), position)
    if f"{stack}.embed.position" in trace:
        added, token = (_length(trace, f"{stack}.embed.{part}", position) for part in ("position", "token"))
        return Question(asks, words.lengths(significant(added), significant(token)))
    if trace.spec.config is None:
        acts = trace.spec.missing.get(f"{stack}.embed.position", "").rpartition("; ")[2]
        return Question(asks, f"{capitalised(acts)}.") if acts else None
    if trace.config.encoding.in_attention:
        return Question(asks, words.in_attention(trace.config.encoding.acts))
    return Question(asks, words.ONLY_THE_MASK if stack == "decoder" else words.NOTHING)


def _length(trace: Trace, point: str, position: int) -> float:
    return float(torch.linalg.vector_norm(trace[point][0, position].double()))


def explain(both: Runs, chosen: Chosen) -> tuple[str, str]:
    """What applies to this model and how to read it, and what not to conclude."""
    if acts_in_attention(both.main):
        return attention_view.explain(both.main), words.NOT_IN_ATTENTION
    return " ".join((*describe_table(read_table(both.main)), words.HOW)), words.NOT


def say_caption(both: Runs, chosen: Chosen) -> str:
    """What a projector's caption says of the selection."""
    if acts_in_attention(both.main):
        return attention_view.say_caption(both.main)
    table = read_table(both.main)
    return words.scene(table.stack, table.marks.position)


def has_table(both: Runs, chosen: Chosen) -> bool:
    """Whether positions do not act in self-attention, so that there is a table to show."""
    return not acts_in_attention(both.main)


PAGE = Page(
    title="Positions",
    how=words.HOW,
    not_to_conclude=words.NOT,
    controls=(SharedChoice("pos_stack", _draw_tools),),
    views=(
        View(key="pos_picture", draw_runs=draw_table, column=place_table, is_there=has_table),
        View(key="pos_curves", draw_runs=draw_curves, column=place_curves, is_there=has_table, comes_later=True),
        View(
            key="pos_topics",
            draw_runs=lambda both, chosen: (),
            controls=(SharedChoice("pos_topic", lambda both: position_topics.draw_choice()),),
            is_there=has_table,
            is_scene=False,
        ),
        View(
            key="pos_below",
            draw_runs=draw_topic,
            is_there=has_table,
            needs=words.OTHER_ORDER,
        ),
        *attention_view.VIEWS,
    ),
    ask_runs=ask,
    ask_last=ask_last,
    caption=say_caption,
    explain=explain,
    looks="pos_stack",
    columns=(5, 3),
    needs=words.PLACES,
)
