"""A real browser, and a page in it that shows our components without Streamlit: page.js says what it can do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Page, Route, sync_playwright

from viz_transformer.command.server import find_chrome
from viz_transformer.figures.components.source import javascript, style_sheet
from viz_transformer.ui.frame import style

ADDRESS = "http://bench.test/"
COMPONENTS = ("grid", "lines", "matrix", "scrubber", "shading", "whole")
WINDOW = {"width": 1280, "height": 900}
WIDTH = 992  # of the content in such a window
BROWSER_ARGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]
PAGE = f"""<!doctype html><meta charset="utf-8">
<style>html {{ overflow-y: scroll; color-scheme: light }} body {{ margin: 0; background: white }}
#place {{ width: {WIDTH}px }} {style.variables()}</style>
<body class="stApp"><div id="place"></div></body>"""


@contextmanager
def chromium() -> Iterator[Browser]:
    """The Chrome, Chromium or Edge that is found, without a window. Raises RuntimeError without one."""
    path = find_chrome()
    if path is None:
        raise RuntimeError("no Chrome, Chromium or Edge was found: pictures are timed in a real browser")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=BROWSER_ARGS)
        yield browser
        browser.close()


@contextmanager
def plain_page(
    browser: Browser,
    data: Mapping[str, bytes] | None = None,
    scripts: Mapping[str, str] | None = None,
    before: str = "",
) -> Iterator[Page]:
    """A fresh page with `window.bench` and the components' modules; `before` runs ahead of everything else.

    `data` are the files at ADDRESS, by their names; `scripts` are those that others have at the addresses given.
    Nothing else can be reached: a request for it, or an error in the page, raises RuntimeError at the end.
    """
    files: dict[str, bytes | str] = {**(data or {}), "": PAGE}
    files |= {f"{name}.js": javascript(name) for name in COMPONENTS}
    files |= {f"{name}.css": style_sheet(name) for name in COMPONENTS}
    known = {ADDRESS + name: body for name, body in files.items()} | dict(scripts or {})
    kinds = {".js": "text/javascript", ".css": "text/css", "": "text/html"}
    problems: list[str] = []

    def answer(route: Route) -> None:
        url = route.request.url
        if url not in known:
            problems.append(f"nothing is served at {url}")
            route.abort()
            return
        kind = kinds.get(Path(url.removeprefix(ADDRESS)).suffix, "application/octet-stream")
        route.fulfill(body=known[url], content_type=kind, headers={"access-control-allow-origin": "*"})

    context = browser.new_context(viewport=WINDOW)
    try:
        page = context.new_page()
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.route("**/*", answer)
        page.add_init_script(before)
        page.goto(ADDRESS)
        page.evaluate(script())
        yield page
        if problems:
            raise RuntimeError(f"the page has problems: {problems}")
    finally:
        context.close()


def script() -> str:
    """page.js, to be evaluated in a page: afterwards it has `window.bench`."""
    return Path(__file__).with_name("page.js").read_text(encoding="utf-8")
