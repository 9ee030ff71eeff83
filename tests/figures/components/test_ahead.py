"""A run that is shown ahead of its page: what stands in the place of the page's own, until it is over."""

from base64 import b64encode

import numpy as np
import pytest
from drawing import picture_of
from mounted import mounted, stop_clock

from viz_transformer.analysis.attention.axes import Axis, Texts
from viz_transformer.figures.components.chips import Chip, ChipRow
from viz_transformer.ui.components.ahead import Ahead, Paragraph, ahead_payload, caught_up_payload
from viz_transformer.ui.components.pictures import Range, slider_data

PAGE = """() => {
  const page = document.createElement("div")
  const box = '<div class="st-key-run_text"><textarea>42</textarea></div>'
  page.innerHTML = `${box}<div class="place"><p class="vt-answer">forty-two</p></div>`
  document.body.append(page)
  window.shown = []
  let answered = null
  vizTransformerAhead.onAnswer((count) => { answered = count })
  vizTransformerAhead.listen((given) => window.shown.push(given && [answered, given.strip, given.matrix?.length]))
}"""
SAYS = """() => [
  document.querySelector(".st-key-run_text textarea").value, document.querySelector(".place").textContent,
  document.querySelector(".place p").className, "vtAhead" in document.documentElement.dataset,
]"""


def run_ahead(text="43", answer="forty-three", count=1, **chosen):
    paragraph = Paragraph(".place p", "given: ", answer, "vt-answer")
    return ahead_payload(Ahead(text, count, chosen, [], [paragraph], {"matrix": bytes(8)}), "")


@pytest.fixture
def page(browser):
    with mounted(browser, "ahead", caught_up_payload("42")) as view:
        view.page.evaluate(PAGE)
        yield view


def says(view):
    return view.page.evaluate(SAYS)


def shown(view):
    return view.page.evaluate("window.shown")


def caught_up(view):
    view.page.wait_for_function("() => window.shown.at(-1) === null")
    return says(view)


def test_a_run_stands_in_the_place_of_the_pages_own_until_the_page_has_caught_up_and_makes_its_own_anew(page):
    assert says(page) == ["42", "forty-two", "vt-answer", False]
    page.give(run_ahead(t=3))
    assert says(page) == ["43", "given: forty-three", "vt-answer vt-plain", True]
    assert shown(page) == [[1, {"rows": []}, 8]]
    assert page.page.evaluate("vizTransformerSelection.chosen") == {"t": 3}
    page.give(run_ahead("44", "<b>"))
    assert says(page) == ["44", "given: <b>", "vt-answer vt-plain", True]
    page.give(caught_up_payload("42"))
    assert caught_up(page) == ["42", "forty-two", "vt-answer", False]
    assert len(shown(page)) == 3
    page.give(run_ahead())  # what the page made anew stays when it has caught up
    page.page.evaluate("document.querySelector('.place').innerHTML = '<p class=\"own\">forty-four</p>'")
    page.give(caught_up_payload("44"))
    assert caught_up(page) == ["44", "forty-four", "own", False]


def test_a_page_without_it_has_caught_up(page):
    page.page.evaluate("(given) => { window.give(given) }", b64encode(run_ahead()).decode())
    page.painted()
    assert says(page)[3]
    page.page.evaluate("window.remove()")
    assert says(page) == ["42", "forty-two", "vt-answer", False] and shown(page)[-1] is None


def test_the_last_that_is_told_holds(page):
    told = [run_ahead(), caught_up_payload("43"), run_ahead("44", "forty-four", count=2)]
    page.page.evaluate("(all) => all.forEach(window.give)", [b64encode(each).decode() for each in told])
    page.page.wait_for_timeout(50)
    assert says(page)[0] == "44" and says(page)[3]
    assert [each and each[0] for each in shown(page)] == [2]


def test_the_end_of_what_was_overtaken_changes_nothing_nor_does_a_run_what_somebody_writes(page):
    told = [b64encode(each).decode() for each in (run_ahead(), run_ahead("44", "forty-four", count=2))]
    page.page.evaluate("([first, second]) => { const end = window.give(first); window.give(second); end() }", told)
    page.painted()
    assert says(page)[0] == "44" and says(page)[3]
    page.give(caught_up_payload("42"))
    assert caught_up(page)[0] == "42"
    page.page.locator("textarea").fill("4")  # what somebody writes is left alone
    page.give(run_ahead())
    assert says(page)[0] == "4"


# ---- the parts of the page


def ahead(view, **given):
    view.page.evaluate("(given) => vizTransformerAhead.show(given)", given)
    view.painted()


def row(token):
    return ChipRow(label="reads", chips=[Chip(token=token, original=token, side="source", position=0)]).data()


def test_the_strip_shows_it_and_then_what_the_page_gave_last(browser):
    with mounted(browser, "chips", {"rows": [row("a")]}) as view:
        tokens = view.page.locator(".chip .token")
        ahead(view, strip={"rows": [row("b")]})
        assert tokens.all_text_contents() == ["b"]
        view.give({"rows": [row("a")]})  # the page has nothing new to say
        assert tokens.all_text_contents() == ["b"]
        view.give({"rows": [row("c")]})
        assert tokens.all_text_contents() == ["c"]
        ahead(view, strip={"rows": [row("d")]})
        view.page.evaluate("vizTransformerAhead.show(null)")
        assert tokens.all_text_contents() == ["c"]


def a_map(title):
    side = Texts(("x", "y"))
    rows, columns = Axis("t", "query", "reads", "target", side), Axis("i", "key", "keys", "source", side)
    return picture_of(np.full((2, 2), 0.5), rows, columns, title=title).pack()


def test_a_picture_shows_it_and_then_what_the_page_gave_last(browser):
    with mounted(browser, "matrix", a_map("own")) as view:
        view.page.evaluate(
            "() => { window.ahead = (text) => vizTransformerAhead.show({ matrix: "
            "Uint8Array.from(atob(text), (character) => character.charCodeAt(0)) }) }"
        )

        def title():
            view.painted()
            return view.page.locator(".stage").get_attribute("aria-label").split(".")[0]

        def show(data):
            view.page.evaluate("(text) => window.ahead(text)", b64encode(data).decode())

        own = title()
        show(a_map("ahead"))
        first = title()
        assert "own" in own and "ahead" in first
        view.give(a_map("own"))
        assert title() == first
        view.give(a_map("later"))
        assert "later" in title()
        show(a_map("ahead"))
        view.page.evaluate("vizTransformerAhead.show(null)")
        assert "later" in title()
        ahead(view, strip={"rows": []})  # nothing of this picture
        assert "later" in title()


@pytest.mark.parametrize("name", ["chips", "matrix"])
def test_a_part_that_was_overtaken_while_its_module_was_fetched_stays(browser, name):
    data = {"chips": {"rows": [row("a")]}, "matrix": a_map("own")}[name]
    given = b64encode(data).decode() if isinstance(data, bytes) else data
    with mounted(browser, name, data) as view:
        view.page.evaluate(
            "(given) => { const end = window.give(given); window.end = window.give(given); end() }", given
        )
        part = view.page.locator(f".{'strip' if name == 'chips' else name}")
        assert part.count() == 1
        view.page.evaluate("window.end()")
        assert part.count() == 0


def test_a_run_shown_ahead_answers_the_slider(browser):
    numbers = Range(least=-1.0, most=1.0, step=0.1, decimals=2)
    own = {"locale": "en-US"}  # a browser of its own, whose time stands still: nothing has settled
    with mounted(browser, "slider", slider_data(0.0, "0.00", numbers, label="A number"), **own) as view:
        stop_clock(view.page)
        view.page.get_by_role("slider").focus()
        view.press("ArrowRight", "ArrowRight")
        told = "window.triggers.map(([, { count, settled }]) => [count, settled])"
        assert view.page.evaluate(told) == [[1, False]]
        view.page.evaluate("vizTransformerAhead.answer(0)")
        assert view.page.evaluate(told) == [[1, False]]
        view.page.evaluate("vizTransformerAhead.answer(1)")
        assert view.page.evaluate(told) == [[1, False], [2, False]]
