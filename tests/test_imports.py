"""Imports point one way, and heavy ones stay where they belong."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = "viz_transformer"
# Each may import those before it, never those after it.
ORDER = (
    *("numerals", "sentences", "notation", "untrusted", "config", "writing", "tap", "memory", "model"),
    *("points", "edits", "record"),
    *("text", "spoken_numbers", "power_series", "series_pairs", "data", "checkpoint"),
    *(
        "strategies",
        "beam_tree",
        "search",
        "joined",
        "tracing",
        "training_mode",
        "step",
        "own_rows",
        "decoding",
        "forks",
        "scores",
        "expressions",
        "answering",
        "evaluation",
        "comparing",
    ),
    *("train", "analysis", "describe", "figures", "ui", "server", "cli"),
)
# library -> the parts that may import it
ONLY_IN = {
    "streamlit": {"ui", "server"},
    "plotly": {"figures", "ui"},
    "lightning": {"train"},
    "spacy": {"text"},
    "typer": {"cli"},
    "transformers": {"huggingface"},
}


def modules() -> Iterator[tuple[str, Path]]:
    """(part, file) of every module of the package; __init__.py names everything lazily and is left out."""
    for path in sorted((ROOT / PACKAGE).rglob("*.py")):
        relative = path.relative_to(ROOT / PACKAGE)
        if relative.parts != ("__init__.py",):
            yield relative.parts[0].removesuffix(".py"), path


def imported(path: Path) -> Iterator[str]:
    """Full names of what a file imports, inside functions too."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def test_every_part_has_its_place_in_the_order() -> None:
    assert {part for part, _ in modules()} <= set(ORDER)


@pytest.mark.parametrize(("part", "path"), list(modules()), ids=lambda value: getattr(value, "name", value))
def test_imports_point_one_way(part: str, path: Path) -> None:
    before = ORDER[: ORDER.index(part) + 1]
    for name in imported(path):
        library, _, rest = name.partition(".")
        if library == PACKAGE and rest.split(".")[0] in ORDER:
            other = rest.split(".")[0]
            assert other in before, f"{path.relative_to(ROOT)} imports {name}: {part} comes before {other}"
        if library in ONLY_IN:
            assert part in ONLY_IN[library], f"{path.relative_to(ROOT)} imports {library}"


@pytest.mark.parametrize("library", ["pandas", "spacy", "sympy", "torch"])
def test_a_part_of_a_large_library_is_imported_after_the_whole(library: str) -> None:
    """Two threads that begin a library at two ends wait for each other; Python then gives one of them an error."""
    for path in (ROOT / "app.py", *(ROOT / "pages").glob("*.py"), *(path for _, path in modules())):
        for scope in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(scope, ast.Module | ast.FunctionDef):
                first = next((name for node in scope.body for name in whole_names(node, library)), library)
                assert first == library, f"{path.relative_to(ROOT)} begins with {first}: import {library} before it"


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
