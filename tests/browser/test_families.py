"""Folders of transformers in a real browser: each page has a picture or says why not; nothing overlaps or is cut."""

from __future__ import annotations

import pytest
from browser.boxes import NOTES
from browser.driving import address, opened, visit
from browser.test_every_page import NARROW, arrived, problems
from browser.test_pages import PAGES
from playwright.sync_api import Browser, expect

READ = {
    "m2m_100": "two hundred",
    "bert-labels": "the cat ran\ta dog sat",
    "gpt_neox": "two hundred",
    "t5": "two hundred",
    "mt5": "two hundred",
}
"""What each reads: one with two stacks and a long name, one that reads two texts, one that adds two parts at once, and
two whose attention adds a bias by distance, of which one has gates."""
NOT_TOLD = {
    "One weight": "This model does not tell the maps and norms",
    "Decoding": "reads a text and writes nothing",
    "Layers": "Decoder layer 1, the whole layer",
    "Masks": "these are the masks of its run",
    "Positions": "Bias by distance",
}
"""What stands in the place of a picture, or beside another one."""


DEALT = {
    "Run": "gpt_neox",
    "Decoding": "bert-labels",
    "Input": "mt5",
    "Positions": "t5",
    "Attention": "m2m_100",
    "One weight": "mt5",
    "Layers": "gpt_neox",
    "Tensors": "bert-labels",
    "Masks": "m2m_100",
    "Models": "t5",
}
"""Of the pages that are about a model, the one that each has; every page with every one is tried before a release."""


@pytest.mark.parametrize(
    "models",
    [
        pytest.param(DEALT, id="dealt"),
        *(pytest.param(dict.fromkeys(DEALT, name), id=name, marks=pytest.mark.slow) for name in READ),
    ],
)
def test_every_page_has_its_picture_or_its_sentence_and_nothing_on_it_overlaps_or_is_cut(
    their_server: str, browser: Browser, models: dict[str, str]
) -> None:
    wrong = {}
    assert {*DEALT} == {*PAGES} - {"Playground"}  # whose numbers are of no model
    with opened(browser, their_server, "/models", script=NOTES, model_tab="open") as page:
        for title, name in models.items():
            path, answer = PAGES[title]
            visit(page, f"/{path}", checkpoint=name, text=READ[name], run_view="whole")
            expect(page.locator("h1")).to_have_text(title)
            there = page.locator(f"{answer}:visible")
            if title in NOT_TOLD:
                there = there.or_(page.get_by_text(NOT_TOLD[title]))
            expect(there.first).to_be_visible()
            expect(page.locator(".vt-explained")).to_be_visible()
            expect(page.locator(".vt-note.vt-bad:visible")).to_have_count(0)
            assert address(page)["checkpoint"] == name
            arrived(page)
            if found := problems(page, NARROW, (1280, 900)):
                wrong[title, name] = found
    assert wrong == {}
