"""What people read says things as the field does: no sentence has the turns that this project once had of its own."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PYTHON = [*(ROOT / "viz_transformer").rglob("*.py"), *(ROOT / "pages").glob("*.py"), ROOT / "app.py"]
JAVASCRIPT = [*(ROOT / "viz_transformer").rglob("*.js")]
DOCS = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]

INSTEAD = {
    r"\bwork(?:s|ed)? (?:\w+ ){0,3}out\b": "compute",
    r"\bbut for\b": "except for",
    r"\bbehind\b": "after",
    r"\bbrought to\b": "rescaled to",
    r"\b(?:is|are|be|was|were) looked at\b|^looked at|only looked at": "shown",
    r"\bstands? (?:for|in|at|on|here|there|below|above|beside|between|still|together|again|twice)\b": "is",
    r"\bcannot be told\b": "unknown, undecided",
    r"\bUse that\b": "what it does",
}
"""What is not said, and what is said instead."""
OF_PROGRAMS = re.compile(r"^\s*(?:#|//|\*|/\*)")


def sentences(path: Path) -> Iterator[tuple[int, str]]:
    """The texts in a program that are no docstrings: their lines and what they say."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    docs = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs:
            yield node.lineno, node.value


def quotes(path: Path) -> Iterator[tuple[int, str]]:
    """The texts between quotation marks of a module for the browser, line by line."""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if not OF_PROGRAMS.match(line):
            for found in re.findall(r'"([^"]* [^"]*)"|`([^`]* [^`]*)`', line.split(" // ")[0]):
                yield number, "".join(found)


def lines(path: Path) -> Iterator[tuple[int, str]]:
    yield from enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)


READ = {"python": (PYTHON, sentences), "javascript": (JAVASCRIPT, quotes), "docs": (DOCS, lines)}


@pytest.mark.parametrize("where", READ)
@pytest.mark.parametrize("turn", INSTEAD)
def test_a_turn_of_our_own_is_gone(where: str, turn: str) -> None:
    paths, read = READ[where]
    found = [
        f"{path.relative_to(ROOT)}:{number}: {text.strip()[:100]}"
        for path in paths
        for number, text in read(path)
        if re.search(turn, text)
    ]
    assert not found, f"say {INSTEAD[turn]!r} instead:\n" + "\n".join(found)
