"""The picture of the whole run in the app: its levels are entered by keyboard alone, and each stands in the address."""

from __future__ import annotations

import re

from browser.driving import opened
from playwright.sync_api import Page, expect

LEVELS = ("run", "layer", "attention", "weight")


def at_level(page: Page, level: str) -> None:
    """The picture is at a level, with all that it needs."""
    expect(page.locator(f".whole .stage[data-level={level}]:not([data-moving])")).to_be_visible()
    expect(page.locator(".whole .now")).not_to_contain_text("being fetched")


def test_keys_lead_down_to_one_weight_and_back_and_each_level_has_its_address(app_server, browser):
    with opened(browser, app_server, checkpoint="numbers-any", text="42", run_view="whole") as page:
        at_level(page, "run")
        page.locator(".whole .stage").focus()
        for level in LEVELS[1:]:
            page.keyboard.press("+")
            at_level(page, level)
            expect(page).to_have_url(re.compile(rf"level={level}\b"))
        words = page.locator(".whole .now").text_content()
        page.reload()
        at_level(page, "weight")
        expect(page.locator(".whole .now")).to_have_text(words or "")
        page.locator(".whole .stage").focus()
        for level in reversed(LEVELS[:-1]):
            page.keyboard.press("Escape")
            at_level(page, level)
        expect(page).not_to_have_url(re.compile("level="))


def test_a_whole_answer_is_played(app_server, browser):
    with opened(browser, app_server, checkpoint="numbers-any", text="2", run_view="whole") as page:
        at_level(page, "run")
        page.locator(".whole .stage").focus()
        page.get_by_role("button", name="Speed of playing").click()  # twice as fast
        page.locator(".whole .stage").focus()
        page.keyboard.press(" ")
        expect(page.locator(".whole .now")).to_contain_text("The text is read once")
        expect(page.get_by_role("button", name="Play the steps")).to_be_visible()
        expect(page.locator(".whole .now")).to_contain_text("Step 1 of 0 to 1")
