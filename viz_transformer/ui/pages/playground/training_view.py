"""Parts of the Playground that train: buttons, live curves, and results. The work runs in other threads."""

from __future__ import annotations

import html
import uuid
from collections.abc import Callable, Hashable
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from viz_transformer import numerals
from viz_transformer.analysis.playground.background import Busy, Training, Trainings
from viz_transformer.analysis.playground.experiments import (
    Copying,
    CopySettings,
    Rebuild,
    RebuildSettings,
    Rebuilt,
    new_copying,
    new_rebuild,
)
from viz_transformer.figures.playground import Curve, CurveAxis, curves, map_row, rebuilt_row
from viz_transformer.ui.components.pictures import Asked
from viz_transformer.ui.frame import controls, frame, pictures, text
from viz_transformer.ui.frame.questions import Question
from viz_transformer.ui.pages.playground import question, view, words
from viz_transformer.ui.pages.playground.fields import FIELDS
from viz_transformer.ui.session.memoize import memoize

EVERY = 1.0
"""Seconds between two redraws of a running training."""
MAX_POINTS = 500
ALPHABET = "abcdefghijklmnopqrstuvwxyz"
_OWNER, _PROBLEM = "play_owner", "play_problem"


@cache
def trainings() -> Trainings:
    """The trainings of this server."""
    return Trainings()


def panel(
    name: str,
    settings: Hashable,
    make: Callable[[], Any],
    draw: Callable[[Any, bool], None],
    *,
    untrained: Callable[[], Any],
    before: str,
    steps: int,
) -> Any:
    """Draw the buttons and the state of one training, and its results by `draw`, repeatedly while it runs.

    Returns the current work, None if there is none. before: the text until there is any. `draw` gets the work and
    whether it is running; until there is any, the work of `untrained`, which makes no step.
    """
    owner = (st.session_state.setdefault(_OWNER, uuid.uuid4().hex), name)
    found = trainings().find(owner, settings)
    ticking = found is not None and found.going

    def whole() -> None:
        training = trainings().find(owner, settings)
        going = training is not None and training.going
        if going != ticking:
            st.rerun()  # rerun the whole page: only it can start or stop the repetition
        if training is not None:
            training.seen()
        _draw_buttons(owner, settings, make, training)
        if problem := _take_problem():
            text.paragraph(problem, tone="warning")
        _say_state(training, before, steps)
        work = None if training is None else training.work
        draw(untrained() if work is None else work, going)

    st.fragment(whole, run_every=EVERY if ticking else None)()
    return None if found is None else found.work


def _draw_buttons(owner: Hashable, settings: Hashable, make: Callable[[], Any], training: Training[Any] | None) -> None:
    def start() -> None:
        try:
            trainings().start(owner, settings, make)
        except Busy as error:
            st.session_state[_PROBLEM] = words.sentence(error)

    def stop() -> None:
        if training is not None:
            training.stop()
            training.join(2.0)

    def again() -> None:
        trainings().forget(owner)
        start()

    going = training is not None and training.going
    done = training is not None and training.state == "done"
    with st.container(horizontal=True, key=f"play_buttons_{owner[1]}"):  # type: ignore[index]
        word = words.START if training is None else words.GO_ON
        st.button(word, key="play_start", on_click=start, disabled=going or done, type="primary")
        st.button(words.STOP, key="play_stop", on_click=stop, disabled=not going)
        st.button(words.RESTART, key="play_again", on_click=again, disabled=training is None or going)


def _take_problem() -> str | None:
    """Take the reason why the last training did not start, if any, and clear it."""
    found: str | None = st.session_state.pop(_PROBLEM, None)
    return found


def _say_state(training: Training[Any] | None, before: str, steps: int) -> None:
    if training is None:
        text.paragraph(before)
        return
    done = 0 if training.work is None else training.work.done
    said = words.state(training.state, words.done_of(done, steps), training.error)
    text.paragraph(said, tone="bad" if training.state == "failed" else "plain")


# --- give back the input


_untrained_rebuild = memoize(8)(Rebuild)


def rebuild() -> Question | None:
    """Draw the training of one head and several heads that learn to reconstruct the attention part's queries; returns
    the page's question."""
    given = view.own_vectors().query
    size = given.shape[1]
    offered = [heads for heads in (2, 4, 8) if size % heads == 0]
    with st.container(horizontal=True, vertical_alignment="center", key="play_controls"):
        view.seed_box()
        view.size_boxes()
        if offered:
            wanted = FIELDS.now().play_heads
            shown = wanted if wanted in offered else offered[0]
            names = {count: str(count) for count in offered}
            controls.buttons(words.HEADS, names, "play_heads", key="play_head_count", value=shown)
    if not offered:
        text.paragraph(words.not_divisible(size), tone="warning")
        return None
    heads = FIELDS.now().play_heads
    settings = RebuildSettings(
        vectors=tuple(tuple(map(float, vector)) for vector in given),
        heads=heads if heads in offered else offered[0],
        seed=FIELDS.now().play_seed,
    )
    work = panel(
        "rebuild",
        settings,
        lambda: new_rebuild(settings),
        _draw_rebuild,
        untrained=lambda: _untrained_rebuild(settings),
        before=words.before_rebuild(settings.heads, len(given), settings.steps, settings.learning_rate),
        steps=settings.steps,
    )
    return question.rebuild(work)


def _draw_rebuild(work: Rebuild, going: bool) -> None:
    done = work.done
    if not done:
        with st.container(key="play_picture"):
            _draw_outputs(work)
        with st.container(key="play_rest"):
            _draw_weights_maps(work, work.before, words.MAPS_BEFORE, key="play_maps_before")
        return
    step = max(1, done // MAX_POINTS)
    at = list(range(0, done, step))
    lines = [
        Curve(name, at, work.losses[place, at], ink=place, dash="solid" if place else "dash")
        for place, name in enumerate(work.names)
    ]
    title = words.loss_title(step)
    losses = {name: work.losses[place, :done] for place, name in enumerate(work.names)}
    asked = None if going else _offer_losses(losses, "rebuild", words.LOSS_NOTE)
    _draw_losses(
        lines, work.losses[:, at], work.total, asked, title=title, unit=words.SQUARED_ERROR, alt=words.LOSS_ALT
    )
    with st.container(key="play_rest"):
        _draw_rebuild_rest(work, going)


def _draw_rebuild_rest(work: Rebuild, going: bool) -> None:
    """Draw outputs beside the input, and after the end the maps."""
    _draw_outputs(work)
    if going:
        return
    _draw_weights_maps(work, work.before, words.MAPS_BEFORE, key="play_maps_before")
    _draw_weights_maps(work, work.now, words.maps_after(work.now[0].step), key="play_maps_now")


def _draw_outputs(work: Rebuild) -> None:
    """Draw the outputs of both networks beside the vectors."""
    outputs = [(words.loss_of(name, each.loss), each.output) for name, each in zip(work.names, work.now, strict=True)]
    title = words.outputs_title(work.now[0].step)
    figure = rebuilt_row(work.x.numpy(), outputs, title=title, theme=frame.theme())
    view.chart(figure, key="play_outputs", alt=words.OUTPUTS_ALT, drawn_for=view.ROW_WIDE)


def _draw_weights_maps(work: Rebuild, found: tuple[Rebuilt, ...], title: str, *, key: str) -> None:
    """Draw the attention of the one head and of each of the several, at one step."""
    maps = [(words.ONE_HEAD, found[0].weights[0])]
    maps += [(words.head_of(h, len(found[1].weights)), weights) for h, weights in enumerate(found[1].weights)]
    names = [f"x{i}" for i in range(len(work.x))]
    figure = map_row(maps, names=names, kind="encoder", title=title, theme=frame.theme())
    view.chart(figure, key=key, alt=title, drawn_for=view.ROW_WIDE)


def _offer_losses(columns: dict[str, Any], name: str, note: str) -> Asked:
    """The control that opens the losses as a table."""
    return pictures.table(lambda: loss_table(columns), note=note, name=f"playground-{name}", key="play_loss")


def loss_table(columns: dict[str, Any]) -> pd.DataFrame:
    """The table of losses by step."""
    made = pd.DataFrame(columns)
    made.index = pd.RangeIndex(len(made), name=words.STEP)
    return made


def _draw_losses(
    lines: list[Curve],
    values: Any,
    steps: int,
    asked: Asked | None,
    *,
    title: str,
    unit: str,
    alt: str,
    **more: Any,
) -> None:
    """Draw losses by step, on an axis up to `steps`; values: all values of the lines."""
    figure = curves(
        lines,
        CurveAxis(words.STEP, bounds=(0, steps)),
        CurveAxis(unit, log=True, bounds=_decades(values)),
        title=title,
        theme=frame.theme(),
        **more,
    )
    with st.container(key="play_picture"):
        view.chart(figure, key="play_loss", alt=alt, on_table=asked)


def _decades(values: Any) -> tuple[float, float]:
    """The powers of ten around all positive values."""
    there = values[np.isfinite(values) & (values > 0)]
    if not there.size:
        return 0.1, 10.0
    return float(10.0 ** np.floor(np.log10(there.min()))), float(10.0 ** np.ceil(np.log10(there.max()) + 1e-9))


# --- copy with and without the mask


_untrained_copying = memoize(8)(Copying)


def copying() -> Question:
    """Draw the training of two equal decoders that learn to copy, one with the causal mask and one without; returns the
    page's question."""
    with st.container(horizontal=True, vertical_alignment="center", key="play_controls"):
        view.seed_box()
    settings = CopySettings(seed=FIELDS.now().play_seed)
    work = panel(
        "copy",
        settings,
        lambda: new_copying(settings),
        _draw_copying,
        untrained=lambda: _untrained_copying(settings),
        before=words.before_copying(settings.length, settings.letters, settings.steps, settings.batch),
        steps=settings.steps,
    )
    return question.copying(work)


def _draw_copying(work: Copying, going: bool) -> None:
    done = work.done
    if not done:
        with st.container(key="play_picture"):
            _draw_copying_maps(work)
        with st.container(key="play_rest"):
            copy_facts(work, _letters(work))
        return
    at = list(range(done))
    lines = [
        Curve(
            words.counted(what, name),
            at,
            work.losses[place, kind, :done],
            ink=place,
            dash="dot" if kind else "solid",
            width=1.5 if kind else 2.5,
        )
        for kind, what in enumerate(words.LETTERS_COUNTED)
        for place, name in enumerate(work.names)
    ]
    _draw_losses(
        lines,
        work.losses[:, :, :done],
        work.total,
        None if going else _offer_losses(_list_losses(work), "copy", words.COPY_LOSS_NOTE),
        title=words.COPY_LOSS_TITLE,
        unit=words.NATS_PER_LETTER,
        alt=words.COPY_LOSS_ALT,
        levels=[(work.floor, words.least_loss(work.floor))],
    )
    if not going:
        with st.container(key="play_rest"):
            _draw_copying_rest(work)


def _list_losses(work: Copying) -> dict[str, Any]:
    """The losses of both decoders on both halves, by name."""
    return {
        words.counted(what, name): work.losses[place, kind, : work.done]
        for kind, what in enumerate(words.LETTERS_COUNTED)
        for place, name in enumerate(work.names)
    }


def _draw_copying_rest(work: Copying) -> None:
    """Draw the results of both in numbers, examples and maps."""
    copy_facts(work, _letters(work))
    _draw_copying_maps(work)


def _letters(work: Copying) -> str:
    return ALPHABET[: work.settings.letters] + "|"


def _draw_copying_maps(work: Copying) -> None:
    """Draw the attention of both decoders on one text, and how to read it."""
    tokens = [_letters(work)[i] for i in work.texts[0, :-1].tolist()]
    maps = [
        (words.head_with((words.WITH_MASK, words.WITHOUT)[place], h), weights)
        for place, each in enumerate(work.now)
        for h, weights in enumerate(each.weights)
    ]
    title = words.copy_maps_title(work.done)
    figure = map_row(maps, names=tokens, kind="decoder", title=title, theme=frame.theme())
    view.chart(figure, key="play_copy_maps", alt=title, drawn_for=view.ROW_WIDE)
    text.paragraph(words.ABOUT_COPY_MAPS)


def copy_facts(work: Copying, letters: str) -> None:
    """Draw the accuracy of both, teacher-forced and reading their own letters, with examples."""
    now, count = work.now, len(work.texts)
    view.facts(
        [words.new_texts(count), *work.names],
        [
            [words.READ_RIGHT, *(numerals.percent(each.read) for each in now)],
            [words.WRITTEN_RIGHT, *(numerals.percent(each.written) for each in now)],
            [words.WHOLE_RIGHT, *(numerals.percent(each.whole) for each in now)],
            [words.AHEAD, *(numerals.percent(each.ahead) for each in now)],
        ],
    )
    rows: list[tuple[str, ...]] = [(words.TO_COPY, *(words.written(name) for name in work.names))]
    for place, answers in enumerate(zip(*(each.answers for each in now), strict=True)):
        wanted = work.texts[place, 1 : work.settings.length + 1].tolist()
        marked = (_mark(answer, wanted, letters) for answer in answers)
        rows.append(("".join(letters[i] for i in wanted), *marked))
    st.html(text.table(rows, style="vt-answers vt-copies"))


def _mark(answer: tuple[int, ...], wanted: list[int], letters: str) -> text.Html:
    """The answer with wrong letters marked."""
    return text.Html(
        "".join(
            html.escape(letters[got]) if got == want else f"<ins>{html.escape(letters[got])}</ins>"
            for got, want in zip(answer, wanted, strict=True)
        )
    )
