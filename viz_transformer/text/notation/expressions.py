"""Expressions of x."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from string import ascii_lowercase
from typing import ClassVar

from viz_transformer.sentences import quoted
from viz_transformer.text.notation.reading import (
    INSIDE,
    LEARNED,
    LONGEST_TEXT,
    WRITTEN,
    Reading,
    Settings,
    check_characters,
    check_count,
    words_and_signs,
)
from viz_transformer.text.notation.rewriting import VARIABLE, UnclearError, rewritten

_SYMBOLS = "".join(letter for letter in ascii_lowercase if letter not in (VARIABLE, "e"))
_MAX_FUNCTIONS, _LONGEST_NAME = 40, 10


@dataclass(frozen=True, kw_only=True)
class Expressions(Settings):
    """Functions with parentheses, `*`, `**`, whole numbers up to `largest`, x, and one-letter symbols for constants.

    plain: whether x may stand alone, as in sin(x) and x**2; else it stood only inside functions, times a symbol.
    Raises ValueError for settings out of bounds.
    """

    kind: ClassVar[str] = "expressions"
    noun: ClassVar[str] = "expressions"
    functions: tuple[str, ...]
    symbols: str
    largest: int
    plain: bool

    def __post_init__(self) -> None:
        names = self.functions
        fits = isinstance(names, list | tuple) and 0 < len(names) <= _MAX_FUNCTIONS
        if not fits or not all(_is_name(name) for name in names) or len({*names}) < len(names):
            raise ValueError(
                f"the card's notation has functions={quoted(names)}: they have to be 1 to {_MAX_FUNCTIONS} different"
                f" names of 2 to {_LONGEST_NAME} lower-case letters"
            )
        object.__setattr__(self, "functions", tuple(names))
        check_characters("symbols", self.symbols, _SYMBOLS)
        check_count("largest", self.largest, 1, 10**12)
        if not isinstance(self.plain, bool):
            raise ValueError(f"the card's notation has plain={quoted(self.plain)}: it has to be true or false")

    def words(self) -> str:
        said = f"expressions of {VARIABLE} with {', '.join(self.functions)}, the constants {', '.join(self.symbols)}"
        where = "" if self.plain else f"; {VARIABLE} only inside functions and times a constant"
        return f"{said} and whole numbers up to {self.largest:,}{where}"

    def read(self, text: str) -> Reading:
        """What people leave out is written out; where x has to have a symbol, an expression with one is offered."""
        if not text.strip():
            return INSIDE
        try:
            if len(text) > LONGEST_TEXT:
                raise UnclearError
            tokens = rewritten(text, self.functions, self.symbols)
        except UnclearError:
            return Reading(inside=False, said=self._names(), read=False)
        said, written = self._not_learned(tokens), "".join(tokens)
        if written != "".join(text.split()):
            return Reading(inside=False, offered=written, lead=WRITTEN if said else LEARNED, said=said)
        if not said:
            return INSIDE
        symbol = next((symbol for symbol in self.symbols if symbol not in tokens), None)
        general = [] if self.plain or symbol is None else self._with_symbol(tokens, symbol)
        if not general or self._not_learned(general):
            return Reading(inside=False, said=said)
        said = f"{said} With {symbol} = 1 that is what was typed."
        return Reading(inside=False, offered="".join(general), lead=f"with a constant, {LEARNED}", said=said)

    def strange(self, text: str) -> tuple[str, ...]:
        known = {VARIABLE, *self.functions, *self.symbols}
        parts = words_and_signs(text, "0123456789+-*/()")
        return tuple(part for part in parts if part not in known)

    def _names(self) -> str:
        return (
            f"This model learned expressions of {VARIABLE} with the functions {', '.join(self.functions)}, the"
            f" constants {', '.join(self.symbols)}, whole numbers and + - * / ** ( )."
        )

    def _not_learned(self, tokens: Sequence[str]) -> str:
        """What of an expression with all its signs was not in training, as a sentence; "" for none."""
        if any(token.isdigit() and int(token) > self.largest for token in tokens):
            return f"The whole numbers that this model learned in expressions go up to {self.largest:,}."
        if not self.plain and not self._always_with_symbol(tokens):
            function = next((token for token in tokens if token in self.functions), self.functions[0])
            example = f"{function}({self.symbols[0]}*{VARIABLE})"
            return f"This model learned {VARIABLE} only inside functions and times a constant: {example}."
        return ""

    def _always_with_symbol(self, tokens: Sequence[str]) -> bool:
        """Whether each x stands in a function of products and sums alone, times a symbol; there has to be one."""
        inside: list[bool] = []  # for each parenthesis that is open, whether it or one around it is a function's
        for place, token in enumerate(tokens):
            in_function = bool(inside) and inside[-1]
            if token == "(":
                inside.append(in_function or (place > 0 and tokens[place - 1] in self.functions))
            elif token == ")":
                inside.pop()
            elif token == VARIABLE:
                if not in_function or not self._is_scaled(tokens, place):
                    return False
            elif in_function and token in ("/", "**", *self.functions):
                return False
        return VARIABLE in tokens

    def _is_scaled(self, tokens: Sequence[str], place: int) -> bool:
        """Whether the x at this place is multiplied by a symbol or by something in parentheses."""
        if tokens[place + 1 : place + 2] == ["*"] and tokens[place + 2] in ("(", *self.symbols):
            return True
        while place >= 2 and tokens[place - 1] == "*":
            place -= 2
            if tokens[place] in (")", *self.symbols):
                return True
            if not tokens[place].isdigit():
                return False
        return False

    def _with_symbol(self, tokens: Sequence[str], symbol: str) -> list[str]:
        """The expression with each x that has no symbol times this one."""
        found: list[str] = []
        for place, token in enumerate(tokens):
            bare = token == VARIABLE and not self._is_scaled(tokens, place)
            found += [symbol, "*", token] if bare else [token]
        return found


def _is_name(name: object) -> bool:
    return isinstance(name, str) and 2 <= len(name) <= _LONGEST_NAME and {*name} <= {*ascii_lowercase}
