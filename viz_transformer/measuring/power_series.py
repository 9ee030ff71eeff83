"""Exact Taylor and Laurent series of expressions, printed as in the data set `taylor-generated`.

Known coefficients as fractions are multiplied, divided and composed as truncated power series, without computer
algebra.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache, reduce
from math import factorial

from viz_transformer.measuring import expression_trees as trees

ORDER = 6
"""First omitted power."""

_Coefficient = dict[tuple[int, ...], Fraction]
"""A sum of products of constants: exponents -> factor."""


class _Series:
    """Known coefficients from the power `low` on, at least one."""

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
        return _Series(self.low, [{e: factor * f for e, f in c.items()} for c in self.of])

    def inverse(self) -> _Series:
        """1 over the series. Raises ZeroDivisionError unless its first non-zero coefficient is a single product."""
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
        """Coefficient of x**power."""
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
"""Precision in powers for expressions with a division: dividing by x**3 loses some."""


_SIGNS = {"exp": (1, 1, 1, 1), "sin": (0, 1, 0, -1), "cos": (1, 0, -1, 0), "sinh": (0, 1, 0, 1), "cosh": (1, 0, 1, 0)}
"""Derivatives at 0, which repeat after four."""


@lru_cache(maxsize=1024)
def coefficients(function: str, count: int) -> tuple[Fraction, ...]:
    """The first coefficients of a function; tan and tanh by t' = 1 + t**2 and t' = 1 - t**2."""
    if function in _SIGNS:
        return tuple(Fraction(_SIGNS[function][k % 4], factorial(k)) for k in range(count))
    sign = 1 if function == "tan" else -1
    found = [Fraction(0)]
    for k in range(count - 1):
        square = sum((found[i] * found[k - i] for i in range(k + 1)), Fraction(0))
        found.append(((k == 0) + sign * square) / (k + 1))
    return tuple(found)


class _Reader:
    """Computes series in these constants, with every part known up to x**known."""

    def __init__(self, symbols: str, known: int) -> None:
        self.symbols, self.known = symbols, known

    def monomial(self, factor: Fraction, power: int = 0, name: str = "") -> _Series:
        """A number times a power of x times a constant."""
        found = {tuple(int(name == symbol) for symbol in self.symbols): factor} if factor else {}
        return _Series(power, [found, *({} for _ in range(self.known - power))])

    def value(self, tree: trees.Tree) -> _Series:
        match tree:
            case trees.Number(number):
                return self.monomial(Fraction(number))
            case trees.Name("x"):
                return self.monomial(Fraction(1), 1)
            case trees.Name(name) if len(name) == 1:
                return self.monomial(Fraction(1), 0, name)
            case trees.Call() | trees.Power():
                return _factor(tree, self.symbols, self.known)
            case trees.Product(factors):
                found = self.value(factors[0][1])
                for divides, factor in factors[1:]:
                    if divides and isinstance(factor, trees.Number):
                        found = found.times(Fraction(1, factor.value))
                    else:
                        value = self.value(factor)
                        found = found * (value.inverse() if divides else value)
                return found
            case trees.Sum(terms):
                values = [(negative, self.value(term)) for negative, term in terms]
                return reduce(_Series.__add__, [v.times(Fraction(-1)) if negative else v for negative, v in values])
            case trees.Name(name):
                raise trees.ExpressionError(f"has the constant {name}: a constant is a single letter")
            case trees.Order():
                raise trees.ExpressionError("has an O term, which belongs in the series")

    def function(self, name: str, inner: _Series) -> _Series:
        """A function of a series without a constant term."""
        if any(inner.at(power) for power in range(inner.low, 1)):
            raise ZeroDivisionError
        known = coefficients(name, self.known + 1)
        powers = [power for power in range(1, self.known + 1) if inner.at(power)]
        if len(powers) == 1 and len(inner.at(powers[0])) == 1:  # of a multiple of x, x**2, ...
            ((exponents, factor),) = inner.at(powers[0]).items()
            of: list[_Coefficient] = [{} for _ in range(self.known + 1)]
            for n, coefficient in enumerate(known[: self.known // powers[0] + 1]):
                if coefficient:
                    of[n * powers[0]] = {tuple(n * e for e in exponents): coefficient * factor**n}
            return _Series(0, of)
        total = self.monomial(known[-1])
        for coefficient in reversed(known[:-1]):
            total = total * inner + self.monomial(coefficient)
        return total


@lru_cache(maxsize=2**14)
def _factor(tree: trees.Call | trees.Power, symbols: str, known: int) -> _Series:
    """Series of a function value or power."""
    reader = _Reader(symbols, known)
    match tree:
        case trees.Call(function, argument):
            return reader.function(function, reader.value(argument))
        case trees.Power(base, exponent) if exponent:
            found = reduce(_Series.__mul__, [reader.value(base)] * abs(exponent))
            return found.inverse() if exponent < 0 else found
    raise trees.ExpressionError("has a power of 0")


@lru_cache(maxsize=2**17)
def series_of(text: str) -> str:
    """Taylor or Laurent series of an expression in x, up to x**6, printed as in the data sets.

    Constants are single letters. Raises ExpressionError for anything else, ZeroDivisionError if there is no series with
    coefficients in these constants.
    """
    symbols = "".join(symbols_of(text))
    reader = _Reader(symbols, _KNOWN if re.search(r"/[^0-9]|\*\*\(-", text) else ORDER - 1)
    found = reader.value(trees.parse(text).tree)
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
    """Constants of an expression, in alphabetical order."""
    return sorted(set(re.findall(r"\b[a-z]\b", text)) - {"x"})


def _joined(terms: Sequence[str]) -> str:
    return "+".join(terms).replace("+-", "-")


def _power(name: str, exponent: int) -> str:
    return name if exponent == 1 else f"{name}**{exponent}"


def _product(exponents: Sequence[int], factor: Fraction, symbols: str, power: int) -> str:
    """A product of number, constants and power of x: "-5*c**3*x**3/6", "1/(f*x)"."""
    powers = [*zip(symbols, exponents, strict=True), ("x", power)]
    above = [_power(name, exponent) for name, exponent in powers if exponent > 0]
    below = [_power(name, -exponent) for name, exponent in powers if exponent < 0]
    if abs(factor.numerator) != 1 or not above:
        above.insert(0, str(abs(factor.numerator)))
    if factor.denominator != 1:
        below.insert(0, str(factor.denominator))
    under = "*".join(below) if len(below) < 2 else f"({'*'.join(below)})"
    return "-" * (factor < 0) + "*".join(above) + (f"/{under}" if under else "")
