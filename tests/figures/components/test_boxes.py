"""The keys of the page's boxes for texts: which of them run the text, as Streamlit's text area does at Ctrl+Enter."""

import pytest
from mounted import mounted

# A box as Streamlit has it, and one that is none of ours. `runs` are the texts that Ctrl and Enter ran.
PAGE = """() => {
  const boxes = '<div class="stTextArea"><textarea>a</textarea></div><textarea id="other"></textarea>'
  document.body.insertAdjacentHTML("beforeend", boxes)
  window.runs = []
  document.querySelector(".stTextArea textarea").addEventListener("keydown", (event) => {
    if (event.key === "Enter" && event.ctrlKey) window.runs.push(event.target.value)
  })
}"""
KEY = "(box, given) => box.dispatchEvent(new KeyboardEvent('keydown', { bubbles: true, cancelable: true, ...given }))"


@pytest.fixture
def page(browser):
    with mounted(browser, "selection", {"token": "", "lost": 0}) as view:
        view.page.evaluate(PAGE)
        yield view.page


def runs(page):
    return page.evaluate("window.runs")


def test_enter_runs_and_shift_breaks_the_line_which_can_be_undone(page):
    box = page.locator(".stTextArea textarea")
    box.press("End")
    for key in ("Shift+Enter", "b"):
        box.press(key)
    assert box.input_value() == "a\nb" and runs(page) == []
    box.press("Enter")
    assert box.input_value() == "a\nb" and runs(page) == ["a\nb"]
    box.press("Control+Enter")
    assert runs(page) == ["a\nb", "a\nb"]
    box.press("Control+z")
    box.press("Control+z")
    assert box.input_value() == "a"


@pytest.mark.parametrize("given", [{"isComposing": True}, {"keyCode": 229}])
@pytest.mark.parametrize("key", ["Enter", "Escape"])
def test_while_a_character_is_put_together_its_keys_are_its_own(page, key, given):
    box = page.locator(".stTextArea textarea")
    box.fill("に")
    assert box.evaluate(KEY, {"key": key, **given})  # nobody has taken it
    assert runs(page) == [] and box.input_value() == "に"
    assert box.evaluate("(box) => box === document.activeElement")


def test_escape_brings_back_what_ran_last_and_leaves_the_box(page):
    box = page.locator(".stTextArea textarea")
    box.focus()
    page.keyboard.type("b")
    page.keyboard.press("Escape")
    page.wait_for_function("document.activeElement === document.body")
    assert box.input_value() == "a" and runs(page) == []
    box.fill("c\n")
    box.press("Enter")
    page.keyboard.type("d")
    box.press("Escape")
    page.wait_for_function("document.activeElement === document.body")
    assert box.input_value() == "c\n" and runs(page) == ["c\n"]


def test_what_is_typed_is_not_spelled_and_other_boxes_keep_their_keys(page):
    box, other = page.locator(".stTextArea textarea"), page.locator("#other")
    box.focus()
    assert not box.evaluate("(box) => box.spellcheck")
    other.press("Enter")
    assert other.input_value() == "\n" and other.evaluate("(box) => box.spellcheck")
