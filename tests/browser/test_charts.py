"""What the menu under a chart saves: the chart as it stands there, with a caption that says of what it is."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest
from browser.driving import entry, save, tab_to, viewed
from PIL import Image
from playwright.sync_api import expect

import viz_transformer as vt

TEXT = "0.07"
SVG, LINK = "{http://www.w3.org/2000/svg}", "{http://www.w3.org/1999/xlink}href"
MARGIN, LINE, RATIO = 12, 17, 2
# the chart's place -> page, what else is selected, words of the picture, and the caption
RUN = f"numbers-tiny, “{TEXT}”"
CHARTS = {
    "input_strips": ("input", {"i": 0}, ["+ position"], f"{RUN}, encoder.embed, position 0"),
    "pos_curves_figure": (
        "positions",
        {},
        ["position", "value"],
        f"{RUN}, Wavelength of each dimension, in positions",
    ),
    "layers_stream": ("layers", {}, ["cross", "share added"], f"{RUN}, Along the decoder's stream"),
    "tensors_histogram": (
        "tensors",
        {"chart": "histogram"},
        ["count"],
        f"{RUN}, decoder.1.cross.weights[0, 0, :, :]",
    ),
    "play_row": (
        "playground",
        {"play_mask": "causal", "play_seed": 3},
        ["hatched: forbidden", "÷ √4"],
        "Playground, seed 3, Attention, step by step",
    ),
    "models_loss": (
        "models",
        {"model_tab": "curves"},
        ["optimiser step", "learning rate"],
        "numbers-tiny, training loss on 512 of 140,000 pairs, validation loss on 512 of 30,000 pairs, Loss during"
        " training",
    ),
}


PINNED = {"pin_checkpoint": "numbers-tiny", "pin_text": "7", "shown": "A|B"}


@pytest.mark.parametrize(("path", "fields"), [("tensors", {}), ("positions", {"pin_checkpoint": "multi30k-de-en"})])
def test_what_is_pointed_at_in_one_of_two_pictures_is_said_in_both(app_server, browser, path, fields):
    view = {"checkpoint": "numbers-tiny", "text": TEXT, **PINNED, **fields}
    with viewed(browser, app_server, f"/{path}", **view) as page:
        stages = page.locator(".matrix .stage")
        expect(stages).to_have_count(2)
        for stage in stages.all():
            expect(stage).to_have_attribute("data-painted", re.compile(r"\d"))
        said = page.locator(".matrix .tooltip:visible")
        for stage in stages.all():
            stage.hover(position={"x": 140, "y": 180})
            expect(said).to_have_count(2)
            places = [each.locator("> div").all_text_contents()[:2] for each in said.all()]
            numbers = [[re.search(r"\d+", line)[0] for line in lines] for lines in places]
            assert numbers[0] == numbers[1], places
            page.mouse.move(5, 5)
            expect(said).to_have_count(0)


def test_what_the_pointer_finds_in_a_chart_that_stands_beside_another_is_said_in_both(app_server, browser):
    view = {"checkpoint": "numbers-tiny", "text": TEXT, **PINNED, "chart": "histogram"}
    with viewed(browser, app_server, "/tensors", **view) as page:
        for own in ("", "_b"):
            shown(page, f"tensors_histogram{own}")
        page.mouse.move(*first_bar(page))
        for own in ("", "_b"):
            expect(page.locator(f".st-key-tensors_histogram{own} .hoverlayer .hovertext text")).to_have_count(1)


def first_bar(page):
    """A place on the first bar of the histogram: that of weights near 0, of which there are most."""
    box = page.locator(".st-key-tensors_histogram .nsewdrag").first.bounding_box()
    return box["x"] + 4, box["y"] + box["height"] - 6


def menu_of(page, place):
    return page.locator(f".st-key-{place} .saving")


def shown(page, place):
    """The chart, when it is drawn."""
    layer = page.locator(f".st-key-{place} .js-plotly-plot .main-svg").first
    expect(layer).to_be_visible()
    return layer


@pytest.mark.parametrize("place", CHARTS)
def test_a_chart_is_saved_as_it_stands_with_its_caption(app_server, browser, tmp_path, place):
    path, fields, words, caption = CHARTS[place]
    with viewed(browser, app_server, f"/{path}", checkpoint="numbers-tiny", text=TEXT, **fields) as page:
        expect(page.locator(".vt-explained")).to_be_visible()
        expect(page.locator("[data-test-script-state=running], [data-testid=stSkeleton]")).to_have_count(0)
        box = shown(page, place).bounding_box()
        png, svg = (save(page, entry(menu_of(page, place), form), tmp_path) for form in ("PNG", "SVG"))
        lettering = page.locator(f".st-key-{place} .main-svg text").all_text_contents()
    assert (png.suffix, svg.suffix) == (".png", ".svg") and png.stem == svg.stem
    tree = ElementTree.parse(svg).getroot()
    texts = ["".join(element.itertext()) for element in tree.iter(f"{SVG}text")]
    lines = len(texts) - len(lettering)  # of the caption, which comes last
    assert texts[: len(lettering)] == lettering and all(word in " ".join(lettering) for word in words)
    assert " ".join(texts[len(lettering) :]) == f"{caption} (Viz Transformer {vt.__version__})"
    size = (box["width"] + 2 * MARGIN, box["height"] + 3 * MARGIN + lines * LINE)
    assert (float(tree.get("width")), float(tree.get("height"))) == size
    assert_alone(tree)
    with Image.open(png) as image:
        assert image.size == tuple(int(RATIO * side) for side in size)
        colours = image.convert("RGB").getcolors(maxcolors=2**24)
        assert max(count for count, _ in colours) < 0.99 * image.width * image.height
        foot = image.convert("L").crop((0, image.height - RATIO * (MARGIN + lines * LINE), image.width, image.height))
        assert foot.getextrema()[0] < 160  # the caption's letters


def assert_alone(tree):
    """Nothing in the file asks for another, and nothing in it runs."""
    for element in tree.iter():
        assert element.tag.rpartition("}")[2] not in ("script", "foreignObject", "style", "use", "a")
        for name, value in element.attrib.items():
            assert not name.startswith("on")
            assert "http" not in value
            assert all(target.startswith("#") for target in re.findall(r"url\(\s*[\"']?([^\"')]*)", value)), value
            assert name not in (LINK, "href") or value.startswith("data:image/png;base64,")


def test_what_a_clip_or_a_hatch_refers_to_is_in_the_file(app_server, browser, tmp_path):
    with viewed(browser, app_server, "/playground", play_mask="causal") as page:
        shown(page, "play_row")
        tree = ElementTree.parse(save(page, entry(menu_of(page, "play_row"), "SVG"), tmp_path)).getroot()
    ids = {element.get("id") for element in tree.iter()}
    values = [value for element in tree.iter() for value in element.attrib.values()]
    used = {target for value in values for target in re.findall(r"url\([\"']?#([^\"')]*)", value)}
    assert used and used <= ids
    assert any(element.tag == f"{SVG}pattern" for element in tree.iter())


def test_the_keyboard_reaches_the_menu_and_saves(app_server, browser, tmp_path):
    with viewed(browser, app_server, "/models", checkpoint="numbers-tiny", model_tab="curves") as page:
        shown(page, "models_loss")
        tab_to(page, menu_of(page, "models_loss").locator("[aria-haspopup=menu]"), presses=80)
        page.keyboard.press("Enter")
        page.keyboard.press("ArrowDown")
        with page.expect_download() as saving:
            page.keyboard.press("Enter")
    assert saving.value.suggested_filename == "numbers-tiny-loss-during-training.svg"


def test_what_the_pointer_finds_is_not_saved(app_server, browser, tmp_path):
    with viewed(browser, app_server, "/tensors", checkpoint="numbers-tiny", text=TEXT, chart="histogram") as page:
        shown(page, "tensors_histogram")
        page.mouse.move(*first_bar(page))
        said = page.locator(".st-key-tensors_histogram .hoverlayer .hovertext text")
        expect(said).to_be_visible()
        with page.expect_download() as saving:  # the pointer stays where it is
            menu_of(page, "tensors_histogram").locator("[role=menuitem]", has_text="SVG").evaluate(
                "(button) => button.click()"
            )
        saving.value.save_as(tmp_path / "table.svg")
        words = said.text_content()
    assert words
    texts = [
        "".join(text.itertext()) for text in ElementTree.parse(tmp_path / "table.svg").getroot().iter(f"{SVG}text")
    ]
    assert "count" in texts and words not in texts


def test_on_a_projector_the_chart_has_the_room(app_server, browser):
    fields = {"checkpoint": "numbers-tiny", "text": TEXT, "projector": "on", "chart": "histogram"}
    with viewed(browser, app_server, "/tensors", **fields) as page:
        shown(page, "tensors_histogram")
        expect(menu_of(page, "tensors_histogram")).to_have_count(0)
