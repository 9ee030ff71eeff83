"""Playground: what happens if I change the numbers myself?"""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from viz_transformer.ui.frame import frame, questions, text
from viz_transformer.ui.frame.questions import Question
from viz_transformer.ui.pages.playground import number_editor, view, words
from viz_transformer.ui.session import state

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
    questions.show_question(asked, SHOW[part]())
else:
    from viz_transformer.ui.pages.playground import training_view  # loads torch

    questions.show_question(asked, {"rebuild": training_view.rebuild, "copy": training_view.copying}[part]())
frame.show_messages(status, *state.remarks(), *filter(None, [number_editor.take_problem()]))
view.project()
text.explain(words.HOW[part], words.NOT[part])
