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
from viz_transformer.checkpoint.recordings import RecordingSummary
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
from viz_transformer.ui.session.kept import kept
from viz_transformer.ui.session.waiting import waiting

if TYPE_CHECKING:
    from viz_transformer.analysis.models.answers import PairAnswer
    from viz_transformer.analysis.models.doctor import Check
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
"""Containers of each tab, one of which stands alone on a projector; the training slider states its own."""
EXAMPLES = 200
MOST_COLUMNS = 4
"""Measurements that have a column each; more have a row each, with their commands folded away."""
SHOWN, LISTED, CONFUSED, MORE = 6, 60, 8, 200
NO_OTHER = "no other model"
PROJECTED, LOW, WIDE, FITTING = 1.4, 305, 136, 375
"""By how much a chart grows on a projector, its height before without the learning rate, and its left margin then."""
_SIGNS = {"ok": "✓", "bad": "✕", "note": "–"}


def group(label: str, names: Mapping[str, str], *, key: str) -> None:
    """A row of tabs; none of it is marked where the selected one is in another row."""
    bound = state.bind("model_tab", key=key)
    if FIELDS.now().model_tab not in names:
        st.session_state[key] = None
    st.segmented_control(
        label, [*names], required=True, format_func=names.__getitem__, label_visibility="collapsed", **bound
    )


def staged(summary: Summary) -> None:
    """The scenes of the selected tab; on a projector one of them is left of the page."""
    tab = FIELDS.now().model_tab
    frame.scenes_of_page(SCENES.get(tab, ()), f"{graded(summary.name, summary.card)}, {words.TABS[tab].lower()}")


# ---- Card


def card(summary: Summary) -> None:
    """Every measurement with its command, the configuration, and where data and weights come from."""
    found = measurements(summary.card)
    many = len(found) > MOST_COLUMNS
    if broken := describe.broken(summary.card):
        text.paragraph(broken, tone="warning")
    with st.container(key="model_measured"):
        text.section("Measured")
        if not found and isinstance(summary, HuggingFaceSummary):
            not_measured(summary)
        elif not found:
            text.paragraph("Nothing was measured: the card states no metric.")
        else:
            st.html(measured_table(found))
        with st.expander(f"{len(found)} commands") if many else contextlib.nullcontext():
            for measured in found:
                command(f"{measured.split}, {measured.how}", measured.command)
    left, right = st.columns([5, 3], gap="medium")
    with left, st.container(key="model_origin"):
        origin(summary)
    with right:
        settings(summary)
    if isinstance(summary, HuggingFaceSummary):
        with left:
            notes_of_folder(summary)


def notes_of_folder(summary: HuggingFaceSummary) -> None:
    """What was found out of a folder of transformers when it was opened, such as tensors that take no part in a run."""
    status = st.empty()
    try:
        with waiting("Loading the model ...", status):
            found = cached.checkpoint(summary)
    except CheckpointError as error:
        text.paragraph(f"{error}.", tone="bad")
        return
    left = describe.unused(found.card)
    for note in found.card.get("notes") or ():
        text.paragraph(str(note), tone="plain" if left is None or note != left[1] else "warning")


def not_measured(summary: HuggingFaceSummary) -> None:
    """How a folder of transformers is measured, which has no card that says how good it is."""
    data = {"encoder-decoder": ("your pairs", "pairs.tsv"), "decoder-only": ("a text", "text.txt")}
    if summary.anatomy.kind not in data or not summary.anatomy.writes:
        text.paragraph("Nothing was measured: it writes no text that could be held against another.")
        return
    on, file = data[summary.anatomy.kind]
    text.paragraph(f"Nothing was measured: the folder says nothing of how good the model is. This measures it on {on}:")
    st.code(f"viz-transformer evaluate {shlex.quote(str(summary.path))} --data {file}", language=None, wrap_lines=True)


def measured_table(found: Sequence[Measured]) -> str:
    """A column for each measurement, a row for each number that one of them has; the other way round for many."""
    names = [*dict.fromkeys(name for each in found for name, _ in each.numbers)]
    measured = [text.Html(f"{html.escape(each.split)}<i>{html.escape(each.how)}</i>") for each in found]
    numbers = [[dict(each.numbers).get(name, "–") for name in names] for each in found]
    if len(found) > MOST_COLUMNS:
        wide = [(name, *each) for name, each in zip(measured, numbers, strict=True)]
        table = text.table(wide, head=("", *names), style="vt-measured vt-rows")
    else:
        columns = ([cell.replace(" (", "\n(") for cell in each] for each in numbers)
        table = text.table(zip(names, *columns, strict=True), head=("", *measured), style="vt-measured")
    return f'<div class="vt-wide">{table}</div>'


def origin(summary: Summary) -> None:
    """Data, licences, and the command that made the model."""
    text.section("Where it comes from")
    folder = [("folder", str(summary.path))] if isinstance(summary, HuggingFaceSummary) else []
    text.definitions([*folder, *view.origin_rows(summary.card)])
    for note in summary.card.get("notes") or ():
        text.paragraph(str(note))
    command("Trained with", summary.card.get("training_command"))


def command(label: str, line: object) -> None:
    if line:
        text.paragraph(label)
        st.code(str(line), language=None, wrap_lines=True)


# ---- Curves


def curves(summary: Summary) -> None:
    """Training and validation loss and the learning rate against the steps, the best step, and the table of all."""
    rows, card = summary.history(), summary.card
    found = loss_history(rows)
    if not found:
        text.paragraph("No history was kept with this model.")
        return
    best, time, losses = best_validation(rows), time_history(rows), describe.losses_on(card)
    figure = loss_curves(
        found,
        title="Loss while it was trained",
        rate=rate_history(rows),
        best=None if best is None else (best.step, best.loss),
        times=None if time is None else time_words(time),
        measured_on={"training": describe.loss_on(card, "train"), "validation": describe.loss_on(card, "validation")},
        theme=frame.theme(),
        height=LOW if projector.is_on() else FITTING,
    )
    with st.container(key="loss"):
        alt = "Training and validation loss and the learning rate by step, all axes logarithmic"
        if projector.is_on():
            figure = enlarged(figure, PROJECTED).update_yaxes(title_standoff=8).update_layout(margin_l=WIDE)
            figure.update_layout(yaxis_title_text="nats per token")  # the whole name is longer than its axis
        called = graded(summary.name, summary.card)
        asked = pictures.table(
            lambda: history_table(rows),
            note=f"{called}: every row of its history. Losses are nats per token, without dropout and smoothing"
            f"{f': {losses}' if losses else ''}.",
            name=f"{summary.name}-history",
            key="models_loss",
        )
        caption = ", ".join(filter(None, (called, losses)))
        frame.chart(
            figure, key="models_loss", alt=alt, caption=caption, fills=True, on_table=asked, room=projector.ROOM_ALONE
        )
    with st.container(key="loss_words"):
        if best is not None:
            exported = card.get("exported_step")
            weights = f" The parameters kept are those of step {exported:,}." if type(exported) is int else ""
            on = describe.loss_on(card, "validation")
            of = f"measured on {on}" if on else "measured on a part of the data that its card does not state"
            text.paragraph(
                f"The lowest validation loss, {of}, is {numerals.significant(best.loss)} nats per token at step"
                f" {int(best.step):,}, a perplexity of {numerals.significant(best.perplexity, 6)}.{weights}"
            )
        text.paragraph(trained_in(time, best))
        causal = card.get("causal")
        if causal is False:
            text.paragraph(words.READS_THE_ANSWER, tone="warning")
        elif causal is not True and summary.anatomy.has_decoder:
            text.paragraph("Whether its decoder reads the answer is not stated; the Doctor tries it.")


def trained_in(time: Time | None, best: Best | None) -> str:
    """How long the training took, and when its best step came; or that its history does not know."""
    if time is None:
        return "How long the training took is not known: this history has no column “seconds”."
    said = f"Trained in {labels.duration(time.total)}, the measurements of the losses included."
    after = None if best is None else time.at(best.step)
    if best is None or after is None or after == time.total:
        return said
    return (
        f"{said} The lowest validation loss came after {labels.duration(after)},"
        f" {labels.duration(time.total - after)} before the end."
    )


def time_words(time: Time) -> dict[float, str]:
    """What is said of the time at each step: how much had passed, and how much was left."""
    return {
        step: f"after {labels.duration(seconds)}, {labels.duration(left) if left else 'none'} left"
        for step, seconds, left in zip(time.steps, time.seconds, time.left, strict=True)
    }


def history_table(rows: Sequence[dict[str, float]]) -> pd.DataFrame:
    """All rows of the history by step, with exp(validation loss), the perplexity, and the seconds that were left.

    The latter only where the history knows how long the training took.
    """
    table = pd.DataFrame(rows).set_index("step")
    table.insert(2, "validation_perplexity", np.exp(table["validation_loss"]))
    if (time := time_history(rows)) is not None:
        table["seconds_left"] = time.total - table["seconds"]
    return table


# ---- Data


def data(summary: Summary) -> None:
    """What the card states of data, splits and overlap, and how long the kept example pairs are."""
    left, right = st.columns([5, 3], gap="medium")
    with left, st.container(key="model_data"):
        text.section("As its card states")
        text.definitions(data_rows(summary.card, summary.config))
        for note in summary.card.get("notes") or ():
            text.paragraph(str(note))
    with right, st.container(key="model_pairs"):
        text.section("Example pairs kept with it")
        pairs = summary.examples()
        if not pairs:
            text.paragraph("None were kept.")
            return
        text.definitions(_lengths(pairs))
        text.paragraph("Characters of the texts; the Input page shows tokens, ids and vocabularies.")


def _lengths(pairs: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    rows = [("pairs", f"{len(pairs):,}")]
    for name, texts in zip(("source", "target"), zip(*pairs, strict=True), strict=True):
        counts = [*map(len, texts)]
        mean, deviation = (numerals.number(of(counts), 1) for of in (statistics.fmean, statistics.pstdev))
        rows.append((name, f"mean {mean}, deviation {deviation}, at most {max(counts)}"))
    return rows


# ---- Errors


def errors(summary: Summary) -> Question:
    """Test pairs that the model is run on now, aligned with what was asked for; a filter, and what is confused. Returns
    the page's question."""
    from viz_transformer.analysis.models.answers import both_answers, confusions, matching

    place = frame.place("examples")
    status = place.empty()
    if summary.anatomy.kind == "decoder-only":
        frame.say(status, words.WRITES_ON)
        return question.without_errors(summary.name, "No answer is wrong: it continues any text.")
    available = min(len(summary.examples()), EXAMPLES)
    if not available:
        frame.say(status, "No example pairs were kept with this model.")
        return question.without_errors(summary.name, "No test pairs were kept with it.")
    with waiting(f"Running the model on {available} test pairs ...", status):
        done = cached.example_answers(summary, available)
    translates = any(describe.measured(entry, "bleu") is not None for entry in describe.metrics(summary.card))
    with place:
        text.paragraph(view.answer_lines(done, translates=translates))
        if left_out := describe.left_out(summary.card):
            text.paragraph(f"Not among them, as in its test: {left_out}.")
        which = _filter(translates)
        wanted = FIELDS.now().model_find
        found = matching(done, which, wanted)
        narrowed = which != "all" or wanted.strip()
        if not found:
            text.paragraph("No answer is of that kind and holds these words.")
        left, right = st.columns([5, 2], gap="medium")
        with left, st.container(key="model_answers"):
            _answer_list(found, LISTED if narrowed else SHOWN, translates, summary.name)
            _beside(summary, available, both_answers)
        with right, st.container(key="model_confused"):
            _confused(confusions(found), translates)
        with right, st.container(key="model_counts"):
            _counts(summary, available)
    right_ones = sum(answer.right for answer in done)
    most = next(iter(confusions(done)), None)
    return question.errors(summary.name, right_ones, len(done) - right_ones, most, translates=translates)


@kept(8)
def _both(summary: Summary, other: Summary, count: int, _answers: Callable[..., Both]) -> Both:
    """What this model and another one write for the first `count` of its own example pairs."""
    return _answers(cached.checkpoint(summary), cached.checkpoint(other), summary.examples()[:count])


def _beside(summary: Summary, count: int, answers: Callable[..., Both]) -> None:
    """Where another model writes something else for the same pairs: the one that was chosen, else the pinned run's."""
    others = {
        each.name: each
        for each in cached.summaries()
        if not isinstance(each, Unreadable | RecordingSummary)
        and each.name != summary.name
        and each.anatomy.kind == "encoder-decoder"
    }
    if not others:
        return
    pinned = state.SHARED.now().pin_checkpoint
    chosen = next((name for name in (FIELDS.now().model_other, pinned) if name in others), NO_OTHER)
    text.section("Beside another model")
    st.selectbox(
        "Another model",
        [NO_OTHER, *others],
        width=340,
        label_visibility="collapsed",
        **state.bind("model_other", key="models_other", value=chosen, taken=lambda new: "" if new == NO_OTHER else new),
    )
    if chosen not in others:
        return
    status = st.empty()
    try:
        with waiting(f"Running both on {count} test pairs ...", status):
            both = _both(summary, others[chosen], count, answers)
    except ValueError as error:
        text.paragraph(f"{capitalised(error)}.", tone="bad")
        return
    found = both.differences()
    exact = both.judged()["exact_match"]
    chance = numerals.share(exact["p"])
    text.paragraph(
        f"Both right: {exact['both']}, only {both.names[0]}: {exact['only_first']}, only {both.names[1]}:"
        f" {exact['only_second']}, neither: {exact['neither']}. That the two are equally good would give a difference"
        f" like this with p {'' if chance[0] == '<' else '= '}{chance} (McNemar’s exact test)."
    )
    if not found:
        text.paragraph("They write the same for each pair.")
        return
    of, key = (summary.name, chosen), "models_more_beside"
    listed = LISTED + MORE * _clicks(of, key)
    st.html(view.differences_table(found[:listed], both.names, len(found)))
    _more_button(of, len(found) - listed, key)


def _answer_list(found: Sequence[PairAnswer], shown: int, translates: bool, model: str) -> None:
    """The first answers of each kind, and a button for MORE of each as long as there are any."""
    chosen = FIELDS.now()
    of = (model, chosen.model_answers, chosen.model_find)
    listed = shown + MORE * _clicks(of, "models_more")
    _more_button(of, view.answer_tables(found, listed, translates=translates, model=model), "models_more")


def _clicks(of: tuple[str, ...], key: str) -> int:
    """How often more was asked for in this very list."""
    kept_of, clicks = st.session_state.get(f"{key}_of", (of, 0))
    return clicks if kept_of == of else 0


def _more_button(of: tuple[str, ...], left: int, key: str) -> None:
    if left > 0:
        kept_as = (f"{key}_of", (of, _clicks(of, key) + 1))
        st.button(f"{min(left, MORE):,} more", key=key, on_click=st.session_state.__setitem__, args=kept_as)


def _filter(translates: bool) -> Any:
    """The controls above the answers; which kind is chosen."""
    kinds = {"all": "All", "wrong": "Different" if translates else "Wrong", "right": "Equal" if translates else "Right"}
    with st.container(horizontal=True, key="model_filter", vertical_alignment="bottom"):
        controls.buttons("Answers", kinds, "model_answers", key="models_answers")
        st.text_input(
            "Words in source, target or answer",
            max_chars=LONGEST_FIND,
            placeholder="Filter",
            width=340,
            autocomplete="off",
            **state.bind("model_find", key="models_find"),
        )
    return FIELDS.now().model_answers


def _confused(found: Sequence[Any], translates: bool) -> None:
    text.section("Most frequent differences")
    if not found:
        text.paragraph("There are none in these answers.")
        return
    rows = [
        (
            text.Html(f"<del>{html.escape(each.wanted or '(nothing)')}</del>"),
            text.Html(f"<ins>{html.escape(each.written or '(nothing)')}</ins>"),
            f"{each.count:,}",
        )
        for each in found[:CONFUSED]
    ]
    head = ("reference" if translates else "asked for", "written", "times")
    style = f"vt-answers vt-answers-{'plain' if translates else 'bad'} vt-confused"
    st.html(text.table(rows, head=head, style=style, first="td"))
    if len(found) > CONFUSED:
        most = found[CONFUSED].count
        text.paragraph(f"{len(found) - CONFUSED:,} more, {'each once' if most == 1 else f'at most {most:,} times'}.")


def _counts(summary: Summary, count: int) -> None:
    """All pairs counted as here and as two tutorials do, each number with what it is."""
    text.section("Counted in other ways")
    try:
        found = cached.example_counts(summary, count)
    except ValueError as error:
        text.paragraph(f"{error}.")
        return
    interval = f"{view.percent(found.low, '')}–{view.percent(found.high, '')}"
    text.definitions(
        [
            ("right from end to end", f"{found.right} of {found.pairs}, 95 %: {interval}"),
            ("next token right, the target given", view.percent(found.next_right)),
            ("equal positions, as the UPC lab counts", view.percent(found.positions)),
            ("loss, mean of tokens", f"{numerals.significant(found.loss)} nats"),
            ("loss, mean of texts’ means, as at FSU", f"{numerals.significant(found.text_loss)} nats"),
        ]
    )
    text.paragraph(
        f"All {found.pairs} pairs, whatever the filter shows. Equal positions compare id by id, start and padding"
        " included: they are many before one answer is right, and none after a token that was left out. A number"
        " may only be compared with its like."
    )


# ---- Doctor


def doctor(summary: Summary) -> Question:
    """Checks of the loaded model, each computed now; returns the page's question."""
    place = frame.place("doctor")
    status = place.empty()
    with waiting("Loading the model ...", status):
        ckpt = cached.checkpoint(summary)
    chosen = state.SHARED.now().text
    with waiting(f"Examining it, with “{labels.shorten(labels.sentence(chosen), 40)}” as the text ...", status):
        found = _examined(ckpt, chosen, tuple(summary.examples()))
    with place:
        text.paragraph("Each check was computed now, on the loaded model.")
        st.html(checks_table(found))
    return question.doctor(summary.name, found)


@kept(8)
def _examined(ckpt: Checkpoint, chosen: str, _pairs: tuple[tuple[str, str], ...]) -> tuple[Check, ...]:
    from viz_transformer.analysis.models.doctor import examine

    return examine(ckpt, chosen, _pairs)


def checks_table(found: Sequence[Check]) -> str:
    """The checks as a table: mark, name, sentence."""
    verdicts = {"ok": "fine", "bad": "bad", "note": "remark"}
    body = "".join(
        f'<tr class="vt-check-{check.verdict}"><td><span class="vt-icon" aria-hidden="true">{_SIGNS[check.verdict]}'
        f"</span>{verdicts[check.verdict]}</td><th>{html.escape(check.name)}</th>"
        f"<td>{html.escape(check.sentence)}</td></tr>"
        for check in found
    )
    return f'<table class="vt-checks"><tbody>{body}</tbody></table>'
