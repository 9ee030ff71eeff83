"""The app: its pages. Imports Streamlit and what a heading needs; the rest is imported when the heading is sent."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path

import streamlit as st

from viz_transformer.extensions import PAGES as ADDED
from viz_transformer.extensions import Broken, list_extensions, refuse_taken_name
from viz_transformer.ui.frame import opening

HERE = Path(__file__).parent
PAGES = {
    "RUN": {"Run": "run", "Decoding": "decoding"},
    "INSIDE": {
        "Input": "input",
        "Positions": "positions",
        "Attention": "attention",
        "One weight": "weight",
        "Layers": "layers",
        "Tensors": "tensors",
    },
    "TRY": {"Masks": "masks", "Playground": "playground"},
    "MODELS": {"Models": "models"},
}
"""The pages under their headings: the title of each and the name of its file. Each leads on to the next."""


def declare() -> None:
    """Make the fields of all pages known."""
    from viz_transformer.ui import pages  # noqa: F401

    if list_extensions(ADDED):
        from viz_transformer.ui.frame.page import list_extension_pages

        list_extension_pages()


def path(title: str) -> str:
    """Of a page that another package adds, in the address."""
    return f"extension-{re.sub('[^0-9a-z]+', '-', title.lower())}"


def show_extension(title: str, refused: Broken | None = None) -> None:
    """Draw such a page, or say why it is refused."""
    from viz_transformer.ui.frame.page import show_extension

    show_extension(title, refused)


files = {title: HERE / "pages" / f"{name}.py" for group in PAGES.values() for title, name in group.items()}
pages = {title: st.Page(file, title=title, default=title == "Run") for title, file in files.items()}
sections = {heading: [pages[title] for title in group] for heading, group in PAGES.items()}
added = [(each, None) if each not in files else refuse_taken_name(ADDED, each) for each in list_extensions(ADDED)]
if added:
    sections["EXTENSIONS"] = [
        st.Page(partial(show_extension, title, why), title=title, url_path=path(title)) for title, why in added
    ]
page = st.navigation(sections)
opening.show_page(page, declare, {**files, **{each.title: each for each in sections.get("EXTENSIONS", ())}})
