"""Notations of numbers in digits: as in the lab's data, as people type them, and as another notation means them."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, ClassVar

from msgspec import Meta

from viz_transformer.given import Accepted
from viz_transformer.text.notation.reading import (
    INSIDE,
    LEARNED,
    LONGEST_TEXT,
    WRITTEN,
    Reading,
    Settings,
    words_and_signs,
)

_Large = Annotated[int, Accepted(lambda value: type(value) is int and 1 <= value <= 10**30, "whole, from 1 to 10**30")]
MINUS = "\N{MINUS SIGN}"
_BLANKS = " \N{NO-BREAK SPACE}\N{THIN SPACE}\N{NARROW NO-BREAK SPACE}"
_NUMBER = re.compile(
    rf"(?P<sign>[-+{MINUS}]?)(?P<whole>[0-9]{{1,3}}(?:,[0-9]{{3}})+|[0-9]{{1,3}}(?:[{_BLANKS}][0-9]{{3}})+|[0-9]*)"
    r"(?P<point>\.?)(?P<decimals>[0-9]*)"
)
_GROUPED = re.compile(r"-?(?:0|[1-9][0-9]{0,2}(?:,[0-9]{3})*)\.(?P<decimals>[0-9]+)")
_TYPED = re.compile(
    rf"[-+{MINUS}]?(?:0|[1-9][0-9]*|[1-9][0-9]{{0,2}}(?:,[0-9]{{3}})+)(?:\.[0-9]+)?"
    r"|0{1,3}(?:0|[1-9][0-9]*)(?:\.[0-9]+)?|\.[0-9]+"
)


@dataclass(frozen=True)
class _Number:
    """A number as typed: whole part without leading zeros ("0" if empty), and decimals."""

    negative: bool
    whole: str
    decimals: str
    grouped: bool

    def written(self, most_decimals: int, *, exactly: bool, grouped: bool) -> tuple[str, bool]:
        """The number with at most (or exactly) so many decimals, half away from zero, and whether it was rounded."""
        kept, cut = self.decimals[:most_decimals], self.decimals[most_decimals:]
        scaled = int(self.whole + kept)
        if cut >= "5":
            scaled += 1
        digits = str(scaled).rjust(len(kept) + 1, "0")
        whole, kept = digits[: len(digits) - len(kept)], digits[len(digits) - len(kept) :]
        kept = kept.ljust(most_decimals, "0") if exactly else kept
        whole = f"{int(whole):,}" if grouped else whole
        return f"{'-' * self.negative}{whole}{f'.{kept}' if kept else ''}", bool(cut.strip("0"))


def _parsed(text: str) -> _Number | None:
    """Parse any usual English notation of a number; None if it is not one."""
    found = _NUMBER.fullmatch(text)
    if found is None or not (found["whole"] or found["decimals"]):
        return None
    whole = "".join(character for character in found["whole"] if character.isdigit())
    grouped = len(whole) < len(found["whole"])
    if grouped and whole.startswith("0"):
        return None
    return _Number(found["sign"] in ("-", MINUS), whole.lstrip("0") or "0", found["decimals"], grouped)


def _count(n: int, noun: str) -> str:
    return f"{n:,} {noun}" + "s" * (n != 1)


_Judged = tuple[str, bool, tuple[str, bool]]
"""(too large, in notation, (rewritten, rounded)): how a number compares with a notation.

Too large is a sentence, or "" within the training range.
"""


def _reading(text: str, decimals: int, only: str, judged: Callable[[str, _Number], _Judged]) -> Reading:
    """Offer any usual English notation in the model's; excess decimals are rounded, with a remark."""
    typed = text.strip()
    if not typed:
        return INSIDE
    number = _parsed(typed) if len(typed) <= LONGEST_TEXT else None
    if number is None:
        return Reading(inside=False, said=f"This model learned numbers only, {only}.", read=False)
    beyond, own, (offered, rounded) = judged(typed, number)
    if own:
        return Reading(inside=False, said=beyond) if beyond else INSIDE
    lead = f"rounded to {_count(decimals, 'decimal')}" if rounded else WRITTEN if beyond else LEARNED
    return Reading(inside=False, offered=offered, lead=lead, said=beyond)


@dataclass(frozen=True, kw_only=True)
class Numbers(Settings):
    """Digit groups with commas, a fixed number of decimals, "-" for negatives, whole part up to `largest`.

    Raises ValueError for settings out of bounds.
    """

    kind: ClassVar[str] = "numbers"
    noun: ClassVar[str] = "numbers"
    decimals: Annotated[int, Meta(ge=1, le=20)]
    largest: _Large

    def words(self) -> str:
        return f"numbers {self._written()}, up to {self.largest:,}"

    def read(self, text: str) -> Reading:
        return _reading(text, self.decimals, self._written(), self._judged)

    def _judged(self, typed: str, number: _Number) -> _Judged:
        beyond = f"The numbers that this model learned go up to {self.largest:,}." * (int(number.whole) > self.largest)
        form = _GROUPED.fullmatch(typed)
        own = form is not None and len(form["decimals"]) == self.decimals
        return beyond, own, number.written(self.decimals, exactly=True, grouped=True)

    def strange(self, text: str) -> tuple[str, ...]:
        return words_and_signs(text, "0123456789,.-")

    def _written(self) -> str:
        return f"written as 1,984.{'0' * self.decimals}"


@dataclass(frozen=True, kw_only=True)
class TypedNumbers(Settings):
    """The usual English notations: up to `digits` digits, plain or grouped with commas, and up to `decimals` decimals.

    A "+", "-" or minus sign may precede; unsigned numbers may have up to three leading zeros, or nothing before the
    point. Raises ValueError for settings out of bounds.
    """

    kind: ClassVar[str] = "typed-numbers"
    noun: ClassVar[str] = "numbers"
    digits: Annotated[int, Meta(ge=1, le=30)]
    decimals: Annotated[int, Meta(ge=1, le=20)]

    def words(self) -> str:
        digits, decimals = _count(self.digits, "digit"), _count(self.decimals, "decimal")
        return f"numbers in the usual English notations, at most {digits} before the point and {decimals}"

    def read(self, text: str) -> Reading:
        return _reading(text, self.decimals, "in digits: 1984, 1,984.5 or -0.25", self._judged)

    def strange(self, text: str) -> tuple[str, ...]:
        return words_and_signs(text, f"0123456789,.-+{MINUS}")

    def _judged(self, typed: str, number: _Number) -> _Judged:
        before = _count(self.digits, "digit")
        beyond = f"This model learned numbers of at most {before} before the point." * (len(number.whole) > self.digits)
        own = bool(_TYPED.fullmatch(typed)) and len(number.decimals) <= self.decimals
        return beyond, own, number.written(self.decimals, exactly=False, grouped=number.grouped)


LONGEST_NEAREST = 40
"""A longer text is no number in another notation."""
MAX_DECIMALS = 6
_ROMAN = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100, "D": 500, "M": 1000}
_ROMAN_NUMERAL = re.compile("M{0,3}(CM|CD|D?C{0,3})(XC|XL|L?X{0,3})(IX|IV|V?I{0,3})")
_PLAIN_DIGITS = r"[0-9]+(?:\.[0-9]+)?|[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?"
_WITH_UNIT = re.compile(rf"(?P<sign>-?)[$€£]? ?(?P<sign_too>-?)(?P<number>{_PLAIN_DIGITS}) ?[%‰$€£°]?")
_POWER = re.compile(r"(?P<sign>-?)(?P<number>[0-9]+(?:\.[0-9]+)?)[eE](?P<exponent>[-+]?[0-9]{1,2})")
_FRACTION = re.compile(r"(?P<sign>-?)(?P<above>[0-9]{1,9})/(?P<below>[0-9]{1,9})")
_COMMA = re.compile(r"(?P<sign>-?)(?P<whole>[0-9]+|[0-9]{1,3}(?:\.[0-9]{3})+),(?P<decimals>[0-9]{1,6})")


def nearest_number(text: str) -> str | None:
    """The number without its unit; powers of ten, fractions, Roman numerals and decimal commas are converted.

    None for anything else, and if decimals would have to be rounded.
    """
    typed = text.strip().replace("\N{MINUS SIGN}", "-")
    if not typed or len(typed) > LONGEST_NEAREST:
        return None
    if (found := _WITH_UNIT.fullmatch(typed)) is not None:
        return f"{found['sign'] or found['sign_too']}{found['number']}"
    if (found := _POWER.fullmatch(typed)) is not None:
        return _decimal(Fraction(found["number"]) * Fraction(10) ** int(found["exponent"]), found["sign"])
    if (found := _FRACTION.fullmatch(typed)) is not None and int(found["below"]):
        return _decimal(Fraction(int(found["above"]), int(found["below"])), found["sign"])
    if (found := _COMMA.fullmatch(typed)) is not None:
        return f"{found['sign']}{found['whole'].replace('.', '')}.{found['decimals']}"
    if _ROMAN_NUMERAL.fullmatch(typed.upper()):
        return str(_roman(typed.upper()))
    return None


def _decimal(value: Fraction, sign: str) -> str | None:
    """The value in digits; None if it needs too many decimals."""
    scaled = value * 10**MAX_DECIMALS
    if scaled.denominator != 1:
        return None
    whole, decimals = divmod(int(scaled), 10**MAX_DECIMALS)
    written = f"{decimals:0{MAX_DECIMALS}}".rstrip("0")
    return f"{sign}{whole}{f'.{written}' if written else ''}"


def _roman(numeral: str) -> int:
    values = [_ROMAN[sign] for sign in numeral]
    return sum(-value if value < after else value for value, after in zip(values, [*values[1:], 0], strict=True))
