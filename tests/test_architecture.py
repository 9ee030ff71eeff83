"""docs/architecture.md shows the tree that there is, in the order that the imports keep."""

from __future__ import annotations

import re
from pathlib import Path

from test_imports import ORDER

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")


def drawn() -> list[str]:
    """The folders and files of the tree on the page, as paths, in order."""
    block = PAGE.split("```")[1].strip("\n").split("\n")
    found, above = list[str](), list[str]()
    for line in block:
        depth = (len(line) - len(line.lstrip())) // 2
        names = re.findall(r"^ *(\S+/|\S+\.py)(?: {2,}|$)", line) or line.split()
        for name in names:
            above[depth:] = [name.strip("/")]
            found.append("/".join(above))
    return found


def test_the_tree_is_what_there_is() -> None:
    package = ROOT / "viz_transformer"
    folders = {
        str(path.parent.relative_to(ROOT))
        for path in package.rglob("__init__.py")
        if "_app" not in path.parts and "__pycache__" not in path.parts
    }
    files = {
        str(path.relative_to(ROOT))
        for folder in (package, package / "ui")
        for path in folder.glob("*.py")
        if path.name != "__init__.py"
    }
    assert {*drawn()} == folders | files


def test_its_order_is_that_of_the_imports() -> None:
    places = [path.removeprefix("viz_transformer/").removesuffix(".py").replace("/", ".") for path in drawn()]
    assert [place for place in places if place in ORDER] == [*ORDER]


def test_the_files_that_it_names_exist() -> None:
    named = re.findall(r"`((?:[a-z_]+/)+[a-z_]+\.(?:py|js))`", PAGE)
    assert len(named) > 15
    for name in named:
        assert (ROOT / name).is_file() or (ROOT / "viz_transformer" / name).is_file(), name
    for link in re.findall(r"\]\(([^)]+)\)", PAGE):
        assert (ROOT / "docs" / link).is_file(), link
