"""Driving the app as a person does: pages that fail on any error, the address, and what the pictures say when asked."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from playwright.sync_api import Browser, Locator, Page, Request, expect
from tabs import SECONDS, heard, tab, tab_that_stays

from viz_transformer import decode, list_checkpoints, load
from viz_transformer.analysis.attention.maps import step_row
from viz_transformer.ui.session import examples

BUNDLED = {summary.name: summary for summary in list_checkpoints()}
SIZE = {"width": 1280, "height": 900}
BOX = ".st-key-run_text textarea"
MATRIX, GRID, LINES, TEXT, SCRUBBER = (f".{name} .stage" for name in ("matrix", "grid", "lines", "shading", "scrubber"))

# A map says where its cells are when the pointer moves over it. This moves an imaginary pointer, which takes no time:
# `rows` and `columns` are the middles of all that are seen, in pixels of the stage, `cells` what each cell says.
_SURVEY = """(stage, withCells) => {
  const box = stage.getBoundingClientRect()
  const tip = stage.parentElement.querySelector(":scope > .tooltip")
  const at = (x, y) => {
    stage.dispatchEvent(new PointerEvent("pointermove", { clientX: box.left + x, clientY: box.top + y }))
    return tip.hidden ? null : [...tip.children].map((line) => line.textContent)
  }
  let inside = null
  for (let y = 40; y < box.height && !inside; y += 14)
    for (let x = 20; x < box.width && !inside; x += 14) if (at(x, y)) inside = [x, y]
  const middles = (size, lineAt) => {
    const found = new Map()
    for (let p = 0; p < size; p += 2) {
      const number = lineAt(p)?.match(/ ([0-9]+):/)[1]
      if (number !== undefined) found.set(number, [found.get(number)?.[0] ?? p, p])
    }
    return [...found].map(([number, [from, to]]) => [Number(number), (from + to) / 2])
  }
  const rows = middles(box.height, (y) => at(inside[0], y)?.[0])
  const columns = middles(box.width, (x) => at(x, inside[1])?.[1])
  const cells = withCells ? rows.flatMap(([r, y]) => columns.map(([c, x]) => [r, c, at(x, y)])) : []
  stage.dispatchEvent(new PointerEvent("pointerleave"))
  return { rows, columns, cells }
}"""

# The middle of the chosen cell: a bar over its column and a ring around its row are drawn in the colour of text.
_RING = """(stage) => {
  const over = stage.querySelector("canvas.over")
  const ratio = over.width / over.clientWidth
  const { data, width, height } = over.getContext("2d").getImageData(0, 0, over.width, over.height)
  const probe = stage.parentElement.querySelector(":scope > .probe")
  probe.style.color = "var(--vt-text)"
  const ink = getComputedStyle(probe).color.match(/[0-9]+/g).map(Number)
  const is = (x, y) => [...ink, 255].every((channel, k) => data[4 * (y * width + x) + k] === channel)
  const inked = (y) => Array.from({ length: width }, (_, x) => x).filter((x) => is(x, y))
  const lines = Array.from({ length: height }, (_, y) => inked(y))
  const bar = lines.findIndex((line) => line.length)
  if (bar < 0) return null
  const behind = lines.findIndex((line, y) => y > bar && line.length !== lines[bar].length) // the ring may touch it
  const most = Math.max(...lines.slice(behind).map((line) => line.length))
  const edges = lines.flatMap((line, y) => (y >= behind && line.length > 0.8 * most ? [y] : []))
  return { x: (lines[bar][0] + lines[bar].at(-1) + 1) / 2 / ratio, y: (edges[0] + edges.at(-1) + 1) / 2 / ratio }
}"""

_HOLD = """() => {
  window.held = []
  window.heldSend ??= WebSocket.prototype.send
  WebSocket.prototype.send = function (data) { window.held.push([this, data]) }
}"""
_RELEASE = """() => {
  WebSocket.prototype.send = window.heldSend
  for (const [socket, data] of window.held) socket.send(data)
}"""

_kept: dict[tuple[Browser, str, str], list[Page]] = {}
"""Pages that `viewed` has left: of a browser, a server and a script."""
_AT_THE_BEGINNING = """() => {
  document.activeElement?.blur()
  document.body.tabIndex = -1
  document.body.focus() // the tabulator goes on from here
  document.body.removeAttribute("tabindex")
}"""
AT_WORK = "[data-testid=stApp]:not([data-test-script-state=notRunning])"
_VISIT = """(address) => {
  document.querySelector("[data-testid=stMain]").scrollTop = 0
  history.pushState({}, "", address)
  dispatchEvent(new PopStateEvent("popstate", { state: {} }))
}"""

BREAKABLE = """(() => {
  const Before = window.WebSocket
  window.WebSocket = class extends Before {
    constructor(...given) {
      super(...given)
      this.addEventListener("message", (event) => {
        if (!window.deaf) return
        event.stopImmediatePropagation()
        window.deaf.heard = performance.now()
      })
      window.socket = this
    }
  }
})()"""
"""A script of a page, as `opened` takes it, with which `connection_lost` can break its connection."""
_DEAF = "() => (window.deaf = {})"
_BREAK = """async () => {
  const quiet = () => window.deaf.heard && performance.now() - window.deaf.heard > 1500
  while (!quiet()) await new Promise((go) => setTimeout(go, 50))
  delete window.deaf
  window.socket.close()
}"""


# ---- pages


@contextmanager
def opened(
    browser: Browser,
    server: str,
    path: str = "/",
    *,
    scheme: str = "light",
    another: bool = False,
    script: str = "",
    **fields: object,
) -> Iterator[Page]:
    """A page of the app; console errors, exceptions and requests to elsewhere fail the test.

    `fields` are put into the address: the selection to begin with; `script` runs before the page's own. Pages share
    what a browser has in its cache, unless it is to be `another` browser. *Run* shows one map unless it is told
    otherwise: most gestures are tried on it.
    """
    problems: list[str] = []
    of = "" if another else "app"
    with (
        tab(browser, problems, of=of, script=script, color_scheme=scheme, viewport=SIZE) as page,
        _asks_nobody_else(page, server, problems),
    ):
        page.goto(server + _place(path, fields))
        yield page
        expect(page.get_by_test_id("stException")).to_have_count(0)
        assert problems == []


@contextmanager
def viewed(
    browser: Browser, server: str, path: str = "/", *, scheme: str = "light", script: str = "", **fields: object
) -> Iterator[Page]:
    """What `opened` opens, in a page that one test leaves to the next and that nobody loads anew.

    `opened` is for how a page begins and what is offered only then, as the tour, and for what stays in a page: the
    theme, the speed of playing.
    """
    kept = _kept.setdefault((browser, server, script), [])
    known = bool(kept)
    page = kept.pop() if known else tab_that_stays(browser, of="app", script=script)
    try:
        if not known:
            page.goto(server + _place(path, _begun(fields)))
        with used_again(page, scheme=scheme):
            if known:
                visit(page, path, **fields)
            yield page
    except BaseException:
        page.close()
        raise
    kept.append(page)


@contextmanager
def used_again(page: Page, *, scheme: str = "light") -> Iterator[Page]:
    """An open page of the app for the next test, which fails on errors as `opened` does; `visit` shows it a view."""
    problems: list[str] = []
    server = "{0.scheme}://{0.netloc}".format(urlsplit(page.url))
    page.bring_to_front()  # one behind others is given no frames
    page.set_viewport_size(SIZE)
    page.emulate_media(color_scheme=scheme)
    page.mouse.move(-1, -1)
    page.evaluate(_AT_THE_BEGINNING)
    with heard(page, problems), _asks_nobody_else(page, server, problems):
        yield page
        expect(page.get_by_test_id("stException")).to_have_count(0)
        assert problems == []


def visit(page: Page, path: str = "/", **fields: object) -> None:
    """This address in an open page, as the Back button comes to one: a run of the app without loading it anew.

    Whatever was selected before, it is what `opened` selects for a bundled model, or for one with a text that writes
    from its first row on (`t` is 0); but *Decoding* begins at the first step, not at the one in most doubt.
    It is shown from its top, when that run is over. Nothing of the page before is left: where
    it is the same page, another is visited in between: the one that draws the least.
    """
    if urlsplit(page.url).path == path:
        _go_back_to(page, "/playground" if path == "/models" else "/models?model_tab=open")
    _go_back_to(page, _place(path, _begun(fields)))


def _begun(fields: dict[str, object]) -> dict[str, object]:
    """What `opened` selects where nothing else is asked for."""
    begun = {"checkpoint": "numbers-any", "kind": "cross", "layer": 1, "heads": 0, **fields}
    name = str(begun["checkpoint"])
    if "text" not in begun:
        begun["text"] = examples.list_examples(BUNDLED[name])[0]
    return begun if "t" in begun else {**begun, "t": _first_row(name, str(begun["text"])) if name in BUNDLED else 0}


@cache
def _first_row(name: str, text: str) -> int:
    """The row that writes the first token; 0 where the model cannot read the text."""
    try:
        return step_row(decode(load(name), text, max_steps=1), 0)
    except ValueError:
        return 0


def _go_back_to(page: Page, place: str) -> None:
    """To another page than the one that is shown, until its run is over."""
    heading = page.locator("h1")
    before = heading.inner_text()
    expect(page.locator(AT_WORK)).to_have_count(0)
    page.evaluate(_VISIT, place)
    expect(heading).not_to_have_text(before)
    expect(heading).to_have_count(1)
    expect(page.locator(AT_WORK)).to_have_count(0)


@contextmanager
def _asks_nobody_else(page: Page, server: str, problems: list[str]) -> Iterator[None]:
    """Requests to elsewhere are added to `problems`."""

    def asked(request: Request) -> None:
        if not is_ours(request.url, server):
            problems.append(request.url)

    page.on("request", asked)
    yield
    page.remove_listener("request", asked)


def _place(path: str, fields: dict[str, object]) -> str:
    """The address of a view, behind that of the server; *Run* is to show one map unless it is told otherwise."""
    if path == "/":
        fields = {"run_view": "map", **fields}
    return path + (f"?{urlencode(fields)}" if fields else "")


def is_ours(url: str, server: str) -> bool:
    return url.startswith((server, server.replace("http", "ws"), "data:", "blob:"))


def address(page: Page) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlsplit(page.url).query, keep_blank_values=True).items()}


def expect_address(page: Page, **fields: object) -> None:
    """Wait until the address says so; None: it does not say it."""
    wanted = {name: None if value is None else [str(value)] for name, value in fields.items()}

    def there(url: str) -> bool:
        query = parse_qs(urlsplit(url).query, keep_blank_values=True)
        return all(query.get(name) == value for name, value in wanted.items())

    page.wait_for_url(there, timeout=SECONDS)


def type_text(page: Page, text: str) -> None:
    page.fill(BOX, text)
    page.press(BOX, "Enter")


def go_to(page: Page, name: str) -> None:
    """Another page, through the sidebar."""
    page.get_by_test_id("stSidebarNavLink").filter(has_text=name).click()
    expect(page.locator("h1")).to_have_text(name)


def choose(page: Page, group: str, option: str) -> None:
    """Press one of a row of buttons; `group` is the key of the row."""
    page.locator(f".st-key-{group}").get_by_role("radio", name=option, exact=True).click()


def expect_chosen(page: Page, group: str, option: str) -> None:
    """Wait until this is the button that is pressed."""
    expect(page.locator(f".st-key-{group} [role=radio][aria-checked=true]")).to_have_text(option)


@contextmanager
def server_unreachable(page: Page) -> Iterator[None]:
    """Nothing that the page sends reaches the server before the block ends."""
    page.evaluate(_HOLD)
    yield
    page.evaluate(_RELEASE)


@contextmanager
def connection_lost(page: Page) -> Iterator[None]:
    """What a BREAKABLE page sends is heard, what it is answered is lost, and so is the connection then."""
    page.evaluate(_DEAF)
    yield
    page.evaluate(_BREAK)


def save(page: Page, button: Locator, folder: Path) -> Path:
    """Press a button that saves a file, and return the file."""
    with page.expect_download() as saving:
        button.click()
    path = folder / saving.value.suggested_filename
    saving.value.save_as(path)
    return path


def entry(place: Locator, name: str) -> Locator:
    """An entry of the menu of the one picture in this place, opened if it is not."""
    more = place.locator("[aria-haspopup=menu]")
    if more.get_attribute("aria-expanded") == "false":
        more.click()
    return place.locator("[role=menuitem]", has_text=name)


# ---- the keyboard


def tab_to(page: Page, wanted: Locator, presses: int = 60) -> None:
    """Press the tabulator until this has the focus."""
    expect(wanted).to_have_count(1)
    for _ in range(presses):
        page.keyboard.press("Tab")
        if wanted.evaluate("(element) => element.getRootNode().activeElement === element"):
            return
    raise AssertionError(f"pressing the tabulator {presses} times does not lead to {wanted}")


# ---- pictures


def drawn(page: Page, stage: str, label: str = "") -> Locator:
    """The picture, when its label says this and it is painted; that of the run before is gone."""
    found = page.locator(
        f"{stage}[data-painted]" + (f"[aria-label*={json.dumps(label, ensure_ascii=False)} i]" if label else "")
    )
    expect(found).to_have_count(1)
    expect(page.locator(stage)).to_have_count(1)
    return found


@dataclass(frozen=True)
class Survey:
    """Where the rows and columns of a map are, in pixels of its stage, and what each cell says, if asked."""

    rows: dict[int, float]
    columns: dict[int, float]
    cells: dict[tuple[int, int], list[str]]

    def at(self, row: int, column: int) -> Any:
        """The middle of a cell, as `position` of a click."""
        return {"x": self.columns[column], "y": self.rows[row]}


def survey(stage: Locator, *, cells: bool = False) -> Survey:
    """What a map shows now."""
    found = stage.evaluate(_SURVEY, cells)
    return Survey(
        rows=dict(found["rows"]),
        columns=dict(found["columns"]),
        cells={(row, column): lines for row, column, lines in found["cells"]},
    )


def thumbnail(grid: Locator, name: str) -> Any:
    """A place on the thumbnail that has this name."""
    x, y = grid.evaluate(
        """(stage, name) => {
          const box = stage.getBoundingClientRect()
          const tip = stage.parentElement.querySelector(":scope > .tooltip")
          for (let y = 5; y < box.height; y += 10)
            for (let x = 5; x < box.width; x += 10) {
              stage.dispatchEvent(new PointerEvent("pointermove", { clientX: box.left + x, clientY: box.top + y }))
              if (!tip.hidden && tip.firstChild.textContent === name) return [x, y]
            }
        }""",
        name,
    )
    return {"x": x, "y": y}


def tooltip(stage: Locator) -> list[str]:
    """The lines of the picture's tooltip; none if it is hidden."""
    lines: list[str] = stage.evaluate(
        """(stage) => {
          const tip = stage.closest(".component").querySelector(":scope > .tooltip")
          return tip.hidden ? [] : [...tip.children].map((line) => line.textContent)
        }"""
    )
    return lines


def expect_tooltip(stage: Locator, position: Any, *texts: str) -> None:
    """Wait until this place of a picture says all of this: what the server sends may still be on its way."""
    stage.evaluate(
        """async (stage, [{ x, y }, texts]) => {
          const tip = stage.closest(".component").querySelector(":scope > .tooltip")
          const box = () => stage.getBoundingClientRect()
          const said = () => {
            stage.dispatchEvent(new PointerEvent("pointermove", { clientX: box().left + x, clientY: box().top + y }))
            return tip.hidden ? "" : tip.innerText
          }
          const is = () => texts.every((text) => said().includes(text))
          for (let look = 0; look < 2400 && !is(); look++) await new Promise((go) => setTimeout(go, 50))
          if (!is()) throw new Error(`it says ${JSON.stringify(said())}, not ${JSON.stringify(texts)}`)
        }""",
        [position, [*texts]],
    )


def expect_ring(stage: Locator, wanted: Any) -> None:
    """Wait until the ring is drawn around the cell that has its middle here."""
    stage.evaluate(
        f"""async (stage, wanted) => {{
          const ring = {_RING}
          for (let look = 0; look < 2400; look++) {{
            const found = ring(stage)
            if (found && Math.hypot(found.x - wanted.x, found.y - wanted.y) < 6) return
            await new Promise((go) => setTimeout(go, 50))
          }}
          throw new Error(`the ring is at ${{JSON.stringify(ring(stage))}}, not at ${{JSON.stringify(wanted)}}`)
        }}""",
        wanted,
    )


_PIXEL = """(stage) => {
  const canvas = stage.querySelector("canvas.base")
  const [ratio, context] = [canvas.width / canvas.clientWidth, canvas.getContext("2d")]
  return ([x, y]) => [...context.getImageData(x * ratio, y * ratio, 1, 1).data].slice(0, 3)
}"""


def pixels(stage: Locator, where: Survey) -> dict[tuple[int, int], list[int]]:
    """Red, green and blue in the middle of each cell, as it is painted."""
    cells = [(row, column) for row in where.rows for column in where.columns]
    places = [(where.columns[column], where.rows[row]) for row, column in cells]
    found = stage.evaluate(f"(stage, places) => places.map(({_PIXEL})(stage))", places)
    return dict(zip(cells, found, strict=True))


def expect_pixel(stage: Locator, place: Any, colour: list[float]) -> None:
    """Wait until this place is painted in this colour, to 2 of 255."""
    stage.evaluate(
        f"""async (stage, [place, wanted]) => {{
          const pixel = ({_PIXEL})(stage)
          const is = () => pixel(place).every((channel, k) => Math.abs(channel - wanted[k]) <= 2)
          for (let look = 0; look < 2400 && !is(); look++) await new Promise((go) => setTimeout(go, 50))
          if (!is()) throw new Error(`there is ${{pixel(place)}}, not ${{wanted}}`)
        }}""",
        [[place["x"], place["y"]], colour],
    )
