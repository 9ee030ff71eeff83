"""Parts of the Decoding page: the step in its pictures, and the four other tabs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import streamlit as st

from viz_transformer.analysis.attention.maps import step_row
from viz_transformer.analysis.inputs.hidden_texts import hidden_texts
from viz_transformer.figures import labels
from viz_transformer.model.kinds import KINDS
from viz_transformer.ui.components.pictures import scrubber, shading
from viz_transformer.ui.frame import controls, frame, maps, pictures, projector, steps, text
from viz_transformer.ui.frame.frame import Runs
from viz_transformer.ui.frame.questions import Question
from viz_transformer.ui.pages.decoding import (
    beam_tree_view,
    branch_list,
    cache_view,
    question,
    score_view,
    site_bar,
    strategy_bar,
    words,
)
from viz_transformer.ui.pages.decoding.fields import FIELDS
from viz_transformer.ui.session import branches, cached, examples, state
from viz_transformer.ui.session.generation_config import GenerationConfig
from viz_transformer.ui.session.runs import ProgressBar, RunView


def unread(shown: RunView) -> list[str]:
    """The unknown words of the source and of the answer's forced beginning."""
    sentence = labels.unknown_sentence(hidden_texts(shown.ckpt, shown.run.trace))
    return [f"{sentence}."] if sentence else []


def step(both: Runs) -> None:
    """Draw the chosen step: each token's probability, before and after the strategy, and other tokens to take; with two
    runs the same step of both."""
    if not both.beside or both.b is None:
        _draw_step(both.main, takes=both.main.target is None and not both.difference and both.main is both.a)
        return
    first, takes = step_row(both.a.run, 0), both.a.target is None
    for shown, column in zip((both.a, both.b), st.columns(2, gap="medium"), strict=True):
        with column:
            text.paragraph(words.run_named(shown.name, shown.called, shown.words()), style="vt-note vt-pinned")
            _draw_step(shown, takes=takes and shown is both.a, room=takes, first_row=first)


def _draw_step(shown: RunView, *, takes: bool, room: bool = False, first_row: int | None = None) -> None:
    key = "decoding_steps_b" if shown.name == "B" and first_row is not None else "decoding_steps"
    asked = pictures.table(
        lambda: steps.candidate_table(shown),
        note=words.table_note(shown.caption(words.CANDIDATES), words.CANDIDATES_NOTE),
        name=labels.file_name(shown.summary.name, "candidates"),
        key=key,
    )
    scrubber(
        steps.scrubber_data(shown, strategy=True, takes=takes, room=room, first_row=first_row),
        key=key,
        on_take=(lambda step, token: take(shown, step, token)) if takes else None,
        on_table=asked,
    )


def take(shown: RunView, step: int, token_id: int) -> None:
    """Add a branch with another token at a step, named after the token."""
    if step >= len(shown.run.steps):
        return
    written = shown.run.steps[step]
    if token_id < len(written.vocabulary) and token_id != written.token_id:
        branches.grow(step, (token_id,), written.vocabulary[token_id], first_row=step_row(shown.run, 0))


def show_attention(both: Runs) -> None:
    """Draw the chosen head's attention as shaded text of source and answer so far; two runs in two columns."""
    if not both.beside or both.b is None:
        _draw_attention(both.main, "" if both.b is None else f" ({both.main.name})")
        return
    begins = step_row(both.b.run, 0)
    if begins != step_row(both.a.run, 0):
        text.paragraph(words.begins_with_row(begins))
    for shown, column, own in zip((both.a, both.b), st.columns(2, gap="medium"), ("", "_b"), strict=True):
        with column:
            _draw_attention(shown, f" ({shown.name})", own)


def _draw_attention(shown: RunView, which: str, own: str = "") -> None:
    chosen = state.selection()
    kinds = (["cross"] if shown.trace.spec.has_encoder else []) + ["decoder"]
    for kind in kinds:
        try:
            picture = maps.picture(shown, {**chosen, "kind": kind, "options": ()})
        except ValueError as error:
            text.paragraph(f"{error}.", tone="bad")
            continue
        with st.container(key=f"decoding_text_{kind}{own}"):
            drawn = picture.with_meta(title=words.SHADED[kind] + which, name=f"{picture.meta.name}-text")
            shading(drawn.pack_text(grows=True), key=f"decoding_shading_{kind}{own}")


def growing(both: Runs) -> None:
    """Draw the selected map, or those of two runs; rows that are not written yet at the chosen step stay empty."""
    grows = KINDS[state.SHARED.now().kind].writes
    if both.beside:
        pictures.maps_beside(both, st.columns(2, gap="medium"), key="decoding_matrix", grows=grows)
    else:
        pictures.show_selected_map(both, key="decoding_matrix", grows=grows)


def doubts() -> None:
    """Draw texts at which bundled models are in doubt, each with a button that runs it."""
    now, there = state.SHARED.now(), frame.models()
    offered = [
        each
        for each in examples.DOUBTS
        if each.checkpoint in there and (each.checkpoint, each.text) != (now.checkpoint, now.text)
    ]
    if not offered or projector.is_on():
        return
    with st.container(key="decoding_doubts", gap="small"):
        text.paragraph(words.DOUBTS, style="vt-note")
        for place, each in enumerate(offered):
            st.button(
                text.literal(each.about),
                key=f"decoding_doubt_{place}",
                width="stretch",
                help=text.literal(words.doubt_help(each.checkpoint, each.text)),
                on_click=state.select,
                kwargs={"checkpoint": each.checkpoint, "text": each.text},
            )


def tabs() -> None:
    """Draw the buttons of the tabs."""
    controls.buttons(words.TABS_LABEL, words.TABS, "dec_tab", key="decoding_tab", hidden=True)


def show_tab(both: Runs, ask: Callable[[Question], None]) -> None:
    """Draw the selected tab, and compute no other; beside the step, on a projector, the branches.

    ask: shows the question of a typed text, which is known only when that is scored.
    """
    tab = FIELDS.now().dec_tab
    with st.container(key="decoding_below"):
        if both.compared and not projector.is_on():
            text.paragraph(words.A_ALONE)
        if tab == "score":
            _draw_score(both, ask)
        else:
            {"tree": _draw_tree, "cache": _draw_cache}.get(tab, _draw_branches)(both)


def _draw_branches(both: Runs) -> None:
    if both.main.target is not None:
        text.paragraph(words.GIVEN_BRANCHES)
    else:
        branch_list.show_branches(both.main, lambda: _draw_site(both))


def _draw_site(both: Runs) -> None:
    """Draw the bar above the maps of a tab, unless the step has it already."""
    if not projector.is_on():
        site_bar.show_site_bar(both)


def _draw_tree(both: Runs) -> None:
    shown = both.main

    def go_on(node: int) -> None:
        tree = shown.run.tree
        assert tree is not None
        _follow(shown, tree.ids(node), words.FROM_TREE, first_row=step_row(shown.run, 0))

    beam_tree_view.show_beam_tree(shown, go_on, lambda: _draw_site(both))
    if not projector.is_on():
        strategy_bar.of_generate(both.a.ckpt.target_codec)
        strategy_bar.settings(both.a.ckpt.target_codec)


def _follow(shown: RunView, ids: Sequence[int], called: str, *, first_row: int) -> None:
    """Add a branch that begins with these ids; it leaves the answer where the two first differ."""
    written = [each.token_id for each in shown.run.steps]
    same = next((place for place, pair in enumerate(zip(ids, written, strict=False)) if pair[0] != pair[1]), None)
    if same is None:
        same = max(0, min(len(ids), len(written)) - 1)
    branches.grow(same, ids[same:], called, first_row=first_row)


def _draw_cache(both: Runs) -> None:
    with frame.optional_section(words.NO_SIZES):
        cache_view.show_cache(both.main)


def _draw_score(both: Runs, ask: Callable[[Question], None]) -> None:
    """Draw the scores of the reader's own text, token by token; if it cannot be scored the box says why, beside the
    answer's."""
    shown = both.main
    typed = FIELDS.now().dec_text
    scored, problem = None, ""
    if typed:
        try:
            with ProgressBar() as progress:
                how = GenerationConfig(read=shown.how.read)  # the text is read as it is on all pages
                run = cached.run(shown.summary, shown.text, typed, how, progress)
            scored = RunView(shown.name, shown.summary, shown.text, shown.ckpt, run, typed, how)
        except ValueError as error:
            problem = f"{error}."

    ask(question.score(shown, scored))

    def box() -> None:
        controls.text_box(
            words.SCORE_LABEL,
            placeholder=words.SCORE_PLACEHOLDER,
            **state.widget_args("dec_text", key="decoding_score_text", value=FIELDS.now().dec_text or ""),
        )
        if problem:
            text.paragraph(problem, tone="bad")

    def go_on(step: int) -> None:
        assert scored is not None
        ids = [each.token_id for each in scored.run.steps[:step]]
        if ids and shown.target is None:
            _follow(shown, ids, words.FROM_TEXT, first_row=step_row(shown.run, 0))

    score_view.show_score(shown, scored, go_on, box)
