"""The tool that writes what every page says and draws, to compare two states of the code."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from goldens import MODELS, TABS, views
from page_driver import ROOT

TOOL = ROOT / "tests" / "goldens.py"


def test_a_view_has_its_sentences_its_components_their_numbers_and_its_tables(tmp_path: Path) -> None:
    words = ("encoder_masks_weights", "chosen")
    done = subprocess.run([sys.executable, str(TOOL), str(tmp_path), *words], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0 and "1 views" in done.stdout, done.stderr
    (view,) = tmp_path.glob("*.txt")
    lines = view.read_text(encoding="utf-8").splitlines()
    assert view.stem == "encoder_masks_weights_chosen"
    assert any(line.startswith("html ") and "What may" in line for line in lines)
    assert any(line.startswith("component viz_transformer_matrix {") for line in lines)
    assert any(line.startswith("  values float32 [") for line in lines)
    at = next(n for n, line in enumerate(lines) if line.startswith("table "))
    assert lines[at + 1].endswith(".csv") and any("," in line for line in lines[at + 2 :])
    assert str(ROOT) not in "".join(lines)


def test_every_page_is_there_with_each_model() -> None:
    pages = {path.stem for path in (ROOT / "pages").glob("*.py")}
    assert set(TABS) == pages
    names = [name for name, _, _ in views()]
    assert len(names) == len(set(names)) == 3 * len(MODELS) * sum(map(len, TABS.values()))
