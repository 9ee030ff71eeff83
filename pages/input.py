"""Input: what does the model read, and what vectors does it start from?"""

from __future__ import annotations

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from viz_transformer.model.kinds import SIDES, SideName
from viz_transformer.ui.frame import first_stop, frame, questions, text, tour
from viz_transformer.ui.session import state

HOW = (
    "Text is cut into tokens, each token is looked up in the vocabulary, and its id picks a row of the embedding table."
    " That row times a scale plus the vector of its position is what the first layer reads; the three strips have one"
    " scale of colours. Multiplying by the square root of d_model multiplies the variance by d_model. The cosine of two"
    " embeddings is 1 where they point the same way; the mean over all other entries is what is usual."
)
NOT = (
    "Single dimensions have no names. Neighbours of rare words are noise: look at their counts. The unknown token hides"
    " different words under one vector. An entry's neighbours are those of its embedding, before any layer has seen its"
    " context."
)

RINGED = (".st-key-input_sum .js-plotly-plot", ".st-key-question")
OF_RECORDING = "It has neither a vocabulary nor embeddings."

frame.title("Input")
asked = questions.place()
strip = frame.place("strip")
status = frame.status()
wait = st.empty()
both = frame.runs(status, rows="none", recording=OF_RECORDING)

from viz_transformer.checkpoint import Checkpoint
from viz_transformer.ui.pages.input import data_view, input_sum_view, question, tokens_view, view, vocabulary_view


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
        text.paragraph("Tokens and vectors are those of A and of B; rows of ids, vocabulary and data are those of A.")
    left, right = st.columns([5, 3], gap="medium")
    if both is not None:
        position = state.selection()[SIDES[side].field]
        questions.show(asked, question.question(both.main, side, position))
        tour.tell(lambda: first_stop.words(both.main, side, position), *RINGED)
        with left:
            drawn, numbers = st.container(key="input_sum"), st.container(key="input_spread")
        with drawn, frame.told("the embeddings that its input is made of"):
            input_sum_view.strips(both, side, numbers)
        frame.paint_first("Input")
        with left, st.container(key="input_tokens"):
            tokens_view.tokens(both, side)
    entry = vocabulary_view.selected_entry(ckpt, side, view.selected_id(both, side))
    with st.container(key="input_lower"):
        below = data_view.below_choice()
        with frame.told(view.NEEDS.get(below, "how it cuts a text into tokens")):
            if below == "build":
                data_view.build(ckpt, side)
            elif below == "data":
                data_view.data_set(ckpt, wait)
            elif both is not None and below == "ids":
                tokens_view.padded_row(both.main, side)
            elif both is not None:
                data_view.words(both.main, side)
    counted = vocabulary_view.counts(ckpt, side, wait)
    with right, st.container(key="input_vocabulary_panel"):
        with st.container(key="input_entries"):
            vocabulary_view.vocabulary(ckpt, side, counted)
        with frame.told("the embeddings that tokens could be compared by"):
            vocabulary_view.nearest(ckpt, side, entry, counted)
    return side


ckpt = None if frame.is_recording() else view.model(both)
if both is not None:
    with strip:
        frame.strip(both)
side = None if ckpt is None else show(both, ckpt, wait)
if both is not None:
    frame.say(status, *state.remarks())
    scenes = ("input_sum", "input_spread", "input_tokens", "input_vocabulary_panel", "input_lower")
    frame.stage(both, scenes, None if side is None else view.in_words(side))
text.explained(HOW, NOT)
del both, ckpt  # these functions and what they may read are a circle: the run would stay until garbage is collected
