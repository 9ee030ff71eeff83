"""Numbers as text, everywhere by one rule: what is rounded is never called 0, nor the end of its scale.

0 is said only of 0: what its digits cannot show is "<0.0001" or, below 0, ">-0.0001". Where a scale ends at 1
(probabilities, weights, shares, p-values, cosines, perplexities) 1 is said only of 1: beside it stand ">0.9999" and
"<1.0001"; for shares in percent and scores out of 100 the end is 100. Minus zero is 0. parts/numbers.js says the same.
"""

from __future__ import annotations

import math

SMALL = 1e-4
"""What is smaller is said in a sentence to be so; its digits stand in what explains it."""
_NAMES = {math.inf: "∞", -math.inf: "-∞"}


def nth(index: int) -> int:
    """How far one is, counted from 1, of what has indices from 0: `run.steps[0]` is step 1 on screen."""
    return index + 1


def number(value: float, digits: int = 4, flags: str = "") -> str:
    """The value with `digits` decimals, 0 only if it is 0. flags: "+" for a difference's sign, "," for thousands."""
    value, smallest = float(value), 10.0**-digits
    if not math.isfinite(value):
        return _not_finite(value)
    if value == 0:
        return f"{0:.{digits}f}"
    if abs(value) < smallest:
        return f"{'<' if value > 0 else '>'}{math.copysign(smallest, value):{flags}.{digits}f}"
    return f"{value:{flags}.{digits}f}"


def share(value: float, digits: int = 4) -> str:
    """What has its end at 1, such as a weight or a probability, with `digits` decimals; 1 only if it is 1, or -1."""
    return _ended(value, digits, 1)


def percent(value: float, digits: int = 1, unit: str = " %") -> str:
    """A share in percent; "0 %" and "100 %" are said only of none and all, and have no decimals."""
    if not math.isfinite(value):
        return _not_finite(value)
    if value in (0, 1):
        return f"{100 * abs(value):.0f}{unit}"
    return _ended(100 * value, digits, 100) + unit


def score(value: float, digits: int = 1) -> str:
    """A score out of 100, such as BLEU; 100 only if it is 100, or above it by the rounding of what computed it."""
    return _ended(min(value, 100.0), digits, 100)


def significant(value: float, digits: int = 4) -> str:
    """The value with so many significant digits, and with more where these would make it 1 or -1."""
    value = float(value)
    if not math.isfinite(value):
        return _not_finite(value)
    text = f"{value + 0.0:.{digits}g}"
    while abs(float(text)) == 1 and float(text) != value:
        digits += 1
        text = f"{value:.{digits}g}"
    return text


def write_in_sentence(value: float) -> str:
    """The value in a sentence: as `significant`, but "<0.0001" where it is smaller; what explains it has the digits."""
    return number(value) if 0 < abs(value) < SMALL else significant(value)


def scientific(value: float) -> str:
    """A small difference with two digits, as 5.9 · 10⁻⁸; its parts stay on one line."""
    if value == 0 or not math.isfinite(value):
        return significant(value)
    digits, _, power = f"{value:.1e}".partition("e")
    return f"{digits}\u00a0·\u00a0{_power_of_ten(power)}"


def tick(value: float) -> str:
    """A round number at an axis: 0.001 as it is, smaller ones as 10⁻⁴ or 2 · 10⁻⁴, which need less room."""
    if value == 0 or abs(value) >= 0.001:
        return f"{value:,.10g}"
    digits, _, power = f"{value:.9e}".partition("e")
    ten, digits = _power_of_ten(power), digits.rstrip("0").rstrip(".")
    return ten if digits == "1" else f"{digits}\u00a0·\u00a0{ten}"


def _power_of_ten(power: str) -> str:
    return f"10{str(int(power)).translate(_RAISED)}"


_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def exponential(value: float) -> float:
    """e to the value, such as a probability of its logarithm; rounding makes it neither 0 nor 1."""
    found = math.exp(value)
    if found == 1 and value:
        return math.nextafter(1.0, math.inf if value > 0 else 0.0)
    return found or (math.ulp(0.0) if value > -math.inf else 0.0)


def _ended(value: float, digits: int, end: int) -> str:
    """The number, with the value itself on the right side of the end if it is not the end."""
    size = abs(float(value))
    if not math.isfinite(size) or size == end or float(f"{size:.{digits}f}") != end:
        return number(value, digits)
    near = end + math.copysign(10.0**-digits, size - end)
    return f"{'<' if (size > end) == (value > 0) else '>'}{math.copysign(near, value):.{digits}f}"


def _not_finite(value: float) -> str:
    return _NAMES.get(value, "not a number")


def binary_size(count: int) -> str:
    """Bytes of memory in KiB, MiB or GiB, with two digits at least; not more exact than that."""
    unit, name = next((size, name) for size, name in _UNITS if count >= size or size == 2**10)
    size = count / unit
    return f"{size:.1f} {name}" if size < 10 else f"{size:,.0f} {name}"


_UNITS = ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"))
