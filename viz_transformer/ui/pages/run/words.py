"""What *Run* says: its sentences, and the small functions that put numbers and names into them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from viz_transformer.model.instrument import Anatomy
from viz_transformer.sentences import counted, in_one_line

if TYPE_CHECKING:
    from viz_transformer.ui.frame.text import Tone

DOES_KEY, LONGEST_DOES = "does", 120
"""The entry of a card that says what the model does with a text, as the rest of "This network ..."."""
RECORDED = "A recording of one call of a module: it shows that call, and reads no other text."
FROM_ZERO = " Layers, heads and positions are counted from 0, as in code."
ALL_EXAMPLES = "All examples for this model"
COMPUTED = "This run was just computed."
RECORDED_RUN = "Recorded run, soon live"
LOOK_INSIDE, PLAY, CLICK = (
    "Double-click to look inside.",
    "Press play, or double-click to look inside.",
    "Click any cell.",
)
_READS = {
    "masked token": "fills in masks",
    "class": "labels a text",
    "token class": "labels each token of a text",
    "none": "reads a text and gives a vector for each token",
}


def what_it_is(card: Mapping[str, Any], anatomy: Anatomy, *, recording: bool = False) -> str:
    """What the model does, in a sentence: as its card says it, else as its anatomy tells."""
    if recording:
        return RECORDED
    does = card.get(DOES_KEY)
    if isinstance(does, str) and does.strip():
        return f"This network {in_one_line(does, LONGEST_DOES).rstrip('.')}."
    if anatomy.has_encoder and anatomy.has_decoder:
        layers = f"{anatomy.encoder_layers} + {anatomy.decoder_layers} layers"
        if anatomy.writes:
            return f"An encoder and a decoder ({layers}): one reads a text, the other writes the answer."
        return f"An encoder and a decoder ({layers}) that read two texts and write nothing."
    name = "An encoder" if anatomy.has_encoder else "A decoder"
    layers = counted(anatomy.encoder_layers or anatomy.decoder_layers, "layer")
    return f"{name} with {layers} that {'continues text' if anatomy.writes else _READS[anatomy.output]}."


def what_to_do(anatomy: Anatomy, *, whole: bool) -> str:
    """What to try first, of the picture of the whole run or of a map."""
    return CLICK if not whole else PLAY if anatomy.writes else LOOK_INSIDE


def live(gap: float) -> tuple[str, Tone, str]:
    """That the run is live, in a word, and beside the recorded one, whose largest difference it is; its tone and what a
    pointer over it is told."""
    if math.isinf(gap):
        return "Live, not as recorded", "warning", f"{COMPUTED} It is not the recorded run that was shown first."
    near = f"within {gap:.1e} of" if gap else "identical to"
    said = f"Live, within {gap:.1e}" if gap else "Live"
    return said, "ok", f"{COMPUTED} It is {near} the recorded run that was shown first."
