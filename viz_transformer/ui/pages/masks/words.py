"""What people read on the Masks page: its labels and sentences, in one place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from viz_transformer.analysis.masks.parts import ClosedIs

HOW = (
    "Coloured cells are open: the query of the row may attend to the key of the column. Hatched cells are closed."
    " Padding closes tokens that only fill a batch up to equal length, causality closes later tokens in the decoder,"
    " and what both leave open is passed to the softmax. Click a cell of the mask “After” to open or close it in every"
    " layer and head; the run below is then one pass over the same tokens with that mask. In the influence matrix a"
    " column is a token that was swapped for others, a row the logits at a position, and a number the largest change of"
    " one of them. A triangle means no peeking: zero there is exact."
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


def convention(closed: ClosedIs | None) -> str:
    """What becomes of a row that may attend to nothing: in this model, if that is known, and elsewhere."""
    said = "What becomes of a row that may attend to nothing is a convention of the program, not a fact about language:"
    others = "zeros, NaN, a uniform row or one of rounded scores"
    if closed is None:
        return f"{said} {others}."
    return f"{said} in this model, with its own mask fill, it is {BECOMES[closed]}; other programs make it {others}."


# In the address
CHANGED_CELLS = "at most {} cells such as d3.5, or rows such as d3, with commas between them"

# What is shown, and of what
SHOWN, VIEWS = "Shown", {"masks": "Masks", "weights": "Weights"}
KIND = "Kind"
PADDING = "Padding"
RULES = {
    "key": "key only",
    "key-or-query": "key or query",
    "key-or-query-swapped-cross": "key or query, swapped",
}
MASKS_OF, TEXTS_OR_SIZE = "Masks of", {"texts": "Texts", "size": "Plain size"}
FILL = "Fill for closed cells"
FILL_NAMES = {
    "zero-rows": "zeros",
    "-inf": "−inf",
    "-1e9": "−1e9",
    "-1e10": "−1e10",
    "added-1e9": "−1e9 added",
}
OTHER_TEXTS = "Other texts in the batch, one per line"
TEXT_SHOWN = "Text shown"
TOKENS, PADDED = "Tokens", "of which padding, at the end"
PAD = "pad"
QUERIES = "queries"
RUNNING_BATCH = "Running the texts in the batch ..."
RUNNING_MODEL = "Running the model with these masks ..."
RUNNING_B = "Running B with these masks ..."
OF_RECORDING = "It cannot be run again with another mask."
ITS_MASKS = "its masks"
MASKS_OF_A = "These are the masks of A."
INFLUENCE_OF_A = "Influence and fills are those of A."
DIFFERENCE = "The two maps are A − B on one scale. Masks, fills, influence and what is written are those of A."


def own(name: str) -> str:
    """The option that is the model's own."""
    return f"{name} (own)"


def numbered(index: int, text: str) -> str:
    """A text of the batch by its number."""
    return f"{index}  {text}"


def no_such_kind(kind: str, model: str, instead: str) -> str:
    return f"There is no {kind} attention in {model}, so {instead} attention is shown."


def no_such_rule(model: str) -> str:
    return f"{model} cannot mask padding by that rule, so its own is shown."


def no_padding_token(model: str) -> str:
    return (
        f"{model} has no padding token: texts of different lengths cannot form one batch, and nothing is closed by"
        " padding. This text is on its own."
    )


def about_line(line: str) -> str:
    """What a sentence on a text of the batch begins with."""
    return f"the line “{line}”: "


def too_many_texts(most: int) -> str:
    return f"A batch here has at most {most} other texts: the first {most} lines are used."


def outside(cells: Sequence[str], text: str) -> str:
    """The changed cells that this text's masks do not have."""
    which = f"The changed {'cell' if len(cells) == 1 else 'cells'} {', '.join(cells)}"
    lies, changes = ("lies", "changes") if len(cells) == 1 else ("lie", "change")
    return f"{which} {lies} outside the masks of “{text}” and {changes} nothing here."


def of_run(letter: str, model: str, run: str) -> str:
    return f"{letter}: {model}, {run}"


def query(row: int) -> str:
    return f"query {row}"


def query_reads(row: int, token: str) -> str:
    return f"query {row} “{token}”"


def masks_of(kind: str) -> str:
    return f"masks of {kind}"


def mask_of_layer(kind: str, layer: int) -> str:
    return f"mask of {kind}, layer {layer}"


def masks_of_layer(kind: str, layer: int) -> str:
    return f"masks of {kind}, layer {layer}"


def masks_of_size(kind: str, tokens: int, padding: int) -> str:
    return f"masks of {kind} for {tokens} token{_s(tokens)}, {padding} of them padding"


def scene(kind: str, layer: int, heads: str, side: str, row: int) -> str:
    """What a projector's caption says."""
    return f"masks of {kind}, layer {layer}, {heads}, {side} position {row}"


def heads(chosen: Sequence[int]) -> str:
    return f"head {', '.join(map(str, chosen))}"


# The question


def asks(query: str) -> str:
    return f"What may {query} read?"


def asks_in_layer(row: int, layer: int) -> str:
    return f"What may query {row} read in layer {layer}?"


def may_read(open_: int, keys: int, *, later: int, padded: int, yours: int) -> str:
    """How many keys are open to a query, and by what the others are closed."""
    reasons = (
        (later, "because they come later" if later > 1 else "because it comes later"),
        (padded, "by padding"),
        (yours, "by your change"),
    )
    why = [f"{count} {'is' if count == 1 else 'are'} closed {reason}" for count, reason in reasons if count]
    return f"{_open(open_, keys)}{': ' if why else ''}{', '.join(why)}."


def may_read_after(open_: int, keys: int, *, closed: int = 0, opened: int = 0) -> str:
    """The same where what makes the mask is not known, with how many keys were closed and opened by hand."""
    turned = " and ".join(f"{count} {what}" for count, what in ((closed, "closed"), (opened, "opened")) if count)
    return f"{_open(open_, keys)}{f', {turned} by your change' if turned else ''}."


def _open(open_: int, keys: int) -> str:
    if open_ == keys:
        return "The only key" if keys == 1 else f"All {keys} keys"
    return f"{open_ or 'None'} of {keys} key{_s(keys)}"


def _s(count: int) -> str:
    """The ending of a plural."""
    return "" if count == 1 else "s"


# The masks
CLOSES_NOTHING = "closes nothing here"
RULE_NOTES = {
    "key": "padded keys are closed",
    "key-or-query": "closed for padded keys and queries",
    "key-or-query-swapped-cross": "as key or query; in cross-attention both sides swapped",
}
LATER_KEYS = "later keys are closed"
ALL_OF_THE_SOURCE = "closes nothing: the whole source is there"
BOTH_OPEN = "open where both are open"
TO_THE_SOFTMAX = "passed to the softmax"

# Changes of them
EVERYWHERE = "In every layer and head: a model makes one mask for each kind of attention."
NOTHING_CHANGED = "No cell has been changed."
UNDO = "Undo all changes"


def turn_row(query: str, is_closed: bool) -> str:
    return f"{'Open' if is_closed else 'Close'} all keys to {query}"


def reads_nothing(query: int) -> str:
    return f"query {query} may read nothing"


def reads(query: int, key: int, may: bool) -> str:
    return f"query {query} {'may' if may else 'may not'} read key {key}"


def more(count: int) -> str:
    return f"{count} more"


def changed(changes: Sequence[str], where: str) -> str:
    return f"Changed: {'; '.join(changes)}. {where}"


def closed_rows(rows: Sequence[int], most: int, closed: ClosedIs | None) -> str:
    """The first queries without an open key, `most` at most, and what their weights are, if that is known."""
    several = len(rows) > 1
    which = ", ".join(map(str, rows[:most])) + (", ..." if len(rows) > most else "")
    weights = "" if closed is None else f": {'their' if several else 'its'} weights are {BECOMES[closed]}"
    return f"{'Queries' if several else 'Query'} {which} {'have' if several else 'has'} no open key{weights}."


# Weights before and after
ASKS = "Why does this cell have its weight?"
"""Where the page shows another number, or none."""
ASKS_HERE = "Why this weight?"
WHAT_ELSE = "What else could it have written?"
NO_ROLLOUT = "Rollout joins all layers and is not one head's map: choose a head, the mean or the maximum"
BEFORE = "Before: the model's own masks"
AFTER, AFTER_NOTHING = "After: the chosen masks", "After: nothing is changed yet"
BEFORE_EQUAL = "Before: equal scores, no mask"
EQUAL_SCORES = "weight for equal scores"
EQUAL_SCORES_UNIT = "weight for equal scores, derived"


def after_equal(fill: str) -> str:
    return f"After: equal scores, masked, {fill}"


def own_masks(letter: str) -> str:
    return f"{letter}: the model’s own masks"


def of_one(letter: str, when: str) -> str:
    """ "A: before"."""
    return f"{letter}: {when}"


def cannot_be_shown(run: str, error: object) -> str:
    return f"{run} cannot be shown this way: {error}"


def with_change(caption: str, when: str) -> str:
    return f"{caption}, {when} the masks were changed"


# What the change does
PLAIN_SIZE = "A plain size has no scores: they are taken to be equal, so each of n open keys has weight 1/n."
OWN_MASKS = "These are the model's own masks: open or close a cell, or choose another fill or padding rule."
NO_LOGIT_CHANGED = "No logit changed, not by a single bit."
EFFECT_COLUMNS = (
    "position",
    "reads",
    "before",
    "probability before",
    "after",
    "probability after",
    "largest change of a logit",
)


@dataclass(frozen=True)
class Rows:
    """Sentences on rows with logits: another or the same token is the most probable; and the heads of their table."""

    other: str
    same: str
    table: str


NEXT_TOKENS = Rows(
    "would now write another token",
    "Every row still writes the same token.",
    "Each row of the decoder with its most probable next token before and after.",
)
OUTPUTS = {
    "next token": NEXT_TOKENS,
    "masked token": Rows(
        "would now fill in another token",
        "Every row would still fill in the same token.",
        "Each row of the encoder with the most probable token at its place before and after.",
    ),
    "token class": Rows(
        "would now have another label",
        "Every row still has the same label.",
        "Each row of the encoder with its most probable label before and after.",
    ),
}
"""By what a model gives for each token."""


def largest_change(change: str, position: int | None = None) -> str:
    """How far the logits moved, and where; no position: of a model that gives one answer for the whole text."""
    where = "" if position is None else f", at position {position}"
    return f"The largest change of a logit is {change}{where}."


def lost(rows: int, of: int) -> str:
    """In how many rows the logits are no numbers any more."""
    return f"In {rows} of {of} rows the logits are no longer numbers: NaN spreads from a row to all that read it."


def others(count: int, of: int, rows: Rows, position: int, after: str, before: str) -> str:
    """In how many rows another token or label is now the most probable, and the first of them."""
    return f"{count} of {of} rows {rows.other}, the first at position {position}: “{after}” instead of “{before}”."


def largest_label(before: str, after: str) -> str:
    """Which label of the whole text has the largest logit."""
    if before == after:
        return f"“{after}” still has the largest logit."
    return f"“{after}” now has the largest logit, instead of “{before}”."


def table_note(caption: str, rows: Rows) -> str:
    return f"{caption}. {rows.table}"


# Influence
INFLUENCE = "Influence: which token moves which logits"
NO_LOGITS = "A plain size has no logits to watch: choose Texts to see who reads the future."
SWAP, SIDES = "Swap", {"target": "target tokens", "source": "source tokens"}
COMPUTE = "Compute it"
INFLUENCE_TITLE = "How far a swapped token moves each logit"
LOGITS_AT, SWAPPED_TOKEN, POSITION = "logits at", "swapped token", "position"
LARGEST_CHANGE, CHANGE_OF_A_LOGIT = "largest change", "largest change of a logit"
A_LATER_TOKEN = "a later token"
HATCHED = "Hatched: a later token, which a decoder must not read. A hatched cell with colour is a leak."
HOW_FOUND = "How it was found"
PADDING_NOT_SWAPPED = "Padding is neither swapped nor watched."
OTHERS_DEPEND = (
    "When the model was loaded, a check that also puts padding into the text found rows that depend on later tokens;"
    " on this text they do not."
)
SWAPPED, EACH_FOR, PASSES, LARGEST_LOGIT = "swapped", "each swapped for", "passes", "largest logit"


def running(trials: int) -> str:
    return f"Running {trials:,} text{_s(trials)} with one token swapped ..."


def takes(trials: int, length: int) -> str:
    """How long the influence matrix takes."""
    return f"This takes {trials:,} passes over {length} tokens: a few seconds."


def influence_note(caption: str, quantity: str) -> str:
    return f"{caption}. Each number is the {quantity}; 0 is exact: not one bit changed."


def influence_of(side: str) -> str:
    return f"largest change of a logit when a {side} token is swapped"


def swapped_side(side: str) -> str:
    return f"swapped token, {side}"


def positions(swapped: int, of: int, side: str) -> str:
    if swapped == of:
        return f"all {of} {side} tokens" if of > 1 else f"the only {side} token"
    return f"{swapped} of {of} {side} tokens, evenly spaced"


def drawn(others: int) -> str:
    return f"{others} other token{_s(others)}, drawn once from the vocabulary"


def token_for(position: int) -> str:
    return f"token {position} swapped for"


def named(tokens: Sequence[str]) -> str:
    return ", ".join(f"“{token}”" for token in tokens)


# Fills
FILLS = "What the fill makes of a row"
FILL_TABLE = ("fill", "what it does", "this row, with its mask", "the same row with every key closed")
FILL_MEANINGS = {
    "zero-rows": "closed keys are left out of the softmax; a row without an open key is all zeros",
    "-inf": "closed scores become −inf",
    "-1e9": "closed scores become −1e9",
    "-1e10": "closed scores become −1e10",
    "added-1e9": "−1e9 is added to closed scores, where float32 has steps of 64: smaller differences are lost",
}
WITH_EQUAL_SCORES = "with equal scores"
ALL_CLOSED = "every key is already closed"
NONE_CLOSED = "nothing is closed: the fill does nothing"
NOT_A_NUMBER = "not a number"
ZEROS = "zeros: the head adds nothing here"
NAN = "NaN: not a number, and it spreads to everything that reads this row"


def with_scores(layer: int, head: int) -> str:
    return f"layer {layer}, head {head}, with the scores of this run"


def filled(query: str, scores: str) -> str:
    return f"{query}, {scores}."


def closed_zero(closed: int, total: str) -> str:
    return f"0 on {closed} closed key{_s(closed)}, sum {total}"


def closed_up_to(weight: str) -> str:
    return f"up to {weight} on a closed key"


def even(weight: str, keys: int) -> str:
    return f"uniform: {weight} on each of {keys} keys, closed ones too"


def uneven(least: str, most: str) -> str:
    return f"not uniform: {least} to {most}"


# Masks that a run recorded
NOT_TOLD = "This model does not tell how it masks: these are the masks of its run, and you can change their cells."
TURNED = "In every layer and head."
UNREAD_KEYS = "keys that no query reads are closed"
KEYS, PER_QUERY, WINDOW, PREFIX, CAUSAL = "Keys", "Per query", "Window", "Prefix", "Causal"
BY_PADDING, BY_ALL, BY_QUERY = "padding", "the mask for all queries", "the mask of this query"
BY_WINDOW, BY_CAUSALITY = "the window", "causality"
NO_NAME = "by a rule that has no name here"
GIVES_NO_LOGITS = "This model gives no logits: the weights show what the change does."


def too_long(fewer_than: int) -> str:
    return f"Cells can be changed in texts of fewer than {fewer_than} tokens: shorten this one to open or close a cell."


def turned_otherwise(layers: str, several: bool) -> str:
    """The layers in which a changed cell is not as it is in the layer shown."""
    which = f"{'layers' if several else 'layer'} {layers}"
    masks = "masks differ" if several else "mask differs"
    return f"{TURNED} In {which}, whose own {masks}, at least one of these cells is changed the other way."


def window(keys: int, both: bool) -> str:
    return f"{keys} key{_s(keys)} {'on each side' if both else 'up to its own'} {'is' if keys == 1 else 'are'} open"


def prefix(first: int) -> str:
    return f"later keys are closed, except for the first {first}"
