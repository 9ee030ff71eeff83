"""What the pages say and draw is what `goldens.txt` has; and the tool that writes it down, to compare two states."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from goldens import FILE, MODELS, TABS, by_kind, fingerprints, read, selections, subset, views, without_numbers
from page_driver import ROOT

TOOL = ROOT / "tests" / "goldens.py"


def test_pages_say_and_draw_what_they_did(tmp_path: Path) -> None:
    """A process of its own makes the views: no other test has changed anything in it."""
    tool, environment = [sys.executable, TOOL, tmp_path, "--subset"], {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(tool, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (view,) = tmp_path.glob("encoder_masks_weights_*.txt")
    looks_like_a_view(view.read_text(encoding="utf-8"), tmp_path)

    found, before = fingerprints(tmp_path), read()
    assert found.keys() == before.keys(), "other views than in goldens.txt: python tests/goldens.py --update"
    changed = {
        name: [kind for kind, bits in kinds.items() if bits != before[name][kind]]
        for name, kinds in found.items()
        if kinds != before[name]
    }
    assert not changed, "\n".join(
        (
            f"{len(changed)} of {len(found)} views are not what {FILE.name} has:",
            *(f"  {name}: other {' and '.join(kinds)}" for name, kinds in changed.items()),
            f"How they differ: python tests/goldens.py --how {next(iter(changed))}",
            "If all of it is meant: python tests/goldens.py --update",
        )
    )


def looks_like_a_view(text: str, directory: Path) -> None:
    """It has its sentences, its components, their numbers and its tables, and no paths."""
    lines = text.splitlines()
    assert any(line.startswith("html ") and "What may" in line for line in lines)
    assert any(line.startswith("component viz_transformer_matrix {") for line in lines)
    assert any(line.startswith("  values float32 [") for line in lines)
    at = next(n for n, line in enumerate(lines) if line.startswith("table "))
    assert lines[at + 1].endswith(".csv") and any("," in line for line in lines[at + 2 :])
    assert str(ROOT) not in text and str(directory) not in text
    parts = by_kind(without_numbers(text))
    assert "What may" in parts["says"] and "viz_transformer_matrix" in parts["draws"] and ".csv" in parts["tables"]
    assert not any("What may" in parts[kind] for kind in ("draws", "tables"))


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("at 2 of 11, 29,284.30 and 1,024", "at # of #, # and #"),
        ("[0.25, -1.5e-07, null]", "[#, #, null]"),
        ("<td>&gt;0.99</td>", "<td#</td>"),
        ("<td>0.99</td>", "<td#</td>"),
        (r"‖o‖ \\-⁠0\\.⁠25]", "‖o‖ #]"),
        ("4.8 · 10⁻⁶ of it", "# of it"),
        ("run 8f3ab61720c4, 1234567890 bytes, 0.1234567890", "run #, # bytes, #"),
        ("  values float32 [4, 11] 0123456789abcdef", "  values float32 [4, 11] #"),
        ("effaced facade", "effaced facade"),
    ],
)
def test_numbers_and_hashes_are_masked_and_nothing_else(text: str, masked: str) -> None:
    assert without_numbers(text) == masked


def test_every_page_is_there_with_each_model_and_the_subset_has_something_of_all() -> None:
    pages = {path.stem for path in (ROOT / "pages").glob("*.py")}
    assert set(TABS) == pages
    names = [name for name, _, _ in views()]
    assert len(names) == len(set(names)) == 3 * len(MODELS) * sum(map(len, TABS.values()))
    some = list(subset())
    assert {name for name, _, _ in some} < set(names)
    assert {(address["checkpoint"], page) for _, page, address in some} == {(m, p) for m in MODELS for p in TABS}
    for page, tabs in TABS.items():
        of_page = [name for name, each, _ in some if each == page]
        assert all(any("_".join(("", page, *tab.values(), "")) in name for name in of_page) for tab in tabs)
        assert all(any(name.endswith(f"_{each}") for name in of_page) for each in selections("encoder"))
