"""What people read on the Layers page: its labels and sentences, in one place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from viz_transformer.sentences import capitalised, join_names

if TYPE_CHECKING:
    from viz_transformer.analysis.layers.experts import Measure

HOW = (
    "The line is the residual stream: one vector for each token. Each sub-layer reads it and adds to it. In a"
    " pre-norm model the additions pile up, and only what a sub-layer reads is normalised; in a post-norm model the"
    " stream itself is rescaled after each addition. Share added compares lengths: 0 means nothing was added, 1/2 that"
    " the addition is as long as the stream before it. A cosine near 1 means that a sub-layer hardly turned the vector,"
    " but compare it with the baseline: vectors of different tokens may point the same way too (Ethayarajh 2019). A"
    " norm subtracts the mean, divides, and then stretches each feature by its gain and shifts it by its offset. The"
    " logit lens applies the output layer to the residual stream after every layer."
)
NOT = (
    "A cell of the logit lens is what the model would answer if it stopped there, which it was never trained to do. A"
    " long vector need not be an important one: two sub-layers may cancel each other out, and the next norm removes the"
    " length. Single features have no names; a hidden unit that is silent in one text may be active in another."
)
NEEDS_NORMS = "the gain and offset of its norms"
NEEDS_OUTPUT = "how its stream is read out"

# The question
NOT_A_NUMBER_AT_THE_END = "None: at the end its probability is not a number."


def settles(token: str) -> str:
    return f"From which layer on is {token} the most probable token?"


def never_settles(end: str, other: str) -> str:
    return f"None: at the end it has {end}, and {other} has more."


def tied(others: Sequence[str], most: int) -> str:
    """The tokens that are as probable, `most` of them by name; "" for none."""
    names = [", ".join(others[:most]), "others"] if len(others) > most else others
    return f", as probable as {' and '.join(names)}" if names else ""


def settled_from_the_start(station: str, end: str, ties: str) -> str:
    return f"From the {station} on: {end} at the end{ties}."


def settled(station: str, before: str, end: str, ties: str) -> str:
    return f"From {station} on: {before} before it, {end} at the end{ties}."


def changed_most(stack: str, token: str) -> str:
    return f"Which part of the {stack} changed {token} most?"


def added_most(place: str, share: str) -> str:
    return f"{capitalised(place)}: its share added is {share}."


def turned_most(stack: str, token: str) -> str:
    return f"Which layer of the {stack} turned {token} most?"


def turned(layer: int, cosine: str) -> str:
    return f"Layer {layer}: the cosine between its input and its output is {cosine}."


# At its stop of the tour
NO_SHARE = "What the layers add at the chosen token is not a number."
IS_MEMORY = "What comes out is the memory, which the decoder reads."


def adds_most(stack: str, sub_layers: int, part: str, layer: int, token: str, share: str) -> str:
    return (
        f"Of the {stack}’s {sub_layers} sub-layers, {part} in layer {layer} adds most at {token}: {share}"
        " (length of the addition relative to stream + addition)."
    )


def lens_token(token: str, probability: str) -> str:
    return f"{token} ({probability})"


def lens_reads(found: Sequence[tuple[str, str]]) -> str:
    """What the logit lens reads, and after which station."""
    return f"The logit lens reads {', and '.join(f'{token} after {station}' for token, station in found)}."


# Tables by token
TOKEN, MEAN, BASELINE = "token", "mean", "baseline"
BEFORE, AFTER_NORM, ADDED, SHARE = "before", "after norm", "added", "share added"
SUM, AFTER, COSINE, CHANGED, ACTIVE = "sum", "after", "cosine", "changed", "active units"
NAN, UNDEFINED = "NaN", "–"
COLUMNS = f"Columns: length of the vector; {SHARE} = {ADDED} / ({BEFORE} + {ADDED})."
LENGTHS = "Lengths are Euclidean norms."
SUB_LAYER, LAYER = "sub-layer", "layer"


def heading(name: str, run: str) -> str:
    """The heading of a part, with the run whose numbers these are where there are two; else `run` is ""."""
    return f"{capitalised(name)}, of {run}" if run else capitalised(name)


def padding_left_out(count: int) -> str:
    return f"{count} positions of padding are left out; the table has them."


def first_tokens(shown: int, own: int) -> str:
    return f"The first {shown} of {own} tokens are shown; the table has all."


def lengths_note(caption: str) -> str:
    return f"{caption}. {LENGTHS}"


# The sub-layers of the model, and the selected one
GREY_BAR = "Grey bar: mean share added."


def no_final_norm(model: str) -> str:
    """Why an attention is shown where the final norm was chosen."""
    return f"{model} has no final norm, so an attention is shown."


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


# Its router
EXPERT, ROUTER_NUMBER, SHARE_IN_SUM, NOT_CHOSEN = "expert", "router’s number", "share in the sum", "not chosen"
NUMBER, EXPERT_SHARE = "number", "share"
MEASURES: Mapping[Measure | None, str] = {"softmax": "probability", "sigmoid": "sigmoid", None: "softmax"}
"""What measures an expert: a probability where the rule is a softmax; sigmoids of all experts do not sum to 1."""
_OTHERS: Mapping[Measure | None, str] = {
    "softmax": "the most probable others",
    "sigmoid": "the others with the largest sigmoids",
    None: "the others with the largest softmax",
}
RULE_UNKNOWN = "The shares are not the softmax of the numbers, and there are too few to tell which rule they follow"
RULE_ITS_OWN = (
    "The shares follow from the numbers by a rule of this model’s own, not by their softmax or sigmoids alone"
)


def router_heading(token: str, position: int) -> str:
    return f"Router: the experts of “{token}”, position {position}"


def router_of(place: str) -> str:
    return f"{place}: router"


def _computed(measure: Measure | None, experts: int) -> str:
    if measure == "sigmoid":
        return (
            f"the sigmoid of each of the router’s numbers by itself, computed here; those of all {experts} experts need"
            " not sum to 1"
        )
    return f"the softmax of the router’s numbers over all {experts} experts, computed here"


def router_note(caption: str, measure: Measure | None, experts: int) -> str:
    return f"{caption}. Number and share as recorded; {MEASURES[measure]}: {_computed(measure, experts)}."


def experts_shown(shown: int, count: int, measure: Measure | None) -> str:
    return f"{shown} of {count} experts are shown: the chosen ones and {_OTHERS[measure]}."


def rule(measure: Measure, factor: str, among: bool) -> str:
    """How the shares of this text follow from the router's numbers; factor: "" for 1."""
    times = f"{factor} times " if factor else ""
    one, all_of = {
        "softmax": ("probability of its expert", "probabilities of the chosen experts"),
        "sigmoid": ("sigmoid of its expert’s number", "sigmoids of the chosen experts’ numbers"),
    }[measure]
    made = f"The shares are {times}the {all_of}, divided by their sum" if among else f"Each share is {times}the {one}"
    return f"{made}, at every token of this text"


def has_experts(token: str, experts: Sequence[str]) -> str:
    if not experts:
        return f"“{token}” has no expert here: none adds anything to its stream."
    return f"“{token}” has {'expert' if len(experts) == 1 else 'experts'} {join_names(experts)}."


def measured(measure: Measure | None, experts: int) -> str:
    """What the bars are, beside what was recorded."""
    return f"The bar is the {MEASURES[measure]}: {_computed(measure, experts)}. Number and share are recorded."


def busiest(expert: int, chosen: int, tokens: int, never: int, experts: int) -> str:
    """Which expert is chosen for most tokens, and how many experts are never chosen."""
    idle = "every expert is chosen at least once"
    if never:
        idle = f"{never} of {experts} experts {'is' if never == 1 else 'are'} never chosen"
    return f"Expert {expert} is chosen most often, for {chosen} of {tokens} tokens; {idle}."


# Along the stream
VECTOR_TURNED = "cosine between before and after"
STREAM_LENGTH = "length of the stream"
INPUT = "input"
STREAM = {
    "came": BEFORE,
    "read": AFTER_NORM,
    "added": ADDED,
    "total": SUM,
    "left": AFTER,
    "share": SHARE,
    "cosine": COSINE,
}
"""Columns of the table of the whole stream; in a post-norm model a sub-layer reads the stream itself: `READ`."""
READ = "read"
_SUM_IS_DRAWN = "the length shown is that of the sum before the norm"
POST_NORM = f"After a post-norm, lengths are nearly constant by construction, so {_SUM_IS_DRAWN}."
POST_NORM_OVER_POSITIONS = f"A norm over positions rescales the stream of the whole text at once: {_SUM_IS_DRAWN}."
BOTH_MEANS = "The curves show the means of A and of B on one scale; tables and tokens are those of A."


def layer(number: int) -> str:
    return f"layer {number}"


def token_at(position: int, token: str) -> str:
    return f"token {position}: {token}"


def mean_of(run: str) -> str:
    return f"mean of {run}"


def stream_title(stack: str) -> str:
    return f"Along the {stack}'s stream"


def stream_alt(stack: str) -> str:
    return f"Length of the {stack}'s stream, share added and cosine at each sub-layer"


def the_stream(stack: str) -> str:
    return f"the stream of the {stack}"


def stream_note(caption: str) -> str:
    return f"{caption}. All numbers of all tokens and sub-layers."


def other_sub_layers(stack: str) -> str:
    """Why the curves are those of A alone."""
    return f"A and B do not have the same sub-layers in the {stack}: all numbers here are A’s."


# The logit lens
LENS = "logit lens"
READS, WRITES = "reads", "writes"
EMBEDDING = "embedding"
NO_NUMBER = "not a number"
ONLY_NEAR = "Only tokens near the chosen one"
FINAL, LAST_PASS, LAST_LAYER = "final", "last pass", "last layer"
STATION, BEST_TOKEN, PROBABILITY, DIVERGENCE = "station", "best token", "probability", "divergence"
WRITTEN_TOKEN, ITS_PROBABILITY, ITS_RANK = "written token", "its probability", "its rank"


def lens_note(caption: str, of: str) -> str:
    return f"{caption}. Divergence: from the distribution of the {of}, in nats; rank 0: most probable."


def some_tokens(first: int, last: int, count: int, size: int) -> str:
    """Which tokens the logit lens has, where all take time."""
    which = f"token {first}" if first == last else f"tokens {first} to {last}"
    return (
        f"Showing {which} of {count}: each is compared with {size:,} entries of the vocabulary after each layer. The"
        " table has all."
    )


def all_tokens(count: int) -> str:
    return f"All {count} tokens"


def lens_cell(final: str, *, writes: bool) -> str:
    """What a cell of the logit lens holds."""
    bold = " Bold: the token that the row writes." if writes else ""
    return (
        "Each cell: the most probable token, its probability (also the shade), and the divergence"
        f" KL({final} ‖ here) in nats.{bold}"
    )


def equal(gap: str) -> str:
    """How near logits are that were computed again; gap: "" for no difference."""
    return f"equal to within {gap}" if gap else "exactly equal"


def last_column(same: str) -> str:
    """Whose logits the last column has."""
    return f"The last column is the run’s own logits; recomputed from the stream they are {same}."


def last_columns(station: str, same: str, other: int, rows: int) -> str:
    """Whose logits the last two columns have, where a pass wrote only one token; other: rows with another token."""
    return (
        f"The streams are those of the last pass, and so are the logits of {station}; recomputed from the stream they"
        f" are {same}. The run's own logits are those of the step that wrote the token, in the last column: in {other}"
        f" of {rows} {'row' if rows == 1 else 'rows'} another token is most probable there."
    )


def final_station(station: str, final: str) -> str:
    return f"{station} = {final}"


def mean_divergence(mean: str) -> str:
    return f"mean KL {mean}"


# A norm
GAIN_AND_OFFSET = "Gain and offset"
NORM_STAGES, MOMENTS = ("before", "normalised", "after"), ("mean", "variance")


def norm_formula(formula: str, epsilon: str) -> str:
    """A norm's formula with its numbers."""
    return f"{formula}; ε = {epsilon}. Variances here are divided by d_model."


def norm_note(caption: str, reads: str, gives: str) -> str:
    return f"{caption}. Before: {reads}; after: {gives}."


def gain_alt(norm: str) -> str:
    return f"Gain and offset of the {norm}, by feature"


def gain_caption(run: str, norm: str) -> str:
    return f"{run}, {norm}"


def norm_column(moment: str, stage: str) -> str:
    return f"{moment} {stage}"


def whole_text_norm(mean: str, divisor: str) -> str:
    """A norm over the whole text has one mean and one divisor."""
    return (
        f"One mean, {mean}, and one divisor, {divisor}, for all positions of the text, padding included: each"
        " token still has a mean and a variance of its own."
    )


def norm_checked(gap: str) -> str:
    """How far the recorded output of a norm is from what its formula gives."""
    return (
        "Recomputed from the recorded mean and divisor with this gain and offset, the output matches the recorded one"
        f" to within {gap}."
    )


# A recording, which has whole layers alone
ONLY_WHOLE = (
    "This is a recording of what each layer read and returned, and of nothing in between: it has no sub-layers, no"
    " norms and no logit lens."
)
COLUMNS_OF_A_LAYER = "Columns: length of the vector; changed: length of after minus before (derived)."
NOTHING_FINITE = "None of these numbers is finite, so there is nothing to draw."
LENGTH_AFTER, LENGTH_CHANGED = "length after the layer", "length of the change"


def only_whole_layers(why: str) -> str:
    return f"This model does not tell what each sub-layer adds: {why}. Whole layers are shown instead."


def no_layers(stack: str) -> str:
    return (
        f"What layers read and returned was not recorded: no layer of this {stack} is an entry of a list of modules,"
        " called once and returning one vector for each token."
    )


def no_layer(layer: int) -> str:
    return f"Layer {layer} was not recorded."


def whole_layer(stack: str, layer: int) -> str:
    return f"{stack} layer {layer}, the whole layer"


def layers_title(stack: str) -> str:
    return f"Along the {stack}'s layers"


def the_layers(stack: str) -> str:
    return f"the layers of the {stack}"


def layers_note(caption: str) -> str:
    return f"{caption}. All numbers of all tokens and layers."


def layers_alt(stack: str) -> str:
    return f"Length, change and cosine at each layer of the {stack}"
