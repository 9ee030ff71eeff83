"""Decides exactly, by polynomials, whether two texts are the same expression, without evaluating them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from viz_transformer.measuring import expression_trees as trees


def same_expression(answer: str, wanted: str) -> bool:
    """Whether two texts are equal as mathematical expressions.

    Exact: trees of `expression_trees` become quotients of sympy polynomials with rational coefficients, compared by
    cross-multiplication; each function value is a separate name, so sin(x)**2 + cos(x)**2 is not 1. Both need the same
    O term, which absorbs higher terms. A text that cannot be read, is too large or divides by zero equals only itself.
    Nothing is evaluated as Python.
    """
    if answer == wanted:
        return True
    try:
        first, second = read = [trees.parse(text) for text in (answer, wanted)]
        if first.order != second.order:
            return False
        algebra = _Algebra(read)
        num, den = algebra.plus(
            algebra.value(first.tree), algebra.times(algebra.value(second.tree), algebra.number(-1))
        )
    except trees.ExpressionError:
        return False
    if not num:
        return True
    if first.order is None or algebra.functions:
        return False
    place = algebra.places[first.order.variable]
    return bool(min(m[place] for m in num.itermonoms()) - min(m[place] for m in den.itermonoms()) >= first.order.power)


MAX_BITS = 4_000  # per coefficient
MAX_PRODUCTS = 20_000  # products of two terms, per comparison

_Value = tuple[Any, Any]  # numerator and denominator, as sympy polynomials


def _require(met: bool) -> None:
    if not met:
        raise trees.ExpressionError("is too large, or divides by zero")


class _Algebra:
    """Exact, bounded arithmetic in the names of some expressions."""

    def __init__(self, read: Sequence[trees.Expression]) -> None:
        from sympy import QQ, ring  # type: ignore[import-untyped]  # sympy has no types

        calls = sum(len(each.functions) for each in read)
        names = sorted({name for each in read for name in each.names})
        _require(len(names) + calls <= trees.MAX_NAMES)
        self.places = {name: place for place, name in enumerate(names)}
        self.ring, *self.generators = ring([*names, *(f"_{n}" for n in range(calls)), "_"], QQ)
        self.functions: dict[Any, int] = {}  # (name, argument) -> index of the name that represents it
        self.products_left = MAX_PRODUCTS

    def number(self, value: int) -> _Value:
        return self.ring(value), self.ring.one

    def function(self, name: str, argument: _Value) -> _Value:
        """The name of this function value, whose argument's denominator may only have one term."""
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
        # Move the leading coefficient into the numerator: many sums then share a denominator.
        return den * (1 / num.LC), num * (1 / num.LC)

    def power(self, a: _Value, exponent: int) -> _Value:
        a = self.inverse(a) if exponent < 0 else a
        found = self.number(1)
        for bit in f"{abs(exponent):b}":
            found = self.times(found, found)
            found = self.times(found, a) if bit == "1" else found
        return found

    def value(self, tree: trees.Tree) -> _Value:
        """Value of a tree; 0 for an O term."""
        match tree:
            case trees.Number(number):
                return self.number(number)
            case trees.Name(name):
                return self.generators[self.places[name]], self.ring.one
            case trees.Call(function, argument):
                return self.function(function, self.value(argument))
            case trees.Power(base, exponent):
                return self.power(self.value(base), exponent)
            case trees.Product(factors):
                found = self.number(1)
                for divides, factor in factors:
                    value = self.value(factor)
                    found = self.times(found, self.inverse(value) if divides else value)
            case trees.Sum(terms):
                found = self.number(0)
                for negative, term in terms:
                    num, den = self.value(term)
                    found = self.plus(found, (-num if negative else num, den))
            case trees.Order():
                return self.number(0)
        return found

    def _product(self, a: Any, b: Any) -> Any:
        self.products_left -= len(a) * len(b)
        _require(self.products_left >= 0 and bits(a) + bits(b) <= MAX_BITS)
        return a * b


def bits(a: Any) -> int:
    """Bits of the longest coefficient."""
    return max((c.numerator.bit_length() + c.denominator.bit_length() for c in a.itercoeffs()), default=0)
