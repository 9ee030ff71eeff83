"""The line under a page's title: what the page asks of this run, and the run's answer."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from viz_transformer import analysis
from viz_transformer.figures import labels
from viz_transformer.numerals import number, percent, significant
from viz_transformer.ui.compat import DeltaGenerator
from viz_transformer.ui.frame import frame, glossary, problems, text, words

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from viz_transformer.analysis.attention.axes import Axis, Texts
    from viz_transformer.analysis.attention.picture import Picture
    from viz_transformer.ui.frame.frame import Runs
    from viz_transformer.ui.frame.judging import Judgement
    from viz_transformer.ui.session.runs import RunView

LONGEST_TOKEN = 24
ONE_LINE = 108
"""A question and its answer of more characters are set smaller, in two lines at 1280 pixels."""
EVEN = 1.5
"""A row whose largest weight is less than this many times an even share has no key that stands out."""
NAMED = 3
"""How many heads a sentence names at most."""


@dataclass(frozen=True)
class Question:
    """What a page asks of a run, and the answer, both as plain text."""

    asks: str
    answer: str


def place() -> DeltaGenerator:
    """Where the line stands, under the title; its height is kept."""
    found = frame.place("question").empty()
    problems.set_problem_place(found)
    return found


def show_question(place: DeltaGenerator, question: Question | None, judged: Judgement | None = None) -> None:
    """The line, or nothing where a page has no run to ask; a problem with the run replaces it. Doubts about the
    answer come first, with what can be done."""
    if problems.is_there():
        return
    if judged is not None and judged.sentence:
        with place.container(horizontal=True, vertical_alignment="center", key="doubt"):
            with st.container(key="doubt_says", gap=None):
                text.paragraph(judged.sentence, style="vt-doubt", tone=judged.tone)
                _show_line(question)
            problems.show_ways(judged.ways, key="doubt_way")
    elif question is not None:
        with place:
            _show_line(question)


def _show_line(question: Question | None) -> None:
    if question is not None:
        asks, answer, style = line(question)
        text.paragraph(answer, style=style, lead=asks, detail=glossary.explain_terms(asks))


def line(question: Question | None) -> tuple[str, str, str]:
    """What the line asks, what it answers, and its class; no percent sign is parted from its number. Empty without a
    question."""
    if question is None:
        return "", "", "vt-question"
    asks, answer = (said.replace(" %", "\N{NO-BREAK SPACE}%") for said in (question.asks, question.answer))
    longer = " vt-question-long" if len(asks) + len(answer) > ONE_LINE else ""
    return f"{asks} ", answer, f"vt-question{longer}"


def cite(token: str) -> str:
    """A token between quotation marks, as it can be seen, not too long."""
    return f"“{labels.isolate(labels.shorten(labels.visible(token), LONGEST_TOKEN))}”"


def place_of(axis: Axis, position: int) -> int | None:
    """The row or column of a map in which a position of the run stands; None where it is left out."""
    if not axis.starts:
        return position if 0 <= position < len(axis) else None
    ends = axis.ends or tuple(start + 1 for start in axis.starts)
    return next((k for k, (a, b) in enumerate(zip(axis.starts, ends, strict=True)) if a <= position < b), None)


def token_at(texts: Texts, at: int) -> str:
    """What was typed there, where the model reads something else, between quotation marks."""
    return cite(texts.name(at))


def open_cells(picture: Picture, row: int) -> NDArray[np.bool_]:
    """[C], True where the row may attend and the run has a number."""
    free: NDArray[np.bool_] = picture.mask[row] & np.isfinite(picture.values[row])
    return free if picture.valid is None else free & picture.valid[row]


def looks(picture: Picture, row: int, values: NDArray[np.float32] | None = None) -> str:
    """Where a row of a map of weights or lengths looks, as an answer: 'at “9”, 98.1 %'.

    values: [R, C] of another head of the same map.
    """
    numbers = (picture.values if values is None else values)[row].astype(np.float64)
    free = open_cells(picture, row)
    strange = there(picture, row) & ~np.isfinite(numbers)
    if strange.any() and not free.any():
        return no_number(picture, row, strange & np.isnan(numbers))
    if not free.any():
        return words.CLOSED
    found = _looks(picture, numbers, free)
    if not strange.any():
        return found
    return words.not_finite(found, int(strange.sum()), len(numbers))


def there(picture: Picture, row: int) -> NDArray[np.bool_]:
    """[C], True where the run has a value, even one that is not a number."""
    return np.ones(picture.values.shape[1], dtype=bool) if picture.valid is None else picture.valid[row]


def no_number(picture: Picture, row: int, unknown: NDArray[np.bool_]) -> str:
    """The sentence for a row of which no open value is a number, with the reason where it is known."""
    if not unknown.any():
        return words.INFINITE
    if picture.meta.signed:
        return words.NO_NUMBER_IN_ONE
    if not picture.mask[row].any():
        return words.ALL_MASKED
    if picture.lost is not None and picture.lost[row]:
        return words.READ_NO_NUMBER
    if picture.meta.scale == "derived":
        return words.MADE_OF_NO_NUMBER
    return words.PROBABLY_MASKED


def _looks(picture: Picture, numbers: NDArray[np.float64], free: NDArray[np.bool_]) -> str:
    """Where a row looks whose `free` keys, one at least, have numbers."""
    at = int(np.where(free, np.abs(numbers), -1).argmax())
    key, value = token_at(picture.columns.reads, at), float(numbers[at])
    if picture.meta.quantity != "weight" and picture.meta.signed:
        return words.at(key, number(value, 4, "+")) if value else words.NOWHERE
    if value == 0:
        return words.NO_WEIGHT
    if picture.meta.quantity == "weight" and not (picture.meta.bounded and picture.meta.adds_up):
        return words.at_weight(key, significant(value, 4))
    if not picture.meta.bounded:
        return words.at_length(key, significant(value, 4))
    if free.sum() > 2 and value < EVEN / free.sum():
        return words.almost_evenly(int(free.sum()), key, percent(value))
    return words.at(key, percent(value))


def where(shown: RunView, picture: Picture, position: int, heads: tuple[int, ...] | str) -> Question | None:
    """Where the chosen heads look from a position of the run; None where its row is left out of the map."""
    row = place_of(picture.rows, position)
    if row is None:
        return None
    reads = token_at(picture.rows.reads, row)
    when = words.reading_from(reads) if picture.rows.writes is None else words.when_it_read(reads)
    step = position - analysis.step_row(shown.run, 0)
    if picture.rows.writes is not None and 0 <= step < len(shown.run.steps):
        when = words.when_it_wrote(token_at(picture.rows.writes, row), given=shown.run.steps[step].forced)
    who = words.COMBINED[heads] if isinstance(heads, str) else words.head(heads[0])
    if heads in ("mean", "max") and all(each.query == 1 for each in shown.trace.spec.attentions.values()):
        who = words.head(0)
    answer = words.looks(looks(picture, row))
    if picture.meta.quantity != "weight" and picture.meta.signed:
        return Question(words.where_they_differ(when), answer)
    if picture.meta.quantity != "weight" and not picture.meta.bounded:
        return Question(words.what_was_added(who, when), answer)
    if picture.heads is not None and not isinstance(heads, str) and len(heads) > 1:
        each = [
            words.head_looks(name, looks(picture, row, values))
            for name, values in zip(picture.heads.names[:NAMED], picture.heads.values[:NAMED], strict=True)
        ]
        return Question(words.where_heads_looked(when), words.heads_look(each, len(picture.heads.names) - NAMED))
    return Question(words.where_it_looked(who, when), answer)


def ask_of_one(both: Runs, picture: Picture, question: Question | None) -> Question | None:
    """The question with A named in it, where A - B is chosen and the two have no difference."""
    if question is None or not both.difference or picture.meta.signed:
        return question
    return replace(question, asks=words.of_run(both.main.name, question.asks))
