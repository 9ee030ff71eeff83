"""The tabs of the Models page; only the one that is selected is computed."""

from __future__ import annotations

import contextlib
import html
import shlex
import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import streamlit as st

from viz_transformer import numerals
from viz_transformer.analysis.models.training import best_validation, loss_history, rate_history, time_history
from viz_transformer.checkpoint import describe
from viz_transformer.checkpoint.contents import Unreadable
from viz_transformer.checkpoint.files import CheckpointError
from viz_transformer.checkpoint.grading import graded
from viz_transformer.checkpoint.saved_traces import RecordingSummary
from viz_transformer.figures import labels
from viz_transformer.figures.curves import loss_curves
from viz_transformer.figures.enlarged import enlarged
from viz_transformer.huggingface.folder import HuggingFaceSummary
from viz_transformer.sentences import capitalised
from viz_transformer.ui.frame import controls, frame, pictures, projector, text
from viz_transformer.ui.frame.questions import Question
from viz_transformer.ui.pages.models import question, view, words
from viz_transformer.ui.pages.models.architecture_view import settings
from viz_transformer.ui.pages.models.card_rows import data_rows, measurements
from viz_transformer.ui.pages.models.fields import FIELDS, LONGEST_FIND
from viz_transformer.ui.session import cached, state
from viz_transformer.ui.session.memoize import memoize
from viz_transformer.ui.session.waiting import waiting

if TYPE_CHECKING:
    from viz_transformer.analysis.models.answers import PairAnswer
    from viz_transformer.analysis.models.diagnostics import Check
    from viz_transformer.analysis.models.training import Best, Time
    from viz_transformer.checkpoint import Checkpoint
    from viz_transformer.checkpoint.contents import Summary
    from viz_transformer.measuring.comparing import Both
    from viz_transformer.ui.pages.models.card_rows import Measured

SCENES = {
    "card": ("cards", "model_measured", "model_origin", "model_settings"),
    "architecture": ("model_drawing", "model_norms", "model_settings", "model_parameters"),
    "curves": ("loss",),
    "data": ("model_data", "model_pairs"),
    "errors": ("model_answers", "model_confused", "model_counts"),
    "doctor": ("doctor",),
    "new": ("model_drawing", "model_parameters"),
}
"""Containers of each tab, shown one at a time on a projector; the training slider states its own."""
EXAMPLES = 200
MAX_COLUMNS = 4
"""The most measurements with a column each; more have a row each, with their commands collapsed."""
SHOWN, LISTED, CONFUSED, MORE = 6, 60, 8, 200
PROJECTED, LOW, WIDE, FITTING = 1.4, 305, 136, 375
"""A chart's factor on a projector, its height before that without the learning rate, and its left margin then."""
_SIGNS = {"ok": "✓", "bad": "✕", "note": "–"}


def group(label: str, names: Mapping[str, str], *, key: str) -> None:
    """Draw a row of tabs; none is marked if the selected one is in another row."""
    bound = state.widget_args("model_tab", key=key)
    if FIELDS.now().model_tab not in names:
        st.session_state[key] = None
    st.segmented_control(
        label, [*names], required=True, format_func=names.__getitem__, label_visibility="collapsed", **bound
    )


def staged(summary: Summary) -> None:
    """Set the scenes of the selected tab; a projector shows only one of them."""
    tab = FIELDS.now().model_tab
    frame.scenes_of_page(SCENES.get(tab, ()), f"{graded(summary.name, summary.card)}, {words.TABS[tab].lower()}")


# ---- Card


def card(summary: Summary) -> None:
    """Draw every measurement with its command, the configuration, and the origin of data and weights."""
    found = measurements(summary.card)
    many = len(found) > MAX_COLUMNS
    if broken := describe.broken(summary.card):
        text.paragraph(broken, tone="warning")
    with st.container(key="model_measured"):
        text.section(words.MEASURED)
        if not found and isinstance(summary, HuggingFaceSummary):
            not_measured(summary)
        elif not found:
            text.paragraph(words.NO_METRIC)
        else:
            st.html(measured_table(found))
        with st.expander(words.commands(len(found))) if many else contextlib.nullcontext():
            for measured in found:
                command(words.measured(measured.split, measured.how), measured.command)
    left, right = st.columns([5, 3], gap="medium")
    with left, st.container(key="model_origin"):
        origin(summary)
    with right:
        settings(summary)
    if isinstance(summary, HuggingFaceSummary):
        with left:
            notes_of_folder(summary)


def notes_of_folder(summary: HuggingFaceSummary) -> None:
    """Draw the findings from opening a transformers folder, such as tensors that take no part in a run."""
    status = st.empty()
    try:
        with waiting(words.LOADING, status):
            found = cached.checkpoint(summary)
    except CheckpointError as error:
        text.paragraph(f"{error}.", tone="bad")
        return
    left = describe.describe_unused(found.card)
    for note in found.card.get("notes") or ():
        text.paragraph(str(note), tone="plain" if left is None or note != left[1] else "warning")


def not_measured(summary: HuggingFaceSummary) -> None:
    """Say how to measure a transformers folder, which has no card with measurements."""
    files = {"encoder-decoder": "pairs.tsv", "decoder-only": "text.txt"}
    kind = summary.spec.kind
    if kind not in files or not summary.spec.writes:
        text.paragraph(words.WRITES_NO_TEXT)
        return
    text.paragraph(words.not_measured(kind))
    line = ("viz-transformer", "evaluate", str(summary.path), "--data", files[kind])
    st.code(shlex.join(line), language=None, wrap_lines=True)


def measured_table(found: Sequence[Measured]) -> str:
    """The table of measurements as HTML: a column for each, a row for each number; transposed for many."""
    names = [*dict.fromkeys(name for each in found for name, _ in each.numbers)]
    measured = [text.Html(f"{html.escape(each.split)}<i>{html.escape(each.how)}</i>") for each in found]
    numbers = [[dict(each.numbers).get(name, "–") for name in names] for each in found]
    if len(found) > MAX_COLUMNS:
        wide = [(name, *each) for name, each in zip(measured, numbers, strict=True)]
        table = text.table(wide, head=("", *names), style="vt-measured vt-rows")
    else:
        columns = ([cell.replace(" (", "\n(") for cell in each] for each in numbers)
        table = text.table(zip(names, *columns, strict=True), head=("", *measured), style="vt-measured")
    return f'<div class="vt-wide">{table}</div>'


def origin(summary: Summary) -> None:
    """Draw data, licences, and the command that made the model."""
    text.section(words.COMES_FROM)
    folder = [(words.FOLDER, str(summary.path))] if isinstance(summary, HuggingFaceSummary) else []
    text.definitions([*folder, *view.origin_rows(summary.card)])
    for note in summary.card.get("notes") or ():
        text.paragraph(str(note))
    command(words.TRAINED_WITH, summary.card.get("training_command"))


def command(label: str, line: object) -> None:
    if line:
        text.paragraph(label)
        st.code(str(line), language=None, wrap_lines=True)


# ---- Curves


def curves(summary: Summary) -> None:
    """Draw training and validation loss and the learning rate by step, the best step, and the table of all."""
    rows, card = summary.history(), summary.card
    found = loss_history(rows)
    if not found:
        text.paragraph(words.NO_HISTORY)
        return
    best, time, losses = best_validation(rows), time_history(rows), describe.losses_on(card)
    figure = loss_curves(
        found,
        title=words.LOSS_TITLE,
        rate=rate_history(rows),
        best=None if best is None else (best.step, best.loss),
        times=None if time is None else time_words(time),
        measured_on={"training": describe.loss_on(card, "train"), "validation": describe.loss_on(card, "validation")},
        theme=frame.theme(),
        height=LOW if projector.is_on() else FITTING,
    )
    with st.container(key="loss"):
        if projector.is_on():
            figure = enlarged(figure, PROJECTED).update_yaxes(title_standoff=8).update_layout(margin_l=WIDE)
            figure.update_layout(yaxis_title_text=words.LOSS_AXIS_SHORT)  # the full name is longer than its axis
        called = graded(summary.name, summary.card)
        asked = pictures.table(
            lambda: history_table(rows),
            note=words.history_note(called, losses),
            name=f"{summary.name}-history",
            key="models_loss",
        )
        caption = ", ".join(filter(None, (called, losses)))
        frame.chart(
            figure,
            key="models_loss",
            alt=words.LOSS_ALT,
            caption=caption,
            size=frame.ChartSize(fills=True, room=projector.ROOM_ALONE),
            on_table=asked,
        )
    with st.container(key="loss_words"):
        if best is not None:
            on, exported = describe.loss_on(card, "validation"), card.get("exported_step")
            loss, perplexity = numerals.significant(best.loss), numerals.significant(best.perplexity, 6)
            kept_step = f" {words.kept_step(exported)}" if type(exported) is int else ""
            text.paragraph(f"{words.lowest_loss(on, loss, int(best.step), perplexity)}{kept_step}")
        text.paragraph(trained_in(time, best))
        causal = card.get("causal")
        if causal is False:
            text.paragraph(words.READS_THE_ANSWER, tone="warning")
        elif causal is not True and summary.spec.has_decoder:
            text.paragraph(words.MAY_READ_THE_ANSWER)


def trained_in(time: Time | None, best: Best | None) -> str:
    """A sentence on how long the training took until its best step and its end, or that its history does not say."""
    if time is None:
        return words.UNKNOWN_TIME
    said = words.trained_in(labels.duration(time.total))
    after = None if best is None else time.at(best.step)
    if best is None or after is None or after == time.total:
        return said
    return f"{said} {words.lowest_after(labels.duration(after), labels.duration(time.total - after))}"


def time_words(time: Time) -> dict[float, str]:
    """The tooltips of the time at each step: elapsed and remaining."""
    return {
        step: words.time_at(labels.duration(seconds), labels.duration(left) if left else words.NONE_LEFT)
        for step, seconds, left in zip(time.steps, time.seconds, time.left, strict=True)
    }


def history_table(rows: Sequence[dict[str, float]]) -> pd.DataFrame:
    """The table of the history by step, with the perplexity, exp(validation loss), and the remaining seconds.

    The latter only if the history has the duration.
    """
    table = pd.DataFrame(rows).set_index("step")
    table.insert(2, "validation_perplexity", np.exp(table["validation_loss"]))
    if (time := time_history(rows)) is not None:
        table["seconds_left"] = time.total - table["seconds"]
    return table


# ---- Data


def data(summary: Summary) -> None:
    """Draw the card's data, splits and overlap, and the lengths of the saved example pairs."""
    left, right = st.columns([5, 3], gap="medium")
    with left, st.container(key="model_data"):
        text.section(words.AS_CARD_STATES)
        text.definitions(data_rows(summary.card, summary.config))
        for note in summary.card.get("notes") or ():
            text.paragraph(str(note))
    with right, st.container(key="model_pairs"):
        text.section(words.SAVED_PAIRS)
        pairs = summary.examples()
        if not pairs:
            text.paragraph(words.NO_SAVED_PAIRS)
            return
        text.definitions(_lengths(pairs))
        text.paragraph(words.IN_CHARACTERS)


def _lengths(pairs: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    rows = [(words.PAIRS_UNIT, f"{len(pairs):,}")]
    for name, texts in zip((words.SOURCE, words.TARGET), zip(*pairs, strict=True), strict=True):
        counts = [*map(len, texts)]
        mean, deviation = (numerals.number(of(counts), 1) for of in (statistics.fmean, statistics.pstdev))
        rows.append((name, words.lengths(mean, deviation, max(counts))))
    return rows


# ---- Errors


def errors(summary: Summary) -> Question:
    """Draw the model's answers to test pairs, run now and aligned with their targets; a filter, and the confusions.
    Returns the page's question."""
    from viz_transformer.analysis.models.answers import both_answers, confusions, matching

    place = frame.place("examples")
    status = place.empty()
    if summary.spec.kind == "decoder-only":
        frame.show_messages(status, words.WRITES_ON)
        return question.without_errors(summary.name, words.ANY_TEXT)
    available = min(len(summary.examples()), EXAMPLES)
    if not available:
        frame.show_messages(status, words.NO_PAIRS)
        return question.without_errors(summary.name, words.WITHOUT_PAIRS)
    with waiting(words.running(available), status):
        done = cached.example_answers(summary, available)
    translates = any(describe.read_measurement(entry, "bleu") is not None for entry in describe.metrics(summary.card))
    with place:
        text.paragraph(view.answer_lines(done, translates=translates))
        if left_out := describe.count_left_out(summary.card):
            text.paragraph(words.left_out_of_these(left_out))
        which = _draw_filter(translates)
        wanted = FIELDS.now().model_find
        found = matching(done, which, wanted)
        narrowed = which != "all" or wanted.strip()
        if not found:
            text.paragraph(words.NONE_FOUND)
        left, right = st.columns([5, 2], gap="medium")
        with left, st.container(key="model_answers"):
            _draw_answers(found, LISTED if narrowed else SHOWN, translates, summary.name)
            _draw_other_model(summary, available, both_answers)
        with right, st.container(key="model_confused"):
            _draw_confusions(confusions(found), translates)
        with right, st.container(key="model_counts"):
            _draw_counts(summary, available)
    right_ones = sum(answer.right for answer in done)
    most = next(iter(confusions(done)), None)
    return question.errors(summary.name, right_ones, len(done) - right_ones, most, translates=translates)


@memoize(8)
def _answer_both(summary: Summary, other: Summary, count: int, _answers: Callable[..., Both]) -> Both:
    """The answers of this model and another to the first `count` of its own example pairs."""
    return _answers(cached.checkpoint(summary), cached.checkpoint(other), summary.examples()[:count])


def _draw_other_model(summary: Summary, count: int, answers: Callable[..., Both]) -> None:
    """Draw the pairs that another model answers differently: the chosen model, else the pinned run's."""
    others = {
        each.name: each
        for each in cached.summaries()
        if not isinstance(each, Unreadable | RecordingSummary)
        and each.name != summary.name
        and each.spec.kind == "encoder-decoder"
    }
    if not others:
        return
    pinned = state.SHARED.now().pin_checkpoint
    chosen = next((name for name in (FIELDS.now().model_other, pinned) if name in others), words.NO_OTHER)
    text.section(words.BESIDE)
    st.selectbox(
        words.ANOTHER_MODEL,
        [words.NO_OTHER, *others],
        width=340,
        label_visibility="collapsed",
        **state.widget_args(
            "model_other", key="models_other", value=chosen, taken=lambda new: "" if new == words.NO_OTHER else new
        ),
    )
    if chosen not in others:
        return
    status = st.empty()
    try:
        with waiting(words.running_both(count), status):
            both = _answer_both(summary, others[chosen], count, answers)
    except ValueError as error:
        text.paragraph(f"{capitalised(error)}.", tone="bad")
        return
    found = both.differences()
    exact = both.judged()["exact_match"]
    only = (exact["only_first"], exact["only_second"])
    counts = words.both_right(both.names, exact["both"], only, exact["neither"])
    text.paragraph(f"{counts} {words.by_chance(numerals.share(exact['p']))}")
    if not found:
        text.paragraph(words.SAME_ANSWERS)
        return
    of, key = (summary.name, chosen), "models_more_beside"
    listed = LISTED + MORE * _clicks(of, key)
    st.html(view.differences_table(found[:listed], both.names, len(found)))
    _draw_more_button(of, len(found) - listed, key)


def _draw_answers(found: Sequence[PairAnswer], shown: int, translates: bool, model: str) -> None:
    """Draw the first answers of each kind, and a button for MORE while there are any."""
    chosen = FIELDS.now()
    of = (model, chosen.model_answers, chosen.model_find)
    listed = shown + MORE * _clicks(of, "models_more")
    _draw_more_button(of, view.answer_tables(found, listed, translates=translates, model=model), "models_more")


def _clicks(of: tuple[str, ...], key: str) -> int:
    """How often this list was extended."""
    kept_of, clicks = st.session_state.get(f"{key}_of", (of, 0))
    return clicks if kept_of == of else 0


def _draw_more_button(of: tuple[str, ...], left: int, key: str) -> None:
    if left > 0:
        kept_as = (f"{key}_of", (of, _clicks(of, key) + 1))
        st.button(words.more(min(left, MORE)), key=key, on_click=st.session_state.__setitem__, args=kept_as)


def _draw_filter(translates: bool) -> Any:
    """Draw the controls above the answers; returns the chosen kind."""
    with st.container(horizontal=True, key="model_filter", vertical_alignment="bottom"):
        controls.buttons(words.ANSWERS, words.kinds(translates), "model_answers", key="models_answers")
        st.text_input(
            words.FIND,
            max_chars=LONGEST_FIND,
            placeholder=words.FILTER,
            width=340,
            autocomplete="off",
            **state.widget_args("model_find", key="models_find"),
        )
    return FIELDS.now().model_answers


def _draw_confusions(found: Sequence[Any], translates: bool) -> None:
    text.section(words.FREQUENT)
    if not found:
        text.paragraph(words.NONE_FREQUENT)
        return
    rows = [
        (
            text.Html(f"<del>{html.escape(each.wanted or words.EMPTY)}</del>"),
            text.Html(f"<ins>{html.escape(each.written or words.EMPTY)}</ins>"),
            f"{each.count:,}",
        )
        for each in found[:CONFUSED]
    ]
    head = (words.REFERENCE if translates else words.TARGET, words.ANSWER, words.TIMES)
    style = f"vt-answers vt-answers-{'plain' if translates else 'bad'} vt-confused"
    st.html(text.table(rows, head=head, style=style, first="td"))
    if len(found) > CONFUSED:
        text.paragraph(words.rarer(len(found) - CONFUSED, found[CONFUSED].count))


def _draw_counts(summary: Summary, count: int) -> None:
    """Draw the counts of all pairs under this project's measures and those of two tutorials, each with its meaning."""
    text.section(words.COUNTED)
    try:
        found = cached.example_counts(summary, count)
    except ValueError as error:
        text.paragraph(f"{error}.")
        return
    low, high = view.percent(found.low, ""), view.percent(found.high, "")
    text.definitions(
        [
            (words.WHOLE_ANSWER, words.right_of(found.right, found.pairs, low, high)),
            (words.NEXT_RIGHT, view.percent(found.next_right)),
            (words.EQUAL_POSITIONS, view.percent(found.positions)),
            (words.TOKEN_LOSS, words.in_nats(numerals.significant(found.loss))),
            (words.TEXT_LOSS, words.in_nats(numerals.significant(found.text_loss))),
        ]
    )
    text.paragraph(words.how_counted(found.pairs))


# ---- Doctor


def doctor(summary: Summary) -> Question:
    """Draw checks of the loaded model, each computed now; returns the page's question."""
    place = frame.place("doctor")
    status = place.empty()
    with waiting(words.LOADING, status):
        ckpt = cached.checkpoint(summary)
    chosen = state.SHARED.now().text
    with waiting(words.examining(labels.shorten(labels.sentence(chosen), 40)), status):
        found = _examine(ckpt, chosen, tuple(summary.examples()))
    with place:
        text.paragraph(words.CHECKED_NOW)
        st.html(checks_table(found))
    return question.doctor(summary.name, found)


@memoize(8)
def _examine(ckpt: Checkpoint, chosen: str, _pairs: tuple[tuple[str, str], ...]) -> tuple[Check, ...]:
    from viz_transformer.analysis.models.diagnostics import examine

    return examine(ckpt, chosen, _pairs)


def checks_table(found: Sequence[Check]) -> str:
    """The checks as an HTML table: mark, name, sentence."""
    body = "".join(
        f'<tr class="vt-check-{check.verdict}"><td><span class="vt-icon" aria-hidden="true">{_SIGNS[check.verdict]}'
        f"</span>{words.VERDICTS[check.verdict]}</td><th>{html.escape(check.name)}</th>"
        f"<td>{html.escape(check.sentence)}</td></tr>"
        for check in found
    )
    return f'<table class="vt-checks"><tbody>{body}</tbody></table>'
