"""No number is written with a format of its own: `numerals` and its twin in numbers.js do that, by one rule."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCES = (
    *sorted((ROOT / "viz_transformer").rglob("*.py")),
    *sorted((ROOT / "pages").glob("*.py")),
    ROOT / "app.py",
    ROOT / "docs" / "gallery.py",
)
ROUNDS = re.compile(r"[fFgGn%]$")  # ":e" has digits of its own for whatever is small, and says 0 only of 0
HOVER = re.compile(r"%\{[^}]*:(?!,d?\}|\.9~g\})[^}]*\}")  # whole numbers, and all digits of a float32
NOT_SHOWN = {
    "viz_transformer/numerals.py": "the formatter",
    "viz_transformer/figures/labels.py": "durations, in units of their own",
    "viz_transformer/analysis/weight/derivation.py": "a program that stands alone",
    "viz_transformer/ui/session/examples.py": "numbers as a data set writes them",
    "viz_transformer/ui/pages/playground/number_editor.py": "numbers as they were typed, with four decimals",
}
EXACT = (
    "--p: ",  # the width of a bar in CSS
    ":,.12g}",  # bounds and numbers that were typed, with all their digits
    "low:g}",  # a bound as it was set
    ":,.10g}",  # ticks that stand at round numbers
    "100 * MOSTLY_HIDDEN",  # 90
    "abs(value) >= 1e5",  # a large one in whole numbers
)


def formats(path: Path) -> Iterator[tuple[int, str]]:
    """(line, format) of every number that a file writes by itself."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FormattedValue) and isinstance(node.format_spec, ast.JoinedStr):
            spec = "".join(part.value if isinstance(part, ast.Constant) else "0" for part in node.format_spec.values)
            if ROUNDS.search(spec):
                yield node.lineno, spec
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found = HOVER.search(node.value) or re.search(r"^%\.\d+[fg]$", node.value)
            if found:
                yield node.lineno, found[0]


def test_python_writes_numbers_through_the_formatter() -> None:
    refused = []
    for path in SOURCES:
        name, lines = str(path.relative_to(ROOT)), path.read_text(encoding="utf-8").splitlines()
        if name not in NOT_SHOWN:
            refused += [
                f"{name}:{line}: {spec}"
                for line, spec in formats(path)
                if not any(reason in text for reason in EXACT for text in lines[line - 1 : line + 2])
            ]
    assert not refused, "write these through numerals:\n" + "\n".join(refused)


def test_the_search_finds_the_formats_that_it_refuses(tmp_path: Path) -> None:
    wrong = ('f"{p:.4f}"', 'f"{p:+.2f}"', 'f"{p:.1%}"', 'f"{p:.4g}"', '"<br>%{y:.4f}"', '"%{z:.3g}"', '"%.4f"')
    right = ('f"{n:,}"', 'f"{p:.1e}"', '"%{x:,d}"', '"%{customdata}"', '"%{z:.9~g}"', 'f"{name:>8}"')
    for text, count in (*((text, 1) for text in wrong), *((text, 0) for text in right)):
        (tmp_path / "one.py").write_text(text)
        assert len(list(formats(tmp_path / "one.py"))) == count, text


def test_javascript_writes_numbers_through_the_formatter() -> None:
    folder = ROOT / "viz_transformer" / "ui" / "components"
    raw = {
        (path.name, line.strip())
        for path in folder.rglob("*.js")
        if path.name != "numbers.js"
        for line in path.read_text(encoding="utf-8").splitlines()
        if re.search(r"toFixed|toPrecision|toExponential", line)
    }
    assert {name for name, line in raw if "10 ** d" not in line} == set()  # ticks at powers of ten
