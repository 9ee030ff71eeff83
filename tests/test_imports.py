"""Imports point one way, and heavy ones stay where they belong."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = "viz_transformer"
# Each folder may import those before it, never those after it; a name with more parts is a folder in a folder.
ORDER = (
    *(
        "renamed",
        "numerals",
        "sentences",
        "extensions",
        "payload",
        "given",
        "declared",
        "text",
        "model",
        "checkpoint",
        "huggingface",
        "running",
    ),
    *("measuring", "train", "analysis", "figures"),
    *("ui.compat", "ui.components", "ui.session", "ui.frame", "ui.pages", "command"),
)
# Among the folders of these, the imports may point either way, but not in a circle; none between pages.
SIDE_BY_SIDE = ("analysis", "ui.pages")
# library -> the folders that may import it
ONLY_IN = {
    "anywidget": {"figures"},
    "streamlit": {"ui.compat", "ui.components", "ui.session", "ui.frame", "ui.pages", "command"},
    "plotly": {"figures", "ui.frame", "ui.pages"},
    "lightning": {"train"},
    "spacy": {"text"},
    "tokenizers": {"train"},
    "typer": {"command"},
    "transformers": {"huggingface"},
}

FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef
# module -> imports inside its functions, each for one of these reasons; a module that is not here has none
LATE = {
    # a --help, a wrong word and the address that is printed wait for nothing that they do not need
    "command": 4,
    "command.training": 1,
    "command.measuring": 2,
    "command.commands": 1,
    "command.server": 1,
    "command.serving": 1,
    # the heading is drawn first, then what a page needs, and torch only when a run is asked for
    "ui.frame.opening": 2,
    "ui.frame.frame": 1,
    "ui.frame.pictures": 1,
    "ui.pages.models.model_tabs": 2,
    "ui.pages.models.architecture_view": 1,
    "ui.session.cached": 3,
    "analysis.models.untrained": 1,
    "model.positions": 5,
    # libraries of a few tokenizers, measures, tasks and tests
    "text.linguistics": 4,
    "text.tokenizers": 1,
    "measuring.comparing": 1,
    "measuring.scores": 2,
    "measuring.expressions": 1,
    "measuring.spoken_numbers": 1,
    "analysis.decoding.series": 2,
}


@cache
def modules() -> tuple[tuple[str, Path], ...]:
    """(name, file) of every module of the package; __init__.py names everything lazily and is left out."""
    found = []
    for path in sorted((ROOT / PACKAGE).rglob("*.py")):
        relative = path.relative_to(ROOT / PACKAGE)
        if relative.parts[0] not in ("__init__.py", "_app"):
            found.append((".".join(relative.with_suffix("").parts).removesuffix(".__init__"), path))
    return tuple(found)


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def place(module: str) -> str | None:
    """The folder of ORDER in which a module lies; None for the package itself and for `ui`, which have nothing."""
    return next((part for part in ORDER if module == part or module.startswith(f"{part}.")), None)


@cache
def imported(path: Path) -> tuple[str, ...]:
    """Full names of what a file imports, inside functions too."""
    found: list[str] = []
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            found += (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            found += (f"{node.module}.{alias.name}" for alias in node.names)
    return tuple(found)


def ours(path: Path) -> Iterator[str]:
    """What a file imports of the package, as names within it."""
    return (name.removeprefix(f"{PACKAGE}.") for name in imported(path) if name.startswith(f"{PACKAGE}."))


def test_every_folder_has_its_place_in_the_order() -> None:
    assert {name for name, _ in modules() if place(name) is None} == {"ui"}


def test_imports_point_one_way() -> None:
    wrong = []
    for name, path in modules():
        part = place(name) or "ui.components"
        for other in ours(path):
            found = place(other)
            if found is not None and ORDER.index(found) > ORDER.index(part):
                wrong.append(f"{name} imports {other}: {part} comes before {found}")
        libraries = {each.partition(".")[0] for each in imported(path)} & set(ONLY_IN)
        wrong += (f"{name} imports {library}" for library in sorted(libraries) if part not in ONLY_IN[library])
    assert not wrong


def side(name: str, within: str) -> str:
    """Which of the folders within this one a module lies in; "" for none."""
    return name.removeprefix(f"{within}.").split(".")[0] if name.startswith(f"{within}.") else ""


@pytest.mark.parametrize("within", SIDE_BY_SIDE)
def test_there_is_no_circle_between_folders(within: str) -> None:
    edges: dict[str, set[str]] = {}
    for name, path in modules():
        here = side(name, within)
        found = {side(other, within) for other in ours(path)} if here else set()
        edges.setdefault(here, set()).update(found - {here, ""})
    list(TopologicalSorter(edges).static_order())  # raises CycleError, which names the circle


def test_no_page_imports_another() -> None:
    for name, path in modules():
        here = side(name, "ui.pages")
        for other in ours(path) if here else ():
            assert side(other, "ui.pages") in ("", here), f"{name} imports {other}"
    for path in (ROOT / "pages").glob("*.py"):
        assert {side(other, "ui.pages") for other in ours(path)} <= {"", path.stem}, path.name


def test_nothing_stands_beside_the_folders() -> None:
    for folder, files in (
        (".", {"renamed.py", "numerals.py", "sentences.py", "extensions.py", "payload.py", "given.py", "declared.py"}),
        ("analysis", set()),
        ("ui", {"compat.py"}),
    ):
        assert {path.name for path in (ROOT / PACKAGE / folder).glob("*.py")} == {"__init__.py", *files}


MAX_SMALL_LINES = 60
ALONE = {
    "ui.pages.run.recording",  # started by `python -m`
    "ui.components.twins",  # a component, of which each has its own module
    "figures.whole",  # it is `vt.figures.run`, by the stub
    "model.position_source",  # numpy alone: the program that *One weight* copies has its source
    "huggingface.windows",  # one proof, with its own tests; 59 lines
    "analysis.weight.row_difference",  # one comparison, with its own tests; 59 lines
}
"""Small modules with a single importer that have a reason to be alone."""


def test_a_small_module_is_not_there_for_a_single_importer() -> None:
    files = {path: name for name, path in modules()}
    files |= {path: f"pages.{path.stem}" for path in (ROOT / "pages").glob("*.py")} | {ROOT / "app.py": "app"}
    importers: dict[str, set[str]] = {}
    for path, name in files.items():
        for each in ours(path):
            for found in (each, each.rpartition(".")[0]):
                importers.setdefault(found, set()).add(name)
    small = {
        name
        for name, path in modules()
        if path.name not in ("__init__.py", "fields.py")  # each page's fields are imported by their folder
        and len(path.read_text(encoding="utf-8").splitlines()) < MAX_SMALL_LINES
        and len(importers.get(name, ())) == 1
    }
    assert small == ALONE, small ^ ALONE


def test_a_part_of_a_large_library_is_imported_after_the_whole() -> None:
    """Two threads that begin a library at two ends wait for each other; Python then gives one of them an error."""
    wrong = []
    for path in (ROOT / "app.py", *(ROOT / "pages").glob("*.py"), *(path for _, path in modules())):
        scopes = [node for node in ast.walk(tree(path)) if isinstance(node, ast.Module | ast.FunctionDef)]
        for scope in scopes:
            for library in ("pandas", "spacy", "sympy", "torch"):
                first = next((name for node in scope.body for name in whole_names(node, library)), library)
                if first != library:
                    wrong.append(f"{path.relative_to(ROOT)} begins with {first}: import {library} before it")
    assert not wrong


def late_imports(path: Path) -> int:
    """How many imports stand inside functions of a file."""
    scopes = [node for node in ast.walk(tree(path)) if isinstance(node, FUNCTIONS)]
    return len({node for each in scopes for node in ast.walk(each) if isinstance(node, ast.Import | ast.ImportFrom)})


def test_imports_stand_at_the_top_of_files() -> None:
    found = {name: late_imports(path) for name, path in modules()}
    assert {name: count for name, count in found.items() if count} == LATE
    assert sum(LATE.values()) < 40


def whole_names(node: ast.stmt, library: str) -> list[str]:
    """The modules of the library that a statement imports, as it names them."""
    names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
    names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
    return [name for name in names if name.split(".")[0] == library]


def test_pages_hold_no_tensors_and_the_frame_imports_nothing_heavy() -> None:
    for path in (ROOT / "app.py", *(ROOT / "pages").glob("*.py")):
        heavy = {name.split(".")[0] for name in imported(path)} & {"torch", "spacy", "plotly", "pandas", "numpy"}
        assert not heavy, f"{path.name} imports {heavy}"


def test_importing_the_package_loads_neither_torch_nor_spacy_nor_streamlit() -> None:
    script = "import sys, viz_transformer; print(sorted({'torch', 'spacy', 'streamlit', 'plotly'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.strip() == "[]"
