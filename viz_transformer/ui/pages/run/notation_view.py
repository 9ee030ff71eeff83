"""Whether the text is written as the model's training texts were; if not, the same in that notation, to click."""

from __future__ import annotations

import streamlit as st

from viz_transformer.checkpoint.contents import Summary
from viz_transformer.sentences import capitalised, shortened
from viz_transformer.text.notation import CARD_KEY, read_notation
from viz_transformer.ui.frame import text
from viz_transformer.ui.session import state

LONGEST_LABEL = 60


def show(summary: Summary) -> None:
    """One button that puts the offered text into the box, a sentence, both, or nothing for a text as in training.

    Nothing is changed unasked: the text is run as it was typed. A card that states a notation which cannot be read is
    answered by a sentence.
    """
    if CARD_KEY not in summary.card:
        return
    with st.container(key="notation", width="content"):
        try:
            notation = read_notation(summary.card)
        except ValueError as error:
            text.paragraph(f"{capitalised(error)}.")
            return
        assert notation is not None
        reading = notation.read(state.SHARED.now().text)
        if reading.offered is not None:
            st.button(
                text.literal(f"{reading.lead}: {shortened(reading.offered, LONGEST_LABEL)}"),
                key="run_notation",
                on_click=take,
                args=(reading.offered,),
            )
        if reading.said:
            text.paragraph(reading.said)


def take(offered: str) -> None:
    state.select(text=offered)
