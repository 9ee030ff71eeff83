"""Sentences and tables on a page, in which a person's text stands as text and is never read as markup."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

import streamlit as st

from viz_transformer.ui.frame import glossary, words

Tone = Literal["plain", "quiet", "bad", "warning", "ok"]
ICONS = {"plain": "", "quiet": "", "bad": "✕", "warning": "!", "ok": "✓"}


def paragraph(
    text: str, *, style: str = "vt-note", tone: Tone = "plain", lead: str = "", detail: str = "", screen: str = ""
) -> None:
    """One paragraph; a tone has its icon in front, so that no meaning hangs on colour alone; plain and quiet have none.

    `lead` is text that comes first, in the muted colour; `detail` is what a pointer over it is told; `screen`
    comes last and is not printed: it says what can be done here.
    """
    icon = f'<span class="vt-icon" aria-hidden="true">{ICONS[tone]}</span>' if ICONS[tone] else ""
    role = ' role="status"' if tone == "bad" else ""
    first = f'<span class="vt-lead">{html.escape(lead)}</span>' if lead else ""
    more = f' title="{html.escape(detail)}"' if detail else ""
    last = f'<span class="vt-screen">{html.escape(screen)}</span>' if screen else ""
    st.html(f'<p class="{style} vt-{tone}"{role}{more}>{icon}{first}{html.escape(text)}{last}</p>')


def section(title: str) -> None:
    """A heading inside a page."""
    st.html(f'<h3 class="vt-section">{html.escape(title)}</h3>')


def explain(how: str, not_to_conclude: str, *, terms: str = "") -> None:
    """The two short paragraphs that every page has; in the first, and in the line of `terms` below it, a newcomer's
    words are explained."""
    below = f"<p>{glossary.mark_terms(terms)}</p>" if terms else ""
    st.html(
        '<div class="vt-explained">'
        f'<div class="vt-screen"><h2>{words.HOW_TO_READ}</h2><p>{glossary.mark_terms(how)}</p>{below}</div>'
        f"<h2>{words.NOT_TO_CONCLUDE}</h2><p>{html.escape(not_to_conclude)}</p></div>"
    )


def definitions(rows: Sequence[tuple[str, str]], *, mono: bool = True) -> None:
    """Names and values as a quiet two-column table."""
    st.html(table(rows, style=f"vt-definitions{' vt-mono' if mono else ''}"))


class Html(str):
    """Markup that a table keeps as it is."""

    __slots__ = ()


def table(
    rows: Iterable[Sequence[str]],
    *,
    head: Sequence[str] = (),
    style: str,
    caption: str = "",
    foot: str = "",
    first: str = "th",
    attributes: Iterable[Mapping[str, str]] = (),
) -> Html:
    """A table. What is not `Html` is set as text; `foot` is whole rows.

    first: the tag of the first cell of each row; attributes: of each row, such as its class, and its title, which is
    said at the mouse; one that is "" is left out.
    """
    top = f"<thead><tr>{cells(head, 'th')}</tr></thead>" if head else ""
    body, of_rows = "", iter(attributes)
    for row in rows:
        said = (f' {name}="{html.escape(value)}"' for name, value in next(of_rows, {}).items() if value)
        body += f"<tr{''.join(said)}>{cells(row[:1], first)}{cells(row[1:])}</tr>"
    named = f"<caption>{html.escape(caption)}</caption>" if caption else ""
    below = f"<tfoot>{foot}</tfoot>" if foot else ""
    return Html(f'<table class="{style}">{named}{top}<tbody>{body}</tbody>{below}</table>')


def cells(values: Iterable[str], tag: str = "td") -> Html:
    """Cells of a table, side by side."""
    shown = (value if isinstance(value, Html) else html.escape(value) for value in values)
    return Html("".join(f"<{tag}>{each}</{tag}>" for each in shown))


def ladder(steps: Iterable[tuple[str, str, str]]) -> Html:
    """Steps side by side: of each its name, how it is computed, and large what comes out."""
    said = ""
    for number, step in enumerate(steps, 1):
        name, formula, value = map(html.escape, step)
        said += f"<div><span>{number} {name}</span><code>{formula}</code><b>{value}</b></div>"
    return Html(f'<div class="vt-ladder">{said}</div>')


def literal(text: str) -> str:
    """The text so that a widget's label shows it as it is: Streamlit reads labels as Markdown.

    A backslash stops Markdown, the word joiner after it, which has no width, what is read later: emoji, arrows.
    """
    return re.sub(r"([!-/:-@\[-`{-~])", "\\\\\\1\u2060", text)
