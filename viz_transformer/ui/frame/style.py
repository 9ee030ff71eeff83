"""The page's own CSS: the colours of `figures/theme.py` as variables, and the rules of its style sheets."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

import streamlit as st

from viz_transformer.figures import theme

_at_first_paint = False


def at_first_paint() -> str:
    """Colours and rules as HTML for the page that a server sends, so that nothing is painted without them and moved
    when they come; from then on `apply` sends nothing."""
    global _at_first_paint
    _at_first_paint = True
    return f"<style>{_css()}</style>"


def apply() -> None:
    """Give the page its colours and rules; to be called on every run, before anything is drawn."""
    if not _at_first_paint:
        st.html(f"<style>{_css()}</style>")


def project() -> None:
    """The rules of a projector, on top of the others.

    They are not among the usual rules: those for what the whole page `:has` are matched again at each change, and these
    alone took a browser a tenth of its time while the number slider was dragged.
    """
    st.html(f"<style>@media screen {{ {_rules('projector.css')} }}</style>")


def dim() -> None:
    """The rules for a page that shows another run than the one that is asked for; sent only then, as a projector's."""
    st.html(f"<style>{_rules('stale.css')}</style>")


@cache
def _css() -> str:
    return variables() + _rules("page.css") + _rules("print.css")


@cache
def _rules(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def variables() -> str:
    """All colours and fonts as CSS variables; the browser takes the light or dark one of its theme."""
    return f".stApp {{ {theme.css_variables()} }}\n"
