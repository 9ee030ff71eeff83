"""Texts of several lines: typed, pasted, and there again after the page was loaded anew, in every box for a text."""

import pytest
from browser.driving import address, expect_address, viewed
from playwright.sync_api import Locator, Page, expect

MODEL = "shakespeare"  # it reads line breaks
TEXT = "rain fell\nand the harbour"
TYPED = "\nso\nit\ngoes\n"
# the page, what its address says, the key of the box, and the field that has its text
BOXES = {
    "text": ("/", {}, "run_text", "text"),
    "text of Positions": ("/positions", {"pos_topic": "orders"}, "pos_a", "text"),
    "second order": ("/positions", {"pos_topic": "orders"}, "pos_b", "pos_order"),
    "text to score": ("/decoding", {"dec_tab": "score"}, "decoding_score_text", "dec_text"),
    "beginning": ("/decoding", {}, "decoding_prefix", "prefix"),
    "batch": ("/masks", {"checkpoint": "numbers-any", "text": "42"}, "masks_batch", "mask_batch"),
}


def write(page: Page, box: Locator) -> None:
    """TYPED in the place of what stands in the box: breaks from the keyboard, and pasted ones of Windows."""
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.evaluate("navigator.clipboard.writeText('\\r\\ngoes\\r\\n')")
    box.press("Control+a")
    page.keyboard.press("Shift+Enter")
    page.keyboard.type("so")
    page.keyboard.press("Shift+Enter")
    page.keyboard.type("it")
    page.keyboard.press("Control+v")
    expect(box).to_have_value(TYPED)


def at_rest(page: Page) -> None:
    expect(page.locator(".stApp[data-test-script-state=notRunning]")).to_have_count(1)


def shown(page: Page, key: str) -> Locator:
    box = page.locator(f".st-key-{key} textarea")
    expect(box).to_be_visible()
    at_rest(page)
    return box


def height(box: Locator) -> float:
    found = box.bounding_box()
    assert found is not None
    return found["height"]


def same_lines(box: Locator) -> None:
    """It shows all lines of TYPED, without a bar to scroll them."""
    expect(box).to_have_value(TYPED)
    assert box.evaluate("(box) => box.scrollHeight <= box.clientHeight")


AGAIN = ("text of Positions", "beginning")
"""Boxes like another one of their page: they are tried before a release."""


@pytest.mark.parametrize(
    "name", [pytest.param(each, marks=pytest.mark.slow if each in AGAIN else ()) for each in BOXES]
)
def test_breaks_that_are_typed_or_pasted_stay_in_the_box_the_address_and_a_reload(app_server, browser, name):
    path, fields, key, field = BOXES[name]
    with viewed(browser, app_server, path, **{"checkpoint": MODEL, "text": TEXT, **fields}) as page:
        box = shown(page, key)
        box.fill("so")
        low = height(box)
        write(page, box)
        assert field not in address(page) or address(page)[field] != TYPED
        assert height(box) > low or low > 100  # boxes that have a line for each text begin with four
        box.press("Enter")
        expect_address(page, **{field: TYPED})
        same_lines(box)
        at_rest(page)
        page.reload()
        same_lines(shown(page, key))
        assert address(page)[field] == TYPED


@pytest.mark.parametrize(("said", "field"), [("Edit the text", "text"), ("Edit the given answer", "target")])
def test_a_row_of_chips_takes_breaks_and_shows_them(app_server, browser, said, field):
    with viewed(browser, app_server, "/attention", checkpoint=MODEL, text=TEXT, target="a rose") as page:
        at_rest(page)
        row = page.locator(".strip .row").filter(has=page.get_by_role("button", name=said))
        whole = page.locator(".strip").bounding_box()
        row.get_by_role("button", name=said).click()
        box = page.get_by_role("textbox", name=said)
        write(page, box)
        same_lines(box)
        assert page.locator(".strip").bounding_box() == whole  # nothing below it jumps
        box.press("Enter")
        expect_address(page, **{field: TYPED})
        expect(row.locator(".chip .token", has_text="↵")).to_have_count(4)
        page.reload()
        expect(row.locator(".chip .token", has_text="↵")).to_have_count(4)
        row.get_by_role("button", name=said).click()
        expect(box).to_have_value(TYPED)


def test_a_box_that_is_left_by_escape_has_its_text_again_and_one_that_is_left_otherwise_runs(app_server, browser):
    with viewed(browser, app_server, checkpoint=MODEL, text=TEXT) as page:
        box = shown(page, "run_text")
        before = address(page)
        box.press("End")
        page.keyboard.type(" of old")
        page.keyboard.press("Escape")
        expect(box).to_have_value(TEXT)
        expect(box).not_to_be_focused()
        at_rest(page)
        assert address(page) == before
        write(page, box)
        page.keyboard.press("Enter")
        expect_address(page, text=TYPED)
        expect(box).to_be_focused()
        page.keyboard.type("x")
        page.keyboard.press("Escape")
        expect(box).to_have_value(TYPED)  # what was run stays
        box.fill("left\n")
        box.blur()
        expect_address(page, text="left\n")


def test_a_long_line_is_no_taller_and_above_more_lines_the_picture_stays_in_view(app_server, browser):
    with viewed(browser, app_server, checkpoint=MODEL, text="so it goes on " * 5, run_view="whole") as page:
        box = shown(page, "run_text")
        assert height(box) == 38
        write(page, box)
        box.press("Enter")
        expect_address(page, text=TYPED)
        at_rest(page)
        assert height(box) == 38 + 4 * 28
        page.set_viewport_size({"width": 1280, "height": 720})
        page.wait_for_function(
            """() => [...document.querySelectorAll("*")].some(({ shadowRoot }) =>
              shadowRoot?.querySelector(".whole")?.getBoundingClientRect().bottom <= innerHeight)"""
        )


def test_a_text_of_several_lines_is_pinned_as_b(app_server, browser):
    with viewed(browser, app_server, checkpoint=MODEL, text=TEXT) as page:
        box = shown(page, "run_text")
        write(page, box)
        box.press("Enter")
        expect_address(page, text=TYPED)
        page.get_by_role("button", name="Keep run").click()
        expect_address(page, pin_text=TYPED)
        box.fill("so it goes")
        box.press("Enter")
        expect_address(page, text="so it goes", pin_text=TYPED)
        page.reload()
        expect(page.get_by_text("↵so↵it↵goes↵").first).to_be_visible()
        assert address(page)["pin_text"] == TYPED
