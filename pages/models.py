"""Models: which trained models are there, how good are they, how were they made, and how did they learn?"""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from viz_transformer.checkpoint.contents import Summary
from viz_transformer.checkpoint.recordings import RecordingSummary
from viz_transformer.sentences import capitalised
from viz_transformer.train.processes import NEEDS, missing
from viz_transformer.ui.frame import frame, questions, text
from viz_transformer.ui.frame.questions import Question
from viz_transformer.ui.pages.models import architecture_view, model_tabs, new_model_view, question, view
from viz_transformer.ui.session import cached, state

HOW = {
    "card": "Exact match is the share of test texts that the model wrote letter by letter as asked, with the 95 %"
    " interval that this number of pairs allows. BLEU and chrF, from 0 to 100, say how many sequences of words and of"
    " letters the answers share with the references; a beam search finds other answers than greedy decoding. Loss is"
    " the plain negative log-likelihood of the given targets, without smoothing. The command measures it again. “Files"
    " as its card says”: settings, vocabularies and weights have the checksums that the card states.",
    "architecture": "A block of the figure is a part of the model, with what it holds; the parameters of all parts are"
    " added up, and their sum is held against the file. Of a folder of transformers, those norms and sums are drawn"
    " that a trial pass has shown, number by number.",
    "curves": "Loss is the plain negative log-likelihood of the given targets, without smoothing; perplexity is e to"
    " the power of it.",
    "data": "What the card states of the texts that the model learned from and was tested on; what it does not state is"
    " said to be missing.",
    "errors": "The answer stands under what was asked for; what differs is marked in both.",
    "doctor": "The Doctor works out each of its checks on the loaded model, and says so where a question cannot be"
    " answered.",
    "open": "The layout is known by the names of the tensors; what is read, what the layout says and what is only"
    " usual stand apart. A tensor that has no place stops it, and so does a part of the model that no tensor fills.",
    "train": "Both losses are negative log-likelihoods in nats per token, on samples that stay the same: one of what it"
    " learns from, one of what it does not. “Exactly right” counts answers that the model writes by itself. Each"
    " snapshot writes the example anew.",
    "new": "A new model has random weights from its seed; every page shows it as it shows a trained one.",
    "training": "A snapshot holds the weights as they were at one step of the training; each writes the same text.",
}
NOT = {
    "card": "A number holds for texts like those it was measured on. Two models whose intervals overlap may be equally"
    " good. A green badge says that the files are those of the card, not that the model is good.",
    "architecture": "More parameters do not make a better model.",
    "curves": "A lower loss is not always a better answer: each token is asked for after the right ones.",
    "data": "A number holds for texts like those it was measured on.",
    "errors": "A few examples, right or wrong, say less than the interval on the card. A translation that differs from"
    " the reference may be as good as it.",
    "doctor": "A check that is fine says that the model does what one of its kind has to do, not that its answers are"
    " good.",
    "open": "A file that fits is not yet read right: shapes tell neither heads nor activation. The model’s own words"
    " for a text that you know are the first test, a sample is the proof.",
    "train": "A validation loss that rises while the training’s falls says that it learns by heart; the weights that"
    " are kept are the best on the validation data. Fifty pairs say little: the card has the share of all test pairs,"
    " with its interval.",
    "new": "What it writes and where it looks is chance: nothing was learned.",
    "training": "One sentence at all snapshots shows how this sentence was learned, not how the task was.",
}
OF_RECORDING = "It has no parameters, no training and no measurements."
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
        text.paragraph(frame.recorded(summary, OF_RECORDING))
        return
    of_files, worked_out = question.at_once(shown, summary), None
    questions.show(asked, of_files)
    try:
        with frame.told("what stands here"):
            worked_out = TABS[shown](summary)
    except ValueError as error:
        text.paragraph(str(error), tone="bad")
    if of_files is None:
        questions.show(asked, worked_out or question.untold(shown, summary.name))
    if not frame.has_scenes():
        model_tabs.staged(summary)


frame.title("Models")
asked = questions.place()
chosen = frame.selected()
with st.container(horizontal=True, vertical_alignment="center", key="model_head"):
    view.name(state.SHARED.now().checkpoint)
    shown = model_tabs.choice()
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

        questions.show(asked, open_view.open_model())
    elif shown == "train":
        if missing():
            questions.show(asked, question.trained((), possible=False))
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
text.explained(HOW[shown], NOT[shown])
