"""Masks: what may a position see, and does anything read ahead?"""

from __future__ import annotations

import streamlit as st

from viz_transformer.model.kinds import KindName
from viz_transformer.ui.compat import DeltaGenerator
from viz_transformer.ui.frame import frame, projector, questions, text
from viz_transformer.ui.pages.masks import words
from viz_transformer.ui.session import state

frame.title("Masks")
asked = questions.place()
strip = frame.place("strip")
status = frame.status()
both = frame.runs(status, recording=words.OF_RECORDING)

from viz_transformer.ui.pages.masks import explained, influence_view, masks_source, recorded_masks_view, view
from viz_transformer.ui.pages.masks.fields import FIELDS
from viz_transformer.ui.pages.masks.masks_source import Looked


def show(both: frame.Runs, kind: KindName, status: DeltaGenerator) -> None:
    """The masks or the weights before and after, the fills, and the influence matrix."""
    masks_source.choices(both.main, kind)
    picture, drawn = st.container(key="masks_picture"), st.container(key="masks_weights")
    tools = st.container(key="masks_beside_row")
    looked = masks_source.load_masks(both.main, kind, status)
    questions.show_question(asked, view.question(looked.parts, looked.query, looked.token(looked.query)))
    # On a projector masks and weights are scenes of one page.
    chosen = FIELDS.now().mask_view
    if chosen == "masks" or projector.is_on():
        with picture:
            the_masks(both, looked, status)
    with drawn:
        if chosen == "weights" or projector.is_on():
            weights(both, looked, status)
        changed = looked.compared is not None and not looked.compared.own
        if changed:  # what that did comes first
            view.effect(looked)
        explained.why(both.main, looked)
        if not changed:
            view.effect(looked)
    with tools:
        view.row_controls(looked)
    with st.container(key="masks_beside_influence"):
        if both.compared:
            text.paragraph(words.INFLUENCE_OF_A)
        text.section(words.INFLUENCE)
    with st.container(key="masks_influence"):
        influence_view.influence(looked, status)
    with st.container(key="masks_beside_fills"):
        view.fills(looked)


def the_masks(both: frame.Runs, looked: Looked, status: DeltaGenerator) -> None:
    """The four masks, of two runs those of both beside each other."""
    if not both.beside:
        view.before_and_after(looked)
        return
    for column, name in zip(st.columns(2, gap="medium"), "AB", strict=True):
        with column:
            try:
                shown = looked if name == "A" else masks_source.load_pinned(both, looked, status)
            except ValueError as error:
                text.paragraph(f"{error}.", tone="bad")
            else:
                run = both.main if shown.compared is None else shown.compared.before
                text.paragraph(words.of_run(name, run.summary.name, run.words()), style="vt-note vt-pinned")
                view.before_and_after(shown, "" if name == "A" else "_b")


def weights(both: frame.Runs, looked: Looked, status: DeltaGenerator) -> None:
    """The weights before and after, of one run, of two beside each other, or as A − B."""
    if not both.compared:
        view.two_weights(looked)
        return
    if both.difference:
        text.paragraph(words.DIFFERENCE)
    try:
        other = masks_source.load_pinned(both, looked, status)
        if both.beside:
            view.weights_beside(looked, other)
        else:
            view.two_weights(looked, other.compared)
    except ValueError as error:
        text.paragraph(f"{error}.", tone="bad")


if both is not None:
    with strip:
        frame.token_strip(both)
    kind = masks_source.kind_of(both.main)
    try:
        if both.main.trace.spec.config is None:
            recorded_masks_view.choices(both.main, kind)
            if both.compared:
                text.paragraph(words.MASKS_OF_A)
            with frame.optional_section(words.ITS_MASKS):
                questions.show_question(asked, recorded_masks_view.show_recorded_masks(both.main, kind, status))
        else:
            show(both, kind, status)
    except ValueError as error:
        frame.show_messages(status, *state.remarks(), error=f"{error}.")
    else:
        frame.show_messages(status, *state.remarks())
        frame.set_scenes(both, ("masks_picture", "masks_weights", "masks_influence"), view.describe_selection(kind))
text.explain(words.HOW, words.NOT.format(explained.convention(None if both is None else both.main)))
del both  # these functions and what they may read are a circle: the run would stay until garbage is collected
