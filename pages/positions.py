"""Positions: how does the model know where a token is?"""

from __future__ import annotations

import streamlit as st

from viz_transformer.model.kinds import SIDE_OF
from viz_transformer.ui.components.reveal import bring_into_view
from viz_transformer.ui.frame import frame, questions, text
from viz_transformer.ui.pages.positions import words
from viz_transformer.ui.pages.positions.fields import FIELDS
from viz_transformer.ui.session import state

frame.title("Positions")
asked = questions.place()
strip = frame.place("strip")
status = frame.status()
both = frame.runs(status, rows="none", recording=words.OF_RECORDING)

from viz_transformer.ui.pages.positions import attention_view, position_topics, question, view


def ask(both: frame.Runs) -> None:
    """The question of the chosen stack, once a control has said which that is."""
    stack = view.STACK.value(both.main)
    position = state.selection()[SIDE_OF[stack].field]
    questions.show_question(asked, question.question(both.main.trace, stack, position))


def show(both: frame.Runs) -> tuple[tuple[str, str], str | None]:
    """The table, or what attention makes of positions; how to read it, what not to conclude, and it in words."""
    if attention_view.is_needed(both.main):
        if both.compared:
            text.paragraph(words.A_ALONE)
        at, sentences = attention_view.draw(both.main)
        ask(both)
        return (" ".join(filter(None, sentences)), words.NOT_IN_ATTENTION), at.words
    table = view.controls(both.main)
    if FIELDS.now().pos_topic == "steps":
        ask(both)
    other = view.of_b(table, both.b) if both.compared and both.b is not None else None
    two = both.beside and isinstance(other, view.Table)
    left, right = (st.container(), st.container()) if two else st.columns([5, 3], gap="medium")
    with left, st.container(key="pos_picture"):
        if isinstance(other, view.Table):
            (view.heatmaps if both.beside else view.difference)(table, other)
        else:
            if other is not None:
                text.paragraph(other)
            view.heatmap(table)
    frame.paint_first("Positions")
    with right, st.container(key="pos_curves"):
        if other is not None:
            text.paragraph(words.OF_A)
        view.curves(table)
    topic = position_topics.topic_control()
    with st.container(key="pos_below"):
        found = position_topics.topic(table, topic)
    if found is not None:
        questions.show_question(asked, found)
    elif topic != "steps":
        ask(both)
    if position_topics.SWITCHED in st.session_state:
        bring_into_view("pos_topics", st.session_state[position_topics.SWITCHED])
    return (" ".join((*view.sentences(table), words.HOW)), words.NOT), table.words


explained = (words.HOW, words.NOT)
seen: str | None = None
if both is not None:
    with strip:
        frame.token_strip(both)
    with frame.optional_section(words.PLACES):
        explained, seen = show(both)
    frame.show_messages(status, *state.remarks())
    frame.set_scenes(both, ("pos_picture", "pos_curves", "pos_below"), seen)
text.explain(*explained)
del both  # these functions and what they may read are a circle: the run would stay until garbage is collected
