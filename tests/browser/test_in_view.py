"""A page's question, its bar of controls and its picture are seen together; a narrow window cuts nothing off."""

from __future__ import annotations

import pytest
from browser.driving import opened
from playwright.sync_api import Page, expect

ONE_LINE, BAR = 36, 44  # pixels: a question of one line, a bar of controls of one line
# path -> the strip above the picture, the bar, and the picture or, where it may be longer, what it begins with
PLACES = {
    "": (".st-key-inputs", ".st-key-site", ".st-key-picture .matrix .stage"),
    "weight": (".st-key-strip", ".st-key-choices", ".st-key-weight_row .row .stage"),
    "layers": (".st-key-strip", "", ".st-key-layers_top .rail"),
    "input": (".st-key-strip", ".st-key-input_bar", ".st-key-input_strips .js-plotly-plot"),
    "models": ("", ".st-key-model_head", ".st-key-cards"),
    "playground": ("", ".st-key-play_controls", ".st-key-play_row .js-plotly-plot"),
    "positions": (".st-key-strip", ".st-key-pos_tools", ".st-key-pos_heatmap .js-plotly-plot"),
    "tensors": (".st-key-strip", ".st-key-tensors_tools", ".st-key-tensors_heatmap .js-plotly-plot"),
}
MODELS = ("numbers-any", "multi30k-de-en", "shakespeare", "taylor", "en-it-slips")
_STICKING_OUT = """() => {
  const main = document.querySelector(".stMainBlockContainer"), edge = main.getBoundingClientRect().right
  const scrolls = (part) =>
    part && part !== main && (getComputedStyle(part).overflowX !== "visible" || scrolls(part.parentElement))
  return [...main.querySelectorAll("*")]
    .filter((part) => part.getBoundingClientRect().width > 0 && part.getBoundingClientRect().right > edge + 1)
    .filter((part) => !part.closest("svg") && !scrolls(part.parentElement))
    .map((part) => `${part.tagName} ${part.className} ${part.textContent.slice(0, 40)}`)
}"""

_RING = """(part) => {
  let around = part
  while (around && !getComputedStyle(around).outline.includes("2px")) around = around.parentElement
  const { outlineWidth, outlineStyle } = getComputedStyle(around ?? part)
  return `${outlineWidth} ${outlineStyle}`
}"""


def box(page: Page, of: str) -> dict[str, float]:
    found = page.locator(of).first
    expect(found).to_be_visible()
    where = found.bounding_box()
    assert where is not None, f"{of} has no place"
    return dict(where)


def finished(page: Page) -> None:
    """Wait until the page has come to its end: what is on its way stands elsewhere."""
    expect(page.locator(".vt-explained")).to_be_visible()
    expect(page.locator("[data-test-script-state=running], [data-testid=stSkeleton]")).to_have_count(0)
    page.evaluate("document.fonts.ready.then(() => true)")


@pytest.mark.parametrize("path", PLACES)
def test_question_bar_and_picture_are_in_view_together(app_server, browser, path):
    strip, bar, picture = PLACES[path]
    with opened(browser, app_server, f"/{path}", checkpoint="numbers-any") as page:
        page.set_viewport_size({"width": 1280, "height": 720})
        finished(page)
        shown = box(page, picture)
        assert box(page, ".st-key-question")["height"] <= ONE_LINE
        if bar:
            assert box(page, bar)["height"] <= BAR
        if strip:
            question = box(page, ".st-key-question")
            assert box(page, strip)["y"] - question["y"] - question["height"] <= 24
        assert shown["height"] >= 0.4 * 720
        assert shown["y"] + shown["height"] <= 720


@pytest.mark.parametrize("name", MODELS)
def test_nothing_sticks_out_of_a_narrow_window(app_server, browser, name):
    for path, (_, _, picture) in PLACES.items():
        with opened(browser, app_server, f"/{path}", checkpoint=name) as page:
            page.set_viewport_size({"width": 900, "height": 700})
            expect(page.locator(picture).first).to_be_visible()
            finished(page)
            assert page.evaluate(_STICKING_OUT) == [], path


@pytest.mark.parametrize(
    ("path", "control"),
    [
        ("tensors", ".st-key-tensors_csv button"),
        ("tensors", ".st-key-tensors_head input"),
        ("tensors", ".st-key-tensors_part input"),
        ("tensors", ".st-key-tensors_point input"),
        ("playground", ".st-key-play_self input"),
        ("models", ".st-key-models_tab button"),
    ],
)
def test_what_the_keyboard_is_at_has_a_ring_of_two_pixels(app_server, browser, path, control):
    with opened(browser, app_server, f"/{path}", checkpoint="numbers-any") as page:
        place = page.locator(control).first
        expect(place).to_be_attached()
        finished(page)
        place.focus()
        page.keyboard.press("Shift")  # the keyboard was used last, not the mouse
        assert place.evaluate(_RING) == "2px solid"


def test_in_a_narrow_window_table_and_curves_of_positions_stand_below_each_other_and_numbers_stay_whole(
    app_server, browser
):
    with opened(browser, app_server, "/positions", checkpoint="multi30k-de-en") as page:
        page.set_viewport_size({"width": 900, "height": 700})
        finished(page)
        table, lines = box(page, ".st-key-pos_heatmap"), box(page, ".st-key-pos_curves_figure")
        assert table["y"] + table["height"] <= lines["y"]
        heights = page.locator(".vt-ladder b").evaluate_all("(all) => all.map((each) => each.offsetHeight)")
        assert len(heights) == 5 and set(heights) == {32}
