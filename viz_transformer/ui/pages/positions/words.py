"""What people read on the Positions page: its labels and sentences, in one place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from viz_transformer.sentences import capitalised

HOW = (
    "Each position has a row of numbers, which is added to the embedding of its token. In the sinusoidal table two"
    " neighbouring dimensions form a pair: sine and cosine of position / denominator. From one position to the next a"
    " pair turns by an angle, fast on the left of the picture and slowly on the right; so a shift is a rotation, and"
    " the product of two rows depends only on their distance. The rows of a learned table follow no formula; rows that"
    " no training text reached were never trained."
)
NOT = (
    "Similar encodings do not mean attention: W_Q and W_K come between. Switching positions off shows how much"
    " order matters to this model, which was trained with positions. It takes the model off its training data, and says"
    " nothing about a model that was trained without them."
)
_ADDED = (
    "Each cell is the number that is added to the score of a query (row) and a key (column) before the softmax: the"
    " lower it is, the less weight is left for that key."
)
HOW_IN_ATTENTION: Mapping[str, str] = {
    "rotation": (
        "The curve is one query times one key, each turned by the angles of its position: their product depends on the"
        " distance between the two positions. Pairs of features with a short wavelength tell neighbours apart, pairs"
        " with a long one tell far positions apart."
    ),
    "slopes": _ADDED,
    "bias": _ADDED,
}
"""How to read what self-attention does with positions, by what is drawn of it."""
NOT_IN_ATTENTION = (
    "Positions change scores but do not decide them: queries and keys come from W_Q and W_K. What one head makes of a"
    " distance says nothing about another head."
)

# What a recording or a model lacks
OF_RECORDING = "It has no parameters, and what it does with positions was not recorded."
PLACES = "how it encodes positions"
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
STACK, TABLE, SIZE, POSITION = "Stack", "Table", "Size", "Position"
D_MODEL, WIDTH, LENGTH = "d_model", "width", "Length"
TABLES: Mapping[str, str] = {"standard": "standard", "doubled": "exponent doubled (a common bug)"}
"""Tables that a formula makes: any of them can be shown beside the model's own."""
SHORT_TABLES: Mapping[str, str] = {"standard": "standard", "doubled": "exponent doubled"}
"""The same where there is little room."""


def of_the_model(table: str) -> str:
    return f"{table} (model’s)"


def no_dimension(asked: int, last: int) -> str:
    return f"There is no dimension {asked}: the table has dimensions 0 to {last}."


# What applies to this model, in front of how to read it
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
ROW = "position"
NOTE = "One row per position, one column per dimension."
A_ALONE = "A’s positions act in its self-attention: there is no table to show beside B’s. Choose B above to see B’s."
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
TOPIC = "Topic"
TOPICS: Mapping[str, str] = {
    "steps": "Five steps",
    "distance": "Product and distance",
    "shift": "Shift as rotation",
    "waves": "Wavelengths",
    "orders": "Two orders, one answer",
}

# Five steps
INDEX, DENOMINATOR, POSITION_STEP, ARGUMENT, ENCODING = "index", "denominator", "position", "argument", "encoding"
INDICES: Mapping[str, str] = {"standard": "i = 0, 0, 1, 1…", "doubled": "i = 0, 0, 2, 2…"}
OF_TOKEN = "of the token"
DIMENSION, INDEX_ROW, DENOMINATOR_ROW, FUNCTION = "dimension", "1 index i", "2 denominator", "function"
ARGUMENT_TABLE = "3 position, 4 argument: position / denominator"
ENCODING_TABLE = "5 encoding: sin or cos of the argument"
ARGUMENT_NOTE = f"Step 4, the argument in radians. {NOTE} Step 5 is the table above."
NOT_OWN = "This is not the model’s own table."
RANDOM_AT_FIRST = (
    "A learned table has no steps: each number is random when the model is made, and training changes it like any other"
    " parameter. A row that no training text reaches keeps its random numbers, or shrinks through weight decay."
)
OTHER_STEPS = "The five steps make a table of sines and cosines, which this one is not."
CHOOSE_STANDARD = "Choose the standard table above to see how a formula makes one."


def derived_number(position: int, token: str, dimension: int, compared: str) -> str:
    """Which number the ladder derives, and how step 5 compares with the model's table."""
    return f"Position {position} (“{token}”), dimension {dimension}. {compared}"


def step_5(numbers: int, differing: int, largest: str, is_float32: bool) -> str:
    """How step 5 compares with the model's own table; is_float32: whether a difference is rounding."""
    of = f"Step 5 and the model’s own table, {numbers:,} numbers: "
    if not differing:
        return f"{of}identical as float32."
    if is_float32:
        return f"{of}equal up to float32 rounding; {differing:,} of them differ, by at most {largest}."
    return f"{of}different, by up to {largest}."


def added_rows(rows: int, largest: str | None) -> str:
    """How the rows that the run added compare with the table; largest: their largest difference from it, if any."""
    if largest is not None:
        return f"The rows that this run added differ from the table by up to {largest}."
    what = f"The {rows} rows that this run added match" if rows != 1 else "The row that this run added matches"
    return f"{what} the table number by number."


def row_lengths_title(is_learned: bool) -> str:
    return f"Length of each {'learned ' * is_learned}row"


def row_lengths_alt(is_learned: bool) -> str:
    return f"The length of each row of the {'learned ' * is_learned}table, by position"


def other_table(is_learned: bool) -> str:
    """What a table without a formula of sines is called."""
    return "learned table" if is_learned else "table without sines and cosines"


# Product and distance
ASKS_DISTANCE = "Does the product of two rows depend only on their distance?"
PRODUCTS_TITLE = "Product of two rows against the distance between them"
PRODUCTS_ALT = "Products of rows of the table against their distance"
DISTANCE, LOW, MEAN, HIGH = "distance", "low", "mean", "high"


def same_products(largest: str, row: int, itself: str) -> str:
    return f"Yes, to within {largest} over all pairs of rows; row {row} with itself gives {itself}."


def other_products(spread: str) -> str:
    return f"No: pairs at the same distance differ by up to {spread}."


def products_with(position: int) -> str:
    return f"products with position {position}"


def product_column(position: int) -> str:
    return f"product with {position}"


def note(caption: str) -> str:
    return f"{caption}."


def products_of_formula(largest: str, half: int) -> str:
    return (
        "The product of rows p and p + k is the sum of cos(k / denominator) over all pairs of dimensions: it depends on"
        " the distance k, not on the place p. Over all pairs of rows the largest difference from that sum is"
        f" {largest}. At distance 0 it is d_model / 2 = {half}."
    )


def products_of_none(is_learned: bool, spread: str) -> str:
    return (
        f"In a {other_table(is_learned)} two pairs at the same distance need not agree: here their products differ by"
        f" up to {spread}. The grey band covers all pairs of rows."
    )


# Shift as rotation
NO_ROTATION = "Not here: this table has no frequencies, so no rotation follows from a formula."
SHIFT = "Shift k"


def asks_shift(by: int) -> str:
    return f"Can one matrix move every row by {'one position' if by == 1 else f'{by} positions'}?"


def is_rotation(largest: str) -> str:
    return f"Yes, a rotation of each pair: the largest difference from the table is {largest}."


def no_frequencies(is_learned: bool) -> str:
    return (
        f"A {other_table(is_learned)} has no frequencies, so no rotation turns every row into the one k positions"
        " later. Where it has fewer rows than columns, some matrix always fits, which proves nothing. Choose the"
        " standard table above to see the rotation."
    )


def last_position(position: int) -> str:
    return f"Position {position} is the last of this table: choose an earlier one, or a longer table."


def turned_title(position: int, to: int) -> str:
    return f"Position {position} (dot) turned into position {to} (ring), in each pair of dimensions"


def turned_alt(position: int, to: int) -> str:
    return f"Pairs of dimensions turned from position {position} to position {to}"


def rotation_head(position: int, to: int) -> tuple[str, ...]:
    return ("dimensions", "angle k/denominator", "matrix", f"row {position}", "turned", f"row {to}", "difference")


def one_matrix(width: int, by: int, rows: int, largest: str, rounding: str) -> str:
    """rows: how many were compared; rounding: what float32 rounds the table itself by."""
    over = "Over 1 row" if rows == 1 else f"Over {rows:,} rows"
    return (
        f"One {width} × {width} matrix, with such blocks on its diagonal, turns every row p into row p + {by}. {over}"
        f" the largest difference from the table is {largest}; the table itself is rounded to float32, by up to"
        f" {rounding}."
    )


# Wavelengths
ASKS_WAVES = "How fast do the dimensions turn?"
WAVES_HEAD, THE_TABLE = "wavelength, in positions", "the table’s"
NO_WAVELENGTHS = "This model’s positions have no wavelengths; these are the formula’s, for as many dimensions."
NO_WAVELENGTHS_WITHOUT_POSITIONS = (
    "This model adds no positions; these are the formula’s wavelengths, for as many dimensions."
)
WAVES_ALT = "Wavelength of each pair of dimensions, with the standard exponent and with it doubled"
AS_D_MODEL_GROWS = (
    "As d_model grows, the wavelengths come to span 2π = 6.283 to 2π · 10⁴ = 62,832 positions. With the exponent"
    " doubled they reach 2π · 10⁸, and half of the dimensions hardly move: they say little about where a token is."
)


def turns(first: str, last: str, slow: int, count: int, length: int) -> str:
    return f"Once in {first} to {last} positions; {slow} of {count} not even once over {length}."


def of_both(table: str, length: int, width: int) -> str:
    return f"{capitalised(table)}, {length} × {width}"


def less_than_once(length: int) -> str:
    return f"turn less than once over {length} positions"


def still(least: float) -> str:
    return f"move by less than {least}"


def span(first: str, last: str) -> str:
    return f"{first} to {last}"


def of_dimensions(count: int, of: int) -> str:
    return f"{count} of {of} dimensions"


# Two orders, one answer
ASKS_ORDERS = "Does the model notice a change of order?"
ORDER_TYPED = "A text in another order"
"""What the address calls it."""
ORDER_A, ORDER_B, REVERSE = "A, the text of the run", "B, the same in another order", "Reverse A again"
POSITIONS_OFF = "Positions left out"
READING = "Reading both orders ..."
LARGEST_CHANGE = "largest change of a logit"
POSITIONS_ON = "positions on"
TOLD_APART, THE_SAME = "told apart", "the same, up to rounding"
ONLY_SPECIAL = "(nothing but special tokens)"
LACKS, ADDS = "it lacks", "it adds"
NONE_TO_LEAVE_OUT = "This model adds no positions: there is nothing to leave out."
IN_PYTHON = "In Python an edit can: vt.edits.Scale('encoder.0.self.bias', 0.0) for each layer."
CAUSAL_NOT_BLIND = (
    "A causal decoder is not blind to order without positions: each row sees only itself and what comes before it, so"
    " the mask alone tells later layers about order (Haviv et al. 2022)."
)
LAST_ROW_BLIND = "Without positions the last row does not tell the two orders apart."
ENCODER_STILL_ADDS = "The encoder still adds its positions, so it reads two different texts."
ONE_ANSWER = (
    "Two orders, one answer: without positions the encoder returns the same vectors in another order, and"
    " cross-attention does not depend on their order."
)
IN_THE_LAST_ROW = "Logits are compared in the last row, which writes the next token"


def notices(change: str, told_apart: bool, without: str | None, still: bool) -> str:
    """change, without: the largest change of a logit with positions and without; told_apart, still: whether that is
    more than rounding."""
    said = f"{'Yes' if told_apart else 'No'}: with positions a logit changes by up to {change}"
    if without is not None:
        said += f", without them by {without}{'' if still else ' (rounding)'}"
    return f"{said}."


def one_order(text: str) -> str:
    return f"All parts of “{text}” are equal: there is no other order. Type another text as B."


def not_left_out(asked: str, instead: str) -> str:
    of = asked if asked == "both" else f"the {asked}"
    return f"Positions cannot be left out of {of} here: those of the {instead} are left out."


def positions_off(stacks: Sequence[str]) -> str:
    return f"positions off: {' and '.join(stacks)}"


def answer_to(text: str) -> str:
    return f"answer to {text}"


def in_rows(rows: int) -> str:
    where = "1 row" if rows == 1 else f"{rows} rows"
    return f"Logits are compared in {where}, with the same target in every run: A’s answer with positions"


def tokens(what: str, names: Sequence[str], most: int) -> str:
    """ "it lacks 0, 4", with `most` of the names."""
    return f"{what} {', '.join(names[:most])}{', …' * (len(names) > most)}"


def other_tokens(parts: Sequence[str]) -> str:
    return f"B does not have the tokens of A: {'; '.join(parts)}. A change is then not due to order alone."


def compared(where: str, largest: str) -> str:
    return (
        f"{where}; the largest logit is {largest}. Changes of up to a hundred-thousandth of that are rounding: float32"
        " adds the same numbers in another order."
    )


def cut(most: int) -> str:
    return f"Answers that end in … were stopped after {most} tokens."


def cannot_leave_out(does: str) -> str:
    return f"Positions {does} in each self-attention of this model: this page cannot leave that out."


def tells_apart(by_reshape: bool) -> str:
    why = ": its heads are merged by a raw reshape, which mixes positions" if by_reshape else ""
    return f"This model tells the orders apart even without the encoder’s positions{why}."


def change_at(row: int | None, token: str) -> str:
    return f"{'' if row is None else f'at target position {row}, '}token “{token}”"


# Positions in self-attention
QUERY, KEY = "Query", "Key"
NO_PICTURE = "This page has no picture of what positions do here. The results are recorded: see Tensors."
NOT_TURNED = "not turned"
ROTARY, THIS_RUN = "rotary", "this run’s"
"""The name of the curve of wavelengths, and the owner of the positions that limit it."""
WAVELENGTHS_OF_PAIRS = "Wavelength of each pair, in positions"
WAVELENGTHS_ALT = "Wavelength of each pair of dimensions, in positions"
PRODUCT = "q · k"


def attention_scene(kind: str, layer: str, head: int, query: int, key: int) -> str:
    """What a projector's caption says."""
    return f"{kind}, layer {layer}, head {head}, query {query}, key {key}"


def has_no_table(model: str, noun: str, sentence: str) -> str:
    return f"{model} has {noun}: nothing is added to its embeddings, and there is no table to show. {sentence}"


def acts_on(model: str, acts: str) -> str:
    return f"{model}: {acts}."


def fewer_layers(stack: str, layers: int, layer: int) -> str:
    return f"The {stack} has {layers} {'layer' if layers == 1 else 'layers'}: layer {layer} is shown."


# A rotation
def rotated_title(site: str, head: int, query: int, key: int) -> str:
    return f"{site}, head {head}: query {query} times key {key}, as if they were at other distances"


def by_distance(site: str, head: int, query: int, key: int) -> str:
    return f"{site}, head {head}: query {query} times key {key}, by distance"


def rotated_note(caption: str) -> str:
    return f"{caption}. Not yet divided."


def rotated_alt(query: int, key: int) -> str:
    return f"Query {query} times key {key} by the distance between them"


def rotated_curve(largest: str) -> str:
    """largest: the largest difference of a product from the recorded one."""
    return (
        "The curve is the product of this one query and this one key, turned pair by pair to each distance: it depends"
        " on the difference of the two positions, not on where they are. The dot is the run’s own pair. Over all keys"
        f" of this query the products differ from the recorded ones by at most {largest}."
    )


def frequencies(count: int, named: str, base: str | None, apart: int) -> str:
    """Where another model's frequencies are from, whose powers they are, and how far apart a pair's features are."""
    what = "The frequency is that" if count == 1 else f"The {count} frequencies are those"
    follows = "" if count == 1 else "; they are not powers of one base: some are scaled"
    if base is not None:
        follows = f", base^(−2i/{2 * count}) for pair i with base {base}"
    pair = "two neighbouring features" if apart == 1 else f"a feature and the one {apart} places after it"
    return (
        f"{what} of this model’s own list {named}{follows}. A pair is {pair}. Checked on all recorded queries and keys"
        " of this layer, in all heads."
    )


def unturned(first: int, last: int, size: int) -> str:
    if first == last:
        return f"Feature {first} of each head’s {size} is not turned: position does not change it."
    return f"Features {first} to {last} of each head’s {size} are not turned: position does not change them."


def multiplied(factor: str) -> str:
    return f"After turning, all are multiplied by {factor}."


def turned_here(largest: str) -> str:
    return (
        f"Turned here in float64, all queries and keys of this head differ from the recorded ones by at most {largest}."
    )


def pair_head(query: int, key: int) -> tuple[str, ...]:
    return (
        *("dimensions", "radians per position", "positions per turn"),
        *(f"angle at {query}", f"query {query}", "turned"),
        *(f"angle at {key}", f"key {key}", "turned"),
    )


# What is added to the scores
SLOPES, SLOPES_OF_ALL, BIASES = "Slopes", "Slopes of all heads", "Bias by distance"
LAST_COLUMN = "The last column is the distance, in positions, at which the bias alone halves a weight."
SLOPES_HEAD = ("head", "slope", "halves in")
PLACE_SLOPES_HEAD = ("head", "per position")
BIASES_HEAD = ("distance", "bias")
NOT_LINEAR = "not linear"
OF_KEYS = {
    "encoder": "The paper does not cover encoders; here the distance counts in both directions.",
    "decoder": "Keys after the query are masked in a decoder; their bias is 0.",
}
QUERY_ROW, KEY_COLUMN = "query", "key"


def queries(side: str) -> str:
    return f"queries: {side}"


def keys(side: str) -> str:
    return f"keys: {side}"


def bias_title(site: str, head: int) -> str:
    return f"{site}, head {head}: what is added to each score"


def bias_of(site: str, head: int) -> str:
    return f"{site}, head {head}: bias"


def bias_note(caption: str) -> str:
    return f"{caption}. One row per query, one column per key."


def slope_of(head: int, slope: str, stack: str, largest: str) -> str:
    """largest: the largest difference of a recorded bias from slope times distance."""
    return (
        f"score = q · k / divisor + bias, bias = -{slope} × distance in head {head}. {OF_KEYS[stack]} The recorded bias"
        f" differs from that by at most {largest}."
    )


def follows_nothing(head: int) -> str:
    return f"The biases of head {head} follow neither the distance nor the position of the key."


def follows_key(head: int, step: str | None) -> str:
    """step: by how much the bias grows from a key to the next; None: that is not the same everywhere."""
    said = f"score = q · k / divisor + bias. In head {head} the bias depends only on the position of the key"
    if step is None:
        return f"{said}."
    return (
        f"{said}, {step} more for each position: within a row that is a multiple of the distance plus a constant, which"
        " changes no weight."
    )


def follows_distance(head: int, numbers: int, first: int, last: int, shared: int) -> str:
    """numbers: how many biases there are; shared: how many of them several distances have."""
    return (
        f"score = q · k / divisor + bias. In head {head} the bias depends only on the distance, query minus key:"
        f" {numbers} {'number' if numbers == 1 else 'numbers'} over the distances of this text, {first} to {last}."
        f"{_buckets(shared)}"
    )


def _buckets(shared: int) -> str:
    if not shared:
        return ""
    if shared == 1:
        return " One of these numbers covers several distances: it is a bucket."
    return f" {shared} of these numbers each cover several distances: they are buckets."
