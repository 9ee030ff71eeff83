"""The ladder of a weight as plain text: what the program of `python_copy` prints, worked out without running it."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from viz_transformer.analysis.weight.ladder import Ladder
from viz_transformer.analysis.weight.weight_numbers import Line
from viz_transformer.model.config import ModelConfig
from viz_transformer.running.record import Trace

IN_FULL = 64
"""Numbers of a vector that are printed at most; of a longer one the first four, how many there are, and its length."""

_Numbers = Sequence[tuple[str, ArrayLike]]


def printed(trace: Trace, ladder: Ladder) -> str:
    """What the program prints for this ladder of the trace: line by line its numbers, each as `digits` has it."""
    said = "".join(
        f"{name}\n" + "".join(f"  {label:<28} {shown(values)}\n" for label, values in numbers)
        for name, numbers in _numbers(ladder, trace.config).items()
    )
    unrecorded = () if f"{ladder.cell.site}.weights" in trace.values else ("softmax", "weight")
    compared = {
        name: [] if name in unrecorded else [c.agrees for c in line.checks if not c.point.endswith(", derived")]
        for name, line in ladder.lines.items()
        if name != "shapes"  # which is of all cells together; and scores are recorded by no run
    }
    every = [agrees for found in compared.values() for agrees in found]
    said += f"{sum(every)} of {len(every)} comparisons with the record agree up to the rounding of float32\n"
    if not all(every):
        said += f"not in the lines {', '.join(name for name, found in compared.items() if not all(found))}\n"
    return said


def shown(values: ArrayLike) -> str:
    """Numbers as the program prints them: all up to IN_FULL, else four, their count, and the vector's length."""
    flat = np.asarray(values, dtype=np.float64).reshape(-1)
    numbers = [digits(value) for value in flat[: 4 if len(flat) > IN_FULL else None].tolist()]
    if len(flat) > IN_FULL:
        numbers.append(f"... {len(flat)} numbers, length {digits(math.sqrt(float((flat * flat).sum())))}")
    return " ".join(numbers)


def digits(value: float) -> str:
    """Six significant digits, or all of a whole number, as the program prints them; a negative zero is a zero.

    A score to which -1e9 was added is a whole number, and what is left of the score are its last digits.
    """
    whole = abs(value) < 1e15 and value == round(value)
    return f"{float(value) + 0.0:{'.15g' if whole else '.6g'}}"


def _numbers(ladder: Ladder, config: ModelConfig) -> dict[str, _Numbers]:
    """Each line's numbers under the names that the program gives them."""
    lines, cell = ladder.lines, ladder.cell
    token, norm, maps = lines["token"], lines["norm"], lines["maps"]
    softmax, weight, value, output = (lines[name] for name in ("softmax", "weight", "value", "output"))
    residual, mask, merge = lines["residual"], lines["mask"], lines["merge"]
    names = ("e", "p", "x0") if len(token.vectors) == 6 else ("e", "x0")
    tokens = [f"{side}, {name}" for side in ("query", "key") for name in names]
    normed: _Numbers = [("n", norm.vectors[-1].values)]
    if config.norm == "pre":
        labels = ("(x - mean) / scale", "gain", "offset", "n")
        normed = [*_mean_and_scale(norm), *zip(labels, _values(norm)[1:], strict=True)]
    behind: _Numbers = []
    if config.norm == "post":
        behind = [*_mean_and_scale(residual), ("after the norm", residual.vectors[3].values)]
    mapped: list[tuple[str, ArrayLike]] = [("d, row", [maps.scalars["d"], maps.scalars["row"]])]
    for index, (letter, name) in enumerate((("Q", "query"), ("K", "key"))):
        rows, products = _values(maps)[2 * index : 2 * index + 2]
        sums = [maps.scalars[f"{letter.lower()}_{part}"] for part in ("sum", "bias", "d")]
        mapped += [
            (f"W_{letter}, rows of the head", rows),
            (f"W_{letter}[row]", np.asarray(rows)[int(maps.scalars["d"])]),
            (f"W_{letter}[row] x what it reads", products),
            *zip(("sum", "bias", f"{name}[d]"), sums, strict=True),
        ]
    key = "m" if cell.kind == "cross" else "x"
    turned = len(lines["query"].checks) > 1
    biases = [("bias", lines["divisor"].scalars["bias"])] if "bias" in lines["divisor"].scalars else []
    return {
        "token": [*zip(tokens, _values(token), strict=True)],
        "stream": [*zip(("query, x", f"key, {key}"), _values(lines["stream"]), strict=True)],
        "norm": normed,
        "maps": mapped,
        "query": _made(lines["query"], "q", turned=turned),
        "key": _made(lines["key"], "k", turned=turned),
        "products": [
            ("q x k, by dimension", lines["products"].vectors[2].values),
            ("sum", lines["products"].scalars["dot"]),
        ],
        "divisor": [
            ("divisor", lines["divisor"].scalars["divisor"]),
            *biases,
            ("score", lines["divisor"].scalars["s"]),
            ("scores of the row", lines["divisor"].vectors[-1].values),
        ],
        "mask": [
            ("may attend", mask.scalars["open"]),
            ("row of the mask", mask.vectors[0].values),
            ("open keys", mask.scalars["allowed"]),
        ],
        "softmax": [
            ("score as it is seen", mask.scalars["seen"]),
            ("largest", softmax.scalars["max"]),
            *zip(("below the largest", "exponentials"), _values(softmax)[:2], strict=True),
            ("their sum", softmax.scalars["total"]),
            ("weights", softmax.vectors[2].values),
            ("sum of the weights", softmax.scalars["sum"]),
        ],
        "weight": [
            ("weight", weight.scalars["w"]),
            ("if it were even", weight.scalars["even"]),
            ("rank in the row", weight.scalars["rank"]),
        ],
        "value": [
            *zip(("v", "weight x v"), _values(value), strict=True),
            ("length of v", value.scalars["v_norm"]),
            ("length of weight x v", value.scalars["part_norm"]),
        ],
        "head": [
            *zip(("from this key", "from all other keys", "head_out"), _values(lines["head"]), strict=True),
            ("length", lines["head"].scalars["norm"]),
        ],
        "merge": [
            ("row, slot", [merge.scalars["row"], merge.scalars["slot"]]),
            ("merged row", merge.vectors[0].values),
        ],
        "output": [
            *zip(("from this key", "from this head"), _values(output)[:2], strict=True),
            ("out", output.vectors[-1].values),
            ("length from this key", output.scalars["part_norm"]),
            ("length from this head", output.scalars["head_norm"]),
            ("length of out", output.scalars["norm"]),
        ],
        "residual": [
            *zip(("x", "y", "x + y"), _values(residual)[:3], strict=True),
            ("length of x", residual.scalars["x_norm"]),
            ("length of y", residual.scalars["y_norm"]),
            ("length of x + y", residual.scalars["sum_norm"]),
            *behind,
        ],
    }


def _made(line: Line, letter: str, *, turned: bool) -> _Numbers:
    """A query or key, and where positions turn it what it was before, and the angles."""
    before = [("before the rotation", line.vectors[-3].values), ("angles", line.vectors[-2].values)] if turned else []
    return [*before, (letter, line.vectors[-1].values), ("length", line.scalars["norm"])]


def _values(line: Line) -> list[ArrayLike]:
    return [vector.values for vector in line.vectors]


def _mean_and_scale(line: Line) -> _Numbers:
    return [("mean", line.scalars["mu"]), ("scale", line.scalars["sigma"])]
