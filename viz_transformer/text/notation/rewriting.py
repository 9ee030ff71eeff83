"""Rewrites typed expressions in full: functions with parentheses, `*` and `**`.

Nothing is evaluated: tokens are parsed with a small grammar.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from viz_transformer.text.token_reader import TokenReader

VARIABLE = "x"
EXPONENTIAL = "exp"
MAX_NESTING = 40

_POWERS = ("^", "**")
_TOKEN = re.compile(r"\*\*|[-+*/^()]|[0-9]+|[A-Za-z]+")
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")
_SIGNS = str.maketrans(
    {
        **dict.fromkeys("·×⋅∙", "*"),
        **dict.fromkeys("÷∕", "/"),
        **dict.fromkeys("−–", "-"),
        **dict.fromkeys("[{", "("),
        **dict.fromkeys("]}", ")"),
    }
)


class UnclearError(Exception):
    """The text is not an expression in these names, or is ambiguous."""


def rewrite(text: str, functions: Sequence[str], symbols: str) -> list[str]:
    """Tokens of the expression, with omitted symbols restored.

    `e^x` is exp(x), `x^2` x**2, `2x` 2*x, `sin x` sin(x), `sin^2 x` sin(x)**2. An argument without parentheses ends
    before the next operator or function. Raises UnclearError for other names, more than 40 levels of parentheses, and
    ambiguous input: `f(x)`, `e^2x`, `sin a*x`.
    """
    writer = _Writer(_tokens(text, functions, symbols), functions, symbols)
    found = writer.sum()
    if writer.next:
        raise UnclearError
    return found


def _tokens(text: str, functions: Sequence[str], symbols: str) -> list[str]:
    """Split into numbers, names and symbols; adjacent names are separated."""
    text = re.sub("[⁰¹²³⁴⁵⁶⁷⁸⁹]+", lambda found: f"^{found[0].translate(_SUPERSCRIPTS)} ", text).translate(_SIGNS)
    found: list[str] = []
    for piece in text.split():
        end = 0
        while end < len(piece):
            match = _TOKEN.match(piece, end)
            if match is None:
                raise UnclearError
            end = match.end()
            found += _names(match[0].lower(), functions, symbols) if match[0].isalpha() else [match[0]]
    return found


def _names(word: str, functions: Sequence[str], symbols: str) -> list[str]:
    """Split a word into names: "sinx" into sin, x; "ax" into a, x.

    Functions come first or after x ("asin" is not a product), and the last name is x or a function.
    """
    if word in functions or word in (VARIABLE, "e") or (len(word) == 1 and word in symbols):
        return [word]
    longest_first = sorted(functions, key=len, reverse=True)
    found: list[str] = []
    rest = word
    while rest:
        name = next((each for each in longest_first if rest.startswith(each)), rest[0])
        if name in functions:
            if found and found[-1] != VARIABLE:
                raise UnclearError
        elif name != VARIABLE and name not in symbols:
            raise UnclearError
        found.append(name)
        rest = rest[len(name) :]
    if found[-1] != VARIABLE and found[-1] not in functions:
        raise UnclearError
    return found


class _Writer(TokenReader):
    """A recursive-descent parser that writes out what it reads."""

    def __init__(self, tokens: Sequence[str], functions: Sequence[str], symbols: str) -> None:
        super().__init__(tokens)
        self.functions, self.symbols = functions, symbols

    def sum(self) -> list[str]:
        """Parse terms joined by + and -."""
        found = ["-"] if self.take("+", "-") == "-" else []
        found += self._product()
        while (sign := self.take("+", "-")) is not None:
            found += [sign, *self._product()]
        return found

    def _product(self) -> list[str]:
        """Parse factors joined by *, / or nothing."""
        found = self._factor()
        while True:
            if (sign := self.take("*", "/")) is not None:
                found += [sign, *self._factor()]
            elif self._follows_without_sign():
                found += ["*", *self._factor()]
            else:
                return found

    def _follows_without_sign(self) -> bool:
        """Whether another factor follows directly; raises UnclearError if that is ambiguous."""
        token = self.next
        if token in ("", *"+-*/^)", "**"):
            return False
        before = self.tokens[self.place - 1]
        if token.isdigit() or (token == "(" and before in (*self.symbols, "e")):  # 2 3, x2, f(x)
            raise UnclearError
        return True

    def _factor(self) -> list[str]:
        self.depth += 1
        if self.depth > MAX_NESTING:
            raise UnclearError
        if (sign := self.take("-", "+")) is not None:
            found = ["-"] * (sign == "-") + self._factor()
        elif self.next in self.functions:
            found = self._function()
        elif self.next == "e":
            found = self._exponential()
        else:
            found = self._atom()
            if self.take(*_POWERS):
                found += ["**", *self._factor()]
        self.depth -= 1
        return found

    def _atom(self) -> list[str]:
        """Parse a number, x, a constant or a parenthesised sum."""
        if self.take("("):
            return ["(", *self._to_the_end(), ")"]
        token = self.next
        if token.isdigit() or token == VARIABLE or token in [*self.symbols]:
            self.place += 1
            return [token]
        raise UnclearError

    def _to_the_end(self) -> list[str]:
        """Parse a sum and its closing parenthesis, which is dropped."""
        found = self.sum()
        if self.take(")") is None:
            raise UnclearError
        return found

    def _function(self) -> list[str]:
        """Parse a function of a parenthesised sum or of the following product, with a power on either side."""
        name = self.tokens[self.place]
        self.place += 1
        power: list[str] = []
        if self.take(*_POWERS):
            exponent = self.next
            if not exponent.isdigit():
                raise UnclearError
            self.place += 1
            power = ["**", exponent]
        found = [name, "(", *(self._to_the_end() if self.take("(") else self._bare_argument()), ")"]
        if self.take(*_POWERS):
            if power:
                raise UnclearError
            power = ["**", *self._factor()]
        return found + power

    def _bare_argument(self) -> list[str]:
        """Parse numbers, x and constants after a function, up to an operator or function."""
        found: list[str] = []
        while (token := self.next).isdigit() or token == VARIABLE or token in [*self.symbols]:
            if found and token.isdigit():
                raise UnclearError
            found += ["*"] * bool(found) + self._atom()
            if self.take(*_POWERS):
                found += ["**", *self._factor()]
        if not found or (VARIABLE not in found and self.next in ("*", "/", "(")):
            raise UnclearError
        return found

    def _exponential(self) -> list[str]:
        """Parse `e` with its exponent as exp."""
        if EXPONENTIAL not in self.functions:
            raise UnclearError
        self.place += 1
        if not self.take(*_POWERS):
            raise UnclearError
        in_parentheses = self.next == "("
        exponent = self._factor()
        if in_parentheses and _closes_at_the_end(exponent):
            exponent = exponent[1:-1]
        elif VARIABLE not in exponent and self._follows_without_sign():  # e^2x
            raise UnclearError
        return [EXPONENTIAL, "(", *exponent, ")"]


def _closes_at_the_end(tokens: Sequence[str]) -> bool:
    """Whether the first parenthesis is closed by the last token."""
    depth = 0
    for place, token in enumerate(tokens):
        depth += (token == "(") - (token == ")")
        if depth == 0:
            return place == len(tokens) - 1
    return False
