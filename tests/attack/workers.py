"""Many tries in processes of their own, so that one that hangs or kills its process is seen, and the others go on."""

from __future__ import annotations

import logging
import multiprocessing
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path

from attack.trying import CLOCK

Report = Callable[[str], None]
PATIENCE = 10 * CLOCK
"""Seconds without a word after which a process hangs: more than the longest attack of any kind may take."""


def tries(kind: str, seed: str, count: int, workers: int, report: Report) -> None:
    """All tries of a kind, shared among processes; a process that hangs or dies is a try that got through."""
    done = [0] * workers
    threads = [
        threading.Thread(target=stripe, args=(kind, seed, first, count, workers, report, done))
        for first in range(workers)
    ]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        threads[0].join(timeout=20) if threads[0].is_alive() else time.sleep(5)
        print(f"{kind}: {sum(done):,} of {count:,}", file=sys.stderr, flush=True)


def stripe(kind: str, seed: str, first: int, count: int, step: int, report: Report, done: list[int]) -> None:
    """Every `step`th try, in a process that is begun anew behind a try that ends it."""
    from attack.kinds import Try

    spawn, number = multiprocessing.get_context("spawn"), first
    while number < count:
        ours, theirs = spawn.Pipe()
        process = spawn.Process(target=work, args=(theirs, kind, seed, number, count, step), daemon=True)
        process.start()
        theirs.close()
        with suppress(EOFError):
            while ours.poll(PATIENCE):
                number, found = ours.recv()
                done[first] += 1
                if found:
                    report(found)
                number += step
        process.kill()
        process.join()
        if number < count:
            report(f"{kind}: the process hung or died: {Try(kind, seed, number).again}")
            number += step


def work(pipe: Connection, kind: str, seed: str, first: int, count: int, step: int) -> None:
    """Tries one after the other, and tells of each."""
    logging.disable(logging.WARNING)  # Streamlit's, about pages outside of a server
    from attack.kinds import Try

    with tempfile.TemporaryDirectory() as folder:
        for number in range(first, count, step):
            each = Try(kind, seed, number)
            found = each.run(Path(folder))
            pipe.send((number, f"{kind}: {found}: {each.again}" if found else None))
