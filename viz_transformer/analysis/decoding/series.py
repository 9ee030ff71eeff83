"""The Taylor series of an expression about x = 0, exact, and what is wrong with an answer that should be it.

Calculated with sympy's polynomials; nothing of a text is ever evaluated.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from viz_transformer.measuring import expression_trees as trees
from viz_transformer.measuring.expressions import MAX_BITS, bits
from viz_transformer.measuring.power_series import ORDER, coefficients

# Besides the limits of reading, which are those of same_expression: these bound the time and the memory of a series.
MAX_POWERS = 48  # of x, tried before they cancel
MAX_PRODUCTS = 50_000  # of two terms, in one verdict: five functions need 2,000
MAX_TERMS = 1_000  # of a coefficient
MAX_SHOWN = 300  # characters of a coefficient in a sentence


@dataclass(frozen=True)
class Verdict:
    """The verdict on an answer as the series of a source, with a sentence.

    Where a coefficient is wrong, `power` is the first such power of x, with both coefficients as text.
    """

    kind: Literal["right", "wrong", "unreadable"]
    sentence: str
    power: int | None = None
    wanted: str | None = None
    written: str | None = None


def verdict(source: str, answer: str) -> Verdict:
    """The verdict on an answer as the series of the source about x = 0 up to O(x**6), coefficient by coefficient,
    exactly.

    Both may have rational numbers, names, + - * / **, parentheses; the source also exp, sin, cos, tan, sinh, cosh and
    tanh of what is 0 at x = 0. A text that cannot be read, or meets a limit, gives a verdict that says why.
    """
    part = "source"
    try:
        asked = trees.parse(source)
        if asked.order:
            raise trees.ExpressionError("has an O term, which belongs in the answer")
        part = "answer"
        given = trees.parse(answer)
        if given.functions:
            raise trees.ExpressionError(f"has {given.functions[0]}: a series has powers of x alone")
        arithmetic = _Arithmetic(asked.names | given.names)
        written = arithmetic.series(given.tree)
        part = "source"
        wanted = arithmetic.series(asked.tree)
        return _compare(arithmetic, wanted, written, given.order)
    except trees.UnexpectedError as error:
        return Verdict("unreadable", f"Not checked: {error.clause} in the {part}.{error.advice}")
    except trees.ExpressionError as error:
        return Verdict("unreadable", f"Not checked: the {part} {error}.")


def series(source: str) -> dict[int, str]:
    """The coefficients of the series about x = 0, by powers of x below 6; those that are 0 are left out.

    Raises ExpressionError for a source that cannot be read, has no such series, or meets a limit.
    """
    read = trees.parse(source)
    if read.order:
        raise trees.ExpressionError("has an O term, which belongs in the answer")
    found = _Arithmetic(read.names).series(read.tree)
    return {power: _text(found, power) for power in sorted(found.terms) if power < ORDER}


class _SeriesError(trees.ExpressionError):
    """The text is an expression, but its series was not found."""


class _MorePowersError(Exception):
    """The powers of x tried so far are not enough."""


@dataclass(frozen=True)
class _Laurent:
    """A Laurent series in x: terms / below + O(x**end), and exact if the end is infinite.

    `terms` has a polynomial of the names for each power of x, none of them 0; `below` is a product of polynomials
    without x, each with its exponent.
    """

    terms: Mapping[int, Any]
    below: Mapping[Any, int]
    end: float

    @property
    def first(self) -> float:
        """The first power of x that may be there; infinite for what is exactly 0."""
        return min(self.terms, default=self.end)


class _Arithmetic:
    """Laurent arithmetic over all names of a source and an answer, exact up to a power of x, within the limits.

    Coefficients stay polynomials over a common denominator, so no greatest common divisor is ever needed: its time
    has no good bound.
    """

    def __init__(self, names: frozenset[str]) -> None:
        from sympy import QQ, ring  # type: ignore[import-untyped]  # sympy has no types

        symbols = [*sorted(names - {"x"}), "_"]  # a ring has at least one name
        self.ring, *generators = ring(symbols, QQ)
        self.generators = dict(zip(symbols, generators, strict=True))
        self.products_left = MAX_PRODUCTS
        self.end = ORDER

    def series(self, tree: trees.Tree) -> _Laurent:
        """The series up to O(x**6) at least; powers of x that quotients use up are computed in addition."""
        self.end = ORDER
        while self.end <= MAX_POWERS:
            try:
                found = self._value(tree)
            except _MorePowersError:
                self.end *= 2
                continue
            if found.end >= ORDER:
                if any(len(term) > MAX_TERMS for term in found.terms.values()):
                    raise _SeriesError(f"has a coefficient of more than {MAX_TERMS:,} terms")
                return found
            self.end += ORDER - int(found.end)
        raise _SeriesError(f"has no series that {MAX_POWERS} powers of x would show")

    def difference(self, a: _Laurent, b: _Laurent) -> _Laurent:
        return self._add(a, self._scale(b, -1))

    def _value(self, tree: trees.Tree) -> _Laurent:
        match tree:
            case trees.Number(number):
                return self._exact({0: self.ring(number)})
            case trees.Name("x"):
                return self._exact({1: self.ring.one})
            case trees.Name(name):
                return self._exact({0: self.generators[name]})
            case trees.Sum(terms):
                total = self._exact({})
                for negative, term in terms:
                    value = self._value(term)
                    total = self.difference(total, value) if negative else self._add(total, value)
                return total
            case trees.Product(factors):
                total = self._value(factors[0][1])
                for divides, factor in factors[1:]:
                    value = self._value(factor)
                    total = self._multiply(total, self._invert(value) if divides else value)
                return total
            case trees.Power(base, exponent):
                value = self._value(base)
                return self._power(self._invert(value) if exponent < 0 else value, abs(exponent))
            case trees.Call(function, argument):
                return self._function(function, self._value(argument))
            case trees.Order():
                return self._exact({})

    def _exact(self, terms: dict[int, Any]) -> _Laurent:
        return self._cut(terms, {}, math.inf)

    def _cut(self, terms: Mapping[int, Any], below: Mapping[Any, int], end: float) -> _Laurent:
        """The series without zero terms and without powers beyond the limit."""
        end = min(end, self.end) if any(power >= self.end for power in terms) else end
        return _Laurent({power: term for power, term in terms.items() if term and power < end}, below, end)

    def _scale(self, a: _Laurent, number: Any) -> _Laurent:
        return _Laurent({power: term * number for power, term in a.terms.items()}, a.below, a.end)

    def _add(self, a: _Laurent, b: _Laurent) -> _Laurent:
        below = {factor: max(a.below.get(factor, 0), b.below.get(factor, 0)) for factor in {**a.below, **b.below}}
        total: dict[int, Any] = {}
        for value in (a, b):
            widened = self._expand({factor: n - value.below.get(factor, 0) for factor, n in below.items()})
            for power, term in value.terms.items():
                total[power] = total.get(power, self.ring.zero) + self._product(term, widened)
        return self._cut(total, below, min(a.end, b.end))

    def _multiply(self, a: _Laurent, b: _Laurent) -> _Laurent:
        end = min(a.end + b.first, b.end + a.first)
        total: dict[int, Any] = {}
        for (p, one), (q, other) in ((m, n) for m in a.terms.items() for n in b.terms.items()):
            if p + q < min(end, self.end):
                total[p + q] = total.get(p + q, self.ring.zero) + self._product(one, other)
            else:
                end = min(end, self.end)
        below = {factor: a.below.get(factor, 0) + b.below.get(factor, 0) for factor in {**a.below, **b.below}}
        return self._cut(total, below, end)

    def _invert(self, a: _Laurent) -> _Laurent:
        """1 / a. With the first term d of a, its k-th coefficient is e_k / d**(k+1), e_0 = 1 and
        e_k = -sum over j from 1 to k of a_j d**(j-1) e_(k-j).
        """
        if not a.terms:
            if math.isinf(a.end):
                raise _SeriesError("divides by zero")
            raise _MorePowersError
        first = min(a.terms)
        exact = len(a.terms) == 1 and math.isinf(a.end)
        end = math.inf if exact else min(a.end - 2 * first, self.end)
        count = 1 if exact else max(0, int(end) + first)
        number = a.terms[first].LC
        a = self._scale(a, 1 / number)
        d = a.terms[first]
        powers = [self.ring.one]  # of d
        while len(powers) < count:
            powers.append(self._product(powers[-1], d))
        found = [self.ring.one]
        for k in range(1, count):
            total = self.ring.zero
            for j in range(1, k + 1):
                if first + j in a.terms and found[k - j]:
                    total -= self._product(self._product(a.terms[first + j], powers[j - 1]), found[k - j])
            found.append(total)
        above = self._expand(a.below) * (1 / number)
        terms = {
            k - first: self._product(self._product(term, powers[count - 1 - k]), above)
            for k, term in enumerate(found[:count])
        }
        return self._cut(terms, {factor: n * count for factor, n in self._factors(d).items()}, end)

    def _factors(self, polynomial: Any) -> dict[Any, int]:
        """The names that divide a polynomial, and what is left of it."""
        exponents = tuple(min(powers) for powers in zip(*polynomial.itermonoms(), strict=True))
        rest = polynomial.exquo(self.ring.term_new(exponents, self.ring.domain.one))
        factors = {name: n for name, n in zip(self.ring.gens, exponents, strict=True) if n}
        return factors if rest == 1 else {**factors, rest: 1}

    def _expand(self, factors: Mapping[Any, int]) -> Any:
        """The product of factors with their exponents."""
        found = self.ring.one
        for factor, n in factors.items():
            for _ in range(n):
                found = self._product(found, factor)
        return found

    def _power(self, a: _Laurent, exponent: int) -> _Laurent:
        found = self._exact({0: self.ring.one})
        for bit in f"{exponent:b}":
            found = self._multiply(found, found)
            found = self._multiply(found, a) if bit == "1" else found
        return found

    def _function(self, function: str, u: _Laurent) -> _Laurent:
        """The function's own series, with u in the place of its variable."""
        if any(power <= 0 for power in u.terms):
            raise _SeriesError(f"has {function} of something that is not 0 at x = 0")
        if u.end <= 0:
            raise _MorePowersError
        count = 1 if math.isinf(u.first) else math.ceil(self.end / u.first)
        found = self._exact({})
        for number in reversed(coefficients(function, count)):
            term = self._exact({0: self.ring(self.ring.domain(number.numerator, number.denominator))})
            found = self._add(self._multiply(found, u), term)
        return self._cut(found.terms, found.below, min(found.end, self.end))

    def _product(self, a: Any, b: Any) -> Any:
        self.products_left -= len(a) * len(b)
        if self.products_left < 0 or bits(a) + bits(b) > MAX_BITS:
            raise _SeriesError("is too large to be computed")
        return a * b


def _compare(arithmetic: _Arithmetic, wanted: _Laurent, written: _Laurent, order: trees.Order | None) -> Verdict:
    """The verdict at the first power of x at which two series differ, or else on the O term."""
    end = order.power if order is not None and order.variable == "x" else ORDER
    differing = [power for power in arithmetic.difference(wanted, written).terms if power < min(end, ORDER)]
    if differing:
        power = min(differing)
        right, given = _text(wanted, power), _text(written, power)
        place = {0: "in the term without x", 1: "at x", -1: "at 1/x"}.get(
            power, f"at x**{power}" if power > 0 else f"at 1/x**{-power}"
        )
        should = f"it should be {_sentence_part(right)}" if right != "0" else "there should be no such term"
        wrote = _sentence_part(given) if given != "0" else "no such term"
        return Verdict("wrong", f"Wrong {place}: {should}, the model wrote {wrote}.", power, right, given)
    if order is None:
        return Verdict("wrong", f"Wrong: the coefficients are right, but O(x**{ORDER}) is missing.")
    if order != trees.Order("x", ORDER):
        return Verdict("wrong", f"Wrong: it ends with {order} and not with O(x**{ORDER}).")
    return Verdict("right", "Right: equal to the series by sympy, coefficient by coefficient.")


def _sentence_part(coefficient: str) -> str:
    if len(coefficient) <= MAX_SHOWN:
        return coefficient
    return f"an expression of {len(coefficient):,} characters"


def _text(a: _Laurent, power: int) -> str:
    """A coefficient as the data write it."""
    from sympy import Add, Mul

    if power not in a.terms:
        return "0"
    above, below = a.terms[power], dict(a.below)
    for factor in below:
        while len(factor) > 1 and below[factor]:
            quotient, rest = above.div(factor)
            if rest:
                break
            above, below[factor] = quotient, below[factor] - 1
    names = Mul(*(factor.as_expr() ** -n for factor, n in below.items() if len(factor) == 1))
    others = Mul(*(factor.as_expr() ** -n for factor, n in below.items() if len(factor) > 1))
    terms = (above.ring.from_terms([term]).as_expr() * names for term in above.terms())
    written = str(Add(*terms) * others).replace(" ", "")
    return re.sub(r"([A-Za-z]+|\([^()]*\))\*\*\(-([0-9]+)\)", r"1/\1**\2", written)  # sympy writes a**(-2)
