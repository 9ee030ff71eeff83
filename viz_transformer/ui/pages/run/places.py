"""The places of the page Run, and the recorded run: what is there before anything heavy is imported."""

from __future__ import annotations

import html
from typing import cast

import streamlit as st

from viz_transformer.checkpoint.contents import Summary
from viz_transformer.checkpoint.saved_traces import RecordingSummary
from viz_transformer.ui.compat import DeltaGenerator
from viz_transformer.ui.components.pictures import chip_rows, matrix, scrubber
from viz_transformer.ui.components.pictures import whole as whole_picture
from viz_transformer.ui.components.reveal import bring_into_view
from viz_transformer.ui.frame import frame, questions, text, tour
from viz_transformer.ui.frame.frame import Rows, Runs
from viz_transformer.ui.pages.run import opening_run, passing, site, words
from viz_transformer.ui.pages.run.fields import FIELDS
from viz_transformer.ui.pages.run.inputs import put_inputs, put_slider
from viz_transformer.ui.pages.run.opening_run import Recording
from viz_transformer.ui.session import cached, examples, state

SWITCHED = "run_view_switched"
"""The session's entry for how often another view was chosen."""
LARGE = 70
"""The longest answer that fits on one line in large type at 1280 pixels."""


class Places:
    """Where the parts of the page stand, and the runs. whole: the layout is one picture of the whole run, and not one
    map with the candidates beside it."""

    def __init__(self, summary: Summary | None, *, whole: bool) -> None:
        self.whole, self.both = whole, cast("Runs | None", None)
        with st.container(horizontal=True, key="head"):
            if summary is not None:
                _show_description(summary, whole=whole)
            tour.offer()
            self.status = frame.status()
        self.asked = questions.place()
        with st.container(key="inputs"):
            self.number, self.choices = put_inputs(summary)
        self.answer: DeltaGenerator | None = None
        self.given: DeltaGenerator | None = None
        if not whole or _has_answer_line(summary):
            self._put_answer_line(switch=summary is not None and not isinstance(summary, RecordingSummary))
        self.strip = frame.place("strip")
        if whole:
            self.site, self.picture = frame.place("run_site"), frame.place("run_whole")
            self.beside = st.container(horizontal=True, vertical_alignment="center", key="run_below")
        else:
            left, right = st.columns([5, 3], gap="medium")
            with left:
                self.picture = frame.place("picture")
            with right:
                self.site = self.beside = frame.place("panel")

    def _put_answer_line(self, *, switch: bool) -> None:
        with st.container(horizontal=True, vertical_alignment="center", key="answer"):
            self.answer = st.container()
            if not self.whole:
                if switch:
                    with st.container(width="content"):
                        put_view_switch(whole=False)
                self.given = st.container(width="content", key="given")
                self.given.html('<i class="vt-anchor"></i>')  # its width is kept before there is a run


def begin() -> Places:
    """Begin the page: its places, its inputs and the selected runs. Where a recording shows what is selected, and
    nothing is loaded yet, it is drawn; then the run is made, and the page anew."""
    frame.title("Run")
    passing.page_begins()
    whole, summary = FIELDS.now().run_view == "whole", frame.select_summary()
    places = Places(None if isinstance(summary, str) else summary, whole=whole)
    if not isinstance(summary, str) and not cached.is_warm():
        found = opening_run.recording_of(summary, state.selection())
        if found is not None:
            _show_recording(places, summary, found)
    rows: Rows = "last" if whole else "chosen"
    places.both = frame.runs(places.status, rows=rows, recording=words.OF_RECORDING, by_step=whole)
    if places.both is None:
        passing.page_cannot()
        if not isinstance(summary, str | RecordingSummary):
            frame.clamp_model(summary)
            with places.site:
                site.show_site(summary.spec, whole=whole)
    return places


def finish(places: Places) -> None:
    """Draw what comes last: the picture of a view that was just chosen is brought into sight, and the slider."""
    if SWITCHED in st.session_state:
        bring_into_view("run_whole" if places.whole else "picture", st.session_state[SWITCHED])
    put_slider(places.number)


def _has_answer_line(summary: Summary | None) -> bool:
    """Whether the answer is also above the picture of the whole run, which has it: of formulas, and, for a model that
    writes nothing, what can be masked."""
    if summary is None or isinstance(summary, RecordingSummary):
        return False
    return not summary.spec.writes or examples.family(summary.card.get("task")) == "taylor"


def put_view_switch(*, whole: bool) -> None:
    """Draw the button that leads to the other view: the whole run in one picture, or one map."""
    other, label = ("map", words.ONE_MAP) if whole else ("whole", words.WHOLE_RUN)
    st.button(label, key="run_view", on_click=_take_view, args=(other,), type="tertiary")


def _take_view(view: str) -> None:
    """Another view was chosen, where the page was scrolled to; its picture is brought into view."""
    state.select(run_view=view)
    st.session_state[SWITCHED] = st.session_state.get(SWITCHED, 0) + 1


def _show_description(summary: Summary, *, whole: bool) -> None:
    """Write what the model does on one line; without room, the hint on what to try first is left out."""
    recording = isinstance(summary, RecordingSummary)
    does = words.what_it_is(summary.card, summary.spec, recording=recording)
    first = "" if recording else words.what_to_do(summary.spec, whole=whole)
    both = html.escape(f"{does} {first}".rstrip())
    st.html(f'<p class="vt-what" title="{both}"><span>{html.escape(does)}</span> <span>{html.escape(first)}</span></p>')


def show_in_large(answer: str, lead: str = "") -> None:
    """Draw an answer, set smaller where it is long."""
    text.paragraph(answer, style=answer_style(answer, lead), lead=lead)


def answer_style(answer: str, lead: str = "") -> str:
    """The CSS class of an answer: a long one is set smaller."""
    return f"vt-answer{' vt-answer-long' if len(lead) + len(answer) > LARGE else ''}"


def _show_recording(places: Places, summary: Summary, recording: Recording) -> None:
    """Draw the opening view as it was recorded, before anything heavy is imported; then the run, and the page anew."""
    opening_run.follow(recording)
    questions.show_question(places.asked, recording.question(state.selection()["t"]))
    with places.strip, frame.strip_columns()[0]:
        chip_rows(recording.rows, key="run_strip", on_text=frame.take_text)
    with places.site:
        site.show_site(summary.spec, whole=places.whole)
    if places.whole:
        with places.picture:
            whole_picture(recording.whole, key="run_whole_0")
    else:
        if places.answer is not None:
            with places.answer:
                show_in_large(recording.answer)
        with places.beside:
            scrubber(recording.scrubber, key="run_scrubber")
        with places.picture:
            matrix(recording.matrix, key="run_matrix")
    put_slider(places.number)
    with places.status.container():
        text.paragraph(words.RECORDED_RUN, tone="quiet", detail=words.SOON_LIVE)
    frame.finish_page()
    cached.run(summary, recording.text)
    st.rerun()
