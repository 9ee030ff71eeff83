"""The app: its pages. Imports Streamlit and what a heading needs; the rest is imported when the heading is sent."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

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


files = {title: HERE / "pages" / f"{name}.py" for group in PAGES.values() for title, name in group.items()}
page = st.navigation(
    {
        heading: [st.Page(files[title], title=title, default=title == "Run") for title in group]
        for heading, group in PAGES.items()
    }
)
opening.show_page(page, declare, files)
