"""The page's own CSS: the colours of `figures/theme.py` as variables, and the rules in `page.css`."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

import streamlit as st

from viz_transformer.figures import theme


def apply() -> None:
    """Give the page its colours and rules; to be called on every run, before anything is drawn."""
    st.html(f"<style>{_css()}</style>")


@cache
def _css() -> str:
    return variables() + files(__package__).joinpath("page.css").read_text(encoding="utf-8")


def variables() -> str:
    """All colours and fonts as CSS variables; the browser takes the light or dark one of its theme."""
    return f".stApp {{ {theme.css_variables()} }}\n"
