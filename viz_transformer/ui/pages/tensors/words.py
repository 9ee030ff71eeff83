"""What people read on the Tensors page: its labels and sentences, in one place."""

from __future__ import annotations

from collections.abc import Sequence

from viz_transformer.numerals import percent, write_in_sentence

HOW = (
    "A point is a value that the model computes and that has a name; layers, heads and positions count from 0. Letters"
    " of a shape: B batch, T positions, Q queries, K keys, H heads, D d_model, E head_dim, F d_ff, V vocabulary."
    " Recorded points are the run's own numbers, derived points are computed from them now. The picture shows the last"
    " two axes, on a colour scale that covers the whole point. The variance is divided by the number of values."
)
NOT = (
    "Two points do not share a colour scale, and a single feature has no meaning of its own. In training mode the"
    " numbers change with the seed, and rows of weights need not sum to 1."
)
POINT_NAME = "the name of a point"

# The question
NOT_A_NUMBER, INFINITE, FINITE = "not a number", "infinite", "finite"
A_FINITE_NUMBER, A_NUMBER = "a finite number", "a number"


def asks(point: str) -> str:
    return f"What is in {point}?"


def left_out(count: int, not_a_number: int, infinite: int) -> str:
    """How many values are not a number, and how many infinite: "12 of 616 values are not a number"."""
    said = [
        f"{each:,} {of}{'is' if each == 1 else 'are'} {what}"
        for each, of, what in (
            (not_a_number, f"of {count:,} values ", NOT_A_NUMBER),
            (infinite, "" if not_a_number else f"of {count:,} values ", INFINITE),
        )
        if each
    ]
    return " and ".join(said)


def open_cells(cells: int, is_open: int) -> str:
    return f"{percent(is_open / cells if cells else 0)} of {cells:,} cells are open."


def none_is(count: int, not_a_number: int, infinite: int) -> str:
    which = A_FINITE_NUMBER if not_a_number and infinite else A_NUMBER if not_a_number else FINITE
    return f"None of its {count:,} values is {which}."


def values(count: int, whose: str, ends: tuple[float, float], mean: float) -> str:
    """How many values, their ends and mean. whose: "" for the run's own."""
    return f"{count:,} values{f' of {whose}' if whose else ''}: {_between(ends, mean)}."


def other_values(strange: str, finite: int, whose: str, ends: tuple[float, float], mean: float) -> str:
    """The same of what is left beside values that are not finite, which `strange` counts."""
    return f"{strange}{f' of {whose}' if whose else ''}; the other {finite:,}: {_between(ends, mean)}."


def _between(ends: tuple[float, float], mean: float) -> str:
    return f"min {write_in_sentence(ends[0])}, max {write_in_sentence(ends[1])}, mean {write_in_sentence(mean)}"


# What is shown: the run, a file, their difference, training mode
TRAINING = "Training mode"
DROPOUT_SEED = "Dropout seed"
TRACE = "Trace"
SAVE = "Save this trace"
OPEN = "A trace that was saved here or with trace.save(file)"
SHOWN = "Shown"
SOURCES = {"run": "Run", "file": "File", "difference": "Run − file"}
CLOSE = "Close file"
ROWS_MAY_DIFFER = " Rows of attention weights need not sum to 1."


def training(seed: int | None) -> str:
    """The button that opens training mode, and its seed where it is on."""
    return TRAINING if seed is None else f"{TRAINING}, seed {seed}"


def the(name: str) -> str:
    return f"the {name}"


def minus(first: str, second: str) -> str:
    """What a difference is called: "A − B"."""
    return f"{first} − {second}"


def file_line(name: str, described: str) -> str:
    return f"File: {name}, {described}"


def no_longer_kept(name: str) -> str:
    return f"{name} is no longer kept: open it again"


def described(model: str, read: str, seed: int | None) -> str:
    """What the opened file has: whose run, and of which text."""
    return f"a run of {model} that reads {read}{'' if seed is None else f', training mode with seed {seed}'}"


def cited(model: str, standing: str | None, trace: str, seed: int | None) -> str:
    """A trace by its checkpoint and id."""
    mode = "" if seed is None else f" in training mode with dropout seed {seed}"
    return f"{model}{'' if standing is None else f', {standing}'}, trace {trace}{mode}"


def no_dropout(model: str) -> str:
    return f"{model} has no dropout: its numbers in training mode are those of evaluation mode."


def training_mode(dropout: str, seed: int, attention_dropout: bool) -> str:
    """What training mode means for the numbers that are shown."""
    return (
        f"Training mode: dropout of {dropout} with seed {seed}; another seed gives other numbers."
        f"{ROWS_MAY_DIFFER * attention_dropout} The tokens are those of the run in evaluation mode."
    )


def of_the_run(point: str) -> str:
    return f"{point} of the run"


# The tree
ORIGINS = {False: "recorded", True: "derived"}
PART, POINT = "Part of the model", "Point"
HERE = "here"


def listed(point: str, derived: bool) -> str:
    """A point in the tree, in Markdown: its name, and where its numbers come from."""
    return f"`{point}` :gray[{ORIGINS[derived]}]"


def filter_label(points: int, derived: int) -> str:
    return f"{points} points, {derived} of them derived"


def filter_hint(points: int, derived: int) -> str:
    return f"Filter {points} points ({derived} derived)"


def of_one_shape(first: str, second: str) -> str:
    return f"of one shape in {first} and {second}"


def no_point(wanted: str, lacking: str, instead: str, why: str) -> str:
    return f"There is no point {wanted} {lacking}: {instead} is shown.{f' {why}.' if why else ''}"


def none_contains(wanted: str) -> str:
    return f"No point has “{wanted}” in its name."


def first_listed(listed: int, found: int) -> str:
    return f"The first {listed} of {found} are listed: type more to narrow them down."


# A point's numbers
CHARTS = {"heatmap": "Heatmap", "histogram": "Histogram", "points": "All points"}
PICTURE = "Picture"
POINTS_OF_A = "These are the points of A. Choose B above to see those of B, or A − B to see how far apart they are."
RECORDED, DERIVED = "recorded", "derived from recorded points"
WHOLE, IN_PICTURE = "whole", "picture"
SHAPE_HEAD = ("", "shape", "type")
MIN, MEAN, MAX, VARIANCE, NAN, INF, ZEROS = "min", "mean", "max", "variance", "NaN", "inf", "zeros"
TRUE, FALSE, SHARE_OF_TRUE = "True", "False", "share of True"
ALL_HEADS = "for all heads"
WEIGHT = "weight"


def has_none(run: str, point: str, why: str | None) -> str:
    return f"{run} has no {point}{'' if why is None else f': {why}'}."


def cannot_be_shown(run: str, error: object) -> str:
    return f"{run} cannot be shown this way: {error}."


def no_place(run: str, axis: str, place: int, last: int) -> str:
    return f"{run} has no {axis} {place} here: its last is {last}."


def needs_one_shape(a: str, b: str) -> str:
    return f"A − B needs one shape: this point is {a} in A and {b} in B."


def with_run(word: str, run: str) -> str:
    """ "whole, A"; run: "" where there is one."""
    return f"{word}, {run}" if run else word


def leaves_out(strange: str) -> str:
    return f"{strange}: minimum, mean, maximum, variance and histogram leave them out."


def only_place(letter: str, axis: str) -> str:
    return f"{letter}: {axis} 0"


def place_box(letter: str, axis: str, last: int) -> str:
    return f"{letter}: {axis}, 0 to {last}"


def slice_note(cited: str, title: str, rows: str, columns: str) -> str:
    return f"{cited}, {title}. Rows: {rows}; columns: {columns}."


def histogram_alt(point: str) -> str:
    return f"Histogram of {point}"


def title_of_difference(difference: str, point: str) -> str:
    return f"{difference}, {point}"


def title_beside(run: str, point: str) -> str:
    return f"{run}: {point}"


# All points
ADDING_UP = "Computing the statistics of every recorded point ..."
NOT_IN_THE_TABLE = "Derived points are not in the table: each is computed when it is opened."
NONE_SHARED = "The two traces have no point of the same name and shape."
TABLE_ALT = "Every recorded point with its numbers; choose a row to see the point"
POINT_COLUMN, SHAPE_COLUMN = "point", "shape"


def largest(difference: str) -> str:
    return f"largest |{difference}|"


def only_in(where: str, points: Sequence[str]) -> str:
    return f"Only in {where}: {', '.join(points)}."


def two_shapes(points: Sequence[str]) -> str:
    return f"In two shapes, so not subtracted: {', '.join(points)}."
