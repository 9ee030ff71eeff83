"""One training, redrawn while it runs: its progress, its losses, and an example as it learns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import streamlit as st

import viz_transformer as vt
from viz_transformer import numerals
from viz_transformer.analysis.models.snapshots import (
    SnapshotRun,
    learning_run,
    learning_series,
    shown_pairs,
    snapshot_steps,
)
from viz_transformer.analysis.models.training import loss_history
from viz_transformer.checkpoint.contents import read_summary
from viz_transformer.checkpoint.files import CARD
from viz_transformer.figures import labels
from viz_transformer.figures.curves import loss_curves
from viz_transformer.sentences import capitalised
from viz_transformer.train import processes
from viz_transformer.train.processes import Training
from viz_transformer.ui.compat import DeltaGenerator
from viz_transformer.ui.components.pictures import snapshots_view
from viz_transformer.ui.frame import frame, questions, text
from viz_transformer.ui.frame.questions import Question
from viz_transformer.ui.pages.models import snapshot_view, words
from viz_transformer.ui.session import state
from viz_transformer.ui.session.memoize import memoize
from viz_transformer.ui.session.runs import RunView

if TYPE_CHECKING:
    from viz_transformer.checkpoint import Checkpoint

EVERY = 1.5
"""Seconds between two redraws of a running training."""
_PLAIN: text.Tone = "plain"
_PROBLEM, _STOPPING, _LEFT = "train_problem", "train_stopping", "train_left"


def live(training: Training, forget: str, asked: DeltaGenerator) -> None:
    """Draw everything known about a training. forget: the session's entry for the shown training; asked: the place of
    the question."""
    ticking = training.running
    st.session_state.pop(_LEFT, None)

    def whole() -> None:
        going = training.running
        if going != ticking or st.session_state.get(_LEFT):
            st.rerun()  # rerun the whole page: a click in here, and the timer, redraw this part only
        questions.show_question(asked, question(training.name, training.history()))
        _draw_head(training, forget, going=going)
        left, right = st.columns([2, 3], gap="medium")
        with left:
            _draw_losses(training, going=going)
        with right:
            _draw_example(training)
        if going:
            text.paragraph(words.STAYS)

    st.fragment(whole, run_every=EVERY if ticking else None)()


def question(name: str, rows: Sequence[Mapping[str, float]]) -> Question:
    """The question on the training of this name, answered with the validation loss so far in these rows of its
    history."""
    asks = words.asks_learned(name)
    steps, losses = loss_history(rows).get("validation", ([], []))
    if not losses:
        return Question(asks, words.NO_LOSS_YET)
    first, last = (numerals.significant(loss, 3) for loss in (losses[0], losses[-1]))
    if len(losses) == 1:
        return Question(asks, words.validation_loss(int(steps[0]), first))
    return Question(asks, words.validation_losses(int(steps[0]), first, int(steps[-1]), last))


# --- where it is


def _draw_head(training: Training, forget: str, *, going: bool) -> None:
    """Draw its state and its buttons."""
    progress, tone = training.progress(), _PLAIN
    with st.container(key="train_state"):
        text.section(words.training_title(training.name))
        if progress is not None and progress.steps:
            st.progress(min(progress.step / progress.steps, 1.0))
        if going and st.session_state.get(_STOPPING) == training.name:
            said = words.STOPPING
        elif going:
            said = standing(training)
        else:
            st.session_state.pop(_STOPPING, None)
            said, tone = _describe_end(training)
        if right := training.right():
            said = f"{said} {words.exactly_right(*right[-1])}"
        with st.container(horizontal=True, vertical_alignment="center", key="train_buttons"):
            _draw_buttons(training, forget, going=going)
            text.paragraph(said, tone=tone)
        if problem := st.session_state.pop(_PROBLEM, None):
            text.paragraph(problem, tone="bad")


def standing(training: Training) -> str:
    """The state of a running training, in a sentence."""
    progress = training.progress()
    if progress is None:
        return words.STARTING
    if progress.phase == "preparing":
        return words.READING_DATA
    if progress.phase == "measuring":
        return words.MEASURING_RESULT
    loss = None if progress.loss is None else numerals.significant(progress.loss, 3)
    left = None if progress.left is None else labels.duration(progress.left)
    return words.under_way(progress.step, progress.steps, loss, left)


def _describe_end(training: Training) -> tuple[str, text.Tone]:
    """How a training that is not running has ended, with the tone of that."""
    progress, said = training.progress(), training.last_word()
    if training.done:
        return words.is_done(training.name), "ok"
    saved = progress.saved if progress is not None and training.saved else 0
    steps = 0 if progress is None else progress.steps
    on = words.goes_on_from(saved, steps) if saved else words.NEVER_SAVED
    if said.startswith("stopped"):
        return words.was_stopped(on), "plain"
    why = f"{capitalised(said)}." if said else words.NO_LAST_WORD
    return f"{why} {on}", "bad"


def _draw_buttons(training: Training, forget: str, *, going: bool) -> None:
    if training.done and not going:
        st.button(words.OPEN_MODEL, key="train_open", on_click=_open, args=(training,), type="primary")
    elif not going:
        st.button(words.GO_ON, key="train_go_on", on_click=_act, args=(processes.go_on, training), type="primary")
    if going:
        stopping = st.session_state.get(_STOPPING) == training.name
        st.button(words.STOP, key="train_stop", on_click=_stop, args=(training,), disabled=stopping)
    else:
        st.button(words.ANOTHER, key="train_another", on_click=_forget, args=(forget,))


def _act(act: Callable[[Training], None], training: Training) -> None:
    try:
        act(training)
    except (ValueError, OSError) as error:
        st.session_state[_PROBLEM] = f"{capitalised(error)}."


def _open(training: Training) -> None:
    state.select(checkpoint=training.name, model_tab="card")
    st.session_state[_LEFT] = True


def _forget(entry: str) -> None:
    st.session_state[entry], st.session_state[_LEFT] = "", True


def _stop(training: Training) -> None:
    st.session_state[_STOPPING] = training.name
    _act(processes.stop, training)


# --- what it has learned


def _draw_losses(training: Training, *, going: bool) -> None:
    """Draw both losses so far."""
    rows = training.history()
    if not rows or rows[-1]["step"] < 1:
        if going:
            text.paragraph(words.FIRST_LOSSES)
        return
    figure = loss_curves(loss_history(rows), title=words.LOSS_SO_FAR, theme=frame.theme(), height=380)
    caption = words.loss_caption(training.name)
    frame.chart(figure, key="train_loss", alt=words.LOSS_SO_FAR_ALT, caption=caption)


def _draw_example(training: Training) -> None:
    """Draw an example of the test data at every snapshot so far, as in the replay of a training."""
    steps = snapshot_steps(training.state)
    if not steps or not (training.beginning / CARD).is_file():
        return
    try:
        ckpt = _beginning(str(training.beginning), (training.beginning / CARD).stat().st_mtime)
        pairs = shown_pairs(ckpt)
        if not pairs:
            text.paragraph(words.NO_EXAMPLE)
            return
        sources = [source for source, _ in pairs]
        chosen = st.selectbox(
            words.EXAMPLE,
            sources,
            format_func=words.not_trained_on,
            label_visibility="collapsed",
            key=f"train_example_{training.name}",
        )
        pair = pairs[sources.index(chosen)]
        with st.spinner(words.running_example(len(steps))):
            runs = tuple(_run(training, step, pair, ckpt) for step in steps)
    except (ValueError, OSError) as error:
        text.paragraph(f"{capitalised(error)}.", tone="bad")
        return
    summary = read_summary(training.beginning)
    last = runs[-1].run
    shown = RunView("A", summary, pair[0], ckpt, last, pair[1])
    with st.container(key="training_slider"):
        snapshots_view(snapshot_view.payload(shown, learning_series(runs, pair)), key="train_snapshots")
    target = labels.shorten(labels.sentence(pair[1]), 60)
    text.paragraph(words.about_example(len(runs), target))


@memoize(4)
def _beginning(path: str, written: float) -> Checkpoint:
    return vt.load(path)


def _run(training: Training, step: int, pair: tuple[str, str], ckpt: Checkpoint) -> SnapshotRun:
    path = training.state / "snapshots" / f"step-{step}.pt"
    return _run_at(str(training.state), step, path.stat().st_mtime, pair, ckpt)


@memoize(200)
def _run_at(state: str, step: int, written: float, pair: tuple[str, str], _beginning: Checkpoint) -> SnapshotRun:
    return learning_run(_beginning, Path(state), step, pair)
