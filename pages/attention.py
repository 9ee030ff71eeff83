"""Attention: where does each head look?"""

from __future__ import annotations

import streamlit as st

from viz_transformer.model.kinds import KINDS
from viz_transformer.ui.frame import frame, links, questions, text, tour
from viz_transformer.ui.session import state

RINGED = (".st-key-picture >>> .matrix .stage", ".st-key-question")
frame.title("Attention")
asked = questions.place()
strip = frame.place("strip")
status = frame.status()
both = frame.runs(status, rows="chosen")

from viz_transformer.analysis.attention.picture import Picture
from viz_transformer.ui.frame import pictures
from viz_transformer.ui.pages.attention import view, words


def show(both: frame.Runs) -> None:
    """Kinds and switches, the map of each selected head, and below it lines or text; beside them all heads small and
    the scores of the chosen one."""
    view.choices(both)
    chosen = state.selection()
    if both.beside:
        beside(both)
        return
    several = isinstance(chosen["heads"], tuple) and len(chosen["heads"]) > 1
    above = st.container()  # maps of several heads, over the whole width; the heads below stay where they are
    left, right = st.columns([3, 2], gap="medium")
    try:
        picture = pictures.select_picture(both)
    except ValueError as error:
        with left:
            pictures.show_refusal(both, error)
        with right:
            heads(both)
        ask(both, pictures.asked_about(both))
        return
    ask(both, picture)
    with above if several else left, st.container(key="picture"):
        if several:
            pictures.heads_apart(both, chosen["heads"], key="attention_matrix")
        else:
            pictures.matrix_of(picture, key="attention_matrix", follows=True)
        view.origin(both)
        links.link_from_cell(decoding=both.main.summary.spec.writes)
    with left, st.container(key="panel"):
        view.panel(both, picture)
    with right:
        heads(both)
        with st.container(key="scores"):
            view.scores(both.main, letter(both))


def ask(both: frame.Runs, picture: Picture | None) -> None:
    """The page's question about this map; none where there is none."""
    chosen = state.selection()
    if picture is not None:
        position = chosen[KINDS[chosen["kind"]].queries.field]
        found = questions.where(both.main, picture, position, chosen["heads"])
        questions.show_question(asked, questions.ask_of_one(both, picture, found))
        said = chosen["kind"], chosen["layer"], chosen["heads"], position
        tour.tell(lambda: view.at_stop(both.main, picture, *said), *RINGED)


def heads(both: frame.Runs) -> None:
    """All heads small, of A where two runs are looked at."""
    with st.container(key="heads"):
        view.head_grid(both.main, letter(both))
        view.not_seen(both.main)
        view.shared_keys(both.main)


def letter(both: frame.Runs) -> str:
    """Which run the heads and their scores are of, where there are two."""
    return "" if both.b is None else both.main.name


def beside(both: frame.Runs) -> None:
    """The map of A and that of B, in one scale; under them the heads of A and the scores of the chosen one."""
    with st.container(key="picture"):
        picture = pictures.maps_beside(both, st.columns(2, gap="medium"), key="attention_matrix")
        view.origin(both)
        links.link_from_cell(decoding=both.main.summary.spec.writes)
    ask(both, picture)
    left, right = st.columns([3, 2], gap="medium")
    with left:
        heads(both)
    with right, st.container(key="scores"):
        view.scores(both.a, letter(both))


if both is not None:
    with strip:
        frame.token_strip(both, plays=True)
    show(both)
    frame.show_messages(status, *state.remarks())
    frame.set_scenes(both, ("picture", *(() if both.beside else ("panel",)), "heads", "scores"))
text.explain(words.HOW, words.NOT)
del both  # these functions and what they may read are a circle: the run would stay until garbage is collected
