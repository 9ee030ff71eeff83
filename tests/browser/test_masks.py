"""The Masks page in a real browser: the masks before and after in view, and a click that the ring follows."""

from __future__ import annotations

import pytest
from browser.boxes import AT_REST
from browser.driving import drawn, expect_address, opened, server_unreachable, viewed
from playwright.sync_api import Browser, Page, expect

STAGE = ".masks .stage"
SIZE = {"width": 1280, "height": 720}
SOUGHT = """([stage, words]) => {
  const box = stage.getBoundingClientRect()
  const tip = stage.getRootNode().querySelector(".tooltip")
  for (let y = 4; y < box.height; y += 6)
    for (let x = box.width - 4; x > 0; x -= 6) {
      stage.dispatchEvent(new PointerEvent("pointermove", { clientX: box.left + x, clientY: box.top + y }))
      if (!tip.hidden && words.every((word) => tip.textContent.includes(word))) {
        const { left, right } = tip.getBoundingClientRect()
        return { x, y, tip: [left - box.left, right - box.left], width: box.width }
      }
    }
}"""


def sought(page: Page, *words: str) -> dict[str, float]:
    """The place of the rightmost cell in the first row whose tooltip has these words, and where that tooltip is."""
    stage = page.locator(STAGE)
    found: dict[str, float] = stage.evaluate("(stage, words) => (" + SOUGHT + ")([stage, words])", [*words])
    assert found, words
    return found


@pytest.mark.parametrize(
    ("scheme", "name"),
    [
        ("dark", "numbers"),
        ("light", "multi30k-de-en"),
        ("dark", "shakespeare"),
        pytest.param("light", "numbers", marks=pytest.mark.slow),
        pytest.param("dark", "multi30k-de-en", marks=pytest.mark.slow),
        pytest.param("light", "shakespeare", marks=pytest.mark.slow),
    ],
)
def test_the_masks_before_and_after_are_in_view_without_scrolling(
    app_server: str, browser: Browser, name: str, scheme: str
) -> None:
    with opened(browser, app_server, "/masks", scheme=scheme, checkpoint=name) as page:
        page.set_viewport_size(SIZE)
        drawn(page, STAGE)
        page.evaluate(AT_REST)
        box = page.locator(STAGE).bounding_box()
        bar = page.locator(".st-key-choices").bounding_box()
        assert box and box["x"] >= 240 and box["x"] + box["width"] <= 1280 and box["y"] + box["height"] <= 720
        assert bar and bar["height"] <= 44 and bar["y"] + bar["height"] <= box["y"]
        expect_address(page, mask_kind="decoder")


def test_a_tooltip_leaves_the_neighbouring_mask_in_view(app_server: str, browser: Browser) -> None:
    with viewed(browser, app_server, "/masks", checkpoint="numbers", kind="decoder") as page:
        page.set_viewport_size(SIZE)
        drawn(page, STAGE)
        page.evaluate(AT_REST)
        before = sought(page, "query 0", "Before: closed")
        after = sought(page, "query 0", "closed by causality")
        assert before["tip"][1] <= before["x"] + 12 < after["tip"][0]
        assert sought(page, "key 0", "Causal: open")["tip"][1] < sought(page, "key 0", "Before: open")["x"]


def test_the_ring_is_where_the_click_was_before_the_server_answers(app_server: str, browser: Browser) -> None:
    ring = "(canvas, [x, y, w]) => [...canvas.getContext('2d').getImageData(x, y, w, w).data].some((value) => value)"
    with viewed(browser, app_server, "/masks", checkpoint="numbers", mask_batch="") as page:
        page.set_viewport_size(SIZE)
        stage = drawn(page, STAGE)
        page.evaluate(AT_REST)
        at = sought(page, "query 3", "key 1", "”open")
        stage.evaluate("(stage) => stage.dispatchEvent(new PointerEvent('pointerleave'))")
        over = page.locator(".masks canvas.over")
        place = [at["x"] - 24, at["y"] - 16, 48]
        assert not over.evaluate(ring, place)
        with server_unreachable(page):
            stage.click(position={"x": at["x"], "y": at["y"]})
            stage.evaluate("(stage) => stage.dispatchEvent(new PointerEvent('pointerleave'))")
            assert over.evaluate(ring, place)


def test_the_weights_before_and_after_are_in_view_beside_each_other(app_server: str, browser: Browser) -> None:
    with viewed(browser, app_server, "/masks", checkpoint="numbers", mask_view="weights") as page:
        page.set_viewport_size(SIZE)
        for when in ("before", "after"):
            drawn(page, f".st-key-masks_{when} .matrix .stage")
        page.evaluate(AT_REST)
        boxes = [page.locator(f".st-key-masks_{when} .matrix .stage").bounding_box() for when in ("before", "after")]
        before, after = boxes
        assert before and after and before["y"] == after["y"] and before["x"] + before["width"] <= after["x"]
        assert all(box and box["height"] >= 400 and box["y"] + box["height"] <= 720 for box in boxes)


def test_the_masks_of_two_runs_stand_beside_each_other_and_one_cell_is_marked_in_both(
    app_server: str, browser: Browser
) -> None:
    pin = {"pin_checkpoint": "numbers", "pin_text": "1,284", "shown": "A|B", "mask_batch": ""}
    drawn_there = "(canvas) => [...canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data].join()"
    with viewed(browser, app_server, "/masks", checkpoint="numbers", **pin) as page:
        page.set_viewport_size(SIZE)
        stages = page.locator(STAGE)
        expect(stages).to_have_count(2)
        drawn(page, f".st-key-masks_four {STAGE}")
        drawn(page, f".st-key-masks_four_b {STAGE}")
        over = page.locator(".st-key-masks_four_b canvas.over")
        before = over.evaluate(drawn_there)
        box = stages.nth(0).bounding_box()
        assert box
        page.mouse.move(box["x"] + box["width"] * 0.5, box["y"] + box["height"] * 0.5)
        expect(page.locator(".st-key-masks_four .tooltip")).to_be_visible()
        marked = over.evaluate(drawn_there)
        page.mouse.move(5, 5)
        assert marked != before and over.evaluate(drawn_there) == before
