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
    """All colours as CSS variables, scales numbered; the browser takes the light or dark one of its theme."""
    colors = []
    for field in fields(theme.Palette):
        name, light, dark = (
            field.name.replace("_", "-"),
            getattr(theme.LIGHT, field.name),
            getattr(theme.DARK, field.name),
        )
        if isinstance(light, str):
            colors.append(f"--vt-{name}: light-dark({light}, {dark});")
        else:
            colors += [
                f"--vt-{name}-{i}: light-dark({a}, {b});" for i, (a, b) in enumerate(zip(light, dark, strict=True))
            ]
    return f".stApp {{ {' '.join(colors)} --vt-sans: {theme.SANS_STACK}; --vt-mono: {theme.MONO_STACK}; }}\n"
