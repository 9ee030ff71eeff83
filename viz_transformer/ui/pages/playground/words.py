"""What people read on the Playground: its labels and sentences, in one place."""

from __future__ import annotations

from collections.abc import Sequence

from viz_transformer.numerals import number, percent, significant

HOW = {
    "attention": "Read from left to right. Each product is in the row of its query and the column of its key; dividing"
    " by √d_k turns products into scores, softmax turns a row of scores into weights, and a row of weights mixes the"
    " rows of V. Point at a cell to see how it is computed.",
    "simplex": "The weights over two keys are a point on a line segment, those over three keys a point in a triangle:"
    " at a corner one key has all the weight, in the middle all keys have the same.",
    "scaling": "Products of random vectors have variance d_k. Without the division a softmax over them puts nearly all"
    " weight on one key as d_k grows, and then barely responds to a change; divided by √d_k the variance stays at 1.",
    "norms": "A frame holds the numbers that share one mean and one variance. Layer norm takes each token alone; batch"
    " norm takes one feature over all texts and tokens, so that another text, or padding, changes a token's numbers.",
    "rebuild": "Both losses share one axis. The tables show the input and the output of each network; the maps show its"
    " weights before and after training. The same seed gives the same curves.",
    "copy": "Given the right letters, both end at a loss near zero. Only the decoder with the causal mask has learned"
    " to copy: the other one reads the answer to its right, which is not there when it writes by itself.",
}
NOT = {
    "attention": "These vectors mean nothing: they are random, or yours. A table with edited cells is not a trained"
    " model.",
    "simplex": "A point near a corner does not mean that a model is certain: it shows only what these few numbers"
    " give.",
    "scaling": "Vectors of a trained model are neither independent nor standard normal, and its scores may have any"
    " variance. The division is a good start for training, not a law.",
    "norms": "A norm sets the variance to 1; it does not make features equally important. “Positions and features” is"
    " a mistake from a tutorial: with it a token depends on padding and on later tokens.",
    "rebuild": "Copying five vectors is not language, and one run does not decide between one head and several: another"
    " seed may reverse the order.",
    "copy": "This is not the same as removing the mask of a trained model: here the mask was missing during training. A"
    " loss near zero says nothing about what a model writes by itself.",
}

# Parts and controls
PART = "Part"
PARTS = {
    "attention": "Attention",
    "simplex": "Simplex",
    "scaling": "Why scale",
    "norms": "Norms",
    "rebuild": "Train to copy its input",
    "copy": "Copy and mask",
}
MASK = "Mask"
MASKS = {"none": "No mask", "causal": "Causal", "padding": "Padding at the end", "own": "Own"}
NORM_NAMES = {"layer": "layer norm", "batch": "batch norm", "positions-and-features": "positions and features"}
SEED, NEW, NEW_HELP = "Seed", "New", "The numbers of the next seed"
AS_DRAWN, AS_DRAWN_HELP = "As drawn", "Undo all edits"
SIZES, VECTORS, QUERIES, KEYS, VALUES = "Sizes", "Vectors", "Queries", "Keys", "Values"
D_K, D_V, D_MODEL = "d_k", "d_v", "d_model"
SCALED, SCALED_HELP = "÷ √d_k", "Scores are products divided by the square root of d_k"
SELF, SELF_HELP = "q = k = v", "Self-attention: queries, keys and values are the same vectors"


def scene(part: str, seed: int) -> str:
    """The caption on a projector."""
    return f"Playground: {PARTS[part].lower()}, seed {seed}"


def caption(seed: int) -> str:
    return f"Playground, seed {seed}"


# In the address
FOUR_SIZES = "four whole numbers from 1 to {} with commas between them"
EDITED_CELLS = "at most {} edited cells such as q0.1=2.5 with commas between them"

# Questions
HOW_FAR = "How far is q0 from attending evenly?"
WHY_DIVIDE = "Why divide by √d_k?"
WHICH_SHARE = "How many numbers share one mean and one variance?"
SEVERAL_HEADS = "Do several heads copy their input better than one?"
WITHOUT_MASK = "Can a decoder learn to copy without the causal mask?"
START_FIRST = "Start the training to see."
ALL_MASKED = "None: every key is masked for it."


def which_key(name: str) -> str:
    return f"Which key does {name}0 weight most, and why?"


def largest_score(key: int, weight: float, product: float, divisor: float, score: float) -> str:
    return (
        f"k{key} ({percent(weight)}): q · k = {significant(product)}; divided by {significant(divisor)} that is"
        f" {significant(score)}, the largest score."
    )


def row_entropy(bits: float, even: float, most: float, key: int) -> str:
    entropy = f"Its entropy is {number(bits, 2)} of {number(even, 2)} bits"
    return f"{entropy}; the largest weight, {percent(most)}, is on k{key}."


def entropy_kept(d_k: int, scaled: float, plain: float, even: float) -> str:
    return (
        f"At d_k = {d_k:,} attention keeps {number(scaled, 2)} of {number(even, 2)} bits of entropy; without,"
        f" {number(plain, 2)}."
    )


def shared_by(total: int, each: Sequence[tuple[str, int]]) -> str:
    return f"Of {total}: {', '.join(f'{name} {pooled}' for name, pooled in each)}."


def errors_after(steps: int, each: Sequence[tuple[str, float]]) -> str:
    said = ", ".join(f"{name} {loss:.1e}" for name, loss in each)
    return f"Mean squared error after {steps:,} steps: {said}."


def copies_after(steps: int, each: Sequence[tuple[str, float]]) -> str:
    said = ", ".join(f"{name} {percent(share)}" for name, share in each)
    return f"Copies that are right as a whole after {steps:,} steps: {said}."


# Attention
ATTENTION_TITLE, SELF_TITLE = "Attention, step by step", "Self-attention, step by step"
ATTENTION_NOTE = "Every number in these tables, in float64."
ALIGNED_WITH_ITSELF = (
    "Here each vector is most aligned with itself; a longer vector in the same direction would change that."
)
VECTORS_IN_ROWS = "Vectors, one per row"
MASK_TABLE = "Mask: ticked cells may be attended to"
TABLE_COLUMNS = ("table", "row", "column", "value")
TABLES = ("query", "key", "value", "products", "scores", "mask", "weights", "output")


def attention_alt(title: str) -> str:
    return f"{title}: Q, K, products, scores, weights, V and output as tables"


def aligned_with_another(i: int, j: int, other: str, itself: str) -> str:
    return (
        f"A vector can be more aligned with another than with itself: q{i} · k{j} = {other}, q{i} · k{i} = {itself}. A"
        " dot product grows with the length of the other vector."
    )


EDIT = ": edit a cell"


def too_many(most: int) -> str:
    return f"At most {most} numbers can be edited: the last change was not applied."


# Simplex
SEGMENT, TRIANGLE = "segment", "triangle"
FURTHER = "further from the middle, unless all scores of the query are equal"
SAME_PLACE = "in the same place, as √d_k is 1"
WEIGHT_OF, BITS, NOT_SCALED, IS_SCALED = "weight of", "bits", "not scaled", "scaled"
IS_ONE, NEARER = "which is 1 here", "which moves every point towards the middle"


def needs_keys(shape: str, needed: int, there: int) -> str:
    return f"A {shape} needs {needed} keys, and there {'is' if there == 1 else 'are'} {there}: choose more."


def dots(hollow: str) -> str:
    return f"Filled: with scaling. Hollow: the same without, {hollow}. The cross marks equal weights."


def simplex_title(queries: int, keys: int, shape: str) -> str:
    return f"The weights of {queries} queries over {keys} keys, as points of a {shape}"


def simplex_alt(shape: str) -> str:
    return f"Weights as points of a {shape} whose corners are the keys"


def dot(query: int, scaled: bool) -> str:
    return f"query {query}, {IS_SCALED if scaled else NOT_SCALED}"


def key_share(key: int, share: str) -> str:
    return f"k{key}: {share}"


def about_bits(middle: str, divisor_is_one: bool) -> str:
    return (
        f"Bits: entropy of the row, 0 at a corner and {middle} in the middle. Scaling divides by √d_k,"
        f" {IS_ONE if divisor_is_one else NEARER}."
    )


# Why scale
DIVIDED, NOT_DIVIDED = "divided", "not divided"
DIVIDED_BY, SCORE, PRODUCT = "divided by √d_k", "score = product ÷ √d_k", "product"
ENTROPY_TITLE, ENTROPY_AXIS = "Entropy of a row of weights", "bits, mean of a row"
ENTROPY_ALT = "Entropy of softmax rows against d_k, with and without scaling"
VARIANCE_TITLE, VARIANCE, VARIANCE_ONE = "Variance of products and scores", "variance", "variance 1"
VARIANCE_ALT = "Variance of products and of scores against d_k"
PRODUCT_VARIANCE, SCORE_VARIANCE = "variance of a product", "variance of a score"
PRODUCT_VARIANCES, SCORE_VARIANCES = "variance of products", "variance of scores"


def means_of(rows: int, keys: int) -> str:
    return f"Means of {rows:,} random rows over {keys} keys."


def uniform(bits: float) -> str:
    return f"uniform: {number(bits, 2)} bits"


def entropy_row(how: str) -> str:
    return f"entropy, bits, {how}"


def entropy_column(how: str) -> str:
    return f"entropy in bits, {how}"


def largest_weight(how: str) -> str:
    return f"largest weight, {how}"


def response_row(how: str) -> str:
    return f"1 − Σ w², {how}"


def response_column(how: str) -> str:
    return f"1 - sum of squares, {how}"


def about_rows(rows: int, keys: int) -> str:
    return (
        f"{rows:,} rows, each of one random query and {keys} random key{'s' * (keys > 1)}; all numbers are standard"
        " normal. 1 − Σ w² is how much the weights of a row respond in total to a small change of their own scores:"
        " near 0 hardly any gradient passes through the softmax."
    )


# Norms
NORMS_TITLE = "What shares one mean and one variance is framed"
NORMS_NOTE = "Every number before and after each norm, with the mean and the variance that it was normalised with."
NORMS_ALT = "Numbers of two texts before and after layer norm, batch norm and a third"
NORM_HEAD = (
    "",
    "numbers in a frame",
    "frames",
    "variance before",
    "variance after",
    "moved by another feature",
    "moved by another token",
    "moved by another text",
)
ABOUT_NORMS = (
    "Moved by: how far the first number of text 0, token 0 moves when one other number is raised by 1: the next feature"
    " of the same token, the same feature of the next token, or that of the other text. 0 is exact. After: with gain"
    " and offset. Batch norm is as in training; in use it takes averages from training."
)
NUMBERS, GAIN_AND_OFFSET = "Numbers", "Gain and offset of each feature, trained in a model"
GAIN, OFFSET = "gain", "offset"
PLACE_NAMES = ("text", "token", "feature")
BEFORE = "before"


def text_and_token(text: int, token: int) -> str:
    return f"text {text}, token {token}"


def from_to(ends: Sequence[str]) -> str:
    return ends[0] if ends[0] == ends[1] else f"{ends[0]} to {ends[1]}"


def mean_of(norm: str) -> str:
    return f"mean, {norm}"


def variance_of(norm: str) -> str:
    return f"variance, {norm}"


def after_norm(norm: str) -> str:
    return f"after {norm}"


# Training
START, GO_ON, STOP, RESTART = "Start", "Go on", "Stop", "Restart"
BEFORE_TRAINING = "before training"
STEP = "step"


def done_of(done: int, steps: int) -> str:
    return f"{done:,} of {steps:,} steps"


def state(name: str, at: str, error: str | None) -> str:
    """The state of a training in words; at: its progress."""
    return {
        "starting": "Loading torch ...",
        "running": f"Training: {at}.",
        "stopped": f"Stopped after {at}. It can go on from here.",
        "left": f"Stopped after {at}, because nobody was watching. It can go on from here.",
        "done": f"Done: {at}.",
        "failed": f"The training failed: {error}.",
    }[name]


def sentence(error: object) -> str:
    return f"{error}."


def when(step: int) -> str:
    return f"after {step:,} steps" if step else BEFORE_TRAINING


# Train to copy its input
HEADS = "Heads of the second"
LOSS_ALT = "Loss of one head and of several heads against steps"
LOSS_NOTE = "The loss before each step, of every step."
SQUARED_ERROR = "mean squared error"
OUTPUTS_ALT = "The input vectors and the outputs of both networks as tables"
MAPS_BEFORE = "Attention maps before training"
ONE_HEAD = "one head"


def not_divisible(size: int) -> str:
    return f"{size} numbers cannot be split evenly into heads: choose an even d_k."


def before_rebuild(heads: int, vectors: int, steps: int, rate: float) -> str:
    return (
        f"One head without W_O, and {heads} heads with it, each learn on their own to copy their {vectors} input"
        f" vectors: {steps:,} steps of Adam, learning rate {significant(rate, 6)}, mean squared error, parameters from"
        " the seed."
    )


def loss_title(every: int) -> str:
    return "Loss" if every == 1 else f"Loss, one step in {every}"


def maps_after(steps: int) -> str:
    return f"The same after {steps:,} steps"


def loss_of(name: str, loss: float) -> str:
    return f"{name}: {loss:.1e}"


def outputs_title(step: int) -> str:
    return f"Output beside input, {when(step)}"


def head_of(head: int, heads: int) -> str:
    return f"head {head} of {heads}"


# Copy and mask
LETTERS_COUNTED = ("copied letters", "all")
COPY_LOSS_TITLE = "Loss while the right letters are given (teacher forcing)"
NATS_PER_LETTER = "nats per letter"
COPY_LOSS_ALT = "Loss of both decoders against steps"
COPY_LOSS_NOTE = "The loss before each step, in nats per letter, of every step."
WITH_MASK, WITHOUT = "with mask", "without"
ABOUT_COPY_MAPS = (
    "Rows are queries, columns are keys; the row of a letter writes the next one. Below the diagonal is what has been"
    " written already, above it what is still to come: the answer."
)
READ_RIGHT = "letters right, given the right ones before"
WRITTEN_RIGHT = "letters right, reading its own"
WHOLE_RIGHT = "whole copies right, reading its own"
AHEAD = "attention to later positions, first text"
TO_COPY = "to copy"


def before_copying(length: int, letters: int, steps: int, texts: int) -> str:
    return (
        f"Two equal decoders of one layer, 2 heads and d_model 32 learn to write a bar, {length} random letters out of"
        f" {letters}, the same letters once more, and a bar. One has the causal mask, the other may attend to every"
        f" position. {steps} steps on batches of {texts} texts."
    )


def counted(letters: str, name: str) -> str:
    return f"{letters}, {name}"


def least_loss(floor: float) -> str:
    return f"{number(floor, 2)}: lowest possible over all letters without reading ahead"


def head_with(mask: str, head: int) -> str:
    return f"{mask}, head {head}"


def copy_maps_title(step: int) -> str:
    return f"Attention on the first text, {when(step)}"


def new_texts(count: int) -> str:
    return f"{count} new texts"


def written(name: str) -> str:
    return f"written {name}"
