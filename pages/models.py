"""Models: which trained models are there, how good are they, how were they made, and how did they learn?"""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from viz_transformer.checkpoint.contents import Summary
from viz_transformer.checkpoint.saved_traces import RecordingSummary
from viz_transformer.sentences import capitalised
from viz_transformer.train.processes import NEEDS, missing
from viz_transformer.ui.frame import frame, questions, text
from viz_transformer.ui.frame.questions import Question
from viz_transformer.ui.pages.models import architecture_view, model_tabs, new_model_view, question, view, words
from viz_transformer.ui.pages.models.fields import FIELDS
from viz_transformer.ui.session import cached, state

ACROSS = 4
TABS: dict[str, Callable[[Summary], Question | None]] = {
    "card": model_tabs.card,
    "architecture": architecture_view.architecture,
    "curves": model_tabs.curves,
    "data": model_tabs.data,
    "errors": model_tabs.errors,
    "doctor": model_tabs.doctor,
    "new": new_model_view.new_model,
}


def cards() -> None:
    """One card per model; the selected one is framed."""
    selected = state.SHARED.now().checkpoint
    summaries = cached.summaries()
    for start in range(0, len(summaries), ACROSS):
        columns = st.columns(ACROSS, gap="small")
        for column, summary in zip(columns, summaries[start : start + ACROSS], strict=False):
            with column:
                view.card(summary, selected=summary.name == selected)


def tab(shown: str, summary: Summary) -> None:
    """The selected tab with its question, or the sentence that says what is wrong with the file it is made from."""
    if isinstance(summary, RecordingSummary):
        text.paragraph(frame.refuse_recording(summary, words.OF_RECORDING))
        return
    of_files, worked_out = question.at_once(shown, summary), None
    questions.show_question(asked, of_files)
    try:
        with frame.optional_section(words.THIS_TAB):
            worked_out = TABS[shown](summary)
    except ValueError as error:
        text.paragraph(str(error), tone="bad")
    if of_files is None:
        questions.show_question(asked, worked_out or question.untold(shown, summary.name))
    if not frame.has_scenes():
        model_tabs.staged(summary)


frame.title("Models")
asked = questions.place()
chosen = frame.select_summary()
with st.container(horizontal=True, vertical_alignment="center", key="model_add"):
    text.paragraph(f"{words.TABS_OF_ANOTHER}:")
    model_tabs.group(words.TABS_OF_ANOTHER, words.OF_ANOTHER, key="models_add")
with st.container(horizontal=True, vertical_alignment="center", key="model_head"):
    view.name(state.SHARED.now().checkpoint)
    model_tabs.group(words.TABS_OF_THE_MODEL, words.OF_THE_MODEL, key="models_tab")
shown = str(FIELDS.now().model_tab)
for sentence in state.remarks():
    text.paragraph(sentence)
if isinstance(chosen, str):
    text.paragraph(chosen, tone="bad")
if isinstance(chosen, str) or shown == "card":
    with st.container(key="cards"):
        cards()
if not isinstance(chosen, str):
    if shown == "open":
        from viz_transformer.ui.pages.models import open_view  # loads torch

        questions.show_question(asked, open_view.open_model())
    elif shown == "train":
        if missing():
            questions.show_question(asked, question.trained((), possible=False))
            text.paragraph(f"{capitalised(NEEDS)}.", tone="bad")
        else:
            from viz_transformer.ui.pages.models import train_view  # loads torch

            train_view.train_model(asked)
    elif shown == "training":
        from viz_transformer.ui.pages.models import snapshot_view  # loads torch

        TABS["training"] = snapshot_view.training
    if shown in TABS:
        tab(shown, chosen)
    elif not frame.has_scenes():
        st.html('<i class="vt-anchor vt-tools"></i>')
        model_tabs.staged(chosen)
text.explain(words.HOW[shown], words.NOT[shown])
