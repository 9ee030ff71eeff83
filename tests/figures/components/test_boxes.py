"""The keys of the page's boxes for texts: which of them run the text, as Streamlit's text area does at Ctrl+Enter."""

from itertools import product

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


def test_enter_runs_shift_breaks_the_line_and_escape_brings_back_what_ran_last(browser):
    with mounted(browser, "selection", {"token": "", "lost": 0}) as view:
        page = view.page
        page.evaluate(PAGE)
        box, other = page.locator(".stTextArea textarea"), page.locator("#other")

        def leave():
            page.keyboard.press("Escape")
            page.wait_for_function("document.activeElement === document.body")
            return box.input_value(), page.evaluate("window.runs")

        box.press("End")
        assert not box.evaluate("(box) => box.spellcheck")  # what is typed is not spelled
        page.keyboard.type("b")
        assert leave() == ("a", [])
        box.press("End")
        for key in ("Shift+Enter", "b"):
            box.press(key)
        assert (box.input_value(), page.evaluate("window.runs")) == ("a\nb", [])
        box.press("Enter")
        assert (box.input_value(), page.evaluate("window.runs")) == ("a\nb", ["a\nb"])
        box.press("Control+Enter")
        assert page.evaluate("window.runs") == ["a\nb", "a\nb"]
        box.press("Control+z")
        box.press("Control+z")
        assert box.input_value() == "a"
        box.fill("c\n")
        box.press("Enter")
        page.keyboard.type("d")
        assert leave() == ("c\n", ["a\nb", "a\nb", "c\n"])
        box.fill("に")
        for key, given in product(("Enter", "Escape"), ({"isComposing": True}, {"keyCode": 229})):
            assert box.evaluate(KEY, {"key": key, **given}), f"{key} {given}"  # nobody has taken it
        assert (box.input_value(), len(page.evaluate("window.runs"))) == ("に", 3)
        assert box.evaluate("(box) => box === document.activeElement")
        other.press("Enter")  # other boxes keep their keys
        assert other.input_value() == "\n" and other.evaluate("(box) => box.spellcheck")
