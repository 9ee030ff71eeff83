"""Drags, clicks, changes of page and typed texts, each followed by a look at what the page has then."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from random import Random

from browser.driving import BOX, MATRIX, choose, expect_address, go_to, type_text
from playwright.sync_api import Page, WebSocket, expect

import viz_transformer as vt
from viz_transformer.model.kinds import KINDS

MODEL = "numbers-any"
SECONDS = 10
"""In which a page is right behind a slow network, beside two busy programs."""
SLIDER = ".slider input[type=range]"
PAGES = ("Run", "Decoding", "Attention", "Layers", "Masks", "Tensors", "One weight", "Positions")
_STATE = """() => {
  const app = document.querySelector('[data-testid="stApp"]')
  return [app.dataset.testConnectionState, app.dataset.testScriptState, location.href].join(" ")
}"""


class FlightRecorder:
    """What went over the page's connection last, and when: told where a wait ends in vain."""

    def __init__(self, page: Page) -> None:
        self._page, self._events = page, deque[str](maxlen=60)
        page.on("websocket", self._listen)

    def note(self, event: str) -> None:
        self._events.append(f"{time.monotonic():10.3f} {event}")

    def _listen(self, connection: WebSocket) -> None:
        self.note("connected")
        connection.on("framesent", lambda data: self.note(f"sent {len(data)} bytes"))
        connection.on("framereceived", lambda data: self.note(f"received {len(data)} bytes"))
        connection.on("close", lambda _: self.note("closed"))

    def __str__(self) -> str:
        return "\n".join([*self._events, str(self._page.evaluate(_STATE))])


class Gestures:
    """A person who does one thing after the other on an app that is open on *Run*, as one map, with MODEL."""

    def __init__(self, page: Page, seed: int, seconds: float) -> None:
        self.recorder = FlightRecorder(page)
        self._page, self._draw, self._text = page, Random(seed), "42"
        self._ckpt = vt.load(MODEL)
        self.seconds: list[float] = []
        """How long each took, until its page was right."""
        self.limit(seconds)

    def limit(self, seconds: float) -> None:
        """How long each look at a page waits for it to become right."""
        expect.set_options(timeout=1000 * seconds)
        self._page.set_default_timeout(1000 * seconds)

    def do(self, count: int) -> None:
        """So many gestures. Raises AssertionError, with what the connection did, for one that ends in a wrong page."""
        self._expect_right()
        kinds: tuple[Callable[[], None], ...] = (self._type, self._drag, self._turn, self._click)
        for number in range(count):
            gesture = self._draw.choice(kinds)
            self.recorder.note(f"{number}: {gesture.__name__.strip('_')}")
            began = time.monotonic()
            try:
                gesture()
                self._expect_right()
            except Exception as error:
                raise AssertionError(f"gesture {number}, {gesture.__name__}: {error}\n{self.recorder}") from error
            self.seconds.append(time.monotonic() - began)

    def _type(self) -> None:
        self._to("Run")
        self._text = f"{self._draw.randrange(1000, 100_000):,}"
        type_text(self._page, self._text)

    def _drag(self) -> None:
        """Fast, and back and forth."""
        self._to("Run")
        slider = self._page.locator(SLIDER)
        box = slider.bounding_box()
        assert box is not None
        middle = box["y"] + box["height"] / 2
        self._page.mouse.move(box["x"] + box["width"] / 2, middle)
        self._page.mouse.down()
        for _ in range(3):
            self._page.mouse.move(box["x"] + self._draw.uniform(0.05, 0.95) * box["width"], middle, steps=3)
        self._page.mouse.up()
        self._text = slider.get_attribute("aria-valuetext") or ""
        expect_address(self._page, text=self._text)  # the number has settled: until then the box is written anew

    def _turn(self) -> None:
        self._to(self._draw.choice(PAGES))

    def _click(self) -> None:
        self._to("Attention")
        kind = self._draw.choice([*KINDS.values()])
        choose(self._page, "attention_kind", kind.label)
        expect_address(self._page, kind=kind.name)

    def _to(self, name: str) -> None:
        if self._page.locator("h1").inner_text() != name:
            go_to(self._page, name)

    def _expect_right(self) -> None:
        """The page of the heading, of this text, at rest."""
        page = self._page
        row = page.locator(".strip .row").first.locator(".chip .token")
        expect(row).to_have_text(["<s>", *self._text, "</s>"])
        if page.locator("h1").inner_text() == "Run":
            expect(page.locator(BOX)).to_have_value(self._text)
            expect(page.locator(".vt-answer")).to_have_text(vt.decode(self._ckpt, self._text).text)
            expect(page.locator(MATRIX)).to_be_visible()
        expect(page.get_by_test_id("stApp")).to_have_attribute("data-test-script-state", "notRunning")
        expect(page.get_by_test_id("stException")).to_have_count(0)
