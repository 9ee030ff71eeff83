"""What people read on the Run page: its labels and sentences, in one place."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from viz_transformer.model.hooked_model import ModelSpec, Scoring
from viz_transformer.sentences import capitalised, count_of, put_on_one_line

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
_MAP_READ = (
    "A row is a token of the text, and a cell is the share that another token has in what this head hands on to it; a"
    " row sums to 1 over the tokens that it may read."
)
HOW_READ = (
    f"{_MAP_READ} The bars are what the output layer gives at the chosen position, as probabilities over the whole"
    " vocabulary. Where a token is masked, the model reads a mask in its place."
)
_LABEL_BARS: Mapping[Scoring, str] = {
    "one": "The bars are the softmax over all labels",
    "each": "Each bar is the sigmoid of its own logit, so the bars need not sum to 1",
    "either": "The bars are the sigmoid of the model's one number, and 1 minus it",
    "number": "The numbers are the logits themselves: this model was trained to give numbers, not labels",
}
TERMS = "Words here: token, step, layer, head, query, key, feed-forward (ff), norm, memory, logits."
FROM_ZERO = " Layers, heads and positions are counted from 0, as in code."


def how_labels(spec: ModelSpec) -> str:
    """How to read the map and the bars beside it, for a model that gives labels."""
    of = "" if spec.output == "class" else ", at the chosen position"
    return f"{_MAP_READ} {_LABEL_BARS[spec.scoring]}{of}."


# What the model is, and what to try first
DOES_KEY, LONGEST_DOES = "does", 120
"""The card's entry on what the model does with a text, as the rest of "This network ..."."""
RECORDED = "A recording of one call of a module: it shows that call, and reads no other text."
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
GIVES = {
    "masked token": "This model fills in masks, and writes nothing.",
    "class": "This model reads a text and gives a class: it writes nothing.",
    "token class": "This model gives each token of a text a label, and writes nothing.",
    "none": "This model reads a text and has no output layer: it gives a vector for each token, and writes nothing.",
}


def what_it_is(card: Mapping[str, Any], spec: ModelSpec, *, recording: bool = False) -> str:
    """What the model does, in a sentence, from its card or else from its spec."""
    if recording:
        return RECORDED
    does = card.get(DOES_KEY)
    if isinstance(does, str) and does.strip():
        return f"This network {put_on_one_line(does, LONGEST_DOES).rstrip('.')}."
    if spec.has_encoder and spec.has_decoder:
        layers = f"{spec.encoder_layers} + {spec.decoder_layers} layers"
        if spec.writes:
            return f"An encoder and a decoder ({layers}): one reads a text, the other writes the answer."
        return f"An encoder and a decoder ({layers}) that read two texts and write nothing."
    name = "An encoder" if spec.has_encoder else "A decoder"
    layers = count_of(spec.encoder_layers or spec.decoder_layers, "layer")
    return f"{name} with {layers} that {'continues text' if spec.writes else _READS[spec.output]}."


def what_to_do(spec: ModelSpec, *, whole: bool) -> str:
    """What to try first in the run overview or in a map."""
    return CLICK if not whole else PLAY if spec.writes else LOOK_INSIDE


def gives_labels(spec: ModelSpec) -> str:
    """What a model that gives labels or numbers does."""
    count = len(spec.labels)
    if spec.scoring == "number":
        return f"This model reads a text and gives {count_of(count, 'number')}: it writes nothing."
    if spec.output == "token class":
        return f"This model gives each token of a text one of {count:,} labels, and writes nothing."
    if spec.scoring == "each":
        return f"This model reads a text and says of each of {count:,} labels whether it fits: it writes nothing."
    return f"This model reads a text and gives it one of {count:,} labels: it writes nothing."


def writes_nothing(why: str) -> str:
    return f"This model writes nothing: {why}."


# The text, and how it is read
SECOND = "A second text, read beside it"
NO_TEXT = "A recording cannot read another text"
EXAMPLES, MORE, ALL_EXAMPLES = "Examples", "More", "All examples for this model"
NUMBER = "Number"
FROM, INTO, USUAL = "From", "Into", "as its folder has it"
SPECIAL_TOKENS = "Special tokens"
SPECIAL = (
    "Read a special token that is typed, such as </s>, as that token. Otherwise it is text like any other, except for"
    " the mask of a model that fills in masks"
)
CHAT_TEMPLATE = "Chat"
CHAT = (
    "Put the text into the model's chat template, as a user's message; the model then writes the answer. The template's"
    " tokens come before the text and after it"
)

# The question


def gave(token: str, probability: str) -> str:
    """The probability of the token that was written."""
    return f"Probability of {token}: {probability}."


def gave_no_number(token: str) -> str:
    return f"The probability of {token} is not a number."


def asks_of_text(text: str) -> str:
    return f"What does the model make of “{text}”?"


def asks_label(token: str) -> str:
    return f"Which label has {token}?"


def label_and_share(label: str, share: str) -> str:
    return f"{label}, {share}"


def answers_labels(found: Sequence[str]) -> str:
    return f"{'; '.join(found)}."


def asks_replacement(side: str, position: int) -> str:
    return f"What would replace the mask at {side} position {position}?"


def replacement(token: str, probability: str, was: str) -> str:
    """The best token in place of the mask; was: the token that was masked, "" for a mask that was typed."""
    masked = f" {was} was masked." if was else ""
    return f"{token}, {probability}.{masked}"


# At a stop of the tour
THIS_TEXT = "this text"
NO_GUESS_OF_TOKEN = "It reads that token itself, so this is no guess: mask it to see one."


def for_text(what: str, answer: str) -> str:
    return f"For {what}: {answer}"


def becomes(tokens: int, numbers: int) -> str:
    return f"This text becomes {count_of(tokens, 'vector')} of {numbers:,} numbers, one for each token."


def fills_mask(position: int, token: str, probability: str) -> str:
    return f"In place of the mask at position {position} it gives {token} {probability}."


def gives_at(read: str, token: str, probability: str) -> str:
    return f"At {read} it gives {token} {probability}. {NO_GUESS_OF_TOKEN}"


# The answer
NOTHING = "(nothing but special tokens)"
GIVEN = "given: "
FORCE, LET_IT_WRITE = "Force an answer", "Let it write"
FORCED = "Teacher forcing: put another answer in place of the model's own, and see its probabilities"
ONE_MAP, WHOLE_RUN = "One map", "Whole run"
REWIND = "Rewind the training"
LABELS_IN_STRIP = "The label of each token is in the row “answers”: click one to choose it."


def label_and_sure(label: str, sure: str) -> str:
    return f"{label} {sure}"


def then(others: Sequence[str], more: int) -> str:
    """The labels that follow, and how many more there are."""
    return f"then {', '.join(others)}{f', and {more:,} more' if more else ''}"


# What there is to say of a run
OF_RECORDING = "Nothing can be written with it, so there are no steps."
COMPUTED = "This run was just computed."
RECORDED_RUN, SOON_LIVE = "Saved run", "A run of this model, saved earlier: yours is computed in a moment."


def live(gap: float) -> tuple[str, Tone, str]:
    """The mark of a live run with its largest difference from the recorded one: a word, its tone, and its tooltip."""
    if math.isinf(gap):
        return "Live, not as recorded", "warning", f"{COMPUTED} It is not the recorded run that was shown first."
    near = f"within {gap:.1e} of" if gap else "identical to"
    said = f"Live, within {gap:.1e}" if gap else "Live"
    return said, "ok", f"{COMPUTED} It is {near} the recorded run that was shown first."


def your_text(text: str) -> str:
    """The text that was typed before another replaced it."""
    return f"Your text: {text}"


def read_so(how: Sequence[str]) -> str:
    return f"The text is read {', '.join(how)}."


def given(log_prob: str, steps: int) -> str:
    """The sentence for a teacher-forced answer, with its log-probability."""
    return (
        "The answer is given: at each step the model reads its tokens, whatever it would have written."
        f" Its log-probability is {log_prob} over {count_of(steps, 'step')}."
    )


def written_by(how: str) -> str:
    return f"Written by: {how}. To change that, go to Decoding."


def kept_out(rules: Sequence[object]) -> str:
    return f"The model's own settings keep tokens out: {', '.join(map(str, rules))}."


def stopped(steps: int, limit: int | None) -> str:
    """Why a run ended without an end token; limit: of a model that has none, in tokens."""
    if limit is not None:
        return f"This model has no end token; it stopped after {steps} steps, at its limit of {limit} tokens."
    return f"The model stopped at its maximum of {steps} steps, without an end token."


# Masks, and what the model puts in their place
CLICK_TO_MASK = "Click to mask:"
MASKED_TOKENS = "Masked tokens"
CHOOSE_TO_MASK = "Choose a token of the text to mask it."
OVER_VOCABULARY = "Probabilities are over the whole vocabulary"
MASK_OF_TEXT = "The mask is part of the text itself, so the right token is not known."
NO_GUESS = "The model reads the token at this position, so this is no guess: mask it to see one."


def mask_button(token: str, masked: bool) -> str:
    return f"{'Show' if masked else 'Mask'} {token}"


def filling_title(position: int, masked: bool) -> str:
    return f"{'In place of the mask' if masked else 'Output'} at position {position}"


def was_masked(token: str, probability: str, better: int) -> str:
    """The probability of the token that was masked; better: how many tokens have a larger one."""
    more = "no token gets more" if not better else f"{better:,} token{' gets' if better == 1 else 's get'} more"
    return f"{token} was masked here: it gets {probability}; {more}."


# Labels
LABELS, NUMBERS, BARS_ARE_LABELS = "Labels", "Numbers", "labels"
OVER_LABELS, BY_ITSELF = "Probabilities over all labels", "Each label by itself"


def labels_title(numbers: bool, position: int | None) -> str:
    where = "" if position is None else f" at position {position}"
    return f"{NUMBERS if numbers else LABELS}{where}"


def not_drawn(count: int) -> str:
    return f"{count:,} more are not drawn; Tensors has all logits."


def bars_note(caption: str, note: str) -> str:
    return f"{caption}. {note}."


# The steps
CANDIDATES = "candidates"


def candidates_note(caption: str) -> str:
    return f"{caption}. {OVER_VOCABULARY}."


# The whole run, and its tables
IN_WHOLE = "whole run"
MEAN_OF_HEADS = "the mean of the heads"
SUB_LAYER, MAX_ATTENDED, WEIGHT, SHARE_ADDED = "sub-layer", "attends most to", "weight", "share added"
VECTOR, LENGTH = "vector", "length"
VECTORS = {"before": "before", "in": "after norm", "out": "added", "total": "sum", "after": "after"}
"""The vectors of a sub-layer; in a post-norm model it reads the stream as it is, which is `READ`."""
READ = "read"
MASKED_NOT_READ, RESULT = "masked, not read", "product or result"


def not_in_one_picture(why: str) -> str:
    return f"{capitalised(why)}: the whole run cannot be drawn in one picture."


def attention(stack: str, layer: int, part: str, head: int) -> str:
    return f"{stack} layer {layer}, {part}, head {head}"


def whole_of(level: str) -> str:
    """The picture's name, with the level that it shows; "" for the whole run."""
    return f"{IN_WHOLE}, {level}" if level else IN_WHOLE


def picture_note(caption: str, what: str) -> str:
    return f"{caption}. {what}"


def head(number: int) -> str:
    return f"head {number}"


def layer(stack: str, number: int) -> str:
    return f"{stack} layer {number}"


def one_weight(attention: str) -> str:
    return f"{attention}, one weight"


def token_at(token: str, position: int) -> str:
    return f"“{token}”, position {position}"


def run_table(heads: str) -> str:
    return f"What each sub-layer does at the last token read. Attention: {heads}."


def layer_table(token: str) -> str:
    return f"The vectors of each sub-layer at {token}, with the features that are drawn."


def keys_table(token: str) -> str:
    return f"The keys of {token}."


def weight_table(attention: str, query: str, key: str) -> str:
    return f"{capitalised(attention)}: query {query}, key {key}."


def in_file_name(query: int, key: int | None = None) -> str:
    """The part of a table's file name that gives its position in the texts."""
    return f"row {query}" if key is None else f"row {query} key {key}"
