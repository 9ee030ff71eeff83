"""What people read on the One weight page: its labels and sentences, in one place, and the ladder in words and
formulas: each line's title, LaTeX, short result and sentences."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from viz_transformer.analysis.weight.step_source import FILLS, digits
from viz_transformer.numerals import share, significant, write_in_sentence

if TYPE_CHECKING:
    from viz_transformer.analysis.weight.ladder import Ladder
    from viz_transformer.analysis.weight.weight_numbers import Cell, Line
    from viz_transformer.model.config import ModelConfig

HOW = (
    "At the top is one query against all keys: click a key, or a token above, and the derivation follows. Below it"
    " are the steps of the computation, from the two tokens to the residual stream; the active step has its numbers"
    " on the right. The products add up to the score; the score is divided, masked and turned into a share of the"
    " row by the softmax. The page computes in float64 from the recorded numbers and compares with what the run"
    " recorded in float32: their difference is rounding. The printed values recompute the cell; take the program"
    " with you."
)
NOT = (
    "A large weight on a tiny value moves nothing. Only differences within a row of scores mean anything: a number"
    " added to all of them changes no weight. Single dimensions of query and key have no meaning of their own, since"
    " a change of basis leaves every score as it is; only W_Q and W_K together, and W_V and W_O together, are fixed."
)
A_LINE = "the name of a line of the ladder"
OF_RECORDING = "Its queries, keys and values were not recorded, so no weight can be recomputed."
MAPS_AND_NORMS = "the maps and norms that this page computes a weight with"
DIFFERENCE_IS_OF_THE_ROW = (
    "Below the row of A is A − B; a difference has no derivation of its own, so everything else is of A."
)


def joined_heads(word: str) -> str:
    """The remark where heads are joined."""
    return f"A {word} of heads has no query and no key: head 0 is shown."


def several_heads(first: int) -> str:
    """The remark where several heads are chosen."""
    return f"A weight belongs to one head: head {first} is shown."


# The question
EVERY_KEY_MASKED = "Every key is masked: each score is −∞, so the softmax divides 0 by 0."
SO_IS_THE_SUM = "Because a score of the row is not a number, and so is the sum over all keys."
A_SCORE_IS_NOT_A_NUMBER = "Because a score of the row is not a number."
MASKED = "Because it is masked for this query."
ONLY_KEY = "Because it is the only key that this query may read."


def asks(key: str, weight: str) -> str:
    return f"Why does {key} get {weight} of the weight?"


def asks_not_a_number(key: str) -> str:
    return f"Why is the weight of {key} not a number?"


def same_score(score: str, other: str) -> str:
    return f"Because its score, {score}, is exactly that of {other}."


def score_beside(score: str, other: str, power: str, ratio: str, *, above: bool) -> str:
    """The score beside the largest other one, and the softmax's ratio from their difference."""
    more, who = ("above", "so it") if above else ("below", "which")
    return f"Its score, {score}, is {power} {more} that of {other}, {who} gets e^{power} = {ratio} times as much."


# The stop of the tour
Q_TIMES_K = "q\N{NO-BREAK SPACE}·\N{NO-BREAK SPACE}k"


def becomes_score(query: str, key: str, dot: str, divisor: str, score: str, *, bias: str | None) -> str:
    """Product, divisor and score; bias: what is added for the distance, if anything."""
    added = "" if bias is None else f", plus {bias} for the distance"
    return (
        f"The query of {query} and the key of {key} give {Q_TIMES_K} = {dot}; divided by {divisor}{added}, that is a"
        f" score of {score}."
    )


def becomes_weight(scores: int, weight: str) -> str:
    which = f"the scores of all {scores:,} tokens" if scores > 1 else "this one score alone"
    return f"Softmax over {which} turns it into a weight of {weight}."


# The row and its cell
TOKEN, SCORE, WEIGHT, KEY, MASKED_KEY = "token", "score", "weight", "key", "masked"
SUM_OF_PRODUCTS, MAY_ATTEND, WEIGHT_IN_OWN_STEP = "sum of products", "may attend", "weight in the query's own step"
SCORES_IN_FLOAT64 = "Scores are computed in float64 from the recorded query and keys."
NOT_THERE_YET = "the key was not there yet"


def _place(cell: Cell) -> str:
    return f"{cell.stack} layer {cell.layer}, head {cell.head}"


def cell(cell: Cell) -> str:
    return f"{_place(cell)}, query {cell.query}, key {cell.key}"


def row_title(cell: Cell) -> str:
    return f"{_place(cell)}: query {cell.query} against all keys"


def product_of(dimension: int) -> str:
    """The heading of a column of products."""
    return f"q·k, dimension {dimension}"


def at(position: int, token: str) -> str:
    return f"{position} “{token}”"


def it_was(weight: str) -> str:
    return f"it was {weight}"


def cell_sentence(query: str, key: str, weight: str, *, masked: bool, in_own_step: str | None) -> str:
    """The cell with its weight; in_own_step: its weight in the query's own step, if that differs."""
    said = f"Query {query} gives key {key} the weight {weight}.{' The cell is masked.' if masked else ''}"
    return said if in_own_step is None else f"{said} In the query's own step {in_own_step}."


def exactly(weight: str) -> str:
    return f"exactly {weight}"


# A − B of the row
A_MINUS_B, MINUS = "A − B of this row", "A − B"
SAME_UNITS = "A − B, the same units"
BELOW_LARGEST = "score relative to the row's largest"
SAME_ROWS = "Both rows of weights are the same, number by number."


def row_of(site: str, head: int, query: int) -> str:
    return f"{site}, head {head}, query {query}"


def run(name: str, reads: str) -> str:
    return f"{name}, {reads}"


def both(said: Iterable[str]) -> str:
    """The sentences for A and B, joined."""
    return "; ".join(f"{letter}: {each}" for letter, each in zip("AB", said, strict=True))


def of_row(runs: str, row: str) -> str:
    return f"{runs}; {row}"


def of_letter(column: str, letter: str) -> str:
    """The heading of a column of A, of B, or of their difference."""
    return f"{column}, {letter}"


def difference_note(captions: str) -> str:
    return f"{captions}. Scores are relative to the largest open one of their row."


def difference_alt(what: str) -> str:
    return f"The {what} of this row in A, in B, and A − B"


def in_both(in_a: str, in_b: str) -> str:
    """The two tokens of a key."""
    return f"{in_a} in A, {in_b} in B"


def value_in(letter: str, quantity: str, value: str, *, masked: bool) -> str:
    return f"{quantity} in {letter} {value}{', masked' if masked else ''}"


def weights_of_key(key: int, in_a: str, in_b: str, difference: str) -> str:
    return f"Key {key} has the weight {in_a} in A and {in_b} in B; A − B is {difference}."


def total_variation(distance: str) -> str:
    return (
        f"The total variation, half the sum of all absolute differences, is {distance}: 0 means equal rows, 1 that no"
        " key has weight in both."
    )


def queries_read(in_a: str, in_b: str) -> str:
    return f"The query reads “{in_a}” in A and “{in_b}” in B."


def other_tokens(keys: str, several: bool) -> str:
    return f"B has different tokens at {'keys' if several else 'key'} {keys}."


def two_models(head: int) -> str:
    return f"These are two models: head {head} of one need not have anything to do with head {head} of the other."


# The verdict


def disagree(lines: str) -> str:
    """The lines that disagree with the recorded values."""
    return f"These lines do not give what was recorded: {lines}."


def agree(checks: int) -> str:
    """The sentence that all lines agree with the recorded values."""
    return f"All {checks} comparisons with the recorded run agree up to float32 rounding."


# The ladder, and its active line
LINE = "Line"
BY_KEY = "by key"
PRODUCT_OF_ONE, PRODUCTS_AND_SUM = "q × k", "bars: products by dimension; line: their sum so far"
WEIGHT_AND_EVEN = "weight; dotted: uniform over the allowed keys"
SOFTMAX_OF_A_KEY = ("below the largest", "exponential", "weight")
DIFFERENCE = "difference"
LINE_COLUMNS = ("what", "index", "computed", "recorded", DIFFERENCE)
CHECKS_HEAD = ("", "computed", "recorded", DIFFERENCE, "")
CHECKS_CAPTION = "float64 next to the recorded float32"
AGREES, DIFFERS = "✓ agrees", "✕ differs"
NOT_RECORDED = {
    "products": "A run does not record the score before it is divided: the next line compares the divided one.",
    "merge": "A run does not record the merged row: the next line compares what W_O makes of it.",
}


def line_title(cell: str, line: str) -> str:
    return f"{cell}: {line}"


def in_float64(caption: str) -> str:
    return f"{caption}. In float64, next to what was recorded, where it was."


def of_run(name: str, reads: str, cell: str) -> str:
    return f"{name}, {reads}, {cell}"


def product_hover(dimension: int, product: str) -> str:
    return f"dimension {dimension}\n{PRODUCT_OF_ONE} {product}"


def key(position: int, token: str) -> str:
    return f"key {position}: {token}"


def named(name: str, value: str) -> str:
    return f"{name} {value}"


def compared(name: str) -> str:
    return f"{name}, compared"


def difference(value: float) -> str:
    """A difference with two digits; 0 only if exact."""
    return f"{value:.1e}" if value else "0"


def numbers(count: int) -> str:
    return f"{count:,} number{'s' if count > 1 else ''}"


# The program
COPY = "Copy as Python"
PROGRAM = (
    "This program reads the saved trace and the model’s parameters and recomputes everything from the two tokens to the"
    " residual stream, with numpy alone: without this app and without torch. It prints the digits shown below it and"
    " above."
)
PRINTS = "It prints:"
NO_FILE = (
    "A trace holds no parameters. This model has no file of its own (it was made from its name): “Save the model”"
    " writes its random parameters as one, in float32."
)


def save(what: str) -> str:
    return f"Save the {what}"


def model_file(path: str) -> str:
    """A phrase for the file of “Save the model” for a model that has one."""
    return (
        f"A trace holds no parameters: “Save the model” copies the model’s own file, {path}. Put the three files into"
        " one folder, or name them after the program on the command line."
    )


# Beside torch
TORCH = "Compared with nn.MultiheadAttention"
COMPARED, BESIDE = "Compared", {"weights": "Weights of the row", "out": "Output of the query"}
OURS, THEIRS, FEATURE = "ours", "torch", "feature"
TORCH_HEAD = (KEY, OURS, THEIRS, DIFFERENCE)
NOTHING_ALLOWED = "This row may attend to nothing: torch gives NaN there, and this model what its mask fill says."


def nothing_to_compare(reason: str) -> str:
    """Why no torch layer is compared."""
    return f"There is nothing to compare with nn.MultiheadAttention: {reason}."


def output_does_not_compare(reason: str) -> str:
    """Why only weights are compared with a torch layer."""
    return f"The output cannot be compared with nn.MultiheadAttention: {reason}."


def largest(difference: str, *, everywhere: bool) -> str:
    """The largest difference; not everywhere: some rows may attend to nothing."""
    return f"{difference}{'' if everywhere else ' (over rows with an open key)'}"


def torch_differs(weights: str, output: str | None) -> str:
    """How far a torch layer with the same parameters is from the run."""
    also = "" if output is None else f", output {output}"
    return (
        "A torch layer with this attention’s W_Q, W_K, W_V and W_O reads the recorded input and mask. Largest"
        f" difference over all heads, queries and keys: weights {weights}{also}."
    )


def table_differs(largest: str) -> str:
    """The largest difference in the table of a torch layer."""
    return f"Largest difference in this table: {largest}. Both are float32 arithmetic, done in a different order."


# The lines of the ladder


@dataclass(frozen=True, kw_only=True)
class LineWords:
    """One line in words."""

    title: str
    formula: str
    """LaTeX for the ladder."""
    result: str = ""
    """Its result, in short."""
    equation: str = ""
    """LaTeX with this cell's numbers; "" if a picture shows it better."""
    sentences: tuple[str, ...] = ()
    """An explanation of the line."""


def line_words(ladder: Ladder, config: ModelConfig, name: str) -> LineWords:
    """One line of the ladder in words."""
    return _WORDS[name](ladder.lines[name], ladder.cell, config)


def _math(value: float, size: int = 6) -> str:
    """The number for LaTeX, so many significant digits, in parentheses if it is below 0."""
    if math.isnan(value):
        return r"\text{not a number}"
    if math.isinf(value):
        return r"\infty" if value > 0 else r"(-\infty)"
    text = digits(value) if size == 6 else significant(value, size)
    if "e" in text:
        mantissa, exponent = text.split("e")
        text = rf"{mantissa}\cdot 10^{{{int(exponent)}}}"
    return f"({text})" if text.startswith("-") else text


def _plain(value: float) -> str:
    """The number for LaTeX without parentheses."""
    text = _math(value)
    return text[1:-1] if text.startswith("(") else text


def _read_symbol(cell: Cell) -> str:
    return "m" if cell.kind == "cross" else "n"


def _token(line: Line, cell: Cell, config: ModelConfig) -> LineWords:
    positions, does = config.encoding.adds, config.encoding.does
    sentence = "Each token starts as its row of the embedding table, scaled"
    acting = f"positions {does} in self-attention, nothing is added here"
    without = acting if config.encoding.in_attention else "this model has no positions"
    sentence += ", plus the vector of its position." if positions else f"; {without}."
    return LineWords(
        title="Tokens and positions",
        formula="x^0 = e + p" if positions else "x^0 = e",
        result=f"query {cell.query}, key {cell.key}",
        sentences=(sentence, *line.facts),
    )


def _stream(line: Line, cell: Cell, config: ModelConfig) -> LineWords:
    if cell.kind == "cross":
        said = (
            f"The query is the decoder's stream in layer {cell.layer}, after its self-attention. Keys and values are"
            " made of the memory, the encoder's output: the same for every decoder layer."
        )
        return LineWords(title="The stream and the memory", formula=r"x,\ m", result="query, key", sentences=(said,))
    if cell.layer == 0:
        said = f"In layer 0 the stream is still {'token plus position' if config.encoding.adds else 'the token alone'}."
        return LineWords(title="The stream", formula="x = x^0", result="layer 0", sentences=(said,))
    passed = "1 layer" if cell.layer == 1 else f"{cell.layer} layers"
    said = f"The stream has passed {passed}: a position is no longer its token alone, it has taken in its neighbours."
    return LineWords(title="The stream", formula="x", result=f"after {passed}", sentences=(said,))


def _norm(line: Line, cell: Cell, config: ModelConfig) -> LineWords:
    if config.norm == "post":
        said = "Post-norm: the sub-layer reads the stream as it is; the norm comes after the sum, in the last line."
        return LineWords(title="No norm here", formula="n = x", result="post-norm", sentences=(said,))
    mu, sigma = line.scalars["mu"], line.scalars["sigma"]
    over = {
        "layer": "Mean and scale are those of this position's features.",
        "bessel": "Mean and scale are those of this position's features, the deviation with Bessel's correction.",
        "positions-and-features": "Mean and scale are taken over all positions and features together, which is a bug.",
    }[config.norm_kind]
    key = "The key's position has the same norm."
    if cell.kind == "cross":
        key = f"The memory is read as it is{', after the norm of the encoder' if config.final_norm else ''}."
    return LineWords(
        title="Norm",
        formula=r"n = (x-\mu)/\sigma \cdot g + b",
        result=f"σ {significant(sigma)}",
        equation=rf"n = \frac{{x - {_math(mu)}}}{{{_plain(sigma)}}} \cdot g + b",
        sentences=(over, key),
    )


def _maps(line: Line, cell: Cell, config: ModelConfig) -> LineWords:
    size = config.head_dim
    first, last = cell.head * size, (cell.head + 1) * size - 1
    d, row = int(line.scalars["d"]), int(line.scalars["row"])
    n = _read_symbol(cell)

    def one(letter: str, read: str) -> str:
        total, bias, value = (line.scalars[f"{letter}_{part}"] for part in ("sum", "bias", "d"))
        large = letter.upper()
        terms, numbers = rf"\textstyle\sum_c W_{large}[{row},c]\,{read}_c", _plain(total)
        if config.attention_bias:
            terms, numbers = f"{terms} + b_{large}[{row}]", f"{numbers} + {_math(bias)}"
        return rf"{letter}_{{{d}}} &= {terms} \\ &= {numbers} = {_plain(value)}"

    said = (
        f"Head {cell.head} owns rows {first} to {last} of W_Q and of W_K: {size} rows of {config.d_model} numbers, one"
        f" for each dimension of the head. Dimension {d}, the one with the largest product, is row {row}."
    )
    note = config.encoding.placing_source().note
    return LineWords(
        title="Rows of W_Q and W_K",
        formula=rf"W_Q,\,W_K\,[{first}{{:}}{last}]",
        result=f"{size} × {config.d_model}",
        equation=rf"\begin{{aligned}} {one('q', 'n')} \\[4pt] {one('k', n)} \end{{aligned}}",
        sentences=(said, note) if cell.unplaced(config) else (said,),
    )


def _shapes(line: Line, cell: Cell, config: ModelConfig) -> LineWords:
    cross = cell.kind == "cross"
    letter = "S" if cross or cell.kind == "encoder" else "T"
    count = 2 if cross else 3
    said = (
        "One map that makes all of them at once gives the same numbers, if it is cut in the right order: first into"
        " maps and then into heads, or, its rows sorted by head, first into heads and then into maps. Both were"
        " done here, for all positions and heads. B batch, H heads, E head_dim, D d_model."
    )
    more = (
        ("In cross-attention key and value can be made together; the query is made from another text.",)
        if cross
        else ()
    )
    return LineWords(
        title="Shapes, and the fused projection",
        formula=rf"[B,{letter},{count}D] \to [B,H,{letter},E]",
        result=f"{count * config.d_model} → {config.n_heads} × {config.head_dim}",
        sentences=(said, *more),
    )


def _projected(letter: str, title: str) -> Callable[[Line, Cell, ModelConfig], LineWords]:
    def made(line: Line, cell: Cell, config: ModelConfig) -> LineWords:
        large, is_query = letter.upper(), letter == "q"
        read, place = ("n", cell.query) if is_query else (_read_symbol(cell), cell.key)
        mapped = rf"W_{large}\,{read}" + (f" + b_{large}" if config.attention_bias else "")
        what = "what this position looks for" if is_query else "what this position is found by"
        said = [f"The {title.lower()} of position {place}, {config.head_dim} numbers: {what}, in this head."]
        if cell.unplaced(config):
            told = config.encoding.placing_source()
            mapped = rf"{told.formula.format(place=place)}\,({mapped})"
            said.append(told.sentence.format(place=place, size=config.head_dim))
        length = significant(line.scalars["norm"])
        return LineWords(
            title=title, formula=f"{letter} = {mapped}", result=f"‖{letter}‖ {length}", sentences=tuple(said)
        )

    return made


def _products(line: Line, cell: Cell, config: ModelConfig) -> LineWords:
    dot = line.scalars["dot"]
    values = line.vectors[2].values
    terms = " + ".join(_math(value, 4) for value in values[:3]) + (r" + \dots" if len(values) > 3 else "")
    return LineWords(
        title="Products that add up",
        formula=r"q \cdot k = \textstyle\sum_d q_d\,k_d",
        result=significant(dot),
        equation=rf"\begin{{aligned}} q \cdot k &= {terms} \\ &= {_plain(dot)} \end{{aligned}}",
        sentences=(
            f"{config.head_dim} products, one for each dimension of the head, add up to one number. A change of basis"
            " leaves the sum as it is and changes every product: single dimensions are arithmetic, not meaning.",
        ),
    )


def _divisor(line: Line, cell: Cell, config: ModelConfig) -> LineWords:
    dot, divisor, s = (line.scalars[name] for name in ("dot", "divisor", "s"))
    formula, which = {
        "sqrt-head-dim": (rf"\sqrt{{{config.head_dim}}}", "the square root of head_dim"),
        "sqrt-d-model": (
            rf"\sqrt{{{config.d_model}}}",
            "the square root of d_model, which makes smaller scores than the paper's",
        ),
        "learned": ("c", "a number that this attention has learned"),
    }[config.divisor]
    letter = added = ""
    said = [f"The sum is divided by {which}: {digits(divisor)}."]
    if "bias" in line.scalars:
        told = config.encoding.bias_source(config, cell.stack, cell.head)
        numbers = {name: digits(value) for name, value in line.scalars.items()}
        letter, added = " + b", f" + {_math(line.scalars['bias'])}"
        said += [sentence.format(**numbers) for sentence in told.sentences]
    return LineWords(
        title="Score",
        formula=rf"s = q\cdot k \,/\, {formula}{letter}",
        result=significant(s),
        equation=rf"s = \frac{{{_plain(dot)}}}{{{_plain(divisor)}}}{added} = {_plain(s)}",
        sentences=tuple(said),
    )


def _mask(line: Line, cell: Cell, config: ModelConfig) -> LineWords:
    is_open, fill = bool(line.scalars["open"]), FILLS[config.mask_fill]
    allowed, keys = int(line.scalars["allowed"]), int(line.scalars["keys"])
    verdict = "This cell is open." if is_open else "This cell is masked."
    equation = ""
    if config.mask_fill == "added-1e9" and not is_open:
        s, seen = (_plain(line.scalars[name]) for name in ("s", "seen"))
        equation = rf"{s} + (-10^9)\ \xrightarrow{{\text{{float32}}}}\ {seen}"
    return LineWords(
        title="Mask",
        formula=rf"{fill.formula}\ \text{{where masked}}",
        result="open" if is_open else "masked",
        equation=equation,
        sentences=(
            f"{verdict} The query may attend to {allowed} of {keys} keys.",
            *line.facts,
            fill.sentence,
        ),
    )


def _softmax(line: Line, cell: Cell, config: ModelConfig) -> LineWords:
    largest, total = line.scalars["max"], line.scalars["total"]
    return LineWords(
        title="Softmax of the row",
        formula=r"w = e^{s-\max s} \,/\, \textstyle\sum_j e^{s_j-\max s}",
        result=f"Σ {share(line.scalars['sum'])}",
        equation=rf"\max s = {_plain(largest)},\quad \textstyle\sum_j e^{{s_j-\max s}} = {_plain(total)}",
        sentences=(
            "A weight depends on every score of its row, and only on their differences: the largest is subtracted"
            " first, which changes nothing but keeps the exponentials small.",
            *_no_number(largest, total),
        ),
    )


def _no_number(largest: float, total: float) -> tuple[str, ...]:
    """Why no weight of the row is a number, where none is. largest: its largest score; total: the sum of the powers."""
    if not math.isnan(total):
        return ()
    if largest == -math.inf:
        return (
            "Here every key is masked, so each score is −∞, and so is the largest of them: −∞ minus −∞, and 0 divided"
            " by 0, are not a number, and so is each weight of the row.",
        )
    return ("Here a score of the row is not a number, and so is the sum over all keys, and each weight of the row.",)


def _weight(line: Line, cell: Cell, config: ModelConfig) -> LineWords:
    w, even = line.scalars["w"], line.scalars["even"]
    rank = "" if w != w else f"Rank {int(line.scalars['rank'])} in its row."
    beside = "The row may read no key."
    if w != w:
        beside = "It is not a number: the softmax of the row says why."
    elif even == even:
        beside = f"A uniform head would give {write_in_sentence(even)} to each key that it may read; this is"
        beside += f" {write_in_sentence(w / even)} times as much."
    return LineWords(
        title="The weight",
        formula=rf"w_{{{cell.query},{cell.key}}}",
        result=write_in_sentence(w),
        equation=rf"w_{{{cell.query},{cell.key}}} = {_plain(w)}",
        sentences=(f"{rank} {beside}".strip(),),
    )


def _value(line: Line, cell: Cell, config: ModelConfig) -> LineWords:
    bias = " + b_V" if config.attention_bias else ""
    before, after = line.scalars["v_norm"], line.scalars["part_norm"]
    return LineWords(
        title="Weight times value",
        formula=rf"w\,v,\quad v = W_V\,{_read_symbol(cell)}{bias}",
        result=f"‖wv‖ {write_in_sentence(after)}",
        equation=rf"\lVert v \rVert = {_plain(before)},\quad \lVert w\,v \rVert = {_plain(after)}",
        sentences=(
            "What the key offers, and what the weight lets through. A large weight on a tiny value moves nothing.",
        ),
    )


def _head(line: Line, cell: Cell, config: ModelConfig) -> LineWords:
    part, whole = line.scalars["part_norm"], line.scalars["norm"]
    return LineWords(
        title="The head's output",
        formula=r"o = \textstyle\sum_j w_j\,v_j",
        result=f"‖o‖ {significant(whole)}",
        equation=rf"\lVert w\,v \rVert = {_plain(part)},\quad \lVert o \rVert = {_plain(whole)}",
        sentences=("All values of the row, each times its weight, added up. Keys may cancel each other.",),
    )


def _merge(line: Line, cell: Cell, config: ModelConfig) -> LineWords:
    row, slot = int(line.scalars["row"]), int(line.scalars["slot"])
    first, last = slot * config.head_dim, (slot + 1) * config.head_dim - 1
    lands = f"It lands in row {row}, features {first} to {last}."
    if config.merge == "raw-reshape":
        return LineWords(
            title="Merge: a raw reshape",
            formula=r"\lfloor (h\,T + t)/H \rfloor",
            result=f"row {row}, slot {slot}",
            equation=rf"(h\,T+t)\ \mathrm{{divmod}}\ H = ({row}, {slot})",
            sentences=(
                "This model merges by a raw reshape: the numbers are read off head by head and cut into rows, so that"
                " positions mix: a bug that it was trained with.",
                lands,
                *line.facts,
            ),
        )
    return LineWords(
        title="Merge",
        formula=rf"c = [\,o^0 | \dots | o^{{{config.n_heads - 1}}}\,]" if config.n_heads > 1 else "c = o^0",
        result=f"row {row}, slot {slot}",
        sentences=(f"The heads of one position are put side by side. {lands}",),
    )


def _output(line: Line, cell: Cell, config: ModelConfig) -> LineWords:
    bias = " + b_O" if config.attention_bias else ""
    part, head, norm = (line.scalars[name] for name in ("part_norm", "head_norm", "norm"))
    return LineWords(
        title="W_O: back to the stream's features",
        formula=f"y = W_O\\,c{bias}",
        result=f"‖y‖ {significant(norm)}",
        equation=rf"\lVert W_O\,w\,v \rVert = {_plain(part)},\quad \lVert W_O\,o \rVert = {_plain(head)}"
        rf",\quad \lVert y \rVert = {_plain(norm)}",
        sentences=(
            f"The output of row {int(line.scalars['row'])}: what this key adds, what this head adds, and all heads"
            " together.",
        ),
    )


def _residual(line: Line, cell: Cell, config: ModelConfig) -> LineWords:
    x, y, total = (line.scalars[name] for name in ("x_norm", "y_norm", "sum_norm"))
    post = config.norm == "post"
    then = "Post-norm: the sum then goes through the norm." if post else "The next sub-layer reads this stream."
    return LineWords(
        title="Into the stream",
        formula=r"\mathrm{norm}(x + y)" if post else "x + y",
        result=f"‖x+y‖ {significant(total)}",
        equation=rf"\lVert x \rVert = {_plain(x)},\quad \lVert y \rVert = {_plain(y)}"
        rf",\quad \lVert x+y \rVert = {_plain(total)}",
        sentences=(f"The sub-layer's output is added to row {int(line.scalars['row'])} of the stream. {then}",),
    )


_WORDS: Mapping[str, Callable[[Line, Cell, ModelConfig], LineWords]] = {
    "token": _token,
    "stream": _stream,
    "norm": _norm,
    "maps": _maps,
    "shapes": _shapes,
    "query": _projected("q", "Query"),
    "key": _projected("k", "Key"),
    "products": _products,
    "divisor": _divisor,
    "mask": _mask,
    "softmax": _softmax,
    "weight": _weight,
    "value": _value,
    "head": _head,
    "merge": _merge,
    "output": _output,
    "residual": _residual,
}
