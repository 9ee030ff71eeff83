"""The app with its own models: from a click in the navigation to the next page painted, steps, and what is dragged."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

from playwright.sync_api import Browser, Page

from bench.browser import WINDOW, chromium, script
from bench.ratios import Result, count_rounds, measure
from bench.served import serving
from viz_transformer.checkpoint.contents import bundled_folder

PAGES = {
    "Input": (".st-key-input_sum", ".js-plotly-plot .main-svg"),
    "Positions": (".st-key-pos_picture", ".matrix .stage[data-painted]"),
    "Attention": (".st-key-picture", ".matrix .stage[data-painted]"),
    "One weight": (".st-key-weight_row", ".stage[data-painted]"),
    "Layers": (".st-key-layers_top", ".rail .part.selected"),
    "Tensors": (".st-key-tensors_panel", ".matrix .stage[data-painted]"),
    "Masks": (".st-key-masks_picture", ".masks .stage[data-painted]"),
    "Playground": (".st-key-play_picture", ".js-plotly-plot .main-svg"),
    "Models": (".st-key-cards", ".vt-card"),
    "Run": (".st-key-run_whole", ".whole .stage[data-painted]"),
}
"""By the title: the main picture, as its container and what is in it. A page that is not here has none before all."""
ROUNDS = 9
STEPS = 21
DRAG, EVERY = 24, 40
"""A drag of the number slider: how many moves of the pointer, and milliseconds from one to the next."""


def navigation_results() -> Iterator[Result]:
    """Every page with a run that is cached, a step, and both sliders. Raises RuntimeError without a browser."""
    with (
        tempfile.TemporaryDirectory() as folder,
        chromium() as browser,
        serving(bundled_folder(), Path(folder) / "app.log") as address,
    ):
        yield from page_changes(browser, address)
        yield run_steps(browser, address)
        yield number_slider(browser, address)
        yield from slider_steps(browser, address)


def page_changes(browser: Browser, address: str) -> Iterator[Result]:
    """Each page after the one before it in the navigation, after one round that is not counted."""
    page = opened(browser, address, checkpoint="numbers", text="29,284.30")
    titles = page.get_by_test_id("stSidebarNavLink").all_text_contents()
    titles = titles[1:] + titles[:1]  # the first is the one that is open
    rounds = [{title: change_page(page, title) for title in titles} for _ in range(count_rounds(ROUNDS) + 1)]
    page.context.close()
    for title in titles:
        for n, (what, aim) in enumerate((("main picture painted", "<= 300"), ("page complete", ""))):
            column = iter([each[title][n] for each in rounds])
            yield measure(
                f"{title}: click in the navigation to {what}",
                lambda c=column: next(c),
                rounds=ROUNDS,
                unit="ms",
                aim=aim,
            )


def run_steps(browser: Browser, address: str) -> Result:
    """Arrow keys on Attention, with nothing in focus, to the last step of the run and back."""
    page = opened(browser, address, "attention", checkpoint="numbers", text="29,284.30", t="0")
    last = page.evaluate("vizTransformerSelection.chosen.t") or 0
    if last:
        raise RuntimeError(f"the page begins with step {last}")

    def step(key: str) -> float:
        page.evaluate("() => { bench.await_key('.matrix .stage') }")
        page.keyboard.press(key)
        took = float(page.evaluate("bench.answer"))
        page.wait_for_timeout(400)  # Python hears of a step that has settled; what it says does not count for the next
        return took

    times = iter([step("ArrowRight" if n % 22 < 11 else "ArrowLeft") for n in range(STEPS + 1)])
    if page.evaluate("vizTransformerSelection.chosen.t") != 0:
        raise RuntimeError("the keys have not gone from step to step")
    page.context.close()
    return measure(
        "Attention, a step of numbers: key press to painted", lambda: next(times), rounds=STEPS, unit="ms", aim="<= 50"
    )


def number_slider(browser: Browser, address: str) -> Result:
    """Drags of the number slider on Run: by how much what is shown is behind the thumb, at most in each drag."""
    page = opened(browser, address, checkpoint="numbers-any", text="29,284.30")
    box = page.locator(".slider input[type=range]").bounding_box()
    if box is None:
        raise RuntimeError("there is no number slider")
    y = box["y"] + box["height"] / 2

    def drag(forwards: bool) -> float:
        places = [box["x"] + box["width"] * (0.2 + 0.6 * n / DRAG) for n in range(DRAG + 1)]
        first, *others = places if forwards else places[::-1]
        page.mouse.move(first, y)
        page.mouse.down()
        page.wait_for_timeout(1500)
        page.evaluate("() => bench.follow_slider()")
        for x in others:
            page.mouse.move(x, y)
            page.wait_for_timeout(EVERY)
        behind = float(page.evaluate("bench.behind()"))
        page.mouse.up()
        page.wait_for_timeout(1000)
        return behind

    times = iter([drag(n % 2 == 0) for n in range(count_rounds(ROUNDS) + 1)])
    page.context.close()
    return measure(
        f"Run, number slider of numbers-any dragged, {DRAG} moves: what is shown behind the thumb, at most",
        lambda: next(times),
        rounds=ROUNDS,
        unit="ms",
        aim="<= 150",
    )


def slider_steps(browser: Browser, address: str) -> Iterator[Result]:
    """Arrow keys on the training slider of numbers-tiny, back and forth over its snapshots."""
    page = opened(browser, address, "models", checkpoint="numbers-tiny", text="29,284.30", model_tab="training")
    slider = page.locator(".snapshots input[type=range]")
    slider.wait_for()
    page.locator(".snapshots .stage[data-painted]").wait_for()
    page.wait_for_timeout(1000)
    count = int(slider.get_attribute("max") or 0) + 1
    slider.focus()

    def step(key: str) -> float:
        page.evaluate("() => { bench.await_key('.snapshots .stage') }")
        page.keyboard.press(key)
        took = float(page.evaluate("bench.answer"))
        page.wait_for_timeout(60)
        return took

    down = iter([step("ArrowLeft" if n % (2 * count - 2) < count - 1 else "ArrowRight") for n in range(STEPS + 1)])
    page.context.close()
    name = f"training slider, {count} snapshots of numbers-tiny: key press to painted"
    yield measure(name, lambda: next(down), rounds=STEPS, unit="ms", aim="<= 50")


def opened(browser: Browser, address: str, path: str = "", **fields: str) -> Page:
    """A page of the app, live, with `window.bench`."""
    page = browser.new_context(viewport=WINDOW).new_page()
    page.set_default_timeout(120_000)
    page.goto(f"{address}/{path}?{urlencode(fields)}")
    page.wait_for_selector(".stage[data-painted]")
    page.wait_for_selector('[data-testid="stApp"][data-test-script-state="notRunning"]')
    page.wait_for_timeout(1000)
    page.evaluate(script())
    return page


def change_page(page: Page, title: str) -> list[float]:
    """Milliseconds from a click on a page's name to its main picture painted, and to all of it."""
    page.get_by_test_id("stSidebarNavLink").get_by_text(title, exact=True).hover()
    wanted = [title, *PAGES.get(title, (None, None))]
    page.evaluate("([title, place, mark]) => { bench.await_page(title, place, mark) }", wanted)
    page.mouse.down()
    page.mouse.up()
    times: list[float] = page.evaluate("bench.answer")
    page.wait_for_timeout(300)  # what the server has still to say does not count for the next one
    return times
