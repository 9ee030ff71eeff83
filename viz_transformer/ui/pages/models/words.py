"""What people read on the Models page: its labels and sentences, in one place."""

from __future__ import annotations

from collections.abc import Sequence

from viz_transformer.sentences import count_of

OF_THE_MODEL = {
    "card": "Card",
    "architecture": "Architecture",
    "curves": "Curves",
    "data": "Data",
    "errors": "Errors",
    "doctor": "Doctor’s checks",
    "training": "Training",
}
OF_ANOTHER = {"open": "Open a model", "train": "Train on your data", "new": "New model"}
TABS = OF_THE_MODEL | OF_ANOTHER
"""The tabs by their names in the address: those of the chosen model, and those that lead to another one."""
TABS_OF_THE_MODEL, TABS_OF_ANOTHER = "What is shown of the model", "Add a model"

HOW = {
    "card": "Exact match is the share of test texts for which the model wrote exactly the reference, with the"
    " 95 % interval for this number of pairs. BLEU and chrF, from 0 to 100, measure how many sequences of words and of"
    " letters the answers share with the references; beam search finds other answers than greedy decoding. Loss is"
    " the plain negative log-likelihood of the given targets, without label smoothing. The command repeats the"
    " measurement. “Files verified”: settings, vocabularies and weights have the checksums on the card.",
    "architecture": "A block of the figure is a part of the model, with its size; the parameters of all parts are"
    " added up, and the sum is compared with the file. Of a transformers folder, only those norms and sums are drawn"
    " that a trial pass confirmed, number by number.",
    "curves": "Loss is the plain negative log-likelihood of the given targets, without label smoothing; perplexity is e"
    " to the power of the loss.",
    "data": "What the card states about the texts that the model was trained and tested on; what it does not state is"
    " marked as missing.",
    "errors": "The answer is below the target; differences are marked in both.",
    "doctor": "The Doctor runs each of its checks on the loaded model, and says so where a question cannot be"
    " answered.",
    "open": "The layout is recognised by the names of the tensors; what is read from the file, what the layout implies"
    " and what is only usual are listed separately. A tensor that has no place stops the import, and so does a part of"
    " the model that no tensor fills.",
    "train": "Both losses are negative log-likelihoods in nats per token, on samples that stay the same: one from the"
    " training data, one from the validation data. “Exactly right” counts answers that the model writes by itself. At"
    " each snapshot it writes the example again.",
    "new": "A new model has random weights from its seed; every page shows it like a trained one.",
    "training": "A snapshot holds the weights at one step of the training; each writes the same text.",
}
NOT = {
    "card": "A number holds for texts like those it was measured on. Two models whose intervals overlap may be equally"
    " good. A green badge says that the files are those of the card, not that the model is good.",
    "architecture": "More parameters do not make a better model.",
    "curves": "A lower loss is not always a better answer: each token is predicted after the correct ones.",
    "data": "A number holds for texts like those it was measured on.",
    "errors": "A few examples, right or wrong, say less than the interval on the card. A translation that differs from"
    " the reference may be as good as it.",
    "doctor": "A passed check says that the model does what every model of its kind has to do, not that its answers are"
    " good.",
    "open": "A file that fits is not necessarily read right: shapes tell neither heads nor activation. The model’s own"
    " words for a text that you know are the first test, a sample is the proof.",
    "train": "A validation loss that rises while the training loss falls means that the model memorises; the weights"
    " that are kept are the best on the validation data. Fifty pairs say little: the card has the share of all test"
    " pairs, with its interval.",
    "new": "What it writes and where it looks are random: it has learned nothing.",
    "training": "One sentence at all snapshots shows how this sentence was learned, not how the task was.",
}
LOADING = "Loading the model ..."
THIS_TAB = "what this tab shows"
NEW_MODEL_NAME = "the name of a new model"
OF_RECORDING = "It has no parameters, no training and no measurements."


# The question under the title
_ASKS = {
    "card": "How good is {}?",
    "architecture": "Where are the parameters of {}?",
    "curves": "Had {} finished learning?",
    "data": "Was the test new to {}?",
    "errors": "What does {} get wrong?",
    "doctor": "Does {} compute as it should?",
    "new": "How large is the new model?",
    "training": "When did {} learn its answer?",
}
ASKS_OPENED, ASKS_TRAINED = "Which models have you opened?", "Which models have you trained here?"
UNKNOWN = "Unknown; the reason is below."
NOT_MEASURED_YET = "It has not been measured."
PARTS = {
    "embedding": "embeddings",
    "self": "self-attention",
    "cross": "cross-attention",
    "ffn": "feed-forward",
    "norm": "final norms",
    "map": "final maps",
    "output": "output layer",
    "parts": "other parts",
}
WITHOUT_HISTORY = "It has no training history."
WITHOUT_VALIDATION_LOSS = "Its validation loss was not recorded."
CARD_DOES_NOT_SAY = "Its card does not say."
NOTHING = "nothing"
ANY_TEXT = "No answer is wrong: it continues any text."
WITHOUT_PAIRS = "No test pairs were saved with it."
SIZES_DO_NOT_FIT = "Its sizes do not fit together."
WITHOUT_SNAPSHOTS = "It came without snapshots of its training."
NONE_OPENED = "None yet: give the path of a weights file, or drop one below."
NONE_TRAINED = "None yet: give the path of a file of pairs or of text, or drop one below."
CANNOT_TRAIN = "None: something that training needs is missing."
NOT_YET_READY = "Not yet: what is missing is listed below."
NOTHING_GUESSED = "Yes: nothing about it has to be guessed."


def asks(tab: str, model: str) -> str:
    return _ASKS[tab].format(model)


def asks_reference(model: str) -> str:
    return f"How often does {model} write the reference?"


def asks_when_learned(model: str, source: str) -> str:
    return f"When did {model} learn {source}?"


def asks_file(file: str) -> str:
    return f"Can {file} be opened?"


def largest_share(total: int, share: str) -> str:
    return f"Of {total:,}: {share}"


def lowest_validation_loss(loss: str, step: int, last: int) -> str:
    return f"Lowest validation loss: {loss}, at step {step:,}{', the last' if step == last else f' of {last:,}'}."


def seen_in_training(seen: int, tested: int, unit: str) -> str:
    """The number of test sources or windows that are also in its training data."""
    if not seen:
        return f"Yes: none of its {tested:,} {unit} is in the training data."
    return f"Not all of it: {seen:,} of {tested:,} {unit} are in the training data."


def wrong_answers(wrong: int, of: int) -> str:
    return f"{f'{wrong:,} of {of:,}' if wrong else f'Nothing in {of:,}'} test pairs"


def right_answers(right: int, of: int) -> str:
    return f"In {right:,} of {of:,} pairs"


def most_often(written: str, wanted: str, times: int, *, translates: bool) -> str:
    """The most frequent difference; a translator's comes after the pairs in which there is none."""
    return f"{'if not, ' if translates else ''}most often {written} for {wanted}, {times:,} times"


def failed(bad: int, checks: int, first: str) -> str:
    return f"Not in {bad} of {checks} checks: {first}"


def passed(fine: int, checks: int) -> str:
    """The sentence if no check failed, with the number of undecided ones."""
    remarks = f"; {count_of(checks - fine, 'remark')}" if checks > fine else ""
    return f"{fine} of {checks} checks passed, none failed{remarks}."


def new_size(parameters: int, times: str | None, base: str) -> str:
    """times: how many times as many parameters as the base it has; None where it has exactly as many."""
    return f"{parameters:,} parameters, {'' if times is None else f'{times} times '}as many as {base}."


def never_right(snapshots: int) -> str:
    return f"It is not right at any of {snapshots} snapshots."


def right_since(first: int, since: int | None) -> str:
    """The sentence on the step since which its answer is the target; None: it is not at the last snapshot."""
    if since is None:
        return f"It was first right at step {first:,}, but not at the last snapshot."
    if since == first:
        return f"It has been right since step {since:,}."
    return f"It was first right at step {first:,}, and has been right since step {since:,}."


def guessed(count: int) -> str:
    return f"Yes, but {count_of(count, 'setting')} that it does not state {'is' if count == 1 else 'are'} guessed."


def more(count: int) -> str:
    return f"{count:,} more"


# A model as a card
TASK_NOT_STATED, SPLIT_NOT_STATED = "task not stated", "an unnamed split"
IN_MEMORY = "in memory"
FILES_VERIFIED = "Files verified"
NEVER_TRAINED, A_RECORDING = "New: never trained", "A recording of one call"
BROKEN = "Broken on purpose"
"""The badge of a model whose card states a known problem."""
UNMEASURED = "not measured"
BLEU, GREEDY, LOSS = "BLEU", "greedy", "loss"


def recording_of(text: str) -> str:
    return f"Recording: {text}"


def select(model: str, selected: bool) -> str:
    return f"{'Selected' if selected else 'Select'}: {model}"


def size(parameters: int, where: str) -> str:
    """The size of a model; where: its bytes on disk, or that it is in memory."""
    return f"{f'{parameters:,}' if parameters else 'no'} parameters, {where}"


def run_by_transformers(rounded_to: str | None) -> str:
    """rounded_to: the type that it is computed in, where that is not float32."""
    rounded = "" if rounded_to is None else f", computed in {rounded_to}: every result is rounded to 8 bits"
    return f"run by transformers, from its own folder{rounded}"


def skipped(too_long: int, pairs: int, wrong: str) -> str:
    """How many pairs the main measurement skips, and the share of right answers if these count as wrong."""
    return f"{too_long:,} of {pairs:,} pairs skipped as too long ({wrong} if counted as wrong)"


def texts_of_split(count: str, split: str) -> str:
    return f"{count} of {split}" if count else split


def sacrebleu(tokenizer: str | None) -> str:
    return f"sacrebleu {tokenizer}" if tokenizer else ""


def decoding(beam: int | None) -> str:
    return f"beam {beam}" if beam else GREEDY


def chrf(score: str) -> str:
    return f"chrF {score}"


def exact_match(low: str, high: str) -> str:
    return f"exact match, 95 % interval {low}–{high}"


def equal_as_expressions(share: str) -> str:
    return f"equal as expressions: {share}"


def unseen_sources(share: str) -> str:
    return f"sources not in the training data: {share}"


def nats_per_token(loss: str) -> str:
    return f"{loss} nats per token"


def loss_and_perplexity(perplexity: str | None) -> str:
    return LOSS if perplexity is None else f"{LOSS}, perplexity {perplexity}"


# Configuration
CONFIGURATION = "Configuration"
KIND, CLASS, LAYERS, D_MODEL, HEADS, D_FF = "kind", "class", "layers", "d_model", "heads", "d_ff"
NORM, POSITIONS, EMBEDDING_SCALE, DROPOUT = "norm", "positions", "embedding scale", "dropout in training"
OUTPUT_LAYER, LABELS = "output layer", "labels"
SCALES = {"sqrt": "sqrt(d_model)", "one": "1"}
TIED, NOT_TIED = "tied to the embedding", "its own weights"
IDS_ONLY = "ids only"
NO_POSITIONS, ADDED_POSITIONS = "none", "added to the embeddings"


def layers_of(stacks: Sequence[tuple[int, str]]) -> str:
    return " + ".join(f"{layers} {stack}" for layers, stack in stacks)


def heads(count: int, head_dim: int) -> str:
    return f"{count}, head_dim {head_dim}"


def one_of(kinds: Sequence[str]) -> str:
    return " or ".join(kinds)


def hidden(width: int, activation: str) -> str:
    return f"{width}, {activation}"


def norm(place: str, final: bool) -> str:
    return f"{place}-norm, {'with' if final else 'without'} final norm"


def self_attention(acts: str) -> str:
    return f"self-attention {acts}"


def vocabulary(size: int, most: int, tokenizer: str = "") -> str:
    """The size of a side's vocabulary, and the longest text in tokens."""
    return f"{size:,} tokens in the vocabulary{f' ({tokenizer})' if tokenizer else ''}, at most {most:,} in a text"


# Where it comes from
ORIGIN = {
    "data": "data",
    "data_licence": "licence of the data",
    "weights_terms": "terms of the weights",
    "date": "trained on",
    "seed": "seed",
    "steps": "optimiser steps",
}
LEFT_OUT = "left out"
COMES_FROM, FOLDER, TRAINED_WITH = "Where it comes from", "folder", "Trained with"


# What was measured
MEASURED = "Measured"
MEASURES = {
    "exact_match": "exact match",
    "exact_match_unseen": "exact match, unseen sources",
    "equivalent": "equal as expressions",
    "token_accuracy": "next token right",
    "loss": "loss, nats per token",
    "perplexity": "perplexity per token",
    "bleu": BLEU,
    "chrf": "chrF",
    "sentences_per_second": "texts per second",
    "too_long": "too long, counted as wrong",
}
NO_METRIC = "Nothing was measured: the card states no metric."
WRITES_NO_TEXT = "Nothing was measured: it writes no text that could be compared with a reference."
MEASURED_BY = {"encoder-decoder": "your pairs", "decoder-only": "a text"}


def commands(count: int) -> str:
    return f"{count} commands"


def measured(split: str, how: str) -> str:
    return f"{split}, {how}"


def within(share: str, low: str, high: str) -> str:
    return f"{share} ({low} to {high})"


def not_measured(kind: str) -> str:
    """How to measure a model of this kind, whose folder states no measurement."""
    return (
        "Nothing was measured: the folder does not say how good the model is. This command measures it on"
        f" {MEASURED_BY[kind]}:"
    )


# Architecture
NORM_PLACES = "Where the norm is"
PARAMETERS, TOTAL = "Parameters", "total"
NO_SHAPES = "tied: no parameters of its own"


def architecture_of(model: str) -> str:
    return f"{model}, architecture"


def norm_places_of(model: str) -> str:
    return f"{model}, position of the norm"


def drawn_by(what: str, version: str) -> str:
    return f"{what} (Viz Transformer {version})"


def times(count: int, each: int) -> str:
    return f"{count} × {each:,}" if count > 1 else ""


def in_weights_files(stored: int, unused: int | None, same: bool) -> str:
    """The count of numbers in the files, compared with the sum; unused: how many of them take no part in a run."""
    apart = "" if unused is None else f", apart from {unused:,} that take no part in a run"
    if same:
        return f"The weights’ files hold the same number: {stored:,}{apart}."
    return (
        f"The weights’ files hold {stored:,} numbers: masks and tables that the model builds itself, and tensors that"
        f" it shares, are counted on one side only{apart}."
    )


def in_weights_file(stored: int, same: bool) -> str:
    return f"The weights file holds {_compare(stored, same)}."


def in_torch(count: int, same: bool) -> str:
    return f"The model that torch builds from it has {_compare(count, same)}."


def _compare(count: int, same: bool) -> str:
    return f"the same number: {count:,}" if same else f"{count:,}, which is not this sum"


# Curves
NO_HISTORY = "No training history was saved with this model."
LOSS_TITLE = "Loss during training"
LOSS_ALT = "Training and validation loss and the learning rate by step, all axes logarithmic"
LOSS_AXIS_SHORT = "nats per token"
READS_THE_ANSWER = (
    "In this model later tokens change earlier rows, so these are losses of a decoder that reads the answer it is asked"
    " to predict. They say nothing about what it writes by itself: the measurements on its card do."
)
MAY_READ_THE_ANSWER = (
    "Its card does not say whether the decoder reads the answer that it has to predict; the Doctor’s checks test it."
)
UNKNOWN_TIME = "How long the training took is not known: this history has no column “seconds”."
NONE_LEFT = "none"


def history_note(model: str, losses: str) -> str:
    """losses: what they were measured on, where the card states it."""
    on = f": {losses}" if losses else ""
    return f"{model}: every row of its history. Losses are nats per token, without dropout and label smoothing{on}."


def lowest_loss(on: str, loss: str, step: int, perplexity: str) -> str:
    """on: what the validation loss was measured on, where the card states it."""
    of = f"measured on {on}" if on else "measured on a part of the data that its card does not state"
    return f"The lowest validation loss, {of}, is {loss} nats per token at step {step:,}, a perplexity of {perplexity}."


def kept_step(step: int) -> str:
    return f"The parameters kept are those of step {step:,}."


def trained_in(duration: str) -> str:
    return f"Trained in {duration}, including the time to measure the losses."


def lowest_after(duration: str, before_end: str) -> str:
    return f"The lowest validation loss came after {duration}, {before_end} before the end."


def time_at(passed: str, left: str) -> str:
    return f"after {passed}, {left} left"


# Data
AS_CARD_STATES = "What its card states"
NOT_STATED = "not stated"
DATA, LICENCE, TRAINED_ON, TESTED_ON, SIZES, CURVES = "data", "licence", "trained on", "tested on", "sizes", "curves"
LEFT_OUT_OF_TEST, NOTATION, OVERLAP = "left out of the test", "notation", "overlap"
WHOLE_TEST_FILE, THE_TEST, ANOTHER_SPLIT = "whole test file", "test", "another split"
PAIRS_UNIT, CHARACTERS_UNIT = "pairs", "characters"
SOURCES_TESTED, WINDOWS_TESTED = "test sources", "test windows"
SAVED_PAIRS, NO_SAVED_PAIRS = "Example pairs saved with it", "None were saved."
SOURCE = "source"
IN_CHARACTERS = "Lengths are in characters; the Input page shows tokens, ids and vocabularies."


def first_lines(file: str, limit: int) -> str:
    return f"{file}, the first {limit:,}"


def all_of(files: Sequence[str]) -> str:
    return " and ".join(files)


def sizes(counts: Sequence[tuple[str, int]], unit: str) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in counts) + f" {unit}"


def test_size(pairs: int) -> str:
    return f"test {pairs:,} pairs; train and validation {NOT_STATED}"


def overlap_with(what: str) -> str:
    return f"{OVERLAP}, {what}"


def overlapping(part: int, whole: int, share: str, *, windows: bool) -> str:
    return f"{part:,} of {whole:,} {'windows' if windows else 'sources'} are in the training data ({share})"


def lengths(mean: str, deviation: str, longest: int) -> str:
    return f"mean {mean}, SD {deviation}, at most {longest:,}"


# Errors
WRITES_ON = "This model continues any text: there is no right answer. The Run page has beginnings to start it with."
NO_PAIRS = "No example pairs were saved with this model."
NONE_FOUND = "No answer matches the filter."
REFERENCE, TARGET, ANSWER = "reference", "target", "answer"
DIFFERENT, EQUAL, WRONG, RIGHT = "Different from the reference", "Equal to the reference", "Wrong", "Right"
EMPTY = "(nothing)"


def answered(pairs: int, right: int, *, lower: bool | None) -> str:
    """How many answers are right. lower: of a translator, whether it writes in lower case; None for other models."""
    wrong = pairs - right
    ran = f"Greedy answers of the loaded model on {count_of(pairs, 'test pair')}"
    if lower is None:
        return f"{ran}: {right} right, {wrong} wrong."
    matches, differ = ("matches", "match")[right != 1], ("differs", "differ")[wrong != 1]
    return f"{ran}: {right} {matches} the reference exactly{', in lower case' if lower else ''}; {wrong} {differ}."


def some_of(shown: int, of: int) -> str:
    return f"{shown:,} of {of:,}" if shown < of else f"{of:,}"


def answers_shown(title: str, shown: int, of: int) -> str:
    return f"{title}, {some_of(shown, of)} shown"


def differences_shown(shown: int, of: int) -> str:
    return f"Different answers, {some_of(shown, of)} shown; ✓ marks an exact match"


def exact(answer: str, right: bool) -> str:
    """The answer of one of two models, with its mark."""
    return f"{'✓ ' if right else ''}{answer or EMPTY}"


# Answers of two models
BESIDE, ANOTHER_MODEL, NO_OTHER = "Compared with another model", "Another model", "no other model"
SAME_ANSWERS = "Both write the same text for every pair."


def running(pairs: int) -> str:
    return f"Running the model on {count_of(pairs, 'test pair')} ..."


def running_both(pairs: int) -> str:
    return f"Running both on {count_of(pairs, 'test pair')} ..."


def left_out_of_these(left_out: str) -> str:
    return f"Left out, as in its test: {left_out}."


def both_right(names: tuple[str, str], both: int, only: tuple[int, int], neither: int) -> str:
    """How many pairs two models have right, or only one of them."""
    one, other = (f"only {name}: {count}" for name, count in zip(names, only, strict=True))
    return f"Both right: {both}, {one}, {other}, neither: {neither}."


def by_chance(p: str) -> str:
    """p: "0.5" or "<0.001"."""
    return (
        "If the two were equally good, a difference at least this large would come about by chance with"
        f" p {f'< {p[1:]}' if p[0] == '<' else f'= {p}'} (McNemar’s exact test)."
    )


# The filter, and what is counted
ANSWERS, FIND, FILTER = "Answers", "Words in source, target or answer", "Filter"
FREQUENT, NONE_FREQUENT = "Most frequent differences", "There are none in these answers."
TIMES = "times"
COUNTED = "Counted in other ways"
WHOLE_ANSWER, NEXT_RIGHT = "exact match", "next token right, given the target"
EQUAL_POSITIONS = "equal positions, as the UPC lab counts"
TOKEN_LOSS, TEXT_LOSS = "loss, averaged over tokens", "loss, averaged by text first, as at FSU"


def kinds(translates: bool) -> dict[str, str]:
    return {"all": "All", "wrong": "Different" if translates else WRONG, "right": "Equal" if translates else RIGHT}


def rarer(count: int, most: int) -> str:
    """How many differences are not listed, and how often they occur at most."""
    return f"{count:,} more, {'each once' if most == 1 else f'at most {most:,} times'}."


def right_of(right: int, pairs: int, low: str, high: str) -> str:
    return f"{right} of {pairs}, 95 % interval {low}–{high}"


def in_nats(loss: str) -> str:
    return f"{loss} nats"


def how_counted(pairs: int) -> str:
    return (
        f"All {pairs} pairs are counted, whatever the filter shows. Equal positions are compared id by id, start token"
        " and padding included: many are equal before one answer is right, and few after a token that was left out."
        " Compare a number only with numbers that are counted the same way."
    )


# The Doctor's checks
VERDICTS = {"ok": "passed", "bad": "failed", "note": "remark"}
CHECKED_NOW = "Each check was computed now, on the loaded model."


def examining(text: str) -> str:
    return f"Checking the model, with “{text}” as the text ..."


# ---- opening, training, live models: below

# Open a model
ABOUT_OPENING = (
    "A file of weights that another program wrote (.pt, .pth, .ckpt, .bin, .safetensors) becomes a model on every page."
    " No code in it is run. The file stays where it is; the model is kept in your library."
)
RECORDING_FOUND = (
    "This is not a file of weights but a recording of one call of a module, made with vt.watch. Attention, Layers and"
    " Tensors show it."
)
TRANSFORMERS_FOUND = (
    "This folder was saved by transformers. Nothing is converted: the library keeps a link to it, and transformers runs"
    " the model."
)
FETCH = "Fetch it"
OPEN_MODEL, OPEN_RECORDING = "Open the model", "Open the recording"
MODEL_NAME = "Name"
READING_WEIGHTS = "Reading the weights ..."


def may_be_of_hub(name: str) -> str:
    """What "Fetch it" does with a name that no local file has."""
    return (
        f"There is no file {name} here. If it is a model on the Hugging Face hub, its settings, its tokenizer and its"
        " weights, if they are safetensors, are fetched into the hub’s cache; no code from there is run."
    )


def a_hub_model(name: str) -> str:
    return f"a model from the Hugging Face hub such as {name}"


def not_fetched(name: str, why: str) -> str:
    return f"There is no file {name} here; {why} when the app is started"


def fetching(name: str) -> str:
    return f"Fetching {name} ..."


def read_so_far(done: str, total: str) -> str:
    return f"Reading the weights: {done} of {total} MiB"


def text_replaced(name: str, now: str) -> str:
    """The sentence for a text that the new model cannot read; now: its replacement, "" for none."""
    if now:
        return f"{name} cannot read all of the text that was there, so it was replaced with “{now}”."
    return f"{name} cannot read all of the text that was there: type another one."


# Open a model: the files
FILE_LABELS = {
    "weights": "Weights",
    "source": "Source vocabulary",
    "target": "Target vocabulary",
    "texts": "Ten or more of your texts",
    "sample": "Sample",
}
FILE_HINTS = {
    "weights": "path, for a large file",
    "source": "path; without it, token ids",
    "target": "path; a decoder’s goes here",
    "texts": "path; source, tab, target",
    "sample": "path of sample.npz",
}

# Open a model: what was found, and what has to be answered
FOUND, NOT_IN_FILE = "What was found", "What the file does not say"
OF_TRANSFORMERS = ("class", "architecture", "parameters")
CHOOSE_ONE = "Choose one"
YES_OR_NO = {True: "yes", False: "no", None: "none"}
ORIGINS_OF_ANSWERS = {
    "usual answer": " (usual)",
    "measured": " (measured)",
    "best on the texts": " (best, not proved)",
}
"""The mark of an answer in its list, by its origin."""
SETTINGS = {
    "n_heads": "Heads",
    "norm": "Norm",
    "activation": "Activation",
    "embedding_scale": "Embedding multiplied by",
    "divisor": "Scores divided by",
    "positions": "Positions",
    "max_source": "Longest source, in tokens",
    "max_target": "Longest target, in tokens",
    "pad_to": "Every text padded to",
    "causal": "Reads only earlier tokens",
    "qkv_order": "Order in the q, k, v matrix",
    "rotary_pairs": "Features rotated together",
    "norm_epsilon": "Norm’s epsilon",
    "mask_fill": "Masked scores",
    "output.weight": "Output layer",
    "pooling": "Labels are given to",
    **{
        f"{side}_{role}": f"{side.capitalize()}: {word}"
        for side in ("source", "target")
        for role, word in (("bos", "start"), ("eos", "end"), ("unk", "unknown"), ("pad", "padding"))
    },
}
POOLED = {
    "none": "each token",
    "mean": "the text, by the mean over its tokens",
    "first": "the text, by its first token",
    "last": "the text, by its last token",
}
"""The items that labels are for, by the name of the pooling."""
LEAVE_OUT = "Leave out tensors without a place"
NOT_THE_MODEL = (
    "Unless they play no part in what it computes, this is not the model that was trained; it cannot be called"
    " verified."
)


def not_said(names: str) -> str:
    """The settings that have to be chosen before the model can be opened."""
    return f"The file does not say what {names} should be: choose below"


def choose_start(lacking: str) -> str:
    return f"{lacking}: choose it below, as “{SETTINGS['target_bos']}”."


# Open a model: measured on texts
MEASURE = "Measure on the texts"
REPORTED_LOSS = "Loss reported by its training, nats per token"
REPORTED_HINT = "such as 2.45"
TEXTS_SHOW = "What your texts show"
GRADE, OF_TEXTS, TO_BE_SURE = "Grade: ", "Texts: ", "To be sure: "
NOT_PROVED = "not proved"
GIVE_A_SAMPLE = (
    "give a sample of ids with the logits that your own program computes for them. These lines write one where the"
    " model was trained."
)
LOSS_COLUMN = "loss, nats per token"


def measuring(runs: int) -> str:
    return f"Measuring: {runs} run{'s' * (runs != 1)} so far."


def as_stated(loss: str) -> str:
    return f"{loss}, as the file states"


def it_reads(reading: str) -> str:
    return f"it {reading}."


def nothing_decided(doubt: str) -> str:
    return f"Your texts decide none of the settings: {doubt}."


def measured_on_texts(what: str) -> str:
    return f"Measured on {what}."


# Open a model: proved by a sample
PROVE = "Prove it with a sample"
PROOF = (
    "A sample holds ids, and the logits that your own program computes for them. If the model here computes the same"
    " logits, and would not if the file were read wrong (which is tried too), it is read right for texts of that"
    " length. Nothing else proves that. These lines write a sample where the model was trained."
)

# Open a model: where each tensor goes
PLACES = "Where each tensor goes"
ABOUT_PLACES = (
    "The layout is unknown: places were inferred from names and shapes. Correct a place, or how the tensor is stored;"
    " “ignored” leaves it out."
)
PLACE_COLUMNS = {"tensor": "Tensor", "shape": "Shape", "place": "Place", "how": "How", "number": "Number"}

# Open a model: your library
LIBRARY = "Your library"
RENAME, REMOVE, REMOVE_IT = "Rename", "Remove", "Remove it"


def name_of(model: str) -> str:
    return f"Name of {model}"


def removes_model(name: str) -> str:
    return f"This removes {name} from the library. The file it was made from stays."


# Train on your data
ABOUT_TRAINING = (
    "Pairs train a model that writes targets: source, tab and target in each line, or two columns of a CSV file or of"
    " JSON lines. A file without tabs is plain text, and trains a decoder that continues a text. The file should be"
    " UTF-8, ideally with a few thousand lines. When the training is done, the model is on every page."
)
HOW_LONG = (
    "How long it takes depends on this computer: an estimate appears after the first steps. One training runs at a"
    " time, in a process of its own."
)
PAIRS, PAIRS_HINT = "Pairs, or a text", "path, or drop a file below"
READING_FILE = "Reading the file ..."
PROPOSED, UNDO_CHANGES = "Proposed settings", "Undo all changes"
TOKENS = "Tokens"
TOKEN_KINDS = {"chars": "characters", "words": "words", "bpe": "word pieces"}
NUMBERS = {
    "longest": "Longest text",
    "vocabulary": "Vocabulary",
    "layers": "Layers",
    "d_model": "d_model",
    "heads": "Heads",
    "d_ff": "d_ff",
    "dropout": "Dropout",
    "epochs": "Epochs",
    "snapshots": "Snapshots",
}
"""The labels of the proposed numbers."""
NUMBER_HINTS = {
    "longest": "The most tokens that are read of a text, start and end included",
    "vocabulary": "The most different tokens on each side",
    "layers": "In each stack",
    "d_model": "The width of the model",
    "d_ff": "The width of the feed-forward network",
    "epochs": "Passes over the data",
    "snapshots": "How often the weights are saved for the replay",
}
COLUMNS, COLUMNS_HINT = "Columns", "source,target"
ABOUT_COLUMNS = (
    "The columns of source and target, with a comma between: two names from the header, two keys, or two numbers"
    " counted from 1. “none” reads the file as plain text."
)
TRAIN = "Train"
OF_THE_COMMAND = {"give --longest": f"set “{NUMBERS['longest']}” to", "give --columns": f"set “{COLUMNS}” to"}
"""Phrases of the command, and their replacements here."""


def first_part(name: str, size: str, read: str, in_a_shell: str) -> str:
    """The part of a large file that is read, and how to read all of it."""
    return (
        f"{name} is large ({size}): only its first {read} are read, and a copy of them is kept beside the model. In a"
        f" shell `viz-transformer train --pairs` reads up to {in_a_shell}."
    )


# Train on your data: the other trainings
TRAININGS = "Your training runs"
DONE, CAN_GO_ON, NOTHING_SAVED = "done", "stopped, can go on", "nothing saved"
SHOW = "Show"


def how_it_is(training: str, how: str) -> str:
    return f"{training}: {how}"


def removes_training(name: str, *, model_stays: bool) -> str:
    return f"This removes all that the training of {name} has saved.{' The model stays.' * model_stays}"


# A training that is shown
NO_LOSS_YET = "No loss has been measured yet."
STAYS = (
    "Training runs in a process of its own: it goes on when you leave this page and when the app ends, and you find it"
    " here again. “Stop” saves the current step."
)
STOPPING = "Stopping: the current step is being saved ..."
STARTING = "Starting: loading its libraries ..."
READING_DATA = "Reading the data ..."
MEASURING_RESULT = "The last step is done: measuring the result on the test data ..."
NO_ESTIMATE = "measuring how long the rest takes"
NEVER_SAVED = "Nothing was saved: it can start over."
NO_LAST_WORD = "It ended without a message: the process was killed, or the computer was switched off."
STOP, GO_ON, ANOTHER = "Stop", "Go on", "Train another"
FIRST_LOSSES = "Measuring the first losses ..."
LOSS_SO_FAR = "Loss so far"
LOSS_SO_FAR_ALT = "Training and validation loss by step so far, both axes logarithmic"
NO_EXAMPLE = "The test data have no example to follow during the training."
EXAMPLE = "An example that it is not trained on"


def asks_learned(training: str) -> str:
    return f"What has {training} learned so far?"


def validation_loss(step: int, loss: str) -> str:
    return f"At step {step:,} its validation loss is {loss}."


def validation_losses(first_step: int, first: str, last_step: int, last: str) -> str:
    return f"Its validation loss was {first} at step {first_step:,}, and is {last} at step {last_step:,}."


def training_title(name: str) -> str:
    return f"Training {name}"


def exactly_right(step: int, right: int, pairs: int) -> str:
    return f"Exactly right at step {step:,}: {right} of {pairs} validation pairs."


def under_way(step: int, steps: int, loss: str | None, left: str | None) -> str:
    """loss: of the batch; left: the remaining time, if known."""
    of_batch = "" if loss is None else f", loss of this batch {loss}"
    return f"Step {step:,} of {steps:,}{of_batch}; {NO_ESTIMATE if left is None else f'about {left} left'}."


def is_done(name: str) -> str:
    return f"Done: {name} is now a model on every page."


def goes_on_from(step: int, steps: int) -> str:
    """steps: their total, 0 if unknown."""
    return f"It can go on from step {step:,}{f' of {steps:,}' if steps else ''}."


def was_stopped(what_now: str) -> str:
    return f"Stopped. {what_now}"


def loss_caption(training: str) -> str:
    return f"{training}, loss so far"


def not_trained_on(example: str) -> str:
    return f"Not trained on: {example}"


def running_example(snapshots: int) -> str:
    return f"Running the example at {_snapshots(snapshots)} ..."


def about_example(snapshots: int, target: str) -> str:
    return f"{_snapshots(snapshots)} so far. Loss and maps are for the target “{target}”."


def _snapshots(count: int) -> str:
    return f"{count} snapshot{'s' * (count != 1)}"


# New model
ABOUT_NEW = (
    "A model with random parameters, in the sizes that you choose and with the vocabularies of a trained model. Its"
    " name contains all of its settings, so a link makes the same model again; the seed determines the parameters. Once"
    " it is opened, it is in the list of models on every page; Tensors shows every shape of its forward pass. What it"
    " writes means nothing."
)
NEW_SETTINGS = "Settings"
NEW_SETTINGS_HELP = "Choosing an architecture sets its sizes too; you can change them below"
OF_THE_PAPER = "the paper’s base model"
ENCODER_LAYERS, DECODER_LAYERS = "Encoder layers", "Decoder layers"
NEW_HEADS, NEW_D_MODEL, NEW_D_FF, NEW_SEED = "Heads", "d_model", "d_ff", "Seed"
NEW_NORM = "Norm"
OPEN, OPENED = "Open", "Opened"
OPEN_BESIDE_HELP = (
    "Keeps the trained model’s run as B and gives its answer to the new model as its target: every page then shows A,"
    " B, or A − B"
)


def settings_of(model: str, positions: str | None = None) -> str:
    return f"as {model}" if positions is None else f"as {model}, {positions}"


def of_tutorial(name: str) -> str:
    return f"tutorial: {name}"


def norm_kind(norm: str) -> str:
    return f"{norm}-norm"


def open_beside(model: str) -> str:
    return f"Open beside {model}"


# The training replayed at its snapshots
AT_EVERY_SNAPSHOT, MAPS_AT_A_SNAPSHOT = "at every snapshot", "maps at a snapshot"
NO_SNAPSHOTS_HERE = "No model here has them."
TARGETS = {
    "given": "the target given on the Run page",
    "example": "the target of the example pair",
    "last": "the trained model’s own answer",
}
"""Words for the target of losses and maps, by its origin."""
SNAPSHOT_COLUMNS = ("step", "loss", "answer", "ended", "is the target")


def came_without(model: str, others: str) -> str:
    return f"{model} came without snapshots of its training. {others}"


def models_with(names: str, count: int) -> str:
    return f"{names} {'has' if count == 1 else 'have'} them."


def running_sentence(snapshots: int) -> str:
    return f"Running the sentence at {_snapshots(snapshots)} ..."


def table_note(caption: str, target: str) -> str:
    return f"{caption}. Loss: nats per token of “{target}”."


def about_snapshots(which: str, target: str) -> str:
    return (
        "This is the sentence of the Run page: type another one there. Each snapshot writes its own answer;"
        f" loss and maps are for one target, {which}: “{target}”."
    )
