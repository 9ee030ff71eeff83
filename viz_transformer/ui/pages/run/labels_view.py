"""The Run page of a model that gives labels: for the text or for each of its tokens, with probabilities."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd
import streamlit as st

from viz_transformer.figures import labels
from viz_transformer.figures.filling import Shares
from viz_transformer.model.hooked_model import Scoring
from viz_transformer.numerals import percent
from viz_transformer.running.labels import Label, Labels, holding
from viz_transformer.sentences import shorten
from viz_transformer.ui.frame import text
from viz_transformer.ui.frame.drawn import Drawn, Heading, Table, Text
from viz_transformer.ui.frame.questions import Question, cite
from viz_transformer.ui.pages.run import bars_view, words
from viz_transformer.ui.session import state
from viz_transformer.ui.session.runs import RunView

LONGEST, MAX_BARS, BESIDE = 40, 12, 3
"""Characters of the label in large type; bars; labels that are named after the first."""


def put_answer(shown: RunView) -> None:
    """Draw the label of the text in large type, and the next ones; for a tagger a description, since the strip has its
    labels."""
    spec = shown.trace.spec
    if spec.output != "class":
        text.paragraph(words.LABELS_IN_STRIP)
        return
    (found,) = shown.run.labels
    best, others, more = _split_labels(found, spec.scoring)
    with st.container(horizontal=True, vertical_alignment="center"):
        with st.container(width="content"):
            text.paragraph(", ".join(map(_quote_label, best)), style="vt-answer")
        if others:
            text.paragraph(words.then([*map(_quote_label, others)], more))


def _split_labels(found: Labels, scoring: Scoring) -> tuple[tuple[Label, ...], tuple[Label, ...], int]:
    """The labels in large type, those after them in order, and the number of others."""
    best = holding(found, scoring)[: BESIDE + 1]
    others = found.scores[len(best) : len(best) + BESIDE]
    return best, others, len(found.scores) - len(best) - len(others)


def _quote_label(label: Label) -> str:
    name = labels.shorten(labels.visible(label.name), LONGEST)
    return words.label_and_sure(name, _format_probability(label))


def _format_probability(label: Label) -> str:
    return labels.number(label.logit, 4) if label.probability is None else percent(label.probability)


def draw_labels(shown: RunView) -> Iterator[Drawn]:
    """The probabilities of the labels, for the text or at the chosen position; for a regression its numbers."""
    found, spec = select_labels(shown), shown.trace.spec
    title, key = words.labels_title(spec.scoring == "number", found.position), "run_labels"
    if spec.scoring == "number":
        yield Heading(said=title)
        rows = [(label.name, labels.number(label.logit, 6)) for label in found.scores[:MAX_BARS]]
        yield Table(head=(), rows=rows, style="vt-definitions vt-mono")
        yield from _draw_left_out(len(found.scores) - MAX_BARS)
        return
    drawn = found.scores[:MAX_BARS]
    left = found.scores[MAX_BARS:]
    together = spec.scoring in ("one", "either")
    best = Shares(
        tokens=[label.name for label in drawn],
        log_probs=[label.log_prob or 0.0 for label in drawn],
        others=sum(label.probability or 0.0 for label in left),
        vocabulary=len(found.scores) if together else len(drawn),
        what=words.BARS_ARE_LABELS,
    )
    note = words.OVER_LABELS if together else words.BY_ITSELF
    yield bars_view.draw_bars(shown, best, title=title, key=key, table=lambda: table(found), note=note)
    if not together:
        yield from _draw_left_out(len(left))


def _draw_left_out(count: int) -> Iterator[Drawn]:
    if count > 0:
        yield Text(said=words.not_drawn(count))


def table(found: Labels) -> pd.DataFrame:
    """The table of all labels, the most probable first."""
    rows = [
        {
            "label": label.name,
            "id": label.index,
            "probability": label.probability,
            "log-probability": label.log_prob,
            "logit": label.logit,
        }
        for label in found.scores
    ]
    return pd.DataFrame(rows).rename_axis("rank")


def select_labels(shown: RunView) -> Labels:
    """The labels of the text, or of the chosen token."""
    found = shown.run.labels
    return found[0] if found[0].position is None else found[min(state.SHARED.now().i, len(found) - 1)]


def question(shown: RunView) -> Question:
    """The question on the label of the text, or of the chosen token."""
    found, spec = select_labels(shown), shown.trace.spec
    best = holding(found, spec.scoring)[: BESIDE + 1]
    answered = words.answers_labels(
        [words.label_and_share(cite(label.name), _format_probability(label)) for label in best]
    )
    if found.position is None:
        return Question(words.asks_of_text(shorten(labels.sentence(shown.text), LONGEST)), answered)
    return Question(words.asks_label(cite(shown.trace.src_originals[found.position])), answered)
