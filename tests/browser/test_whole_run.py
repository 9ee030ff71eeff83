"""The picture of the whole run in the app: its levels are entered by keyboard alone, and each stands in the address."""

from __future__ import annotations

import re

import pytest
from browser.boxes import AT_REST, CROSSED, CURVES, LETTERS, NOTES, PROBLEMS
from browser.driving import opened, server_unreachable, viewed
from playwright.sync_api import Page, expect

LEVELS = ("run", "layer", "attention", "weight")
MEASURED = f"{CURVES};{NOTES}"
"""One script for all views that are measured, so that they share a page."""


def at_level(page: Page, level: str) -> None:
    """The picture is at a level, with all that it needs."""
    expect(page.locator(f".whole .stage[data-level={level}]:not([data-moving])")).to_be_visible()
    expect(page.locator(".whole .now")).not_to_contain_text(re.compile("being fetched|have not come"))


def test_keys_lead_down_to_one_weight_and_back_and_each_level_has_its_address(app_server, browser):
    with opened(browser, app_server, checkpoint="numbers-any", text="42", run_view="whole") as page:
        page.locator(".whole .stage").focus()
        there = {}
        for level in LEVELS[1:]:
            page.keyboard.press("+")
            at_level(page, level)
            expect(page).to_have_url(re.compile(rf"level={level}\b"))
            there[page.url] = level, page.locator(".whole .now").text_content() or ""
        for url, (level, words) in there.items():  # loaded anew from each address, that of the weight last
            page.goto(url)
            at_level(page, level)
            expect(page.locator(".whole .now")).to_have_text(words)
        page.locator(".whole .stage").focus()
        for level in reversed(LEVELS[:-1]):
            page.keyboard.press("Escape")
            at_level(page, level)
        expect(page).not_to_have_url(re.compile("level="))


def test_a_button_says_that_it_zooms_in_and_stays_where_it_is(app_server, browser):
    places = {1280: [], 390: []}
    with viewed(browser, app_server, checkpoint="numbers-any", text="42", run_view="whole") as page:
        into, out = (page.get_by_role("button", name=name) for name in ("Zoom in (+)", "Zoom out (−)"))
        for number, level in enumerate(LEVELS):
            if number:
                into.click()
            at_level(page, level)
            for width in [*places][:: -1 if number % 2 else 1]:  # pressed in both, a window now wide, now narrow
                page.set_viewport_size({"width": width, "height": 720})
                page.evaluate(AT_REST)
                places[width].append(into.bounding_box()["x"])
                assert page.locator(".whole .way").evaluate("(way) => way.scrollWidth <= way.clientWidth")
                if not number:
                    expect(into).to_have_text("Zoom in")
                    expect(out).to_be_hidden()
        expect(into).to_have_attribute("aria-disabled", "true")
        expect(out).to_have_text("Zoom out")
        for level in reversed(LEVELS[:-1]):
            out.click()
            at_level(page, level)
        # the button is gone, and what had the focus with it
        expect(page.locator(".whole .stage")).to_be_focused()
    assert {width: max(each) - min(each) < 1 for width, each in places.items()} == {1280: True, 390: True}


HEADS = ".whole .way > .heads > *"


def test_layer_and_head_are_the_control_of_all_pages_beside_the_levels(app_server, browser, subtests):
    chosen = {"run_view": "whole", "kind": "cross", "layer": "1", "heads": "2"}
    own_place, way_place, path_place = ".st-key-site", ".whole .way", ".whole .path"
    with viewed(browser, app_server, checkpoint="numbers-any", text="42", **chosen) as page:
        own, way, path = (page.locator(each) for each in (own_place, way_place, path_place))
        for level in LEVELS:
            at_level(page, level)
            for width, together in ((1280, True), (900, False)):
                with subtests.test(level=level, width=width):
                    page.set_viewport_size({"width": width, "height": 720})
                    page.evaluate(AT_REST)
                    expect(page.locator(HEADS)).to_have_count(0)
                    expect(own.get_by_role("radio", name="2", exact=True)).to_have_count(1)
                    boxes = [each.bounding_box() for each in (own, way, path)]
                    assert all(boxes)
                    control, line, crumbs = (box for box in boxes if box)
                    assert control["height"] <= 34  # one line
                    if together:
                        assert line["y"] - 3 <= control["y"] <= line["y"] + 3
                        assert crumbs["x"] + crumbs["width"] <= control["x"]
                    else:
                        assert control["y"] + control["height"] <= line["y"]
            page.locator(".whole .stage").focus()
            page.keyboard.press("+")


def test_a_head_of_the_control_is_drawn_and_one_clicked_in_the_picture_is_chosen_there(app_server, browser):
    with viewed(browser, app_server, checkpoint="numbers-any", text="42", run_view="whole", heads="2") as page:
        at_level(page, "run")
        now = page.locator(".st-key-site")
        with server_unreachable(page):  # its answer comes while somebody walks on
            now.get_by_role("radio", name="1", exact=True).last.click()
            page.locator(".whole .stage").focus()
            page.keyboard.press("ArrowDown")
            page.keyboard.press("ArrowDown")
            expect(page.locator(".whole .now")).to_contain_text("self-attention, head 2")
        expect(page).to_have_url(re.compile("heads=1"))
        expect(page.locator(".whole .now")).to_contain_text("self-attention, head 1")
        page.goto(f"{page.url}&level=attention")
        at_level(page, "attention")
        stage = page.locator(".whole .stage").bounding_box()
        assert stage
        page.mouse.click(stage["x"] + 30, stage["y"] + 50)  # the first of the small maps
        expect(now.get_by_role("radio", name="0", exact=True).last).to_be_checked()


def test_projected_the_picture_has_a_choice_of_heads_of_its_own(app_server, browser):
    view = {"checkpoint": "numbers-any", "text": "42", "run_view": "whole", "projector": "on", "heads": "2"}
    with viewed(browser, app_server, **view) as page:
        at_level(page, "run")
        expect(page.locator(".st-key-site:visible")).to_have_count(0)
        expect(page.locator(".whole .way [aria-pressed=true]")).to_have_text("2")


PAGE_OF = {
    "layer": ("Open this layer as a page", "layers"),
    "attention": ("Open this attention as a page", "attention"),
    "weight": ("Why this weight?", "weight"),
}


@pytest.mark.parametrize("level", PAGE_OF)
def test_each_level_leads_to_the_page_that_is_about_it_with_what_is_chosen(app_server, browser, level):
    label, path = PAGE_OF[level]
    asked = {"checkpoint": "numbers-any", "text": "42", "kind": "cross", "layer": 1, "heads": 2, "t": 1, "i": 2}
    with viewed(browser, app_server, run_view="whole", level=level, **asked) as page:
        at_level(page, level)
        expect(page.get_by_test_id("stApp")).to_have_attribute("data-test-script-state", "notRunning")
        expect(page).to_have_url(re.compile(rf"\blevel={level}\b"))
        page.locator(".whole .stage").focus()
        page.keyboard.press("ArrowLeft")  # to what is beside it
        chosen = {"layer": {"layer": 0}, "attention": {"kind": "decoder"}, "weight": {"i": 1}}[level]
        for name, value in chosen.items():
            expect(page).to_have_url(re.compile(rf"\b{name}={value}\b"))
        page.locator(".st-key-from_cell a", has_text=label).click()
        expect(page).to_have_url(re.compile(rf"/{path}\?"))
        for name, value in {**asked, **chosen}.items():
            expect(page).to_have_url(re.compile(rf"\b{name}={value}\b"))
        expect(page.locator(".vt-bad")).to_have_count(0)


def test_what_is_looked_into_before_the_page_has_come_to_its_end_is_what_is_chosen(app_server, browser):
    """A key may come when the picture is there and what is chosen is not: it is held back here for the while."""
    held = """Object.defineProperty(globalThis, "vizTransformerSelection", {
      get: () => window.kept,
      set: (made) => {
        window.kept = made
        const { receive } = made
        made.receive = (...given) => { window.said = () => receive.apply(made, given) }
      },
    })"""
    chosen = {"text": "42", "kind": "encoder", "layer": "1"}
    with opened(browser, app_server, checkpoint="numbers-any", run_view="whole", script=held, **chosen) as page:
        page.locator(".whole .stage").focus()
        page.wait_for_function("window.said !== undefined")
        page.keyboard.press("+")
        page.keyboard.press("+")
        expect(page.locator(".whole .way [aria-current]")).to_have_text("Whole run")
        page.evaluate("() => window.said()")
        at_level(page, "attention")
        expect(page.locator(".whole .way")).to_contain_text("Encoder layer 1")


def test_a_whole_answer_is_played(app_server, browser):
    with opened(browser, app_server, checkpoint="numbers-any", text="2", run_view="whole") as page:
        at_level(page, "run")
        page.locator(".whole .stage").focus()
        page.get_by_role("button", name="Speed of playing").click()  # twice as fast
        page.locator(".whole .stage").focus()
        page.keyboard.press(" ")
        expect(page.locator(".whole .now")).to_contain_text("The text is read once")
        expect(page.get_by_role("button", name="Play the steps")).to_be_visible()
        expect(page.locator(".whole .now")).to_contain_text("Step 2 of 2")


def test_what_is_nearest_is_there_before_one_looks_into_it_and_the_rest_is_fetched(app_server, browser):
    """A longer run: nothing is chosen for a moment, and what is asked for comes without a run of the page."""
    has = "(place) => vizTransformerDetails.has(window.of, place)"
    with opened(browser, app_server, checkpoint="taylor", run_view="whole", kind="cross", layer="1", heads="2") as page:
        at_level(page, "run")
        page.evaluate("""() => {
          const { ask } = vizTransformerDetails
          vizTransformerDetails.ask = (of, places) => { window.of = of; window.asked = places.length; ask(of, places) }
        }""")
        page.wait_for_function("window.of")
        assert page.evaluate("window.asked") == 1
        for place in (
            {"stack": "decoder", "layer": 1},
            {"stack": "decoder", "layer": 0},
            {"stack": "encoder", "layer": 0},
        ):
            page.wait_for_function(has, arg=place)
        assert not page.evaluate(has, {"kind": "cross", "layer": 0, "head": 2})  # two levels deeper
        page.evaluate(
            "(of) => vizTransformerDetails.ask(of, [{ kind: 'decoder', layer: 3, head: 7 }])",
            page.evaluate("window.of"),
        )
        page.wait_for_function(has, arg={"kind": "decoder", "layer": 3, "head": 7})
        expect(page).not_to_have_url(re.compile("level="))


def test_who_goes_into_a_layer_finds_the_chosen_head_inside_fetched_however_busy(app_server, browser):
    """Somebody moves the pointer all the time, which puts off what is fetched at rest."""
    there = "(place) => vizTransformerDetails.has(window.of, place)"
    with opened(browser, app_server, checkpoint="taylor", run_view="whole", kind="cross", layer="1", heads="2") as page:
        at_level(page, "run")
        page.evaluate("""() => {
          const { ask } = vizTransformerDetails
          vizTransformerDetails.ask = (of, places) => { window.of = of; ask(of, places) }
          setInterval(() => dispatchEvent(new PointerEvent("pointermove")), 50)
        }""")
        page.locator(".whole .stage").focus()
        for _ in range(9):  # to the cross-attention of the last of three layers: the chosen one is there from the start
            page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
        at_level(page, "layer")
        page.wait_for_function("window.of")
        page.wait_for_function(there, arg={"kind": "cross", "layer": 2, "head": 2})
        page.wait_for_timeout(1000)
        assert not page.evaluate(there, {"kind": "decoder", "layer": 2, "head": 2})


LONG = "exp(d*x)+cosh(f*x)**2+tanh(b*x)**2"
"""Its series is a formula of two lines, and an answer of 78 tokens."""
CROSS = """() => [...document.querySelectorAll("*")]
  .flatMap(({ shadowRoot }) => [...(shadowRoot?.querySelectorAll(".whole canvas") ?? [])])
  .flatMap(({ wrote }) => wrote ?? [])
  .filter(({ text }) => /^cross/.test(text)).length"""


@pytest.mark.parametrize(
    ("model", "text", "layers", "projector"),
    [
        ("numbers", "29,284.30", 3, "on"),
        ("taylor", LONG, 4, "off"),
        pytest.param("numbers", "29,284.30", 3, "off", marks=pytest.mark.slow),
        pytest.param("taylor", LONG, 4, "on", marks=pytest.mark.slow),
    ],
)
def test_at_each_level_words_are_whole_apart_and_in_view(app_server, browser, model, text, layers, projector):
    chosen = {"checkpoint": model, "text": text, "kind": "cross", "layer": 1, "heads": 1, "t": 3}
    with viewed(browser, app_server, run_view="whole", script=MEASURED, projector=projector, **chosen) as page:
        page.set_viewport_size({"width": 1280, "height": 720})
        for level in LEVELS:
            at_level(page, level)
            page.evaluate(AT_REST)
            problems, seen = page.evaluate(PROBLEMS)
            assert seen > 40 and problems == [], level
            shown = page.locator(".whole").bounding_box()
            assert shown and shown["y"] + shown["height"] <= 720, level
            if projector == "on":
                small = [each for each in page.evaluate(LETTERS) if each[1] < 720 / 45]
                assert small == [], level
            if level == "run":
                assert page.evaluate(CROSS) == layers  # the ribbons from above have their names
            page.locator(".whole .stage").focus()
            page.keyboard.press("+")


def test_below_a_formula_of_two_lines_in_a_low_window_the_picture_gives_way_to_its_player(app_server, browser):
    chosen = {"checkpoint": "taylor", "text": LONG, "kind": "cross", "layer": 1, "heads": 1, "t": 3}
    with viewed(browser, app_server, run_view="whole", script=MEASURED, **chosen) as page:
        page.set_viewport_size({"width": 900, "height": 700})
        for level in LEVELS:
            at_level(page, level)
            page.evaluate(AT_REST)
            problems, seen = page.evaluate(PROBLEMS)
            assert seen > 20 and problems == [], level
            player = page.locator(".whole .bar").bounding_box()
            assert player and player["y"] + player["height"] <= 700, level
            page.locator(".whole .stage").focus()
            page.keyboard.press("+")


def test_names_are_whole_once_their_font_has_come(app_server, browser):
    """The font of one weight comes late; the one that stands for it is wider."""
    late = """(() => {
      const { measureText } = CanvasRenderingContext2D.prototype
      CanvasRenderingContext2D.prototype.measureText = function (text) {
        const found = measureText.call(this, text)
        if (window.come || !/^[\\d.]+px .*IBM Plex Mono/.test(this.font)) return found
        return new Proxy(found, { get: (of, name) => of[name] * 1.1 })
      }
    })()"""
    names = """() => [...document.querySelectorAll("*")]
      .flatMap(({ shadowRoot }) => [...(shadowRoot?.querySelectorAll(".whole canvas.base") ?? [])])
      .flatMap(({ wrote }) => wrote ?? []).map(({ text }) => text)"""
    chosen = {"checkpoint": "numbers-any", "text": "42", "run_view": "whole"}
    with opened(browser, app_server, script=f"{late};{NOTES}", **chosen) as page:
        at_level(page, "run")
        page.wait_for_function(f"({names})().includes('</…')")
        page.evaluate("() => { window.come = true; document.fonts.dispatchEvent(new Event('loadingdone')) }")
        page.wait_for_function(f"({names})().includes('</s>')")


def test_among_many_keys_a_chosen_letter_stands_upright(app_server, browser):
    """Longer names are turned there; a letter that is turned is another one, or a line."""
    letter = """() => [...document.querySelectorAll("*")]
      .flatMap(({ shadowRoot }) => [...(shadowRoot?.querySelectorAll(".whole canvas.base") ?? [])])
      .flatMap(({ wrote }) => wrote ?? []).find(({ text }) => text === "E").corners"""
    chosen = {"checkpoint": "shakespeare", "text": "ROMEO:", "kind": "decoder", "t": 12, "u": 3, "level": "weight"}
    with viewed(browser, app_server, run_view="whole", script=MEASURED, **chosen) as page:
        at_level(page, "weight")
        (left, top), (right, bottom) = page.evaluate(letter)
        assert left < right and top < bottom and right - left < bottom - top


def test_the_name_of_where_one_is_is_the_last_to_be_cut(app_server, browser):
    with viewed(browser, app_server, run_view="whole", checkpoint="numbers", text="29,284.30", level="weight") as page:
        page.set_viewport_size({"width": 900, "height": 700})
        at_level(page, "weight")
        expect(page.locator(".whole.narrow")).to_be_visible()
        cut = "(all) => all.map((each) => each.scrollWidth > each.clientWidth)"
        assert page.locator(".whole .path .quiet").evaluate_all(cut)[1:] == [True, True, False]


@pytest.mark.parametrize(("text", "pinned"), [("2", "29"), pytest.param("29", "2", marks=pytest.mark.slow)])
def test_two_whole_answers_are_played_together_and_the_shorter_one_stays(app_server, browser, text, pinned):
    """B is longer than A, and shorter: "2" has one word and "29" two, and both have an end."""
    pin = {"pin_checkpoint": "numbers-any", "pin_text": pinned}
    with opened(browser, app_server, checkpoint="numbers-any", text=text, run_view="whole", **pin) as page:
        a, b = (page.locator(f".st-key-run_whole_{n} .whole") for n in range(2))
        shorter, longer = (a, b) if len(text) < len(pinned) else (b, a)
        for each in (a, b):
            expect(each.locator(".stage[data-level=run]")).to_be_visible()
        steps = [each.evaluate("(whole) => whole.vt.made && whole.querySelector('input').max") for each in (a, b)]
        assert steps[0] == steps[1]
        a.locator(".stage").focus()
        b.get_by_role("button", name="Speed of playing").click()
        expect(a.get_by_role("button", name="Speed of playing")).to_have_text("2×")
        b.get_by_role("button", name="Play the steps").click()
        expect(a.get_by_role("button", name="Pause")).to_be_visible()
        a.get_by_role("button", name="Pause").click()
        expect(b.get_by_role("button", name="Play the steps")).to_be_visible()
        b.get_by_role("button", name="Play the steps").click()
        expect(shorter.locator(".now")).to_contain_text("This answer is over")
        expect(a.get_by_role("button", name="Play the steps")).to_be_visible()
        last = int(steps[0])
        for each in (a, b):
            expect(each.get_by_role("slider", name="Step")).to_have_value(str(last))
        expect(page).to_have_url(re.compile(rf"\bt={last}\b"))  # behind A's end too, where B is longer
        expect(shorter.locator(".now")).to_contain_text("This answer is over")
        expect(longer.locator(".now")).to_contain_text(f"Step {last + 1} of {last + 1}")
        lines = [each.locator(".now").evaluate("(now) => now.offsetHeight / 22") for each in (a, b)]
        assert lines == [2, 2]  # what is said of the end takes no room from the picture
        longer.locator(".stage").focus()
        page.keyboard.press("ArrowLeft")
        for each in (a, b):
            expect(each.get_by_role("slider", name="Step")).to_have_value(str(last - 1))
        page.keyboard.press("+")
        for each in (a, b):
            expect(each.locator(".stage[data-level=layer]:not([data-moving])")).to_be_visible()
        expect(page.locator(".vt-bad")).to_have_count(0)


OF_BASE = """() => [...document.querySelectorAll("*")]
  .flatMap(({ shadowRoot }) => [...(shadowRoot?.querySelectorAll(".whole canvas.base") ?? [])])
  .flatMap(({ wrote, width }) => (wrote ?? []).map((each) => ({ ...each, width })))"""
"""What the still picture says, and how wide it is."""


NARROW, WIDE, PROJECTED = WINDOWS = ((900, 700, "off"), (1280, 720, "off"), (1280, 720, "on"))
READ = {
    "numbers-any": ("29,284.30", WIDE),
    "taylor": (LONG, NARROW),
    "shakespeare": ("ROMEO:", PROJECTED),
    "multi30k-de-en": ("ein mann liest", PROJECTED),
}
"""What each model reads, and the window in which its picture is always looked at."""


@pytest.mark.parametrize(
    ("model", "windows"),
    [
        *(pytest.param(model, [window], id=model) for model, (_, window) in READ.items()),
        *(pytest.param(model, WINDOWS, id=f"{model}-all", marks=pytest.mark.slow) for model in READ),
    ],
)
def test_no_word_stands_over_a_ribbon(app_server, browser, subtests, model, windows):
    chosen = {"checkpoint": model, "text": READ[model][0], "run_view": "whole", "t": 5}
    with viewed(browser, app_server, script=MEASURED, **chosen) as page:
        for width, height, projector in windows:
            with subtests.test(width=width, projector=projector):
                page.set_viewport_size({"width": width, "height": height})
                if projector == "on":
                    at_level(page, "run")
                    page.keyboard.press("p")
                    expect(page.locator(".vt-projector")).to_be_attached()
                    expect(page.locator(".st-key-site:visible")).to_have_count(0)
                    expect(page.locator("[data-test-script-state=running]")).to_have_count(0)
                at_level(page, "run")
                page.evaluate(AT_REST)
                crossed, ribbons = page.evaluate(CROSSED)
                assert ribbons > 5 and crossed == []


def test_on_a_projector_each_token_that_is_read_has_its_name(app_server, browser, subtests):
    chosen = {"checkpoint": "numbers-any", "text": "29,284.30", "run_view": "whole", "projector": "on"}
    with viewed(browser, app_server, script=MEASURED, **chosen) as page:
        for width, height in ((1280, 720), (1920, 1080)):
            with subtests.test(width=width):
                page.set_viewport_size({"width": width, "height": height})
                at_level(page, "run")
                page.evaluate(AT_REST)
                said = page.evaluate(OF_BASE)
                beside = [
                    each for each in said if each["corners"][0][0] < 0.06 * each["width"] and each["text"] != "encoder"
                ]
                names = sorted(beside, key=lambda each: each["corners"][0][1])
                assert [each["text"] for each in names][:11] == ["<s>", *"29,284.30", "</s>"]


def test_the_answer_stands_once_in_the_chips_or_where_there_are_none_in_the_picture(app_server, browser):
    said = """() => [...document.querySelectorAll("*")]
      .flatMap(({ shadowRoot }) => [...(shadowRoot?.querySelectorAll(".whole canvas") ?? [])])
      .flatMap(({ wrote }) => wrote ?? []).some(({ text }) => text === "the answer")"""
    chosen = {"checkpoint": "numbers-any", "text": "42", "run_view": "whole"}
    for projector in ("off", "on"):
        with viewed(browser, app_server, script=MEASURED, projector=projector, **chosen) as page:
            at_level(page, "run")
            page.evaluate(AT_REST)
            assert page.evaluate(said) == (projector == "on")
