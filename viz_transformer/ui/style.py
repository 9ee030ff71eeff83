"""The page's own CSS: the colours of `figures/theme.py` as variables, and the rules in `page.css`."""

from __future__ import annotations

from dataclasses import fields
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
    """The single colours as CSS variables; the browser takes the light or the dark one with the theme it shows."""
    names = [field.name for field in fields(theme.Palette) if isinstance(getattr(theme.LIGHT, field.name), str)]
    colors = [
        f"--vt-{name.replace('_', '-')}: light-dark({getattr(theme.LIGHT, name)}, {getattr(theme.DARK, name)});"
        for name in names
    ]
    return f".stApp {{ {' '.join(colors)} --vt-sans: {theme.SANS_STACK}; --vt-mono: {theme.MONO_STACK}; }}\n"
