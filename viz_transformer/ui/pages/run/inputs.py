"""What the page Run reads: the boxes of the text, examples, and for numbers a slider."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from viz_transformer.checkpoint.contents import Summary
from viz_transformer.checkpoint.saved_traces import RecordingSummary
from viz_transformer.figures import labels
from viz_transformer.sentences import shorten
from viz_transformer.text.codec import both_of, join_pair
from viz_transformer.ui.compat import DeltaGenerator
from viz_transformer.ui.components.pictures import Range
from viz_transformer.ui.components.pictures import slider as number_slider
from viz_transformer.ui.frame import controls, frame, text
from viz_transformer.ui.pages.run import passing, words
from viz_transformer.ui.session import examples, state

LONGEST_EXAMPLE, LONGEST_OFFERED, LONGEST_TYPED = 28, 120, 60
LINE, MAX_LINES = 28, 8
"""The height of a line of a box in pixels, and how many are seen, as page.css has them."""


def put_inputs(summary: Summary | None) -> tuple[DeltaGenerator | None, DeltaGenerator]:
    """Draw the sentence box and examples; returns the place of a slider for numbers, which writes into the box, and the
    place of what can be chosen of how the text is read."""
    task = None if summary is None else summary.card.get("task")
    offered = () if summary is None else examples.list_examples(summary)
    left, middle, *right = st.columns([5, 4, 3] if examples.takes_numbers(task) else [7, 5], gap="medium")
    if isinstance(summary, RecordingSummary):
        with left:
            controls.text_box(
                words.NO_TEXT,
                label_visibility="collapsed",
                placeholder=words.NO_TEXT,
                key="run_recorded",
                disabled=True,
            )
        return None, middle
    pairs = summary is not None and summary.spec.reads_pairs
    with left:
        label = examples.label(task)
        _put_box(label, key="run_text", **({"place": 0} if pairs else {}))
    if pairs:
        with middle:
            _put_box(words.SECOND, key="run_second", place=1)
    lines = 1 + max(each.count("\n") for each in both_of(state.SHARED.now().text))
    if lines > 1:  # the picture gives way
        st.html(f"<style>.stApp {{ --vt-lines: {LINE * (min(lines, MAX_LINES) - 1)}; }}</style>")
    choices = (left if pairs else middle).container(horizontal=True, vertical_alignment="center", key="run_choices")
    typed = state.typed_text()
    if typed in (state.SHARED.now().text, *offered):
        typed = None
    if offered or typed is not None:
        with middle.container(horizontal=True, key="run_offers"):
            _put_examples(offered, LONGEST_EXAMPLE, key="run_example")
            with st.popover(words.MORE, key="run_examples", help=words.ALL_EXAMPLES):
                if typed is not None:
                    said = text.literal(words.your_text(shorten(labels.sentence(typed), LONGEST_TYPED)))
                    st.button(said, key="run_typed", on_click=state.select, kwargs={"text": typed})
                _put_examples(offered, LONGEST_OFFERED, key="run_example_listed")
    if not examples.takes_numbers(task):
        return None, choices
    with right[0]:
        return frame.place("number"), choices


def _put_examples(offered: Sequence[str], longest: int, *, key: str) -> None:
    """Texts to try, each a button of at most so many characters."""
    text_now = state.SHARED.now().text
    st.session_state[key] = text_now if text_now in offered else None
    st.pills(
        words.EXAMPLES,
        offered,
        format_func=lambda given: text.literal(shorten(labels.sentence(given), longest)),
        key=key,
        on_change=_take_example,
        args=(key,),
        label_visibility="collapsed",
    )


def _put_box(label: str, *, key: str, place: int | None = None) -> None:
    """The box of a text, or of the first or second of two that are read together."""
    bound = state.widget_args("text", key=key)
    if place is not None:
        both = both_of(state.SHARED.now().text)

        def taken(new: str) -> str:
            return join_pair(*(new if each == place else both[each] for each in range(2)))

        bound = state.widget_args("text", key=key, value=both[place], taken=taken)
    controls.text_box(label, label_visibility="collapsed", placeholder=label, **bound)


def put_slider(number: DeltaGenerator | None) -> None:
    """Draw the slider of the number that is run in its place, if there is one; last on the page, for the browser takes
    it as the answer to a move of its thumb."""
    if number is None:
        return
    written = state.SHARED.now().text
    with number:
        number_slider(
            examples.number_of(written),
            written,
            Range(
                least=-examples.NUMBER_LIMIT,
                most=examples.NUMBER_LIMIT,
                step=examples.NUMBER_STEP,
                decimals=examples.NUMBER_DECIMALS,
            ),
            label=words.NUMBER,
            key=passing.SLIDER,
            on_number=_take_number,
        )


def _take_example(key: str) -> None:
    if st.session_state[key] is not None:
        state.select(text=st.session_state[key])


def _take_number(number: float, settled: bool) -> None:
    state.select(text=examples.number_text(number))
    if not settled:
        state.set_transient()
        passing.show_ahead()
