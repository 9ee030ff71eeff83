"""One scroll bar, that of the page: the sidebar fits the window. What is inside a page: `test_in_view.py`."""

from __future__ import annotations

import pytest
from browser.boxes import AT_REST
from browser.driving import viewed
from browser.test_in_view import finished
from playwright.sync_api import expect

FITS = "(sidebar) => [sidebar.scrollHeight - sidebar.clientHeight, sidebar.scrollWidth - sidebar.clientWidth]"


@pytest.mark.parametrize("path", ["/", "/layers"])
def test_all_of_the_sidebar_is_seen_without_scrolling(app_server, browser, subtests, path):
    with viewed(browser, app_server, path, checkpoint="numbers-any") as page:
        sidebar = page.get_by_test_id("stSidebarContent")
        help_, projector = (
            page.get_by_role("button", name="Guide and keys (?)"),
            page.locator(".st-key-sidebar_projector"),
        )
        theme = page.get_by_role("group", name="Theme")
        for width, height in ((1280, 720), (900, 700), (1920, 1080)):
            with subtests.test(width=width):
                page.set_viewport_size({"width": width, "height": height})
                finished(page)
                page.evaluate(AT_REST)
                models = sidebar.get_by_role("link", name="Models")
                for part in (models, page.locator(".locator"), projector, help_, theme):
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
