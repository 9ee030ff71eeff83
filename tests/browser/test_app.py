"""The app as a person meets it: started by its command, in a real browser, with the bundled model."""

from __future__ import annotations

import re

import numpy as np
import pytest
from browser.boxes import AT_REST
from browser.driving import (
    BOX,
    MATRIX,
    SCRUBBER,
    address,
    choose,
    drawn,
    expect_address,
    expect_chosen,
    expect_ring,
    go_to,
    opened,
    survey,
    tab_to,
    tooltip,
    type_text,
    viewed,
)
from playwright.sync_api import Page, expect

import viz_transformer as vt
from viz_transformer.figures import labels, theme
from viz_transformer.ui.pages.run.words import what_it_is, what_to_do
from viz_transformer.ui.session import state

NUMBER = "29,284.30"
LAYER, (HEAD,) = state.DEFAULTS["layer"], state.DEFAULTS["heads"]
ANSWER = "twenty-nine thousand, two hundred and eighty-four point three"
HEADER = ".scrubber .says"
SLIDER = ".slider input[type=range]"


@pytest.fixture(scope="module")
def number_run():
    """The run that the app opens with."""
    return vt.decode(vt.load("numbers-any"), NUMBER)


def answer(page: Page, text: str) -> None:
    """Wait until this is the answer, and the pictures are drawn."""
    expect(page.locator(".vt-answer")).to_have_text(text)
    drawn(page, MATRIX)
    drawn(page, SCRUBBER)


# ---- Run


def test_the_recorded_run_comes_first_with_what_the_model_is_and_the_live_one_says_whether_it_is_the_same(
    fresh_server, browser
):
    with opened(browser, fresh_server, script=LISTENER) as page:
        status, what, question = (page.locator(each) for each in (".st-key-status", ".vt-what", ".vt-question"))
        expect(status).to_contain_text("Saved run")
        expect(what).to_contain_text("This network reads a number and writes it in English words.")
        assert what.evaluate(WHAT_FITS) == [True, True, True, True]
        before = what.bounding_box(), question.bounding_box()
        expect(status).to_contain_text("Live")
        assert (what.bounding_box(), question.bounding_box()) == before  # nothing has moved
        answer(page, ANSWER)
        said = page.evaluate("window.said")
        assert said[0] == ["Saved run", ANSWER]
        assert re.fullmatch("✓Live(, within [0-9.e-]+)?", said[-1][0])
        assert "recorded run" in page.locator(".st-key-status .vt-ok").get_attribute("title")
        assert page.locator(".st-key-status .vt-icon").evaluate(SIGN_TO_WORD) > 4


WHAT_FITS = """(what) => {
  const [does, first] = what.children
  const box = what.getBoundingClientRect()
  const question = document.querySelector(".vt-question").getBoundingClientRect()
  const seen = first.getBoundingClientRect().top < box.bottom
  const whole = [does, ...(seen ? [first] : [])].every((each) => each.scrollWidth <= each.clientWidth)
  const line = [does, ...(seen ? [first] : [])].every((each) => each.getBoundingClientRect().top === box.top)
  return [whole, line, box.bottom <= question.top + 4, seen]
}"""
"""Whether what a model is stands whole, in one line, above the question; and what to try first beside it."""


_SAY = "(what, said) => said.forEach((each, n) => { what.children[n].textContent = each })"


def test_what_each_bundled_model_is_stands_whole_in_one_line_beside_the_heading(app_server, browser):
    wrong = {}
    with viewed(browser, app_server, run_view="whole") as page:
        expect(page.locator(".vt-question")).to_be_visible()
        what = page.locator(".vt-what")
        page.evaluate(AT_REST)
        for summary in vt.list_checkpoints():
            said = [what_it_is(summary.card, summary.spec), what_to_do(summary.spec, whole=True)]
            assert said[0].startswith("This network ")
            if summary.name == "numbers-any":  # what the page says of the model that it shows
                expect(what.locator("span")).to_have_text(said)
            what.evaluate(_SAY, said)
            if (found := what.evaluate(WHAT_FITS)[:3]) != [True, True, True]:
                wrong[summary.name] = found
    assert len(vt.list_checkpoints()) == 11 and wrong == {}


def test_beside_a_remark_and_a_doubt_the_sentence_on_the_model_leaves_the_headline_its_room(app_server, browser):
    with opened(browser, app_server, checkpoint="numbers-any", text="12.5%", run_view="whole") as page:
        page.set_viewport_size({"width": 1280, "height": 720})
        expect(page.locator(".vt-doubt:visible").first).to_be_visible()
        expect(page.locator(".st-key-status .vt-note")).to_be_visible()
        expect(page.locator(".vt-what")).to_be_hidden()
        tour = page.locator(".st-key-tour button").bounding_box()
        assert tour and tour["x"] > 640


@pytest.mark.parametrize("text", ["ein mann liest", "Ein Mann liest"])
def test_what_a_model_is_and_what_there_is_to_remark_are_whole_in_any_width(app_server, browser, subtests, text):
    long = "This network reads an English sentence and writes it in Italian, with a notebook’s bugs left in."
    with opened(browser, app_server, checkpoint="multi30k-de-en", text=text, run_view="whole") as page:
        expect(page.locator(".vt-question:visible").first).to_be_visible()
        status, what = page.locator(".st-key-status"), page.locator(".vt-what")
        for width in (1041, 1200, 1280, 1400):
            with subtests.test(width=width):
                page.set_viewport_size({"width": width, "height": 720})
                page.evaluate(AT_REST)
                remarks = status.locator(".vt-note").count()
                assert remarks == (0 if text.islower() else 1)
                assert status.evaluate("(it) => it.scrollHeight <= it.clientHeight")
                tour = page.locator(".st-key-tour button").bounding_box()
                assert tour and tour["x"] + tour["width"] <= width
                if remarks and width < 1280:
                    expect(what).to_be_hidden()  # the remark is about this text
                    continue
                what.locator("span").first.evaluate("(it, long) => { it.textContent = long }", long)
                does, box = what.locator("span").first.bounding_box(), what.bounding_box()
                assert does and box and does["x"] + does["width"] <= tour["x"]
                assert does["y"] + does["height"] <= box["y"] + box["height"] + 1


def test_an_answer_that_is_not_to_be_trusted_says_so_first_and_one_click_asks_what_is_meant(app_server, browser):
    with viewed(browser, app_server, text="12.5%", run_view="whole") as page:
        doubt, known = page.locator(".vt-doubt"), page.locator(".known")
        expect(doubt).to_contain_text("Not to be trusted: “")
        expect(known).to_have_text("!doubtful")
        assert known.get_attribute("title").startswith("Not to be trusted")
        question = page.locator(".vt-question").bounding_box()
        assert doubt.bounding_box()["y"] < question["y"]
        assert question["y"] + question["height"] <= page.locator(BOX).bounding_box()["y"]
        button = page.locator(".st-key-doubt_way_0 button:visible")
        expect(button).to_have_text(re.compile("Try 12.\u2060?5"))
        assert button.evaluate("(it) => it.scrollWidth <= it.clientWidth")
        button.click()
        expect(page.locator(BOX)).to_have_value("12.5")
        expect(known).to_have_text("✓right")
        expect(doubt).to_have_count(0)


SIGN_TO_WORD = """(icon) => {
  const [sign, words] = [icon.firstChild, icon.nextSibling].map((text) => {
    const range = document.createRange()
    range.selectNodeContents(text)
    return range.getBoundingClientRect()
  })
  return words.left - sign.right
}"""
"""Pixels between a sign and the word behind it."""


LISTENER = """
  window.said = []
  new MutationObserver(() => {
    const status = document.querySelector(".st-key-status")?.textContent.trim()
    const answer = document.querySelector(".vt-answer")?.textContent
    const last = window.said.at(-1)
    if (status && status !== last?.[0]) window.said.push([status, answer])
    else if (last && status === last[0]) last[1] ??= answer // it may come after its mark
  }).observe(document, { childList: true, subtree: true, characterData: true })
"""


def test_a_number_is_read_and_its_words_and_attention_are_shown_step_by_step(app_server, browser, number_run):
    with viewed(browser, app_server, heads=HEAD) as page:
        expect(page.locator("h1")).to_have_text("Run")
        expect(page.locator(BOX)).to_have_value(NUMBER)
        answer(page, ANSWER)
        reads, writes = (page.get_by_role("group", name=name).locator(".token") for name in ("reads", "writes"))
        expect(reads).to_have_text(["<s>", *NUMBER, "</s>"])
        expect(writes).to_have_text([step.token for step in number_run.steps])
        expect(page.locator("[data-test-script-state=running], [data-testid=stSkeleton]")).to_have_count(0)
        stage = drawn(page, MATRIX, f"decoder layer {LAYER}, head {HEAD}, cross-attention")
        where = survey(stage)
        assert list(where.rows) == list(range(14)) and list(where.columns) == list(range(11))
        writes.nth(3).click()
        expect(page.locator(HEADER)).to_contain_text("Step 4 of 14: reads “nine”,")
        expect(page.locator(HEADER)).to_contain_text(f"writes “thousand”, probability {probability(number_run, 3)}")
        expect_ring(stage, where.at(3, 7))  # where the head looks most
        expect(page.locator("button.chip.selected .token")).to_have_text([".", "thousand"])
        page.keyboard.press("ArrowRight")
        expect(page.locator(HEADER)).to_contain_text("Step 5 of 14")
        choose(page, "run_head", "mean")
        stage = drawn(page, MATRIX, f"decoder layer {LAYER}, mean of 4 heads, cross-attention")
        mean = np.asarray(number_run.trace[f"decoder.{LAYER}.cross.weights"])[0].mean(axis=0)
        expect_ring(stage, where.at(4, int(mean[4].argmax())))
        type_text(page, "-79.42")
        answer(page, "minus seventy-nine point four two")
        expect_address(page, t=0, heads="mean")


def probability(run, step):
    return labels.share(float(np.exp(run.steps[step].log_prob)))


def test_the_slider_is_moved_by_the_keyboard_and_writes_into_the_box(app_server, browser):
    with viewed(browser, app_server) as page:
        answer(page, ANSWER)
        tab_to(page, page.locator(SLIDER))
        page.keyboard.press("ArrowRight")
        expect(page.locator(BOX)).to_have_value("29,284.40")
        answer(page, ANSWER.replace("point three", "point four"))


def test_a_dragged_slider_shows_the_run_of_the_number_under_its_thumb(app_server, browser):
    ckpt = vt.load("numbers-any")
    with viewed(browser, app_server, text="42") as page:
        answer(page, "forty-two")
        page.evaluate(
            "window.ahead = []; vizTransformerAhead.listen((given) => window.ahead.push(given !== null)), undefined"
        )
        slider = page.locator(SLIDER)
        thumb = slider.element_handle()
        box = slider.bounding_box()
        middle = box["y"] + box["height"] / 2
        page.mouse.move(box["x"] + box["width"] / 2, middle)
        page.mouse.down()
        shown = set()
        for part in (0.3, 0.6, 0.9):
            page.mouse.move(box["x"] + part * box["width"], middle, steps=3)
            number = slider.get_attribute("aria-valuetext")
            expect(page.locator(BOX)).to_have_value(number)
            answer(page, vt.decode(ckpt, number).text)
            expect(page.locator(".strip .row").first.locator(".chip .token")).to_have_text(["<s>", *number, "</s>"])
            shown.add(number)
        page.mouse.up()
        assert len(shown) == 3
        expect_address(page, text=number)
        page.wait_for_function("() => window.ahead.at(-1) === false")  # the page has caught up
        assert page.evaluate("'vtAhead' in document.documentElement.dataset") is False
        assert True in page.evaluate("window.ahead"), "the whole page was run for each number"
        assert thumb.evaluate("(thumb) => thumb.isConnected"), "the slider was made anew under the pointer"
        answer(page, vt.decode(ckpt, number).text)
        expect(page.locator(BOX)).to_have_value(number)


def test_a_prepared_pair_shows_both_runs_with_one_click_by_keyboard_too(app_server, browser):
    with viewed(browser, app_server, checkpoint="numbers-any", text="42") as page:
        answer(page, "forty-two")
        tab_to(page, page.locator(".st-key-pairs button"))
        page.keyboard.press("Enter")
        order = page.locator(".st-key-pair_order button")
        expect(order).to_contain_text("“24”")
        tab_to(page, order)
        page.keyboard.press("Enter")
        expect(page.locator(".vt-pinned")).to_have_text("B: “24”")
        expect(page.locator(".matrix .stage")).to_have_count(2)
        expect(page.locator(".strip .row").nth(1).locator(".chip .token")).to_have_text(
            [step.token for step in vt.decode(vt.load("numbers-any"), "24").steps]
        )
        expect_address(page, pin_text="24", shown="A|B")


def test_an_example_writes_into_the_box(app_server, browser):
    with viewed(browser, app_server) as page:
        answer(page, ANSWER)
        page.locator(".st-key-run_examples button").first.click()
        page.locator(".st-key-run_example_listed button").nth(3).click()
        expect(page.locator(BOX)).to_have_value("-0.5")
        answer(page, "minus zero point five")


# What a new user types first: usual notations, and none of them the lab's.
TYPED = {
    "42": "forty-two",
    "7": "seven",
    "0": "zero",
    "100": "one hundred",
    "1984": "one thousand, nine hundred and eighty-four",
    "2026": "two thousand and twenty-six",
    "12345": "twelve thousand, three hundred and forty-five",
    "1000000": "one million",
    "1000001": "one million and one",
    "3.14": "three point one four",
    "3.14159": "three point one four one five nine",
    "-0.5": "minus zero point five",
    ".5": "zero point five",
    "+7": "seven",
    "007": "seven",
    "1,000": "one thousand",
    "999999": "nine hundred and ninety-nine thousand, nine hundred and ninety-nine",
    "1234567.89": "one million, two hundred and thirty-four thousand, five hundred and sixty-seven point eight nine",
    "10000000000": "ten billion",
    "0.000001": "zero point zero zero zero zero zero one",
}


def test_the_numbers_that_people_type_first_get_their_words(app_server, browser):
    with viewed(browser, app_server) as page:
        answer(page, ANSWER)
        for text, words in TYPED.items():
            type_text(page, text)
            answer(page, words)


# ---- one selection: the address, other pages, the Back button


def test_a_view_is_restored_by_its_address_in_another_browser_and_after_a_reload(app_server, browser):
    with opened(browser, app_server) as page:
        answer(page, ANSWER)
        type_text(page, "-79.42")
        answer(page, "minus seventy-nine point four two")
        choose(page, "run_layer", "1")
        drawn(page, MATRIX, "decoder layer 1")
        choose(page, "run_head", "3")
        stage = drawn(page, MATRIX, "decoder layer 1, head 3")
        stage.click(position=survey(stage).at(1, 2))
        view = {
            "run_view": "map",
            "checkpoint": "numbers-any",
            "text": "-79.42",
            "kind": "cross",
            "layer": "1",
            "heads": "3",
            "t": "1",
            "i": "2",
        }
        expect_address(page, **view)
        assert address(page) == view
        link = page.url.removeprefix(app_server)
    with opened(browser, app_server, link, another=True) as page:
        for _ in range(2):
            answer(page, "minus seventy-nine point four two")
            stage = drawn(page, MATRIX, "decoder layer 1, head 3, cross-attention")
            expect_ring(stage, survey(stage).at(1, 2))
            expect_chosen(page, "run_layer", "1")
            expect_chosen(page, "run_head", "3")
            expect(page.locator(HEADER)).to_contain_text("Step 2 of")
            expect(page.locator("button.chip.selected .token")).to_have_text(["7", "seventy"])
            assert page.url.removeprefix(app_server) == link
            page.reload()


def test_the_selection_survives_a_change_of_page_and_one_step_back_undoes_one_change(app_server, browser):
    with opened(browser, app_server) as page:
        answer(page, ANSWER)
        type_text(page, "0.07")
        answer(page, "zero point zero seven")
        expect_address(page, text="0.07")
        go_to(page, "Attention")
        drawn(page, MATRIX)
        expect_address(page, text="0.07")
        go_to(page, "Run")
        answer(page, "zero point zero seven")
        expect_address(page, text="0.07")
        page.go_back()
        expect(page.locator("h1")).to_have_text("Attention")
        page.go_back()
        expect(page.locator("h1")).to_have_text("Run")
        answer(page, "zero point zero seven")
        page.go_back()
        answer(page, ANSWER)
        expect(page.locator(BOX)).to_have_value(NUMBER)
        page.go_forward()
        answer(page, "zero point zero seven")


def test_one_step_back_brings_a_typed_text_back_that_the_example_took_the_place_of(app_server, browser):
    typed = "9 " * state.LONGEST_LINKED_TEXT  # the address has no room for it
    with opened(browser, app_server, text="7" * 60) as page:
        expect(page.locator(".st-key-question .vt-bad")).to_be_visible()
        type_text(page, typed)
        page.get_by_role("button", name="Use the example").click()
        answer(page, ANSWER)
        expect(page.locator(BOX)).to_have_value(NUMBER)
        page.go_back()
        expect(page.locator(".st-key-question .vt-bad")).to_be_visible()
        expect(page.locator(BOX)).to_have_value(typed)
        page.go_forward()
        answer(page, ANSWER)


# ---- how it looks


@pytest.mark.parametrize("scheme", theme.THEMES)
def test_the_pages_have_the_colours_and_fonts_of_the_theme(app_server, browser, scheme):
    palette = theme.palette(scheme)
    with viewed(browser, app_server, scheme=scheme) as page:
        answer(page, ANSWER)
        assert colour(page, ".stApp") == palette.page
        assert colour(page, '[data-testid="stSidebar"]') == palette.surface
        assert colour(page, "button.chip.target .token", "color") == palette.target_ink
        assert colour(page, "button.chip.source:not(.special) .token", "color") == palette.source_ink
        page.wait_for_function(
            "document.fonts.check('16px \"IBM Plex Sans\"') && document.fonts.check('15px \"IBM Plex Mono\"')"
        )
        assert page.evaluate("[...document.fonts].filter(f => f.status === 'loaded').length") >= 3
        assert "IBM Plex Sans" in page.evaluate("getComputedStyle(document.querySelector('h1')).fontFamily")
        go_to(page, "Models")
        page.get_by_role("radio", name="Curves").click()
        chart = page.locator(".st-key-models_loss .js-plotly-plot .main-svg").first
        expect(chart).to_be_visible()
        assert colour(page, ".st-key-models_loss .js-plotly-plot .main-svg", "background") == palette.page


CHOSEN = (("dark", "dark"), ("auto", "light"), ("dark", "dark"), ("light", "light"))
"""What is pressed one after the other, and which theme the pages have then."""


@pytest.mark.parametrize(
    "chosen", [CHOSEN[:2], pytest.param(CHOSEN, marks=pytest.mark.slow)], ids=["two in turn", "all in turn"]
)
def test_the_theme_is_chosen_in_the_sidebar_for_all_pages_and_keeps_the_view(app_server, browser, chosen):
    with opened(browser, app_server, text="0.07", heads=2) as page:
        for name, scheme in chosen:
            drawn(page, MATRIX, "head 2")
            expect_address(page, text="0.07", heads=2)  # the page has come to its end
            page.locator(".keys .choice button").filter(has_text=name).click()
            page.wait_for_load_state()
            drawn(page, MATRIX, "head 2")
            expect(page.locator(".keys .choice [aria-pressed=true]")).to_have_text(name)
            assert colour(page, ".stApp") == theme.palette(scheme).page
            expect_address(page, text="0.07", heads=2)
            go_to(page, "Attention")
            page.reload()
            drawn(page, MATRIX, "head 2")
            assert colour(page, ".stApp") == theme.palette(scheme).page
            go_to(page, "Run")


def colour(page: Page, selector: str, name: str = "backgroundColor") -> str:
    """A computed colour as #RRGGBB."""
    value = page.locator(selector).first.evaluate("(element, name) => getComputedStyle(element)[name]", name)
    red, green, blue = re.findall(r"\d+", value)[:3]
    return f"#{int(red):02X}{int(green):02X}{int(blue):02X}"


def test_nothing_moves_when_the_selection_changes_or_a_text_cannot_be_read(app_server, browser):
    def boxes(*places):
        return [page.locator(place).first.bounding_box() for place in places]

    controls, pictures = (
        [BOX, ".st-key-status", ".st-key-answer", ".st-key-site"],
        [".vt-answer", ".matrix", ".scrubber"],
    )
    with opened(browser, app_server) as page:
        expect(page.locator(".st-key-site")).to_be_visible()
        loading = boxes(*controls)
        for _ in range(50):  # Streamlit's own frame moves while it opens: until its style and the fonts are there
            page.wait_for_timeout(100)
            before, loading = loading, boxes(*controls)
            if before == loading:
                break
        answer(page, ANSWER)
        assert boxes(*controls) == loading
        before = boxes(*pictures)
        page.get_by_role("group", name="writes").locator("button").nth(7).click()
        expect(page.locator(HEADER)).to_contain_text("Step 8 of 14")
        expect_address(page, t=7)
        choose(page, "run_head", "3")
        drawn(page, MATRIX, "head 3")
        assert boxes(*controls, *pictures) == loading + before
        type_text(page, "")
        expect(page.locator(".st-key-problem")).to_be_visible()
        assert boxes(*controls, *pictures) == loading + before


# ---- what can be typed


def test_markup_in_the_text_is_shown_and_never_read(app_server, browser):
    text = '<img src=x onerror="alert(1)"><b>1</b>&amp;'
    with viewed(browser, app_server, text=text) as page:
        expect(page.locator(".vt-doubt")).to_contain_text("never in the training numbers")
        expect(page.locator("button.chip.unknown .note").first).to_have_text("<")
        expect(page.locator(BOX)).to_have_value(text)
        stage = drawn(page, MATRIX)
        assert page.locator('[data-testid="stMain"] img[src="x"]').count() == 0
        where = survey(stage)
        stage.hover(position=where.at(0, 1))
        assert tooltip(stage)[1] == "key 1: “<unk>”, typed “<”"


def test_bad_input_gets_a_sentence_above_the_box_and_no_traceback_in_the_log(app_server, browser, app_log):
    with viewed(browser, app_server) as page:
        answer(page, ANSWER)
        for text, place, sentence in (
            ("", ".st-key-problem", "The text is empty"),
            ("7" * 10_000, ".st-key-problem", "Source has 10,002 tokens"),
            ("🙂 and שלום", ".st-key-doubt", "never in the training numbers"),
            ("1\u0007\u001b\u202e2", ".st-key-doubt", "never in the training numbers"),
        ):
            type_text(page, text)
            said = page.locator(place)
            expect(said).to_contain_text(sentence)
            expect(page.locator(BOX)).to_have_value(text)
            box, above = page.locator(BOX).bounding_box(), said.bounding_box()
            assert above["y"] < box["y"] < above["y"] + 200
            type_text(page, "0.07")
            answer(page, "zero point zero seven")
    assert "Traceback" not in app_log.read_text(encoding="utf-8")


# ---- Models


def test_the_models_page_shows_what_each_model_is_and_how_it_does(app_server, browser):
    with viewed(browser, app_server, "/models") as page:
        expect(page.locator("h1")).to_have_text("Models")
        expect(page.locator(".vt-card-name").filter(has_text="numbers")).to_have_text(
            ["numbers", "numbers-any", "numbers-tiny"]
        )
        page.locator(".st-key-select_numbers-tiny button").click()
        expect_address(page, checkpoint="numbers-tiny")
        expect(page.get_by_role("heading", name="numbers-tiny", exact=True)).to_be_visible()
        page.get_by_role("radio", name="Errors").click()
        expect_address(page, model_tab="errors")
        expect(page.locator(".vt-answers").first).to_be_visible()
        expect(page.get_by_text("Greedy answers of the loaded model")).to_be_visible()
