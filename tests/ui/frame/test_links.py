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


def test_only_a_model_with_snapshots_offers_to_rewind_its_training() -> None:
    app = script("app.py").run()
    for name, offered in (("numbers", False), ("numbers-tiny", True)):
        app.query_params["checkpoint"] = name
        app.run()
        assert any("Rewind" in link.proto.label for link in app.get("page_link")) is offered


def test_each_page_says_in_one_line_what_it_asks() -> None:
    files = [*(ROOT / "pages").glob("*.py")]
    assert len(files) == 11
    for file in files:
        assert ": " in asks(file) and asks(file).endswith("?")


def test_what_a_page_asks_is_read_without_parsing_which_threads_cannot_do_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asks.cache_clear()
    monkeypatch.setattr("ast.parse", None)
    assert asks(ROOT / "pages" / "attention.py") == "Attention: where does each head look?"


@pytest.mark.parametrize("page", NEXT)
def test_a_page_ends_with_a_link_to_the_next_and_alone_leads_nowhere(page: str) -> None:
    app = script("app.py").run()
    app.switch_page(f"pages/{page}.py").run()
    assert not app.exception
    labels = [link.proto.label.replace("\u2060", "").replace("\\", "") for link in app.get("page_link")]
    assert labels[-1].startswith(f"Next: {NEXT[page]}")
    tour = ["Next (2 of 5): where it looks", "This run in five stops"]
    of_run = [*tour, "Why this weight?", "What else could it have written?", "Rewind the training"]
    assert labels[:-1] == (of_run if page == "run" else [])
    alone = script(f"pages/{page}.py").run()
    assert not alone.exception
    assert not alone.get("page_link")
