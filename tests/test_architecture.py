"""docs/architecture.md shows the tree that there is, in the order of the imports; one file knows Streamlit's inside;
no function takes more parameters than fit in a head."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from inspect import ismodule
from pathlib import Path

import streamlit
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


# ---- Streamlit at arm's length

PUBLIC = re.compile(r"streamlit\.(components(\.v2(\.component)?)?|column_config(\.\w+)?|testing(\.v1(\.\S+)?)?)")
INSIDE = {"viz_transformer/ui/compat.py", "tests/streamlit_inside.py", "tests/ui/test_compat.py"}
"""The files that may use more than that."""


def private_names(path: Path) -> Iterator[str]:
    """What a file uses of Streamlit that is not public: modules, and names with an underscore in front."""
    text = path.read_text(encoding="utf-8")
    for node in ast.walk(ast.parse(text)) if re.search(r"\b(streamlit|st)\b", text) else ():
        if isinstance(node, ast.Import):
            named = [each.name for each in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            named = [f"{node.module}.{each.name}" for each in node.names]
        elif isinstance(node, ast.Attribute) and first_name(node) in ("st", "streamlit"):
            named = [re.sub(r"^st\.", "streamlit.", ast.unparse(node))]
        else:
            continue
        yield from (name for name in named if name.startswith("streamlit.") and private(name))


def first_name(node: ast.expr) -> str:
    """What stands before the first dot, if it is a name."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def private(name: str) -> bool:
    """Whether Streamlit's documentation does not have this name: of a module or in one, or with an underscore."""
    first, *_ = parts = name.split(".")[1:]
    is_inside = not PUBLIC.fullmatch(name) and ismodule(getattr(streamlit, first, None))
    return is_inside or any(re.match(r"_(?!_)", part) for part in parts)


def test_one_file_knows_the_inside_of_streamlit() -> None:
    folders = ("viz_transformer", "pages", "tests", "bench", "locks")
    files = [ROOT / "app.py", *(path for folder in folders for path in (ROOT / folder).rglob("*.py"))]
    found = {str(path.relative_to(ROOT)): [*private_names(path)] for path in files if "_app" not in path.parts}
    assert {path: names for path, names in found.items() if names and path not in INSIDE} == {}
    assert {path for path, names in found.items() if names} >= INSIDE  # what is looked for is found


# ---- Parameters

MAX_PARAMETERS = 7


def parameters(function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[str]:
    given = function.args
    names = [each.arg for each in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
    return names[names[:1] in (["self"], ["cls"]) :]


def test_no_function_takes_more_than_seven_parameters() -> None:
    found: dict[str, list[str]] = {}
    package = ROOT / "viz_transformer"
    for path in (path for path in package.rglob("*.py") if "_app" not in path.parts):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and len(parameters(node)) > MAX_PARAMETERS:
                found.setdefault(str(path.relative_to(package)), []).append(node.name)
    assert found == {}
