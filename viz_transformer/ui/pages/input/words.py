"""What people read on the Input page: its labels and sentences, in one place."""

from __future__ import annotations

from collections.abc import Sequence

from viz_transformer.numerals import number, percent, share
from viz_transformer.sentences import capitalised

HOW = (
    "The text is split into tokens; each token is looked up in the vocabulary, and its id picks a row of the embedding"
    " table. The first layer reads that row times a scale, plus the vector of its position; the three strips share one"
    " colour scale. Multiplying by the square root of d_model multiplies the variance by d_model. The cosine of two"
    " embeddings is 1 if they point the same way; compare it with the mean over all other entries."
)
NOT = (
    "A single dimension has no meaning of its own. The neighbours of rare words are noise: check their counts. The"
    " unknown token gives different words one and the same vector. Neighbours are found by the embedding alone, before"
    " any layer has seen the context."
)

# What a recording or a model lacks
OF_RECORDING = "It has neither a vocabulary nor embeddings."
NEEDS = {"ids": "how its texts are padded"}
NEEDS_SPLITTING = "how it splits a text into tokens"
NEEDS_EMBEDDINGS = "the embeddings that its input is made of"
NEEDS_NEIGHBOURS = "the embeddings that tokens could be compared by"
COMPARED = "Tokens and vectors are those of A and B; ids at a fixed length, vocabulary and data are those of A alone."

# Side, rows, and what is shown below
SIDE, ROWS_LABEL, POSITION, BELOW_LABEL, PART = "Side", "Rows", "Position", "Below", "Part"
ROWS = {"one": "One token", "all": "All tokens"}
BELOW = {
    "data": "Data set",
    "ids": "Ids at a fixed length",
    "build": "Build a vocabulary",
    "words": "Words and grammar",
}


def no_vocabulary(model: str) -> str:
    return f"{model} has no vocabulary: it reads and writes ids alone."


def at_position(side: str, position: int) -> str:
    """The shown token in a projector's caption."""
    return f"{side} position {position}"


# The question


def asks(stack: str, position: int) -> str:
    return f"What does the {stack} read at position {position}?"


def in_place_of(token: str, typed: str) -> str:
    return f"{token}, in place of {typed}, which it does not know"


def becomes(token: str, token_id: int, entries: int | None, numbers: int) -> str:
    of = "" if entries is None else f" of {entries:,}"
    return f"{token} (vocabulary id {token_id:,}{of}) becomes a vector of {numbers:,} numbers."


# Tokens
ENCODER_READS = "What the encoder reads"
READ_ITSELF, READ_TARGET, READ_ALL = "what it has written itself", "the given target", "the text and its answer"
CELL_HEAD = ("text", "token", "id")
FIXED_LENGTH, START_TOKEN, END_TOKEN = "Ids at a fixed length of", "Start token", "End token"
SEGMENTS = ": their segment is 1, that of the others 0"


def decoder_reads(what: str) -> str:
    return f"What the decoder reads: {what}"


def run_of(name: str, called: str, text: str) -> str:
    return f"{name}: {called}, {text}"


def reads_no_text(name: str, stack: str) -> str:
    return f"{name} has no {stack} that reads a text."


def second_text(position: int, segments: bool) -> str:
    return f"From position {position} on, the tokens are those of the second text{SEGMENTS if segments else ''}."


def cell(position: int, token: str, token_id: int) -> str:
    return f"position {position}: {token}, id {token_id}"


def wrote_unknown(unknown: str) -> str:
    return f"The model wrote {unknown} itself: it replaces no word."


def hidden_words(count: int, unknown: str) -> str:
    return f"{count} different words are hidden under {unknown}: to the model they are one and the same vector."


def not_in_vocabulary(word: str, unknown: str) -> str:
    return f"“{word}” is not in the vocabulary: the model reads {unknown} instead."


def no_padding_token(ids: int) -> str:
    return f"{ids} ids. This vocabulary has no padding token: its texts are never padded."


def padded(ids: int, padding: int, token: str) -> str:
    return f"{ids} ids, {padding} of them {token}."


# Vocabulary
COUNTING = "Counting the training texts ..."
NO_COUNTS = "How often these occur in the training texts is not known: the card names no data of this program."
COUNTS_NEED_DATA = "Counts need the training data: Data set, below, says where to put them."
LOOK_UP, LOOK_UP_HINT = "Look up", "A word, a part of one, or an id"
ENTRIES_ALT = "Entries of the vocabulary; choose a row to see its neighbours"
CHOOSE_AN_ENTRY = "Choose an entry above to see its nearest neighbours."
OWN_TOKEN = "The selected token"
NEAREST_HEAD = ("id", "token", "cosine")


def no_entry(entry: int, size: int) -> str:
    return f"There is no entry {entry}: this vocabulary has the ids 0 to {size - 1}."


def vocabulary(entries: int) -> str:
    return f"Vocabulary: {entries:,} entries"


def none_contains(wanted: str, unknown: tuple[str, int] | None) -> str:
    """The sentence for a search without results; unknown: the token that the model reads instead, and its id."""
    instead = "" if unknown is None else f": the model reads {unknown[0]}, id {unknown[1]}"
    return f"No entry contains “{wanted}”{instead}."


def first_listed(listed: int, found: int) -> str:
    return f"The first {listed} of {found:,} are listed: type more to narrow them down."


def counted(tokens: int, texts: int, unknown: int, different: int, has_unknown: bool) -> str:
    """The texts that were counted, and how many of their tokens have no entry."""
    known = f"Counts are of {tokens:,} tokens in {texts:,} training texts"
    if not unknown:
        return f"{known}; each has an entry."
    read = "are read as unknown" if has_unknown else "have no entry"
    return f"{known}; {unknown:,} of them ({percent(unknown / tokens)}), {different:,} different ones, {read}."


def nearest_to(name: str, entry: int) -> str:
    return f"Nearest to “{name}”, id {entry}"


def neighbourhood(others: int, mean: float, deviation: float, length: float, seen: int | None) -> str:
    """The baseline of the other entries, the embedding's length, and how often the entry occurs."""
    times = "" if seen is None else f" Occurs {seen:,} times in the training data."
    return (
        f"Mean cosine with the other {others:,}: {share(mean, 3)} (standard deviation {number(deviation, 3)})."
        f" Length of this embedding: {number(length, 3)}.{times}"
    )


# Data set
PART_NAMES = {"train": "Training", "validation": "Validation", "test": "Test", "examples": "Examples"}
MEASURING, READING = "Measuring the texts ...", "Reading the data ..."
EXAMPLES_INSTEAD = "The example pairs that came with the model are shown instead."
FULL_DATA = "Use the full data"
WINDOW, PAIR = "Window", "Pair"
AT_RANDOM = "At random"
GOES_ON = "The original goes on: "
OPEN_GOLD = "Open with its reference"
OPEN_GOLD_HELP = "Force this target (teacher forcing): each row has to predict the token that comes next in it"
OPEN_FREE, OPEN_TEXT = "Open, the model answers", "Open as the text"
PARTS = "Parts of the data"
PARTS_HEAD = ("", "in the file", "too long", "used")
LENGTHS = "Lengths, and what a filter keeps"
LENGTHS_HEAD = ("tokens", "mean", "SD", "shortest", "longest")
LENGTHS_ALT = "How many texts of each side have how many tokens"
KNOWN_ONLY = "Known words only"
KEPT, TOO_LONG, UNKNOWN_WORD = "kept", "too long", "has an unknown word"
COUNTED_ONCE = "Each item is counted once, under the first reason that applies."
BATCH, BATCH_SEED, TEXTS = "A shuffled batch", "Seed of the batch", "Texts"
NO_PADDING = "No padding: all texts of this batch are equally long."
SIMILAR_LENGTHS = "Training puts texts of similar length together, so its batches have less padding."


def no_data(model: str) -> str:
    return f"{model} came without data: its card names none, and no example pairs were saved with it."


def read_from_files(part: str) -> str:
    return f"The {PART_NAMES[part].lower()} data are read from files"


def not_here(what: str) -> str:
    return f"{what}, which are not here."


def first_generated(shown: int, of: int) -> str:
    return f"The first {shown:,} of {of:,} generated pairs."


def the_part(part: str) -> str:
    return f"the {PART_NAMES[part].lower()} part"


def item_box(noun: str, count: int) -> str:
    return f"{noun}, 0 to {count - 1:,}"


def encoded(tokens: int, unknown: int, start: bool, end: bool) -> str:
    """How many tokens a text has, how many of them are unknown, and which special tokens are added."""
    added = [word for word, is_added in (("start", start), ("end", end)) if is_added]
    around = f"; {' and '.join(added)} token{'s' * (len(added) > 1)} added" if added else ""
    return f"{tokens} token{'' if tokens == 1 else 's'}{f', {unknown} unknown' if unknown else ''}{around}."


def from_files(files: Sequence[str]) -> str:
    return (
        f"From {', '.join(files)}. The columns need not add up: the remaining items belong to another split, or are"
        " not used at all."
    )


def varied(how: str, alike: int) -> str:
    """What training changes in each item, and the items left out because of it."""
    return (
        f"In training {how}; here they are shown as in the file. {alike:,} training pairs are left out, because such a"
        " change turns them into a pair of the validation or test part: the model would be tested on what it was"
        " trained on."
    )


def in_the_file(in_files: int | None, generated: int) -> str:
    """How many items are in the files, and how many are generated beside them."""
    if in_files is None:
        return "generated"
    return f"{in_files:,}" + (f" + {generated:,} generated" if generated else "")


def most_tokens(side: str) -> str:
    return f"Most {side} tokens"


def side_too_long(side: str) -> str:
    return f"{side} too long"


def kept_share(part: int, whole: int) -> str:
    return f"{part:,} of {whole:,} ({percent(part / whole)})" if part < whole else f"all {whole:,}"


def lengths_title(items: int, whole_text: bool, part: str) -> str:
    return f"Lengths of {items:,} {'windows' if whole_text else 'pairs'}, {PART_NAMES[part].lower()}"


def data_of(model: str) -> str:
    return f"data of {model}"


def batch_shape(side: str, texts: int, length: int) -> str:
    return f"{side}: {texts} × {length} ids"


def padding(of_all: float, pad_to: int | None) -> str:
    why = f"This model pads every text to {pad_to} tokens." if pad_to else SIMILAR_LENGTHS
    return f"{percent(of_all)} of the ids are padding (hatched). {why}"


# A vocabulary from sentences
SENTENCES, LEAST, SPECIALS = "Sentences, one per line", "Minimum count", "Special tokens, in this order"
LOOK_UP_TOKEN = "Look up a token"
TOKEN_WITHOUT_ID = "one of its tokens has no id"
BUILT_ALT = "The vocabulary that was built"
BUILT_COLUMNS = ("id", "token", "count")


def has_no_id(token: str) -> str:
    return f"“{token}” has no id, and there is no token for unknown text."


def has_id(token: str, token_id: int, unknown: str | None) -> str:
    """The id of a token; unknown: the unknown token, if it has that one's id."""
    return f"“{token}” has the id {token_id}{'' if unknown is None else f', that of {unknown}: it is unknown'}."


def built(entries: int) -> str:
    return f"{entries} entries, built now"


def left_out(rare: Sequence[tuple[str, int]], least: int, most: int) -> str:
    """The tokens that occur too rarely, `most` of them by name."""
    listed = ", ".join(f"{token} ({count})" for token, count in rare[:most])
    more = f" and {len(rare) - most} more" if len(rare) > most else ""
    return f"Left out, because they occur fewer than {least} times: {listed}{more}."


# What spaCy says
FACTS = ("characters", "sentences", "tokens", "words", "letters per word", "numbers", "punctuation", "stop words")
OTHER_RULES = "The model itself splits the text by other rules: what it reads is shown above."
RULE_COLUMNS = ("token", "shape", "kind", "stop word", "space after")
RULES_ALT = "Tokens by spaCy's rules"
GRAMMAR = "Part of speech and dependencies"
GRAMMAR_COLUMNS = ("token", "lemma", "part of speech", "tag", "dependency", "depends on", "explained")
GRAMMAR_ALT = "Part of speech and dependency of each token"
PIPELINE = "Pipeline"


def by_rules(language: str) -> str:
    return f"By spaCy's rules for {language}"


def different_words(words: int, different: int) -> str:
    return f"{words:,}, {different:,} different"


def on_average(mean: float) -> str:
    return "–" if mean != mean else f"{number(mean, 2)} on average"


def no_pipeline(language: str, pipeline: str | None) -> str:
    get = "" if pipeline is None else f": “python -m spacy download {pipeline}” installs one"
    return f"No trained spaCy pipeline for {language} is installed here{get}. Rules alone do not know grammar."


def found_by(pipeline: str) -> str:
    return f"Found by {pipeline}, a model of its own: the transformer reads nothing of this."


# The sum
MADE_OF = "What the input is made of"
EMBEDDING = "embedding"
MAP_INPUT, SUM_INPUT, NORM_INPUT = "map: input", "= input", "norm: input"
STRIPS = {"map": "map", "segment": "+ segment", "position": "+ position", "sum": "= sum", "norm": "norm"}
PARTS_OF_SUM = {"map": "map", "segment": "segment", "position": "position", "sum": "sum", "norm": "norm"}
SCALED, INPUT, FEATURE = "embedding x scale", "input", "feature"
UNKNOWN_POSITIONS = "this model does not report its positions"
SPREAD_HEAD = ("", "mean", "variance", "variance, n − 1", "numbers")
INPUT_OF_A, INPUT_OF_B = "input of A", "input of B"
NO_DIFFERENCE = "There is no A − B here, since B has no such input: "
SAME_POSITION = "the same position"
EQUAL = "Both read the same numbers: A − B is 0 everywhere."
TWO_MODELS = "These are two models: feature 5 of one need not have anything to do with feature 5 of the other."


def sum_heading(segment: bool, position: bool, normed: bool, mapped: bool) -> str:
    """The sum in words: the added vectors, and how the embedding is made if a norm or a map comes first."""
    made = "Norm of embedding" if normed else "Embedding"
    if mapped:
        made = f"Map of {made[0].lower()}{made[1:]}"
    return f"{made} × scale{' + segment' * segment}{' + position' * position} = input"


def no_positions(acts: str) -> str:
    """The sentence for a model that adds no positions; acts: how self-attention uses them instead, if at all."""
    instead = f" Its self-attention {acts}: see Positions." if acts else ""
    return f"This model adds no positions: the scaled embedding is its input.{instead}"


def no_known_positions(why: str) -> str:
    return f"{capitalised(why)}."


def strips_where(row: int | None, rows: int, compared: bool) -> str:
    where = f"position {row}" if row is not None else f"{rows} positions"
    return f"{where}, A − B" if compared else where


def strips_title(stack: str, where: str, of: str) -> str:
    return f"{f'{of}: ' if of else ''}{stack}.embed, {where}"


def strips_alt(where: str) -> str:
    return f"Embedding, position and input of {where} on one scale"


def table_of(stack: str, row: int) -> str:
    return f"{stack}.embed, position {row}"


def table_note(caption: str, before: str) -> str:
    return f"{before}{caption}. One row per feature."


def before_difference(caption: str) -> str:
    return f"A − B. B: {caption}. A: "


def no_difference(why: str, error: object) -> str:
    return f"{why}{error}."


def either(scales: Sequence[str]) -> str:
    return " or ".join(scales)


def minus(name: str) -> str:
    return f"{name}, A − B"


def of_run(name: str, run: str) -> str:
    return f"{name}, {run}"


def difference_length(lengths: Sequence[str], largest: str, feature: int) -> str:
    return (
        f"The length of A − B is {lengths[0]}, the inputs have lengths {lengths[1]} and {lengths[2]}; the largest"
        f" difference is {largest}, in feature {feature}."
    )


def largest_difference(largest: str, position: int, feature: int) -> str:
    return f"The largest difference is {largest}, at position {position} in feature {feature}."


def two_tokens(a: str, b: str) -> str:
    return f"Two different tokens are compared: A reads “{a}” here and B reads “{b}”."


def other_tokens(places: int, positions: int) -> str:
    return f"A and B read different tokens at {places} of {positions} positions."


def adds_no_positions(run: str) -> str:
    return f"The model of {run} adds no positions, so there is no difference of positions."


def scaled_name(scale: str | None) -> str:
    """ "embedding × 16"; None: the factor is 1."""
    return EMBEDDING if scale is None else f"{EMBEDDING} × {scale}"


def exact(count: int, what: str, precision: str, strips: int, around: str, square: str | None) -> str:
    """The sentence that each recorded number equals the sum. strips: the number of summands; square: the scale's effect
    on the variance."""
    added = f"of the {'three' if strips > 2 else 'two'} strips above it" if strips > 1 else "above it"
    scale = "" if square is None else f" The scale multiplies the variance by {square}."
    return f"Exact: all {count:,} recorded numbers of the {what} are the {precision} sums {added}.{around}{scale}"


def not_the_sum(what: str, sum_error: str, scale_error: str) -> str:
    return (
        f"Not the sum: the recorded {what} differs from it by up to {sum_error}, and the scaled embedding differs from"
        f" the table times the scale by up to {scale_error}."
    )


def around_the_sum(narrow: int, wide: int, normed: bool, mapped: bool, before_norm: bool) -> str:
    """How the summands, or the input after the sum, are made, if by a norm or a map."""
    of = f", from {narrow:,} features to {wide:,}," if narrow != wide else ""
    if normed:
        return f" A norm and then a projection{of} turn it into the input."
    if mapped:
        return f" A projection{of} comes between the embedding and the sum."
    return " A norm turns it into the input." if before_norm else ""
