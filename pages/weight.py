"""One weight: where does a single attention weight come from?"""

from __future__ import annotations

from functools import partial

import streamlit as st

from viz_transformer.model.hooked_model import Unavailable
from viz_transformer.ui.frame import frame, questions, text, tour
from viz_transformer.ui.pages.weight import words
from viz_transformer.ui.session import state

RINGED = (
    ".st-key-weight_ladder [role=radiogroup] > :nth-child(n+8):nth-child(-n+12)",  # from the product to the weight
    ".st-key-weight_row >>> .row .stage",
    ".st-key-question",
)

frame.title("One weight")
asked = questions.place()
strip = frame.place("strip")
status = frame.status()
both = frame.runs(status, recording=words.OF_RECORDING)

from viz_transformer.ui.pages.weight import question, view, weight_difference


def show(both: frame.Runs) -> None:
    """The row, the ladder with its active line, and the two ways to check it elsewhere."""
    view.choices(both)
    try:
        found = view.ladder_of(both)
    except Unavailable as error:
        tour.tell(partial(tour.untold, error), *RINGED)
        raise
    except ValueError as error:
        text.paragraph(f"{error}.", tone="bad")
        return
    shown = both.main
    questions.show_question(asked, question.question(shown, found))
    tour.tell(lambda: question.at_stop(shown, found), *RINGED)
    with st.container(key="weight_row"):
        view.row(shown, found)
        view.cell_sentence(shown, found)
    if both.compared and both.b is not None:
        with st.container(key="weight_difference"):
            weight_difference.two_rows(both.a, both.b, found.cell)
    with st.container(key="weight_verdict"):
        view.verdict(found)
    frame.paint_first("One weight")
    left, right = st.columns([3, 5], gap="medium")
    with left, st.container(key="weight_ladder"):
        view.ladder(shown, found)
    with right, st.container(key="weight_panel"):
        view.line_panel(shown, found)
    left, right = st.columns(2, gap="medium")
    with left, st.container(key="weight_python"):
        view.python_panel(shown, found)
    with right, st.container(key="weight_torch"):
        view.torch_panel(shown, found)


if both is not None:
    with strip:
        frame.token_strip(both)
    with frame.optional_section(words.MAPS_AND_NORMS):
        show(both)
    frame.show_messages(status, *state.remarks())
    difference = ("weight_difference",) if both.compared else ()
    frame.set_scenes(both, ("weight_row", *difference, "weight_ladder", "weight_panel", "weight_torch"))
text.explain(words.HOW, words.NOT)
del both  # these functions and what they may read are a circle: the run would stay until garbage is collected
