"""The app as a person meets it: started by its command, in a real browser, with the bundled model."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from viz_transformer.figures import theme

ANSWER = "twenty-nine thousand, two hundred and eighty-four point three"
BOX = ".st-key-run_text input"
HEATMAP, BARS = ".st-key-run_heatmap .js-plotly-plot", ".st-key-run_candidates .js-plotly-plot"
SECONDS = 60_000  # imports and the first run may share the machine with other work


@contextmanager
def opened(browser: Browser, server: str, path: str = "/", scheme: str = "light") -> Iterator[Page]:
    """A page in a context of its own; console errors, exceptions and requests to elsewhere fail the test."""
    context = browser.new_context(viewport={"width": 1280, "height": 900}, color_scheme=scheme)
    page = context.new_page()
    page.set_default_timeout(SECONDS)
    problems: list[str] = []
    page.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("dialog", lambda dialog: problems.append(f"a dialog opened: {dialog.message}"))
    page.on("request", lambda request: None if is_ours(request.url, server) else problems.append(request.url))
    try:
        page.goto(server + path)
        yield page
        expect(page.get_by_test_id("stException")).to_have_count(0)
        assert problems == []
    finally:
        context.close()


def is_ours(url: str, server: str) -> bool:
    return url.startswith((server, server.replace("http", "ws"), "data:", "blob:"))


def answer(page: Page, text: str) -> None:
    """Wait until this is the answer, and the pictures are drawn."""
    expect(page.locator(".vt-answer")).to_have_text(text, timeout=SECONDS)
    for chart in (HEATMAP, BARS):
        expect(page.locator(f"{chart} .main-svg").first).to_be_visible(timeout=SECONDS)


def type_text(page: Page, text: str) -> None:
    page.fill(BOX, text)
    page.press(BOX, "Enter")


def address(page: Page) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlsplit(page.url).query, keep_blank_values=True).items()}


def expect_address(page: Page, **fields: str) -> None:
    def there(url: str) -> bool:
        query = parse_qs(urlsplit(url).query, keep_blank_values=True)
        return all(query.get(name) == [value] for name, value in fields.items())

    page.wait_for_url(there, timeout=SECONDS)


def title(page: Page, chart: str) -> Locator:
    """The title of a chart; the chart of the run before stands beside the new one for a moment."""
    return page.locator(f"{chart} .gtitle").first


def ticks(page: Page, axis: str) -> list[str]:
    return [text.strip() for text in page.locator(f"{HEATMAP} .{axis}tick text").all_text_contents()]


def test_a_number_is_read_and_its_words_and_attention_are_shown_step_by_step(app_server, browser):
    with opened(browser, app_server) as page:
        expect(page.locator("h1")).to_have_text("Run")
        expect(page.locator(BOX)).to_have_value("29,284.30")
        answer(page, ANSWER)
        assert ticks(page, "x") == ["<s>", *"29,284.30", "</s>"]
        assert ticks(page, "y")[:4] == ["<s>", "twenty", "-", "nine"]
        assert ticks(page, "y2")[-2:] == ["three", "</s>"]
        chips = page.locator("button.chip")
        expect(chips).to_have_count(14)
        chips.nth(3).click()
        expect(title(page, BARS)).to_have_text("Candidates of step 3")
        expect(page.locator("button.chip.selected .token")).to_have_text("thousand")
        page.keyboard.press("ArrowRight")
        expect(title(page, BARS)).to_have_text("Candidates of step 4")
        page.locator(".st-key-run_head").get_by_role("radio", name="mean").click()
        expect(title(page, HEATMAP)).to_contain_text("mean of 4 heads")
        type_text(page, "-79.42")
        answer(page, "minus seventy-nine point four two")


def test_the_slider_is_moved_by_the_keyboard_and_writes_into_the_box(app_server, browser):
    with opened(browser, app_server) as page:
        answer(page, ANSWER)
        page.locator(".st-key-run_slider input[type=range]").focus()
        page.keyboard.press("ArrowRight")
        expect(page.locator(BOX)).to_have_value("29,284.40")
        answer(page, ANSWER.replace("point three", "point four"))


def test_a_view_is_restored_by_its_address_in_another_browser_and_after_a_reload(app_server, browser):
    with opened(browser, app_server) as page:
        answer(page, ANSWER)
        type_text(page, "-79.42")
        answer(page, "minus seventy-nine point four two")
        page.locator(".st-key-run_layer").get_by_role("radio", name="2").click()
        expect(title(page, HEATMAP)).to_contain_text("decoder layer 2")
        page.locator(".st-key-run_head").get_by_role("radio", name="mean").click()
        expect(title(page, HEATMAP)).to_contain_text("mean of 4 heads")
        page.locator("button.chip").nth(1).click()
        view = {"checkpoint": "numbers", "text": "-79.42", "layer": "2", "head": "mean", "step": "1"}
        expect_address(page, **view)
        assert address(page) == view
        link = page.url.removeprefix(app_server)
    with opened(browser, app_server, link) as page:
        for _ in range(2):
            answer(page, "minus seventy-nine point four two")
            expect(title(page, HEATMAP)).to_contain_text("decoder layer 2, mean of 4 heads")
            expect(title(page, BARS)).to_have_text("Candidates of step 1")
            expect(page.locator("button.chip.selected .token")).to_have_text("seventy")
            page.reload()


def test_the_selection_survives_a_change_of_page_and_one_step_back_undoes_one_change(app_server, browser):
    with opened(browser, app_server) as page:
        answer(page, ANSWER)
        type_text(page, "0.07")
        answer(page, "zero point zero seven")
        expect_address(page, text="0.07")
        page.get_by_test_id("stSidebarNavLink").filter(has_text="Models").click()
        expect(page.locator("h1")).to_have_text("Models")
        expect_address(page, text="0.07")
        page.get_by_test_id("stSidebarNavLink").filter(has_text="Run").click()
        answer(page, "zero point zero seven")
        expect_address(page, text="0.07")
        page.go_back()
        expect(page.locator("h1")).to_have_text("Models")
        page.go_back()
        expect(page.locator("h1")).to_have_text("Run")
        answer(page, "zero point zero seven")
        page.go_back()
        answer(page, ANSWER)
        expect(page.locator(BOX)).to_have_value("29,284.30")
        page.go_forward()
        answer(page, "zero point zero seven")


@pytest.mark.parametrize("scheme", theme.THEMES)
def test_both_pages_have_the_colours_and_fonts_of_the_theme(app_server, browser, scheme):
    palette = theme.palette(scheme)
    with opened(browser, app_server, "/", scheme) as page:
        answer(page, ANSWER)
        assert background(page, ".stApp") == palette.page
        assert background(page, '[data-testid="stSidebar"]') == palette.surface
        assert background(page, f"{HEATMAP} .main-svg", "background") == palette.page
        assert color(page, "button.chip .token", "color") == palette.target_ink
        page.wait_for_function(
            "document.fonts.check('16px \"IBM Plex Sans\"') && document.fonts.check('15px \"IBM Plex Mono\"')"
        )
        assert page.evaluate("[...document.fonts].filter(f => f.status === 'loaded').length") >= 3
        assert "IBM Plex Sans" in page.evaluate("getComputedStyle(document.querySelector('h1')).fontFamily")
    with opened(browser, app_server, "/models", scheme) as page:
        expect(page.locator(".st-key-models_loss .js-plotly-plot .main-svg").first).to_be_visible(timeout=SECONDS)
        assert background(page, ".stApp") == palette.page


def background(page: Page, selector: str, name: str = "backgroundColor") -> str:
    return color(page, selector, name)


def color(page: Page, selector: str, name: str) -> str:
    """A computed colour as #RRGGBB."""
    value = page.locator(selector).first.evaluate("(element, name) => getComputedStyle(element)[name]", name)
    red, green, blue = re.findall(r"\d+", value)[:3]
    return f"#{int(red):02X}{int(green):02X}{int(blue):02X}"


def test_the_models_page_shows_what_each_model_is_and_how_it_does(app_server, browser):
    with opened(browser, app_server, "/models") as page:
        expect(page.locator("h1")).to_have_text("Models")
        expect(page.locator(".vt-card-name").filter(has_text="numbers")).to_have_text(["numbers", "numbers-tiny"])
        expect(page.locator(".vt-answers").first).to_be_visible(timeout=SECONDS)
        expect(page.get_by_text("test pairs were run, greedily")).to_be_visible()
        page.locator(".st-key-select_numbers-tiny button").click()
        expect_address(page, checkpoint="numbers-tiny")
        expect(page.get_by_role("heading", name="numbers-tiny", exact=True)).to_be_visible()


def test_markup_in_the_text_is_shown_and_never_read(app_server, browser):
    text = '<img src=x onerror="alert(1)"><b>1</b>&amp;'
    with opened(browser, app_server) as page:
        answer(page, ANSWER)
        type_text(page, text)
        expect(page.locator(".st-key-status")).to_contain_text("not in the vocabulary")
        expect(page.locator("span.chip.unknown .note").first).to_have_text("<")
        expect(page.locator(BOX)).to_have_value(text)
        assert page.locator('[data-testid="stMain"] img[src="x"]').count() == 0
        assert "<" in "".join(ticks(page, "x"))


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "the text is empty"),
        ("7" * 10_000, "source has 10,002 tokens"),
        ("🙂 and שלום", "not in the vocabulary"),
        ("1\u0007\u001b\u202e2", "not in the vocabulary"),
    ],
    ids=["empty", "long", "emoji and right-to-left", "control characters"],
)
def test_bad_input_gets_a_sentence_beside_the_box_and_no_traceback_in_the_log(
    app_server, browser, app_log, text, sentence
):
    with opened(browser, app_server) as page:
        answer(page, ANSWER)
        type_text(page, text)
        status = page.locator(".st-key-status")
        expect(status).to_contain_text(sentence)
        expect(page.locator(BOX)).to_have_value(text)
        box, beside = page.locator(BOX).bounding_box(), status.bounding_box()
        assert beside["x"] > box["x"] + box["width"]
        assert abs(beside["y"] - box["y"]) < 200
    assert "Traceback" not in app_log.read_text(encoding="utf-8")


def test_nothing_moves_when_the_selection_changes_or_a_text_cannot_be_read(app_server, browser):
    def boxes(*places):
        return [page.locator(place).first.bounding_box() for place in places]

    controls, pictures = [BOX, ".st-key-status", ".st-key-answer", ".st-key-site"], [".vt-answer", HEATMAP, BARS]
    with opened(browser, app_server) as page:
        expect(page.locator(".st-key-site")).to_be_visible(timeout=SECONDS)
        loading = boxes(*controls)
        for _ in range(50):  # Streamlit's own frame moves while it opens: until its style and the fonts are there
            page.wait_for_timeout(100)
            before, loading = loading, boxes(*controls)
            if before == loading:
                break
        answer(page, ANSWER)
        assert boxes(*controls) == loading
        before = boxes(*pictures)
        page.locator("button.chip").nth(7).click()
        expect(title(page, BARS)).to_have_text("Candidates of step 7")
        page.locator(".st-key-run_head").get_by_role("radio", name="3").click()
        expect(title(page, HEATMAP)).to_contain_text("head 3")
        assert boxes(*controls, *pictures) == loading + before
        type_text(page, "")
        expect(page.locator(".vt-answer")).to_have_count(0)
        assert boxes(*controls) == loading
