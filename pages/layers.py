"""Layers: what did each sub-layer do to the stream?"""

from __future__ import annotations

import streamlit as st

from viz_transformer.model.hooked_model import Unavailable
from viz_transformer.model.kinds import SIDE_OF
from viz_transformer.ui.frame import frame, questions, text, tour
from viz_transformer.ui.frame.questions import Question
from viz_transformer.ui.session import state
from viz_transformer.ui.session.runs import RunView

frame.title("Layers")
asked = questions.place()
strip = frame.place("strip")
status = frame.status()
both = frame.runs(status)

from viz_transformer.ui.pages.layers import experts_view, lens_view, question, view, whole_layers_view, words


def show(both: frame.Runs) -> tuple[str, ...]:
    """The rail, beside it the selected sub-layer; below its router, the whole depth, the lens, and its norm.

    Returns the keys of the containers of router and norm, where they are there.
    """
    shown = both.main
    place, stack = view.chosen_place(shown), view.chosen_stack()
    questions.show_question(asked, ask(shown))
    tell(shown)
    why = view.not_told(shown)
    if why is not None:
        whole_layers_view.whole_layers(shown, words.only_whole_layers(why))
    else:
        with st.container(key="layers_top"):
            left, right = st.columns([3, 7], gap="medium")
            with left:
                view.model_rail(shown)
            with right:
                if place is None:
                    with frame.optional_section(words.NEEDS_NORMS):
                        view.norm_panel(both, place, stack)
                else:
                    view.sublayer(both, place)
    below: tuple[str, ...] = ()
    if place is not None and experts_view.has_experts(shown, place):
        below = ("layers_router",)
        with st.container(key="layers_router"):
            experts_view.router(shown, place)
    frame.paint_first("Layers")
    if why is None:
        with st.container(key="layers_depth"):
            view.along_the_stream(both, place)
    with st.container(key="layers_lens"), frame.optional_section(words.NEEDS_OUTPUT):
        lens_view.lens_panel(both)
    if place is None:
        return ()
    with st.container(key="layers_norm"), frame.optional_section(words.NEEDS_NORMS):
        view.norm_panel(both, place, stack)
    return (*below, "layers_norm")


def tell(shown: RunView) -> None:
    """Which sub-layer added most at the chosen token, with a ring around it."""
    stack, position = view.chosen_stack(), state.selection()[SIDE_OF[view.chosen_stack()].field]

    def said() -> tuple[str, ...]:
        return question.at_stop(shown, view.flows_of(shown, stack), lens_view.lens_of(shown, stack), position)

    tour.tell(said, *question.ringed(shown, stack, position))


def ask(shown: RunView) -> Question | None:
    """From which layer on the token is settled; of a stack without a lens, what changed it most."""
    stack = view.chosen_stack()
    position = state.selection()[SIDE_OF[stack].field]
    found = lens_view.lens_of(shown, stack)
    settled = None if found is None else question.settled(shown, found, position)
    if settled is not None:
        return settled
    try:
        return question.changed_most(shown, view.flows_of(shown, stack), position)
    except Unavailable:  # the page says it where the numbers would stand
        return None


if both is not None:
    with strip:
        frame.token_strip(both)
    if both.main.recorded:
        whole_layers_view.whole_layers(both.main, words.ONLY_WHOLE)
        questions.show_question(asked, whole_layers_view.ask(both.main))
        parts: tuple[str, ...] = ("layers_top", "layers_depth")
    else:
        parts = ("layers_top", "layers_depth", "layers_lens", *show(both))
    frame.show_messages(status, *state.remarks())
    frame.set_scenes(both, parts)
text.explain(words.HOW, words.NOT)
del both  # these functions and what they may read are a circle: the run would stay until garbage is collected
