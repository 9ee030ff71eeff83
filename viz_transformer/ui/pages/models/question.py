"""What each tab of Models asks, answered with this model's files, or with what the tab has computed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from viz_transformer.analysis.models.parameters import parameter_blocks, parameter_total
from viz_transformer.analysis.models.training import best_validation, loss_history
from viz_transformer.checkpoint import describe
from viz_transformer.figures import labels
from viz_transformer.numerals import percent, significant
from viz_transformer.sentences import listed
from viz_transformer.ui.frame.questions import LONGEST_TOKEN, Question
from viz_transformer.ui.pages.models.card_rows import overlap_of_test
from viz_transformer.ui.pages.models.view import metric_lines

if TYPE_CHECKING:
    from viz_transformer.analysis.models.answers import Confusion
    from viz_transformer.analysis.models.doctor import Check
    from viz_transformer.analysis.models.snapshots import SnapshotSeries
    from viz_transformer.checkpoint.contents import Summary
    from viz_transformer.model.config import ModelConfig
    from viz_transformer.model.outline import Block

ONE_LINE = 104
"""Characters that stand beside each other in a window of 1,280 pixels."""
_ASKS = {
    "architecture": "Where are the parameters of {}?",
    "curves": "Had {} finished learning?",
    "data": "Was the test new to {}?",
    "errors": "What does {} get wrong?",
    "doctor": "Does {} compute as it should?",
    "new": "How large is the new model?",
    "training": "When did {} learn its answer?",
}
_PARTS = {
    "embedding": "embeddings",
    "self": "self-attention",
    "cross": "cross-attention",
    "ffn": "feed-forward",
    "norm": "final norms",
    "map": "final maps",
    "output": "output layer",
    "parts": "other parts",
}


def at_once(tab: str, summary: Summary) -> Question | None:
    """What a tab asks that the model's files answer; None where the tab has to work it out, or is not of this model."""
    try:
        if tab == "card":
            return card(summary.name, summary.card)
        if tab == "architecture":
            own = summary.anatomy.config is not None
            return architecture(summary.name, parameter_blocks(summary.config)) if own else None
        if tab == "curves":
            return curves(summary.name, summary.history())
        return data(summary.name, summary.card) if tab == "data" else None
    except ValueError:
        return untold(tab, summary.name)


def untold(tab: str, name: str) -> Question:
    """The same question where the model does not tell it, or what it is computed from cannot be read."""
    return Question(_ASKS[tab].format(name), "Unknown; the reason is below.")


# --- answered by the model's files


def card(name: str, card: Mapping[str, Any]) -> Question:
    """The first measurement of its card, as the card shows it, as far as it stands on one line."""
    asks = f"How good is {name}?"
    if not describe.metrics(card):
        return Question(asks, "It has not been measured.")
    value, *rest = (line for _, line in metric_lines(card))
    return _fitting(asks, f"{value} {rest[0]}" if rest else value, rest[1:])


def architecture(name: str, blocks: Sequence[Block]) -> Question:
    """How many trained numbers there are, and the shares of its parts, each with its norms, largest first, as far as
    they stand on one line."""
    counts: dict[str, int] = {}
    for block in blocks:
        part = _PARTS[block.name.replace(".", " ").split(" ")[-1]]
        counts[part] = counts.get(part, 0) + block.count
    total = sum(counts.values())
    shares = [f"{part} {percent(count / total)}" for part, count in sorted(counts.items(), key=lambda each: -each[1])]
    return _fitting(_ASKS["architecture"].format(name), f"Of {total:,}: {shares[0]}", shares[1:])


def curves(name: str, rows: Sequence[Mapping[str, float]]) -> Question:
    """At which step of its training the validation loss was lowest."""
    asks = _ASKS["curves"].format(name)
    if not loss_history(rows):
        return Question(asks, "No history was kept with it.")
    best = best_validation(rows)
    if best is None:
        return Question(asks, "Its loss on validation data was not noted.")
    last = max(row["step"] for row in rows)
    of = ", the last" if best.step == last else f" of {int(last):,}"
    return Question(asks, f"Lowest validation loss: {significant(best.loss, 3)}, at step {int(best.step):,}{of}.")


def data(name: str, card: Mapping[str, Any]) -> Question:
    """How many of the sources that it was tested on stand in its training data too."""
    asks = _ASKS["data"].format(name)
    found = overlap_of_test(card)
    if found is None:
        return Question(asks, "Its card does not say.")
    seen, tested, unit = found
    if not seen:
        return Question(asks, f"Yes: none of its {tested:,} {unit} is in the training data.")
    return Question(asks, f"Not all of it: {seen:,} of {tested:,} {unit} are in the training data.")


# --- answered by what the tab works out


def errors(name: str, right: int, wrong: int, most: Confusion | None, *, translates: bool) -> Question:
    """How many of the answers are not as asked for, and what stands most often in the place of what."""
    asks = f"How often does {name} write the reference?" if translates else _ASKS["errors"].format(name)
    of = right + wrong
    if translates:
        said = f"In {right:,} of {of:,} test pairs"
    else:
        said = f"{wrong:,} of {of:,} test pairs" if wrong else f"Nothing in {of:,} test pairs"
    if most is None or most.count < 2:
        return Question(asks, f"{said}.")
    wanted, written = (_quoted(words) if words else "nothing" for words in (most.wanted, most.written))
    return _fitting(asks, said, [f"most often {written} for {wanted}, {most.count:,} times"], joint="; ")


def without_errors(name: str, why: str) -> Question:
    """The same of a model that has no answers which could be wrong."""
    return Question(_ASKS["errors"].format(name), why)


def doctor(name: str, found: Sequence[Check]) -> Question:
    """How many of its checks are fine, and which are not."""
    fine = sum(check.verdict == "ok" for check in found)
    bad = [f"“{check.name}”" for check in found if check.verdict == "bad"]
    asks = _ASKS["doctor"].format(name)
    if bad:
        return _fitting(asks, f"Not in {len(bad)} of {len(found)} checks: {bad[0]}", bad[1:])
    remarks = len(found) - fine
    more = f"; {remarks} {'is a remark' if remarks == 1 else 'are remarks'}" if remarks else ""
    return Question(asks, f"{fine} of {len(found)} checks {'is' if fine == 1 else 'are'} fine, none is bad{more}.")


def new(config: ModelConfig | None, base: str, like: ModelConfig) -> Question:
    """How many parameters it has, and how many times those of the model whose vocabularies it takes; no config where
    its sizes do not fit together."""
    asks = _ASKS["new"]
    if config is None:
        return Question(asks, "Its sizes do not fit together.")
    count, known = parameter_total(config), parameter_total(like)
    times = "as many as" if count == known else f"{significant(count / known, 3)} times those of"
    return Question(asks, f"{count:,} parameters, {times} {base}.")


def training(name: str, series: SnapshotSeries) -> Question:
    """From which step on the answer is the target."""
    asks = f"When did {name} learn {_quoted(series.source)}?"
    right = [run.step for run in series.runs if run.right]
    if not right:
        return Question(asks, f"It is right at none of {len(series.runs)} snapshots.")
    last_wrong = max((run.step for run in series.runs if not run.right), default=-1)
    if right[-1] < last_wrong:
        return Question(asks, f"It was right first at step {right[0]:,}, but not at the last snapshot.")
    since = min(step for step in right if step > last_wrong)
    if since == right[0]:
        return Question(asks, f"It has been right since step {since:,}.")
    return Question(asks, f"It was right first at step {right[0]:,}, and has been right since step {since:,}.")


def without_snapshots(name: str) -> Question:
    """The same of a model without snapshots."""
    return Question(_ASKS["training"].format(name), "It came without snapshots of its training.")


# --- of no model


def opened(names: Sequence[str]) -> Question:
    """Which models the library of this computer holds, as far as they stand on one line."""
    return _named("Which models have you opened?", names, "None yet: name a file of weights, or drop it below.")


def file(name: str, *, ready: bool = True, guessed: int = 0) -> Question:
    """Whether a file becomes a model, and how many of the answers that it does not give are guesses."""
    asks = f"Can {_quoted(name)} be opened?"
    if not ready:
        return Question(asks, "Not yet: what is missing is listed below.")
    if not guessed:
        return Question(asks, "Yes: nothing about it has to be guessed.")
    return Question(asks, f"Yes; of what it does not tell, {guessed} {'is' if guessed == 1 else 'are'} guessed.")


def trained(names: Sequence[str], *, possible: bool = True) -> Question:
    """Which trainings there are on this computer; not `possible` where what a training needs is missing."""
    none = "None yet: name a file of pairs, or of text, or drop it." if possible else "None: something is missing."
    return _named("Which models have you trained here?", names, none)


def _named(asks: str, names: Sequence[str], none: str) -> Question:
    """The names, or how many there are behind those that stand on one line."""
    if not names:
        return Question(asks, none)
    for shown in range(len(names), 0, -1):
        more = [f"{len(names) - shown} more"] if shown < len(names) else []
        answer = f"{listed([*(labels.shorten(name, 40) for name in names[:shown]), *more])}."
        if len(f"{asks} {answer}") <= ONE_LINE:
            break
    return Question(asks, answer)


def _quoted(words: str) -> str:
    """A text or a file's name between quotation marks, not too long."""
    return f"“{labels.isolated(labels.shorten(labels.sentence(words), LONGEST_TOKEN))}”"


def _fitting(asks: str, answer: str, more: Sequence[str], *, joint: str = ", ") -> Question:
    """The answer with what there is more to say, as far as it stands on one line."""
    for part in more:
        if len(f"{asks} {answer}{joint}{part}.") > ONE_LINE:
            break
        answer = f"{answer}{joint}{part}"
    return Question(asks, f"{answer}.")
