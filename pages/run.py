"""Run: what does the model write for this text, and where did each step look?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import streamlit as st

from viz_transformer.checkpoint import describe
from viz_transformer.checkpoint.contents import Summary
from viz_transformer.checkpoint.saved_traces import RecordingSummary
from viz_transformer.figures import labels
from viz_transformer.model.kinds import SIDES, SideName
from viz_transformer.sentences import shorten
from viz_transformer.text.codec import AS_USUAL, both_of, join_pair
from viz_transformer.ui.compat import DeltaGenerator
from viz_transformer.ui.components.pictures import Range, chip_rows, matrix, scrubber
from viz_transformer.ui.components.pictures import slider as number_slider
from viz_transformer.ui.components.pictures import whole as whole_picture
from viz_transformer.ui.components.reveal import bring_into_view
from viz_transformer.ui.frame import controls, frame, links, pictures, problems, projector, questions, text, tour
from viz_transformer.ui.pages.run import opening_run, passing, site, what_view, words
from viz_transformer.ui.pages.run.fields import FIELDS
from viz_transformer.ui.pages.run.opening_run import Recording
from viz_transformer.ui.session import cached, examples, state
from viz_transformer.ui.session.runs import RunView

if TYPE_CHECKING:
    from viz_transformer.analysis.attention.picture import Picture

LONGEST_EXAMPLE, LONGEST_OFFERED, LONGEST_TYPED = 28, 120, 60
LINE, MAX_LINES = 28, 8
"""Of a box: the height of a line in pixels, and how many are seen, as page.css has them."""


def inputs(summary: Summary | None) -> tuple[DeltaGenerator | None, DeltaGenerator]:
    """The sentence box, beside it examples and, for numbers, the place of a slider that writes into the box; and the
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
        text_box(label, key="run_text", **({"place": 0} if pairs else {}))
    if pairs:
        with middle:
            text_box(words.SECOND, key="run_second", place=1)
    lines = 1 + max(each.count("\n") for each in both_of(state.SHARED.now().text))
    if lines > 1:  # the picture gives way
        st.html(f"<style>.stApp {{ --vt-lines: {LINE * (min(lines, MAX_LINES) - 1)}; }}</style>")
    choices = (left if pairs else middle).container(horizontal=True, vertical_alignment="center", key="run_choices")
    typed = state.typed_text()
    if typed in (state.SHARED.now().text, *offered):
        typed = None
    if offered or typed is not None:
        with middle.container(horizontal=True, key="run_offers"):
            example_pills(offered, LONGEST_EXAMPLE, key="run_example")
            with st.popover(words.MORE, key="run_examples", help=words.ALL_EXAMPLES):
                if typed is not None:
                    said = text.literal(words.your_text(shorten(labels.sentence(typed), LONGEST_TYPED)))
                    st.button(said, key="run_typed", on_click=state.select, kwargs={"text": typed})
                example_pills(offered, LONGEST_OFFERED, key="run_example_listed")
    if not examples.takes_numbers(task):
        return None, choices
    with right[0]:
        return frame.place("number"), choices


def example_pills(offered: Sequence[str], longest: int, *, key: str) -> None:
    """Texts to try, each a button of at most so many characters."""
    text_now = state.SHARED.now().text
    st.session_state[key] = text_now if text_now in offered else None
    st.pills(
        words.EXAMPLES,
        offered,
        format_func=lambda given: text.literal(shorten(labels.sentence(given), longest)),
        key=key,
        on_change=take_example,
        args=(key,),
        label_visibility="collapsed",
    )


def text_box(label: str, *, key: str, place: int | None = None) -> None:
    """The box of a text, or of the first or second of two that are read together."""
    bound = state.widget_args("text", key=key)
    if place is not None:
        both = both_of(state.SHARED.now().text)

        def taken(new: str) -> str:
            return join_pair(*(new if each == place else both[each] for each in range(2)))

        bound = state.widget_args("text", key=key, value=both[place], taken=taken)
    controls.text_box(label, label_visibility="collapsed", placeholder=label, **bound)


def slider() -> None:
    """The number that is run; last on the page, for the browser takes it as the answer to a move of its thumb."""
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
            on_number=take_number,
        )


def place_ahead(both: frame.Runs | None) -> None:
    """Where a number that the slider only passes is shown ahead of the page, if it can be."""
    if number is None or both is None or not ahead_view.can(both):
        passing.page_cannot()
        return
    with number, st.container(key="ahead"):
        ahead_view.place()
    passing.page_stands()


def take_example(key: str) -> None:
    if st.session_state[key] is not None:
        state.select(text=st.session_state[key])


def take_number(number: float, settled: bool) -> None:
    state.select(text=examples.number_text(number))
    if not settled:
        state.set_transient()
        passing.show_ahead()


def target_switch(shown: RunView) -> None:
    """Gives the model an answer instead of letting it write one, and takes it back."""
    if state.SHARED.now().target is None:
        st.button(
            words.FORCE,
            key="run_give",
            on_click=lambda: state.select(target=shown.run.text),
            help=words.FORCED,
            type="tertiary",
        )
    else:
        st.button(words.LET_IT_WRITE, key="run_write", on_click=lambda: state.select(target=None), type="tertiary")


def has_answer_line(summary: Summary | RecordingSummary | str) -> bool:
    """Whether the answer stands in large above the texts: in the picture of the whole run it stands in the picture, so
    that there only formulas have a line of their own, and what can be masked."""
    if not whole:
        return True
    if not isinstance(summary, str | RecordingSummary) and not summary.spec.writes:
        return True
    return isinstance(summary, Summary) and examples.family(summary.card.get("task")) == "taylor"


def view_switch() -> None:
    """Leads to the other view: the whole run in one picture, or one map."""
    other, label = ("map", words.ONE_MAP) if whole else ("whole", words.WHOLE_RUN)
    st.button(label, key="run_view", on_click=take_view, args=(other,), type="tertiary")


def take_view(view: str) -> None:
    """Another view was chosen, where the page was scrolled to; its picture is brought into view."""
    state.select(run_view=view)
    st.session_state[SWITCHED] = st.session_state.get(SWITCHED, 0) + 1


def show_answer(shown: RunView) -> None:
    """The text in large; of an expression as a formula, with the verdict of computer algebra."""
    if examples.family(shown.summary.card.get("task")) == "taylor":
        formula.show_formula(shown.text, shown.run.text)
        return
    lead, written = answer_text(shown.ckpt, shown.run)
    if shown.target is not None and not lead:
        lead = words.GIVEN
    in_large(written or words.NOTHING, lead)


def in_large(answer: str, lead: str = "") -> None:
    """An answer, set smaller where it is long."""
    text.paragraph(answer, style=what_view.answer_style(answer, lead), lead=lead)


def remarks(shown: RunView) -> list[str]:
    """What there is to say beside the headline: first about the text that was typed, as only two lines are in view at
    once."""
    ckpt, run = shown.ckpt, shown.run
    sentences = []
    if without := describe.without_tensors(ckpt.card):
        sentences.append(f"{without}.")
    if problems.is_there():  # the rest is about the text before, which is greyed out
        return [*sentences, *state.remarks()]
    sentences += judgement(shown).notes
    if other := round_trip_sentence(ckpt, shown.text):
        sentences.append(other)
    sentences += state.remarks()
    if read := shown.how.read.words():
        sentences.append(words.read_so(read))
    if not ckpt.spec.writes:
        return [*sentences, *reading_view.remarks(ckpt.spec)]
    if shown.target is not None:
        sentences.append(words.given(labels.number(run.log_prob, 2), len(run.steps)))
    elif how := replace(shown, how=replace(shown.how, read=AS_USUAL)).written_words:
        sentences.append(words.written_by(how))
    if shown.target is None and (rules := ckpt.codec("target").rules):
        sentences.append(words.kept_out(rules))
    if shown.target is None and run.stopped == "maximum length":
        limit = None if ckpt.codec("target").ends else ckpt.spec.max_target
        sentences.append(words.stopped(len(run.steps), limit))
    return sentences


def show_recording(summary: Summary, recording: Recording) -> None:
    """The opening view as it was recorded, before anything heavy is imported; then the run, and the page anew."""
    opening_run.follow(recording)
    questions.show_question(asked, recording.question(state.SHARED.now().t))
    with strip, frame.strip_columns()[0]:
        chip_rows(recording.rows, key="run_strip", on_text=frame.take_text)
    with site_place:
        site.show_site(summary.spec, whole=whole)
    if whole:
        with picture:
            whole_picture(recording.whole, key="run_whole_0")
    else:
        with answer:
            in_large(recording.answer)
        with panel:
            scrubber(recording.scrubber, key="run_scrubber")
        with picture:
            matrix(recording.matrix, key="run_matrix")
    slider()
    with status.container():
        text.paragraph(words.RECORDED_RUN, tone="quiet", detail=words.SOON_LIVE)
    frame.finish_page()
    cached.run(summary, recording.text)
    st.rerun()


def ask(both: frame.Runs, drawn: Picture | None, first_row: int | None = None) -> None:
    """The page's question about this map; none where there is none. first_row: as `frame.clamp_to_run` has it."""
    shown = both.main
    found = None if shown.ckpt.spec.writes else reading_view.question(shown)
    if found is None and drawn is not None:
        found = questions.ask_of_one(both, drawn, question.chosen_question(shown, drawn, first_row))
    one_of_them = whole and projector.is_on()  # each whole run is a scene of its own
    questions.show_question(asked, found, judgement(shown) if one_of_them else judgement_of_all(both))


def show_whole(both: frame.Runs) -> None:
    """The whole run in one picture over the whole width."""
    with picture:
        if not whole_view.show_whole_run(both):
            pictures.show_selected_map(both, key="run_matrix")
    with below:
        links.link_from_cell(level=FIELDS.now().level, decoding=both.main.summary.spec.writes)
        view_switch()
        if both.a.ckpt.spec.writes:
            with st.container(width="content", key="given"):
                target_switch(both.a)
        if both.main.summary.snapshots():
            links.link_to("Models", words.REWIND, model_tab="training")
    text.explain(
        (words.WHOLE if both.main.ckpt.spec.writes else words.WHOLE_READ) + words.FROM_ZERO,
        words.NOT,
        terms=words.TERMS,
    )
    say_remarks(both.main)
    scenes, along = whole_view.scenes(both), whole_view.together(both)
    seen = replace(both, looked_at="B") if projector.is_on() and projector.scene(scenes) else both
    of = both if both.difference else seen
    ask(of, pictures.asked_about(of), None if along is None else along.first_row)
    frame.set_scenes(seen, scenes, rows=None if along is None else along.rows)


def show_steps(shown: RunView) -> None:
    """The candidates of the step."""
    candidates = pictures.table(
        lambda: steps.candidate_table(shown),
        note=words.candidates_note(shown.caption(words.CANDIDATES)),
        name=f"{shown.summary.name}-candidates",
        key="run_scrubber",
    )
    scrubber(steps.scrubber_data(shown), key="run_scrubber", on_table=candidates)


def show_map(both: frame.Runs) -> None:
    """The map that is selected, or both, and beside it the candidates of the step."""
    with panel:
        controls.rows(both, key="run_rows")
        if both.main.ckpt.spec.writes:
            show_steps(both.main)
        else:
            reading_view.fillings(both.main)
        if both.main.summary.snapshots():
            links.link_to("Models", words.REWIND, model_tab="training")
        how = words.HOW if both.main.ckpt.spec.writes else reading_view.how(both.main.ckpt.spec)
        text.explain(how + words.FROM_ZERO, words.NOT, terms=words.TERMS)
    with picture:
        if both.beside:
            drawn = pictures.maps_beside(both, st.columns(2, gap="small"), key="run_matrix")
        else:
            drawn = pictures.show_selected_map(both, key="run_matrix")
        links.link_from_cell(decoding=both.main.summary.spec.writes)
    ask(both, drawn if drawn is not None else pictures.asked_about(both))
    say_remarks(both.main)
    frame.set_scenes(both, ("picture", "panel"))


def tell(shown: RunView) -> None:
    """What is read, where the tour begins here by itself; and its last stop, of a model that writes nothing."""
    side: SideName = "source" if shown.trace.spec.has_encoder else "target"
    position = state.selection()[SIDES[side].field]
    tour.tell(lambda: first_stop.sentences(shown, side, position), ".st-key-run_strip >>> .row:first-child .chip", at=1)
    if not shown.trace.spec.writes:
        tour.tell(lambda: question.at_stop(shown), *question.ringed(shown), at=len(tour.STOPS))


def say_remarks(shown: RunView) -> None:
    """In the line of the heading: that the run is live, beside the recorded one, by comparing all that is drawn; then
    what there is to remark."""
    found = opening_run.recording_of(shown.summary, state.selection())
    with status.container():
        if found is not None:
            said, tone, detail = words.live(found.difference(recording.make_recording(shown, state.selection())))
            text.paragraph(said, tone=tone, detail=detail)
        for sentence in remarks(shown):
            text.paragraph(sentence)


SWITCHED = "run_view_switched"  # how often; only in the session
frame.title("Run")
passing.page_begins()
whole = FIELDS.now().run_view == "whole"
summary = frame.select_summary()
with st.container(horizontal=True, key="head"):
    if not isinstance(summary, str):
        what_view.show_description(summary, whole=whole)
    tour.offer()
    status = frame.status()
asked = questions.place()
with st.container(key="inputs"):
    number, choices = inputs(None if isinstance(summary, str) else summary)
answer = given = None
if has_answer_line(summary):
    with st.container(horizontal=True, vertical_alignment="center", key="answer"):
        answer = st.container()
        if not whole:
            if not isinstance(summary, str | RecordingSummary):
                with st.container(width="content"):
                    view_switch()
            given = st.container(width="content", key="given")
            given.html('<i class="vt-anchor"></i>')  # its width is kept before there is a run
strip = frame.place("strip")
if whole:
    site_place = frame.place("run_site")
    picture = frame.place("run_whole")
    below = st.container(horizontal=True, vertical_alignment="center", key="run_below")
else:
    left, right = st.columns([5, 3], gap="medium")
    with left:
        picture = frame.place("picture")
    with right:
        panel = frame.place("panel")
        site_place = panel
if not isinstance(summary, str) and not cached.is_warm():
    found = opening_run.recording_of(summary, state.selection())
    if found is not None:
        show_recording(summary, found)
both = frame.runs(status, rows="last" if whole else "chosen", recording=words.OF_RECORDING, by_step=whole)
if both is None and not isinstance(summary, str | RecordingSummary):
    frame.clamp_model(summary)
    with site_place:
        site.show_site(summary.spec, whole=whole)
if both is not None:
    from viz_transformer.ui.frame import first_stop, steps
    from viz_transformer.ui.frame.judging import judgement, judgement_of_all
    from viz_transformer.ui.frame.token_strip import answer_text, round_trip_sentence
    from viz_transformer.ui.pages.run import (
        ahead_view,
        formula,
        question,
        reading_view,
        recording,
        whole_view,
    )

    with choices:
        reading_view.choices(both.a.ckpt)

    if answer is not None:
        with answer:
            (show_answer if both.main.ckpt.spec.writes else reading_view.masks)(both.main)
    with strip:
        plays = not whole and projector.is_on()  # the map is a scene without the bars and their button
        frame.token_strip(both, by_step=whole, plays=plays)
    tell(both.main)
    if given is not None and both.a.ckpt.spec.writes:
        with given:
            target_switch(both.a)
    with site_place:
        site.show_site(both.main.trace.spec, whole=whole)
    if whole:
        show_whole(both)
    else:
        show_map(both)
if SWITCHED in st.session_state:
    bring_into_view("run_whole" if whole else "picture", st.session_state[SWITCHED])
place_ahead(both)
slider()
del both  # these functions and what they may read are a circle: the run would stay until garbage is collected
