"""A component alone on a page of a real browser with what it would tell Python, or the parts that components share."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import datetime, timedelta
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from threading import Thread
from typing import Any, TypeVar

from playwright.sync_api import Browser, Page
from tabs import LOOKS, tab

from viz_transformer.figures.components.source import javascript, style_sheet
from viz_transformer.ui.frame import style

PARTS = files("viz_transformer.figures.components").joinpath("parts")
PAGE = f"""<!doctype html><meta charset="utf-8"><link rel="icon" href="data:,"><style>{style.variables()}</style>
<body class="stApp" data-testid="stApp" style="margin: 0; color-scheme: light dark"><div id="host"></div></body>"""
WRITTEN = """() => {
  const { prototype } = CanvasRenderingContext2D
  const { fillText } = prototype
  window.written = []
  prototype.fillText = function (text, ...place) {
    window.written.push(text)
    fillText.call(this, text, ...place)
  }
}"""
"""What a page evaluates so that `window.written` has all words that canvases draw from then on."""
MOUNT = """async ([name, sheet, given]) => {
  const parentElement = document.querySelector("#host").attachShadow({ mode: "open" })  // as Streamlit gives it
  const rules = document.createElement("style")
  rules.textContent = sheet
  parentElement.append(rules)
  const { default: component } = await import(`/${name}.js`)
  const bytes = (text) => Uint8Array.from(atob(text), (character) => character.charCodeAt(0))
  window.triggers = []
  const setTriggerValue = (name, value) => window.triggers.push([name, value])
  window.give = (given) => {
    const data = typeof given === "string" ? bytes(given) : given
    window.remove = component({ parentElement, setTriggerValue, data })  // Streamlit keeps the end of the last call
    return window.remove
  }
  window.sent = []
  window.give(given)
  window.vizTransformerSelection.connect(({ fields, token }) => {  // a Python that hears at once
    window.sent.push(fields)
    window.vizTransformerSelection.heard(token)
    window.vizTransformerSelection.receive(window.vizTransformerSelection.chosen, token)
  })
}"""


class _Answer(BaseHTTPRequestHandler):
    """The empty page at `/`, a component's module as `/matrix.js`, a part of them as `/parts/text.js`."""

    protocol_version = "HTTP/1.1"  # one connection for all

    def do_GET(self) -> None:
        if self.path == "/":
            kind, text = "html", PAGE
        elif self.path.startswith("/parts/"):
            kind, text = "javascript", PARTS.joinpath(self.path.removeprefix("/parts/")).read_text("utf-8")
        else:
            kind, text = "javascript", javascript(self.path[1:].removesuffix(".js"))
        body = text.encode()
        self.send_response(200)
        self.send_header("Content-Type", f"text/{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "max-age=86400")  # with a module, the browser keeps what it compiled
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing is logged."""


@cache
def address() -> str:
    """Where a server gives the page and all modules to the browser: asking Playwright for each takes three times as
    long. It is there until the process ends.
    """
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Answer)
    Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}/"


class Mounted:
    """What is on the page."""

    def __init__(self, page: Page, name: str, data: bytes | dict[str, Any]) -> None:
        self.page = page
        page.goto(address())
        sheet = "" if name in ("ahead", "selection") else style_sheet(name)
        page.evaluate(MOUNT, [name, sheet, _given(data)])
        self.painted()

    def give(self, data: bytes | dict[str, Any]) -> None:
        """New data for the same component."""
        self.page.evaluate("(given) => { window.give(given) }", _given(data))
        self.painted()

    def choose(self, **fields: Any) -> None:
        """What Python says is chosen."""
        self.page.evaluate("(chosen) => window.vizTransformerSelection.receive(chosen, '')", fields)
        self.painted()

    def painted(self) -> None:
        self.page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def pick_entry(self, name: str) -> None:
        """Open the menu of the picture and choose what begins with this."""
        self.page.locator("[aria-haspopup=menu]").click()
        self.page.locator("[role=menuitem]", has_text=name).click()

    def heard(self, count: int = 1) -> list[dict[str, Any]]:
        """The fields that Python has been told, once it was told so often."""
        self.page.wait_for_function(f"window.sent.length >= {count}")
        return self.sent

    def hears(self, **fields: Any) -> None:
        """Python is told these fields, or is about to be, as the last ones."""
        same = "(wanted) => JSON.stringify(Object.entries(window.sent.at(-1) ?? {}).sort()) === JSON.stringify(wanted)"
        self.page.wait_for_function(same, arg=sorted([name, value] for name, value in fields.items()))

    @property
    def sent(self) -> list[dict[str, Any]]:
        """The fields that Python has been told by now."""
        told: list[dict[str, Any]] = self.page.evaluate("window.sent")
        return told

    @property
    def tooltip(self) -> list[str]:
        return self.page.locator(".tooltip:visible > div").all_text_contents()


RunView = TypeVar("Shown", bound=Mounted)


@contextmanager
def mounted(browser: Browser, name: str, data: bytes | dict[str, Any], **context: Any) -> Iterator[Mounted]:
    """The component on a page of 720 pixels; an error in the browser fails the test."""
    with mounting(browser, name, **{"viewport": {"width": 720, "height": 700}, **context}) as mount:
        yield mount(data)


@contextmanager
def mounting(
    browser: Browser, name: str, how: Callable[..., RunView] = Mounted, **context: Any
) -> Iterator[Callable[[bytes | dict[str, Any]], RunView]]:
    """Puts the component on a page of its own for each data it is given; an error in the browser fails the test."""
    problems: list[str] = []
    of = "components" if context.keys() <= LOOKS.keys() else ""
    with ExitStack() as tabs:
        yield lambda data: how(tabs.enter_context(tab(browser, problems, of=of, emptied=False, **context)), name, data)
        assert problems == [], problems


@contextmanager
def imported(browser: Browser) -> Iterator[Callable[..., Any]]:
    """Calls a function in the browser with one argument; it finds all that the parts export as `shared`."""
    with tab(browser, [], of="components", emptied=False) as page:
        page.goto(address())
        page.evaluate(
            """async (names) => {
              const parts = await Promise.all(names.map((name) => import(`/parts/${name}`)))
              window.shared = Object.assign({}, ...parts)
            }""",
            [path.name for path in PARTS.iterdir() if path.name.endswith(".js")],
        )
        yield lambda function, given=None: page.evaluate(function, _given(given))


def _given(data: Any) -> Any:
    return b64encode(data).decode() if isinstance(data, bytes) else data


def stop_clock(page: Page) -> None:
    """From now on time goes on where a test says so, by `page.clock.run_for`, however busy the machine is."""
    page.clock.install()
    page.clock.pause_at(datetime.now() + timedelta(hours=1))
