"""On a projector the whole page grows with the window: each scene is in view, nothing is cut, every letter is large."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from browser.boxes import LETTERS, NOTES, PICTURES
from browser.driving import drawn, expect_address, expect_tooltip, opened, survey, visit
from browser.test_pages import PAGES
from playwright.sync_api import Browser, Page, expect
from tabs import SECONDS

from viz_transformer.ui.pages.models.fields import TABS
from viz_transformer.ui.pages.playground.fields import PLAY

TITLES = {path: title for title, (path, _) in PAGES.items()}
SIZES = ((1280, 720), (1920, 1080), (3840, 2160))
SMALLEST = 1 / 45  # of the height: letters that the last row can read
# More tokens than there is room for names.
SENTENCE = {
    "checkpoint": "multi30k-de-en",
    "text": "Ein Mann mit einem roten Hut steht vor einem Haus und liest eine große Zeitung.",
}
# path -> what the address says besides: a scene is a picture or a table of one page, and some tabs are pages
TOURS = (
    ("", {}),
    *(("", {"run_view": "whole", "level": level, **SENTENCE}) for level in ("run", "layer", "attention", "weight")),
    ("decoding", {}),
    # What is written is not among the first ten: a row more.
    ("decoding", {**SENTENCE, "strategy": "sampling", "text": "Zwei Kinder bauen eine Burg am Strand.", "t": "4"}),
    ("input", {}),
    ("positions", {}),
    ("attention", {}),
    ("weight", {}),
    ("layers", {}),
    ("tensors", {}),
    ("masks", {}),
    *(("playground", {"play": what}) for what in PLAY),
    *(("models", {"model_tab": tab}) for tab in TABS),
)
# Two frames after the letters have come and every picture in view was painted since then.
_PAINTED = """async (stages, since) => {
  const frame = () => new Promise((go) => requestAnimationFrame(go))
  const late = () => stages.filter((each) => each.checkVisibility() && Number(each.dataset.painted ?? 0) < since)
  await document.fonts.ready
  for (let n = 0; n < 600 && late().length; n++) await frame()
  if (late().length) throw new Error(`not painted: ${late().map((each) => each.parentElement.className)}`)
  await frame()
  await frame()
}"""
# Whether a pointer over the middle of a chart is told of it.
_UNDER_THE_POINTER = """(chart) => {
  const { left, top, width, height } = chart.getBoundingClientRect()
  return chart.contains(document.elementFromPoint(left + width / 2, top + Math.min(height, 300) / 2))
}"""
# From the first to the last place, in height, at which a pointer finds a head.
_HEADS_HEIGHT = """(stage) => {
  const box = stage.getBoundingClientRect()
  const tip = stage.parentElement.querySelector(":scope > .tooltip")
  const found = []
  for (let y = 2; y < box.height; y += 6)
    for (let x = 2; x < box.width; x += 24) {
      stage.dispatchEvent(new PointerEvent("pointermove", { clientX: box.left + x, clientY: box.top + y }))
      if (!tip.hidden) found.push(y)
    }
  stage.dispatchEvent(new PointerEvent("pointerleave"))
  return Math.max(...found) - Math.min(...found)
}"""
_EDGES = """() => {
  const main = document.querySelector("[data-testid=stMain]")
  const question = document.querySelector(".vt-question").getBoundingClientRect()
  const caption = document.querySelector(".vt-caption").getBoundingClientRect()
  const strip = document.querySelector(".st-key-strip")?.getBoundingClientRect() ?? question
  const sideways = main.scrollWidth - main.clientWidth
  return { question: question.top, above: strip.bottom, caption: caption.top, end: caption.bottom, sideways }
}"""
# Of a scene that has to be scrolled, at its end: how much of the window is empty between what is seen and the caption.
_EMPTY_END = """(main) => {
  main.scrollTo(0, main.scrollHeight)
  if (!main.scrollTop) return 0
  const caption = main.querySelector(".vt-caption")
  let lowest = 0
  const walk = (node) => {
    for (const part of node.querySelectorAll("*")) {
      if (part.shadowRoot) walk(part.shadowRoot)
      const [box, texts] = [part.getBoundingClientRect(), [...part.childNodes].filter((each) => each.nodeType === 3)]
      const is = part.matches("canvas, svg, input") || texts.some((each) => each.data.trim())
      if (is && part !== caption && box.width > 2 && part.checkVisibility()) lowest = Math.max(lowest, box.bottom)
    }
  }
  walk(main)
  return (caption.getBoundingClientRect().top - lowest) / main.clientHeight
}"""


@pytest.fixture(scope="module")
def open_page(app_server: str, browser: Browser) -> Iterator[Page]:
    """As in all files, but canvases note what is written on them."""
    with opened(browser, app_server, "/playground", script=NOTES) as page:
        yield page


def painted(page: Page, since: float = 1) -> None:
    page.locator(".component .stage").evaluate_all(_PAINTED, since)


def resized(page: Page, width: int, height: int) -> None:
    if page.viewport_size == {"width": width, "height": height}:
        return
    now = page.evaluate("performance.now()")
    page.set_viewport_size({"width": width, "height": height})
    painted(page, now)


def scene(page: Page, number: int) -> int:
    """Wait until this scene is there; how many the page has."""
    keys = page.locator(".component.keys")
    expect(keys).to_be_attached()
    keys.evaluate(
        """async (keys, number) => {
          for (let n = 0; n < 1200 && keys.vt.data.scene !== number; n++)
            await new Promise((go) => requestAnimationFrame(go))
          if (keys.vt.data.scene !== number) throw new Error(`scene ${keys.vt.data.scene}, not ${number}`)
        }""",
        number,
    )
    expect(page.locator("[data-test-script-state=running], [data-testid=stSkeleton]")).to_have_count(0)
    expect(page.locator(".stPlotlyChart:not(:has(.main-svg))")).to_have_count(0)
    painted(page)
    count: int = keys.evaluate("(keys) => keys.vt.data.scenes")
    return count


def problems(page: Page, width: int, height: int) -> list[str]:
    """What is wrong with the scene that is shown, in a window of this size."""
    resized(page, width, height)
    edges, found = page.evaluate(_EDGES), []
    if not (0 <= edges["question"] < edges["caption"] and edges["end"] <= height + 1):
        found.append(f"question and caption are at {edges}")
    if edges["caption"] - edges["above"] < 0.08 * height:
        found.append(f"there is nothing: {edges}")
    if edges["sideways"] > 1:
        found.append(f"it is {edges['sideways']} pixels too wide")
    small = [f"{text!r} {size:.1f}" for text, size in page.evaluate(LETTERS) if size < SMALLEST * height - 0.1]
    if small:
        found.append(f"too small: {small[:6]}")
    for n, (name, left, top, right, bottom) in enumerate(page.evaluate(PICTURES)):
        if left < -1 or right > width + 1:
            found.append(f"{name} from {left} to {right} of {width}")
        if n == 0 and top < 0.5 * height and bottom > edges["caption"] + 4:
            found.append(f"{name} ends at {bottom}, the caption begins at {edges['caption']}")
        if bottom - top > 0.88 * height:
            found.append(f"{name} is {bottom - top} pixels high")
    return [f"{width}x{height}: {each}" for each in found]


NAMES = ["-".join([path or "run", *(v for n, v in f.items() if n != "text")]) for path, f in TOURS]
SCENES = [
    pytest.param(*tour, number if dealt else None, id=f"{name}-{'dealt' if dealt else 'every size'}", marks=marks)
    for dealt, marks in ((True, ()), (False, pytest.mark.slow))
    for number, (tour, name) in enumerate(zip(TOURS, NAMES, strict=True))
]
"""Of each tour which size its first scene has, the next one having the next; None: each scene is seen at every size."""


@pytest.mark.parametrize(("path", "fields", "first"), SCENES)
def test_every_scene_is_in_view_with_large_letters_at_three_sizes(page, path, fields, first):
    fields = {"checkpoint": "numbers-any", "text": "29,284.30", "projector": "on", **fields}
    wrong, number, count = {}, 0, 1
    page.set_viewport_size({"width": 1280, "height": 720})
    visit(page, f"/{path}", **fields)
    expect(page.locator(".vt-projector")).to_be_attached()
    expect(page.locator("h1")).to_have_text(TITLES[path])
    while number < count:
        count = scene(page, number)
        expect(page.locator(".st-key-site:visible")).to_have_count(0)  # tools are left out
        expect(page.get_by_test_id("stSidebar")).not_to_be_in_viewport()
        sizes = SIZES[:: -1 if number % 2 else 1] if first is None else [SIZES[(first + number) % len(SIZES)]]
        found = [each for size in sizes for each in problems(page, *size)]
        empty = page.get_by_test_id("stMain").evaluate(_EMPTY_END)
        if empty > 0.1:
            found.append(f"{empty:.0%} of the window are empty at its end")
        if found:
            wrong[number] = found
        number += 1
        if number < count:
            page.keyboard.press("PageDown")
    expect_address(page, **{name: fields[name] for name in ("checkpoint", "text", "projector")})
    assert wrong == {}


def test_on_a_large_projector_the_pointer_finds_cells_and_a_chart_is_whole(page):
    view = {"checkpoint": "numbers-any", "text": "42", "projector": "on"}
    page.set_viewport_size({"width": 1920, "height": 1080})
    visit(page, "/attention", **view)
    stage = drawn(page, ".matrix .stage")
    painted(page)
    where, box = survey(stage), stage.bounding_box()
    assert max(where.columns.values()) < box["width"]
    page.mouse.click(box["x"] + where.columns[2], box["y"] + where.rows[1])
    page.wait_for_url(lambda url: "i=2" in url and "t=1" in url)
    expect_tooltip(stage, where.at(1, 2), "key 2")
    page.set_viewport_size({"width": 1920, "height": 1080})
    visit(page, "/input", **view)
    plot = page.locator(".js-plotly-plot .main-svg").first
    expect(plot).to_be_visible()
    assert 1500 < plot.bounding_box()["width"] <= 1920
    under = page.locator(".js-plotly-plot").first.evaluate(_UNDER_THE_POINTER)
    assert not under  # no hint, rather than a wrong one


def test_tools_are_left_out_and_long_tables_are_as_long_as_they_are(page):
    view = {"checkpoint": "numbers-any", "text": "29,284.30", "projector": "on"}
    for panel, tool in (("lines", ".lines .threshold"), ("text", ".shading .choice .quiet")):
        visit(page, "/attention", panel=panel, scene=1, **view)
        scene(page, 1)
        expect(page.locator(f".{tool.split()[0][1:]} .stage").first).to_be_visible()
        expect(page.locator(tool).first).to_be_attached()
        expect(page.locator(f"{tool}:visible")).to_have_count(0)
        expect(page.locator(".st-key-attention_panel")).to_be_hidden()
    visit(page, "/layers", **view)
    scene(page, 0)
    table = page.locator(".st-key-layers_top .vt-ly-scroll")
    assert table.evaluate("(table) => table.scrollHeight - table.clientHeight") <= 1


@pytest.mark.parametrize(
    ("path", "number", "place", "said"),
    [
        ("input", 3, ".st-key-input_nearest table", "cosine"),
        ("weight", 3, ".st-key-weight_torch table", "torch"),
    ],
)
def test_nearest_tokens_and_torchs_own_attention_are_scenes(page, path, number, place, said):
    view = {"checkpoint": "numbers-any", "text": "29,284.30", "projector": "on", "scene": number}
    page.set_viewport_size({"width": 1280, "height": 720})
    visit(page, f"/{path}", **view)
    assert scene(page, number) == number + (2 if path == "input" else 1)
    expect(page.locator(place)).to_contain_text(said)
    assert problems(page, 1280, 720) == []


def test_without_snapshots_the_training_tab_is_there_on_a_projector(page):
    visit(page, "/models", checkpoint="numbers", model_tab="training", projector="on")
    expect(page.locator(".vt-caption")).to_contain_text("numbers, training")


def test_the_cards_of_the_bundled_models_end_above_the_caption(page):
    page.set_viewport_size({"width": 1280, "height": 720})
    visit(page, "/models", checkpoint="taylor", projector="on")
    scene(page, 0)
    cards = page.locator(".st-key-cards [class*=st-key-card_]").all()
    ends = [card["y"] + card["height"] for card in (each.bounding_box() for each in cards)]
    assert len(ends) == 11 and max(ends) <= page.evaluate(_EDGES)["caption"]


def test_what_goes_on_below_the_caption_fades_above_it(page):
    fades = """(caption) => getComputedStyle(caption.closest(".stElementContainer"), "::before").content !== "none" """
    page.set_viewport_size({"width": 1280, "height": 720})
    visit(page, "/layers", checkpoint="numbers-any", text="29,284.30", projector="on")
    scene(page, 0)
    caption = page.locator(".vt-caption")
    assert caption.evaluate(fades)
    page.get_by_test_id("stMain").evaluate("(main) => main.scrollTo(0, main.scrollHeight)")
    page.wait_for_function(f"() => !({fades})(document.querySelector('.vt-caption'))", timeout=SECONDS)


def test_all_heads_fill_their_scene_and_the_scores_have_one_of_their_own(page):
    view = {"checkpoint": "numbers-any", "text": "29,284.30", "projector": "on", "scene": 2}
    page.set_viewport_size({"width": 1280, "height": 720})
    visit(page, "/attention", **view)
    assert scene(page, 2) == 4
    assert drawn(page, ".grid .stage").evaluate(_HEADS_HEIGHT) > 0.4 * 720
    assert problems(page, 1280, 720) == []
    page.keyboard.press("PageDown")
    scene(page, 3)
    expect(page.locator(".st-key-scores .vt-facts").first).to_contain_text("entropy")
    expect(page.locator(".st-key-panel")).to_be_hidden()
    assert problems(page, 1280, 720) == []
    ends = page.locator(".st-key-scores .vt-facts").first.bounding_box()
    assert ends["y"] + ends["height"] <= page.evaluate(_EDGES)["caption"]


def test_the_ladder_fills_its_scene_in_two_columns_that_begin_at_one_height(page):
    view = {"checkpoint": "numbers-any", "text": "29,284.30", "projector": "on", "scene": 1}
    page.set_viewport_size({"width": 1280, "height": 720})
    visit(page, "/weight", **view)
    scene(page, 1)
    rungs = page.locator(".st-key-weight_ladder [role=radiogroup] label").evaluate_all(
        "(rungs) => rungs.map((rung) => [...rung.getClientRects()].map((box) => [box.left, box.top, box.bottom]))"
    )
    assert {len(boxes) for boxes in rungs} == {1}  # none is broken between the columns
    columns: dict[int, list[tuple[float, float]]] = {}
    for ((left, top, bottom),) in rungs:
        columns.setdefault(round(left), []).append((top, bottom))
    assert len(columns) == 2
    tops = [min(top for top, _ in column) for column in columns.values()]
    assert abs(tops[0] - tops[1]) <= 1
    assert max(bottom for column in columns.values() for _, bottom in column) - tops[0] > 0.5 * 720
    assert problems(page, 1280, 720) == []
