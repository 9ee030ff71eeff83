"""The keys of the whole page: that which edits the text, pressed before the page hears them, and the space bar."""

from base64 import b64encode

import pytest
from mounted import mounted

from viz_transformer.figures.components.source import javascript

PLAY, PAUSE = "Play the steps", "Pause"
HEAR = """async ([code, data]) => {
  document.addEventListener("vt-edit", () => (window.edits = (window.edits ?? 0) + 1))
  const { default: component } = await import(URL.createObjectURL(new Blob([atob(code)], { type: "text/javascript" })))
  const parentElement = document.body.appendChild(document.createElement("div")).attachShadow({ mode: "open" })
  component({ parentElement, data: { scene: 0, scenes: 1, rows: null, guide: [], groups: [], ...data } })
  return window.edits ?? 0
}"""


@pytest.mark.parametrize(
    ("pressed", "projector", "edits"),
    [("e", False, 1), ("e", True, 0), ("x", False, 0), ("Control+e", False, 0), ("e Tab", False, 0)],
)
def test_it_is_kept_until_somebody_hears_it_or_does_something_else(browser, pressed, projector, edits):
    code = b64encode(javascript("keys").encode()).decode()
    with mounted(browser, "selection", {"token": "", "lost": 0}) as view:
        view.press(*pressed.split())
        assert view.page.evaluate(HEAR, [code, {"projector": projector}]) == edits
        if not projector:  # from now on it is heard, once each time
            view.press("e")
            assert view.page.evaluate("window.edits") == edits + 1
            assert not view.page.evaluate("vizTransformerEarly.key.take(performance.now())")


PLAYERS = """(buttons) => {
  const main = document.body.appendChild(document.createElement("div"))
  main.dataset.testid = "stMain"
  main.innerHTML = "<button id=other>other</button><div id=picture tabindex=0 role=application>picture</div>"
  window.played = []
  for (const [name, title, place] of buttons) {
    const inside = main.appendChild(document.createElement("div")).attachShadow({ mode: "open" })
    inside.innerHTML = `<div class="${place}"><button class="quiet play" title="${title}">${name}</button></div>`
    inside.querySelector("button").style.display = place === "scrubber hidden" || place === "strip" ? "none" : ""
    inside.querySelector("button").onclick = () => window.played.push(name)
  }
}"""
STRIP, BARS, HIDDEN = ("strip", PLAY, "strip"), ("bars", PLAY, "scrubber"), ("bars", PLAY, "scrubber hidden")


@pytest.mark.parametrize(
    ("buttons", "focus", "played"),
    [
        ([STRIP, BARS], None, "bars"),
        ([HIDDEN, STRIP], "#picture", "strip"),  # on a projector
        ([BARS, ("other bars", PAUSE, "scrubber")], None, "other bars"),
        ([BARS], "#other", None),  # the space bar presses what has the focus
        ([], None, None),
    ],
)
def test_the_space_bar_plays_what_the_page_has_to_play(browser, buttons, focus, played):
    code = b64encode(javascript("keys").encode()).decode()
    with mounted(browser, "selection", {"token": "", "lost": 0}) as view:
        view.page.evaluate(HEAR, [code, {"projector": False}])
        view.page.evaluate(PLAYERS, [list(each) for each in buttons])
        if focus:
            view.page.locator(focus).focus()
        view.press("Space")
        assert view.page.evaluate("window.played") == ([played] if played else [])
