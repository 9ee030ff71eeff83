"""Above the picture: a sentence on the model, what to try first, and the type size of the answer."""

from __future__ import annotations

import html

import streamlit as st

from viz_transformer.checkpoint.contents import Summary
from viz_transformer.checkpoint.saved_traces import RecordingSummary
from viz_transformer.ui.pages.run import words

LARGE = 70
"""The longest answer that fits on one line in large type at 1280 pixels."""


def show_description(summary: Summary, *, whole: bool) -> None:
    """Write the sentence on one line; without room, the hint on what to try first is left out."""
    recording = isinstance(summary, RecordingSummary)
    does = words.what_it_is(summary.card, summary.spec, recording=recording)
    first = "" if recording else words.what_to_do(summary.spec, whole=whole)
    both = html.escape(f"{does} {first}".rstrip())
    st.html(f'<p class="vt-what" title="{both}"><span>{html.escape(does)}</span> <span>{html.escape(first)}</span></p>')


def answer_style(answer: str, lead: str = "") -> str:
    """The CSS class of an answer: a long one is set smaller."""
    return f"vt-answer{' vt-answer-long' if len(lead) + len(answer) > LARGE else ''}"
