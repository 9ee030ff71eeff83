"""The keys of a projector after real clicks: whatever was clicked has the focus then."""

from __future__ import annotations

import pytest
from browser.driving import MATRIX, address, drawn, expect_address, viewed
from browser.test_pages import PAGES
from playwright.sync_api import Page, expect

VIEW = {"checkpoint": "numbers-tiny", "text": "0.07", "projector": "on"}
EMPTY = {"x": 8, "y": 300}  # the margin left of a scene


def ready(page: Page) -> None:
    expect(page.locator(".vt-projector")).to_be_attached()
    expect(page.locator(".component.keys")).to_be_attached()
    expect(page.locator('[data-testid="stApp"][data-test-script-state="notRunning"]')).to_be_attached()


def off(page: Page) -> None:
    expect(page.locator(".vt-projector")).to_have_count(0)
    expect_address(page, projector=None)


@pytest.mark.parametrize("title", ["Run", "Layers", "Playground", "Models"])
def test_escape_leaves_the_projector_after_a_click_on_an_empty_place(app_server, browser, title):
    with viewed(browser, app_server, f"/{PAGES[title][0]}", **VIEW) as page:
        ready(page)
        page.get_by_test_id("stMain").click(position=EMPTY)
        page.keyboard.press("Escape")
        off(page)


def test_arrows_go_from_step_to_step_after_a_click_on_an_empty_place_or_a_button(app_server, browser):
    with viewed(browser, app_server, "/attention", kind="decoder", t=2, **VIEW) as page:
        ready(page)
        drawn(page, MATRIX)
        page.get_by_test_id("stMain").click(position=EMPTY)
        page.keyboard.press("ArrowRight")
        expect_address(page, t=3)
        page.locator(".strip .row").last.locator(".chips button").nth(1).click()
        expect_address(page, t=1)
        page.keyboard.press("ArrowRight")
        expect_address(page, t=2)


def test_a_picture_in_focus_keeps_its_arrows_and_escape_first_undoes_its_zoom(app_server, browser):
    with viewed(browser, app_server, "/attention", kind="cross", t=2, i=1, **VIEW) as page:
        ready(page)
        stage = drawn(page, MATRIX)
        stage.focus()
        page.keyboard.press("ArrowRight")
        expect_address(page, i=2, t=2)
        page.keyboard.press("+")
        page.keyboard.press("Escape")
        page.keyboard.press("ArrowRight")  # once it is heard of, the Escape before it was too
        expect_address(page, i=3)
        assert address(page)["projector"] == "on"
        page.keyboard.press("Escape")
        off(page)


@pytest.mark.parametrize("clicked", ["button[aria-label='Previous snapshot']", "input[type=range]"])
def test_escape_leaves_the_projector_after_a_click_on_what_leads_through_the_snapshots(app_server, browser, clicked):
    with viewed(browser, app_server, "/models", model_tab="training", **VIEW) as page:
        ready(page)
        drawn(page, ".snapshots .stage")
        page.locator(f".snapshots {clicked}").click()
        page.keyboard.press("Escape")
        off(page)


def test_keys_that_are_typed_into_a_box_stay_there(app_server, browser):
    with viewed(browser, app_server, checkpoint="numbers-tiny", text="0.07") as page:
        box = page.locator(".st-key-run_text textarea")
        drawn(page, ".scrubber .stage")
        box.press("End")
        box.press("p")
        box.press("?")
        expect(box).to_have_value("0.07p?")
        expect(page.get_by_role("dialog", name="Guide and keys")).to_be_hidden()
        assert "projector" not in address(page)
