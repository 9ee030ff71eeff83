"""The pages lead on, each to the next, and none is left out."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from viz_transformer.ui.frame.links import NEXT

ROOT = Path(__file__).resolve().parents[3]


def pages_of_the_app() -> dict[str, str]:
    """The name of each page's file by its title, as app.py states them."""
    found = {}
    for node in ast.walk(ast.parse((ROOT / "app.py").read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "Page":
            (file,) = (str(ast.literal_eval(argument)) for argument in node.args)
            title = next(ast.literal_eval(word.value) for word in node.keywords if word.arg == "title")
            found[title] = Path(file).stem
    return found


def test_from_the_first_page_on_each_leads_to_the_next_until_all_were_seen() -> None:
    pages = pages_of_the_app()
    titles = {file: title for title, file in pages.items()}
    seen, title = [], "Run"
    while title not in seen:
        seen.append(title)
        title = titles[NEXT[title][0]]
    assert title == "Run"
    assert {*seen} == {*pages} == {*NEXT}


@pytest.mark.parametrize("page", ["run", "models"])
def test_a_page_ends_with_its_link_and_alone_leads_nowhere(page: str) -> None:
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=120).run()
    app.switch_page(f"pages/{page}.py").run()
    assert not app.exception
    titles = {file: title for title, file in pages_of_the_app().items()}
    labels = [link.proto.label.replace("\u2060", "").replace("\\", "") for link in app.get("page_link")]
    assert labels[-1] == f"Next: {NEXT[titles[page]][1]}"
    alone = AppTest.from_file(str(ROOT / "pages" / f"{page}.py"), default_timeout=120).run()
    assert not alone.exception
    assert not alone.get("page_link")
