"""One scroll bar: that of the page. The sidebar fits the window, and nothing on a page is scrolled for two rows."""

from __future__ import annotations

import pytest
from browser.driving import go_to, viewed
from browser.test_in_view import finished
from browser.test_pages import PAGES
from playwright.sync_api import expect

HARDLY = 80
"""Pixels: what scrolls for less would have had room on the page."""
INSIDE = """(least) => [...document.querySelectorAll(".stMain *")].flatMap((part) => {
  const hidden = part.scrollHeight - part.clientHeight
  const scrolls = /auto|scroll/.test(getComputedStyle(part).overflowY) && part.clientHeight && hidden > 0
  return scrolls && hidden < least ? [`${part.className} ${part.clientHeight} of ${part.scrollHeight}`] : []
})"""
FITS = "(sidebar) => [sidebar.scrollHeight - sidebar.clientHeight, sidebar.scrollWidth - sidebar.clientWidth]"


@pytest.mark.parametrize("size", [(1280, 720), (900, 700), (1920, 1080)], ids=str)
@pytest.mark.parametrize("path", ["/", "/layers"])
def test_all_of_the_sidebar_is_seen_without_scrolling(app_server, browser, size, path):
    width, height = size
    with viewed(browser, app_server, path, checkpoint="numbers-any") as page:
        page.set_viewport_size({"width": width, "height": height})
        finished(page)
        sidebar = page.get_by_test_id("stSidebarContent")
        help_, projector = (
            page.get_by_role("button", name="Guide and keys (?)"),
            page.locator(".st-key-sidebar_projector"),
        )
        theme = page.get_by_role("group", name="Theme")
        for part in (sidebar.get_by_role("link", name="Models"), page.locator(".locator"), projector, help_, theme):
            expect(part).to_be_in_viewport(ratio=1)
        assert sidebar.evaluate(FITS) == [0, 0]
        feet = [part.bounding_box() for part in (projector, help_, theme)]
        assert all(foot is not None and foot["y"] > height - 100 for foot in feet)  # at the bottom
        expect(help_).to_have_text("Help?")


def test_help_opens_the_guide_which_says_how_to_read_a_page_and_lists_the_keys(app_server, browser):
    with viewed(browser, app_server, "/layers", checkpoint="numbers-any") as page:
        page.get_by_role("button", name="Guide and keys (?)").click()
        guide = page.get_by_role("dialog", name="Guide and keys")
        expect(guide).to_contain_text("How to read it")
        expect(guide).to_contain_text("previous and next scene")
        page.keyboard.press("Escape")
        expect(guide).to_be_hidden()


def test_the_map_of_the_model_is_drawn_anew_where_the_window_gets_lower(app_server, browser):
    with viewed(browser, app_server, "/layers", checkpoint="numbers-any") as page:
        finished(page)
        plan = page.locator(".locator .plan")
        for height in (900, 700, 900):
            page.set_viewport_size({"width": 1280, "height": height})
            expect(plan).to_have_css("height", "142px" if height > 780 else "110px")
            expect(page.locator(".locator .wires")).to_have_attribute("height", "142" if height > 780 else "110")


def test_nothing_is_scrolled_inside_a_page_for_two_rows(app_server, browser):
    with viewed(browser, app_server, "/", checkpoint="numbers-any", run_view="whole") as page:
        page.set_viewport_size({"width": 1280, "height": 720})
        for title, (_, there) in PAGES.items():
            go_to(page, title)
            expect(page.locator(there).first).to_be_visible()
            finished(page)
            assert page.evaluate(INSIDE, HARDLY) == [], title
