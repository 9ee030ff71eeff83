"""Every page with every bundled model: it answers its question; nothing sticks out, and with some, overlaps or is cut.

A model's pages are walked through once, in one session; what takes the time is to come to a page, not to look at it.
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
MEASURED = ("numbers-any", "numbers", "multi30k-de-en", "taylor", "shakespeare")
"""Numbers in characters and in words, sentences, formulas, a decoder alone: measured at each size."""
OTHERS = ("copy", "en-it-slips", "multi30k-tutorial6", "numbers-tiny", "tatoeba-en-it", "taylor-2terms")
"""Looked at in a narrow window only, for what sticks out of it."""
PINNED = {
    "checkpoint": "numbers",
    "text": "29,284.30",
    "pin_checkpoint": "numbers",
    "pin_text": "1,234.50",
    "shown": "A|B",
}
BESIDE = ("Run", "Decoding", "Attention", "Layers", "Tensors", "Masks")
"""Pages that show two runs beside each other, or one with the mean of the other."""


def problems(page: Page, *sizes: Size, places: bool = True) -> list[str]:
    """What is wrong at these sizes; the page is looked at again for a second, for it may not have come to rest."""
    found: list[str] = []
    for width, height in sizes:
        page.set_viewport_size({"width": width, "height": height})
        for _ in range(4):
            page.evaluate(AT_REST)
            if not (wrong := looked_at(page, places, (width, height) == NARROW)):
                break
        found += [f"{width}x{height}: {each}" for each in wrong]
    return found


def looked_at(page: Page, places: bool, edge: bool) -> list[str]:
    """What is wrong with the places of texts and controls, and at the edge of the window."""
    found: list[str] = []
    if places:
        found, count = page.evaluate(PROBLEMS)
        assert count > 40, "the page has hardly a text"
    return found + [f"sticks out: {each}" for each in (page.evaluate(STICKING_OUT) if edge else ())]


def arrived(page: Page) -> None:
    expect(page.locator(".st-key-next a").last).to_be_attached()
    expect(page.locator("[data-test-script-state=running], [data-testid=stSkeleton]")).to_have_count(0)
    expect(page.locator(".stPlotlyChart:not(:has(.main-svg))")).to_have_count(0)


@pytest.mark.parametrize("name", [*MEASURED, *OTHERS])
def test_every_page_answers_its_question_and_nothing_on_it_overlaps_or_is_cut(app_server, browser, name):
    all_sizes, wrong = SIZES if name in MEASURED else SIZES[:1], {}
    with opened(browser, app_server, script=NOTES, checkpoint=name, run_view="whole") as page:
        drawn(page, ".whole .stage")
        for title, (_, answer) in PAGES.items():
            go_to(page, title)
            expect(page.locator(answer).first).to_be_visible()
            expect(page.locator(".vt-explained")).to_be_visible()
            expect(page.locator(".vt-note.vt-bad:visible")).to_have_count(0)
            assert address(page)["checkpoint"] == name
            arrived(page)
            # the numbers of the playground are of no model: one of them measures it at each size
            sizes = SIZES[:1] if title == "Playground" and name != MEASURED[0] else all_sizes
            if found := problems(page, *sizes, places=name in MEASURED):
                wrong[title] = found
            all_sizes = all_sizes[::-1]  # the next page is come to at the last size of this one
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
