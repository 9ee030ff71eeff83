"""Tabs of a browser that one test leaves to the next: a new one costs more than what most tests look at in it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from playwright.sync_api import Browser, BrowserContext, Page, expect

SECONDS = 120_000  # imports, the first run, even a click may share the machine with much other work
EMPTY = "about:blank"
LOOKS = {"color_scheme": "light", "reduced_motion": "no-preference", "viewport": {"width": 1280, "height": 720}}
# The tour plays by itself for who opens the app for the first time: here it was left long ago, but for tests of it.
LEFT = "location.protocol.startsWith('http') && localStorage.setItem('vizTransformerTour', 'over')"
FIRST_VISIT = "/* nobody has left the tour */"
"""In the script of a page: it is that of a first visitor."""
_FORGET = "() => { localStorage.clear(); sessionStorage.clear() }"
_contexts: dict[tuple[Browser, str], BrowserContext] = {}
_left: dict[tuple[BrowserContext, str], list[Page]] = defaultdict(list)


@contextmanager
def tab(
    browser: Browser, problems: list[str], *, of: str = "", script: str = "", emptied: bool = True, **looks: Any
) -> Iterator[Page]:
    """An empty tab; errors, exceptions and dialogs in it are added to `problems`, `script` runs before a page's own.

    Tabs `of` the same name share what a browser has in its cache; what a page stored is forgotten when its test is
    over; where its page asks no server for more, it need not be `emptied`, as the next test loads its own.
    They may have other LOOKS. Without a name it is a browser of its own, which may be whatever else Playwright's
    contexts can be.
    """
    if not of:
        with browser.new_context(**{**LOOKS, **looks}) as own:
            page = _new(own, script)
            with heard(page, problems):
                yield page
        return
    context = _context(browser, of)
    page = _left[context, script].pop() if _left[context, script] else _new(context, script)
    try:
        _look(page, **{**LOOKS, **looks})
        with heard(page, problems):
            yield page
        page.unroute_all()
        page.evaluate(_FORGET)
        page.mouse.move(-1, -1)
        if emptied:
            page.goto(EMPTY)
    except BaseException:
        page.close()
        raise
    _left[context, script].append(page)


def tab_that_stays(browser: Browser, *, of: str, script: str = "") -> Page:
    """An empty tab that shares what a browser has in its cache with those `of` this name; whoever asked has it."""
    return _new(_context(browser, of), script)


def _context(browser: Browser, of: str) -> BrowserContext:
    if (browser, of) not in _contexts:
        _contexts[browser, of] = browser.new_context()
    return _contexts[browser, of]


def _new(context: BrowserContext, script: str) -> Page:
    page = context.new_page()
    page.set_default_timeout(SECONDS)
    expect.set_options(timeout=SECONDS)
    if FIRST_VISIT not in script:
        page.add_init_script(LEFT)
    if script:
        page.add_init_script(script)
    return page


def _look(page: Page, *, viewport: Any, color_scheme: Any, reduced_motion: Any) -> None:
    page.set_viewport_size(viewport)
    page.emulate_media(color_scheme=color_scheme, reduced_motion=reduced_motion)
    page.bring_to_front()  # one behind others is given no frames


@contextmanager
def heard(page: Page, problems: list[str]) -> Iterator[None]:
    """Errors, exceptions and dialogs of the page are added to `problems`."""
    listeners: dict[Any, Any] = {
        "console": lambda message: problems.append(message.text) if message.type == "error" else None,
        "pageerror": lambda error: problems.append(str(error)),
        "dialog": lambda dialog: problems.append(f"a dialog opened: {dialog.message}"),
    }
    for event, listener in listeners.items():
        page.on(event, listener)
    yield
    for event, listener in listeners.items():
        page.remove_listener(event, listener)
