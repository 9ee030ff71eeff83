"""What the Layers page says."""

from __future__ import annotations

HOW = (
    "The line is the residual stream: one vector for each token. Each sub-layer reads it and adds to it. In a pre-"
    " norm model the additions pile up, and only what a sub-layer reads is normalised; in a post-norm model the stream"
    " itself is rescaled after each addition. Share added compares lengths: 0 means nothing was added, 1/2 that the"
    " addition is as long as the stream before it. A cosine near 1 means that a sub-layer hardly turned the vector,"
    " but compare it with the baseline: vectors of different tokens may point the same way too (Ethayarajh 2019). A"
    " norm subtracts the mean, divides, and then stretches each feature by its gain and shifts it by its offset. The"
    " logit lens applies the output layer to the residual stream after every layer."
)
NOT = (
    "A row of the logit lens is the answer if the model stopped there, which it was never trained to do. A long vector"
    " is not an important one: two sub-layers may cancel, and the next norm divides lengths away. Single features have"
    " no names; a hidden unit that is silent in one text may be active in another."
)

# ---- columns

BEFORE, AFTER_NORM, ADDED, SHARE, SUM, AFTER, COSINE = (
    "before",
    "after norm",
    "added",
    "share added",
    "sum",
    "after",
    "cosine",
)
CHANGED, ACTIVE, MEAN, BASELINE = "changed", "active units", "mean", "baseline"
COLUMNS = f"Columns: length of the vector; {SHARE} = {ADDED} / ({BEFORE} + {ADDED})."
COLUMNS_OF_A_LAYER = "Columns: length of the vector; changed: length of after minus before (derived)."
LENGTHS = "Lengths are Euclidean norms."
GREY_BAR = "Grey bar: mean share added."
VECTOR_TURNED = "cosine between before and after"

# ---- sentences

_SUM_IS_DRAWN = "the length shown is that of the sum before the norm"
POST_NORM = f"After a post-norm, lengths are nearly constant by construction, so {_SUM_IS_DRAWN}."
POST_NORM_OVER_POSITIONS = f"A norm over positions rescales the stream of the whole text at once: {_SUM_IS_DRAWN}."
BOTH_MEANS = "The curves show the means of A and of B on one scale; tables and tokens are those of A."
ONLY_WHOLE = (
    "This is a recording of what each layer read and returned, and of nothing in between: it has no sub-layers, no"
    " norms and no logit lens."
)
NO_LAYERS = (
    "What layers read and returned was not recorded: no layer of this {} is an entry of a list of modules, called once,"
    " whose vectors are those of the tokens."
)
NOTHING_FINITE = "None of these numbers is finite, so there is nothing to draw."
ROUTER_NONE = "The shares are not the softmax of the numbers, and there are too few to tell which rule they follow"
ROUTER_OWN = "The shares follow from the numbers by a rule of this model’s own, not by their softmax or sigmoids alone"
ONLY_NEAR = "Only tokens near the chosen one"


def joins(part: str, *, pre_norm: bool, reads_memory: bool) -> str:
    """A sub-layer's formula, with its norm where this model has it, and what the columns are."""
    other = ", memory" if reads_memory else ""
    if pre_norm:
        return f"Pre-norm: {AFTER} = {BEFORE} + {part}(norm({BEFORE}){other}). {COLUMNS}"
    return f"Post-norm: {AFTER} = norm({BEFORE} + {part}({BEFORE}{other})). {COLUMNS}"


def baseline(pairs: int) -> str:
    """What the baseline of the cosine is."""
    return (
        "Baseline: cosine between the input at one token and the output at another, averaged over"
        f" {pairs:,} pairs of this text (Ethayarajh 2019)."
    )


def active_units(units: int, never: int, always: int) -> str:
    """How many hidden units are active at no token, and at every one."""
    return (
        f"Of {units:,} hidden units, {never:,} are active at no token of this text and {always:,} at every token."
        " Active: above 0 after the activation."
    )


def norm_formula(formula: str, epsilon: str) -> str:
    """A norm's formula with its numbers."""
    return f"{formula}; ε = {epsilon}. Variances here are divided by d_model."


def whole_text_norm(mean: str, divisor: str) -> str:
    """A norm over the whole text has one mean and one divisor."""
    return (
        f"One mean, {mean}, and one divisor, {divisor}, for all positions of the text, padding included: each token’s"
        " own mean and variance remain."
    )


def norm_checked(gap: str) -> str:
    """How far the recorded output of a norm is from what its formula gives."""
    return (
        "Recomputed from the recorded mean and divisor with this gain and offset, the output matches the recorded one"
        f" to within {gap}."
    )


def other_sub_layers(stack: str) -> str:
    """Why the curves are those of A alone."""
    return f"A and B do not have the same sub-layers in the {stack}: everything here is of A."


def only_whole_layers(why: str) -> str:
    """Why the page has whole layers alone."""
    return f"This model does not tell what each sub-layer adds: {why}. Whole layers are shown instead."


def no_final_norm(model: str) -> str:
    """Why an attention is shown where the final norm was chosen."""
    return f"{model} has no final norm, so an attention is shown."


def some_tokens(which: str, count: int, size: int) -> str:
    """Which tokens the logit lens has, where all take time."""
    return (
        f"Showing {which} {count}: each is compared with {size:,} entries of the vocabulary after each layer. The table"
        " has all."
    )


def lens_cell(final: str, *, writes: bool) -> str:
    """What a cell of the logit lens holds."""
    bold = " Bold: the token that the row writes." if writes else ""
    return (
        "Each cell: the most probable token, its probability (also the shade), and the divergence"
        f" KL({final} ‖ here) in nats.{bold}"
    )


def last_column(same: str) -> str:
    """Whose logits the last column has."""
    return f"The last column is the run’s own logits; recomputed from the stream they are {same}."


def padding_left_out(count: int) -> str:
    """Padding is left out of a table on the page."""
    return f"{count} positions of padding are left out; the table has them."


def first_tokens(shown: int, own: int) -> str:
    """A table on the page has the first tokens."""
    return f"The first {shown} of {own} tokens are shown; the table has all."
