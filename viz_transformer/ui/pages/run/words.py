"""What *Run* says: its sentences, and the small functions that put numbers and names into them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from viz_transformer.model.instrument import Anatomy
from viz_transformer.sentences import counted, in_one_line

if TYPE_CHECKING:
    from viz_transformer.ui.frame.text import Tone

HOW = (
    "A row is one step: it reads the token on the left and writes the one on the right. A cell is the share that a"
    " token has in what this head hands on; a row sums to 1 over the tokens that it may read, if there are any. The"
    " bars are probabilities over the whole vocabulary, before anything is chosen."
)
DRAWN = (
    "Read left to right, in the order it is computed. Each strip is a vector of the residual stream (a sample of its"
    " numbers), a ribbon is as wide as an attention weight, and the bar in a sub-layer shows how much it added"
)
MOVES = (
    " Double-click, or use the wheel or +, to zoom in: to a layer, an attention, one weight and its multiplications."
    " Escape or − zooms out. Space plays, the arrow keys move between neighbours, and a click selects an attention on"
    " all pages."
)
WHOLE = f"{DRAWN}. The bars on the right are probabilities; the token written is read at the next step.{MOVES}"
WHOLE_READ = f"{DRAWN}. Nothing is written.{MOVES}"
NOT = (
    "A large weight is neither a translation link nor a cause of the answer. A probability is the model's, not the"
    " chance of being right. A mean over heads is not the attention of any head."
)
HOW_READ = (
    "A row is a token of the text, and a cell is the share that another token has in what this head hands on to it; a"
    " row sums to 1 over the tokens that it may read. The bars are what the output layer gives at the chosen position,"
    " as probabilities over the whole vocabulary. Of a token that is masked the model reads a mask."
)
GIVES = {
    "masked token": "This model fills in masks, and writes nothing.",
    "class": "This model reads a text and gives a class: it writes nothing.",
    "token class": "This model gives each token of a text a label, and writes nothing.",
    "none": "This model reads a text and has no output layer: it gives a vector for each token, and writes nothing.",
}
SECOND = "A second text, read beside it"
NO_TEXT = "A recording cannot read another text"
OF_RECORDING = "Nothing can be written with it, so there are no steps."
FORCE, LET_IT_WRITE = "Force an answer", "Let it write"
FORCED = "Teacher forcing: put another answer in the place of the model's own, and see its probabilities"
ONE_MAP, WHOLE_RUN = "One map", "Whole run"
USUAL = "as its folder has it"
SPECIAL = (
    "Read a special token that is typed, such as </s>, as that token. Otherwise it is text like any other, except for"
    " the mask of a model that fills in masks"
)
CHAT = (
    "Put the text into the model's chat template, as a user's message; the model then writes the answer. The template's"
    " tokens come before the text and after it"
)
DOES_KEY, LONGEST_DOES = "does", 120
"""The entry of a card that says what the model does with a text, as the rest of "This network ..."."""
RECORDED = "A recording of one call of a module: it shows that call, and reads no other text."
TERMS = "Words here: token, step, layer, head, query, key, memory, logits."
FROM_ZERO = " Layers, heads and positions are counted from 0, as in code."
ALL_EXAMPLES = "All examples for this model"
COMPUTED = "This run was just computed."
RECORDED_RUN, SOON_LIVE = "Recorded", "A recorded run of this model; the live one comes in a moment."
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


def read_so(how: Sequence[str]) -> str:
    return f"The text is read {', '.join(how)}."


def given(log_prob: str, steps: int) -> str:
    """That the answer is teacher-forced, and its log-probability."""
    return (
        "The answer is given: at each step the model reads its tokens, whatever it would have written."
        f" Its log-probability is {log_prob} over {counted(steps, 'step')}."
    )


def written_by(how: str) -> str:
    return f"Written by: {how}. Decoding chooses that."


def kept_out(rules: Sequence[object]) -> str:
    return f"The model's own settings keep tokens out: {', '.join(map(str, rules))}."


def stopped(steps: int, limit: int | None) -> str:
    """Why a run ended without an end token; limit: of a model that has none, in tokens."""
    if limit is not None:
        return f"This model has no end token; it stopped after {steps} steps, at its limit of {limit} tokens."
    return f"The model stopped at its maximum of {steps} steps, without an end token."
