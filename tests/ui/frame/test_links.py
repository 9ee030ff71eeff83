"""The pages lead on, each to the next, and none is left out."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from page_driver import opened, script, words
from streamlit.testing.v1 import AppTest

from viz_transformer.ui.frame.links import TOUR, asks

ROOT = Path(__file__).resolve().parents[3]
FORWARD = ["Input", "Attention", "One weight", "Layers", "Decoding"]
NEXT = {
    "run": "Decoding: how is the answer written",
    "tensors": "Masks: what may a position see",
    "models": "Run: what does the model write",
}


def test_the_stops_of_the_tour_are_pages_in_the_order_of_the_forward_pass() -> None:
    assert [title for title, _ in TOUR] == FORWARD


def stop_of(app: AppTest) -> list[str]:
    """What stands beside the heading of a stop: which it is, and what leads on."""
    assert not app.exception
    links = [link.proto for link in app.get("page_link") if "stop=" in link.proto.query_string]
    said = [f"{link.page}?{link.query_string}" for link in links]
    return [*re.findall(r"Stop \d of 5: [a-z]+", words(app)), *said]


def test_each_stop_of_the_tour_leads_to_the_next_and_the_last_one_back() -> None:
    app = script("app.py").run()
    pages, acts = ["input", "attention", "weight", "layers", "decoding"], ["read", "look", "compute", "add", "write"]
    for number, (page, does) in enumerate(zip(pages, acts, strict=True), start=1):
        opened(app, page, stop=str(number))
        following = f"{pages[number]}?stop={number + 1}" if number < 5 else "?stop=0"
        assert stop_of(app) == [f"Stop {number} of 5: {does}", following]
    app.button(key="stop_over").click().run()
    assert stop_of(app) == [] and "stop" not in app.query_params


def test_who_goes_to_another_page_than_the_next_stop_has_left_the_tour() -> None:
    app = script("app.py").run()
    assert stop_of(opened(app, "input", stop="1"))
    assert stop_of(app.switch_page("pages/positions.py").run()) == []
    assert stop_of(app.switch_page("pages/input.py").run()) == []
    assert "There is no" not in words(opened(app, "attention", stop="9")) and stop_of(app) == []


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
    stops = ["1 read", "2 look", "3 compute", "4 add", "5 write"]
    of_run = ["Why this weight?", "What else could it have written?", "Rewind the training", *stops]
    assert labels[:-1] == (of_run if page == "run" else [])
    alone = script(f"pages/{page}.py").run()
    assert not alone.exception
    assert not alone.get("page_link")
