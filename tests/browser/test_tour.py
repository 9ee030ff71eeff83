"""The run in five stops in the browser: walked by click, by keys and by clicker; and where it begins by itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import cycle
from typing import Any

import pytest
from browser.driving import BOX, address, expect_address, opened, tab_to
from playwright.sync_api import Browser, Locator, Page, expect
from tabs import FIRST_VISIT, SECONDS, tab
from wording import wording

from viz_transformer.checkpoint.contents import list_checkpoints

PAGES = ("input", "attention", "weight", "layers", "decoding")
PARTS = """() => {
  const root = [...document.querySelectorAll(".st-key-stop *")].find((each) => each.shadowRoot)?.shadowRoot
  const [panel, ring] = [".panel", ".ring"].map((part) => root?.querySelector(part))
  const box = (part) => part?.matches(":popover-open") && part.style.visibility !== "hidden" &&
    (({ left, top, right, bottom }) => [left, top, right, bottom])(part.getBoundingClientRect())
  return { panel: box(panel) || null, ring: box(ring) || null, window: [innerWidth, innerHeight] }
}"""
APART = f"""() => {{
  const {{ panel, ring, window: [wide, high] }} = ({PARTS})()
  if (!panel || !ring) return false
  const apart = panel[2] <= ring[0] || ring[2] <= panel[0] || panel[3] <= ring[1] || ring[3] <= panel[1]
  const seen = ring[0] >= -8 && ring[1] >= 0 && ring[2] <= wide + 8 && ring[3] <= high
  return apart && seen && panel[0] >= 0 && panel[1] >= 0 && panel[2] <= wide && panel[3] <= high
}}"""


def panel(page: Page) -> Locator:
    return page.locator(".st-key-stop .panel")


def expect_stop(page: Page, number: int) -> None:
    """Wait until the panel of this stop has its words, and stands beside what has the ring."""
    expect(panel(page)).to_contain_text(f"{number} of 5")
    expect(panel(page)).not_to_contain_text(wording("the_next_stop_is_on_its_way"))
    page.wait_for_function(APART, timeout=SECONDS)


def expect_over(page: Page) -> None:
    """Wait until neither panel nor ring is there."""
    page.wait_for_function(
        f"() => {{ const found = ({PARTS})(); return !found.panel && !found.ring }}", timeout=SECONDS
    )


BUNDLED = tuple(each.name for each in list_checkpoints())
WINDOWS = {
    "laptop": ((1280, 720), "light", {}),
    "projector": ((1280, 720), "light", {"projector": "on"}),
    "narrow": ((900, 700), "dark", {}),
    "phone": ((390, 844), "light", {}),
    "large": ((1920, 1080), "dark", {}),
}
ALWAYS = {"copy": ("laptop", "narrow", "phone", "large"), "en-it-slips": ("projector",), "shakespeare": ("narrow",)}
"""Two stacks, one with the slips of a notebook, and a decoder alone, and with them every window."""
WALKS = [
    *(pytest.param(name, windows, id=f"{name}-{'-'.join(windows)}") for name, windows in ALWAYS.items()),
    *(
        pytest.param(name, (window,), id=f"{name}-{window}", marks=pytest.mark.slow)
        for name, window in zip(BUNDLED, cycle(WINDOWS), strict=False)
        if name not in ALWAYS
    ),
]
assert {*WINDOWS} == {window for windows in ALWAYS.values() for window in windows}


def walk_by_clicker(page: Page, last: str, *, back: bool = False, windows: Sequence[str] = ("laptop",)) -> None:
    """From the first stop to the end, each in these windows; back: on the way once back to the second."""
    for number, path in enumerate((*PAGES[:-1], last), start=1):
        page.wait_for_url(f"**/{path}?**", timeout=SECONDS)
        for window in windows:
            (wide, high), scheme, _ = WINDOWS[window]
            page.set_viewport_size({"width": wide, "height": high})
            page.emulate_media(color_scheme=scheme)
            expect_stop(page, number)
        page.keyboard.press("PageDown")
        if back and number == 2:
            expect_stop(page, 3)
            page.keyboard.press("PageUp")
            expect_stop(page, 2)
            page.keyboard.press("PageDown")
    expect(page.locator("h1")).to_have_text("Run")
    expect_over(page)
    expect_address(page, stop=None)


@pytest.mark.parametrize(("name", "windows"), WALKS)
def test_five_stops_of_every_model_are_walked_by_clicker_and_the_panel_covers_no_ring(
    app_server: str, browser: Browser, name: str, windows: tuple[str, ...]
) -> None:
    (wide, high), scheme, fields = WINDOWS[windows[0]]
    with opened(browser, app_server, "/input", scheme=scheme, checkpoint=name, stop="1", **fields) as page:
        page.set_viewport_size({"width": wide, "height": high})
        walk_by_clicker(page, "decoding", back=name in BUNDLED[:2], windows=windows)  # in a window and projected
        expect_address(page, checkpoint=name, projector=fields.get("projector"))


def test_an_encoder_alone_is_walked_to_what_it_makes_of_the_text(random_server, browser):
    with opened(browser, random_server, "/input", stop="1", checkpoint="reader", text="abc") as page:
        walk_by_clicker(page, "")


def test_the_tour_is_walked_by_keys_with_the_focus_on_what_leads_on(app_server, browser):
    with opened(browser, app_server, run_view="whole", checkpoint="numbers-any", text="42") as page:
        tab_to(page, page.locator(".st-key-tour a"))
        page.keyboard.press("Enter")
        expect_stop(page, 1)
        onward = panel(page).get_by_role("button", name="Next (2 of 5): where it looks")
        expect(onward).to_be_focused()
        page.keyboard.press("Enter")
        expect_stop(page, 2)
        expect(panel(page).get_by_role("button", name="Next (3 of 5)")).to_be_focused()
        page.keyboard.press("ArrowLeft")
        expect_stop(page, 1)
        page.keyboard.press("ArrowRight")
        expect_stop(page, 2)
        expect_address(page, stop=2, text="42")
        page.keyboard.press("Escape")
        expect_over(page)
        expect_address(page, stop=None, text="42")
        assert "/attention" in page.url
        expect(page.locator("[data-test-script-state=running]")).to_have_count(0)  # until then a way back is not heard
        page.go_back()
        expect_stop(page, 2)


def test_the_tour_is_walked_by_clicks_and_left_by_one(app_server, browser):
    with opened(browser, app_server, "/attention", stop="2", checkpoint="numbers-any", text="42") as page:
        expect_stop(page, 2)
        panel(page).get_by_role("button", name="Next (3 of 5)").click()
        expect_stop(page, 3)
        panel(page).get_by_role("button", name="Back").click()
        expect_stop(page, 2)
        stage = page.locator(".st-key-picture .matrix .stage")
        stage.click(position={"x": 200, "y": 200})  # what has the ring is not dimmed, nor out of reach
        expect_stop(page, 2)
        place = "document.querySelector('.st-key-question').getBoundingClientRect().top"
        at = f"{place} + document.querySelector('[data-testid=stMain]').scrollTop"
        before = page.evaluate(at)
        panel(page).get_by_role("button", name="Leave the tour").click()
        expect_over(page)
        expect_address(page, stop=None)
        assert page.evaluate(at) == before


LATE = """() => {
  const link = document.querySelector(".st-key-stop_next a")
  const place = link.parentElement
  link.remove()
  setTimeout(() => place.append(link), 700)
}"""
"""The way on comes late, as where a browser still fetches what links are made of."""


def test_a_step_before_the_way_on_has_come_is_taken_when_it_is_there(app_server, browser):
    with opened(browser, app_server, "/attention", stop="2", checkpoint="numbers-any", text="42") as page:
        expect_stop(page, 2)
        page.locator(".st-key-stop_next a").wait_for(state="attached")
        page.evaluate(LATE)
        page.keyboard.press("PageDown")
        expect(panel(page)).to_contain_text(wording("the_next_stop_is_on_its_way"))
        expect_stop(page, 3)


def test_a_reader_hears_a_stop_print_has_none_and_the_ring_follows_what_it_is_around(app_server, browser):
    around = f"""() => {{
      const {{ ring }} = ({PARTS})()
      const host = [...document.querySelectorAll(".st-key-picture *")].find((each) => each.shadowRoot)
      const box = host.shadowRoot.querySelector(".matrix .stage").getBoundingClientRect()
      const all = [box.left - ring[0], box.top - ring[1], ring[2] - box.right, ring[3] - box.bottom]
      return all.every((far) => far >= 0 && far <= 4)
    }}"""
    scrolled = "document.querySelector('[data-testid=stMain]').scrollTop"
    with opened(browser, app_server, "/attention", stop="2", checkpoint="numbers-any", text="42") as page:
        expect_stop(page, 2)
        expect(page.locator(".st-key-stop [aria-live]")).to_contain_text("2 of 5: where it looks. While writing")
        dialog = page.get_by_role("dialog", name="where it looks")
        expect(dialog).to_have_attribute("aria-describedby", "words")
        page.emulate_media(media="print")
        expect(panel(page)).to_be_hidden()
        page.emulate_media(media="screen")
        expect_stop(page, 2)
        page.wait_for_function(around)
        before = page.evaluate(scrolled)
        page.mouse.move(700, 500)
        page.mouse.wheel(0, 120)
        page.wait_for_function(f"(before) => {scrolled} !== before", arg=before)
        page.wait_for_function(around)
        page.set_viewport_size({"width": 1200, "height": 800})
        page.wait_for_function(around)


# ---- where it begins by itself


@contextmanager
def first_visit(browser: Browser, server: str, query: str = "", **looks: Any) -> Iterator[Page]:
    problems: list[str] = []
    with tab(browser, problems, of="first visits", script=FIRST_VISIT, **looks) as page:
        page.goto(f"{server}/{query}")
        expect(page.locator(".vt-explained")).to_be_visible()
        expect(page.locator("[data-test-script-state=running]")).to_have_count(0)
        yield page
        assert problems == []


def expect_quiet(page: Page) -> None:
    """The tour does not begin, also not a moment later."""
    page.wait_for_timeout(1500)
    expect_over(page)


def test_the_tour_begins_by_itself_once_and_takes_no_focus(app_server, browser):
    with first_visit(browser, app_server) as page:
        expect_stop(page, 1)
        assert page.evaluate("document.activeElement === document.body")
        expect(panel(page)).to_contain_text("“2” is token 6 of 19 in the vocabulary")
        assert "stop" not in address(page)
        page.keyboard.press("PageDown")
        page.wait_for_url("**/attention?**", timeout=SECONDS)
        expect_stop(page, 2)
        panel(page).get_by_role("button", name="Leave the tour").click()
        expect_over(page)
        page.goto(app_server)
        expect(page.locator(".vt-explained")).to_be_visible()
        expect_quiet(page)


def test_whoever_begins_to_type_click_or_press_a_key_has_left_it_and_loses_nothing(app_server, browser):
    for begin in ("type", "click", "key", "Escape"):
        with first_visit(browser, app_server) as page:
            expect_stop(page, 1)
            if begin == "type":
                page.locator(BOX).focus()
                page.keyboard.type("7")
                expect_over(page)
                expect(page.locator(BOX)).to_have_value("29,284.307")
                page.keyboard.press("Enter")
                expect_address(page, text="29,284.307")
            elif begin == "click":
                page.get_by_test_id("stSidebarNavLink").filter(has_text="Layers").click()
                expect(page.locator("h1")).to_have_text("Layers")
            elif begin == "key":
                page.keyboard.press("ArrowRight")
                expect_address(page, t=1)
            else:
                page.keyboard.press("Escape")
            expect_over(page)
            assert page.evaluate("localStorage.getItem('vizTransformerTour')") == "over"


def test_it_does_not_begin_with_an_address_without_motion_or_after_it_was_left(app_server, browser):
    with first_visit(browser, app_server, "?text=42") as page:
        expect_quiet(page)
    with first_visit(browser, app_server, reduced_motion="reduce") as page:
        expect_quiet(page)
    with tab(browser, [], of="app") as page:
        page.goto(app_server)
        expect(page.locator(".vt-explained")).to_be_visible()
        expect_quiet(page)


BESIDE_THE_HEADING = """() => {
  const parts = [".st-key-tour", "h1 span", ".st-key-question"].map((each) => document.querySelector(each))
  const [offer, heading, question] = parts.map((each) => each.getBoundingClientRect())
  const across = heading.right <= offer.left && offer.right <= innerWidth
  return across && offer.top >= 0 && offer.bottom <= question.top + 8
}"""


def test_the_tour_is_offered_above_the_fold_beside_the_heading(app_server, browser):
    with opened(browser, app_server, run_view="whole", checkpoint="numbers-any", text="42") as page:
        expect(page.locator(".st-key-tour a")).to_be_visible()
        for width, height in ((1280, 720), (900, 700), (390, 844)):
            page.set_viewport_size({"width": width, "height": height})
            page.wait_for_function(BESIDE_THE_HEADING, timeout=SECONDS)
