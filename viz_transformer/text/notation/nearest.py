"""Converts a number typed in another notation to plain digits."""

from __future__ import annotations

import re
from fractions import Fraction

LONGEST = 40
"""Maximum characters to inspect."""
MAX_DECIMALS = 6
_ROMAN = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100, "D": 500, "M": 1000}
_ROMAN_NUMERAL = re.compile("M{0,3}(CM|CD|D?C{0,3})(XC|XL|L?X{0,3})(IX|IV|V?I{0,3})")
_PLAIN = r"[0-9]+(?:\.[0-9]+)?|[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?"
_WITH_UNIT = re.compile(rf"(?P<sign>-?)[$€£]? ?(?P<sign_too>-?)(?P<number>{_PLAIN}) ?[%‰$€£°]?")
_POWER = re.compile(r"(?P<sign>-?)(?P<number>[0-9]+(?:\.[0-9]+)?)[eE](?P<exponent>[-+]?[0-9]{1,2})")
_FRACTION = re.compile(r"(?P<sign>-?)(?P<above>[0-9]{1,9})/(?P<below>[0-9]{1,9})")
_COMMA = re.compile(r"(?P<sign>-?)(?P<whole>[0-9]+|[0-9]{1,3}(?:\.[0-9]{3})+),(?P<decimals>[0-9]{1,6})")


def nearest_number(text: str) -> str | None:
    """The number without its unit; powers of ten, fractions, Roman numerals and decimal commas are converted.

    None for anything else, and if decimals would have to be rounded.
    """
    typed = text.strip().replace("\N{MINUS SIGN}", "-")
    if not typed or len(typed) > LONGEST:
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
