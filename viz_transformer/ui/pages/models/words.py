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
