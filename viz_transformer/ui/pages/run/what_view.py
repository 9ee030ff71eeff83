"""Beside the heading: what the model is, in one plain sentence, and what to try first."""

from __future__ import annotations

import html

import streamlit as st

from viz_transformer.checkpoint.contents import Summary
from viz_transformer.checkpoint.recordings import RecordingSummary
from viz_transformer.ui.pages.run import words


def show(summary: Summary, *, whole: bool) -> None:
    """The sentence in one line; where there is no room, what to try first is left out."""
    recording = isinstance(summary, RecordingSummary)
    does = words.what_it_is(summary.card, summary.anatomy, recording=recording)
    first = "" if recording else words.what_to_do(summary.anatomy, whole=whole)
    both = html.escape(f"{does} {first}".rstrip())
    st.html(f'<p class="vt-what" title="{both}"><span>{html.escape(does)}</span> <span>{html.escape(first)}</span></p>')
