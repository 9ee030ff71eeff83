"""Every page of the app in a real browser: with texts of all kinds, in dark, and by a clicker on a projector."""

from __future__ import annotations

from urllib.parse import urlsplit

import pytest
from browser.driving import address, expect_address, go_to, viewed
from playwright.sync_api import expect

# page -> its path, and what is there when it has answered its question
PAGES = {
    "Input": ("input", ".st-key-input_sum .js-plotly-plot"),
    "Positions": ("positions", ".st-key-pos_curves .js-plotly-plot"),
    "Attention": ("attention", ".matrix .stage[data-painted]"),
    "One weight": ("weight", ".st-key-weight_row .stage[data-painted]"),
    "Layers": ("layers", ".rail .part.selected"),
    "Tensors": ("tensors", ".st-key-tensors_picture .matrix"),
    "Masks": ("masks", ".masks .stage[data-painted]"),
    "Playground": ("playground", "[data-testid=stMain] .js-plotly-plot"),
    "Models": ("models", ".vt-card"),
    "Decoding": ("decoding", ".st-key-panel .scrubber .stage[data-painted]"),
    "Run": ("", ".whole .stage[data-painted]"),
}


@pytest.mark.parametrize(
    ("name", "text"),
    [("numbers-tiny", f"-{'9' * 45}"), ("tatoeba-en-it", "zzqx qqzzv wwxyz")],
    ids=["the maximum", "unknown words only"],
)
def test_the_pages_inside_answer_for_the_longest_and_an_unknown_text(app_server, browser, name, text):
    with viewed(browser, app_server, "/input", checkpoint=name, text=text) as page:
        for title in ("Input", "Positions", "One weight", "Layers", "Masks"):
            if title != "Input":
                go_to(page, title)
            expect(page.locator(PAGES[title][1]).first).to_be_visible()
            expect(page.locator(".vt-explained")).to_be_visible()
            expect(page.locator(".vt-note.vt-bad:visible")).to_have_count(0)
            assert address(page)["text"] == text


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("tatoeba-en-it", "A triangle: nothing reads ahead."),
        ("en-it-slips", "Position 0 changes when token 1 is swapped: this decoder reads the future."),
    ],
)
def test_the_influence_matrix_says_which_translator_reads_the_future(app_server, browser, name, sentence):
    with viewed(browser, app_server, "/masks", checkpoint=name) as page:
        expect(page.locator(".vt-verdict")).to_contain_text(sentence)
        expect(page.locator(".st-key-masks_influence .stage[data-painted]")).to_be_visible()


def test_every_page_is_there_in_dark_and_answers_for_one_token(app_server, browser):
    view = {"checkpoint": "numbers-tiny", "text": "7"}
    with viewed(browser, app_server, scheme="dark", run_view="whole", **view) as page:
        for title, (path, answer) in PAGES.items():
            go_to(page, title)
            expect(page.locator(answer).first).to_be_visible()
            expect(page.locator(".vt-explained")).to_be_visible()
            expect(page.locator(".vt-note.vt-bad:visible")).to_have_count(0)
            expect_address(page, **view)
            assert urlsplit(page.url).path == f"/{path}"
            expect(page.get_by_test_id("stException")).to_have_count(0)


def place_of_scene(page):
    """How far the page is scrolled, and how much of it is below what is seen, in pixels."""
    return page.get_by_test_id("stMain").evaluate(
        "(main) => [main.scrollTop, main.scrollHeight - main.clientHeight - main.scrollTop]"
    )


def test_a_clicker_leads_through_each_scene_to_its_end_and_then_to_the_next(app_server, browser):
    view = {"checkpoint": "numbers-tiny", "text": "0.07", "projector": "on", "model_tab": "data"}
    with viewed(browser, app_server, "/models", **view) as page:
        page.set_viewport_size({"width": 1280, "height": 720})
        expect(page.locator(".st-key-model_data")).to_be_visible()
        expect(page.locator(".component.keys")).to_be_attached()
        presses = 0
        while place_of_scene(page)[1] > 8:  # what stands there is longer than the screen
            assert address(page).get("scene", "0") == "0"
            before = place_of_scene(page)[0]
            page.keyboard.press("PageDown")
            page.wait_for_function(
                "(before) => document.querySelector('[data-testid=stMain]').scrollTop > before", arg=before
            )
            presses += 1
        assert presses
        expect(page.locator(".vt-caption")).to_be_in_viewport()
        page.keyboard.press("PageDown")
        expect_address(page, scene="1")
        expect(page.locator(".st-key-model_pairs")).to_be_visible()
        expect(page.locator(".st-key-model_data")).to_be_hidden()
        assert place_of_scene(page)[0] == 0
        page.keyboard.press("PageUp")
        expect_address(page, scene=None)
    with viewed(browser, app_server, "/playground", projector="on", play="norms") as page:
        expect(page.locator(".st-key-play_picture .js-plotly-plot")).to_be_visible()
        expect(page.locator(".component.keys")).to_be_attached()
        expect(page.locator(".vt-caption")).to_be_in_viewport()
        page.keyboard.press("PageDown")
        expect(page.locator(".st-key-play_rest .vt-play")).to_be_visible()
        expect(page.locator(".st-key-play_picture")).to_be_hidden()
