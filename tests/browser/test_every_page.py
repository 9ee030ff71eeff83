"""Every page with a bundled model of each kind: it answers its question; nothing on it sticks out, overlaps or is cut.

A model's pages are walked through once, in one session; what takes the time is to come to a page, not to look at it.
Each page with each bundled model, without a browser: `pages/test_bundled.py`. Models of other families, with turned
queries, biases by distance or labels: `test_families.py`.
"""

from __future__ import annotations

import pytest
from browser.boxes import AT_REST, NOTES, PROBLEMS, STICKING_OUT
from browser.driving import address, drawn, go_to, opened
from browser.test_pages import PAGES
from playwright.sync_api import Page, expect

Size = tuple[int, int]
NARROW = (900, 700)
SIZES = (NARROW, (1280, 720), (1280, 900), (1920, 1080))
MODELS = ("numbers-any", "multi30k-de-en", "taylor", "shakespeare", "en-it-slips")
"""Two stacks over characters, and over words with long names; learned positions and formulas; a decoder alone; and the
slips of a notebook: raw reshape, norms behind, padded texts."""
PINNED = {
    "checkpoint": "numbers",
    "text": "29,284.30",
    "pin_checkpoint": "numbers",
    "pin_text": "1,234.50",
    "shown": "A|B",
}
BESIDE = ("Run", "Decoding", "Attention", "Layers", "Tensors", "Masks")
"""Pages that show two runs beside each other, or one with the mean of the other."""


def problems(page: Page, *sizes: Size) -> list[str]:
    """What is wrong at these sizes; the page is looked at again for a second, for it may not have come to rest."""
    found: list[str] = []
    for width, height in sizes:
        page.set_viewport_size({"width": width, "height": height})
        for _ in range(4):
            page.evaluate(AT_REST)
            if not (wrong := looked_at(page, (width, height) == NARROW)):
                break
        found += [f"{width}x{height}: {each}" for each in wrong]
    return found


def looked_at(page: Page, edge: bool) -> list[str]:
    """What is wrong with the places of texts and controls, and at the edge of the window."""
    found, count = page.evaluate(PROBLEMS)
    assert count > 40, "the page has hardly a text"
    return [*found, *(f"sticks out: {each}" for each in (page.evaluate(STICKING_OUT) if edge else ()))]


def arrived(page: Page) -> None:
    expect(page.locator(".st-key-next a").last).to_be_attached()
    expect(page.locator("[data-test-script-state=running], [data-testid=stSkeleton]")).to_have_count(0)
    expect(page.locator(".stPlotlyChart:not(:has(.main-svg))")).to_have_count(0)


@pytest.mark.parametrize("name", MODELS)
def test_every_page_answers_its_question_and_nothing_on_it_overlaps_or_is_cut(app_server, browser, name):
    sizes, wrong = SIZES, {}
    with opened(browser, app_server, script=NOTES, checkpoint=name, run_view="whole") as page:
        drawn(page, ".whole .stage")
        for title, (_, answer) in PAGES.items():
            if title == "Playground" and name != MODELS[0]:
                continue  # its numbers are of no model
            go_to(page, title)
            expect(page.locator(answer).first).to_be_visible()
            expect(page.locator(".vt-explained")).to_be_visible()
            expect(page.locator(".vt-note.vt-bad:visible")).to_have_count(0)
            assert address(page)["checkpoint"] == name
            arrived(page)
            if found := problems(page, *sizes):
                wrong[title] = found
            sizes = sizes[::-1]  # the next page is come to at the last size of this one
    assert wrong == {}


def test_nothing_overlaps_or_is_cut_where_two_runs_stand_beside_each_other(app_server, browser):
    wrong = {}
    with opened(browser, app_server, script=NOTES, **PINNED) as page:
        for number, title in enumerate(BESIDE):
            if number:
                go_to(page, title)
            arrived(page)
            if title in ("Run", "Attention"):
                expect(page.locator(".matrix .stage[data-painted]")).to_have_count(2)
            if found := problems(page, *SIZES[:: -1 if number % 2 else 1]):
                wrong[title] = found
    assert wrong == {}
