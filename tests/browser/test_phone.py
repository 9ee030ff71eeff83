"""On a telephone nothing that one needs is cut, and no page is wider than the screen."""

from __future__ import annotations

import pytest
from browser.boxes import AT_REST
from browser.driving import opened
from browser.test_every_page import TELEPHONES
from browser.test_in_view import finished
from browser.test_pages import PAGES
from playwright.sync_api import Locator, Page, expect


def whole(page: Page, part: Locator) -> bool:
    """Whether a part has its place between the edges of the screen, whatever is above or below it."""
    part.scroll_into_view_if_needed()
    place = part.bounding_box()
    size = page.viewport_size
    assert place is not None and size is not None, part
    return place["x"] >= 0 and place["x"] + place["width"] <= size["width"]


@pytest.mark.parametrize(("width", "height"), [pytest.param(*TELEPHONES[0], marks=pytest.mark.slow), TELEPHONES[1]])
def test_all_of_run_can_be_used_on_a_telephone(app_server, browser, width, height):
    with opened(browser, app_server, "/", run_view="whole", checkpoint="numbers-any", text="29,284.30") as page:
        page.set_viewport_size({"width": width, "height": height})
        finished(page)
        box = page.locator(".st-key-run_text textarea")
        examples = [each for each in page.locator(".st-key-run_example button").all() if each.is_visible()]
        tools = [page.get_by_role("button", name=name).first for name in ("Play the steps", "Next step", "Keep run")]
        slider = page.get_by_role("slider", name="Number")
        why = page.get_by_role("link", name="Why this weight?")
        assert examples
        for part in (box, *examples, slider, *tools, why, page.locator(".st-key-run_head button").last):
            assert whole(page, part), part
        assert box.evaluate("(box) => box.scrollWidth - box.clientWidth") == 0
        room = page.locator(".st-key-status").bounding_box()
        assert room is not None and room["width"] >= 60 and room["x"] + room["width"] <= width  # "Live" is whole there
        page.get_by_test_id("stExpandSidebarButton").click()
        expect(page.locator(".st-key-sidebar_model")).to_be_in_viewport(ratio=1)


@pytest.mark.slow
def test_no_page_that_is_loaded_anew_is_wider_than_a_telephone(app_server, browser):
    """Those that are come to: `test_every_page.py`."""
    wrong = []
    with opened(browser, app_server, "/input", checkpoint="numbers-any") as page:
        for path, _ in PAGES.values():
            for width, height in TELEPHONES:
                page.set_viewport_size({"width": width, "height": height})
                page.goto(f"{app_server}/{path}")
                finished(page)
                page.evaluate(AT_REST)
                if page.locator(".stMain").evaluate("(main) => main.scrollWidth - main.clientWidth"):
                    wrong.append((path, width))
    assert wrong == []
