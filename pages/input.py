"""Input: what does the model read, and what vectors does it start from?"""

from __future__ import annotations

import streamlit as st

from viz_transformer.model.kinds import SIDES, SideName
from viz_transformer.ui.compat import DeltaGenerator
from viz_transformer.ui.frame import first_stop, frame, questions, text, tour
from viz_transformer.ui.pages.input import words
from viz_transformer.ui.session import state

RINGED = (".st-key-input_sum .js-plotly-plot", ".st-key-question")

frame.title("Input")
asked = questions.place()
strip = frame.place("strip")
status = frame.status()
wait = st.empty()
both = frame.runs(status, rows="none", recording=words.OF_RECORDING)

from viz_transformer.checkpoint import Checkpoint
from viz_transformer.ui.pages.input import data_view, input_sum_view, tokens_view, view, vocabulary_view


def show(both: frame.Runs | None, ckpt: Checkpoint, wait: DeltaGenerator) -> SideName | None:
    """The sum and the tokens on the left, vocabulary and neighbours on the right, data and words below; returns the
    side that is looked at."""
    with st.container(horizontal=True, vertical_alignment="center", key="input_bar"):
        side = view.side_choice(ckpt)
        if side is not None and both is not None:
            input_sum_view.row_choice(both.main, side)
    if side is None:
        return None
    if both is not None and both.compared:
        text.paragraph(words.COMPARED)
    left, right = st.columns([5, 3], gap="medium")
    if both is not None:
        position = state.selection()[SIDES[side].field]
        questions.show_question(asked, view.question(both.main, side, position))
        tour.tell(lambda: first_stop.sentences(both.main, side, position), *RINGED)
        with left:
            drawn, numbers = st.container(key="input_sum"), st.container(key="input_spread")
        with drawn, frame.optional_section(words.NEEDS_EMBEDDINGS):
            input_sum_view.strips(both, side, numbers)
        frame.paint_first("Input")
        with left, st.container(key="input_tokens"):
            tokens_view.tokens(both, side)
    entry = vocabulary_view.selected_entry(ckpt, side, view.selected_id(both, side))
    with st.container(key="input_lower"):
        below = data_view.below_choice()
        with frame.optional_section(words.NEEDS.get(below, words.NEEDS_SPLITTING)):
            if below == "build":
                data_view.build(ckpt, side)
            elif below == "data":
                data_view.data_set(ckpt, wait)
            elif both is not None and below == "ids":
                tokens_view.padded_row(both.main, side)
            elif both is not None:
                data_view.words_and_grammar(both.main, side)
    counted = vocabulary_view.counts(ckpt, side, wait)
    with right, st.container(key="input_vocabulary_panel"):
        with st.container(key="input_entries"):
            vocabulary_view.vocabulary(ckpt, side, counted)
        with frame.optional_section(words.NEEDS_NEIGHBOURS):
            vocabulary_view.nearest(ckpt, side, entry, counted)
    return side


ckpt = None if frame.is_recording() else view.model(both)
if both is not None:
    with strip:
        frame.token_strip(both)
side = None if ckpt is None else show(both, ckpt, wait)
if both is not None:
    frame.show_messages(status, *state.remarks())
    scenes = ("input_sum", "input_spread", "input_tokens", "input_vocabulary_panel", "input_lower")
    frame.set_scenes(both, scenes, None if side is None else view.describe_selection(side))
text.explain(words.HOW, words.NOT)
del both, ckpt  # these functions and what they may read are a circle: the run would stay until garbage is collected
