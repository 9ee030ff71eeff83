"""Tokens as text that can be put on a figure: signs for what cannot be seen, nothing read as markup, never too long.

Numbers are written by `numerals`; `number` and `share` are here too, for what has tokens beside them.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Sequence

from viz_transformer.numerals import number as number
from viz_transformer.numerals import share as share
from viz_transformer.text.graphemes import graphemes

SIGNS = {" ": "␣", "\n": "↵", "\r": "↵", "\t": "⇥"}
_OPEN, _CLOSE = "\u2068", "\u2069"  # first strong isolate: a right-to-left token cannot reorder what stands around it
_JOINERS = {"\u200c", "\u200d"}


def visible(token: str) -> str:
    """The token with signs for white space and code points for what has no shape; never markup, never two lines."""
    if len(token) > 1 and token.isprintable():  # nearly all are: a vocabulary may have hundreds of thousands
        return token.replace(" ", SIGNS[" "])
    return "".join(_sign(c, alone=len(token) == 1) for c in token) or "(empty)"


def sentence(text: str) -> str:
    """A text of several words on one line: its blanks stay blanks, all else as in `visible`."""
    return " ".join(visible(word) if word else "" for word in text.split(" ")) or visible(text)


def _sign(c: str, *, alone: bool) -> str:
    if c in SIGNS:
        return SIGNS[c]
    category = unicodedata.category(c)
    if category == "Cs":
        return "\N{REPLACEMENT CHARACTER}"
    if category in ("Zs", "Zl", "Zp"):
        return "␣"
    if ord(c) < 32:
        return chr(0x2400 + ord(c))  # the pictures of the control characters
    if category in ("Cc", "Cn", "Co") or (category == "Cf" and (alone or c not in _JOINERS)):
        return f"U+{ord(c):04X}"
    return "\N{DOTTED CIRCLE}" + c if alone and category.startswith("M") else c


def width(text: str) -> int:
    """How many columns of a fixed-width font the text takes: wide characters two, marks and joiners none."""
    return sum(_columns(c) for c in text)


def _columns(c: str) -> int:
    if unicodedata.category(c) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(c) in ("W", "F") else 1


def shorten(text: str, columns: int) -> str:
    """The text, or its beginning and an ellipsis, in at most `columns` columns; a sign of several code points is kept
    or left out whole."""
    if width(text) <= columns:
        return text
    kept, used = "", 0
    for sign in graphemes(text):
        used += width(sign)
        if used > columns - 1:
            break
        kept += sign
    return kept.rstrip("".join(_JOINERS)) + "…"


def isolated(text: str) -> str:
    """The text, fenced off if it holds right-to-left letters."""
    if any(unicodedata.bidirectional(c) in ("R", "AL", "AN") for c in text):
        return f"{_OPEN}{text}{_CLOSE}"
    return text


def tick(token: str, columns: int = 14) -> str:
    """The token as a tick label: visible, shortened, and escaped for plotly."""
    return escape(isolated(shorten(visible(token), columns)))


def escape(text: str) -> str:
    """The text so that plotly shows it as it is: it reads &, < and > as markup, and quotes as they are."""
    return html.escape(text, quote=False)


def unknown_sentence(hidden: Sequence[tuple[str, str]]) -> str | None:
    """What a model does not see of its texts, of `hidden_texts`; None if it sees all of them."""
    if not hidden:
        return None
    different = list(dict.fromkeys(visible(text) for _, text in hidden))
    shown = ", ".join(different[:8]) + (", ..." if len(different) > 8 else "")
    count = "1 token is" if len(hidden) == 1 else f"{len(hidden):,} tokens are"
    return f"{count} not in the vocabulary, the model reads {hidden[0][0]} instead: {shown}"


def file_name(*parts: str) -> str:
    """Words as a name for a file."""
    return "-".join(filter(None, (re.sub(r"[^A-Za-z0-9]+", "-", part).strip("-").lower() for part in parts)))[:120]


def duration(seconds: float) -> str:
    """A time in its two largest units: "3 h 5 min", "37 min", "1 min 20 s", "8.5 s"; minutes alone from ten on."""
    if seconds < 59.5:
        return f"{seconds:.1f} s" if seconds < 9.95 else f"{seconds:.0f} s"
    whole = round(seconds) if seconds < 600 else 60 * round(seconds / 60)
    hours, minutes, rest = whole // 3600, whole % 3600 // 60, whole % 60
    parts = ((hours, "h"), (minutes, "min"), (rest, "s"))
    return " ".join(f"{count} {unit}" for count, unit in parts if count)
