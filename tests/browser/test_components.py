"""The pictures of the app in a real browser: what they say, how they are moved through, and what they save."""

from __future__ import annotations

import csv
import re
import time
from xml.etree import ElementTree

import numpy as np
import pytest
from browser import expected
from browser.checkpoints import TYPED
from browser.driving import (
    GRID,
    LINES,
    MATRIX,
    SCRUBBER,
    TEXT,
    address,
    choose,
    drawn,
    entry,
    expect_address,
    expect_ring,
    expect_tooltip,
    go_to,
    save,
    server_unreachable,
    survey,
    thumbnail,
    tooltip,
    viewed,
)
from PIL import Image
from playwright.sync_api import expect

import viz_transformer as vt
from viz_transformer.analysis.attention.head_scores import head_scores
from viz_transformer.figures import labels

VIEW = {"checkpoint": "signs", "text": TYPED, "kind": "cross", "layer": 1, "heads": 2}
MARGIN, LINE = 12, 17
"""Around and between what is saved, and a line of its caption, in pixels."""


# ---- the matrix


def test_a_cell_is_clicked_walked_from_and_zoomed_around_and_the_scale_is_kept_in_the_address(
    random_server, browser, run
):
    """What each gesture does to the picture: `figures/components/test_matrix.py`."""
    rows, columns = expected.weights_of(run, "cross", 1)[0].shape
    with viewed(browser, random_server, "/attention", **VIEW) as page:
        stage = drawn(page, MATRIX, "head 2, cross-attention")
        whole = survey(stage)
        stage.click(position=whole.at(2, 3))
        expect_ring(stage, whole.at(2, 3))
        expect_address(page, t=2, i=3)
        for keys, row, column in (
            (["ArrowDown", "ArrowRight"], 3, 4),
            (["ArrowUp", "ArrowUp", "ArrowUp", "ArrowUp", "ArrowLeft"], 0, 3),
            (["End", "Shift+ArrowDown"], rows - 1, columns - 1),
        ):
            for key in keys:
                page.keyboard.press(key)
            assert tooltip(stage)[:2] == [
                expected.query_words(run, "cross", row),
                expected.key_words(run, "cross", column),
            ]
            expect_ring(stage, whole.at(row, column))
            expect_address(page, t=row, i=column)
        page.keyboard.press("+")
        zoomed = survey(stage)
        assert set(zoomed.rows) < set(whole.rows) and set(zoomed.columns) < set(whole.columns)
        assert rows - 1 in zoomed.rows and columns - 1 in zoomed.columns
        page.keyboard.press("+")
        assert len(survey(stage).columns) < len(zoomed.columns)
        page.keyboard.press("-")
        page.keyboard.press("-")
        assert set(zoomed.columns) <= set(survey(stage).columns)
        page.keyboard.press("+")
        page.keyboard.press("Escape")
        assert survey(stage) == whole
        for name, words in (("row", "of each row"), ("map", "of the map")):
            page.locator(".matrix .foot").get_by_role("button", name=re.compile(words)).click()
            expect_address(page, scale=name, t=rows - 1, i=columns - 1)
            expect(page.locator(".matrix .choice [aria-pressed=true]")).to_have_text(name)


# ---- one selection for all pictures


def test_a_chip_moves_the_ring_of_the_matrix_before_the_server_hears_of_it(random_server, browser):
    with viewed(browser, random_server, "/attention", **VIEW, t=0, i=0) as page:
        stage = drawn(page, MATRIX, "head 2, cross-attention")
        where, chips = survey(stage), page.locator("button.chip")
        with server_unreachable(page):
            chips.nth(4).click()  # the fifth that is read
            expect_ring(stage, where.at(0, 4))
            page.locator(".chips").nth(1).locator("button").nth(3).click()
            expect_ring(stage, where.at(3, 4))
            page.keyboard.press("ArrowRight")
            expect_ring(stage, where.at(4, 4))
            assert address(page)["i"] == "0"
        expect_address(page, t=4, i=4)


def test_a_cell_marks_its_chips_and_its_step_before_the_server_hears_of_it_and_the_steps_settle_into_the_address(
    random_server, browser, run
):
    with viewed(browser, random_server, "/", **VIEW) as page:
        stage = drawn(page, MATRIX, "head 2, cross-attention")
        drawn(page, SCRUBBER)
        with server_unreachable(page):
            stage.click(position=survey(stage).at(3, 2))
            selected = page.locator("button.chip.selected .token")
            expect(selected).to_have_text([run.trace.src.tokens[2], run.steps[3].token])
            expect(page.locator(".scrubber .says .number")).to_have_text("Step 4 of 6")
        expect_address(page, t=3, i=2)
        page.locator(".scrubber input[type=range]").focus()
        page.keyboard.press("End")
        expect_address(page, t=5)
        page.get_by_role("button", name="Previous step").click()
        expect_address(page, t=4)
        page.get_by_role("button", name="Play the steps").click()
        expect_address(page, t=5)


# ---- all heads


def test_the_grid_names_its_heads_and_chooses_one_or_several_of_a_layer(random_server, browser):
    with viewed(browser, random_server, "/attention", **VIEW) as page:
        drawn(page, MATRIX, "decoder layer 1, head 2")
        grid = drawn(page, GRID, "2 layers of 3 heads")
        grid.hover(position=thumbnail(grid, "layer 0, head 1"))
        assert tooltip(grid) == ["layer 0, head 1"]
        grid.click(position=thumbnail(grid, "layer 0, head 1"))
        drawn(page, MATRIX, "decoder layer 0, head 1, cross-attention")
        expect_address(page, layer=0, heads=1)
        grid.click(position=thumbnail(grid, "layer 0, head 2"), modifiers=["Control"])
        expect_address(page, layer=0, heads="1,2")
        expect(grid.locator("[aria-selected=true]")).to_have_text(["layer 0, head 1", "layer 0, head 2"])
        lines = drawn(page, LINES)
        expect_tooltip(lines, {"x": 10, "y": lines.bounding_box()["height"] / 2}, "head 1: reads", "head 2: reads")
        grid.click(position=thumbnail(grid, "layer 0, head 1"), modifiers=["Control"])
        expect_address(page, layer=0, heads=2)
        grid.focus()
        page.keyboard.press("End")
        page.keyboard.press("ArrowLeft")
        page.keyboard.press("Enter")
        expect_address(page, heads=1)


def test_the_grid_is_sorted_by_a_score_which_each_head_says_with_its_baseline(random_server, browser, run):
    specials = {"source_special": [False] * len(run.trace.src), "target_special": [True] + [False] * 5}
    scores = {score.name: score for score in head_scores(run.trace, "cross", **specials)}
    with viewed(browser, random_server, "/attention", **VIEW) as page:
        grid = drawn(page, GRID, "2 layers of 3 heads")
        sort = page.locator(".grid select")
        for name in ("entropy", "monotonicity"):
            sort.select_option(name)
            score = scores[name]
            heads = sorted(np.ndindex(2, 3), key=lambda head: -score.values[head])
            wanted = [
                f"layer {layer}, head {head}, {name} {labels.number(score.values[layer, head])},"
                f" baseline {labels.number(score.baseline[layer, head])}, from {score.n[layer, head]} rows"
                for layer, head in heads
            ]
            expect(grid.get_by_role("option")).to_have_text(wanted)
            expect_address(page, sort=name)
        sort.select_option("in place")
        expect_address(page, sort=None)


# ---- lines and text


def test_a_token_beside_the_lines_says_what_it_reads_most_and_is_chosen_by_mouse_and_keyboard(
    random_server, browser, run
):
    weights = expected.weights_of(run, "cross", 1)[2]
    with viewed(browser, random_server, "/attention", **VIEW, t=1, i=1) as page:
        lines = drawn(page, LINES)
        drawn(page, GRID)
        lines.focus()
        page.keyboard.press("ArrowDown")
        page.keyboard.press("ArrowUp")
        for row in range(2, 5):
            page.keyboard.press("ArrowDown")
            key = int(weights[row].argmax())
            what = expected.key_words(run, "cross", key).replace(":", "", 1)
            most = f"reads most: {what}, weight {labels.share(float(weights[row, key]))}"
            assert tooltip(lines)[:2] == [expected.query_words(run, "cross", row), most]
        page.keyboard.press("Enter")
        expect_address(page, t=4, i=1)
        page.keyboard.press("ArrowRight")
        page.keyboard.press("End")
        page.keyboard.press("Enter")
        expect_address(page, t=4, i=len(run.trace.src) - 1)
        row = 2
        ys = [
            y
            for y in range(0, int(lines.bounding_box()["height"]), 4)
            if line_token(lines, 12, y) == expected.query_words(run, "cross", row)
        ]
        lines.click(position={"x": 12, "y": ys[len(ys) // 2]})
        expect_address(page, t=row)


def line_token(lines, x, y):
    """What the lines say of this place."""
    return lines.evaluate(
        """(stage, [x, y]) => {
          const box = stage.getBoundingClientRect()
          stage.dispatchEvent(new PointerEvent("pointermove", { clientX: box.left + x, clientY: box.top + y }))
          const tip = stage.parentElement.querySelector(":scope > .tooltip")
          return tip.hidden ? null : tip.firstChild.textContent
        }""",
        [x, y],
    )


def test_the_text_is_shaded_by_the_chosen_querys_weights_and_by_the_chosen_keys(random_server, browser, run):
    weights = expected.weights_of(run, "cross", 1)[2]
    with viewed(browser, random_server, "/attention", **VIEW, t=3, i=2, panel="text") as page:
        stage = drawn(page, TEXT)
        sources, targets = (stage.get_by_role("listbox").nth(n).locator(".token") for n in (0, 1))
        expect_darkness(sources, by_weight(weights[3]))
        sources.nth(4).hover()
        assert tooltip(stage) == expected.cells(run, "cross", weights, np.ones_like(weights, dtype=bool))[3, 4]
        targets.nth(1).click()
        expect_address(page, t=1, i=2)
        expect_darkness(sources, by_weight(weights[1]))
        right_to_left = stage.get_by_role("listbox").nth(1).get_attribute("dir") == "rtl"
        page.keyboard.press("ArrowLeft" if right_to_left else "ArrowRight")
        expect_address(page, t=2, i=2)
        page.get_by_role("button", name="to this key").click()
        expect_darkness(targets, by_weight(weights[:, 2]))
        sources.nth(0).click()
        expect_address(page, t=2, i=0)
        expect_darkness(targets, by_weight(weights[:, 0]))


def expect_darkness(tokens, wanted):
    """The tokens are in this order from the lightest to the darkest, as soon as what is chosen has come."""
    deadline = time.monotonic() + 10
    while by_darkness(tokens) != wanted and time.monotonic() < deadline:
        tokens.page.wait_for_timeout(50)
    assert by_darkness(tokens) == wanted


def by_darkness(tokens):
    """The tokens' numbers from the lightest to the darkest."""
    colours = tokens.evaluate_all("(all) => all.map((each) => getComputedStyle(each).backgroundColor)")
    return sorted(range(len(colours)), key=lambda n: -sum(map(int, re.findall("[0-9]+", colours[n])[:3])))


def by_weight(weights):
    """Their numbers from the least weight to the largest."""
    return sorted(range(len(weights)), key=lambda n: weights[n])


# ---- what is saved


def test_each_picture_is_saved_as_png_and_as_svg_with_its_caption(random_server, browser, tmp_path):
    pictures = {"matrix": "decoder layer 1, head 2, cross-attention", "grid": "all heads, cross-attention"}
    pictures |= {"lines": pictures["matrix"], "shading": pictures["matrix"], "scrubber": "candidates"}
    with viewed(browser, random_server, "/attention", **VIEW, run_view="map") as page:
        for name in ("matrix", "grid", "lines"):
            drawn(page, f".{name} .stage")
            check_saved(page, name, tmp_path)
        choose(page, "attention_panel", "Text")
        drawn(page, TEXT)
        check_saved(page, "shading", tmp_path)
        go_to(page, "Run")
        drawn(page, SCRUBBER)
        check_saved(page, "scrubber", tmp_path)
    for name, what in pictures.items():
        texts = [element.text or "" for element in ElementTree.parse(tmp_path / f"{name}.svg").getroot()]
        start = next(n for n, text in enumerate(texts) if text.startswith("signs, “"))
        caption = " ".join(texts[start:])  # in as many lines as it needs
        assert caption.endswith(f"”, {what} (Viz Transformer {vt.__version__})"), (name, caption)
        assert all(token in caption for token in TYPED.split())


def check_saved(page, name, folder):
    """Save a picture in both forms and look at the files: their sizes, and that something is on them."""
    root = page.locator(f".{name}")
    width = root.evaluate("(root) => root.clientWidth")
    png, svg = (save(page, entry(root, form), folder) for form in ("PNG", "SVG"))
    assert (png.suffix, svg.suffix) == (".png", ".svg") and png.stem == svg.stem and png.stem.startswith("signs-")
    with Image.open(png) as image:
        assert image.width == 2 * (width + 2 * MARGIN)
        assert image.height > 200
        colours = image.convert("RGB").getcolors(maxcolors=2**24)
        assert max(count for count, _ in colours) < 0.98 * image.width * image.height
        height = image.height / 2
    if name == "matrix":
        lines = (height - page.locator(MATRIX).evaluate("(stage) => stage.clientHeight") - 3 * MARGIN) / LINE
        assert lines in (1, 2, 3)
    tree = ElementTree.parse(svg).getroot()
    assert tree.tag == "{http://www.w3.org/2000/svg}svg"
    assert (float(tree.get("width")), float(tree.get("height"))) == (
        width + 2 * MARGIN,
        pytest.approx(height, abs=0.5),
    )
    for element in tree.iter():
        assert element.tag.rpartition("}")[2] in ("svg", "rect", "text", "path", "image")
        assert not any(attribute.startswith("on") for attribute in element.attrib)
    svg.rename(folder / f"{name}.svg")


def test_the_svg_of_a_matrix_has_every_token_as_it_is(random_server, browser, run, tmp_path):
    with viewed(browser, random_server, "/attention", **VIEW) as page:
        drawn(page, MATRIX)
        path = save(page, entry(page.locator(".matrix"), "SVG"), tmp_path)
    texts = [element.text for element in ElementTree.parse(path).getroot().iter("{http://www.w3.org/2000/svg}text")]
    for token in (*run.trace.src.originals, *run.trace.tgt.tokens, *(step.token for step in run.steps)):
        assert labels.isolate(token) in texts, token


def test_a_text_in_an_svg_is_as_wide_as_it_was_drawn_in_whatever_font(random_server, browser, tmp_path):
    """The file has no fonts: here it is drawn in another one, and words that fitted beside each other still do."""
    measured = """(texts) => {
      const context = document.createElement("canvas").getContext("2d")
      return texts.map(([font, text]) => {
        context.font = font
        return context.measureText(text).width
      })
    }"""
    drawn_now = """() => [...document.querySelectorAll("text")].map((each) => {
      const given = (name) => each.getAttribute(name)
      return [`${given("font-weight")} ${given("font-size")}px ${given("font-family")}`, each.textContent,
        each.getBBox().width]
    })"""
    with viewed(browser, random_server, **VIEW, run_view="whole") as page:
        page.locator(".whole .stage[data-painted]").wait_for()
        path = save(page, entry(page.locator(".whole"), "SVG"), tmp_path)
        file = browser.new_page()
        try:
            file.goto(path.as_uri())
            found = [each for each in file.evaluate(drawn_now) if each[1].isascii()]
        finally:
            file.close()
        widths = page.evaluate(measured, [each[:2] for each in found])
    assert len(found) > 20
    assert [each[2] for each in found] == pytest.approx(widths, abs=1.5)


def test_the_table_and_its_csv_have_the_numbers_of_the_trace(random_server, browser, run, tmp_path):
    weights, mask = expected.weights_of(run, "decoder", 1)[2], expected.mask_of(run, "decoder", 1)
    with viewed(browser, random_server, "/attention", **{**VIEW, "kind": "decoder"}) as page:
        drawn(page, MATRIX, "self-attention")
        entry(page.locator(".matrix"), "Table").click()
        expect(page.get_by_test_id("stDataFrame")).to_be_visible()
        path = save(page, page.locator(".st-key-table_csv button"), tmp_path)
    with path.open(encoding="utf-8", newline="") as file:
        header, *lines = csv.reader(file)
    assert path.suffix == ".csv"
    keys = [f"{place} {token}" for place, token in enumerate(run.trace.tgt.tokens)]
    assert header == ["reads", *keys, *(f"{key}, masked" for key in keys)]
    assert [line[0] for line in lines] == keys
    for row, line in enumerate(lines):
        assert np.array_equal(np.array(line[1 : 1 + len(keys)], np.float32), weights[row])
        assert line[1 + len(keys) :] == [str(not may) for may in mask[row]]
