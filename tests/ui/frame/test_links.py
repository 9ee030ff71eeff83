"""The pages lead on, each to the next, and none is left out."""

from __future__ import annotations

from pathlib import Path

import pytest
from page_driver import script

from viz_transformer.ui.frame.links import asks

ROOT = Path(__file__).resolve().parents[3]
NEXT = {
    "run": "Decoding: how is the answer written",
    "tensors": "Masks: what may a position see",
    "models": "Run: what does the model write",
}


def test_each_page_says_in_one_line_what_it_asks() -> None:
    files = [*(ROOT / "pages").glob("*.py")]
    assert len(files) == 11
    for file in files:
        assert ": " in asks(file) and asks(file).endswith("?")


@pytest.mark.parametrize("page", NEXT)
def test_a_page_ends_with_a_link_to_the_next_and_alone_leads_nowhere(page: str) -> None:
    app = script("app.py").run()
    app.switch_page(f"pages/{page}.py").run()
    assert not app.exception
    labels = [link.proto.label.replace("\u2060", "").replace("\\", "") for link in app.get("page_link")]
    assert labels[-1].startswith(f"Next: {NEXT[page]}")
    assert labels[:-1] == (["Why this weight?", "What else could it have written?"] if page == "run" else [])
    alone = script(f"pages/{page}.py").run()
    assert not alone.exception
    assert not alone.get("page_link")
