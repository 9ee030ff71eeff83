"""Displayable text: symbols for invisible characters, one line, limited length; and file names."""

from __future__ import annotations

import re
import unicodedata

from viz_transformer.text.graphemes import graphemes

SIGNS = {" ": "␣", "\n": "↵", "\r": "↵", "\t": "⇥"}
JOINERS = {"\u200c", "\u200d"}


def visible(token: str) -> str:
    """The token with symbols for white space and code points for invisible characters; plain text on one line."""
    if len(token) > 1 and token.isprintable():  # nearly all: a vocabulary may have hundreds of thousands
        return token.replace(" ", SIGNS[" "])
    return "".join(_sign(c, alone=len(token) == 1) for c in token) or "(empty)"


def sentence(text: str) -> str:
    """A text of several words on one line, with spaces kept and the rest as in `visible`."""
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
        return chr(0x2400 + ord(c))  # pictures of control characters
    if category in ("Cc", "Cn", "Co") or (category == "Cf" and (alone or c not in JOINERS)):
        return f"U+{ord(c):04X}"
    return "\N{DOTTED CIRCLE}" + c if alone and category.startswith("M") else c


def width(text: str) -> int:
    """Columns in a fixed-width font: wide characters count two, marks and joiners none."""
    return sum(_columns(c) for c in text)


def _columns(c: str) -> int:
    if unicodedata.category(c) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(c) in ("W", "F") else 1


def shorten(text: str, columns: int) -> str:
    """The text in at most `columns` columns, with an ellipsis if cut; clusters are not split."""
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
    """A file name made of these words."""
    return "-".join(filter(None, (re.sub(r"[^A-Za-z0-9]+", "-", part).strip("-").lower() for part in parts)))[:120]
