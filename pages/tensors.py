"""Tensors: what are the numbers of this run, at every point?"""

from __future__ import annotations

from typing import NamedTuple

import streamlit as st

from viz_transformer.numerals import significant
from viz_transformer.ui.compat import DeltaGenerator
from viz_transformer.ui.frame import frame, questions, text
from viz_transformer.ui.session import state

frame.title("Tensors")
asked = questions.place()
strip = frame.place("strip")
status = frame.status()
both = frame.runs(status, rows="none")  # what is looked at may be another trace

from viz_transformer.ui.pages.tensors import question, tensor_sources, view, words
from viz_transformer.ui.pages.tensors.tensor_sources import Looked


class Places(NamedTuple):
    """Where the parts of the page stand: the tree, the picture beside it, and in the bar the boxes of its axes."""

    tree: DeltaGenerator
    picture: DeltaGenerator
    boxes: DeltaGenerator


def training_sentence(looked: Looked) -> str | None:
    """What training mode means for the numbers that are shown."""
    seed = tensor_sources.training_seed(looked.trace)
    if seed is None or looked.is_file:
        return None
    config = looked.trace.config
    if not config.dropout:
        return words.no_dropout(looked.trace.checkpoint)
    return words.training_mode(significant(config.dropout, 6), seed, bool(config.attention_dropout))


def point(both: frame.Runs, looked: Looked, places: Places, status: DeltaGenerator) -> str | None:
    """The tree, and beside it the selected point, whose name comes back; None where no point can be selected."""
    listed = looked.entries
    if not listed:
        with places.picture:
            view.all_points(looked, status)
        return None
    name = view.selected_point(looked, listed)
    with places.picture, st.container(key="tensors_panel"):
        try:
            view.point_panel(looked, tensor_sources.beside(both, looked), name, places.boxes, status)
            questions.show_question(asked, question.question(*view.viewed(looked, name), looked.of))
        except ValueError as error:
            text.paragraph(str(error), tone="bad")
    frame.paint_first("Tensors")
    with places.tree:
        view.point_tree(listed, name)
    return name


if both is not None:
    with strip:
        frame.token_strip(both)
    with st.container(horizontal=True, vertical_alignment="center", key="tensors_tools"):
        boxes = st.container(horizontal=True, vertical_alignment="center", key="tensors_controls")
        st.space("stretch")
        tensor_sources.training_controls()
        save = tensor_sources.file_controls()
    tensor_sources.choice_controls()
    tree, picture = st.columns([3, 7], gap="medium")
    places = Places(tree, picture, boxes)
    wrong = tensor_sources.take_problem()
    try:
        looked = tensor_sources.looked_at(both)
    except ValueError as error:
        frame.show_messages(status, *state.remarks(), error=str(error))
    else:
        with save:
            tensor_sources.save_button(looked)
        selected = point(both, looked, places, status)
        text.explain(words.HOW, words.NOT)
        said = filter(None, (*state.remarks(), training_sentence(looked), *looked.passes))
        frame.show_messages(status, *said, error=wrong)
        if selected is not None:
            frame.set_scenes(both, view.SCENES, words.of_the_run(selected))
del both  # these functions and what they may read are a circle: the run would stay until garbage is collected
