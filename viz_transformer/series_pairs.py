"""Expressions as people type them, with their Taylor series up to x**6: made here, by the same rule on every machine.

A series is found exactly: the functions' known coefficients as fractions, multiplied, divided and put into each other
as truncated power series; no computer algebra is needed. It is printed as the data set `taylor-generated` prints it.
"""

from __future__ import annotations

import ast
import random
import re
import zlib
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache, reduce
from math import factorial

ORDER = 6
"""The first power that is left out."""
SYMBOLS = "abcdfg"
SIDES = ("train", "test")
MOST_SOURCE, MOST_TARGET = 40, 100
"""Tokens."""
MOST = 100_000
MOST_DIGITS = 5
"""Of a number in a series."""
TEXTBOOK = tuple(
    """
    sin(x) cos(x) exp(x) tan(x) sinh(x) cosh(x) tanh(x)
    sin(2*x) cos(2*x) exp(2*x) tan(2*x) sinh(2*x) cosh(2*x) sin(3*x) cos(3*x) exp(3*x)
    exp(-x) exp(-2*x) exp(x/2) sin(x/2) cos(x/2)
    sin(x)+cos(x) exp(x)+sin(x) exp(x)+cos(x) exp(x)-cos(x) exp(x)-1 1-cos(x) exp(x)+exp(-x) sin(x)+sinh(x)
    cos(x)+cosh(x) sin(x)+tan(x)
    exp(x)*sin(x) exp(x)*cos(x) exp(-x)*sin(x) exp(-x)*cos(x) sin(x)*cos(x) sin(x)*sinh(x) cos(x)*cosh(x)
    sin(x)**2 cos(x)**2 tan(x)**2 sin(x)**3 sinh(x)**2 cosh(x)**2 tanh(x)**2
    x*sin(x) x*cos(x) x*exp(x) x**2*exp(x) x**2*sin(x) x*exp(-x) 2*sin(x) 3*exp(x)
    1/(1-x) 1/(1+x) 1/(1+x**2) 1/(1-2*x) sin(x)/x 1/cos(x) exp(-x**2)
    """.split()
)
"""What a textbook expands first: 60 expressions. None is trained on, nor any other with the series of one."""

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
    symbols = "".join(_symbols(text))
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


def _symbols(text: str) -> list[str]:
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


def key_of(text: str) -> str:
    """The same for all expressions with one series: it, with the constants numbered in alphabetical order."""
    return series_of(renamed(text, SYMBOLS))


def renamed(text: str, names: Sequence[str]) -> str:
    """The expression with its constants named in order by the first of these."""
    names_of = dict(zip(_symbols(text), names, strict=False))
    return re.sub(r"\b[a-z]\b", lambda found: names_of.get(found[0], found[0]), text)


def typed_expressions(source: random.Random, n: int, *, side: str) -> list[str]:
    """n different expressions of this side, of all kinds; those with constants name them at random.

    Raises ValueError for more than MOST, which would take minutes.
    """
    if n > MOST:
        raise ValueError(f"{n:,} expressions with their series are too many: take at most {MOST:,}")
    texts: list[str] = []
    seen: set[str] = set()
    kinds, weights = zip(*_KINDS, strict=True)
    while len(texts) < n:
        (kind,) = source.choices(kinds, weights)
        text = kind(source, _Drawn(source, constants=source.random() < WITH_CONSTANTS))
        names = sorted(source.sample(SYMBOLS, 3))
        if text in seen:
            continue
        seen.add(text)
        if side_of(text) == side:
            texts.append(renamed(text, names))
    return texts


def side_of(text: str) -> str | None:
    """For what an expression is used, however it is written: one in twenty series is for "test", those of the textbook
    are for neither side, and all others for "train". None also for what is too long, or has no series with an x."""
    try:
        series = key_of(text)
    except ZeroDivisionError:
        return None
    if "x" not in series[: -len("+O(x**6)")] or series in _textbook_keys():
        return None
    if any(len(number) > MOST_DIGITS for number in re.findall("[0-9]+", series)):
        return None
    if _tokens(text) > MOST_SOURCE or _tokens(series) > MOST_TARGET:
        return None
    return "train" if zlib.crc32(series.encode()) % 20 else "test"


@lru_cache(maxsize=1)
def _textbook_keys() -> frozenset[str]:
    return frozenset(map(key_of, TEXTBOOK))


def textbook(source: random.Random, n: int) -> list[str]:
    """The first n of TEXTBOOK; nothing is drawn."""
    return list(TEXTBOOK[:n])


def _tokens(text: str) -> int:
    return len(re.findall(r"O\(x\*\*6\)|\*\*|[0-9]|[A-Za-z]+|[^\sA-Za-z0-9]", text))


WITH_CONSTANTS = 0.25
"""How many of the expressions have constants beside the numbers."""
_NUMBERS = range(1, 7)
_OFTEN = (16, 6, 4, 2, 2, 1)
_NAMES = tuple(FUNCTIONS)


class _Drawn:
    """The parts of an expression, drawn one by one; small numbers are drawn most often."""

    def __init__(self, source: random.Random, *, constants: bool) -> None:
        self.source, self.constants = source, constants

    def one(self, *of: str) -> str:
        """One of these with equal chances."""
        return self.source.choice(of)

    def number(self) -> int:
        """1 to 6."""
        return self.source.choices(_NUMBERS, _OFTEN)[0]

    def multiple(self, of: str) -> str:
        """The text as it is, or with a number or a constant before it, or a small number under it."""
        if self.constants and self.source.random() < 0.6:
            of = f"{self.one('a', 'a', 'b')}*{of}"
        number, chance = self.number(), self.source.random()
        if number == 1:
            return of
        return f"{of}/{number}" if chance < 0.2 and number < 5 else f"{number}*{of}"

    def argument(self) -> str:
        """Of a function: mostly a multiple of x."""
        sign = "-" if self.source.random() < 0.15 else ""
        return sign + self.multiple("x" if self.source.random() < 0.95 else "x**2")

    def monomial(self) -> str:
        """A multiple of a power of x, or a number."""
        if self.source.random() < 0.4:
            return "a" if self.constants and self.source.random() < 0.3 else str(self.number())
        return self.multiple(self.one("x", "x", "x**2", "x**3"))

    def function(self) -> str:
        """A function of a multiple of x."""
        return f"{self.one(*_NAMES)}({self.argument()})"

    def factor(self) -> str:
        """A function, or its square or cube."""
        return self.function() + (self.one("**2", "**2", "**3") if self.source.random() < 0.15 else "")

    def term(self) -> str:
        """A function, perhaps with a number or a power of x before it."""
        chance = self.source.random()
        factor = self.factor()
        if chance < 0.15:
            return f"{self.one('x', 'x', 'x**2', 'x**3')}*{factor}"
        return self.multiple(factor) if chance < 0.5 else factor

    def sign(self) -> str:
        return self.one("+", "+", "-")


def _single(source: random.Random, d: _Drawn) -> str:
    return d.one("", "", "", "-") + d.term()


def _with_number(source: random.Random, d: _Drawn) -> str:
    parts = [d.term(), d.monomial()]
    source.shuffle(parts)
    return d.sign().join(parts)


def _two(source: random.Random, d: _Drawn) -> str:
    return d.one("", "", "", "", "-") + d.term() + d.sign() + d.term()


def _three(source: random.Random, d: _Drawn) -> str:
    return _two(source, d) + d.sign() + d.one(d.term(), d.monomial())


def _of_two(source: random.Random, d: _Drawn) -> str:
    return d.multiple(f"{d.factor()}*{d.function()}")


def _of_two_and_more(source: random.Random, d: _Drawn) -> str:
    parts = [_of_two(source, d), d.one(d.monomial(), d.term())]
    source.shuffle(parts)
    return d.sign().join(parts)


def _monomial_times(source: random.Random, d: _Drawn) -> str:
    parts = [d.one("x", "x**2", "x**3"), d.factor()]
    source.shuffle(parts)
    return d.multiple("*".join(parts))


def _of_sum(source: random.Random, d: _Drawn) -> str:
    parts = [f"({d.one(d.term(), d.monomial())}{d.sign()}{d.function()})", d.one("x", "x**2", d.function())]
    source.shuffle(parts)
    return "*".join(parts)


def _binomial_times(source: random.Random, d: _Drawn) -> str:
    parts = [f"({d.number()}{d.sign()}{d.multiple('x')})", d.factor()]
    source.shuffle(parts)
    return "*".join(parts)


def _geometric(source: random.Random, d: _Drawn) -> str:
    """Quotients of polynomials such as 1/(1-x), x/(1+2*x), 2/(1-x)**2."""
    below = f"({d.one('1', '1', '1', '2', '3')}{d.one('+', '-')}{d.multiple(d.one('x', 'x', 'x', 'x**2', 'x**3'))})"
    above = d.one("1", "1", "x", str(d.number()), "x**2", f"(1{d.sign()}{d.multiple('x')})")
    return d.one("", "", "-") + f"{above}/{below}" + d.one("", "", "", "**2")


def _geometric_and_more(source: random.Random, d: _Drawn) -> str:
    parts = [_geometric(source, d).lstrip("-"), d.one(d.monomial(), d.term())]
    source.shuffle(parts)
    return d.one("+", "-", "*").join(parts)


def _quotient(source: random.Random, d: _Drawn) -> str:
    above = d.one("1", "1", "x", str(d.number()), d.function(), d.function())
    return d.multiple(f"{above}/{d.one('x', d.factor(), d.factor(), d.factor())}")


def _sum_over(source: random.Random, d: _Drawn) -> str:
    return f"({d.one(d.function(), str(d.number()))}{d.sign()}{d.function()})/{d.one('x', '2', 'x**2', '3')}"


def _binomial_power(source: random.Random, d: _Drawn) -> str:
    return d.multiple(f"({d.number()}{d.sign()}{d.multiple('x')})**{d.one('2', '3', '4', '5')}")


def _inside(source: random.Random, d: _Drawn) -> str:
    """A function of a function, or of a polynomial."""
    inner = d.one(
        f"{d.one('sin', 'tan', 'sinh', 'tanh')}({d.argument()})",
        f"{d.argument()}{d.sign()}{d.one('x**2', 'x**3')}",
        f"{d.one('', '-')}{d.multiple(d.one('x**2', 'x**3'))}",
    )
    return d.multiple(f"{d.one(*_NAMES)}({inner})")


_KINDS: Sequence[tuple[Callable[[random.Random, _Drawn], str], float]] = (
    (_single, 12),
    (_with_number, 16),
    (_two, 24),
    (_three, 8),
    (_of_two, 9),
    (_of_two_and_more, 6),
    (_monomial_times, 5),
    (_of_sum, 3),
    (_binomial_times, 3),
    (_geometric, 6),
    (_geometric_and_more, 3),
    (_quotient, 5),
    (_sum_over, 2),
    (_binomial_power, 2),
    (_inside, 3),
)
"""What an expression can be, and how often each is drawn."""
