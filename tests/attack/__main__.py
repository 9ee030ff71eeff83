"""`make attack`: many tries of every kind, in processes of their own; one line for each that got through.

    make attack                                           all of it, with a seed of its own: hours, on two cores
    make attack ARGS="texts folders --count 2000"         some kinds, and how often
    make attack ARGS="texts --seed 7 --only 123"          one of them again, with the traceback if there is one
    make attack ARGS="crowd --minutes 1"                  twenty sessions at once

Progress goes to stderr. The status is 0 if nothing got through.
"""

from __future__ import annotations

import os

os.environ["OMP_NUM_THREADS"] = "1"  # before torch: one thread, as in the server
os.environ["HF_HUB_OFFLINE"] = "1"

import argparse
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from attack.trying import MIB, Broken
from attack.workers import Report, tries

COUNTS = {
    "texts": 100_000,
    "strategies": 20_000,
    "edits": 20_000,
    "folders": 6_000,
    "tokenizers": 4_000,
    "configs": 4_000,
    "traces": 2_500,
    "data": 1_500,
    "addresses": 800,
    "kills": 48,
    "cold": 20,
    "steady": 300,
    "models": 1_000,
    "gestures": 500,
    "crowd": 20,
}
"""Tries of each kind; `steady` counts the texts of one session, `models` its views of six models in turn, `crowd` the
sessions of a few minutes, `gestures` those of one person in a browser behind a slow network."""
WHERE = Path(__file__).resolve().parents[2]


def main() -> int:
    parser = argparse.ArgumentParser(prog="make attack", description=__doc__.split("\n")[0])
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=f"some of {', '.join(COUNTS)}; default all")
    parser.add_argument("--seed", default=str(random.SystemRandom().randrange(10**9)), help="default: a new one")
    parser.add_argument("--count", type=int, help="tries of each kind, instead of its own number")
    parser.add_argument("--only", type=int, metavar="NUMBER", help="only this try, with its traceback")
    parser.add_argument("--minutes", type=float, default=5.0, help="of the crowd")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="processes at once")
    asked = parser.parse_args()
    if unknown := {*asked.kinds} - {*COUNTS}:
        parser.error(f"no attack is named {', '.join(sorted(unknown))}: there are {', '.join(COUNTS)}")
    if asked.only is not None and (len(asked.kinds) != 1 or asked.kinds[0] in ("kills", *SERVED)):
        parser.error("--only takes one kind, and none of kills, " + ", ".join(SERVED))
    kinds, through = asked.kinds or [*COUNTS], 0
    print(f"seed {asked.seed}", flush=True)
    if asked.only is not None:
        return again(kinds[0], asked.seed, asked.only)
    for kind in kinds:
        count, began, found = asked.count or COUNTS[kind], time.monotonic(), list[str]()

        def report(line: str, found: list[str] = found) -> None:
            found.append(line)
            print(line, flush=True)

        try:
            remark = SERVED[kind](count, asked.minutes, report) if kind in SERVED else None
            if kind == "kills":
                kill(count, asked.seed, report)
            elif kind not in SERVED:
                tries(kind, asked.seed, count, asked.workers, report)
        except Broken as broken:
            report(f"{kind}: {broken}")
            remark = None
        through += len(found)
        took = f"{len(found)} of {count:,} got through, {(time.monotonic() - began) / 60:.1f} min"
        print(f"{kind}: {remark + '; ' if remark else ''}{took}", flush=True)
    return min(through, 1)


def again(kind: str, seed: str, number: int) -> int:
    """One try, as it was; what got through goes on to Python, which shows where."""
    from attack.kinds import KINDS, Try

    with tempfile.TemporaryDirectory() as place:
        KINDS[kind](random.Random(str(Try(kind, seed, number))), Path(place))
    print("nothing got through")
    return 0


def kill(count: int, seed: str, report: Report) -> None:
    """Trainings and savings that are killed, in a process that forks them."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "attack.kills", str(count), seed, folder]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            for line in process.stdout:
                report(line.rstrip())
            _, errors = process.communicate()
        if process.returncode not in (0, 1) or "Traceback" in errors:
            report(f"kills: {errors.strip().splitlines()[-1]}")


@contextmanager
def served(own: str = "") -> Iterator[tuple[str, Path, int]]:
    """A server that nobody has opened yet, with the models of a folder of one's `own`: address, log, process."""
    from served import APP, address

    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "app.log"
        with log.open("wb") as output:
            process = subprocess.Popen(
                [*APP, *(["--checkpoints", own] if own else [])],
                cwd=WHERE,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
            )
        try:
            yield address(process, log), log, process.pid
        finally:
            process.terminate()
            process.wait(timeout=60)


def cold(count: int, minutes: float, report: Report) -> str:
    from attack.sessions import PAGES, all_pages_at_once

    for _ in range(count):
        with served() as (server, log, _process):
            try:
                all_pages_at_once(server, log)
            except Broken as broken:
                report(f"cold: {broken}")
    return f"{len(PAGES)} pages at once in each of {count} cold servers"


def steady(count: int, minutes: float, report: Report) -> str:
    from attack.sessions import KEPT, one_who_never_stops

    with served() as (server, log, process):
        sizes = one_who_never_stops(server, log, process, count)
    return f"{sizes[KEPT - 1] / MIB:.0f} MiB after {KEPT} texts, at most {max(sizes[KEPT:]) / MIB:.0f} after that"


def models(count: int, minutes: float, report: Report) -> str:
    from attack.sessions import KEPT, is_given_back, models_in_turn

    with served() as (server, log, process):
        sizes = models_in_turn(server, log, process, count)
        left = is_given_back(process, sizes[0] + 256 * MIB)
    begin, end = sizes[2 * KEPT - 1] / MIB, max(sizes[2 * KEPT :]) / MIB
    return f"{begin:.0f} MiB after {2 * KEPT} views, at most {end:.0f} after that, {left / MIB:.0f} when all have left"


def crowded(count: int, minutes: float, report: Report) -> str:
    from browser.checkpoints import save_random_checkpoints
    from pretrained import ending, folder

    from attack.sessions import BASE, crowd, is_given_back

    with tempfile.TemporaryDirectory() as own:
        save_random_checkpoints(Path(own))
        for family in ("llama", "t5", "bert"):
            folder(Path(own) / family, family)
        ending(Path(own) / "t5")
        names = sorted(each.name for each in Path(own).iterdir())
        with served(own) as (server, log, process):
            found = crowd(server, log, process, count, minutes, others=names)
            left = is_given_back(process, BASE)
    return f"{count} sessions, {minutes:g} minutes: {found}, {left / MIB:,.0f} when all have left"


def gestures(count: int, minutes: float, report: Report) -> str:
    from statistics import median

    from browser.gestures import MODEL, SECONDS, Gestures
    from playwright.sync_api import sync_playwright
    from slow_network import busy, slow_network

    from viz_transformer.command.server import find_chrome

    with served() as (server, _log, _process), slow_network(server) as address, sync_playwright() as playwright:
        chrome = playwright.chromium.launch(executable_path=find_chrome(), args=["--no-sandbox", "--disable-gpu"])
        page = chrome.new_page(viewport={"width": 1280, "height": 900})
        page.goto(f"{address}/?run_view=map&checkpoint={MODEL}&text=42")
        person = Gestures(page, seed=count, seconds=60)
        person.do(8)  # what all pages need is imported
        person.limit(SECONDS)
        with busy():
            person.do(count)
        chrome.close()
    taken = sorted(person.seconds[8:])
    return f"{count} gestures, p50 {median(taken):.1f} s, p95 {taken[int(0.95 * count)]:.1f}, slowest {taken[-1]:.1f} s"


SERVED: dict[str, Callable[[int, float, Report], str]] = {
    "cold": cold,
    "steady": steady,
    "models": models,
    "gestures": gestures,
    "crowd": crowded,
}

if __name__ == "__main__":
    sys.exit(main())
