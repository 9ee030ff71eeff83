"""How many messages a page takes: few when it opens, and fewer on a gesture (docs/bench.md has the numbers)."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from browser.driving import opened
from playwright.sync_api import Page, expect

MAX_OPENING, MAX_GESTURE = 30, 10
PAGES = ("", *"decoding input positions attention weight layers tensors masks playground models".split())
CONTROL = "[data-testid=stMain] [role=radio][aria-checked=false]:visible"
"""What a gesture presses: the first of a page's choices that is not chosen; the step on, on a page without any."""


@pytest.mark.parametrize("path", PAGES)
def test_a_page_opens_with_few_messages_and_answers_a_gesture_with_fewer(app_server, browser, path):
    with opened(browser, app_server, "/models", checkpoint="numbers-any") as page:  # what all need is imported
        at_rest(page)
        frames: list[int] = []
        page.on("websocket", lambda connection: connection.on("framereceived", lambda data: frames.append(len(data))))

        def counted(act: Callable[[], object]) -> tuple[int, int]:
            frames.clear()
            act()
            at_rest(page)
            return len(frames), sum(frames)

        opening = counted(lambda: page.goto(f"{app_server}/{path}?checkpoint=numbers-any&text=42"))
        control = page.locator(CONTROL)
        gesture = counted(lambda: control.first.click() if control.count() else page.keyboard.press("ArrowRight"))
        print(f"{path or 'run'}: {opening[0]}, {opening[1] / 1e6:.2f} MB; {gesture[0]}, {gesture[1] / 1e6:.2f} MB")
        assert 0 < opening[0] <= MAX_OPENING
        assert 0 < gesture[0] <= MAX_GESTURE


def at_rest(page: Page) -> None:
    """Wait until nothing runs, and nothing more has come for a while."""
    app = page.get_by_test_id("stApp")
    for _ in range(3):
        page.wait_for_timeout(400)
        expect(app).to_have_attribute("data-test-script-state", "notRunning")
