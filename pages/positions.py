"""Positions: how does the model know where a token stands?"""

from __future__ import annotations

import streamlit as st

from viz_transformer.model.kinds import SIDE_OF
from viz_transformer.ui.frame import frame, questions, text
from viz_transformer.ui.session import state

HOW = (
    "Each position has a row of numbers, which is added to the embedding of the token that stands there. In the"
    " sinusoidal table two neighbouring dimensions are a pair: sine and cosine of position / denominator. From one"
    " position to the next a pair turns by an angle, the fast pairs on the left of the picture, the slow ones on the"
    " right; so a shift is a rotation, and the product of two rows depends on their distance alone. A learned table has"
    " rows without a formula; rows that no training text reached were never trained."
)
NOT = (
    "Similarity of encodings is not attention: W_Q and W_K stand between. Switching positions off tells what order"
    " carries in this model, which was trained with them; it is off its training data, and says nothing about a model"
    " that was trained without."
)

OF_RECORDING = "It has no parameters, and what places its tokens was not recorded."

frame.title("Positions")
asked = questions.place()
strip = frame.place("strip")
status = frame.status()
both = frame.runs(status, rows="none", recording=OF_RECORDING)

from viz_transformer.ui.pages.positions import attention_view, position_topics, question, view


def ask(both: frame.Runs) -> None:
    """The question of the chosen stack, once a control has said which that is."""
    stack = view.chosen_stack(both.main)
    position = state.selection()[SIDE_OF[stack].field]
    questions.show(asked, question.question(both.main.trace, stack, position))


def show(both: frame.Runs) -> tuple[list[str], str | None]:
    """The table, or what attention makes of positions; what is to be explained, and what the picture is in words."""
    if attention_view.is_needed(both.main):
        if both.compared:
            text.paragraph(view.A_ALONE)
        at, sentences = attention_view.draw(both.main)
        ask(both)
        return sentences, at.words
    table = view.controls(both.main)
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
            text.paragraph("The curves and what stands below are A’s.")
        view.curves(table)
    topic = position_topics.topic_control()
    with st.container(key="pos_below"):
        position_topics.topic(table, topic)
    return view.sentences(table), table.words


sentences: list[str] = []
words: str | None = None
if both is not None:
    with strip:
        frame.strip(both)
    with frame.told("how it places its tokens"):
        sentences, words = show(both)
    frame.say(status, *state.remarks())
    frame.stage(both, ("pos_picture", "pos_curves", "pos_below"), words)
text.explained(" ".join((*sentences, HOW)), NOT)
del both  # these functions and what they may read are a circle: the run would stay until garbage is collected
