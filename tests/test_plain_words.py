"""What people read says things as the field does: no sentence has the turns that this project once had of its own."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PYTHON = [*(ROOT / "viz_transformer").rglob("*.py"), *(ROOT / "pages").glob("*.py"), ROOT / "app.py"]
JAVASCRIPT = [*(ROOT / "viz_transformer").rglob("*.js")]
DOCS = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
EXPLAINED = (
    *"model text running checkpoint huggingface measuring train command".split(),
    *("analysis", "figures", "ui/components", "ui/session", "ui/frame", "ui/pages"),
)
"""The packages whose docstrings and comments are held to the same words."""
PRINTED = ROOT / "viz_transformer" / "analysis" / "weight" / "derivation.py"
"""Its docstrings and comments are on screen: they are in the program that *One weight* gives."""

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
IN_DOCSTRINGS = {
    r"\bthat of (?:a|an|the|one|another|what)\b": "the noun that is meant",
    r"\b(?:is|are|was|were) (?:told|heard|said) (?:by|to|of)\b": "reported, recorded, returned",
    r"\bwhat is what\b|\bwhat of\b": "the noun that is meant",
    r"^(?:That|Of) ": "a noun or a verb to begin with",
}
"""What docstrings and comments do not say, besides INSTEAD, and what they say instead."""
OF_PROGRAMS = re.compile(r"^\s*(?:#|//|\*|/\*)")


@cache
def said(where: str) -> list[tuple[str, str]]:
    """Each text and where it is, read once for all turns."""
    paths, read = READ[where]
    return [(f"{path.relative_to(ROOT)}:{number}", text) for path in paths for number, text in read(path)]


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


def explanations(path: Path) -> Iterator[tuple[int, str]]:
    """The docstrings and comments of a module."""
    source = path.read_text(encoding="utf-8")
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.lineno, " ".join(node.value.value.split())
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string.lstrip("# ")


READ = {"python": (PYTHON, sentences), "javascript": (JAVASCRIPT, quotes), "docs": (DOCS, lines)}


@pytest.mark.parametrize("where", READ)
@pytest.mark.parametrize("turn", INSTEAD)
def test_a_turn_of_our_own_is_gone(where: str, turn: str) -> None:
    found = [f"{place}: {text.strip()[:100]}" for place, text in said(where) if re.search(turn, text)]
    assert not found, f"say {INSTEAD[turn]!r} instead:\n" + "\n".join(found)


def test_docstrings_and_comments_use_the_words_of_the_field() -> None:
    turns = {re.compile(turn): instead for turn, instead in (INSTEAD | IN_DOCSTRINGS).items()}
    found = [
        f"{path.relative_to(ROOT)}:{number}: {text[:100]} (say {instead!r})"
        for package in EXPLAINED
        for path in (ROOT / "viz_transformer" / package).rglob("*.py")
        if path != PRINTED
        for number, text in explanations(path)
        for turn, instead in turns.items()
        if turn.search(text)
    ]
    assert not found, "\n".join(found)


def test_the_glossary_has_few_words_each_with_the_reason_why_the_field_has_none() -> None:
    rows = [
        line for line in (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8").splitlines() if line[:1] == "|"
    ]
    words = [[cell.strip() for cell in row.strip("|").split(" | ")] for row in rows[2:]]
    assert 0 < len(words) <= 40
    assert not [cells for cells in words if len(cells) != 3 or not all(cells)]
