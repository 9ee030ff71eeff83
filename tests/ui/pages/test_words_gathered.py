"""What people read stands in the `words.py` of its page, or of the frame around all pages, and nowhere else."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PAGES = ROOT / "viz_transformer" / "ui" / "pages"
FRAME = ROOT / "viz_transformer" / "ui" / "frame"
OF_THE_FRAME = ("words.py", "glossary.py")

MARKUP = re.compile(r"</?[a-z]|\[role=|:has\(|:is\(|--vt-|(?:^|\s)\.?(?:vt|st)-")
WORD = re.compile(r"[^\W\d_]\w*|\{\}")


def modules(page: str) -> list[Path]:
    """The modules of a page in which nothing should be said."""
    inside = (path for path in sorted((PAGES / page).glob("*.py")) if path.name != "words.py")
    return [*inside, ROOT / "pages" / f"{page}.py"]


def literals(node: ast.AST) -> Iterator[ast.Constant | ast.JoinedStr]:
    """The texts below a node, an f-string as one; not docstrings, nor what an exception or an assertion says."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Raise | ast.Assert) or (
            isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant)
        ):
            continue
        if isinstance(child, ast.JoinedStr) or (isinstance(child, ast.Constant) and isinstance(child.value, str)):
            yield child
        if isinstance(child, ast.JoinedStr):
            for value in child.values:
                if isinstance(value, ast.FormattedValue):
                    yield from literals(value)
        else:
            yield from literals(child)


def said(literal: ast.Constant | ast.JoinedStr) -> str:
    """A text, with {} for what is put into it."""
    if isinstance(literal, ast.Constant):
        return str(literal.value)
    return "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in literal.values)


def sentences(source: str) -> list[tuple[int, str]]:
    """The texts of three words or more, what is put in counting as one, that are neither keys nor markup."""
    found = ((literal.lineno, said(literal)) for literal in literals(ast.parse(source)))
    return [(line, text) for line, text in found if is_sentence(text)]


def is_sentence(text: str) -> bool:
    return " " in text.strip() and len(WORD.findall(text)) >= 3 and not MARKUP.search(text)


def of_page(page: str) -> list[str]:
    return of_modules(modules(page))


def of_modules(paths: Iterable[Path]) -> list[str]:
    return [
        f"{path.relative_to(ROOT)}:{line}: {text[:80]}"
        for path in paths
        for line, text in sentences(path.read_text(encoding="utf-8"))
    ]


@pytest.mark.parametrize("page", sorted(path.parent.name for path in PAGES.glob("*/__init__.py")))
def test_what_a_page_says_stands_in_its_words(page: str) -> None:
    assert (PAGES / page / "words.py").is_file()
    found = of_page(page)
    assert not found, "say it in words.py:\n" + "\n".join(found)


def test_what_every_page_says_stands_in_the_words_of_the_frame() -> None:
    found = of_modules(path for path in sorted(FRAME.glob("*.py")) if path.name not in OF_THE_FRAME)
    assert not found, "say it in words.py:\n" + "\n".join(found)


@pytest.mark.parametrize(
    ("source", "wanted"),
    [
        ('say("Three words here")', ["Three words here"]),
        ('say(f"{count} of {whole} rows")', ["{} of {} rows"]),
        ("say(f\"{name}: {few('four words in there')}\")", ["four words in there"]),
        ('''def f():\n    """Returns what it is."""\n    return "two words"''', []),
        ('raise ValueError("this is not a number")', []),
        ('assert found, f"{name} does not say it"', []),
        ('st.html(f":is({others}) {{ display: none !important; }}")', []),
        ('say("a_key_of_many_words", "vt-facts vt-numbers vt-more")', []),
        ("say(f'<div class=\"vt-wide\">{table} and {more}</div>')", []),
    ],
)
def test_a_sentence_is_told_from_keys_and_markup(source: str, wanted: list[str]) -> None:
    assert [text for _, text in sentences(source)] == wanted
