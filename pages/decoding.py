"""Decoding: how is the answer written, step by step, and what else could it have been?"""

from __future__ import annotations

import streamlit as st

from viz_transformer.model.kinds import KINDS
from viz_transformer.ui.frame import controls, frame, links, questions, text
from viz_transformer.ui.session import state

HOW = (
    "Bars are probabilities over the whole vocabulary: first the model's own, hatched where the strategy has removed a"
    " token and says by which rule, then what is left, renormalised. A step reads the token on the left of its row and"
    " writes the one on the right; maps and texts grow with it. Take another candidate, and the answer that begins so"
    " becomes a branch. In the beam tree every column is a step; a line is as wide as its token is probable."
)
NOT = (
    "The highest score is not the best answer. Log-probabilities of answers of different lengths do not compare. A"
    " hypothesis that was pruned was beaten, not wrong. A wide beam is not better than a narrow one by itself"
    " (Stahlberg and Byrne 2019)."
)

frame.title("Decoding")
asked = questions.place()
bar = frame.place("decoding_bar")
strip = frame.place("strip")
status = frame.status()
both = frame.runs(status, rows="chosen")

from viz_transformer.analysis.attention.maps import attention_kinds
from viz_transformer.ui.pages.decoding import question, strategy_bar, view


def head_controls(both: frame.Runs) -> None:
    """Kind, layer and head whose rows are shown."""
    anatomy, kind = both.main.trace.anatomy, state.SHARED.now().kind
    with st.container(horizontal=True, key="decoding_site", vertical_alignment="bottom"):
        controls.kind(attention_kinds(both.main.trace), key="decoding_kind")
        controls.number("Layer", KINDS[kind].layers(anatomy), **state.bind("layer", key="decoding_layer"))
        controls.heads(anatomy.heads(kind, state.SHARED.now().layer).query, key="decoding_head")
        controls.rows(both, key="decoding_rows")


with bar:
    strategy_bar.show(None if both is None else both.a.ckpt.target_codec)
if both is not None:
    questions.show(asked, question.question(both.main, state.SHARED.now().t))
    with strip:
        frame.strip(both)
    head_controls(both)
    left, right = st.columns([5, 4], gap="medium")
    with left, st.container(key="picture"):
        view.looked(both)
        view.growing(both)
        links.from_cell(decoding=False)
    with right, st.container(key="panel"):
        view.step(both)
    view.tabs(both)
    remarks = [*state.remarks(), *view.unread(both.main)]
    frame.say(status, *remarks)
    frame.stage(both, ("panel", "picture", "decoding_below"))
text.explained(HOW, NOT)
