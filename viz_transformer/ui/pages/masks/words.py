"""What the Masks page says."""

from __future__ import annotations

from viz_transformer.analysis.masks.parts import ClosedIs

HOW = (
    "Hatched cells are blocked, coloured ones are allowed: the query of the row may attend to the key of the column."
    " Padding blocks tokens that only fill a batch up to equal length, causality blocks later tokens in the decoder,"
    " and what both allow is passed to the softmax. Click a cell of the mask after to open or close it in every layer"
    " and head; the run below is then one pass over the same tokens with that mask. In the influence matrix a column"
    " is a token that was swapped for others, a row the logits at a position, and a number the largest change of one"
    " of them. A triangle means no peeking: zero there is exact."
)
NOT = (
    "A changed output is not yet a leak: a decoder may react to every earlier token. A leak is a change of the logits"
    " at a position when a later token is swapped. A triangle on one text proves nothing about others, and a large"
    " change says nothing about better or worse. {} Opening a cell of a trained model is not the same as training"
    " without the mask."
)
BECOMES: dict[ClosedIs, str] = {
    "zeros": "all zeros",
    "even": "uniform over all keys, closed ones too",
    "uneven": "spread unevenly over all keys, closed ones too",
    "not a number": "NaN",
}
"""What a row of weights is that may attend to nothing."""
ASKS = "Why does this cell have its weight?"
"""Where the page shows another number, or none."""
FILL_MEANINGS = {
    "zero-rows": "closed keys are left out of the softmax; a row without any key is all zeros",
    "-inf": "closed scores become −inf",
    "-1e9": "closed scores become −1e9",
    "-1e10": "closed scores become −1e10",
    "added-1e9": "−1e9 is added to closed scores, which float32 rounds to multiples of 64 there: small ones are lost",
}
RULE_NOTES = {
    "key": "padded keys are closed",
    "key-or-query": "closed for padded keys and queries",
    "key-or-query-swapped-cross": "as key or query; in cross-attention both sides swapped",
}
BLOCKS_NOTHING = "blocks nothing here"
LATER_KEYS = "later keys are closed"
ALL_OF_THE_SOURCE = "none: all of the source is there"
BOTH_ALLOW = "allowed where both allow"
TO_THE_SOFTMAX = "passed to the softmax"
EVERYWHERE = "In every layer and head: a model makes one mask for each kind of attention."
NOTHING_CHANGED = "No cell has been changed."
NO_ROLLOUT = "Rollout joins all layers and is not one head's map: choose a head, the mean or the maximum"
PLAIN_SIZE = "A plain size has no scores: they are taken as equal, and each of n open keys has weight 1/n."
OWN_MASKS = "These are the model's own masks: open or close a cell, or choose another fill or padding rule."
NO_LOGIT_CHANGED = "No logit changed, not by a single bit."
FILL_TABLE = ("fill", "what is done", "this row, with its mask", "the same row with every key closed")
FILLS = "What the fill makes of a row"
NO_LOGITS = "A plain size has no logits to watch: choose Texts to see who reads the future."
COMPUTE = "Compute it"
HATCHED = "Hatched: a later token, which a decoder must not read. A hatched cell with colour is a leak."
HOW_FOUND = "How it was found"
PADDING_NOT_SWAPPED = "Padding is neither swapped nor watched."
OTHERS_DEPEND = (
    "The check when the model was loaded, which also writes padding into the text, found rows that depend on later"
    " tokens: on this text they do not."
)


def convention(closed: ClosedIs | None) -> str:
    """What becomes of a row that may attend to nothing: in this model, if that is known, and elsewhere."""
    said = "What becomes of a row that may attend to nothing is a convention of the program, not a fact about language:"
    others = "zeros, NaN, a uniform row or one of rounded scores"
    if closed is None:
        return f"{said} {others}."
    return f"{said} in this model, with its own mask fill, it is {BECOMES[closed]}; other programs make it {others}."


def takes(trials: int, length: int) -> str:
    """How long the influence matrix takes."""
    return f"This takes {trials:,} passes over {length} tokens: a few seconds."


def largest_change(change: str, position: int) -> str:
    """How far the logits moved."""
    return f"The largest change of a logit is {change}, at position {position}."


def lost(rows: int, of: int) -> str:
    """In how many rows the logits are no numbers any more."""
    return f"In {rows} of {of} rows the logits are no longer numbers: NaN spreads from a row to all that read it."
