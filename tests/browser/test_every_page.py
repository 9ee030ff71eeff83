"""Every page with a bundled model of each kind: it answers its question; nothing on it sticks out, overlaps or is cut,
and on a telephone it is no wider than the screen.

The models are dealt over the pages in turn, and so are all sizes but the narrow one and that of a telephone; every page
with every model and at every size is tried before a release.
Each page with each bundled model, without a browser: `pages/test_bundled.py`. Models of other families, with turned
queries, biases by distance or labels: `test_families.py`.
"""

from __future__ import annotations

from itertools import cycle

import pytest
from browser.boxes import AT_REST, NOTES, PROBLEMS, STICKING_OUT
from browser.driving import address, go_to, opened, visit
from browser.test_pages import PAGES
from playwright.sync_api import Page, expect

Size = tuple[int, int]
NARROW = (900, 700)
SIZES = (NARROW, (1280, 720), (1280, 900), (1920, 1080))
TELEPHONES = ((390, 844), (360, 740))
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


def too_wide(page: Page) -> list[str]:
    """The telephones that the page is wider than."""
    found = []
    for width, height in TELEPHONES:
        page.set_viewport_size({"width": width, "height": height})
        page.evaluate(AT_REST)
        if page.get_by_test_id("stMain").evaluate("(main) => main.scrollWidth - main.clientWidth"):
            found.append(f"{width}x{height}: wider than the screen")
    return found


def arrived(page: Page) -> None:
    expect(page.locator(".st-key-next a").last).to_be_attached()
    expect(page.locator("[data-test-script-state=running], [data-testid=stSkeleton]")).to_have_count(0)
    expect(page.locator(".stPlotlyChart:not(:has(.main-svg))")).to_have_count(0)


DEALT = dict(zip(PAGES, cycle(MODELS), strict=False))
EVERY = [
    pytest.param(
        dict.fromkeys(PAGES if name == MODELS[0] else [each for each in PAGES if each != "Playground"], name),
        id=name,
        marks=pytest.mark.slow,
    )
    for name in MODELS
]
"""Pages with the model that each has; the numbers of *Playground* are of none."""


@pytest.mark.parametrize("models", [pytest.param(DEALT, id="dealt"), *EVERY])
def test_every_page_answers_its_question_and_nothing_on_it_overlaps_or_is_cut(app_server, browser, models):
    wrong = {}
    with opened(browser, app_server, script=NOTES, run_view="whole") as page:  # where the tour is offered once
        for number, (title, name) in enumerate(models.items()):
            path, answer = PAGES[title]
            sizes = (NARROW, SIZES[1 + number % 3]) if models is DEALT else SIZES
            visit(page, f"/{path}", checkpoint=name, run_view="whole")
            expect(page.locator("h1")).to_have_text(title)
            expect(page.locator(answer).first).to_be_visible()
            expect(page.locator(".vt-explained")).to_be_visible()
            expect(page.locator(".vt-note.vt-bad:visible")).to_have_count(0)
            assert address(page)["checkpoint"] == name
            arrived(page)
            turn = -1 if number % 2 else 1
            if found := [*problems(page, *sizes[::turn]), *too_wide(page)]:  # the next page is come to on a telephone
                wrong[title, name] = found
    assert wrong == {}


IN_TURN = (SIZES[::2], SIZES[1::2])
"""One page is looked at in a narrow window and a high one, the next in a low one and a large one."""


@pytest.mark.parametrize(
    "sizes",
    [pytest.param(IN_TURN, id="dealt"), pytest.param((SIZES, SIZES[::-1]), id="every", marks=pytest.mark.slow)],
)
def test_nothing_overlaps_or_is_cut_where_two_runs_stand_beside_each_other(app_server, browser, sizes):
    wrong = {}
    with opened(browser, app_server, script=NOTES, **PINNED) as page:
        for number, title in enumerate(BESIDE):
            if number:
                go_to(page, title)
            arrived(page)
            if title in ("Run", "Attention"):
                expect(page.locator(".matrix .stage[data-painted]")).to_have_count(2)
            if found := problems(page, *sizes[number % 2]):
                wrong[title] = found
    assert wrong == {}
