"""A page's question, its bar of controls and its picture are seen together; a narrow window keeps its parts whole."""

from __future__ import annotations

import pytest
from browser.boxes import AT_REST
from browser.driving import go_to, survey, visit
from browser.test_pages import PAGES
from playwright.sync_api import Page, expect

ONE_LINE, BAR = 36, 44  # pixels: a question of one line, a bar of controls of one line
# path -> the strip above the picture, the bar, and the picture or, where it may be longer, what it begins with
PLACES = {
    "": (".st-key-inputs", "", ".st-key-run_whole .whole .stage"),
    "attention": (".st-key-strip", ".st-key-choices", ".st-key-picture .matrix .stage"),
    "weight": (".st-key-strip", ".st-key-choices", ".st-key-weight_row .row .stage"),
    "layers": (".st-key-strip", "", ".st-key-layers_top .rail"),
    "input": (".st-key-strip", ".st-key-input_bar", ".st-key-input_strips .js-plotly-plot"),
    "decoding": (".st-key-strip", ".st-key-decoding_row", ".st-key-panel .scrubber .stage"),
    "masks": (".st-key-strip", "", ".st-key-masks_picture .masks .stage"),
    "models": ("", ".st-key-model_head", ".st-key-cards"),
    "playground": ("", ".st-key-play_controls", ".st-key-play_row .js-plotly-plot"),
    "positions": (".st-key-strip", ".st-key-pos_tools", ".st-key-pos_picture .matrix .stage"),
    "tensors": (".st-key-strip", ".st-key-tensors_tools", ".st-key-tensors_picture .matrix .stage"),
}
FILLING = ("input", "playground")
"""Pages whose picture is a chart that grows with the window: at least this share of its height."""
SHARE = 0.6
WHOLE_PICTURES = {
    "": ".st-key-run_whole .whole",
    "attention": ".st-key-picture .matrix",
    "weight": ".st-key-weight_row .row",
    "layers": ".st-key-layers_top .rail",
    "decoding": ".st-key-panel .scrubber",
    "masks": ".st-key-masks_picture .masks",
    "models": ".st-key-cards",
    "positions": ".st-key-pos_picture .matrix",
    "tensors": ".st-key-tensors_picture .matrix",
}
"""The other pages' pictures, with the legend and the player that belong to them."""

HARDLY = 80
"""Pixels: what scrolls for less would have had room on the page."""
INSIDE = """(least) => [...document.querySelectorAll(".stMain *")].flatMap((part) => {
  const hidden = part.scrollHeight - part.clientHeight
  const scrolls = /auto|scroll/.test(getComputedStyle(part).overflowY) && part.clientHeight && hidden > 0
  return scrolls && hidden < least ? [`${part.className} ${part.clientHeight} of ${part.scrollHeight}`] : []
})"""


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


@pytest.mark.parametrize("name", ["numbers", pytest.param("numbers-any", marks=pytest.mark.slow)])
def test_question_bar_and_a_picture_of_60_percent_are_in_view_together_and_nothing_is_scrolled_for_two_rows(page, name):
    titles = {path: title for title, (path, _) in PAGES.items()}
    page.set_viewport_size({"width": 1280, "height": 720})
    visit(page, checkpoint=name, text="29,284.30", run_view="whole")
    for path, (strip, bar, picture) in PLACES.items():
        if path:
            go_to(page, titles[path])
        expect(page.locator(picture).first).to_be_visible()
        finished(page)
        page.evaluate(AT_REST)
        shown, question = box(page, picture), box(page, ".st-key-question")
        assert question["height"] <= ONE_LINE, path
        if bar:
            assert box(page, bar)["height"] <= BAR, path
        if strip:
            assert box(page, strip)["y"] - question["y"] - question["height"] <= 24, path
        assert shown["height"] >= 0.4 * 720, path
        assert shown["y"] + shown["height"] <= 720, path
        expect(page.locator(PAGES[titles[path]][1]).first).to_be_visible()
        assert page.evaluate(INSIDE, HARDLY) == [], path
        if path in WHOLE_PICTURES:  # with its legend and player
            shown = box(page, WHOLE_PICTURES[path])
            assert shown["height"] >= SHARE * 720 and shown["y"] + shown["height"] <= 720, path


def test_the_whole_map_stands_beside_all_heads_in_60_percent_of_the_height(page, subtests):
    visit(page, "/attention", checkpoint="numbers", text="29,284.30")
    for width, height in ((900, 700), (1280, 720), (1280, 900), (1920, 1080)):
        with subtests.test(width=width, height=height):
            page.set_viewport_size({"width": width, "height": height})
            finished(page)
            page.evaluate(AT_REST)
            shown, heads = box(page, ".st-key-picture .matrix .stage"), box(page, ".st-key-heads .grid .stage")
            assert round(shown["height"] / height, 2) >= 0.59 and shown["y"] + shown["height"] <= height
            assert heads["x"] >= shown["x"] + shown["width"] and heads["x"] + heads["width"] <= width
            assert heads["y"] + heads["height"] <= height


def test_beside_the_map_nothing_is_blank_or_cut_and_the_pin_leaves_the_room_to_the_chips(page, subtests):
    visit(page, "/attention", checkpoint="numbers-any", text="29,284.30")
    for width, height, least in ((900, 700, None), (1280, 720, 75), (1920, 1080, 130)):
        with subtests.test(width=width):
            page.set_viewport_size({"width": width, "height": height})
            finished(page)
            page.evaluate(AT_REST)
            leaves_the_room_to_the_chips(page)
            if least is None:  # the scores of a head are seen whole in a narrow window
                table, place = box(page, ".st-key-scores table"), box(page, ".st-key-scores")
                assert table["x"] + table["width"] <= place["x"] + place["width"] + 1
                continue
            links, panel = box(page, ".st-key-from_cell"), box(page, ".st-key-attention_panel")
            heads, scores = box(page, ".st-key-heads .grid .stage"), box(page, ".st-key-scores .vt-section")
            # Two layers of thumbnails fill the height but for the title, the numbers of the heads and the legend.
            assert (heads["height"] - 34 - 18 - 34) / 2 - 4 >= least
            assert panel["x"] == links["x"] and 0 <= panel["y"] - links["y"] - links["height"] <= 40
            assert scores["x"] == heads["x"] and 0 <= scores["y"] - heads["y"] - heads["height"] <= 80


def leaves_the_room_to_the_chips(page: Page) -> None:
    """The pin is beside the chips, no wider than it needs to be, and its buttons have no frame."""
    chips, pin, picture = (box(page, f".st-key-{of}") for of in ("run_strip", "pin", "choices"))
    assert pin["width"] <= 80 and chips["x"] + chips["width"] <= pin["x"] <= chips["x"] + chips["width"] + 24
    assert pin["x"] + pin["width"] <= picture["x"] + picture["width"] + 1
    for button in (".st-key-pin_set button", ".st-key-pin [data-testid=stPopover] button"):
        where = box(page, button)
        assert where["x"] >= pin["x"] - 1 and where["height"] <= 40
        frame = "(button) => [getComputedStyle(button).borderTopWidth, getComputedStyle(button).borderTopColor]"
        width, colour = page.locator(button).first.evaluate(frame)
        assert width == "0px" or colour == "rgba(0, 0, 0, 0)"


def test_another_view_of_a_run_is_in_view_when_it_is_chosen(page):
    page.set_viewport_size({"width": 1280, "height": 720})
    visit(page, checkpoint="numbers-any", text="29,284.30", run_view="whole")
    finished(page)
    for picture in (".st-key-picture .matrix .stage", ".st-key-run_whole .whole .stage"):
        page.evaluate("document.querySelector('[data-testid=stMain]').scrollTop = 1e6")
        page.locator(".st-key-run_view button").first.click()
        expect(page.locator(picture)).to_be_visible()
        finished(page)
        page.wait_for_function("() => document.querySelector('[data-testid=stMain]').scrollTop === 0")
        shown = box(page, picture)
        assert shown["y"] >= 0 and shown["y"] + shown["height"] <= 720


def test_the_whole_runs_of_a_and_b_are_in_view_together(page):
    pin = {"pin_checkpoint": "numbers-any", "pin_text": "1984"}
    visit(page, checkpoint="numbers-any", text="29,284.30", run_view="whole", **pin)
    for width, height, beside in ((1280, 720, True), (1920, 1080, False)):
        page.set_viewport_size({"width": width, "height": height})
        expect(page.locator(".whole .stage")).to_have_count(2)
        finished(page)
        page.evaluate(AT_REST)
        a, b = (box(page, f".st-key-run_whole_{n} .whole") for n in range(2))
        assert max(each["y"] + each["height"] for each in (a, b)) <= height
        assert (a["x"] + a["width"] <= b["x"]) is beside and (a["y"] + a["height"] <= b["y"]) is not beside
        assert b["x"] + b["width"] <= width


def test_what_is_said_below_the_inputs_of_two_sizes_is_in_view(page):
    view = {"text": "29,284.30", "pin_checkpoint": "numbers-tiny", "pin_text": "1,284", "shown": "A|B"}
    page.set_viewport_size({"width": 1280, "height": 720})
    visit(page, "/input", checkpoint="numbers", **view)
    finished(page)
    page.evaluate(AT_REST)
    said = box(page, ".st-key-input_sum .vt-note:has-text('only inputs of one size')")
    assert box(page, ".st-key-input_strips")["y"] < said["y"] and said["y"] + said["height"] <= 720


@pytest.mark.parametrize(("path", "bar"), [("input", ".st-key-input_bar"), ("attention", ".st-key-attention_panel")])
def test_a_bar_is_one_line_in_a_narrow_window(page, path, bar):
    page.set_viewport_size({"width": 900, "height": 700})
    visit(page, f"/{path}", checkpoint="multi30k-de-en")
    finished(page)
    page.evaluate(AT_REST)
    assert box(page, bar)["height"] <= BAR


def test_what_leads_from_a_map_of_masks_to_the_weight_is_in_view_below_it(page):
    page.set_viewport_size({"width": 1280, "height": 720})
    visit(page, "/masks", checkpoint="numbers", mask_view="weights")
    finished(page)
    page.evaluate(AT_REST)
    link, drawn = box(page, ".st-key-from_cell a"), box(page, ".st-key-masks_after .matrix")
    assert drawn["y"] + drawn["height"] <= link["y"] and link["y"] + link["height"] <= 720


@pytest.mark.parametrize("path", FILLING)
def test_a_chart_has_most_of_the_height_grows_with_the_window_and_has_its_menu_on_the_line_of_its_legend(page, path):
    picture = PLACES[path][2]
    visit(page, f"/{path}", checkpoint="numbers-any")
    for width, height in ((1280, 720), (1280, 900), (1920, 1080)):
        page.set_viewport_size({"width": width, "height": height})
        finished(page)
        page.wait_for_function(
            """([of, least]) => {
              const { height, bottom } = document.querySelector(of)?.getBoundingClientRect() ?? {}
              return height >= least && bottom <= innerHeight // drawn anew, not only magnified
            }""",
            arg=[picture, SHARE * height],
        )
        shown = box(page, picture)
        assert shown["y"] + shown["height"] <= height
        lowest = page.locator(f"{picture} .main-svg").first.bounding_box()
        assert lowest and abs(lowest["height"] - shown["height"]) < 2  # the chart is drawn anew, not cut
        chart = picture.split()[0]
        menu, drawing = box(page, f"{chart} .menu button"), box(page, f"{chart} .js-plotly-plot")
        assert abs(menu["y"] + menu["height"] - drawing["y"] - drawing["height"]) <= 2
        assert abs(menu["x"] + menu["width"] - drawing["x"] - drawing["width"]) <= 8


@pytest.mark.parametrize("path", ["positions", "tensors"])
def test_a_picture_of_cells_grows_with_the_window(page, path):
    visit(page, f"/{path}", checkpoint="numbers-any")
    for width, height in ((1280, 720), (1280, 900), (1920, 1080)):
        page.set_viewport_size({"width": width, "height": height})
        finished(page)
        page.wait_for_function(
            """([picture, least]) => {
              const { height, bottom } = picture.getBoundingClientRect()
              return height >= least && bottom <= innerHeight
            }""",
            arg=[page.locator(WHOLE_PICTURES[path]).first.element_handle(), SHARE * height],
        )


def test_the_list_of_points_is_scrolled_to_the_one_of_a_link(page):
    page.set_viewport_size({"width": 1280, "height": 720})
    visit(page, "/tensors", checkpoint="numbers-any", point="decoder.1.ffn.out")
    finished(page)
    page.wait_for_function("document.querySelector('.st-key-tensors_tree')?.scrollTop > 0")
    chosen, tree = box(page, ".st-key-tensors_tree label:has(:checked)"), box(page, ".st-key-tensors_tree")
    assert tree["y"] <= chosen["y"] and chosen["y"] + chosen["height"] <= tree["y"] + tree["height"]


def test_in_a_narrow_window_table_and_curves_of_positions_stand_below_each_other_and_numbers_stay_whole(page):
    page.set_viewport_size({"width": 900, "height": 700})
    visit(page, "/positions", checkpoint="multi30k-de-en")
    finished(page)
    table, lines = box(page, ".st-key-pos_picture"), box(page, ".st-key-pos_curves_figure")
    assert table["y"] + table["height"] <= lines["y"]
    heights = page.locator(".vt-ladder b").evaluate_all("(all) => all.map((each) => each.offsetHeight)")
    assert len(heights) == 5 and set(heights) == {32}


@pytest.mark.parametrize("projector", ["off", "on"])
def test_rail_and_table_of_a_deeper_model_end_inside_the_window_and_say_where_there_is_more(page, projector):
    page.set_viewport_size({"width": 1280, "height": 720})
    visit(page, "/layers", checkpoint="numbers", projector=projector)
    shown = box(page, ".st-key-layers_top .rail")
    assert shown["y"] > 0 and shown["y"] + shown["height"] <= 720
    if projector == "off":  # projected, the clicker leads on; else a table is scrolled unless it is nearly whole
        shown = box(page, ".st-key-layers_top .vt-ly-scroll")
        hidden = page.locator(".st-key-layers_top .vt-ly-scroll").evaluate(
            "(table) => table.scrollHeight - table.clientHeight"
        )
        assert shown["y"] > 0 and shown["y"] + shown["height"] <= 720 + (80 if hidden == 0 else 0)
    rail = page.locator(".st-key-layers_top .rail")
    expect(rail).to_contain_class("more")
    rail.evaluate("(rail) => rail.scrollTo(0, rail.scrollHeight)")
    expect(rail).not_to_contain_class("more")
    expect(rail).to_contain_class("above")
    rail.evaluate("(rail) => rail.scrollTo(0, 0)")
    expect(rail).not_to_contain_class("above")


def test_the_formulas_of_one_weight_stay_in_their_columns(page, subtests):
    asked = {"checkpoint": "numbers", "text": "29,284.30", "t": 3, "i": 8, "weight_line": "products"}
    visit(page, "/weight", **asked)
    for width in (900, 1280):
        with subtests.test(width=width):
            page.set_viewport_size({"width": width, "height": 900})
            finished(page)
            page.evaluate(AT_REST)
            for place, parts in ((".st-key-weight_ladder", "label p > *"), (".st-key-weight_panel", ".katex-html > *")):
                edge = box(page, place)["x"] + box(page, place)["width"]
                ends = (
                    page.locator(place)
                    .locator(parts)
                    .evaluate_all("(all) => all.map((each) => each.getBoundingClientRect().right)")
                )
                assert ends and max(ends) <= edge + 1
            assert "<0.0001." in page.locator(".vt-cell").inner_text()
            assert page.locator(".vt-cell").get_attribute("title").startswith("exactly ")


def test_name_and_figure_of_a_model_s_card_stand_on_one_line_and_its_task_whole(page, subtests):
    visit(page, "/models", checkpoint="numbers-tiny")
    for width in (900, 1280):
        with subtests.test(width=width):
            page.set_viewport_size({"width": width, "height": 720})
            finished(page)  # letters too, which have another width before their font is there
            page.evaluate(AT_REST)
            card = page.locator(".st-key-card_multi30k-de-en .vt-card")
            expect(card).to_be_visible()
            name, value = (card.locator(f".vt-card-{part}").bounding_box() for part in ("name", "value"))
            assert abs(name["y"] - value["y"]) < 6 and name["x"] + name["width"] < value["x"]
            cut = page.locator(".vt-card > *").evaluate_all(
                "all => all.filter(e => e.scrollWidth > e.clientWidth).length"
            )
            assert cut == 0
            measured = page.locator(".vt-measured").bounding_box()  # one column: its numbers stand near their names
            assert measured and measured["width"] <= 660


@pytest.mark.parametrize(
    ("tab", "picture"),
    [("training", ".st-key-training_slider .snapshots"), ("curves", ".st-key-models_loss .main-svg")],
)
def test_the_replay_and_the_curves_of_a_training_are_whole_in_a_low_window(page, tab, picture):
    view = {"checkpoint": "numbers-tiny", "text": "29,284.30", "model_tab": tab}
    page.set_viewport_size({"width": 1280, "height": 720})  # a chart is drawn anew a while after a window has changed
    visit(page, "/models", **view)
    for width, height in ((1280, 720), (1280, 900)):
        page.set_viewport_size({"width": width, "height": height})
        finished(page)
        page.evaluate(AT_REST)
        shown = box(page, picture)
        assert shown["height"] >= 0.6 * height and shown["y"] + shown["height"] <= height


def test_the_bar_of_a_model_whose_rows_are_chosen_is_one_line_beside_a_second_run(page):
    pin = {"pin_checkpoint": "en-it-slips", "pin_text": "the cat"}
    page.set_viewport_size({"width": 1280, "height": 720})
    visit(page, "/attention", checkpoint="en-it-slips", **pin)
    finished(page)
    assert box(page, ".st-key-choices")["height"] <= BAR
    page.locator(".st-key-switches_box button").click()
    expect(page.get_by_test_id("stPopoverBody").get_by_text("Hide special tokens")).to_be_visible()


@pytest.mark.parametrize("heads", [pytest.param("0,1,2", marks=pytest.mark.slow), "0,1,2,3"])
def test_the_maps_of_several_heads_are_in_view_together_with_cells_of_one_size(page, heads):
    view = {"checkpoint": "numbers", "text": "29,284.30", "heads": heads}
    page.set_viewport_size({"width": 1280, "height": 720})
    visit(page, "/attention", **view)
    finished(page)
    stages = page.locator(".st-key-heads_apart .matrix .stage")
    expect(stages).to_have_count(heads.count(",") + 1)
    page.evaluate(AT_REST)
    places = [stage.bounding_box() for stage in stages.all()]
    assert len({place["y"] for place in places}) == 1
    assert all(place["y"] + place["height"] <= 720 and place["x"] + place["width"] <= 1280 for place in places)
    across = [survey(stage).columns for stage in stages.all()]
    assert all(list(columns) == list(range(11)) for columns in across)  # none has to be scrolled to
    steps = [(columns[10] - columns[0]) / 10 for columns in across]
    assert min(steps) >= 15 and max(steps) - min(steps) < 2  # letters of 12 pixels fit over them
    page.evaluate(
        """() => {
          window.words = []
          const draws = CanvasRenderingContext2D.prototype.fillText
          CanvasRenderingContext2D.prototype.fillText = function (text, ...where) {
            window.words.push(text)
            draws.call(this, text, ...where)
          }
        }"""
    )
    page.set_viewport_size({"width": 1280, "height": 722})
    page.wait_for_function("window.words.some((text) => text.endsWith('weight'))")
    assert not [text for text in page.evaluate("window.words") if text.endswith("…")]


@pytest.mark.parametrize(("width", "height"), [(900, 700), pytest.param(1280, 720, marks=pytest.mark.slow)])
def test_a_long_row_of_one_weight_has_its_numbers_and_is_scrolled_under_its_names(page, width, height):
    text = "ein mann mit einem hut und einer brille steht vor einem großen haus und liest eine zeitung in der sonne ."
    view = {"checkpoint": "multi30k-de-en", "text": text, "t": 19, "i": 21}
    page.set_viewport_size({"width": width, "height": height})
    visit(page, "/weight", **view)
    finished(page)
    stage = page.locator(".st-key-weight_row .row .stage")
    expect(stage).to_be_visible()
    page.evaluate(AT_REST)
    page.wait_for_function("(stage) => stage.scrollLeft > 0", arg=stage.element_handle())
    shown = stage.bounding_box()
    assert shown["height"] >= 0.59 * height and shown["y"] + shown["height"] <= height
    wide, names = (stage.locator(f"canvas.{part}").bounding_box() for part in ("base", "aside"))
    assert wide["width"] >= 23 * 40 and wide["x"] < shown["x"]
    assert (names["x"], names["width"]) == (shown["x"], shown["width"])
    stage.evaluate("(stage) => stage.scrollTo(stage.scrollWidth, 0)")
    assert stage.locator("canvas.aside").bounding_box() == names
    page.mouse.click(shown["x"] + 60, shown["y"] + 200)  # a name, with keys under it, is no key
    expect(page.locator(".st-key-strip .chip[aria-pressed=true]").first).to_have_text(".")


def test_in_a_narrow_window_maps_of_weights_stand_below_each_other(page):
    page.set_viewport_size({"width": 900, "height": 700})
    visit(page, "/masks", checkpoint="multi30k-de-en", mask_view="weights")
    finished(page)
    before, after = (box(page, f".st-key-masks_{when} .matrix .stage") for when in ("before", "after"))
    assert before["y"] + before["height"] <= after["y"]
    assert min(before["width"], after["width"]) >= 560


_CONTRAST = """(button) => {
  const light = (colour) => {
    const [r, g, b] = colour.match(/[0-9.]+/g).map((part) => part / 255)
    const linear = (c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
    return 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b)
  }
  const label = getComputedStyle(button.querySelector("p")).color
  const [a, b] = [light(label), light(getComputedStyle(button).backgroundColor)].sort((a, b) => b - a)
  return (a + 0.05) / (b + 0.05)
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_label_of_a_page_s_main_button_is_read_in_light_and_dark(page, scheme):
    page.emulate_media(color_scheme=scheme)
    visit(page, "/playground", play="rebuild")
    button = page.locator(".st-key-play_start button")
    expect(button).to_be_enabled()
    assert button.evaluate(_CONTRAST) >= 4.5
