"""The Input page: the vectors that a model starts from, the tokens that it reads, its vocabulary, and its data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import streamlit as st

from viz_transformer.checkpoint import Checkpoint
from viz_transformer.figures import labels
from viz_transformer.model.hooked_model import Unavailable
from viz_transformer.model.kinds import SIDES, SideName
from viz_transformer.ui.frame import controls, first_stop, frame
from viz_transformer.ui.frame import words as of_frame
from viz_transformer.ui.frame.controls import Control
from viz_transformer.ui.frame.drawn import Columns, Drawn, Group, Text, Widget
from viz_transformer.ui.frame.frame import Runs
from viz_transformer.ui.frame.page import Chosen, Page, View
from viz_transformer.ui.frame.questions import Question, cite
from viz_transformer.ui.pages.input import data_view, vocabulary_view, words
from viz_transformer.ui.pages.input.input_sum_view import draw_spread, draw_strips
from viz_transformer.ui.pages.input.tokens_view import draw_ids, draw_tokens, tokens_of
from viz_transformer.ui.session import cached, state
from viz_transformer.ui.session.runs import RunView

# ---- what can be chosen


ROWS: Control[str] = Control(
    field="input_rows", label=words.ROWS_LABEL, options=lambda shown: words.ROWS, unset="one", hidden=True
)


def choose(both: Runs, chosen: Chosen) -> Chosen:
    """The model of the run, its side that is shown, and the entry of its vocabulary."""
    return choose_of(both.main.ckpt, both.main, chosen)


def choose_of(ckpt: Checkpoint, shown: RunView | None, chosen: Chosen) -> Chosen:
    """The same of a model, with its run or without one; the side is None for a model without text."""
    sides: list[SideName] = [*ckpt.codecs]
    side = chosen["input_side"] if chosen["input_side"] in sides else next(iter(sides), None)
    if side is None:
        return {"ckpt": ckpt, "side": None}
    ids = () if shown is None else tokens_of(shown, side).ids
    selected = ids[chosen[SIDES[side].field]] if ids else None
    return {"ckpt": ckpt, "side": side, "entry": vocabulary_view.selected_entry(ckpt, side, selected)}


def draw_bar(both: Runs | None, chosen: Chosen) -> Group:
    """The choice of the side, and of one position or all where there is a run."""
    ckpt, side = chosen["ckpt"], chosen["side"]
    parts: list[Drawn] = []
    if side is None:
        parts = [Text(said=words.no_vocabulary(ckpt.name))]
    else:
        names = {each: SIDES[each].label for each in ckpt.codecs}
        bound = {"key": "input_side", "hidden": True, "value": side}
        parts = [Widget(put=partial(controls.buttons, words.SIDE, names, "input_side", **bound))]
        if both is not None:
            position = Widget(put=partial(_put_position, tokens_of(both.main, side).tokens, SIDES[side].field))
            parts += [ROWS, position] if chosen["input_rows"] == "one" else [ROWS]
    return Group(parts=parts, key="input_bar", aligned="center")


def _put_position(tokens: Sequence[str], field: str) -> None:
    st.selectbox(
        words.POSITION,
        [*range(len(tokens))],
        format_func=lambda position: f"{position}: {labels.shorten(labels.visible(tokens[position]), 24)}",
        label_visibility="collapsed",
        width=220,
        **state.widget_args(field, key="input_position"),
    )


# ---- vocabulary and data


def draw_vocabulary(both: Runs | None, chosen: Chosen) -> Iterator[Drawn]:
    """The entries of the vocabulary with their counts, and those that are nearest to the chosen one."""
    ckpt, side = chosen["ckpt"], chosen["side"]
    counted = vocabulary_view.counts(ckpt, side)
    yield Group(parts=[*vocabulary_view.draw_entries(ckpt, side, counted)], key="input_entries")
    yield from vocabulary_view.draw_nearest(ckpt, side, chosen["entry"], counted)


def draw_lower(both: Runs | None, chosen: Chosen) -> Iterator[Drawn]:
    """The data, a row of ids, a vocabulary being built, or words; without a run only what is of the model."""
    ckpt, side, below = chosen["ckpt"], chosen["side"], chosen["input_below"]
    what = partial(controls.buttons, words.BELOW_LABEL, words.BELOW, "input_below", key="input_below", hidden=True)
    yield Widget(put=what)
    try:
        if below == "build":
            yield data_view.draw_building(ckpt, side)
        elif below == "data":
            yield from data_view.draw_data(ckpt, chosen)
        elif both is not None:
            yield from (draw_ids if below == "ids" else data_view.draw_words)(both.main, side)
    except Unavailable as error:
        yield Text(said=of_frame.not_told(words.NEEDS.get(below, words.NEEDS_SPLITTING), error))


def draw_without_run() -> Iterator[Drawn]:
    """The vocabulary and the data of the selected model, where its text cannot be run; nothing of a recording."""
    summary = frame.select_summary()
    if isinstance(summary, str) or frame.is_recording():
        return
    try:
        ckpt = cached.checkpoint(summary)
    except ValueError:
        return  # the status says why
    chosen = {**state.selection(), **choose_of(ckpt, None, state.selection())}
    yield draw_bar(None, chosen)
    if chosen["side"] is not None:
        panel = Group(parts=[*draw_vocabulary(None, chosen)], key="input_vocabulary_panel")
        yield Columns(parts=[[], [panel]], widths=PAGE.columns)
        yield Group(parts=[*draw_lower(None, chosen)], key="input_lower")


# ---- the question and the stop of the tour


def ask(both: Runs, chosen: Chosen) -> Question | None:
    """The question on the chosen token; None for a model without text."""
    side = chosen["side"]
    return None if side is None else question(both.main, side, chosen[SIDES[side].field])


def question(shown: RunView, side: SideName, position: int) -> Question | None:
    """The question on the token of this position, with its id and the size of its vector."""
    read = tokens_of(shown, side)
    if not 0 <= position < len(read):
        return None
    codec, size = shown.ckpt.codecs.get(side), SIDES[side].vocab_size(shown.trace.spec)
    token, typed, token_id = read.tokens[position], read.originals[position], read.ids[position]
    what = cite(token)
    if codec is not None and token_id == codec.unknown and typed != token:
        what = words.in_place_of(what, cite(typed))
    answer = words.becomes(what, token_id, size, shown.trace.spec.d_model)
    return Question(words.asks(SIDES[side].stack, position), answer)


def at_stop(both: Runs, chosen: Chosen) -> tuple[str, ...]:
    """The sentences about the chosen token."""
    side = chosen["side"]
    return () if side is None else first_stop.sentences(both.main, side, chosen[SIDES[side].field])


def describe_selection(both: Runs, chosen: Chosen) -> str | None:
    """The selection in a projector's caption."""
    side = chosen["side"]
    return None if side is None else words.at_position(side, chosen[SIDES[side].field])


def _has_text(both: Runs, chosen: Chosen) -> bool:
    return chosen["side"] is not None


PAGE = Page(
    title="Input",
    how=words.HOW,
    not_to_conclude=words.NOT,
    prepare=choose,
    views=(
        View(key="input_controls", draw_runs=draw_bar, is_scene=False),
        View(
            key="input_compared",
            draw_runs=lambda both, chosen: Text(said=words.COMPARED),
            is_there=lambda both, chosen: both.compared and _has_text(both, chosen),
            is_scene=False,
        ),
        View(key="input_sum", draw_runs=draw_strips, needs=words.NEEDS_EMBEDDINGS, column="left", is_open=_has_text),
        View(key="input_spread", draw_runs=draw_spread, column="left", is_open=_has_text),
        View(key="input_tokens", draw_runs=draw_tokens, column="left", is_open=_has_text, comes_later=True),
        View(
            key="input_vocabulary_panel",
            draw_runs=draw_vocabulary,
            column="right",
            is_open=_has_text,
        ),
        View(key="input_lower", draw_runs=draw_lower, is_open=_has_text),
    ),
    ask_runs=ask,
    at_stop=at_stop,
    ringed=(".st-key-input_sum .js-plotly-plot", ".st-key-question"),
    caption=describe_selection,
    looks="input_side",
    columns=(5, 3),
    without_run=draw_without_run,
)
