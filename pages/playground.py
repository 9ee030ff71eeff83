"""Playground: what happens if I change the numbers myself?"""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from viz_transformer.ui.frame import frame, questions, text
from viz_transformer.ui.frame.questions import Question
from viz_transformer.ui.pages.playground import number_editor, view
from viz_transformer.ui.session import state

HOW = {
    "attention": "Read from left to right. A product stands where the row of its query meets the column of its key;"
    " ÷ √d_k makes scores of products, softmax makes weights of a row of scores, and a row of weights mixes the rows of"
    " V. Point at a cell to see it computed.",
    "simplex": "Weights over two keys are a point of a segment, over three keys a point of a triangle: a corner is all"
    " weight on one key, the middle is an even row.",
    "scaling": "Products of random vectors have variance d_k. Without the division a softmax over them puts nearly all"
    " weight on one key as d_k grows, and then hardly answers to a change; divided by √d_k the variance stays at 1.",
    "norms": "A frame holds the numbers that share one mean and one variance. Layer norm takes each token alone; batch"
    " norm takes one feature over all texts and tokens, so that another text, or padding, changes a token's numbers.",
    "rebuild": "Both losses share one axis. The tables are the input and what each network gives out; the maps are"
    " its weights before training and after it. A seed gives the same curves again.",
    "copy": "Given the right letters, both end at a loss near zero. Only the one with the causal mask has learned to"
    " copy: the other reads the answer to its right, and there is none when it writes by itself.",
}
NOT = {
    "attention": "These vectors mean nothing: they are random, or yours. Edited cells are not a trained model.",
    "simplex": "A point near a corner does not mean that a model is certain: it is what these few numbers give.",
    "scaling": "Vectors of a trained model are neither independent nor standard normal, and its scores may have any"
    " variance. The division is a good start for training, not a law.",
    "norms": "A norm brings variances to 1; it does not make features equally important. Positions and features is a"
    " slip of one tutorial, and with it a token depends on padding and on later tokens.",
    "rebuild": "Copying five vectors is not language, and one run does not decide between one head and several: another"
    " seed may reverse the order.",
    "copy": "Opening the mask of a trained model is not this: here the mask was missing while it learned. A loss near"
    " zero says nothing about what a model writes by itself.",
}
SHOW: dict[str, Callable[[], Question | None]] = {
    "attention": view.attention,
    "simplex": view.simplex,
    "scaling": view.scaling,
    "norms": view.norms,
}

frame.title("Playground")
asked = questions.place()
part = view.part_choice()
status = st.empty()
if part in SHOW:
    questions.show(asked, SHOW[part]())
else:
    from viz_transformer.ui.pages.playground import training_view  # loads torch

    questions.show(asked, {"rebuild": training_view.rebuild, "copy": training_view.copying}[part]())
frame.say(status, *state.remarks(), *filter(None, [number_editor.take_problem()]))
view.project()
text.explained(HOW[part], NOT[part])
