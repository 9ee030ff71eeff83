"""Taylor and Laurent series of expressions, exactly, printed as the data set `taylor-generated` prints them.

A series is found exactly: the functions' known coefficients as fractions, multiplied, divided and put into each other
as truncated power series; no computer algebra is needed.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache, reduce
from math import factorial

ORDER = 6
"""The first power that is left out."""

_Coefficient = dict[tuple[int, ...], Fraction]
"""A sum of products of the constants: the exponents of each product, and its factor."""


class _Series:
    """Coefficients from the power `low` on, as many as are known; `of` has at least one."""

    def __init__(self, low: int, of: Sequence[_Coefficient]) -> None:
        self.low, self.of = low, of

    def __add__(self, other: _Series) -> _Series:
        low = min(self.low, other.low)
        end = min(self.low + len(self.of), other.low + len(other.of))
        return _Series(low, [_sum(self.at(power), other.at(power)) for power in range(low, end)])

    def __mul__(self, other: _Series) -> _Series:
        length = min(len(self.of), len(other.of))
        found: list[_Coefficient] = [{} for _ in range(length)]
        mine, others = ([(n, c) for n, c in enumerate(each.of[:length]) if c] for each in (self, other))
        for n, a in mine:
            for m, b in others:
                if n + m >= length:
                    break
                _add_product(found[n + m], a, b)
        return _Series(self.low + other.low, [_reduced(c) for c in found])

    def times(self, factor: Fraction) -> _Series:
        """A multiple of it."""
        return _Series(self.low, [{e: factor * f for e, f in c.items()} for c in self.of])

    def inverse(self) -> _Series:
        """1 over it. Raises ZeroDivisionError unless its first coefficient that is not 0 is one product."""
        start = next((n for n, c in enumerate(self.of) if c), None)
        if start is None or len(self.of[start]) != 1:
            raise ZeroDivisionError
        of = self.of[start:]
        ((exponents, factor),) = of[0].items()
        first = {tuple(-e for e in exponents): 1 / factor}
        found = [first]
        for n in range(1, len(of)):
            rest: _Coefficient = {}
            for m in range(1, n + 1):
                _add_product(rest, of[m], found[n - m])
            total: _Coefficient = {}
            _add_product(total, {e: -f for e, f in _reduced(rest).items()}, first)
            found.append(total)
        return _Series(-(self.low + start), found)

    def at(self, power: int) -> _Coefficient:
        """The coefficient of x**power."""
        return self.of[power - self.low] if self.low <= power < self.low + len(self.of) else {}


def _sum(a: _Coefficient, b: _Coefficient) -> _Coefficient:
    total = dict(a)
    for exponents, factor in b.items():
        total[exponents] = total.get(exponents, Fraction(0)) + factor
    return _reduced(total)


def _reduced(a: _Coefficient) -> _Coefficient:
    return {exponents: factor for exponents, factor in a.items() if factor}


def _add_product(total: _Coefficient, a: _Coefficient, b: _Coefficient) -> None:
    for e, f in a.items():
        for g, h in b.items():
            exponents = tuple(map(int.__add__, e, g))
            total[exponents] = total.get(exponents, Fraction(0)) + f * h


_KNOWN = 2 * ORDER
"""The power up to which each part of an expression with a division is known: some are lost when it is by x**3."""


def _alternating(n: int) -> int:
    return (1, 0, -1, 0)[n % 4]


def _tangents(sign: int) -> list[Fraction]:
    """Of tan (sign 1) and tanh (sign -1), from t' = 1 + sign * t**2."""
    t = [Fraction(0)]
    for n in range(_KNOWN):
        square = sum((t[k] * t[n - k] for k in range(n + 1)), Fraction(0))
        t.append(((n == 0) + sign * square) / (n + 1))
    return t


def _over_factorials(of: Callable[[int], int]) -> list[Fraction]:
    return [Fraction(of(n), factorial(n)) for n in range(_KNOWN + 1)]


FUNCTIONS: Mapping[str, Sequence[Fraction]] = {
    "exp": _over_factorials(lambda n: 1),
    "sin": _over_factorials(lambda n: _alternating(n - 1)),
    "cos": _over_factorials(_alternating),
    "tan": _tangents(1),
    "sinh": _over_factorials(lambda n: n % 2),
    "cosh": _over_factorials(lambda n: 1 - n % 2),
    "tanh": _tangents(-1),
}
"""The coefficients of each function."""


class _Reader:
    """Finds the series of expressions with these constants, each part of them up to x**known."""

    def __init__(self, symbols: str, known: int) -> None:
        self.symbols, self.known = symbols, known

    def monomial(self, factor: Fraction, power: int = 0, name: str = "") -> _Series:
        """A number, times a power of x, times a constant."""
        found = {tuple(int(name == symbol) for symbol in self.symbols): factor} if factor else {}
        return _Series(power, [found, *({} for _ in range(self.known - power))])

    def value(self, node: ast.expr, text: str) -> _Series:
        """The series of a part of an expression; `text` is the whole."""
        match node:
            case ast.Constant(value=int(value)):
                return self.monomial(Fraction(value))
            case ast.Name(id="x"):
                return self.monomial(Fraction(1), 1)
            case ast.Name(id=name) if len(name) == 1:
                return self.monomial(Fraction(1), 0, name)
            case ast.UnaryOp(op=ast.USub(), operand=of):
                return self.value(of, text).times(Fraction(-1))
            case ast.Call() | ast.BinOp(op=ast.Pow()):
                return _factor(text[node.col_offset : node.end_col_offset], self.symbols, self.known)
            case ast.BinOp(left=left, op=ast.Div(), right=ast.Constant(value=int(number))):
                return self.value(left, text).times(Fraction(1, number))
            case ast.BinOp(left=left, op=ast.Add() | ast.Sub() | ast.Mult() | ast.Div() as sign, right=right):
                first, second = (self.value(each, text) for each in (left, right))
                if isinstance(sign, ast.Add):
                    return first + second
                if isinstance(sign, ast.Sub):
                    return first + second.times(Fraction(-1))
                return first * (second.inverse() if isinstance(sign, ast.Div) else second)
        raise _unreadable(text)

    def function(self, name: str, inner: _Series) -> _Series:
        """A function of a series that starts with an x."""
        if any(inner.at(power) for power in range(inner.low, 1)):
            raise ZeroDivisionError
        coefficients = FUNCTIONS[name][: self.known + 1]
        powers = [power for power in range(1, self.known + 1) if inner.at(power)]
        if len(powers) == 1 and len(inner.at(powers[0])) == 1:  # of a multiple of x, x**2, ...
            ((exponents, factor),) = inner.at(powers[0]).items()
            of: list[_Coefficient] = [{} for _ in range(self.known + 1)]
            for n, coefficient in enumerate(coefficients[: self.known // powers[0] + 1]):
                if coefficient:
                    of[n * powers[0]] = {tuple(n * e for e in exponents): coefficient * factor**n}
            return _Series(0, of)
        total = self.monomial(coefficients[-1])
        for coefficient in reversed(coefficients[:-1]):
            total = total * inner + self.monomial(coefficient)
        return total


@lru_cache(maxsize=2**14)
def _factor(text: str, symbols: str, known: int) -> _Series:
    """The series of a function's value or of a power."""
    reader = _Reader(symbols, known)
    match _parsed(text):
        case ast.Call(func=ast.Name(id=name), args=[argument]) if name in FUNCTIONS:
            return reader.function(name, reader.value(argument, text))
        case ast.BinOp(left=base, right=ast.Constant(value=int(exponent))) if exponent:
            return reduce(_Series.__mul__, [reader.value(base, text)] * exponent)
        case ast.BinOp(left=base, right=ast.UnaryOp(ast.USub(), ast.Constant(value=int(exponent)))) if exponent:
            return reduce(_Series.__mul__, [reader.value(base, text)] * exponent).inverse()
    raise _unreadable(text)


def _parsed(text: str) -> ast.expr:
    try:
        return ast.parse(text, mode="eval").body
    except SyntaxError:
        raise _unreadable(text) from None


def _unreadable(text: str) -> ValueError:
    return ValueError(f"{text!r:.80} is no expression of this grammar")


@lru_cache(maxsize=2**17)
def series_of(text: str) -> str:
    """The Taylor series of an expression of x, or its Laurent series, up to x**6, printed as in the data sets.

    The constants are single letters. Raises ValueError for what is no such expression, ZeroDivisionError where there is
    no series with coefficients of these constants.
    """
    symbols = "".join(symbols_of(text))
    reader = _Reader(symbols, _KNOWN if re.search(r"/[^0-9]|\*\*\(-", text) else ORDER - 1)
    found = reader.value(_parsed(text), text)
    terms: list[str] = []
    for power in range(found.low, ORDER):
        products = sorted(found.at(power).items(), reverse=True)
        if power == 0 or len(products) < 2:
            terms += [_product(exponents, factor, symbols, power) for exponents, factor in products]
        else:
            total = _joined([_product(exponents, factor, symbols, 0) for exponents, factor in products])
            terms.append(f"({total})/{_power('x', -power)}" if power < 0 else f"{_power('x', power)}*({total})")
    terms.sort(key=lambda term: (re.findall(r"x\*\*\d|x", term), term))
    return _joined([*terms, "O(x**6)"])


def symbols_of(text: str) -> list[str]:
    """The constants of an expression, in alphabetical order."""
    return sorted(set(re.findall(r"\b[a-z]\b", text)) - {"x"})


def _joined(terms: Sequence[str]) -> str:
    return "+".join(terms).replace("+-", "-")


def _power(name: str, exponent: int) -> str:
    return name if exponent == 1 else f"{name}**{exponent}"


def _product(exponents: Sequence[int], factor: Fraction, symbols: str, power: int) -> str:
    """A product of a number, constants and a power of x: "-5*c**3*x**3/6", "1/(f*x)"."""
    powers = [*zip(symbols, exponents, strict=True), ("x", power)]
    above = [_power(name, exponent) for name, exponent in powers if exponent > 0]
    below = [_power(name, -exponent) for name, exponent in powers if exponent < 0]
    if abs(factor.numerator) != 1 or not above:
        above.insert(0, str(abs(factor.numerator)))
    if factor.denominator != 1:
        below.insert(0, str(factor.denominator))
    under = "*".join(below) if len(below) < 2 else f"({'*'.join(below)})"
    return "-" * (factor < 0) + "*".join(above) + (f"/{under}" if under else "")
