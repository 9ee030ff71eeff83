"""How many messages a page takes: few when it opens, and fewer on a gesture (docs/bench.md has the numbers)."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from browser.driving import opened
from in_turn import every
from playwright.sync_api import Page, expect

MAX_OPENING, MAX_GESTURE = 30, 10
PAGES = ("", *"decoding input positions attention weight layers tensors masks playground models".split())
CONTROL = "[data-testid=stMain] [role=radio][aria-checked=false]:visible"
"""What a gesture presses: the first of a page's choices that is not chosen; the step on, on a page without any."""


@pytest.mark.parametrize("paths", every(2, [["", "decoding", "attention", "models"], [*PAGES]]), ids=["some", "all"])
def test_a_page_opens_with_few_messages_and_answers_a_gesture_with_fewer(app_server, browser, paths):
    wrong = {}
    with opened(browser, app_server, "/models", checkpoint="numbers-any") as page:  # what all need is imported
        frames: list[int] = []
        page.on("websocket", lambda connection: connection.on("framereceived", lambda data: frames.append(len(data))))

        def counted(act: Callable[[], object]) -> tuple[int, int]:
            frames.clear()
            act()
            at_rest(page, frames)
            return len(frames), sum(frames)

        def open_page(path: str) -> None:
            page.goto(f"{app_server}/{path}?checkpoint=numbers-any&text=42")

        open_page("")
        at_rest(page, frames)
        for path in paths:
            opening = counted(lambda path=path: open_page(path))
            control = page.locator(CONTROL)
            of_page = control.first.click if control.count() else lambda: page.keyboard.press("ArrowRight")
            gesture = counted(of_page)
            print(f"{path or 'run'}: {opening[0]}, {opening[1] / 1e6:.2f} MB; {gesture[0]}, {gesture[1] / 1e6:.2f} MB")
            if not (0 < opening[0] <= MAX_OPENING and 0 < gesture[0] <= MAX_GESTURE):
                wrong[path] = opening, gesture
    assert wrong == {}


def at_rest(page: Page, frames: list[int]) -> None:
    """Wait until something has come, nothing runs, and nothing more has come for a while."""
    app = page.get_by_test_id("stApp")
    seen = 0
    for _ in range(100):
        if frames and len(frames) == seen:
            return
        seen = len(frames)
        page.wait_for_timeout(500)
        expect(page.locator(".vt-explained")).to_be_visible()
        expect(app).to_have_attribute("data-test-script-state", "notRunning")
    raise AssertionError(f"{seen} messages have come, and {page.url} is not at rest")
