"""Generates numbers as people type them, with their words, identically on every machine."""

from __future__ import annotations

import random
import zlib
from collections.abc import Callable, Mapping
from functools import lru_cache

Digits = tuple[str, str]
"""A non-negative number: digits before the point, without leading zeros ("0" if empty), and after it."""

SIDES = ("train", "validation", "test")
LONGEST = 15
"""Maximum digits before the point."""
MAX_DECIMALS = 6
_LENGTHS = (10, 12, 12, 14, 8, 8, 8, 6, 5, 5, 4, 4, 3, 3, 3)
"""Weights of 1, 2, ... digits before the point: short numbers are typed more often."""


def grouped(digits: str) -> str:
    """Digits with a comma before every three: "1234567" becomes "1,234,567"."""
    return f"{int(digits):,}"


def _decimal(whole: str, digits: str) -> str:
    return f"{whole}.{digits}" if digits else whole


def _either(n: Digits, source: random.Random) -> str:
    """Plain or grouped, with decimals."""
    whole, decimals = n
    return _decimal(grouped(whole) if source.random() < 0.5 else whole, decimals)


NOTATIONS: Mapping[str, Callable[[Digits, random.Random], str]] = {
    "whole": lambda n, source: n[0],  # 1984
    "whole-grouped": lambda n, source: grouped(n[0]),  # 1,984
    "decimal": lambda n, source: _decimal(*n),  # 1984.5
    "decimal-grouped": lambda n, source: _decimal(grouped(n[0]), n[1]),  # 1,984.5
    "hundredths-grouped": lambda n, source: _decimal(grouped(n[0]), n[1]),  # 1,984.50, as the lab's data have it
    "small": lambda n, source: _decimal(*n),  # 0.000001
    "bare-point": lambda n, source: f".{n[1]}",  # .5
    "leading-zeros": lambda n, source: "0" * source.randint(1, 3) + _decimal(*n),  # 007
    "plus": lambda n, source: "+" + _either(n, source),  # +7
    "hyphen": lambda n, source: "-" + _either(n, source),  # -0.5
    "minus-sign": lambda n, source: "\N{MINUS SIGN}" + _either(n, source),  # −0.5
    "blanks": lambda n, source: (
        " " * source.randint(1, 2) + source.choice(["", "-"]) + _either(n, source) + " " * source.randint(0, 2)
    ),
}
"""Notations of a number, each a function of its digits."""
_WHOLE, _WITH_DECIMALS, _BELOW_ONE = {"whole", "whole-grouped"}, {"decimal", "decimal-grouped"}, {"small", "bare-point"}


@lru_cache(maxsize=2**16)
def _integer(value: int) -> str:
    try:
        from num2words import num2words  # type: ignore[import-untyped]  # num2words has no types
    except ModuleNotFoundError:
        raise ValueError(
            "numbers are put into words by num2words, which is not installed: pip install num2words"
        ) from None
    words: str = num2words(value)
    return words


def words_of(text: str) -> str:
    """A number in any of these notations in English words: British "and", commas between groups, hyphens.

    A minus is spoken, even before zero; each decimal digit is named, trailing zeros excepted. Raises ValueError without
    num2words, which only training and measuring need.
    """
    typed = text.strip()
    negative = typed[0] in "-\N{MINUS SIGN}"
    whole, _, decimals = typed.lstrip("+-\N{MINUS SIGN}").replace(",", "").partition(".")
    said = [*["minus"] * negative, _integer(int(whole or "0"))]
    if decimals := decimals.rstrip("0"):
        said += ["point", *(_integer(int(digit)) for digit in decimals)]
    return " ".join(said)


def side_of(n: Digits) -> str:
    """The side of a number, in any notation.

    Above four digits, one in twenty each is "validation" and "test"; all others are "train".
    """
    whole, decimals = n
    value = f"{whole}.{decimals.rstrip('0')}"
    if sum(map(str.isdigit, value.lstrip("0."))) <= 4:
        return "train"
    return {0: "test", 1: "validation"}.get(zlib.crc32(value.encode()) % 20, "train")


def draw_digits(source: random.Random, notation: str) -> Digits:
    """A number for this notation, distributed as people type them."""
    whole = "0" if notation in _BELOW_ONE else _whole(source)
    if notation in _WHOLE:
        return whole, ""
    if notation == "hundredths-grouped":
        return whole, f"{source.randint(0, 99):02}"
    if notation in _BELOW_ONE | _WITH_DECIMALS or source.random() < 0.5:
        return whole, _decimals(source)
    return whole, ""


def _whole(source: random.Random) -> str:
    (length,) = source.choices(range(1, LONGEST + 1), _LENGTHS)
    kind = source.random()
    if kind < 0.05:
        return str(source.randint(1900, 2099))  # a year
    if kind < 0.2:  # round: 40000, 1500000
        kept = source.randint(1, min(3, length))
        digits = _any_digits(source, kept) + "0" * (length - kept)
    elif kind < 0.3:  # a repeated digit: 7777
        digits = str(source.randint(1, 9)) * length
    elif kind < 0.55:  # inner zeros: 1000007
        digits = "".join(str(source.randint(1, 9)) if source.random() < 0.4 else "0" for _ in range(length))
    else:
        digits = _any_digits(source, length)
    return str(int(digits))


def _decimals(source: random.Random) -> str:
    count = source.choices(range(1, MAX_DECIMALS + 1), (6, 6, 3, 2, 2, 3))[0]
    if source.random() < 0.3:  # zeros before the last digit: 000001
        return "0" * (count - 1) + str(source.randint(1, 9))
    return _any_digits(source, count)


def _any_digits(source: random.Random, count: int) -> str:
    return "".join(str(source.randint(0, 9)) for _ in range(count))


def typed_numbers(source: random.Random, n: int, *, side: str, notations: tuple[str, ...]) -> list[str]:
    """n numbers of this side, cycling through notations; validation and test texts are distinct."""
    texts: list[str] = []
    seen: set[str] = set()
    while len(texts) < n:
        notation = notations[len(texts) % len(notations)]
        digits = draw_digits(source, notation)
        text = NOTATIONS[notation](digits, source)
        if side_of(digits) != side or (side != "train" and text in seen):
            continue
        seen.add(text)
        texts.append(text)
    return texts


def counted_numbers(source: random.Random, n: int, *, notation: str) -> list[str]:
    """0, 1, 2, ... in this notation, up to 9,999."""
    return [NOTATIONS[notation]((str(value), ""), source) for value in range(min(n, 10_000))]
