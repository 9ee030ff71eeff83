"""What people read on every page, from the sidebar to the tour: labels and sentences, in one place.

The words that a newcomer meets first are in `glossary.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from viz_transformer import __version__
from viz_transformer.sentences import capitalised, count_of, join_names

# The sidebar
MODEL, PROJECTOR = "Model", "Projector"
NO_MODELS = "There is no trained model here yet: train one with “viz-transformer train numbers”, then reload this page."


def unused(sentence: str) -> str:
    return f"{sentence}."


# Choices, and what is shown instead of what an address asks for
def box(what: str, least: int, most: int) -> str:
    """The label of a box for a number."""
    return f"{what}, {least} to {most}"


def option_replaced(model: str, what: str, asked: str, shown: str) -> str:
    return f"{model} has no {asked} {what}: {shown} is shown."


def number_replaced(what: str, asked: int, shown: object, options: range) -> str:
    """Where `what` cannot be the number that is asked for, and its nearest neighbour is shown."""
    steps = f" in steps of {options.step}" if options.step > 1 else ""
    return f"{capitalised(what)} can be {options[0]} to {options[-1]}{steps}: {shown} is shown instead of {asked}."


# Pages of other packages
def page_called(title: str) -> str:
    return f"a Page with the title {title}"


def fields_refused(title: str, error: object) -> str:
    return f"The fields of {title} cannot be used: {error}."


# How a page is read
HOW_TO_READ, NOT_TO_CONCLUDE = "How to read it", "What not to conclude"


# The question under the title
MINUS_INFINITY = "−∞"
COMBINED = {"mean": "the mean of the heads", "max": "the maximum of the heads", "rollout": "rollout"}
CLOSED = "nowhere: every key is closed to it"
NO_WEIGHT, NOWHERE = "nowhere: no key has weight", "nowhere"
INFINITE = "not a number: the values are infinite"
NO_NUMBER_IN_ONE = "not a number: the row is not a number in A or in B"
ALL_MASKED = f"not a number: every key is masked with {MINUS_INFINITY}, so the softmax divides 0 by 0"
READ_NO_NUMBER = "not a number: its softmax read something that was not a number already"
MADE_OF_NO_NUMBER = "not a number: a weight that it is made of is not a number"
PROBABLY_MASKED = (
    f"not a number: most likely every key is masked with {MINUS_INFINITY}, so that the softmax divides 0 by 0"
)


def head(number: int) -> str:
    return f"head {number}"


def reading_from(token: str) -> str:
    return f"from {token}"


def when_it_read(token: str) -> str:
    return f"when it read {token}"


def when_it_wrote(token: str, *, given: bool) -> str:
    return f"when it {'was given' if given else 'wrote'} {token}"


def where_they_differ(when: str) -> str:
    return f"Where do A and B differ most {when}?"


def what_was_added(who: str, when: str) -> str:
    return f"What did {who} add most of {when}?"


def where_heads_looked(when: str) -> str:
    return f"Where did the heads look {when}?"


def where_it_looked(who: str, when: str) -> str:
    return f"Where did {who} look {when}?"


def head_looks(name: str, where: str) -> str:
    return f"{name} {where}"


def heads_look(each: Sequence[str], more: int) -> str:
    """Where several heads look, and how many more there are."""
    return capitalised(f"{'; '.join(each)}{f'; {more} more below' if more > 0 else ''}.")


def looks(where: str) -> str:
    return capitalised(f"{where}.")


def not_finite(where: str, count: int, weights: int) -> str:
    what = "is not a finite number" if count == 1 else "are not finite numbers"
    return f"{where}; {count} of {weights} weights {what}"


def at(token: str, value: str) -> str:
    """A share of the weight, or a difference."""
    return f"at {token}, {value}"


def at_weight(token: str, weight: str) -> str:
    return f"at {token}, a weight of {weight}"


def at_length(token: str, length: str) -> str:
    return f"{token}, a vector of length {length}"


def almost_evenly(tokens: int, token: str, share: str) -> str:
    return f"almost evenly over all {tokens} tokens; most on {token} ({share})"


# What there is to say against an answer, and ways out
TRY_AS_LEARNED = "Try it as the model learned it"
RIGHT_THIS_TIME = "Right this time, but not to be relied on"
NOT_TO_BE_TRUSTED = "Not to be trusted"
IS, BOTH_ARE = {"A": "A is", "B": "B is"}, "A and B are"
YOUR_TEXT_STAYS = "Your text is kept: go back in the browser, or choose it under “More” on Run"


def try_text(text: str) -> str:
    return f"Try {text}"


def open_in(model: str) -> str:
    return f"Open in {model}"


def learned_as(text: str) -> str:
    return f"this model learned it as {text}"


def never_in_training(names: str, count: int, noun: str) -> str:
    return f"{names} {'was' if count == 1 else 'were'} never in the training {noun}"


def none_written_so(noun: str) -> str:
    """No training text was written like this; noun: in the plural, "numbers"."""
    return f"no training {noun.removesuffix('s')} was written like this"


def another_language(reads: str, looks_like: str) -> str:
    return f"this model reads {reads}, and this looks like {looks_like}"


def unknown(names: str, count: int, read: str) -> str:
    return f"{names} {'is' if count == 1 else 'are'} unknown to this model, which reads {read} instead"


def longer_than_training(tokens: int, longest: int) -> str:
    return f"the text has {tokens:,} tokens, and the longest in training had {longest:,}"


def first_named(names: Sequence[str], more: int) -> str:
    return join_names([*names, f"{more:,} more"]) if more else join_names(names)


def doubted(reason: str, *, right: bool) -> str:
    """The headline of an answer that is not to be trusted; right: a rule says that it is right all the same."""
    return f"{RIGHT_THIS_TIME if right else NOT_TO_BE_TRUSTED}: {reason}."


def wrong(sentence: str, reason: str) -> str:
    return f"{sentence} {capitalised(reason)}." if reason else sentence


def judged(which: str, sentence: str) -> str:
    """A sentence about an answer, with the run whose answer it is: "A is wrong: ..."."""
    return f"{which} {sentence[:1].lower()}{sentence[1:]}"


def sentence(clause: object) -> str:
    return f"{capitalised(clause)}."


# The text
READS, READS_FIRST, READS_SECOND = "reads", "reads 1", "reads 2"
WRITES, GIVEN, ANSWERS, FILLS_IN = "writes", "given", "answers", "fills in"
EDIT_TEXT, EDIT_ANSWER, EDIT_TEXT_OF_A = "Edit the text", "Edit the given answer", "Edit the text of A"
NOT_AS_TYPED = "not the text as it was typed"


def row_of(run: str, label: str) -> str:
    """ "A writes"."""
    return f"{run} {label}"


def padding(token: str, count: int) -> str:
    return f"{token}×{count}"


def without(lost: Sequence[str]) -> str:
    return f"the text without {' and '.join(lost)}"


def reads_another_text(text: str, what: str) -> str:
    return f"The model reads “{text}”: that is {what}."


def nearly_too_long(tokens: int, longest: int) -> str:
    beside = "longer than" if tokens > longest else "as long as" if tokens == longest else "nearly as long as"
    return f"The text is {beside} the longest in training: it has {tokens:,} tokens, that one had {longest:,}."


# A run that cannot be made
BACK, EXAMPLE = "Back to the last run", "Use the example"
LAST_ANSWER = "the last answer that could be written"


def run_of(text: str) -> str:
    return f"the run of {text}"


def greyed_out(error: object, whose: str) -> str:
    return f"{capitalised(error)}. Greyed out below: {whose}."


def use_first(tokens: int) -> str:
    return f"Use the first {tokens:,} tokens"


# The run, and what it cannot show
RUNNING = "Running the model ..."
LAYERS_DONE = "{done:,} of {most:,} layers"


def multiplying(run: str) -> str:
    """What is waited for; run: "" where there is one."""
    return f"Multiplying the layers’ attention for the rollout{f' of {run}' if run else ''} ..."


def is_recording(name: str, why: str) -> str:
    return f"{name} is a recording of one call of a module. {why} Attention, Layers and Tensors show it."


def only_reads(name: str) -> str:
    return f"{name} reads a text and writes nothing, so it has no steps. Run shows what it makes of a text."


def has_its_own_text(name: str) -> str:
    return f"{name} is a recording: it cannot read another text, and has its own."


def takes_no_answer(name: str) -> str:
    return f"{name} writes nothing, so no answer can be given to it."


def no_branch(number: int | None) -> str:
    return f"There is no branch {number}: the answer is shown."


def not_pinned(error: object) -> str:
    return f"The run kept as B cannot be shown: {error}."


def of_run(run: str, sentence: str) -> str:
    """A sentence, a question or a title of one of two runs."""
    return f"{run}: {sentence}"


def not_told(what: str, error: object) -> str:
    return f"This model does not tell {what}: {error}."


# Two runs
PIN, PIN_HELP, UNPIN = "Keep run", "Keep this run as B, and compare the next ones with it", "Remove B"
COMPARE, COMPARE_WITH = "Compare", "Compare this run with:"
SHOWN_RUN = "Shown run"
SHOWN = {"A|B": "A | B", "A": "A", "B": "B", "A-B": "A − B"}
UNTRAINED = "untrained"


def called(run: str, model: str, text: str) -> str:
    return f"{run}: {model}, {text}"


def both_called(each: Sequence[str]) -> str:
    return f"{'. '.join(each)}."


def no_pair(label: str, why: str) -> str:
    return f"{label}. {why}"


# Controls
KIND, LAYER, HEAD = "Kind", "Layer", "Head"
TOGETHER: Mapping[str, str] = {"mean": "mean", "max": "maximum", "rollout": "rollout"}
ROWS_OF, ROWS = "Rows of", {"last": "the last pass", "own": "each step"}
ROWS_HELP = (
    "Every step was a pass of its own. Show all rows as the last pass had them, or each row as it was in the step that"
    " wrote its token. The encoder's rows are the same in every pass"
)

# Maps
BOTH_ARE_SHOWN = " A | B shows both."


def refused(error: object, *, difference: bool) -> str:
    return f"{error}.{BOTH_ARE_SHOWN if difference else ''}"


def cannot_be_shown(run: str, error: object) -> str:
    return f"{run} cannot be shown this way: {error}"


def layer_and_head(layer: int, head: int) -> str:
    return f"Layer {layer}, head {head}"


# Tables
TABLE, TABLE_AND_CSV, SAVE_CSV = "Table", "Table and CSV", "Save as CSV"


def too_large(rows: int, columns: int) -> str:
    return f"{rows:,} rows and {columns:,} columns are too many to show here."


# Steps
CANDIDATES = "candidates"
GIVEN_TARGET = "given target"
STEP, RANK, TOKEN, WRITTEN = "step", "rank", "token", "written"
PROBABILITY, LOG_PROBABILITY = "probability", "log-probability"
STRATEGY_PROBABILITY, STRATEGY_LOG_PROBABILITY = "strategy probability", "strategy log-probability"
REMOVED_BECAUSE = "removed because"


def banned(count: int) -> str:
    return f"{count_of(count, 'token')} banned"


# Captions


def of_heads(heads: Sequence[int]) -> str:
    return f"head{'s' if len(heads) > 1 else ''} {', '.join(map(str, heads))}"


def selection(kind: str, layer: int, heads: str, side: str, position: int) -> str:
    return f"{kind}, layer {layer}, {heads}, {side} position {position}"


def run_and_text(model: str, text: str) -> str:
    return f"{model}, {text}"


def by_this_program(what: Sequence[str]) -> str:
    """A caption: what is seen, and the program that made it."""
    return f"{', '.join(filter(None, what))} (Viz Transformer {__version__})"


# Links
WHY_THIS_WEIGHT, WHAT_ELSE = "Why this weight?", "What else could it have written?"


def open_as_page(level: str) -> str:
    return f"Open this {level} as a page"


def next_page(asks: str) -> str:
    return f"Next: {asks}"


# The run in five stops
OFFER, HIDE = "This run in five stops", "Hide"
INPUT, ATTENTION, ONE_WEIGHT, LAYERS, DECODING = (
    "what it reads",
    "where it looks",
    "how a weight is made",
    "what each layer adds",
    "what it writes",
)
OF_A_READER = "what it makes of the text"
NOTHING_HERE = "There is nothing to show here for this run: the page says why."
STOP_BACK = "Back"


def tells_nothing(error: object) -> str:
    return f"This model does not tell that: {error}."


def back_to(page: str) -> str:
    return f"Back to {page}"


def next_stop(number: int, of: int, does: str) -> str:
    return f"Next ({number} of {of}): {does}"


# Its first stop: what the model reads at one position
NORMALISES = "normalises the sum"
ADDS_SEGMENT = "adds a vector for the text it belongs to"
NO_POSITION = "Nothing tells the model its position."


def in_vocabulary(token_id: int, size: int | None) -> str:
    of = "" if size is None else f" of {size:,}"
    return f"token {token_id:,}{of} in the vocabulary (counted from 0)"


def is_token(token: str, which: str) -> str:
    return f"{token} is {which}."


def not_in_vocabulary(typed: str, token: str, which: str) -> str:
    return f"{typed} is not in the vocabulary, so the model reads {token}: {which}."


def becomes(numbers: int) -> str:
    return f"It becomes a vector of {numbers:,} numbers."


def acts(each: Sequence[str]) -> str:
    return f"The model {join_names(each)}."


def looks_up(numbers: int) -> str:
    return f"looks up its vector of {numbers:,} numbers"


def multiplies(factor: str) -> str:
    return f"multiplies it by {factor}"


def maps(numbers: int) -> str:
    return f"maps it to {numbers:,} numbers"


def adds_position(position: int) -> str:
    return f"adds a vector for its position, {position}"


def position_later(acts: str) -> str:
    return f"Its position comes in later: self-attention {acts}."
