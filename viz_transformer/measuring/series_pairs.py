"""Generates expressions as people type them, with Taylor series up to x**6, identically on every machine."""

from __future__ import annotations

import random
import re
import zlib
from collections.abc import Callable, Sequence
from functools import lru_cache

from viz_transformer.declared import at_most
from viz_transformer.measuring.expression_trees import FUNCTIONS
from viz_transformer.measuring.power_series import series_of, symbols_of

SYMBOLS = "abcdfg"
SIDES = ("train", "test")
MAX_SOURCE, MAX_TARGET = 40, 100
"""Tokens."""
MOST = 100_000
MAX_DIGITS = 5
"""Maximum digits of a number in a series."""
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
"""60 expressions that a textbook expands first. Neither they nor others with the same series are trained on."""


def key_of(text: str) -> str:
    """Key shared by all expressions with one series: the series with constants numbered alphabetically."""
    return series_of(renamed(text, SYMBOLS))


def renamed(text: str, names: Sequence[str]) -> str:
    """The expression with its constants renamed, in order, to the first of `names`."""
    names_of = dict(zip(symbols_of(text), names, strict=False))
    return re.sub(r"\b[a-z]\b", lambda found: names_of.get(found[0], found[0]), text)


def typed_expressions(source: random.Random, n: int, *, side: str) -> list[str]:
    """n distinct expressions of this side, of all kinds, with random names for constants.

    Raises ValueError for more than MOST, which would take minutes.
    """
    at_most(n, MOST, "{} expressions with their series are too many", "made")
    texts: list[str] = []
    seen: set[str] = set()
    kinds, weights = zip(*_KINDS, strict=True)
    while len(texts) < n:
        (kind,) = source.choices(kinds, weights)
        text = kind(_Drawn(source, constants=source.random() < WITH_CONSTANTS))
        names = sorted(source.sample(SYMBOLS, 3))
        if text in seen:
            continue
        seen.add(text)
        if side_of(text) == side:
            texts.append(renamed(text, names))
    return texts


def side_of(text: str) -> str | None:
    """The side of an expression, however written: "test" for one in twenty series, else "train".

    None for the textbook's series, for what is too long, and without a series in x.
    """
    try:
        series = key_of(text)
    except ZeroDivisionError:
        return None
    if "x" not in series[: -len("+O(x**6)")] or series in _textbook_keys():
        return None
    if any(len(number) > MAX_DIGITS for number in re.findall("[0-9]+", series)):
        return None
    if _tokens(text) > MAX_SOURCE or _tokens(series) > MAX_TARGET:
        return None
    return "train" if zlib.crc32(series.encode()) % 20 else "test"


@lru_cache(maxsize=1)
def _textbook_keys() -> frozenset[str]:
    return frozenset(map(key_of, TEXTBOOK))


def textbook(source: random.Random, n: int) -> list[str]:
    """The first n of TEXTBOOK."""
    return list(TEXTBOOK[:n])


def _tokens(text: str) -> int:
    return len(re.findall(r"O\(x\*\*6\)|\*\*|[0-9]|[A-Za-z]+|[^\sA-Za-z0-9]", text))


WITH_CONSTANTS = 0.25
"""Share of expressions with constants besides numbers."""
_NUMBERS = range(1, 7)
_OFTEN = (16, 6, 4, 2, 2, 1)


class _Drawn:
    """Draws the parts of an expression at random, small numbers most often."""

    def __init__(self, source: random.Random, *, constants: bool) -> None:
        self.source, self.constants = source, constants

    def one(self, *of: str) -> str:
        """A uniform choice."""
        return self.source.choice(of)

    def number(self) -> int:
        """A number from 1 to 6."""
        return self.source.choices(_NUMBERS, _OFTEN)[0]

    def multiple(self, of: str) -> str:
        """The text alone, with a number or constant in front, or over a small number."""
        if self.constants and self.source.random() < 0.6:
            of = f"{self.one('a', 'a', 'b')}*{of}"
        number, chance = self.number(), self.source.random()
        if number == 1:
            return of
        return f"{of}/{number}" if chance < 0.2 and number < 5 else f"{number}*{of}"

    def argument(self) -> str:
        """Argument of a function: usually a multiple of x."""
        sign = "-" if self.source.random() < 0.15 else ""
        return sign + self.multiple("x" if self.source.random() < 0.95 else "x**2")

    def monomial(self) -> str:
        """A multiple of a power of x, or a number."""
        if self.source.random() < 0.4:
            return "a" if self.constants and self.source.random() < 0.3 else str(self.number())
        return self.multiple(self.one("x", "x", "x**2", "x**3"))

    def function(self) -> str:
        """A function of a multiple of x."""
        return f"{self.one(*FUNCTIONS)}({self.argument()})"

    def factor(self) -> str:
        """A function, or its square or cube."""
        return self.function() + (self.one("**2", "**2", "**3") if self.source.random() < 0.15 else "")

    def term(self) -> str:
        """A function, possibly with a number or a power of x in front."""
        chance = self.source.random()
        factor = self.factor()
        if chance < 0.15:
            return f"{self.one('x', 'x', 'x**2', 'x**3')}*{factor}"
        return self.multiple(factor) if chance < 0.5 else factor

    def sign(self) -> str:
        return self.one("+", "+", "-")

    def mixed(self, *parts: str, by: str = "++-") -> str:
        """The parts in random order, joined by random signs."""
        shuffled = [*parts]
        self.source.shuffle(shuffled)
        return (self.one(*by) if len(by) > 1 else by).join(shuffled)

    def two(self) -> str:
        """Sum of two terms."""
        return self.one("", "", "", "", "-") + self.term() + self.sign() + self.term()

    def product(self) -> str:
        """Product of two functions."""
        return self.multiple(f"{self.factor()}*{self.function()}")

    def binomial(self) -> str:
        """A binomial such as (1-2*x)."""
        return f"({self.number()}{self.sign()}{self.multiple('x')})"

    def geometric(self) -> str:
        """A quotient of polynomials such as 1/(1-x), x/(1+2*x), 2/(1-x)**2."""
        below = self.one("1", "1", "1", "2", "3") + self.one("+", "-")
        below += self.multiple(self.one("x", "x", "x", "x**2", "x**3"))
        above = self.one("1", "1", "x", str(self.number()), "x**2", f"(1{self.sign()}{self.multiple('x')})")
        return self.one("", "", "-") + f"{above}/({below})" + self.one("", "", "", "**2")

    def quotient(self) -> str:
        above = self.one("1", "1", "x", str(self.number()), self.function(), self.function())
        return self.multiple(f"{above}/{self.one('x', self.factor(), self.factor(), self.factor())}")

    def inside(self) -> str:
        """A function of a function or of a polynomial."""
        inner = self.one(
            f"{self.one('sin', 'tan', 'sinh', 'tanh')}({self.argument()})",
            f"{self.argument()}{self.sign()}{self.one('x**2', 'x**3')}",
            f"{self.one('', '-')}{self.multiple(self.one('x**2', 'x**3'))}",
        )
        return self.multiple(f"{self.one(*FUNCTIONS)}({inner})")


_KINDS: Sequence[tuple[Callable[[_Drawn], str], float]] = (
    (lambda d: d.one("", "", "", "-") + d.term(), 12),
    (lambda d: d.mixed(d.term(), d.monomial()), 16),
    (_Drawn.two, 24),
    (lambda d: d.two() + d.sign() + d.one(d.term(), d.monomial()), 8),
    (_Drawn.product, 9),
    (lambda d: d.mixed(d.product(), d.one(d.monomial(), d.term())), 6),
    (lambda d: d.multiple(d.mixed(d.one("x", "x**2", "x**3"), d.factor(), by="*")), 5),
    (
        lambda d: d.mixed(
            f"({d.one(d.term(), d.monomial())}{d.sign()}{d.function()})", d.one("x", "x**2", d.function()), by="*"
        ),
        3,
    ),
    (lambda d: d.mixed(d.binomial(), d.factor(), by="*"), 3),
    (_Drawn.geometric, 6),
    (lambda d: d.mixed(d.geometric().lstrip("-"), d.one(d.monomial(), d.term()), by="+-*"), 3),
    (_Drawn.quotient, 5),
    (lambda d: f"({d.one(d.function(), str(d.number()))}{d.sign()}{d.function()})/{d.one('x', '2', 'x**2', '3')}", 2),
    (lambda d: d.multiple(f"{d.binomial()}**{d.one('2', '3', '4', '5')}"), 2),
    (_Drawn.inside, 3),
)
"""Kinds of expressions with their weights."""
