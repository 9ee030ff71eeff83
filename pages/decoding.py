"""Decoding: how is the answer written, step by step, and what else could it have been?"""

from __future__ import annotations

from functools import partial

import streamlit as st

from viz_transformer.ui.frame import frame, links, projector, questions, text, tour
from viz_transformer.ui.pages.decoding import words
from viz_transformer.ui.session import state

RINGED = (".st-key-panel >>> .scrubber", ".st-key-panel >>> .scrubber .stage", ".st-key-question")
SCENES = ("panel", "decoding_looked", "decoding_growing", "decoding_below")

frame.title("Decoding")
asked = questions.place()
strip = frame.place("strip")
bar = frame.place("decoding_bar")
status = frame.status()
both = frame.runs(status, rows="chosen", recording=words.OF_RECORDING, steps=True)

from viz_transformer.ui.pages.decoding import branch_list, question, site_bar, strategy_bar, view
from viz_transformer.ui.pages.decoding.fields import FIELDS


def the_step(both: frame.Runs) -> None:
    """The chosen step: left what it read, right what it could write, and how that is chosen; of two runs the bars of
    both beside each other, and below them what both read."""
    if both.beside:
        with st.container(key="decoding_step"):
            with st.container(key="panel"):
                view.step(both)
            strategy_bar.formula(both.a.ckpt.target_codec)
            strategy_bar.settings(both.a.ckpt.target_codec)
            with st.container(key="picture"):
                what_it_read(both)
        return
    with st.container(key="decoding_step"):
        left, right = st.columns([45, 55], gap="medium")
    with left:
        picture = st.container(key="picture")
    with right:
        if both.a.target is not None:
            bars, beside = st.container(), None
        else:
            bars, beside = st.columns([31, 14], gap="small")
        with bars, st.container(key="panel"):
            view.step(both)
        if beside is not None:
            with beside:
                strategy_bar.settings(both.a.ckpt.target_codec, below_each_other=True)
                view.doubts()
            strategy_bar.formula(both.a.ckpt.target_codec)
    with picture:  # made last: the bars are what a click on a candidate is about
        what_it_read(both)


def what_it_read(both: frame.Runs) -> None:
    """The branch that is looked at, and where the chosen head looked: as texts and as a map."""
    if both.main is both.a:
        branch_list.here(both.a)
    site_bar.show_site_bar(both)
    with st.container(key="decoding_looked"):
        view.show_attention(both)
    with st.container(key="decoding_growing"):
        view.growing(both)
    links.link_from_cell(decoding=False)


if both is None or both.main.summary.spec.writes:
    with bar, st.container(horizontal=True, key="decoding_row", vertical_alignment="center"):
        view.tabs()
        strategy_bar.choice()
if both is None:
    strategy_bar.formula(None)
    strategy_bar.settings(None)
elif not both.main.ckpt.spec.writes:
    with strip:
        frame.token_strip(both)
    frame.show_messages(status, *state.remarks(), frame.only_reads(both.main.summary))
else:
    at = state.SHARED.now().t or 0
    tour.tell(partial(question.at_stop, both.main, at), *RINGED)
    # On a projector the step and the tab below it are scenes of one page.
    tab = FIELDS.now().dec_tab
    if projector.is_on():
        below = projector.scene(SCENES) == SCENES.index("decoding_below")
        tab = "step" if not below else "branches" if tab == "step" else tab
    if tab == "step" and both.beside and both.b is not None:
        questions.show_question(asked, question.compared(both.a, both.b, at))
    elif tab != "score":
        questions.show_question(asked, question.of_tab(tab, both.main, at))
    with strip:
        frame.token_strip(
            both, by_step=True, plays=projector.is_on()
        )  # a scene may be without the button beside the bars
    if tab == "step" or projector.is_on():
        the_step(both)
    if tab != "step" or projector.is_on():
        view.show_tab(both, lambda found: questions.show_question(asked, found) if tab == "score" else None)
    remarks = [*state.remarks(), *view.unread(both.main)]
    frame.show_messages(status, *remarks)
    frame.set_scenes(both, SCENES)
text.explain(words.HOW, words.NOT)
del both  # these functions and what they may read are a circle: the run would stay until garbage is collected
