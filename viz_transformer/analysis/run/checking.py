"""Whether an answer is right, by a rule that knows nothing of the model: numbers in English words, and copies.

The words of numbers are this file's own rule; tests hold it against num2words and the test pairs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from viz_transformer.sentences import shorten

_UP_TO_19 = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen"
    " eighteen nineteen"
).split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
_GROUPS = ("", *"thousand million billion trillion quadrillion quintillion sextillion septillion octillion".split())
_NUMBER = re.compile(
    "(?P<sign>[-+\N{MINUS SIGN}]?)(?P<whole>[0-9]{1,3}(?:,[0-9]{3})+|[0-9]*)(?:\\.(?P<decimals>[0-9]*))?", re.ASCII
)
MAX_SHOWN = 120
"""Characters of a text in a sentence."""


@dataclass(frozen=True)
class Checked:
    """Whether an answer is right, and a sentence that says so; `wanted` is the right answer, "" if it is not known."""

    kind: Literal["right", "wrong", "unread"]
    sentence: str
    wanted: str = ""


def number_words(text: str) -> str:
    """A number in digits in English words: British "and", commas between groups, hyphens; a minus is always spoken,
    zeros at the end of the decimals never. Raises ValueError for what is not a number in digits."""
    found = _NUMBER.fullmatch(text.strip())
    if found is None or not (found["whole"] or found["decimals"]):
        raise ValueError(f"“{shorten(text.strip(), MAX_SHOWN)}” is not a number in digits")
    whole = found["whole"].replace(",", "").lstrip("0")
    if len(whole) > 3 * len(_GROUPS):
        raise ValueError(f"the number has more than {3 * len(_GROUPS)} digits")
    said = ["minus"] if found["sign"] in ("-", "\N{MINUS SIGN}") else []
    said.append(_spell_whole(whole))
    if decimals := (found["decimals"] or "").rstrip("0"):
        said += ["point", *(_UP_TO_19[int(digit)] for digit in decimals)]
    return " ".join(said)


def _spell_whole(digits: str) -> str:
    """Digits without leading zeros: groups of three, the last one after "and" where it is below a hundred."""
    if not digits:
        return _UP_TO_19[0]
    padded = digits.zfill(-(-len(digits) // 3) * 3)
    groups = [int(padded[at : at + 3]) for at in range(0, len(padded), 3)]
    names = _GROUPS[: len(groups)][::-1]
    said = ""
    for value, name in zip(groups, names, strict=True):
        if value:
            joint = "" if not said else " and " if not name and value < 100 else ", "
            said += joint + " ".join(filter(None, (_spell_below_thousand(value), name)))
    return said


def _spell_below_thousand(value: int) -> str:
    hundreds, rest = divmod(value, 100)
    said = [f"{_UP_TO_19[hundreds]} hundred"] if hundreds else []
    if rest:
        tens, ones = divmod(rest, 10)
        word = _UP_TO_19[rest] if rest < 20 else "-".join([_TENS[tens - 2], *([_UP_TO_19[ones]] if ones else [])])
        said.append(word)
    return " and ".join(said)


def _copy_text(text: str) -> str:
    return text


RULES: Mapping[str, tuple[Callable[[str], str], str]] = {
    "numbers": (number_words, "the number in words"),
    "copy": (_copy_text, "the same letters"),
}
"""By kind of task: the rule that gives the right answer to a text, and a phrase for that answer."""


def check_answer(rule: str, text: str, answer: str) -> Checked:
    """The check of an answer by one of the `RULES`; blanks at the ends and around punctuation do not count."""
    right, called = RULES[rule]
    try:
        wanted = right(text)
    except ValueError as error:
        return Checked("unread", f"Not checked: {error}.")
    if _strip_blanks(wanted) == _strip_blanks(answer):
        return Checked("right", f"Right: {called}, by a rule that does not know the model.", wanted)
    return Checked("wrong", f"Wrong: it should be “{shorten(wanted, MAX_SHOWN)}”.", wanted)


def _strip_blanks(text: str) -> str:
    """The text without blanks at its ends and around punctuation."""
    return re.sub(r"\s*([-,])\s*", r"\1", " ".join(text.split()))
