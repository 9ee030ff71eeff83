"""The pages on paper: PDFs as the browser prints them, read back and held against the screen."""

from __future__ import annotations

import re
from io import BytesIO
from itertools import cycle
from typing import Any, Literal

import pytest
from browser.driving import viewed
from browser.test_pages import PAGES
from playwright.sync_api import Browser, Page, expect
from pypdf import PdfReader, Transformation
from wording import wording

VIEW = {"checkpoint": "numbers-any", "text": "29,284.30"}
PAPERS: dict[str, dict[str, Any]] = {
    "A4 portrait": {"format": "A4"},
    "A4 landscape": {"format": "A4", "landscape": True},
    "slide": {"width": "13.333in", "height": "7.5in"},
}
PORTRAIT = {"width": 718, "height": 1046}  # A4 without its margins, in pixels
MARGIN = 28  # points, in print.css 10 mm
# What the screen says, to be found on paper; and what its controls say, not to be found there.
_SCREEN = """() => {
  const all = (selector) => [...document.querySelectorAll(selector)].filter((each) => each.checkVisibility())
  const text = (selector) => all(selector).map((each) => each.textContent.trim())
  const main = '[data-testid="stMain"]'
  const controls = `${main} :is(button, [data-testid="stWidgetLabel"], [data-testid="stPageLink"], summary)`
  const copy = document.querySelector(main).cloneNode(true)
  copy.querySelectorAll(controls.replaceAll(main, "")).forEach((each) => each.remove())
  const inside = [...document.querySelectorAll("*")].map((each) => each.shadowRoot?.textContent ?? "")
  return {
    title: text("h1")[0], question: text(".vt-question")[0] ?? "",
    labels: [...text(controls), ...text('[data-testid="stSidebar"] :is(a, button, label)')],
    said: copy.textContent + inside.join(" "), explained: text(".vt-explained > p"), sections: text(".vt-section"),
    instructions: text(".vt-screen"),
  }
}"""
# How everything looks that printing changes for a moment: each element outside of a copy, in all shadow roots.
_STATE = """() => {
  const found = []
  const walk = (node) => {
    for (const each of node.querySelectorAll("*")) {
      if (each.matches("canvas")) found.push(`canvas ${each.width} ${each.height}`)
      if (/printed|vt-sheet/.test(`${each.className} ${each.getAttribute("style") ?? ""}`)) found.push(each.outerHTML)
      if (each.dataset?.printed !== undefined) found.push("printed")
      if (each.matches(".component")) found.push(each.getAttribute("style") ?? "")
      if (each.shadowRoot) walk(each.shadowRoot)
    }
  }
  walk(document)
  return found
}"""
# The pictures on the sheet: how wide each is, of how wide a place, how high, and of how many dots to a pixel.
_PICTURES = """() => {
  const found = []
  const walk = (node) => {
    for (const each of node.querySelectorAll("*")) {
      if (each.shadowRoot) walk(each.shadowRoot)
      if (!each.matches(".printed, .vt-printed") || !each.checkVisibility()) continue
      const [place, box] = [each.getBoundingClientRect(), each.firstElementChild.getBoundingClientRect()]
      const what = each.firstElementChild.className
      const canvases = [...each.querySelectorAll("canvas")].filter((canvas) => canvas.style.width)
      const dots = canvases.map((canvas) => canvas.width / Number.parseFloat(canvas.style.width))
      found.push({ what, place: place.width, left: place.left, width: box.width, height: box.height, dots })
    }
  }
  walk(document)
  return found
}"""


def squeezed(text: str) -> str:
    """Without blanks: where a line ends is the paper's."""
    return re.sub(r"\s+", "", text.replace("\N{NO-BREAK SPACE}", ""))


def ready(page: Page, title: str) -> None:
    """Everything is drawn, the tables that can be sorted too."""
    expect(page.locator("h1")).to_have_text(title)
    expect(page.locator(PAGES[title][1]).first).to_be_attached()
    expect(page.locator(".st-key-next a").last).to_be_attached()
    expect(page.locator("[data-test-script-state=running], [data-testid=stSkeleton]")).to_have_count(0)
    expect(page.locator(".stPlotlyChart:not(:has(.main-svg))")).to_have_count(0)
    expect(page.locator(".stDataFrame:not(:has(canvas table))")).to_have_count(0)
    expect(page.locator("span.sheet")).to_be_attached()


def printed(page: Page, **paper: Any) -> PdfReader:
    return PdfReader(BytesIO(page.pdf(print_background=True, **paper)))


def read(pdf: PdfReader) -> tuple[list[str], list[tuple[int, float, float, float, float]]]:
    """The words of each sheet, squeezed; and of each image its sheet, and left, bottom, right and top in points."""
    texts, found = list[str](), list[tuple[int, float, float, float, float]]()
    for number, sheet in enumerate(pdf.pages):

        def see(operator: bytes, operands: Any, matrix: Any, _: Any, number: int = number, sheet: Any = sheet) -> None:
            if operator != b"Do" or sheet["/Resources"]["/XObject"][operands[0]]["/Subtype"] != "/Image":
                return
            corners = [Transformation(matrix).apply_on(corner) for corner in ((0, 0), (1, 1))]
            (x0, x1), (y0, y1) = (sorted(each) for each in zip(*corners, strict=True))
            found.append((number, x0, y0, x1, y1))

        texts.append(squeezed(sheet.extract_text(visitor_operand_before=see)))
    return texts, found


TOGETHER = {
    ("Masks", "A4 landscape"): ("How it was found", ("swapped", "each swapped for", "passes", "largest logit")),
    ("Playground", "A4 portrait"): ("Values", ("v0", "v1", "v2", "v3")),
}
"""Small tables, which are on one sheet with what they are called: of a page and a paper the heading and the rows."""
DEALT = {**dict(zip(PAGES, cycle(PAPERS), strict=False)), **dict(TOGETHER.keys())}
PRINTED = [
    *(pytest.param(title, [paper], id=title) for title, paper in DEALT.items()),
    *(pytest.param(title, [*PAPERS], id=f"{title}-any", marks=pytest.mark.slow) for title in PAGES),
]
"""Each page on one paper, which are dealt over the pages; each on all before a release."""


@pytest.mark.parametrize(("title", "papers"), PRINTED)
def test_a_page_is_printed_whole_without_its_controls_on_any_paper(
    app_server: str, browser: Browser, title: str, papers: list[str]
) -> None:
    path = PAGES[title][0]
    with viewed(browser, app_server, f"/{path}", run_view="whole", **VIEW) as page:
        ready(page, title)
        screen, before = page.evaluate(_SCREEN), page.evaluate(_STATE)
        caption = page.locator("span.sheet").evaluate("(root) => root.given.caption")
        address = page.url
        rows_on_screen = _rows(page) if title == "Input" else 0
        assert screen["title"] == title and screen["question"] and caption
        for name in papers:
            pdf = printed(page, **PAPERS[name])
            texts, images = read(pdf)
            for number, text in enumerate(texts):
                for wanted in (title, screen["question"], caption, address):
                    assert squeezed(wanted) in text, (name, number, wanted, text)
            whole = "".join(texts)
            for wanted in (*screen["explained"], *screen["sections"]):
                assert all(squeezed(word) in whole for word in wanted.split()), (name, wanted)
            assert [each for each in screen["instructions"] if squeezed(each) in whole] == [], name
            said = squeezed(screen["said"] + caption + address)
            labels = {squeezed(each) for each in screen["labels"]}
            alone = {each for each in labels if len(each) > 5 and each not in said}
            assert {each for each in alone if each in whole} == set(), name
            if (title, name) in TOGETHER:
                heading, rows = TOGETHER[title, name]
                (sheet,) = [text for text in texts if squeezed(heading) in text]
                assert [row for row in rows if squeezed(row) not in sheet] == []
            if title == "Decoding":  # nothing on paper says where to point
                hint = page.locator(".scrubber .hint")
                expect(hint.filter(visible=True)).to_have_count(1)
                assert squeezed(hint.first.text_content() or "") not in whole
            for number, x0, y0, x1, y1 in images:
                box = pdf.pages[number].mediabox
                inside = MARGIN - 2 <= x0 <= x1 <= box.width - MARGIN + 2 and MARGIN <= y0 <= y1 <= box.height - MARGIN
                assert inside, (name, number, x0, y0, x1, y1)
        assert page.evaluate(_STATE) == before
        page.set_viewport_size(PORTRAIT)
        page.emulate_media(media="print")
        expect(page.locator(".vt-sheet-head")).to_be_attached()
        pictures = page.evaluate(_PICTURES)
        assert pictures or title == "Models"
        for picture in pictures:
            full = abs(picture["width"] - PORTRAIT["width"]) < 1.5
            assert full or picture["height"] > 770, picture  # less wide only where it is as high as a sheet lets it be
            assert picture["place"] == PORTRAIT["width"] and picture["left"] == 0, picture
            assert picture["height"] < 800, picture
            assert all(abs(each - 3) < 0.05 for each in picture["dots"]), picture
        if title == "Models":
            cards_have_air_and_no_label_without_its_controls(page)
        if title == "Input":
            a_long_table_says_how_many_rows_are_left_out(page, rows_on_screen)
        page.emulate_media(media="null")
        if title == "Input":
            a_table_that_was_only_just_drawn_is_light_and_as_wide_as_the_sheet(page, "light")


def cards_have_air_and_no_label_without_its_controls(page: Page) -> None:
    expect(page.locator(".st-key-model_add")).to_be_hidden()
    inside = page.locator(".st-key-cards [class*=st-key-card_]").evaluate_all(
        """(cards) => cards.map((card) => {
          const [box, words] = [card, card.querySelector(".vt-card-name")].map((of) => of.getBoundingClientRect())
          return words.left - box.left >= 8 && words.top - box.top >= 4
        })"""
    )
    assert inside == [True] * 11


def _rows(page: Page) -> int:
    """How many rows the first table has, whose heading is one more."""
    return int(page.locator(".stDataFrame canvas table").first.get_attribute("aria-rowcount") or 0) - 1


def a_long_table_says_how_many_rows_are_left_out(page: Page, count: int) -> None:
    expect(page.locator(".vt-sheet-table").first).to_be_visible()
    shown = page.locator(".vt-sheet-table").first.locator("tr").count() - 1
    assert 0 < shown < count
    expect(page.locator(".vt-sheet-note").first).to_have_text(wording("rows_on_paper", shown, count))


def a_table_that_was_only_just_drawn_is_light_and_as_wide_as_the_sheet(
    page: Page, scheme: Literal["dark", "light"]
) -> None:
    turned = "(canvas) => getComputedStyle(canvas).filter"
    page.set_viewport_size(PORTRAIT)
    expect(page.locator(".vt-sheet-table, .vt-sheet-note")).to_have_count(0)
    expect(page.locator(".stDataFrame:not(:has(canvas table))")).to_have_count(0)  # the others are all there
    page.locator(".stDataFrame canvas").first.evaluate("(canvas) => canvas.replaceChildren()")  # as just after
    page.emulate_media(media="print", color_scheme=scheme)
    table = page.locator(".stDataFrame.vt-sheet-picture")
    expect(table).to_be_visible()
    assert ("invert" in table.locator("canvas").first.evaluate(turned)) == (scheme == "dark")
    assert table.evaluate("(table) => table.getBoundingClientRect().width") <= PORTRAIT["width"] + 1
    expect(page.locator(".vt-sheet-picture + .vt-sheet-note")).to_have_text(wording("a_table_as_it_was_drawn"))
    page.emulate_media(media="null", color_scheme=scheme)
    expect(page.locator(".vt-sheet-picture, .vt-sheet-turned, .vt-sheet-note")).to_have_count(0)


@pytest.mark.parametrize("look", ["dark", "projector"])
def test_a_dark_page_and_a_projected_one_are_printed_light(app_server: str, browser: Browser, look: str) -> None:
    fields = {"projector": "on"} if look == "projector" else {}
    scheme = "dark" if look == "dark" else "light"
    dark = "(place) => getComputedStyle(place).color"
    with viewed(browser, app_server, "/input", scheme=scheme, **VIEW, **fields) as page:
        expect(page.locator(".st-key-input_sum .js-plotly-plot").first).to_be_attached()
        expect(page.locator("[data-test-script-state=running], [data-testid=stSkeleton]")).to_have_count(0)
        expect(page.locator("span.sheet")).to_be_attached()
        page.emulate_media(media="print", color_scheme=scheme)
        chart = page.locator(".vt-printed .main-svg").first
        expect(chart).to_be_attached()
        background = chart.evaluate("(chart) => getComputedStyle(chart).backgroundColor")
        assert background == "rgb(255, 255, 255)"
        assert page.locator(".vt-sheet-head b").evaluate(dark) == "rgb(21, 24, 29)"
        colours = page.locator(".vt-printed").first.evaluate(
            "(chart) => [...chart.querySelectorAll('text')].map((each) => getComputedStyle(each).fill)"
        )
        assert set(colours) <= {"rgb(21, 24, 29)", "rgb(86, 94, 105)", "rgb(9, 80, 155)"}  # text, muted, the source
        page.emulate_media(media="null", color_scheme=scheme)
        expect(page.locator(".vt-printed, .vt-sheet-head")).to_have_count(0)
        if look == "dark":
            expect(page.locator(".stDataFrame:not(:has(canvas table))")).to_have_count(0)
            a_table_that_was_only_just_drawn_is_light_and_as_wide_as_the_sheet(page, "dark")


def test_a_long_address_is_in_full_once_and_its_beginning_on_each_sheet(app_server: str, browser: Browser) -> None:
    text = "ein mann liest " * 30
    with viewed(browser, app_server, "/attention", checkpoint="multi30k-de-en", text=text) as page:
        expect(page.locator("[data-test-script-state=running], [data-testid=stSkeleton]")).to_have_count(0)
        expect(page.locator(".st-key-next a").last).to_be_attached()
        expect(page.locator("span.sheet")).to_be_attached()
        texts = [squeezed(sheet.extract_text()) for sheet in printed(page, format="A4").pages]
        assert len(page.url) > 500
        assert "".join(texts).count(squeezed(page.url)) == 1
        assert all(squeezed(page.url[:500]) in each for each in texts)
        assert squeezed(page.url) in texts[-1]


def test_a_text_that_cannot_be_read_is_printed_with_the_reason(app_server: str, browser: Browser) -> None:
    with viewed(browser, app_server, "/attention", checkpoint="numbers-any", text="7" * 60) as page:
        problem = page.locator(".st-key-question .vt-bad")
        expect(problem).to_be_visible()
        expect(page.locator("span.sheet")).to_be_attached()
        expect(page.locator("[data-test-script-state=running], [data-testid=stSkeleton]")).to_have_count(0)
        said = squeezed(problem.text_content() or "")
        assert said and said in squeezed(printed(page, format="A4").pages[0].extract_text())


def test_no_card_is_alone_on_a_sheet_and_rows_stay_together(app_server: str, browser: Browser) -> None:
    with viewed(browser, app_server, "/models", **VIEW) as page:
        ready(page, "Models")
        names = [each for each in page.locator(".st-key-cards .vt-card-name").all_text_contents() if "-" in each]
        for paper, size in PAPERS.items():
            sheets = [sheet.extract_text().splitlines() for sheet in printed(page, **size).pages]
            # a card begins with its name; those without a hyphen are words that a line of text may begin with
            on_sheets = [sum(any(line.split()[:1] == [name] for line in sheet) for name in names) for sheet in sheets]
            assert on_sheets[0] >= len(names) // 2 and on_sheets[1] != 1, (paper, on_sheets)
