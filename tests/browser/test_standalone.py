"""A picture that was saved, in a real browser that has no network: it is drawn, and says its numbers when asked."""

import re
from contextlib import contextmanager

import numpy as np
import pytest
from browser.driving import MATRIX, drawn, pixels, survey, tooltip
from playwright.sync_api import expect

import viz_transformer as vt
from viz_transformer import numerals
from viz_transformer.analysis.attention.maps import step_row
from viz_transformer.figures import theme
from viz_transformer.model.kinds import KINDS, kinds_of


@contextmanager
def saved(browser, file, scheme="light", **context):
    """The file in a browser without a network; errors and requests for anything else fail the test."""
    given = browser.new_context(offline=True, color_scheme=scheme, viewport={"width": 1000, "height": 700}, **context)
    page, problems = given.new_page(), []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
    page.on("dialog", lambda dialog: problems.append(dialog.message))
    page.on("request", lambda request: problems.append(request.url) if request.url != file.as_uri() else None)
    try:
        page.goto(file.as_uri())
        yield page
        assert problems == []
    finally:
        given.close()


@pytest.mark.parametrize("scheme", theme.THEMES)
def test_a_saved_map_is_drawn_in_the_reader_s_theme_and_says_the_numbers_of_the_run(browser, run, tmp_path, scheme):
    file, site = tmp_path / "map.html", "encoder.0.self"
    vt.show(run, site, head=1).save(file)
    weights = run.trace[f"{site}.weights"][0, 1].numpy()
    with saved(browser, file, scheme) as page:
        stage = drawn(page, MATRIX, "encoder layer 0, head 1")
        where = survey(stage, cells=True)
        assert {cell: lines[-1] for cell, lines in where.cells.items()} == {
            cell: f"weight {numerals.share(float(weight))}" for cell, weight in np.ndenumerate(weights)
        }
        corner = [int(theme.palette(scheme).page[i : i + 2], 16) for i in (1, 3, 5)]
        background = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert [int(channel) for channel in re.findall(r"\d+", background)] == corner
        assert len({tuple(colour) for colour in pixels(stage, where).values()}) > 1
        stage.click(position=where.at(1, 2))  # what is chosen stays in the picture
        assert tooltip(stage)[-1] == where.cells[1, 2][-1]


def test_a_frame_in_a_notebook_is_as_tall_as_its_picture_and_keeps_its_style(browser, run, tmp_path):
    file = tmp_path / "notebook.html"
    figure = vt.show(run, "encoder.0.self", head=0)
    file.write_text(f'<!doctype html><meta charset="utf-8"><body>{figure._repr_html_()}<p>after</p>', encoding="utf-8")
    with saved(browser, file) as page:
        inside = page.frame_locator("iframe")
        inside.locator(".matrix .stage[data-painted]").wait_for()
        page.wait_for_function("document.querySelector('iframe').clientHeight !== 600")
        needs = inside.locator("body").evaluate("(body) => body.scrollHeight")
        assert page.locator("iframe").evaluate("(frame) => frame.clientHeight") == needs
        assert page.locator("p").evaluate("(text) => getComputedStyle(text).color") == "rgb(0, 0, 0)"


def test_a_saved_whole_run_looks_into_the_strongest_weight_of_the_row_until_another_is_chosen(browser, run, tmp_path):
    file = tmp_path / "run.html"
    vt.figures.run(run).save(file)
    kind = kinds_of(run.trace.spec)[0]
    weights = run.trace[f"{KINDS[kind].stack}.0.{KINDS[kind].attention}.weights"][0, 0]
    first = step_row(run, 0)
    with saved(browser, file) as page:
        now, stage = page.locator(".whole .now"), page.locator(".whole .stage")
        stage.focus()
        for level in ("layer", "attention", "weight"):
            page.keyboard.press("+")
            page.locator(f".whole .stage[data-level={level}]:not([data-moving])").wait_for()
        assert len({int(row.argmax()) for row in weights[first:]} - {0}) > 0
        for row in range(first, first + len(run.steps)):
            share = numerals.share(float(weights[row].max()))
            expect(now).to_have_text(re.compile(rf"puts {re.escape(share)} of its attention on .* for a score"))
            page.keyboard.press("ArrowDown")
        page.keyboard.press("ArrowLeft")
        key = int(weights[row].argmax())
        share = numerals.share(float(weights[row, max(key - 1, 0)]))
        expect(now).to_have_text(re.compile(rf"puts {re.escape(share)} of its attention on .* for a score"))


@pytest.mark.parametrize("what", ["encoder", "steps", "decoder.0.self"])
def test_every_picture_that_show_has_is_drawn_without_an_error(browser, run, tmp_path, what):
    file = tmp_path / "picture.html"
    vt.show(run, what, **({"form": "lines"} if "." in what else {})).save(file)
    with saved(browser, file) as page:
        page.locator(".component canvas, .component .candidate").first.wait_for()


def test_hostile_text_stays_text(browser, tmp_path):
    hostile = "</script><script>alert(1)</script><!--\u2028<img src=x onerror=alert(1)>"
    file = tmp_path / "map.html"
    vt.figures.attention_heatmap([[1.0]], [hostile], ["a"], title=hostile).save(file)
    with saved(browser, file) as page:
        stage = drawn(page, MATRIX)
        assert any("<img" in line for line in survey(stage, cells=True).cells[0, 0])
        assert page.title() == hostile
