"""Memory of a server that runs for long: when garbage is collected, and what is given back to the system."""

from __future__ import annotations

import ctypes
import gc
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from threading import Lock, Timer
from threading import enumerate as enumerate_threads
from time import monotonic

MIB = 2**20
YOUNG_OBJECTS, YOUNG_SEARCHES = 50_000, 2
"""Objects made before the youngest are searched for garbage, and such searches before the young are; Python's own
numbers are 700 and 10."""

RARELY = 10_000
"""Searches of the young before all are searched: neither imports nor pages wait for that, it is done at rest."""

REST_SECONDS, LONGEST_SECONDS = 1.0, 5.0
"""After the last run of a page nobody waits for it any more; after the first, garbage waits no longer."""

MAX_HELD_SECONDS = 0.1
"""Searching all that is alive may hold a page for so long. Where it takes longer, as with transformers imported, only
what was made since the last time is searched at rest, and all of it in the quiet."""

QUIET_SECONDS, LONGEST_UNQUIET_SECONDS, MAX_UNQUIET_MIB = 10.0, 120.0, 256
"""Nobody has asked for so long; all is searched before only if the last time is that long ago, or the process has grown
by so much (Linux), and then between two pages."""

BETWEEN_SECONDS = 0.1
"""So often it is looked whether no page is being made just then."""

_frozen = False
_at_rest: Timer | None = None
_waits_since: float | None = None  # when the first run ended since garbage was collected
_all_searched, _took_seconds = monotonic(), MAX_HELD_SECONDS  # when and how long all that is alive was last searched
_resident_then = 0  # bytes
_lock = Lock()


def search_rarely() -> None:
    """Let Python search for garbage by itself only among what was made lately.

    What is imported stays, and searching through all of it again and again is a third of a second of a start.
    """
    gc.set_threshold(YOUNG_OBJECTS, YOUNG_SEARCHES, RARELY)


def freeze_imports() -> None:
    """Exempt the objects of all imported modules from garbage collection; the first call only, before any model.

    A recorded run makes many small objects, a hundred a step, which set off collections; each full one would go
    through all of torch, and those of the youngest alone are a twentieth of a decode. So they are set off less often.
    Whatever is alive when `gc.freeze` is called stays out of the collector's reach for good. A later call would put
    there what visitors have made.
    """
    global _frozen, _resident_then
    with _lock:
        if _frozen:
            return
        _frozen, _resident_then = True, _resident_bytes()
        gc.freeze()
        search_rarely()


def collect_at_rest(first: Callable[[], None]) -> None:
    """Call `first` and collect garbage at rest: no run has ended for REST_SECONDS, or it is LONGEST_SECONDS after the
    first that has.

    Streamlit would collect all of it at the end of each run, before the browser has all
    of the page, which took a quarter of the time of a run; `runner.postScriptGC` in .streamlit/config.toml says that it
    does not. What is dragged runs the page many times a second.
    """
    global _waits_since
    with _lock:
        now = monotonic()
        _waits_since = _waits_since or now
        _start(max(0, min(REST_SECONDS, _waits_since + LONGEST_SECONDS - now)), _collect, first)


def _start(seconds: float, act: Callable[..., None], *args: object) -> None:
    """Instead of what waited until now; the lock is held."""
    global _at_rest
    if _at_rest is not None:
        _at_rest.cancel()
    _at_rest = Timer(seconds, act, args)
    _at_rest.daemon = True
    _at_rest.start()


def _collect(first: Callable[[], None]) -> None:
    global _waits_since
    first()
    with _lock:
        _waits_since = None
        waited = monotonic() - _all_searched
        overdue = waited >= LONGEST_UNQUIET_SECONDS or _resident_bytes() - _resident_then > MAX_UNQUIET_MIB * MIB
        held = overdue and waited < 2 * LONGEST_UNQUIET_SECONDS and _is_page_being_made()
        every = _took_seconds < MAX_HELD_SECONDS or (overdue and not held)
        if held and not every:
            _start(BETWEEN_SECONDS, _collect, first)
        elif not every:
            _start(QUIET_SECONDS, _collect_all)
    if every:
        _collect_all()
    else:
        gc.collect(1)


def _is_page_being_made() -> bool:
    """Whether Streamlit is running a page in one of its threads."""
    return any(thread.name.startswith("ScriptRunner") for thread in enumerate_threads())


def _collect_all() -> None:
    global _all_searched, _took_seconds, _resident_then
    began = monotonic()
    gc.collect()
    _all_searched, _resident_then = monotonic(), _resident_bytes()
    _took_seconds = _all_searched - began


def _resident_bytes() -> int:
    """What the process takes of the machine's memory; 0 where the system does not say it (all but Linux)."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, AttributeError):
        return 0


def give_back(forget: Callable[[], None]) -> None:
    """Call `forget`, collect what it has let go of, and hand freed memory back to the system (Linux with glibc)."""
    forget()
    gc.collect()
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):  # another C library
            ctypes.CDLL(None).malloc_trim(0)
