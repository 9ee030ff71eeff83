"""Notation of expressions in x."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from string import ascii_lowercase
from typing import Annotated, ClassVar

from msgspec import Meta

from viz_transformer.text.notation.reading import (
    INSIDE,
    LEARNED,
    LONGEST_TEXT,
    WRITTEN,
    Reading,
    Settings,
    find_repeated,
    words_and_signs,
)
from viz_transformer.text.notation.rewriting import VARIABLE, UnclearError, rewrite

_SYMBOLS = "".join(letter for letter in ascii_lowercase if letter not in (VARIABLE, "e"))
_Name = Annotated[str, Meta(pattern=r"\A[a-z]{2,10}\Z", description="a name of 2 to 10 lower-case letters")]


@dataclass(frozen=True, kw_only=True)
class Expressions(Settings):
    """Functions with parentheses, `*`, `**`, integers up to `largest`, x, and one-letter constants.

    plain: whether x may occur alone, as in sin(x) and x**2; otherwise only inside functions, multiplied by a constant.
    Raises ValueError for settings out of bounds.
    """

    kind: ClassVar[str] = "expressions"
    noun: ClassVar[str] = "expressions"
    functions: Annotated[tuple[_Name, ...], Meta(min_length=1, max_length=40)]
    symbols: Annotated[str, Meta(pattern=rf"\A[{_SYMBOLS}]+\Z", description=f"different ones of {_SYMBOLS}")]
    largest: Annotated[int, Meta(ge=1, le=10**12)]
    plain: bool

    def rules(self) -> Iterator[str]:
        yield from find_repeated("functions", self.functions)
        yield from find_repeated("symbols", self.symbols)

    def words(self) -> str:
        said = f"expressions of {VARIABLE} with {', '.join(self.functions)}, the constants {', '.join(self.symbols)}"
        where = "" if self.plain else f"; {VARIABLE} only inside functions and times a constant"
        return f"{said} and whole numbers up to {self.largest:,}{where}"

    def read(self, text: str) -> Reading:
        """Write out what people leave out; where x needs a constant, offer an expression with one."""
        if not text.strip():
            return INSIDE
        try:
            if len(text) > LONGEST_TEXT:
                raise UnclearError
            tokens = rewrite(text, self.functions, self.symbols)
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
        """A sentence on what in a complete expression was not in training; "" for nothing."""
        if any(token.isdigit() and int(token) > self.largest for token in tokens):
            return f"The whole numbers that this model learned in expressions go up to {self.largest:,}."
        if not self.plain and not self._always_with_symbol(tokens):
            function = next((token for token in tokens if token in self.functions), self.functions[0])
            example = f"{function}({self.symbols[0]}*{VARIABLE})"
            return f"This model learned {VARIABLE} only inside functions and times a constant: {example}."
        return ""

    def _always_with_symbol(self, tokens: Sequence[str]) -> bool:
        """Whether each x (at least one) is in a function of products and sums only, multiplied by a constant."""
        inside: list[bool] = []  # for each open parenthesis, whether it is inside a function call
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
        """Whether the x at this index is multiplied by a constant or by a parenthesis."""
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
        """The expression with each bare x multiplied by this constant."""
        found: list[str] = []
        for place, token in enumerate(tokens):
            bare = token == VARIABLE and not self._is_scaled(tokens, place)
            found += [symbol, "*", token] if bare else [token]
        return found
