"""Many people at one server: all pages at once while it is still cold, some who never stop, and twenty for minutes."""

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
from viz_transformer.ui.session.store import default_max_bytes

Thing = TypeVar("Thing")
PAGES = ("", *"decoding input positions attention weight layers tensors masks playground models".split())
MODEL = "numbers-tiny"
KEPT = 30
"""Texts after which the server holds all that it keeps: 24 runs, and what was imported on the way."""
MARGIN = 48 * MIB
"""That its memory may grow after them: glibc gives freed memory back in pieces, and Streamlit keeps messages for a
while."""


MODELS: dict[str, Callable[[Random], str]] = {
    "numbers-any": lambda draw: number_text(draw),
    "numbers-tiny": lambda draw: number_text(draw),
    "copy": lambda draw: "".join(draw.choices("abcdefghij", k=8)),
    "multi30k-de-en": lambda draw: f"ein {draw.choice(['mann', 'hund', 'kind'])} läuft am {draw.randrange(10**6)} see",
    "taylor-2terms": lambda draw: f"sin({draw.randrange(2, 9)}*x)",
    "shakespeare": lambda draw: "".join(draw.choices("abcdefgh ", k=12)),
}
"""Bundled models, and what each of them is asked."""
BASE = 900 * MIB
"""A server that has imported what all pages need, with the pictures that it keeps of them."""
LEFT_SECONDS = 120
"""After which a server has given back what nobody looks at any more."""


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


def models_in_turn(server: str, log: Path, process: int, views: int) -> list[int]:
    """One session that looks at six models in turn, with another text each time; the server's memory after each view,
    in bytes.

    Raises Broken if the memory is not flat once the server holds all that it keeps: within four times the margin of one
    model, as their runs are of different sizes.
    """
    draw, names, sizes = Random(views), [*MODELS], list[int]()
    with Visitor(server, "attention", checkpoint=names[0], text=MODELS[names[0]](draw)) as visitor:
        for view in range(views):
            name = names[view % len(names)]
            visitor.open("attention", checkpoint=name, text=MODELS[name](draw))
            check(bool(visitor.said), f"the page of {name} is empty")
            sizes.append(status_bytes(process))
    check_log(log)
    at_first = max(sizes[: 2 * KEPT])
    grown = max(sizes[2 * KEPT :]) - at_first
    check(grown <= 4 * MARGIN, f"the server grew by {grown / MIB:.0f} MiB from view {2 * KEPT} to view {views}")
    return sizes


def is_given_back(process: int, before: int) -> int:
    """What the server's memory is when the last visitor has left, in bytes, within LEFT_SECONDS at or below `before`.

    Raises Broken if it stays above.
    """
    until = time.monotonic() + LEFT_SECONDS
    while (now := status_bytes(process)) > before and time.monotonic() < until:
        time.sleep(1)
    check(
        now <= before,
        f"{now / MIB:.0f} MiB are left {LEFT_SECONDS} s after the last visitor; {before / MIB:.0f} allowed",
    )
    return now


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


def crowd(
    server: str,
    log: Path,
    process: int,
    people: int,
    minutes: float,
    thinking: float = 10.0,
    others: Sequence[str] = (),
) -> Crowd:
    """So many sessions that each ask a new text, look at the answer for about `thinking` seconds, and ask again.

    Every sixth time they look at another page, of one of MODELS or of the `others` beside them, and go back. Raises
    Broken if one of them sees an error or no answer, or if the server takes more than it states: what an empty one
    needs, and the bound on models and runs.
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
                    other = draw.choice([*MODELS, *others])
                    visitor.open(draw.choice(PAGES[1:]), checkpoint=other, text=MODELS.get(other, number_text)(draw))
                    with lock:
                        found.memory.append(status_bytes(process))
                    visitor.open("", checkpoint=MODEL, text=text)

    try:
        together(ask, range(people))
    except BaseException:
        here.abort()
        raise
    check_log(log)
    most, stated = max(found.memory), BASE + default_max_bytes()
    check(most <= stated, f"the server took {most / MIB:,.0f} MiB; {stated / MIB:,.0f} are stated")
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
