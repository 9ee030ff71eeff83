"""The Run page: the whole run in one picture, or one map with the candidates of each step."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial

import streamlit as st

from viz_transformer.checkpoint import describe
from viz_transformer.figures import labels
from viz_transformer.model.kinds import SIDES, SideName
from viz_transformer.text.codec import AS_USUAL
from viz_transformer.ui.compat import DeltaGenerator
from viz_transformer.ui.components.pictures import scrubber
from viz_transformer.ui.frame import (
    controls,
    first_stop,
    frame,
    links,
    maps,
    pictures,
    problems,
    projector,
    questions,
    steps,
    text,
    tour,
)
from viz_transformer.ui.frame.drawn import (
    Button,
    CellLinks,
    Component,
    Drawn,
    Map,
    Numbers,
    Widget,
    show,
)
from viz_transformer.ui.frame.frame import Runs
from viz_transformer.ui.frame.judging import judgement, judgement_of_all
from viz_transformer.ui.frame.page import Chosen, View, show_view
from viz_transformer.ui.frame.questions import Question
from viz_transformer.ui.frame.token_strip import answer_text, round_trip_sentence
from viz_transformer.ui.pages.run import (
    ahead_view,
    formula,
    opening_run,
    passing,
    question,
    reading_view,
    recording,
    site,
    whole_view,
    words,
)
from viz_transformer.ui.pages.run.fields import FIELDS
from viz_transformer.ui.pages.run.places import Places, put_view_switch, show_in_large
from viz_transformer.ui.session import examples, state
from viz_transformer.ui.session.runs import RunView

# ---- one map, and beside it the candidates of the step


def draw_map(shown: RunView, chosen: Chosen) -> Drawn:
    """The map of what is selected."""
    return Map(picture=maps.picture(shown, chosen), key="run_matrix", follows=True)


MAP = View(key="run_matrix", draw=draw_map, gap="small")


def draw_beside_map(both: Runs) -> Iterator[Drawn]:
    """The candidates of the step, or of the chosen mask; and where a model trained here is shown as it learned."""
    shown = both.main
    yield Widget(put=partial(controls.rows, both, key="run_rows"))
    if shown.ckpt.spec.writes:
        numbers = Numbers(
            frame=lambda: steps.candidate_table(shown),
            note=words.candidates_note(shown.caption(words.CANDIDATES)),
            name=f"{shown.summary.name}-candidates",
        )
        yield Component(draw=scrubber, data=steps.scrubber_data(shown), key="run_scrubber", numbers=numbers)
    else:
        yield from reading_view.draw_fillings(shown)
    yield from _draw_rewinding(shown)


def _draw_rewinding(shown: RunView) -> Iterator[Drawn]:
    if shown.summary.snapshots():
        yield Widget(put=partial(links.link_to, "Models", words.REWIND, model_tab="training"))


# ---- the whole run


def draw_below_whole(both: Runs) -> Iterator[Drawn]:
    """Where the chosen cell leads, the other view, and an answer to give."""
    yield CellLinks(level=FIELDS.now().level, decoding=both.main.summary.spec.writes)
    yield Widget(put=partial(put_view_switch, whole=True))
    if both.a.ckpt.spec.writes:
        yield Widget(put=partial(_put_given_below, both.a))
    yield from _draw_rewinding(both.main)


def _put_given_below(shown: RunView) -> None:
    with st.container(width="content", key="given"):
        show(draw_given(shown), shown, "given")


def draw_given(shown: RunView) -> Button:
    """What gives the model an answer instead of letting it write one, and takes it back."""
    if state.SHARED.now().target is None:
        return Button(label=words.FORCE, key="run_give", fields={"target": shown.run.text}, help=words.FORCED)
    return Button(label=words.LET_IT_WRITE, key="run_write", fields={"target": None})


# ---- what the page says


def draw_answer(shown: RunView) -> Drawn:
    """The text in large; of an expression as a formula, with the verdict of computer algebra; of a model that writes
    nothing what can be masked, or its labels."""
    if not shown.ckpt.spec.writes:
        return Widget(put=partial(reading_view.put_masks, shown))
    if examples.family(shown.summary.card.get("task")) == "taylor":
        return Widget(put=partial(formula.show_formula, shown.text, shown.run.text))
    lead, written = answer_text(shown.ckpt, shown.run)
    if shown.target is not None and not lead:
        lead = words.GIVEN
    return Widget(put=partial(show_in_large, written or words.NOTHING, lead))


def list_remarks(shown: RunView) -> list[str]:
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


def _show_remarks(place: DeltaGenerator, shown: RunView) -> None:
    """In the line of the heading: that the run is live, beside the recorded one, by comparing all that is drawn; then
    what there is to remark."""
    found = opening_run.recording_of(shown.summary, state.selection())
    with place.container():
        if found is not None:
            said, tone, detail = words.live(found.difference(recording.make_recording(shown, state.selection())))
            text.paragraph(said, tone=tone, detail=detail)
        for sentence in list_remarks(shown):
            text.paragraph(sentence)


def _tell(shown: RunView) -> None:
    """What is read, where the tour begins here by itself; and its last stop, of a model that writes nothing."""
    side: SideName = "source" if shown.trace.spec.has_encoder else "target"
    position = state.selection()[SIDES[side].field]
    tour.tell(lambda: first_stop.sentences(shown, side, position), ".st-key-run_strip >>> .row:first-child .chip", at=1)
    if not shown.trace.spec.writes:
        tour.tell(lambda: question.at_stop(shown), *question.ringed(shown), at=len(tour.STOPS))


def _ask(both: Runs, first_row: int | None = None) -> Question | None:
    """The page's question about the selected map; none where there is none. first_row: as `frame.clamp_to_run` has
    it."""
    shown, found = both.main, None
    if not shown.ckpt.spec.writes:
        found = reading_view.question(shown)
    drawn = None if found is not None else pictures.asked_about(both)
    if drawn is None:
        return found
    return questions.ask_of_one(both, drawn, question.chosen_question(shown, drawn, first_row))


# ---- on the page


def show_run(places: Places) -> None:
    """Draw the page of the selected run, or of the two that are shown, in its places, which no longer hold it: the
    page's file would keep it until garbage is collected."""
    both, places.both = places.both, None
    assert both is not None
    with places.choices:
        reading_view.choices(both.a.ckpt)
    if places.answer is not None:
        _show(places.answer, (draw_answer(both.main),), both)
    with places.strip:
        plays = not places.whole and projector.is_on()  # the map is a scene without the bars and their button
        frame.token_strip(both, by_step=places.whole, plays=plays)
    _tell(both.main)
    if places.given is not None and both.a.ckpt.spec.writes:
        _show(places.given, (draw_given(both.a),), both)
    with places.site:
        site.show_site(both.main.trace.spec, whole=places.whole)
    (_show_whole if places.whole else _show_map)(places, both)
    if places.number is not None and ahead_view.can(both):
        with places.number, st.container(key="ahead"):
            ahead_view.place()
        passing.page_stands()
    else:
        passing.page_cannot()


def _show(place: DeltaGenerator, drawn: Iterable[Drawn], both: Runs) -> None:
    with place:
        for number, each in enumerate(drawn):
            show(each, both.main, f"run_{number}")


def _show_whole(places: Places, both: Runs) -> None:
    """The whole run in one picture over the whole width."""
    drawn = [*whole_view.draw_whole_run(both)]
    _show(places.picture, drawn, both)
    if not any(isinstance(each, Component) for each in drawn):
        with places.picture:
            show_view(MAP, replace(both, looked_at="A") if both.beside else both, {})
    _show(places.beside, draw_below_whole(both), both)
    how = words.WHOLE if both.main.ckpt.spec.writes else words.WHOLE_READ
    text.explain(how + words.FROM_ZERO, words.NOT, terms=words.TERMS)
    _show_remarks(places.status, both.main)
    scenes, along = whole_view.scenes(both), whole_view.together(both)
    seen = replace(both, looked_at="B") if projector.is_on() and projector.scene(scenes) else both
    of = both if both.difference else seen
    judged = judgement(of.main) if projector.is_on() else judgement_of_all(of)  # each whole run is a scene of its own
    questions.show_question(places.asked, _ask(of, None if along is None else along.first_row), judged)
    frame.set_scenes(seen, scenes, rows=None if along is None else along.rows)


def _show_map(places: Places, both: Runs) -> None:
    """The map that is selected, or both, and beside it the candidates of the step."""
    _show(places.beside, draw_beside_map(both), both)
    with places.beside:
        how = words.HOW if both.main.ckpt.spec.writes else reading_view.how(both.main.ckpt.spec)
        text.explain(how + words.FROM_ZERO, words.NOT, terms=words.TERMS)
    with places.picture:
        show_view(MAP, both, {})
        links.link_from_cell(decoding=both.main.summary.spec.writes)
    questions.show_question(places.asked, _ask(both), judgement_of_all(both))
    _show_remarks(places.status, both.main)
    frame.set_scenes(both, ("picture", "panel"))
