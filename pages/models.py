"""Models: which trained models are there, how good are they, and how were they made?"""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from viz_transformer import describe
from viz_transformer.checkpoint.contents import Summary
from viz_transformer.ui import cached, frame, model_view, state, text

HOW = (
    "Exact match is the share of test texts that the model wrote letter by letter as asked, with the 95 % interval that"
    " this number of pairs allows. BLEU and chrF, from 0 to 100, say how many sequences of words and of letters the"
    " answers share with the references; a beam search finds other answers than greedy decoding. Loss is the plain"
    " negative log-likelihood of the given targets, without smoothing. The command measures it again."
)
NOT = (
    "A number holds for texts like those it was measured on. Two models whose intervals overlap may be equally good. A"
    " few examples, right or wrong, say less than the interval. A translation that differs from the reference may be as"
    " good as it."
)
WRITES_ON = (
    "This model goes on writing from any text: there is no right answer. The Run page has beginnings to start it with."
)
ACROSS = 3
EXAMPLES = 200
SHOWN = 6


def cards() -> None:
    """One card per model; the selected one is framed."""
    selected = state.selection()["checkpoint"]
    summaries = cached.summaries()
    for start in range(0, len(summaries), ACROSS):
        columns = st.columns(ACROSS, gap="medium")
        for column, summary in zip(columns, summaries[start : start + ACROSS], strict=False):
            with column:
                model_view.card(summary, selected=summary.name == selected)


def loss(summary: Summary) -> None:
    """Training and validation loss against the steps."""
    from viz_transformer.analysis.training import loss_history
    from viz_transformer.figures import loss_curves

    curves = loss_history(summary.history())
    if curves:
        figure = loss_curves(curves, title="Loss while it was trained", theme=frame.theme())
        frame.chart(figure, key="models_loss", alt="Training and validation loss by step, both axes logarithmic")
    else:
        text.paragraph("No history was kept with this model.")


def answers(summary: Summary) -> None:
    """Test pairs that the model has just been run on, those first whose answers are not as asked for."""
    place = frame.place("examples")
    status = place.empty()
    if summary.config.kind == "decoder-only":
        frame.say(status, WRITES_ON)
        return
    available = min(len(summary.examples()), EXAMPLES)
    if not available:
        frame.say(status, "No example pairs were kept with this model.")
        return
    with frame.waiting(f"Running the model on {available} test pairs ...", status):
        done = cached.example_answers(summary, available)
    status.empty()
    translates = any(describe.measured(entry, "bleu") is not None for entry in describe.metrics(summary.card))
    with place:
        text.paragraph(model_view.answer_lines(done, translates=translates))
        model_view.answer_tables(done, SHOWN, translates=translates)


def origin(summary: Summary) -> None:
    """Data, licences, and the commands that made and measured the model."""
    text.section("Where it comes from")
    text.definitions(model_view.origin_rows(summary.card))
    for note in summary.card.get("notes") or ():
        text.paragraph(str(note))
    command("Trained with", summary.card.get("training_command"))
    for entry in describe.metrics(summary.card):
        command("Measured with", entry.get("command"))


def command(label: str, line: object) -> None:
    if line:
        text.paragraph(label)
        st.code(str(line), language=None, wrap_lines=True)


def part(show: Callable[[Summary], None], summary: Summary) -> None:
    """A part of the page, or the sentence that says what is wrong with the file it is made from."""
    try:
        show(summary)
    except ValueError as error:
        text.paragraph(str(error), tone="bad")


frame.title("Models")
cards()
for sentence in state.remarks():
    text.paragraph(sentence)
chosen = frame.selected()
if isinstance(chosen, str):
    text.paragraph(chosen, tone="bad")
else:
    st.header(chosen.name, anchor=False)
    left, right = st.columns([5, 3], gap="medium")
    with left.container(key="loss"):
        part(loss, chosen)
    with right:
        text.section("Configuration")
        text.definitions(model_view.config_rows(chosen.config, chosen.codecs))
    left, right = st.columns([5, 3], gap="medium")
    with right:
        origin(chosen)
        text.explained(HOW, NOT)
    with left:
        text.section("Examples")
        part(answers, chosen)
