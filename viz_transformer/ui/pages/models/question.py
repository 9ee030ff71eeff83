"""The question of each tab of Models, answered from the model's files, or from what the tab has computed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from viz_transformer.analysis.models.parameters import parameter_blocks, parameter_total
from viz_transformer.analysis.models.training import best_validation, loss_history
from viz_transformer.checkpoint import describe
from viz_transformer.figures import labels
from viz_transformer.numerals import percent, significant
from viz_transformer.sentences import join_names
from viz_transformer.ui.frame.questions import LONGEST_TOKEN, Question
from viz_transformer.ui.pages.models import words
from viz_transformer.ui.pages.models.card_rows import overlap_of_test
from viz_transformer.ui.pages.models.view import metric_lines

if TYPE_CHECKING:
    from viz_transformer.analysis.models.answers import Confusion
    from viz_transformer.analysis.models.diagnostics import Check
    from viz_transformer.analysis.models.snapshots import SnapshotSeries
    from viz_transformer.checkpoint.contents import Summary
    from viz_transformer.model.config import ModelConfig
    from viz_transformer.model.layout import Block

ONE_LINE = 104
"""Characters per line in a window of 1,280 pixels."""


def at_once(tab: str, summary: Summary) -> Question | None:
    """The question of a tab if the model's files answer it; None if the tab has to compute it, or is not about this
    model."""
    try:
        if tab == "card":
            return card(summary.name, summary.card)
        if tab == "architecture":
            own = summary.spec.config is not None
            return architecture(summary.name, parameter_blocks(summary.config)) if own else None
        if tab == "curves":
            return curves(summary.name, summary.history())
        return data(summary.name, summary.card) if tab == "data" else None
    except ValueError:
        return untold(tab, summary.name)


def untold(tab: str, name: str) -> Question:
    """The question of a tab without an answer: the model does not state it, or its data cannot be read."""
    return Question(words.asks(tab, name), words.UNKNOWN)


# --- answered by the model's files


def card(name: str, card: Mapping[str, Any]) -> Question:
    """The question answered with the first measurement of its card, as far as it fits on one line."""
    asks = words.asks("card", name)
    if not describe.metrics(card):
        return Question(asks, words.NOT_MEASURED_YET)
    value, *rest = (line for _, line in metric_lines(card))
    return _fit_line(asks, f"{value} {rest[0]}" if rest else value, rest[1:])


def architecture(name: str, blocks: Sequence[Block]) -> Question:
    """The question answered with the number of parameters, and the shares of its parts, each with its norms, largest
    first, as far as they fit on one line."""
    counts: dict[str, int] = {}
    for block in blocks:
        part = words.PARTS[block.name.replace(".", " ").split(" ")[-1]]
        counts[part] = counts.get(part, 0) + block.count
    total = sum(counts.values())
    shares = [f"{part} {percent(count / total)}" for part, count in sorted(counts.items(), key=lambda each: -each[1])]
    return _fit_line(words.asks("architecture", name), words.largest_share(total, shares[0]), shares[1:])


def curves(name: str, rows: Sequence[Mapping[str, float]]) -> Question:
    """The question answered with the step of the lowest validation loss."""
    asks = words.asks("curves", name)
    if not loss_history(rows):
        return Question(asks, words.WITHOUT_HISTORY)
    best = best_validation(rows)
    if best is None:
        return Question(asks, words.WITHOUT_VALIDATION_LOSS)
    last = max(row["step"] for row in rows)
    return Question(asks, words.lowest_validation_loss(significant(best.loss, 3), int(best.step), int(last)))


def data(name: str, card: Mapping[str, Any]) -> Question:
    """The question answered with the number of test sources that are also in its training data."""
    asks = words.asks("data", name)
    found = overlap_of_test(card)
    if found is None:
        return Question(asks, words.CARD_DOES_NOT_SAY)
    return Question(asks, words.seen_in_training(*found))


# --- answered by what the tab computes


def errors(name: str, right: int, wrong: int, most: Confusion | None, *, translates: bool) -> Question:
    """The question answered with the number of wrong answers, and the most frequent confusion."""
    of = right + wrong
    asks = words.asks_reference(name) if translates else words.asks("errors", name)
    said = words.right_answers(right, of) if translates else words.wrong_answers(wrong, of)
    if most is None or most.count < 2:
        return Question(asks, f"{said}.")
    wanted, written = (_quote(each) if each else words.NOTHING for each in (most.wanted, most.written))
    often = words.most_often(written, wanted, most.count, translates=translates)
    return _fit_line(asks, said, [often], joint="; ")


def without_errors(name: str, why: str) -> Question:
    """The same question for a model without answers that could be wrong."""
    return Question(words.asks("errors", name), why)


def doctor(name: str, found: Sequence[Check]) -> Question:
    """The question answered with the number of passed checks, and the failed ones."""
    fine = sum(check.verdict == "ok" for check in found)
    bad = [f"“{check.name}”" for check in found if check.verdict == "bad"]
    asks = words.asks("doctor", name)
    if bad:
        return _fit_line(asks, words.failed(len(bad), len(found), bad[0]), bad[1:])
    return Question(asks, words.passed(fine, len(found)))


def new(config: ModelConfig | None, base: str, like: ModelConfig) -> Question:
    """The question answered with its number of parameters, also as a multiple of its base's; no config if its sizes do
    not fit together."""
    asks = words.asks("new", base)
    if config is None:
        return Question(asks, words.SIZES_DO_NOT_FIT)
    count, known = parameter_total(config), parameter_total(like)
    times = None if count == known else significant(count / known, 3)
    return Question(asks, words.new_size(count, times, base))


def training(name: str, series: SnapshotSeries) -> Question:
    """The question answered with the step since which the answer is the target."""
    asks = words.asks_when_learned(name, _quote(series.source))
    right = [run.step for run in series.runs if run.right]
    if not right:
        return Question(asks, words.never_right(len(series.runs)))
    last_wrong = max((run.step for run in series.runs if not run.right), default=-1)
    since = min((step for step in right if step > last_wrong), default=None)
    return Question(asks, words.right_since(right[0], since))


def without_snapshots(name: str) -> Question:
    """The same question for a model without snapshots."""
    return Question(words.asks("training", name), words.WITHOUT_SNAPSHOTS)


# --- of no model


def opened(names: Sequence[str]) -> Question:
    """The question answered with the models in this computer's library, as far as they fit on one line."""
    return _list_names(words.ASKS_OPENED, names, words.NONE_OPENED)


def file(name: str, *, ready: bool = True, guessed: int = 0) -> Question:
    """The question answered with whether a file becomes a model, and how many of its open settings are guesses."""
    asks = words.asks_file(_quote(name))
    if not ready:
        return Question(asks, words.NOT_YET_READY)
    if not guessed:
        return Question(asks, words.NOTHING_GUESSED)
    return Question(asks, words.guessed(guessed))


def trained(names: Sequence[str], *, possible: bool = True) -> Question:
    """The question answered with the trainings on this computer; not `possible` if a requirement of training is
    missing."""
    return _list_names(words.ASKS_TRAINED, names, words.NONE_TRAINED if possible else words.CANNOT_TRAIN)


def _list_names(asks: str, names: Sequence[str], none: str) -> Question:
    """The question answered with the names that fit on one line, and the number of others."""
    if not names:
        return Question(asks, none)
    for shown in range(len(names), 0, -1):
        more = [words.more(len(names) - shown)] if shown < len(names) else []
        answer = f"{join_names([*(labels.shorten(name, 40) for name in names[:shown]), *more])}."
        if len(f"{asks} {answer}") <= ONE_LINE:
            break
    return Question(asks, answer)


def _quote(given: str) -> str:
    """A text or a file's name in quotation marks, shortened."""
    return f"“{labels.isolate(labels.shorten(labels.sentence(given), LONGEST_TOKEN))}”"


def _fit_line(asks: str, answer: str, more: Sequence[str], *, joint: str = ", ") -> Question:
    """The question with its answer and further phrases, as far as they fit on one line."""
    for part in more:
        longer = f"{answer}{joint}{part}"
        if len(f"{asks} {longer}.") > ONE_LINE:
            break
        answer = longer
    return Question(asks, f"{answer}.")
