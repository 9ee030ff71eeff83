"""What people read on the Positions page: its labels and sentences, in one place."""

from __future__ import annotations

from collections.abc import Mapping

HOW = (
    "Each position has a row of numbers, which is added to the embedding of its token. In the sinusoidal table two"
    " neighbouring dimensions form a pair: sine and cosine of position / denominator. From one position to the next a"
    " pair turns by an angle, fast on the left of the picture and slowly on the right; so a shift is a rotation, and"
    " the product of two rows depends only on their distance. The rows of a learned table follow no formula; rows that"
    " no training text reached were never trained."
)
NOT = (
    "Similar encodings do not mean attention: W_Q and W_K come between. Switching positions off shows what order"
    " carries in this model, which was trained with them. It takes the model off its training data, and says nothing"
    " about a model that was trained without positions."
)

# What a recording or a model lacks
OF_RECORDING = "It has no parameters, and what it does with positions was not recorded."
PLACES = "how it places its tokens"
TURNS = "how fast its positions turn"
OTHER_ORDER = "how it reads the same tokens in another order"

# The question
ONLY_THE_MASK = "Only the causal mask: a position sees nothing that comes after it."
NOTHING = "Nothing: no part of this encoder tells one order from another."


def asks(stack: str, token: str, position: int) -> str:
    return f"What tells the {stack} that {token} is at position {position}?"


def lengths(position: str, embedding: str) -> str:
    return f"A position vector of length {position}, added to an embedding of length {embedding}."


def in_attention(acts: str) -> str:
    return f"Nothing is added to it: each self-attention {acts}."


# Which table
STACK, TABLE, SIZE, D_MODEL, LENGTH, POSITION = "Stack", "Table", "Size", "d_model", "Length", "Position"
TABLES: Mapping[str, str] = {"standard": "standard", "doubled": "exponent doubled (a common bug)"}
"""Tables that a formula makes: any of them can be shown beside the model's own."""
SHORT_TABLES: Mapping[str, str] = {"standard": "standard", "doubled": "exponent doubled"}
"""The same where there is little room."""


def of_the_model(table: str) -> str:
    return f"{table} (model’s)"


def box(what: str, last: int) -> str:
    return f"{what}, 0 to {last}"


def no_stack(model: str, asked: str, shown: str) -> str:
    return f"{model} has no {asked}, so the {shown} is shown."


def no_table(asked: str, shown: str) -> str:
    return f"This model has no {asked} table, so the {shown} one is shown."


def even_width(most: int, width: int, asked: int) -> str:
    return f"This table needs an even number of columns, 2 to {most}: {width} are shown instead of {asked}."


def table_length(most: int, length: int, asked: int) -> str:
    return f"The table can have 2 to {most} positions: {length} are shown instead of {asked}."


def table_ends(position: int, last: int) -> str:
    return f"The table ends before position {position}: position {last} is shown."


def no_dimension(asked: int, last: int) -> str:
    return f"There is no dimension {asked}: the table has dimensions 0 to {last}."


# What the table is, below the page
WITHOUT_POSITIONS = {
    "encoder": "An encoder is then blind to order.",
    "decoder": (
        "A causal decoder can still tell orders apart: each position sees only itself and what comes before it"
        " (Haviv et al. 2022)."
    ),
}
UNKNOWN_LENGTHS = "Its card does not say how long the training texts were, so no row is marked as never trained."
NEVER_TRAINED = "None of them was ever trained: they are random."


def adds_none(model: str, stack: str) -> str:
    return (
        f"{model} adds no positions. {WITHOUT_POSITIONS[stack]} The table shown here is the formula’s; the model does"
        " not use it."
    )


def learned_table(model: str, stack: str, size: tuple[int, int], last: int, trained: str) -> str:
    """size: rows and columns; last: the last row that the run adds; trained: which rows were trained."""
    return (
        f"{model} has a learned row of {size[1]} numbers for each of the {size[0]:,} positions of its {stack}. They"
        f" follow no formula; this run adds {_rows(last)}. {trained}"
    )


def fixed_table(model: str, noun: str, stack: str, size: tuple[int, int], last: int) -> str:
    return (
        f"{model} adds a fixed table of {noun} to its embeddings; nothing in it is trained. Its {stack}’s table has"
        f" {size[0]:,} × {size[1]} numbers; this run adds {_rows(last)}."
    )


def _rows(last: int) -> str:
    return f"rows 0 to {last}" if last else "row 0"


def all_trained(rows: int) -> str:
    return f"Training texts reached all {rows:,} of them."


def trained_to(tokens: int) -> str:
    return f"Training texts had at most {tokens:,} tokens: rows from {tokens} on were never trained, and are hatched."


def unseen_rows(tokens: int) -> str:
    return f"Training texts had at most {tokens:,} tokens: the model never saw the rows after that."


def another_table(scheme: str, rows: int, columns: int) -> str:
    return (
        f"The picture shows another table, made by its formula: {SHORT_TABLES[scheme]}, {rows} positions, d_model"
        f" {columns}."
    )


def rows_of_formula(first: int) -> str:
    return f"Rows from {first} on come from the formula: the model reads at most {first} tokens."


# The picture, and beside it B's
POSITIONS = "positions"
NOTE = "One row per position, one column per dimension."
A_ALONE = "A’s positions act in its self-attention: there is no table to show beside B’s. B above shows B’s."
OF_A = "The curves and the topics below are A’s."
NO_TABLE_OF_B = "B adds no positions: it has no table to show beside A’s."


def table_title(rows: int, columns: int, whose: str) -> str:
    return f"Table of positions, {rows} × {columns}: {whose}"


def own(model: str, stack: str) -> str:
    return f"{model}, {stack}"


def not_own(scheme: str) -> str:
    return f"{SHORT_TABLES[scheme]}, not the model’s"


def scene(stack: str, position: int) -> str:
    """What a projector's caption says."""
    return f"{stack}, position {position}"


def table_alt(title: str) -> str:
    return f"{title}: rows are positions, columns are dimensions"


def table_note(called: str, caption: str) -> str:
    return f"{called}{caption}. {NOTE}"


def called(run: str) -> str:
    """In front of the title of one of two tables."""
    return f"{run}: "


def called_difference(model: str) -> str:
    return f"A − B ({model}): "


def b_has_no(stack: str) -> str:
    return f"B has no {stack}: this is A’s table."


def b_cannot(error: object) -> str:
    return f"B has no table to show beside A’s: {error}."


def b_in_attention(noun: str) -> str:
    return f"B has {noun}, which act in its self-attention: it has no table to show beside A’s."


def same_table(rows: int, columns: int, last: int, last_of_b: int) -> str:
    return (
        f"A and B use the same table: {rows:,} rows of {columns} numbers are equal. A adds {_rows(last)}, B"
        f" {_rows(last_of_b)}."
    )


def two_sizes(a: tuple[int, ...], b: tuple[int, ...]) -> str:
    sizes = [" × ".join(str(number) for number in size) for size in (a, b)]
    return f"A has {sizes[0]} numbers and B {sizes[1]}: only tables of one size can be subtracted."


# Curves
CURVES, CHOOSE = "Dimensions as curves", "Choose dimensions"
CURVES_TITLE = "Dimensions over positions"
WAVELENGTHS = "Wavelength of each dimension, in positions"


def curve_name(dimension: int, function: str, turn: str) -> str:
    """A dimension and the positions of one turn: "5 cos 62.83"."""
    return f"{dimension} {function} {turn}"


def curves_alt(dimensions: str) -> str:
    return f"Dimensions {dimensions} over the positions"


# Below the picture
TOPICS: Mapping[str, str] = {
    "steps": "Five steps",
    "distance": "Product and distance",
    "shift": "Shift as rotation",
    "waves": "Wavelengths",
    "orders": "Two orders, one answer",
}
NOT_OWN = "This is not the model’s own table."
LAST_COLUMN = "The last column is the distance, in positions, at which the bias alone halves a weight."
NO_PICTURE = "This page has no picture of what positions do here. What they make is recorded: see Tensors."
ORDER_A, ORDER_B, REVERSE = "A, the text of the run", "B, the same in another order", "Reverse A again"
POSITIONS_OFF = "Positions left out"
WAVELENGTHS_OF_PAIRS = "Wavelength of each pair, in positions"


# Headlines, by topic


def of_distance(at: int, most: str, error: str | None) -> tuple[str, str]:
    """most: the product of a row with itself; error: how far products are from a function of the distance."""
    asks = "Does the product of two rows know only their distance?"
    if error is None:
        return asks, f"No: pairs at the same distance differ by up to {most}."
    return asks, f"Yes: over all pairs it differs by at most {error}; row {at} with itself gives {most}."


def of_shift(by: int, error: str | None) -> tuple[str, str]:
    asks = f"Can one matrix move every row by {'one position' if by == 1 else f'{by} positions'}?"
    if error is None:
        return asks, "Not here: this table has no frequencies, so no rotation follows from a formula."
    return asks, f"Yes, a rotation of each pair: the largest difference from the table is {error}."


def of_waves(first: str, last: str, slow: int, count: int, length: int) -> tuple[str, str]:
    return (
        "How fast do the dimensions turn?",
        f"Once in {first} to {last} positions; {slow} of {count} not even once over {length}.",
    )


def of_orders(with_positions: str, told_apart: bool, without: str | None, still: bool) -> tuple[str, str]:
    """with_positions, without: the largest change of a logit; told_apart, still: whether that is more than rounding."""
    said = f"{'Yes' if told_apart else 'No'}: with positions a logit changes by up to {with_positions}"
    if without is not None:
        said += f", without them by {without}{'' if still else ' (rounding)'}"
    return "Does the model notice another order?", f"{said}."
