"""Parses mathematical expressions of the series tasks into trees, without evaluating anything.

Sums of rationals, names, `+ - * / **`, parentheses and functions, optionally ending in `O(x**6)`; precedence as in
Python, integer exponents. Each limit bounds the work after it; no honest text reaches one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from viz_transformer.text.token_reader import TokenReader

FUNCTIONS = ("exp", "sin", "cos", "tan", "sinh", "cosh", "tanh")
MAX_CHARACTERS = 2_000
MAX_NAMES = 20
MAX_DIGITS = 30
MAX_NESTING = 40
MAX_EXPONENT = 100


class ExpressionError(ValueError):
    """What is wrong with a text, as a clause that follows its name: `divides by zero`."""


class UnexpectedError(ExpressionError):
    """An unexpected token. clause: what was expected. advice: what to write, if clear."""

    def __init__(self, wanted: str, tokens: Sequence[str], place: int) -> None:
        token = _short(tokens[place])
        super().__init__(f"has “{token}” where {wanted} is expected")
        self.clause = f"expected {wanted} before “{token}”"
        before = tokens[place - 1] if place else ""
        self.advice = f" Write {before}({token})." if before in FUNCTIONS and tokens[place].isalnum() else ""


@dataclass(frozen=True)
class Number:
    value: int


@dataclass(frozen=True)
class Name:
    name: str


@dataclass(frozen=True)
class Call:
    function: str
    argument: Tree


@dataclass(frozen=True)
class Power:
    base: Tree
    exponent: int


@dataclass(frozen=True)
class Product:
    """Factors as written, each with whether it divides."""

    factors: tuple[tuple[bool, Tree], ...]


@dataclass(frozen=True)
class Sum:
    """Terms as written, each with whether it is subtracted; a single term is a negative one."""

    terms: tuple[tuple[bool, Tree], ...]


@dataclass(frozen=True)
class Order:
    variable: str
    power: int

    def __str__(self) -> str:
        return f"O({self.variable}**{self.power})" if self.power != 1 else f"O({self.variable})"


Tree = Number | Name | Call | Power | Product | Sum | Order


@dataclass(frozen=True)
class Expression:
    """A parsed text: tree, names, functions in order of occurrence, and O term."""

    tree: Tree
    names: frozenset[str]
    functions: tuple[str, ...]
    order: Order | None


def parse(text: str) -> Expression:
    """Parse a text in its written order. Raises ExpressionError if it is not such an expression."""
    tokens = _tokens(text)
    words = [token for token in tokens if token.isalpha()]
    names = frozenset(words) - {"O", *FUNCTIONS}
    if len(names) > MAX_NAMES:
        raise ExpressionError(f"has more than {MAX_NAMES} names")
    reader = _Reader(tokens)
    tree = reader.whole_text()
    return Expression(tree, names, tuple(word for word in words if word in FUNCTIONS), reader.order)


_TOKEN = re.compile(r"\s*(\*\*|[-+*/()]|[0-9]+|[A-Za-z]+)")


def _tokens(text: str) -> list[str]:
    """Names, numbers and symbols of a text."""
    text = text.strip()
    if len(text) > MAX_CHARACTERS:
        raise ExpressionError(f"has more than {MAX_CHARACTERS:,} characters")
    if not text:
        raise ExpressionError("is empty")
    tokens, end = [], 0
    while end < len(text):
        match = _TOKEN.match(text, end)
        if match is None:
            raise ExpressionError(f"has {_quoted(text[end:].strip()[0])}, which is not a sign of an expression")
        tokens.append(match[1])
        end = match.end()
    return tokens


def _quoted(token: str) -> str:
    return f"“{token}”" if token.isprintable() else f"the character U+{ord(token):04X}"


class _Reader(TokenReader):
    """A recursive-descent parser; precedence as in Python."""

    order: Order | None = None

    def whole_text(self) -> Tree:
        tree = self._sum()
        if self.next:
            raise self._unexpected("a sign")
        return tree

    def _unexpected(self, wanted: str) -> ExpressionError:
        if not self.next:
            return ExpressionError(f"ends where {wanted} should follow")
        return UnexpectedError(wanted, self.tokens, self.place)

    def _sum(self) -> Tree:
        sign = self.take("+", "-")
        terms = []
        while True:
            terms.append((sign == "-", self._order() if self.take("O") else self._product()))
            sign = self.take("+", "-")
            if sign is None:
                return terms[0][1] if len(terms) == 1 and not terms[0][0] else Sum(tuple(terms))

    def _order(self) -> Order:
        """Parse `(x**6)` after an O."""
        if self.depth or self.order:
            raise ExpressionError("has an O term inside another term" if self.depth else "has two O terms")
        self._parenthesis("(")
        variable = self._name()
        if variable is None:
            raise self._unexpected("a name")
        power = self._exponent() if self.take("**") else 1
        if power < 1:
            raise ExpressionError("has an O term with a power below 1")
        self._parenthesis(")")
        self.order = Order(variable, power)
        return self.order

    def _name(self) -> str | None:
        return self.take(self.next) if self.next.isalpha() and self.next not in ("O", *FUNCTIONS) else None

    def _parenthesis(self, sign: str) -> None:
        if self.take(sign) is None:
            raise self._unexpected(f"“{sign}”")

    def _product(self) -> Tree:
        factors = [(False, self._factor())]
        while (sign := self.take("*", "/")) is not None:
            factors.append((sign == "/", self._factor()))
        return factors[0][1] if len(factors) == 1 else Product(tuple(factors))

    def _factor(self) -> Tree:
        self.depth += 1
        if self.depth > MAX_NESTING:
            raise ExpressionError(f"is nested more than {MAX_NESTING} deep")
        if (sign := self.take("+", "-")) is not None:
            tree = self._factor()
            tree = Sum(((True, tree),)) if sign == "-" else tree
        else:
            tree = self._atom()
            tree = Power(tree, self._exponent()) if self.take("**") else tree
        self.depth -= 1
        return tree

    def _exponent(self) -> int:
        tree = self._factor()
        try:
            exponent = _number(tree)
        except ArithmeticError:
            exponent = None
        if exponent is None or exponent.denominator != 1 or abs(exponent) > MAX_EXPONENT:
            raise ExpressionError(f"has an exponent that is not a whole number from -{MAX_EXPONENT} to {MAX_EXPONENT}")
        return int(exponent)

    def _atom(self) -> Tree:
        token = self.next
        if token.isdigit():
            if len(token) > MAX_DIGITS:
                raise ExpressionError(f"has a number of more than {MAX_DIGITS} digits")
            self.place += 1
            return Number(int(token))
        if (name := self._name()) is not None:
            return Name(name)
        function = self.take(*FUNCTIONS)
        if function is None and token != "(":
            if token == "O":
                raise ExpressionError("has an O term inside another term")
            raise self._unexpected("a number, a name or a parenthesis")
        self._parenthesis("(")
        tree = self._sum()
        self._parenthesis(")")
        return tree if function is None else Call(function, tree)


def _short(token: str) -> str:
    return token if len(token) <= 12 else f"{token[:12]}…"


def _number(tree: Tree) -> Fraction:
    """The number that a tree represents. Raises ArithmeticError for names, division by zero, and large numbers."""
    match tree:
        case Number(value):
            found = Fraction(value)
        case Power(base, exponent):
            found = _number(base) ** exponent
        case Product(factors):
            found = Fraction(1)
            for divides, factor in factors:
                number = _number(factor)
                found = found / number if divides else found * number
        case Sum(terms):
            found = Fraction(0)
            for negative, term in terms:
                number = _number(term)
                found = found - number if negative else found + number
        case _:
            raise ArithmeticError
    if max(abs(found.numerator), found.denominator) >= 10**MAX_DIGITS:
        raise ArithmeticError
    return found
