"""By the pin: prepared pairs, each of which makes B and shows both, and what B is beside A."""

from __future__ import annotations

import streamlit as st

from viz_transformer.analysis.models.untrained import UntrainedSummary
from viz_transformer.ui.frame import text, words
from viz_transformer.ui.session import cached, state
from viz_transformer.ui.session.pairs import pairs
from viz_transformer.ui.session.runs import RunView


def what_b_is(a: RunView, b: RunView) -> str:
    """The model, the text and the way of writing of B as far as A has others; all of B if none differ."""
    same_words = (a.text, a.target) == (b.text, b.target)
    parts = [
        (words.UNTRAINED if isinstance(b.summary, UntrainedSummary) else b.called) * (a.summary.name != b.summary.name),
        b.written_words * (same_words and a.how != b.how),
        "" if same_words else b.words(),
    ]
    return ", ".join(filter(None, parts)) or b.words()


def offer(shown: RunView) -> None:
    """The pairs of this run as buttons, in what opens when it is asked for; or why there is none."""
    opened = st.popover(words.COMPARE, key="pairs", on_change="rerun", type="tertiary")
    if not opened.open:
        return
    with opened:
        text.paragraph(words.COMPARE_WITH)
        for pair in pairs(shown, cached.summaries()):
            if pair.fields is None:
                text.paragraph(words.no_pair(pair.label, pair.why))
            else:
                st.button(
                    text.literal(pair.label),
                    key=f"pair_{pair.key}",
                    on_click=state.select,
                    kwargs=dict(pair.fields),
                    width="stretch",
                )
