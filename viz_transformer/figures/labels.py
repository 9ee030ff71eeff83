"""Tokens as text on a figure: invisible characters made visible, nothing read as markup, never too long.

Numbers are written by `numerals`, signs by `text.visible`; both are here too, for what has tokens beside numbers.
"""

from __future__ import annotations

import html
import unicodedata
from collections.abc import Sequence

from viz_transformer.numerals import number as number
from viz_transformer.numerals import share as share
from viz_transformer.text.visible import SIGNS as SIGNS
from viz_transformer.text.visible import file_name as file_name
from viz_transformer.text.visible import sentence as sentence
from viz_transformer.text.visible import shorten as shorten
from viz_transformer.text.visible import visible as visible
from viz_transformer.text.visible import width as width

_OPEN, _CLOSE = "\u2068", "\u2069"  # first strong isolate: a right-to-left token cannot reorder the text around it


def isolate(text: str) -> str:
    """The text, isolated if it has right-to-left letters."""
    if any(unicodedata.bidirectional(c) in ("R", "AL", "AN") for c in text):
        return f"{_OPEN}{text}{_CLOSE}"
    return text


def tick(token: str, columns: int = 14) -> str:
    """The token as a tick label: visible, shortened, and escaped for plotly."""
    return escape(isolate(shorten(visible(token), columns)))


def escape(text: str) -> str:
    """The text so that plotly shows it as it is: it reads &, < and > as markup, and quotes as they are."""
    return html.escape(text, quote=False)


def unknown_sentence(hidden: Sequence[tuple[str, str]]) -> str | None:
    """A sentence on the words that a model does not see, from `hidden_texts`; None if it sees all of them."""
    if not hidden:
        return None
    different = list(dict.fromkeys(visible(text) for _, text in hidden))
    shown = ", ".join(different[:8]) + (", ..." if len(different) > 8 else "")
    count = "1 token is" if len(hidden) == 1 else f"{len(hidden):,} tokens are"
    return f"{count} not in the vocabulary, the model reads {hidden[0][0]} instead: {shown}"


def duration(seconds: float) -> str:
    """A time in its two largest units: "3 h 5 min", "37 min", "1 min 20 s", "8.5 s"; minutes alone from ten on."""
    if seconds < 59.5:
        return f"{seconds:.1f} s" if seconds < 9.95 else f"{seconds:.0f} s"
    whole = round(seconds) if seconds < 600 else 60 * round(seconds / 60)
    hours, minutes, rest = whole // 3600, whole % 3600 // 60, whole % 60
    parts = ((hours, "h"), (minutes, "min"), (rest, "s"))
    return " ".join(f"{count} {unit}" for count, unit in parts if count)
