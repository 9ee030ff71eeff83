"""Whether two texts are the same mathematical expression, found exactly, by polynomials, with nothing evaluated."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any


def same_expression(answer: str, wanted: str) -> bool:
    """Whether two texts are equal as mathematical expressions.

    They are sums of rational numbers, names, `+ - * / **`, parentheses, `exp sin cos tan sinh cosh tanh` of something,
    and at the end perhaps `O(x**6)`. Exact: both become quotients of sympy's polynomials with rational coefficients,
    compared crosswise; a function is a name of its own, so sin(x)**2 + cos(x)**2 is not 1. Both need the same O term,
    and what vanishes in it makes no difference. What cannot be read, is too large, or divides by zero, equals nothing
    but the same text. Nothing of a text is ever evaluated as Python.
    """
    if answer == wanted:
        return True
    try:
        texts = [_split(text) for text in (answer, wanted)]
        algebra = _Algebra(texts)
        (first, first_order), (second, second_order) = [_Reader(text, algebra).series() for text in texts]
        if first_order != second_order:
            return False
        num, den = algebra.plus(first, algebra.times(second, algebra.number(-1)))
    except _UnreadableError:
        return False
    if not num:
        return True
    if first_order is None or algebra.functions:
        return False
    variable, power = first_order
    place = algebra.places[variable]
    return bool(min(m[place] for m in num.itermonoms()) - min(m[place] for m in den.itermonoms()) >= power)


FUNCTIONS = ("exp", "sin", "cos", "tan", "sinh", "cosh", "tanh")
# Limits that no honest answer meets and no hostile one gets around: each bounds the work that comes after it.
MOST_CHARACTERS = 2_000
MOST_NAMES = 20
MOST_DIGITS = 30
MOST_NESTING = 40
MOST_EXPONENT = 100
MOST_BITS = 4_000  # of a coefficient
MOST_PRODUCTS = 20_000  # of two terms, in one comparison

_TOKEN = re.compile(r"\s*(\*\*|[-+*/()]|[0-9]+|[A-Za-z]+)")
_Value = tuple[Any, Any]  # numerator and denominator, polynomials of sympy
_Order = tuple[str, int]  # variable and power of an O term


class _UnreadableError(Exception):
    """The text is no expression, or one that is too large."""


def _require(met: bool) -> None:
    if not met:
        raise _UnreadableError


def _split(text: str) -> list[str]:
    """Names, numbers and signs of a text."""
    text = text.strip()
    _require(len(text) <= MOST_CHARACTERS)
    tokens, end = [], 0
    while end < len(text):
        match = _TOKEN.match(text, end)
        if match is None:
            raise _UnreadableError
        tokens.append(match[1])
        end = match.end()
    return tokens


class _Algebra:
    """Exact arithmetic with all names of some texts, within the limits."""

    def __init__(self, texts: Sequence[Sequence[str]]) -> None:
        from sympy import QQ, ring  # type: ignore[import-untyped]  # sympy has no types

        words = [token for text in texts for token in text if token.isalpha()]
        calls = sum(word in FUNCTIONS for word in words)
        names = sorted(set(words) - {"O", *FUNCTIONS})
        _require(len(names) + calls <= MOST_NAMES)
        self.places = {name: place for place, name in enumerate(names)}
        self.ring, *self.generators = ring([*names, *(f"_{n}" for n in range(calls)), "_"], QQ)
        self.functions: dict[Any, int] = {}  # (name, argument) -> place of the name that stands for it
        self.products_left = MOST_PRODUCTS

    def number(self, value: int) -> _Value:
        return self.ring(value), self.ring.one

    def name(self, name: str) -> _Value:
        return self.generators[self.places[name]], self.ring.one

    def function(self, name: str, argument: _Value) -> _Value:
        """The name that stands for this function of this argument, whose denominator may have one term only."""
        num, den = argument
        _require(len(den) == 1)
        ((monomial, _),) = den.terms()
        terms = frozenset((tuple(a - b for a, b in zip(m, monomial, strict=True)), c) for m, c in num.terms())
        place = self.functions.setdefault((name, terms), len(self.places) + len(self.functions))
        return self.generators[place], self.ring.one

    def plus(self, a: _Value, b: _Value) -> _Value:
        if a[1] == b[1]:
            return a[0] + b[0], a[1]
        return self._product(a[0], b[1]) + self._product(b[0], a[1]), self._product(a[1], b[1])

    def times(self, a: _Value, b: _Value) -> _Value:
        return self._product(a[0], b[0]), self._product(a[1], b[1])

    def inverse(self, a: _Value) -> _Value:
        num, den = a
        _require(bool(num))
        # The coefficient of the first term goes into the new numerator: many sums then have one denominator.
        return den * (1 / num.LC), num * (1 / num.LC)

    def power(self, a: _Value, exponent: int) -> _Value:
        a = self.inverse(a) if exponent < 0 else a
        found = self.number(1)
        for bit in f"{abs(exponent):b}":
            found = self.times(found, found)
            found = self.times(found, a) if bit == "1" else found
        return found

    def whole(self, a: _Value) -> int:
        """The value as a whole number, which it has to be."""
        num, den = a
        _require(num.is_ground and den.is_ground)
        value = num.coeff(1) / den.coeff(1)
        _require(value.denominator == 1)
        return int(value)

    def _product(self, a: Any, b: Any) -> Any:
        self.products_left -= len(a) * len(b)
        _require(self.products_left >= 0 and _bits(a) + _bits(b) <= MOST_BITS)
        return a * b


def _bits(a: Any) -> int:
    """The length of the longest coefficient."""
    return max((c.numerator.bit_length() + c.denominator.bit_length() for c in a.itercoeffs()), default=0)


class _Reader:
    """A recursive-descent parser that calculates as it reads; precedence as in Python."""

    def __init__(self, tokens: Sequence[str], algebra: _Algebra) -> None:
        self.tokens, self.algebra, self.place, self.depth = tokens, algebra, 0, 0

    def series(self) -> tuple[_Value, _Order | None]:
        """The whole text: its value without the O term, and that."""
        value, order = self._sum()
        _require(self.place == len(self.tokens))
        return value, order

    def _next(self, *wanted: str) -> str | None:
        """The next token if it is one of these, and then it is read."""
        if self.place < len(self.tokens) and self.tokens[self.place] in wanted:
            self.place += 1
            return self.tokens[self.place - 1]
        return None

    def _sum(self) -> tuple[_Value, _Order | None]:
        total, order = self.algebra.number(0), None
        sign = self._next("+", "-") or "+"
        while True:
            if self._next("O"):
                _require(self.depth == 0 and order is None)
                order = self._order()
            else:
                term = self._product()
                total = self.algebra.plus(total, self._negative(term) if sign == "-" else term)
            following = self._next("+", "-")
            if following is None:
                return total, order
            sign = following

    def _order(self) -> _Order:
        """`(x**6)` behind an O."""
        _require(self._next("(") is not None)
        variable = self._next(*self.algebra.places)
        power = self.algebra.whole(self._factor()) if self._next("**") else 1
        _require(self._next(")") is not None and 1 <= power <= MOST_EXPONENT)
        if variable is None:
            raise _UnreadableError
        return variable, power

    def _product(self) -> _Value:
        value = self._factor()
        while (sign := self._next("*", "/")) is not None:
            factor = self._factor()
            value = self.algebra.times(value, self.algebra.inverse(factor) if sign == "/" else factor)
        return value

    def _factor(self) -> _Value:
        self.depth += 1
        _require(self.depth <= MOST_NESTING)
        if (sign := self._next("+", "-")) is not None:
            value = self._factor()
            value = self._negative(value) if sign == "-" else value
        else:
            value = self._atom()
            if self._next("**"):
                exponent = self.algebra.whole(self._factor())
                _require(abs(exponent) <= MOST_EXPONENT)
                value = self.algebra.power(value, exponent)
        self.depth -= 1
        return value

    def _atom(self) -> _Value:
        _require(self.place < len(self.tokens))
        token = self.tokens[self.place]
        if token in self.algebra.places:
            self.place += 1
            return self.algebra.name(token)
        if token.isdigit():
            _require(len(token) <= MOST_DIGITS)
            self.place += 1
            return self.algebra.number(int(token))
        function = self._next(*FUNCTIONS)
        _require(self._next("(") is not None)
        value, _ = self._sum()
        _require(self._next(")") is not None)
        return value if function is None else self.algebra.function(function, value)

    def _negative(self, value: _Value) -> _Value:
        return -value[0], value[1]
