"""The line under a page's title: what the page asks of this run, and the run's answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from viz_transformer import analysis
from viz_transformer.figures import labels
from viz_transformer.numerals import number, percent, significant
from viz_transformer.sentences import capitalised
from viz_transformer.ui.frame import frame, glossary, problems, text

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from numpy.typing import NDArray

    from viz_transformer.figures.components.matrix import Axis
    from viz_transformer.ui.frame.frame import Runs
    from viz_transformer.ui.frame.judging import Judgement
    from viz_transformer.ui.frame.maps import Picture
    from viz_transformer.ui.session.runs import Shown

LONGEST_TOKEN = 24
ONE_LINE = 108
"""A question and its answer of more characters are set smaller, in two lines at 1280 pixels."""
EVEN = 1.5
"""A row whose largest weight is less than this many times an even share has no key that stands out."""
NAMED = 3
"""Of more heads than these the sentence names no more."""
MINUS_INFINITY = "−∞"
_DERIVED = {"mean": "the mean of the heads", "max": "the maximum of the heads", "rollout": "rollout"}


@dataclass(frozen=True)
class Question:
    """What a page asks of a run, and the answer, both as plain text."""

    asks: str
    answer: str


def place() -> DeltaGenerator:
    """Where the line stands, under the title; its height is kept."""
    found = frame.place("question").empty()
    problems.told_in(found)
    return found


def show(place: DeltaGenerator, question: Question | None, judged: Judgement | None = None) -> None:
    """The line, or nothing where a page has no run to ask; a problem with the run stands in its place. What there is to
    say against the answer comes first, with what can be done."""
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
        text.paragraph(answer, style=style, lead=asks, detail=glossary.explained_in(asks))


def line(question: Question | None) -> tuple[str, str, str]:
    """What the line asks, what it answers, and its class; no percent sign is parted from its number. Empty without a
    question."""
    if question is None:
        return "", "", "vt-question"
    asks, answer = (said.replace(" %", "\N{NO-BREAK SPACE}%") for said in (question.asks, question.answer))
    longer = " vt-question-long" if len(asks) + len(answer) > ONE_LINE else ""
    return f"{asks} ", answer, f"vt-question{longer}"


def cited(token: str) -> str:
    """A token between quotation marks, as it can be seen, not too long."""
    return f"“{labels.isolated(labels.shorten(labels.visible(token), LONGEST_TOKEN))}”"


def place_of(axis: Axis, position: int) -> int | None:
    """The row or column of a map in which a position of the run stands; None where it is left out."""
    if not axis.starts:
        return position if 0 <= position < len(axis.tokens) else None
    ends = axis.ends or tuple(start + 1 for start in axis.starts)
    return next((k for k, (a, b) in enumerate(zip(axis.starts, ends, strict=True)) if a <= position < b), None)


def token_at(tokens: Sequence[Mapping[str, Any]], at: int) -> str:
    """What was typed there, where the model reads something else, between quotation marks."""
    return cited(str(tokens[at].get("note", tokens[at]["text"])))


def open_cells(picture: Picture, row: int) -> NDArray[np.bool_]:
    """[C], True where the row may attend and the run has a number."""
    free: NDArray[np.bool_] = picture.mask[row] & np.isfinite(picture.values[row])
    return free if picture.there is None else free & picture.there[row]


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
        return "nowhere: every key is closed to it"
    found = _looks(picture, numbers, free)
    if not strange.any():
        return found
    count = int(strange.sum())
    what = "is not a finite number" if count == 1 else "are not finite numbers"
    return f"{found}; {count} of {len(numbers)} weights {what}"


def there(picture: Picture, row: int) -> NDArray[np.bool_]:
    """[C], True where the run has a value, even one that is not a number."""
    return np.ones(picture.values.shape[1], dtype=bool) if picture.there is None else picture.there[row]


def no_number(picture: Picture, row: int, unknown: NDArray[np.bool_]) -> str:
    """That no value of the row that could be looked at is a number, and why that is, where it is known."""
    if not unknown.any():
        return "not a number: the values are infinite"
    if picture.scale == "diverging":
        return "not a number: the row is not a number in A or in B"
    if not picture.mask[row].any():
        return f"not a number: every key is masked with {MINUS_INFINITY}, so the softmax divides 0 by 0"
    if picture.lost is not None and picture.lost[row]:
        return "not a number: its softmax read something that was not a number already"
    if picture.scale == "derived":
        return "not a number: a weight that it is made of is not a number"
    return f"not a number: most likely every key is masked with {MINUS_INFINITY}, so that the softmax divides 0 by 0"


def _looks(picture: Picture, numbers: NDArray[np.float64], free: NDArray[np.bool_]) -> str:
    """Where a row looks whose `free` keys, one at least, have numbers."""
    at = int(np.where(free, np.abs(numbers), -1).argmax())
    key, value = token_at(picture.columns.tokens, at), float(numbers[at])
    if picture.quantity != "weight" and picture.scale == "diverging":
        return f"at {key}, {number(value, 4, '+')}" if value else "nowhere"
    if value == 0:
        return "nowhere: no key has weight"
    if picture.quantity == "weight" and not (picture.bounded and picture.adds_up):
        return f"at {key}, a weight of {significant(value, 4)}"
    if not picture.bounded:
        return f"{key}, a vector of length {significant(value, 4)}"
    if free.sum() > 2 and value < EVEN / free.sum():
        return f"almost evenly over all {int(free.sum())} tokens; most on {key} ({percent(value)})"
    return f"at {key}, {percent(value)}"


def where(shown: Shown, picture: Picture, position: int, heads: tuple[int, ...] | str) -> Question | None:
    """Where the chosen heads look from a position of the run; None where its row is left out of the map."""
    row = place_of(picture.rows, position)
    if row is None:
        return None
    reads = token_at(picture.rows.tokens, row)
    when = f"from {reads}" if picture.writes is None else f"when it read {reads}"
    step = position - analysis.step_row(shown.run, 0)
    if picture.writes is not None and 0 <= step < len(shown.run.steps):
        did = "was given" if shown.run.steps[step].forced else "wrote"
        when = f"when it {did} {token_at(picture.writes, row)}"
    who = _DERIVED[heads] if isinstance(heads, str) else f"head {heads[0]}"
    if heads in ("mean", "max") and all(each.query == 1 for each in shown.trace.anatomy.attentions.values()):
        who = "head 0"
    answer = capitalised(f"{looks(picture, row)}.")
    if picture.quantity != "weight" and picture.scale == "diverging":
        return Question(f"Where do A and B differ most {when}?", answer)
    if picture.quantity != "weight" and not picture.bounded:
        return Question(f"What did {who} add most of {when}?", answer)
    if picture.heads is not None and not isinstance(heads, str) and len(heads) > 1:
        each = [
            f"{name} {looks(picture, row, values)}"
            for name, values in zip(picture.head_names[:NAMED], picture.heads[:NAMED], strict=True)
        ]
        more = len(picture.heads) - NAMED
        others = f"; {more} more below" if more > 0 else ""
        return Question(f"Where did the heads look {when}?", capitalised(f"{'; '.join(each)}{others}."))
    return Question(f"Where did {who} look {when}?", answer)


def of_one(both: Runs, picture: Picture, question: Question | None) -> Question | None:
    """A question that says that it is asked of A alone, where A less B is looked at and the two have no difference."""
    if question is None or not both.difference or picture.scale == "diverging":
        return question
    return replace(question, asks=f"{both.main.name}: {question.asks}")
