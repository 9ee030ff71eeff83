"""What is known of an answer: whether it is right, where a rule can tell, and why it is not to be trusted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from viz_transformer.analysis.inputs.hidden_texts import hidden_texts
from viz_transformer.analysis.positions.table import trained_rows
from viz_transformer.analysis.run.checking import Checked, check_answer
from viz_transformer.figures import labels
from viz_transformer.figures.components.chips import RowMark
from viz_transformer.text.notation import CARD_KEY, read_notation
from viz_transformer.ui.frame import words
from viz_transformer.ui.frame.doubts import (
    Doubt,
    Way,
    language_doubt,
    length_doubt,
    notation_doubt,
    unknown_doubt,
    ways_of,
)
from viz_transformer.ui.frame.text import Tone
from viz_transformer.ui.frame.token_strip import length_sentence
from viz_transformer.ui.session import examples

if TYPE_CHECKING:
    from viz_transformer.ui.frame.frame import Runs
    from viz_transformer.ui.session.runs import RunView

CHECKED_BY = {"numbers-any": "numbers", "numbers": "numbers", "copy": "copy"}
"""By which rule the answers of a family of tasks are checked."""


@dataclass(frozen=True)
class Judgement:
    """What is known of an answer. `sentence` for the headline, "" if there is nothing to say against it; `ways`: what
    can be done; `notes`: what else there is to say; `mark`: the mark beside the answer."""

    sentence: str = ""
    tone: Tone = "warning"
    ways: tuple[Way, ...] = ()
    notes: tuple[str, ...] = ()
    mark: RowMark | None = None


def judgement(shown: RunView) -> Judgement:
    """Judge the answer of a run: whether it is right, by a rule, and why it is not to be trusted. A given answer is not
    judged; only what the model does not know is said."""
    if shown.recorded:
        return Judgement()
    hidden = hidden_texts(shown.ckpt, shown.run.trace)
    nearly = [length_sentence(shown.ckpt, shown.run)]
    if shown.target is not None:
        return Judgement(notes=tuple(filter(None, (labels.unknown_sentence(hidden), *nearly))))
    doubts, notes = _doubts(shown, hidden)
    if not any(doubt.of_length for doubt in doubts):
        notes += nearly
    first = doubts[0] if doubts else None
    notes = [*(words.sentence(doubt.reason) for doubt in doubts[1:]), *notes]
    rule = CHECKED_BY.get(examples.family(shown.ckpt.card.get("task")) or "")
    check = check_answer(rule, shown.text, shown.run.text) if rule else None
    if check is not None and check.kind == "unread":
        notes.append(check.sentence)
    sentence = _headline(first, check)
    return Judgement(
        sentence=sentence,
        tone="bad" if check is not None and check.kind == "wrong" else "warning",
        ways=() if first is None else ways_of(first),
        notes=tuple(filter(None, notes)),
        mark=_mark(sentence, check),
    )


def judgement_of_all(both: Runs) -> Judgement:
    """The headline's judgement of the shown run, or of both where they are compared, each by its name. What can be done
    changes the text of A."""
    if both.b is None or not both.compared:
        return judgement(both.main)
    a, b = judgement(both.a), judgement(both.b)
    said = [words.judged(words.IS[name], each.sentence) for name, each in (("A", a), ("B", b)) if each.sentence]
    if a.sentence and a.sentence == b.sentence:
        said = [words.judged(words.BOTH_ARE, a.sentence)]
    bad = any(each.sentence and each.tone == "bad" for each in (a, b))
    return Judgement(" ".join(said), "bad" if bad else "warning", a.ways, a.notes)


def _doubts(shown: RunView, hidden: Sequence[tuple[str, str]]) -> tuple[list[Doubt], list[str | None]]:
    """The reasons, the weightiest first, and what there is to say beside them."""
    card, notes, found = shown.ckpt.card, list[str | None](), list[Doubt | None]()
    try:
        notation = read_notation(card)
        found.append(None if notation is None else notation_doubt(notation, shown.text))
    except ValueError as error:
        notes.append(words.sentence(error))
    if not any(found):
        found += [language_doubt(card, shown.text, hidden), unknown_doubt(hidden)]
    if shown.ckpt.spec.has_encoder and CARD_KEY not in card:
        read = sum(typed != "" for typed in shown.run.trace.src.originals)  # "" is padding
        found.append(length_doubt(read, trained_rows(card, "encoder") or 0))
    return [doubt for doubt in found if doubt is not None], notes


def _headline(doubt: Doubt | None, check: Checked | None) -> str:
    """What there is to say against an answer; "" for nothing."""
    reason = "" if doubt is None else doubt.reason
    if check is not None and check.kind == "wrong":
        return words.wrong(check.sentence, reason)
    return words.doubted(reason, right=check is not None and check.kind == "right") if reason else ""


def _mark(sentence: str, check: Checked | None) -> RowMark | None:
    if check is not None and check.kind != "unread":
        return RowMark(check.kind, check.sentence if check.kind == "right" else sentence)
    return RowMark("doubtful", sentence) if sentence else None
