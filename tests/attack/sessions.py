"""Many people at one server: all pages at once while it is still cold, one who never stops, and twenty for minutes."""

from __future__ import annotations

import re
import statistics
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from random import Random
from typing import TypeVar

from attack.trying import MIB, Broken, check, status_bytes
from attack.visitor import Visitor

Thing = TypeVar("Thing")
PAGES = ("", *"decoding input positions attention weight layers tensors masks playground models".split())
MODEL = "numbers-tiny"
KEPT = 30
"""Texts after which the server holds all that it keeps: 24 runs, and what was imported on the way."""
MARGIN = 32 * MIB
"""That its memory may grow after them: glibc gives freed memory back in pieces, and Streamlit keeps messages for a
while."""


def all_pages_at_once(server: str, log: Path) -> None:
    """As many people as there are pages open one each, in the same moment. Raises Broken if one sees an error."""

    def look(page: str) -> None:
        with Visitor(server, page, checkpoint=MODEL, text="12.50") as visitor:
            check(bool(visitor.said), f"the page {page!r} is empty")

    together(look, PAGES)
    check_log(log)


def one_who_never_stops(server: str, log: Path, process: int, texts: int = 300) -> list[int]:
    """One session that asks so many texts of one length; the server's memory after each, in bytes.

    Raises Broken if the memory is not flat from KEPT on.
    """
    draw = Random(texts)
    with Visitor(server, checkpoint=MODEL, text="12.50") as visitor:
        sizes = [asked(visitor, number_text(draw), process) for _ in range(texts)]
    check_log(log)
    grown = max(sizes[KEPT:]) - sizes[KEPT - 1]
    check(grown <= MARGIN, f"the server grew by {grown / MIB:.0f} MiB from text {KEPT} to text {texts}")
    return sizes


def asked(visitor: Visitor, text: str, process: int) -> int:
    visitor.type(text)
    check(bool(visitor.answer), f"no answer to {text!r}")
    return status_bytes(process)


def number_text(draw: Random) -> str:
    """A number that is always equally long."""
    return f"{draw.randrange(10_000, 100_000):,}.{draw.randrange(10, 100)}"


@dataclass
class Crowd:
    """What `crowd` measured: seconds to each answer, and the server's memory in bytes before and behind them."""

    seconds: list[float] = field(default_factory=list)
    memory: list[int] = field(default_factory=list)

    def __str__(self) -> str:
        middle, late = statistics.median(self.seconds), statistics.quantiles(self.seconds, n=20)[-1]
        begin, end = self.memory[0] / MIB, self.memory[-1] / MIB
        most = max(self.memory) / MIB
        return (
            f"{len(self.seconds):,} answers, p50 {1000 * middle:,.0f} ms, p95 {1000 * late:,.0f} ms;"
            f" memory {begin:,.0f} MiB with all of them there, {most:,.0f} at most, {end:,.0f} at the end"
        )


def crowd(server: str, log: Path, process: int, people: int, minutes: float, thinking: float = 10.0) -> Crowd:
    """So many sessions that each ask a new text, look at the answer for about `thinking` seconds, and ask again.

    Every sixth time they go to another page and back. Raises Broken if one of them sees an error or no answer.
    """
    found, lock = Crowd(), threading.Lock()
    begun: list[float] = []  # when all of them are there

    def begin() -> None:
        begun.append(time.monotonic())
        found.memory.append(status_bytes(process))

    here = threading.Barrier(people, action=begin)

    def ask(number: int) -> None:
        draw = Random(f"crowd {number}")
        with Visitor(server, checkpoint=MODEL, text=number_text(draw)) as visitor:
            here.wait()
            for turn in count(1):
                if turn > 1 and time.monotonic() > begun[0] + 60 * minutes:
                    return
                time.sleep(draw.uniform(0.5, 1.5) * thinking)
                text = number_text(draw)
                if turn % 6:
                    seconds = visitor.type(text)
                    check(bool(visitor.answer), f"no answer to {text!r}")
                    with lock:
                        found.seconds.append(seconds)
                        found.memory.append(status_bytes(process))
                else:
                    visitor.open(draw.choice(PAGES[1:]), checkpoint=MODEL, text=text)
                    visitor.open("", checkpoint=MODEL, text=text)

    try:
        together(ask, range(people))
    except BaseException:
        here.abort()
        raise
    check_log(log)
    return found


def together(work: Callable[[Thing], None], things: Sequence[Thing]) -> None:
    """The work for each of the things in a thread of its own, begun in the same moment; raises what one raised."""
    begin = threading.Barrier(len(things))
    raised: list[BaseException] = []

    def run(thing: Thing) -> None:
        try:
            begin.wait()
            work(thing)
        except BaseException as error:
            raised.append(error)

    threads = [threading.Thread(target=run, args=(thing,), daemon=True) for thing in things]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for error in raised:
        raise error


def check_log(log: Path) -> None:
    """Raises Broken for anything that the server has said beside its address."""
    lines = [
        line for line in log.read_text(encoding="utf-8").splitlines() if not re.match("Viz Transformer: http", line)
    ]
    if lines:
        raise Broken(f"the server's log has {len(lines)} more lines, the last is {lines[-1][:200]!r}")
