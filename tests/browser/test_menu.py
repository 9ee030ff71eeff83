"""The "…" of each picture: its entries, the keyboard in it, the table that it opens, and where it stands."""

from browser.driving import MATRIX, address, choose, drawn, entry, expect_address, tab_to, viewed
from playwright.sync_api import expect

import viz_transformer as vt

VIEW = {"checkpoint": "numbers-tiny", "text": "0.07", "kind": "cross", "layer": 1, "heads": 0}
SAVED = ["PNG", "SVG"]
ALL = [*SAVED, "Table and CSV"]

_FOCUSED = """() => {
  let at = document.activeElement
  while (at?.shadowRoot?.activeElement) at = at.shadowRoot.activeElement
  return at?.textContent || at?.getAttribute("aria-label") || ""
}"""
# Whether what is seen in the middle of an entry is that entry.
_ON_TOP = """(item) => {
  const { left, top, width, height } = item.getBoundingClientRect()
  const [x, y] = [left + width / 2, top + height / 2]
  let at = document.elementFromPoint(x, y)
  while (at?.shadowRoot?.elementFromPoint(x, y) && at.shadowRoot.elementFromPoint(x, y) !== at)
    at = at.shadowRoot.elementFromPoint(x, y)
  return at === item && top >= 0 && left >= 0 && left + width <= innerWidth && top + height <= innerHeight
}"""


def more(place):
    return place.locator("[aria-haspopup=menu]")


def items(place):
    return place.locator("[role=menuitem]:visible")


def test_keys_open_it_walk_in_it_and_close_it_and_the_page_s_own_rest(app_server, browser):
    with viewed(browser, app_server, "/attention", **VIEW) as page:
        drawn(page, MATRIX)
        matrix, focused = page.locator(".matrix"), lambda: page.evaluate(_FOCUSED)
        tab_to(page, more(matrix))
        before = address(page)
        expect(matrix.get_by_role("menu")).to_have_count(0)
        for opens, first in (("Enter", "PNG"), ("Space", "PNG"), ("ArrowDown", "PNG"), ("ArrowUp", "Table and CSV")):
            page.keyboard.press(opens)
            expect(more(matrix)).to_have_attribute("aria-expanded", "true")
            assert focused() == first, opens
            page.keyboard.press("Escape")
            expect(more(matrix)).to_have_attribute("aria-expanded", "false")
            expect(items(matrix)).to_have_count(0)
            assert focused() == "Save this picture or read its numbers"
        page.keyboard.press("Enter")
        walked = []
        for key in ("ArrowDown", "ArrowDown", "ArrowDown", "ArrowUp", "Home", "End", "ArrowLeft", "e"):
            page.keyboard.press(key)
            walked.append(focused())
        assert walked == ["SVG", ALL[2], "PNG", ALL[2], "PNG", ALL[2], ALL[2], ALL[2]]
        page.keyboard.press("Tab")  # on to what comes behind it
        expect(items(matrix)).to_have_count(0)
        assert focused() not in (*ALL, "Save this picture or read its numbers")
        assert address(page) == before


def test_it_has_the_table_where_python_has_one_and_gives_the_focus_back(app_server, browser):
    with viewed(browser, app_server, "/attention", **VIEW) as page:
        drawn(page, MATRIX)
        for name, entries in ((".matrix", ALL), (".grid", ALL), (".lines", SAVED)):
            more(page.locator(name)).click()
            assert items(page.locator(name)).all_text_contents() == entries
        entry(page.locator(".matrix"), "Table").click()
        expect(page.get_by_role("dialog").get_by_test_id("stDataFrame")).to_be_visible()
        page.keyboard.press("Escape")
        expect(page.get_by_role("dialog")).to_have_count(0)
        expect(more(page.locator(".matrix"))).to_be_focused()
        choose(page, "attention_head", "mean")  # another run does not open it again
        drawn(page, MATRIX, "mean")
        expect(page.get_by_role("dialog")).to_have_count(0)


def test_its_table_outlives_a_choice_that_is_on_its_way_and_escape_closes_it_after_a_file_was_saved(
    app_server, browser
):
    with viewed(browser, app_server, "/attention", **VIEW) as page:
        drawn(page, MATRIX)
        press, button = page.keyboard.press, page.locator(".st-key-table_csv button")
        tab_to(page, page.locator(".matrix .choice button").nth(1))
        for key in ("Enter", "Tab"):  # the scale, of which Python hears a little later
            press(key)
        tab_to(page, more(page.locator(".matrix")))
        for key in ("Enter", "End", "Enter"):
            press(key)
        expect(button).to_be_visible()
        expect_address(page, scale="row")
        tab_to(page, button)
        with page.expect_download():
            press("Enter")
        press("Escape")
        expect(button).to_have_count(0)
        press("p")  # the page's keys are its own again
        expect_address(page, projector="on")


def test_a_chart_leads_to_its_table(app_server, browser):
    with viewed(browser, app_server, "/positions", checkpoint="numbers-tiny", text="0.07") as page:
        for picture, entries in ((".st-key-pos_curves_figure .saving", SAVED), (".st-key-pos_picture .matrix", ALL)):
            place = page.locator(picture)
            more(place).click()
            assert items(place).all_text_contents() == entries
        items(place).last.click()
        expect(page.get_by_role("dialog").get_by_test_id("stDataFrame")).to_be_visible()


def test_the_pointer_opens_and_closes_it_and_scrolling_does(app_server, browser):
    with viewed(browser, app_server, "/attention", **VIEW) as page:
        drawn(page, MATRIX)
        matrix = page.locator(".matrix")
        more(matrix).click()
        expect(items(matrix)).to_have_count(3)
        more(matrix).click()
        expect(items(matrix)).to_have_count(0)
        more(matrix).click()
        page.mouse.click(5, 5)
        expect(items(matrix)).to_have_count(0)
        more(matrix).click()
        page.mouse.wheel(0, 100)
        expect(items(matrix)).to_have_count(0)


def test_nothing_lies_over_it_or_cuts_it(app_server, browser, subtests):
    with viewed(browser, app_server, "/attention", **VIEW) as page:
        for height in (560, 720, 1080):
            with subtests.test(height=height):
                page.set_viewport_size({"width": 900, "height": height})
                drawn(page, MATRIX)
                for name in (".grid", ".matrix", ".lines"):
                    place = page.locator(name)
                    more(place).click()
                    expect(items(place).first).to_be_visible()
                    assert [item.evaluate(_ON_TOP) for item in items(place).all()] == [True] * items(place).count(), (
                        name
                    )
                    page.keyboard.press("Escape")


def test_its_button_and_entries_have_a_ring_of_two_pixels(app_server, browser):
    with viewed(browser, app_server, "/attention", **VIEW) as page:
        drawn(page, MATRIX)
        tab_to(page, more(page.locator(".matrix")))
        ring = "(part) => getComputedStyle(part).outline.replace(/^.*\\) /, '')"
        assert more(page.locator(".matrix")).evaluate(ring) == "solid 2px"
        page.keyboard.press("Enter")
        page.keyboard.press("ArrowDown")
        assert items(page.locator(".matrix")).nth(1).evaluate(ring) == "solid 2px"


def test_html_that_stands_alone_saves_and_has_no_table(browser, run, tmp_path):
    vt.show(run, "encoder.0.self", head=0).save(tmp_path / "map.html")
    page = browser.new_page()
    try:
        page.goto((tmp_path / "map.html").as_uri())
        drawn(page, MATRIX)
        more(page.locator(".matrix")).click()
        assert items(page.locator(".matrix")).all_text_contents() == SAVED
        with page.expect_download() as saving:
            items(page.locator(".matrix")).last.click()
        assert saving.value.suggested_filename.endswith(".svg")
    finally:
        page.close()
