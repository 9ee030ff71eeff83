"""What the page Models says: its tabs, how each is read, what it does not show, and what a card says of its model."""

from __future__ import annotations

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
"""The tabs by what the address calls them: those of the model that is chosen, and those that lead to another one."""
TABS_OF_THE_MODEL, TABS_OF_ANOTHER = "What is shown of the model", "Add a model"

HOW = {
    "card": "Exact match is the share of test texts that the model wrote letter by letter as the test asks, with the"
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
    "new": "What it writes and where it looks is chance: it has learned nothing.",
    "training": "One sentence at all snapshots shows how this sentence was learned, not how the task was.",
}
OF_RECORDING = "It has no parameters, no training and no measurements."
WRITES_ON = "This model continues any text: there is no right answer. The Run page has beginnings to start it with."
READS_THE_ANSWER = (
    "In this model later tokens change earlier rows, so these are losses of a decoder that reads the answer it is asked"
    " to predict. They say nothing about what it writes by itself: the measurements on its card do."
)
FILES_VERIFIED = "Files verified"
NEVER_TRAINED, A_RECORDING = "New: never trained", "A recording of one call"
BROKEN = "Broken on purpose"
"""The badge of a model whose card says what is wrong with it."""


def skipped(too_long: str, wrong: str) -> str:
    """How many pairs the main measurement skips, and the share of right answers if these count as wrong."""
    return f"{too_long} skipped as too long ({wrong} if counted as wrong)"


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
    """What "Fetch it" does with a name that no file here has."""
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
    """That the text of the app is not one for the new model; `now`: what is there instead, "" for nothing."""
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
"""What marks an answer in its list, by where it comes from."""
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
"""What labels are given to, by the name of the pooling."""
LEAVE_OUT = "Leave out tensors without a place"
NOT_THE_MODEL = (
    "Unless they play no part in what it computes, this is not the model that was trained; it cannot be called"
    " verified."
)


def not_said(names: str) -> str:
    """What has to be chosen before the model can be opened."""
    return f"The file does not say what {names} should be: choose below"


def choose_start(lacking: str) -> str:
    return f"{lacking}: choose it below, as “{SETTINGS['target_bos']}”."


# Open a model: measured on texts
MEASURE = "Measure on the texts"
REPORTED_LOSS = "Loss reported by its training, nats per token"
REPORTED_HINT = "such as 2.45"
TEXTS_SHOW = "What your texts show"
GRADE, OF_TEXTS, TO_BE_SURE = "Grade: ", "Texts: ", "To be sure: "
NOT_PROVED = "Not proved"
GIVE_A_SAMPLE = (
    "Give a sample: ids, and the logits that your own program computes for them. These lines write one where the model"
    " was trained."
)
LOSS_COLUMN = "loss, nats per token"


def measuring(runs: int) -> str:
    return f"Measuring: {runs} run{'s' * (runs != 1)} so far."


def as_stated(loss: str) -> str:
    return f"{loss}, as the file states"


def it_reads(reading: str) -> str:
    return f"It {reading}."


def nothing_decided(doubt: str) -> str:
    return f"Your texts decide none of the settings: {doubt}."


def measured_on(what: str) -> str:
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
PROPOSED, AS_PROPOSED = "Proposed settings", "As proposed"
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
"""The labels of the numbers that are proposed."""
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
"""What a sentence of the command says, and what it says here."""


def first_part(name: str, size: str, read: str, in_a_shell: str) -> str:
    """What is read of a large file, and how all of it is."""
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
    """loss: that of the batch; left: the time, if it can be told."""
    of_batch = "" if loss is None else f", loss of this batch {loss}"
    return f"Step {step:,} of {steps:,}{of_batch}; {NO_ESTIMATE if left is None else f'about {left} left'}."


def is_done(name: str) -> str:
    return f"Done: {name} is now a model on every page."


def goes_on_from(step: int, steps: int) -> str:
    """steps: 0 where it is not known how many there are."""
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
    "Pins the trained model’s run as B and gives its answer to the new model as its target: every page can then show A,"
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
LOADING_MODEL = "Loading the model ..."
AT_EVERY_SNAPSHOT, MAPS_AT_A_SNAPSHOT = "at every snapshot", "maps at a snapshot"
NO_SNAPSHOTS_HERE = "No model here has them."
TARGETS = {
    "given": "the target given on the Run page",
    "example": "the target of the example pair",
    "last": "the trained model’s own answer",
}
"""Which target loss and maps are of."""
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
