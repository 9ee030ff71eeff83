"""The keys of the whole page: that which edits the text, pressed before the page hears them, and the space bar."""

from base64 import b64encode

from mounted import mounted

from viz_transformer.figures.components.source import javascript

PLAY, PAUSE = "Play the steps", "Pause"
HEAR = """async ([code, data]) => {
  if (!window.hear) {
    document.addEventListener("vt-edit", () => window.edits++)
    window.hear = await import(URL.createObjectURL(new Blob([atob(code)], { type: "text/javascript" })))
  }
  window.edits = 0
  const parentElement = document.body.appendChild(document.createElement("div")).attachShadow({ mode: "open" })
  const given = { parentElement, data: { scene: 0, scenes: 1, rows: null, guide: [], groups: [], ...data } }
  window.leave = window.hear.default(given)
  return window.edits
}"""
EARLY = [("e", False, 1), ("e", True, 0), ("x", False, 0), ("Control+e", False, 0), ("e Tab", False, 0)]


def test_a_key_is_kept_until_somebody_hears_it_or_does_something_else(browser):
    code = b64encode(javascript("keys").encode()).decode()
    with mounted(browser, "selection", {"token": "", "lost": 0}) as view:
        problems = []
        for pressed, projector, edits in EARLY:
            view.press(*pressed.split())
            heard = [view.page.evaluate(HEAR, [code, {"projector": projector}])]
            if not projector:  # from now on it is heard, once each time
                view.press("e")
                heard.append(view.page.evaluate("window.edits"))
            view.page.evaluate("window.leave()")
            kept = view.page.evaluate("vizTransformerEarly.key.take(performance.now())")
            if heard != [edits, edits + 1][: len(heard)] or (kept and not projector):
                problems.append(f"{pressed}, projector {projector}: {heard}, kept {kept}")
        assert problems == []


PLAYERS = """(buttons) => {
  document.querySelector("[data-testid=stMain]")?.remove()
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


PLAYS = [
    ([STRIP, BARS], None, "bars"),
    ([HIDDEN, STRIP], "#picture", "strip"),  # on a projector
    ([BARS, ("other bars", PAUSE, "scrubber")], None, "other bars"),
    ([BARS], "#other", None),  # the space bar presses what has the focus
    ([], None, None),
]


def test_the_space_bar_plays_what_the_page_has_to_play(browser):
    code = b64encode(javascript("keys").encode()).decode()
    with mounted(browser, "selection", {"token": "", "lost": 0}) as view:
        view.page.evaluate(HEAR, [code, {"projector": False}])
        problems = []
        for buttons, focus, expected in PLAYS:
            view.page.evaluate(PLAYERS, [list(each) for each in buttons])
            if focus:
                view.page.locator(focus).focus()
            view.press("Space")
            played = view.page.evaluate("window.played")
            if played != ([expected] if expected else []):
                problems.append(f"{buttons}, focus {focus}: {played}, not {expected}")
        assert problems == []
