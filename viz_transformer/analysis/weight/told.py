"""How a line of a ladder is told: its part of the program, what the page takes from it, and what all lines use."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

AxisName = Literal["feature", "dimension", "key"]
ROUNDING = 2e-6
"""float32 arithmetic may differ from float64 by this part of the largest number in a line (of 1 if all are smaller)."""


@dataclass(frozen=True)
class Vector:
    """A vector or a matrix of a line on the page. code, picked, span: expressions behind the line's code; a code that
    gives None has no vector. `shown(label)` is what `show` was given under this label, `shown(label, 1)` the second."""

    name: str
    axis: AxisName
    code: str
    picked: str = "None"
    span: str = "None"


@dataclass(frozen=True)
class Told:
    """One line. scalars: expressions by name. checks: name and point of each `compare` in the code, in its order."""

    code: str
    vectors: tuple[Vector, ...] = ()
    scalars: Mapping[str, str] = field(default_factory=dict)
    checks: tuple[tuple[str, str], ...] = ()


def by_axis(axis: AxisName, codes: Mapping[str, str]) -> tuple[Vector, ...]:
    """Vectors over the same axis by their names; of those by key the cell's own is picked."""
    return tuple(Vector(name, axis, code, "key" if axis == "key" else "None") for name, code in codes.items())


IN_FULL = 64
"""Numbers of a vector that are printed at most; of a longer one the first four, how many there are, and its length."""
HELPERS = f'''
def point(name):
    """A point of the run's one text."""
    return trace[name][0]


def length(vector):
    return np.sqrt((vector * vector).sum())


def digits(value):
    """Six significant digits, or all of a whole number."""
    whole = abs(value) < 1e15 and value == round(value)
    return f"{{value + 0.0:{{'.15g' if whole else '.6g'}}}}"


def show(name, values):
    """The digits of each number; of a long vector the first four, their count, and the vector's length."""
    values = np.asarray(values, dtype=float).reshape(-1)
    numbers = [digits(value) for value in values[: 4 if len(values) > {IN_FULL} else None].tolist()]
    if len(values) > {IN_FULL}:
        numbers.append(f"... {{len(values)}} numbers, length {{digits(float(length(values)))}}")
    print(f"  {{name:<28}}", *numbers)


agrees = {{}}  # line of the ladder: whether each of its comparisons agrees


def line(name):
    agrees[name] = []
    print(name)


def compare(worked_out, recorded, scale=0.0):
    """Note whether the two are equal up to the rounding of float32; scale: how large the numbers were that added up."""
    worked_out, recorded = np.asarray(worked_out, dtype=float), np.asarray(recorded, dtype=float)
    same = (worked_out == recorded) | (np.isnan(worked_out) & np.isnan(recorded))
    gap = np.nan_to_num(np.where(same, 0, np.abs(worked_out - recorded)), nan=np.inf).max()
    largest = np.abs(recorded[np.isfinite(recorded)]).max(initial=0)
    [*agrees.values()][-1].append(gap <= {ROUNDING} * max(1, largest, scale))

'''
VERDICT = """
every = [each for found in agrees.values() for each in found]
print(f"{sum(every)} of {len(every)} comparisons with the record agree up to the rounding of float32")
if not all(every):
    print("not in the lines", ", ".join(name for name, found in agrees.items() if not all(found)))
"""

_helpers: dict[str, Any] = {"np": np}
exec(HELPERS, _helpers)
digits: Callable[[float], str] = _helpers["digits"]
"""Six significant digits, or all of a whole number, as the program prints them; a negative zero is a zero.

A score to which -1e9 was added is a whole number, and what is left of the score are its last digits.
"""
