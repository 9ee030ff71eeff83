"""Sentences and tables on a page, in which a person's text stands as text and is never read as markup."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from typing import Literal

import streamlit as st

Tone = Literal["plain", "bad", "warning", "ok"]
_ICONS = {"plain": "", "bad": "✕", "warning": "!", "ok": "✓"}


def paragraph(text: str, *, style: str = "vt-note", tone: Tone = "plain", lead: str = "") -> None:
    """One paragraph; a tone other than plain has its icon in front, so that no meaning hangs on colour alone.

    `lead` is text that comes first, in the muted colour.
    """
    icon = f'<span class="vt-icon" aria-hidden="true">{_ICONS[tone]}</span>' if _ICONS[tone] else ""
    role = ' role="status"' if tone == "bad" else ""
    first = f'<span class="vt-lead">{html.escape(lead)}</span>' if lead else ""
    st.html(f'<p class="{style} vt-{tone}"{role}>{icon}{first}{html.escape(text)}</p>')


def section(title: str) -> None:
    """A heading inside a page."""
    st.html(f'<h3 class="vt-section">{html.escape(title)}</h3>')


def explained(how: str, not_to_conclude: str) -> None:
    """The two short paragraphs that every page has."""
    st.html(
        f'<div class="vt-explained"><h2>How to read it</h2><p>{html.escape(how)}</p>'
        f"<h2>What not to conclude</h2><p>{html.escape(not_to_conclude)}</p></div>"
    )


def definitions(rows: Sequence[tuple[str, str]], *, mono: bool = True) -> None:
    """Names and values as a quiet two-column table."""
    body = "".join(f"<tr><th>{html.escape(name)}</th><td>{html.escape(value)}</td></tr>" for name, value in rows)
    st.html(f'<table class="vt-definitions{" vt-mono" if mono else ""}">{body}</table>')


def literal(text: str) -> str:
    """The text so that a widget's label shows it as it is: Streamlit reads labels as Markdown.

    A backslash stops Markdown, the word joiner behind it, which has no width, what is read later: emoji, arrows.
    """
    return re.sub(r"([!-/:-@\[-`{-~])", "\\\\\\1\u2060", text)
