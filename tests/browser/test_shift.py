"""What is on the page stays where it is while the rest arrives: Chromium's own count of layout shifts."""

from __future__ import annotations

from typing import Any

import pytest
from browser.boxes import AT_REST
from browser.driving import go_to, opened
from browser.test_in_view import finished
from browser.test_pages import PAGES
from playwright.sync_api import Page

FIRST, CHANGED, AT_ONCE = 0.1, 0.05, 0.2
"""The most that a first load may shift (what browsers call good), and a change of page; and this with what moves in the
half second behind a click, which browsers leave out: there the old page makes room for the new one."""
COUNT = """(() => {
  window.shifts = []
  const named = (node) => node?.closest?.("[class*=st-key-], [data-testid]")?.outerHTML.slice(0, 160) ?? "(gone)"
  new PerformanceObserver((list) => {
    for (const { value, hadRecentInput, sources } of list.getEntries())
      window.shifts.push({ value, clicked: hadRecentInput, moved: sources.map((each) =>
        `${JSON.stringify(each.previousRect)} to ${JSON.stringify(each.currentRect)} ${named(each.node)}`) })
  }).observe({ type: "layout-shift", buffered: true })
})()"""


def shifted(page: Page, *, clicked: bool) -> tuple[float, list[dict[str, Any]]]:
    """The sum of all shifts so far and the shifts, the largest first, which are forgotten. clicked: with those that
    come at once behind a click, which a browser leaves out."""
    found = page.evaluate("() => window.shifts.splice(0)")
    counted = sorted((each for each in found if clicked or not each["clicked"]), key=lambda each: -each["value"])
    return sum(each["value"] for each in counted), counted


def told(where: str, shifts: list[dict[str, Any]]) -> str:
    """Where what moved how far, whole: pytest shortens what is no text."""
    return "\n".join([where, *(f"{each['value']:.4f} {each['clicked']} {each['moved']}" for each in shifts)])


TITLES = tuple(PAGES)


@pytest.mark.parametrize(
    "titles", [TITLES[::2], pytest.param(TITLES, marks=pytest.mark.slow)], ids=["every other page", "every page"]
)
def test_nothing_moves_much_while_a_page_loads(app_server, browser, titles):
    with opened(browser, app_server, "/input", another=True, script=COUNT) as page:
        page.set_viewport_size({"width": 1280, "height": 720})
        for path, _ in (PAGES[title] for title in titles):
            page.goto(f"{app_server}/{path}")
            finished(page)
            moved, shifts = shifted(page, clicked=False)
            assert moved < FIRST, told(path, shifts)


@pytest.mark.parametrize(
    "titles", [TITLES[1::2], pytest.param(TITLES, marks=pytest.mark.slow)], ids=["every other page", "every page"]
)
def test_nothing_moves_much_while_another_page_comes(app_server, browser, titles):
    with opened(browser, app_server, "/", script=COUNT, run_view="whole") as page:
        page.set_viewport_size({"width": 1280, "height": 720})
        finished(page)
        page.evaluate(AT_REST)
        shifted(page, clicked=True)
        for title in titles:
            go_to(page, title)
            finished(page)
            page.evaluate(AT_REST)
            moved, shifts = shifted(page, clicked=True)
            later = sum(each["value"] for each in shifts if not each["clicked"])
            assert later < CHANGED and moved < AT_ONCE, told(title, shifts)
