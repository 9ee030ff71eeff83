"""Text as it can be seen: signs for what has no shape, never two lines, never too long; and as the name of a file."""

from __future__ import annotations

import re
import unicodedata

from viz_transformer.text.graphemes import graphemes

SIGNS = {" ": "␣", "\n": "↵", "\r": "↵", "\t": "⇥"}
JOINERS = {"\u200c", "\u200d"}


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
    if category in ("Cc", "Cn", "Co") or (category == "Cf" and (alone or c not in JOINERS)):
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
    return kept.rstrip("".join(JOINERS)) + "…"


def file_name(*parts: str) -> str:
    """Words as a name for a file."""
    return "-".join(filter(None, (re.sub(r"[^A-Za-z0-9]+", "-", part).strip("-").lower() for part in parts)))[:120]
