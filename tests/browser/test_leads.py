"""The ways through the app: to the next page, from a cell to why, and another text on every page, by keyboard."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

import pytest
from browser.driving import choose, drawn, expect_address, opened, server_unreachable, survey, tab_to, viewed, visit
from playwright.sync_api import Page, expect
from tabs import SECONDS

MATRIX = ".matrix .stage"
PAGES = (
    "",
    "decoding",
    "input",
    "positions",
    "attention",
    "weight",
    "layers",
    "tensors",
    "masks",
    "playground",
    "models",
)
WITH_A_STRIP = PAGES[:9]


def at_its_end(page: Page) -> None:
    """Wait until the page is drawn to its end: the keys of the whole page come last."""
    expect(page.get_by_role("button", name="Guide and keys (?)")).to_be_visible()
    expect(page.locator("[data-test-script-state=running]")).to_have_count(0)


@pytest.mark.parametrize(
    "loaded",
    [WITH_A_STRIP[::3], pytest.param(WITH_A_STRIP, marks=pytest.mark.slow)],
    ids=["every third loaded anew", "all loaded anew"],
)
def test_the_text_is_edited_on_every_page_that_shows_a_run(app_server, browser, loaded):
    with opened(browser, app_server, "/models", model_tab="open") as page:
        at_its_end(page)
        for path in WITH_A_STRIP:
            if path in loaded:
                page.goto(f"{app_server}/{path}?checkpoint=numbers-any&text=42&run_view=map")
                page.wait_for_function("() => window.vizTransformerSelection?.connected")
            else:
                visit(page, f"/{path}", checkpoint="numbers-any", text="42")
            page.keyboard.press("e")  # before there is a strip, where the page is loaded
            expect(page.get_by_role("textbox", name="Edit the text"), path).to_have_value("42")
            at_its_end(page)
            page.keyboard.type("700")
            page.keyboard.press("Enter")
            expect(page.get_by_role("group", name="reads").locator(".chip"), path).to_have_count(5)
            expect_address(page, text="700")


def test_every_page_reaches_the_next_by_keyboard(app_server, browser):
    with opened(browser, app_server, checkpoint="numbers-any", text="42") as page:
        for following in (*PAGES[1:], ""):
            link = page.locator(".st-key-next a")
            expect(link).to_have_attribute("href", re.compile(rf"(^|/){following}(\?|$)"))  # that of this page
            at_its_end(page)
            page.locator(".vt-explained").last.click()  # what the keyboard goes on from
            tab_to(page, link)
            page.keyboard.press("Enter")
            page.wait_for_url(f"**/{following}?**", timeout=SECONDS)


def test_a_key_that_nobody_chose_follows_the_steps_and_a_double_click_opens_why(app_server, browser):
    with viewed(browser, app_server, "/attention", checkpoint="numbers-any", text="42") as page:
        stage = drawn(page, MATRIX)
        at_its_end(page)
        ringed = page.get_by_role("group", name="reads").locator(".selected .token")
        seen = {ringed.text_content()}
        for _ in range(3):
            page.keyboard.press("ArrowRight")
            expect(ringed).to_have_count(1)
            page.wait_for_timeout(400)
            seen.add(ringed.text_content())
            assert "i=" not in page.url.partition("?")[2].replace("pin_", "")
        assert len(seen) > 1
        where = survey(stage)
        box = stage.bounding_box()
        page.mouse.dblclick(box["x"] + where.columns[2], box["y"] + where.rows[1])
        page.wait_for_url("**/weight?**", timeout=SECONDS)
        expect_address(page, t="1", i="2")


PADDED = ("Enter", "link")
WAYS = [
    pytest.param(
        gesture,
        batch,
        marks=() if bool(batch) == (gesture in PADDED) else pytest.mark.slow,
        id=f"{gesture}-{'padded' if batch else 'alone'}",
    )
    for gesture in ("double click", "Enter", "link", "masks")
    for batch in ("", "29,284.30")
]
"""Each gesture, alone or in a padded batch; each in both before a release."""


@pytest.mark.parametrize(("gesture", "batch"), WAYS)
def test_a_cell_of_masks_leads_to_its_weight_in_the_run(app_server, browser, gesture, batch):
    """By the map of the weights before, by the line below it, and by the mask before; not by a map of changed masks."""
    view = "masks" if gesture == "masks" else "weights"
    fields = {"mask_kind": "decoder", "mask_view": view, "mask_batch": batch, "mask_cells": "d3.0", "kind": "cross"}
    with opened(
        browser, app_server, "/masks", checkpoint="numbers-any", text="42", layer="0", heads="1", **fields
    ) as page:
        at_its_end(page)
        if gesture == "masks":
            stage = drawn(page, ".st-key-masks_four .masks .stage")
            place = _cell_of_before(stage, 2, 1)
        else:
            stage = drawn(page, ".st-key-masks_before .matrix .stage")
            place = survey(stage).at(2, 1)
            after = drawn(page, ".st-key-masks_after .matrix .stage")
            after.dblclick(position=survey(after).at(1, 0))
        stage.click(position=place)
        name = {"": ("t", "u")}.get(batch, ("mask_query", "mask_key"))
        expect_address(page, **dict(zip(name, (2, 1), strict=True)))
        assert urlsplit(page.url).path == "/masks"
        if gesture == "Enter":
            page.keyboard.press("Enter")
        elif gesture == "link":
            link = page.locator(".st-key-from_cell a").first
            if batch:  # the link itself says the cell
                expect(link).to_have_attribute("href", re.compile(r"(?=.*\bt=2\b)(?=.*\bu=1\b)"), timeout=SECONDS)
            link.click()
        else:
            stage.dblclick(position=place)
        page.wait_for_url("**/weight?**", timeout=SECONDS)
        expect_address(page, kind="decoder", layer="0", heads="1", t="2", u="1")


def _cell_of_before(stage, row, column):
    """A place in this cell of the mask before."""
    return stage.evaluate(
        """(stage, words) => {
          const box = stage.getBoundingClientRect()
          const tip = stage.getRootNode().querySelector(".tooltip")
          for (let y = 4; y < box.height; y += 6)
            for (let x = 4; x < box.width; x += 6) {
              stage.dispatchEvent(new PointerEvent("pointermove", { clientX: box.left + x, clientY: box.top + y }))
              if (!tip.hidden && words.every((word) => tip.textContent.includes(word))) return { x, y }
            }
        }""",
        [f"query {row}:", f"key {column}:", "Before: "],
    )


WAITS = (0, 30, 80)


@pytest.mark.parametrize(
    "waits", [WAITS, *(pytest.param((wait,) * 3, marks=pytest.mark.slow) for wait in WAITS)], ids=str
)
def test_a_step_while_another_page_is_on_its_way_is_taken_there_and_neither_is_lost(app_server, browser, waits):
    with viewed(browser, app_server, checkpoint="numbers-any", text="42") as page:
        ways = (("Layers", "layers", 2), ("Tensors", "tensors", 1), ("Run", "", 3))
        for (title, path, t), wait in zip(ways, waits, strict=True):
            at_its_end(page)
            page.evaluate(
                """async ([title, wait, t]) => {
                  const links = [...document.querySelectorAll("[data-testid=stSidebarNavLink]")]
                  links.find((link) => link.textContent.includes(title)).click()
                  await new Promise((go) => setTimeout(go, wait))
                  vizTransformerSelection.pick({ t })
                }""",
                [title, wait, t],
            )
            expect_address(page, t=t)
            expect(page.locator("h1")).to_have_text(title)
            assert urlsplit(page.url).path == f"/{path}"


EDIT_AND_LEAVE = """([text, title]) => {
  const strip = [...document.querySelectorAll(".st-key-run_strip *")].find((each) => each.shadowRoot)?.shadowRoot
  const box = strip.querySelector("textarea")
  box.value = text
  box.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true }))
  const links = [...document.querySelectorAll("[data-testid=stSidebarNavLink]")]
  links.find((link) => link.textContent.includes(title)).click()
}"""


def test_a_text_and_the_page_that_is_asked_for_at_the_same_moment_are_both_taken(app_server, browser):
    with viewed(browser, app_server, "/layers", checkpoint="numbers-any", text="42") as page:
        at_its_end(page)
        page.keyboard.press("e")
        page.evaluate(EDIT_AND_LEAVE, ["700", "Attention"])
        expect(page.locator("h1")).to_have_text("Attention")
        expect_address(page, text="700")
        at_its_end(page)
        page.keyboard.press("e")
        expect(page.get_by_role("textbox", name="Edit the text")).to_be_focused()
        page.keyboard.type("81")
        page.get_by_test_id("stSidebarNavLink").filter(has_text="Run").click()  # which leaves the box
        expect(page.locator("h1")).to_have_text("Run")
        expect_address(page, text="81")
        page.locator(".st-key-run_text textarea").fill("7")
        page.get_by_test_id("stSidebarNavLink").filter(has_text="Layers").click()
        expect(page.locator("h1")).to_have_text("Layers")
        expect_address(page, text="7")


@pytest.mark.parametrize("t", [2, *(pytest.param(t, marks=pytest.mark.slow) for t in (0, 1, 3))])
def test_a_text_that_waits_with_a_step_and_another_page_is_not_lost(app_server, browser, t):
    with viewed(browser, app_server, checkpoint="numbers-any", text="81") as page:
        at_its_end(page)
        with server_unreachable(page):
            page.evaluate("(t) => vizTransformerSelection.pick({ t })", t)
            page.wait_for_timeout(200)
            page.locator(".st-key-run_text textarea").fill("7")
            page.get_by_test_id("stSidebarNavLink").filter(has_text="Layers").click()
            page.wait_for_function("window.held.length >= 2")
        expect(page.locator("h1")).to_have_text("Layers")
        expect_address(page, text="7")


def test_a_text_that_is_too_long_is_shortened_with_one_click_on_any_page(app_server, browser):
    with viewed(browser, app_server, "/layers", checkpoint="numbers-any", text="42") as page:
        at_its_end(page)
        height = page.locator(".st-key-strip").bounding_box()
        page.keyboard.press("e")
        page.keyboard.type("9" * 90)
        page.keyboard.press("Enter")
        offer = page.get_by_role("button", name="Use the first")
        expect(offer).to_be_visible()
        assert page.locator(".st-key-strip").bounding_box() == height
        offer.click()
        expect(page.locator(".st-key-problem")).to_have_count(0)
        expect(page.get_by_role("group", name="reads").locator(".chip")).not_to_have_count(4)
        assert page.locator(".st-key-strip").bounding_box() == height


def test_the_map_of_the_model_marks_where_a_page_looks_and_leads_to_each_part(app_server, browser):
    with viewed(browser, app_server, "/attention", checkpoint="numbers-any", text="42") as page:
        page.set_viewport_size({"width": 1280, "height": 720})
        plan = page.get_by_role("toolbar", name="Map of the model")
        marked = plan.locator("[aria-current=location]")
        heading = page.locator("h1")
        expect(marked).to_have_attribute("title", "decoder layer 1, cross-attention")
        place = page.locator(".locator").bounding_box()
        for part in (page.get_by_test_id("stSidebarNavLink").first, page.locator(".st-key-sidebar_model")):
            assert part.bounding_box()["y"] < place["y"]
        assert place["y"] + place["height"] <= 700
        at_its_end(page)
        choose(page, "attention_kind", "Source → itself")
        expect(marked).to_have_attribute("title", "encoder layer 1, self-attention")
        plan.get_by_role("button", name="decoder layer 0, cross-attention").click()
        expect_address(page, kind="cross", layer="0")
        expect(heading).to_have_text("Attention")
        plan.get_by_role("button", name="encoder layer 2, feed-forward").click()
        expect(heading).to_have_text("Layers")
        expect_address(page, kind="encoder", layer="2", part="ffn")
        expect(marked).to_have_attribute("title", "encoder layer 2, feed-forward")
        expect(page.locator(".rail .part.selected")).to_have_attribute("title", re.compile("^encoder layer 2, feed-fo"))
        plan.locator("[tabindex='0']").focus()
        for key in ("Home", "ArrowRight", "End", "Enter"):
            page.keyboard.press(key)
        expect(heading).to_have_text("Decoding")
        expect(marked).to_have_attribute("title", "output of the decoder")
        assert page.locator(".locator").bounding_box() == place
        at_its_end(page)
        page.go_back()
        expect(heading).to_have_text("Layers")
        expect(marked).to_have_attribute("title", "encoder layer 2, feed-forward")
