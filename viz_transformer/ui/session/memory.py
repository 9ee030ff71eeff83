"""Memory of a server that runs for long: what the C library keeps, when garbage is collected, what is given back."""

from __future__ import annotations

import ctypes
import gc
import sys
from collections.abc import Callable
from contextlib import suppress
from threading import Lock, Timer
from time import monotonic

M_TRIM_THRESHOLD, M_TOP_PAD, M_MMAP_THRESHOLD, M_ARENA_MAX = -1, -2, -3, -8  # <malloc.h>
ARENAS = 2
"""Heaps of the C library: each session has a thread of its own, and a heap of its own would keep holes of its own."""
MIB = 2**20
YOUNG_OBJECTS = 50_000
"""Objects made before the youngest are searched for garbage; Python's own number is 700."""

RARELY = 10_000
"""Searches of the young before all are searched: pages do not wait for that, it is done at rest."""

REST_SECONDS, LONGEST_SECONDS = 1.0, 5.0
"""After the last run of a page nobody waits for it any more; after the first, garbage waits no longer."""

REST_PER_COLLECTION = 50
"""Garbage of busy pages waits for so many times as long as the last collection took: a fiftieth of the time at most."""

_frozen = False
_at_rest: Timer | None = None
_waits_since: float | None = None  # when the first run ended since garbage was collected
_took_seconds = 0.0  # the last collection
_lock = Lock()


def keep_freed_memory(mebibytes: int = 256) -> None:
    """Let up to this much freed memory stay with the process, to be used again (Linux with glibc; else nothing).

    A recorded pass keeps its tensors, so it needs fresh memory. If every freed trace goes back to the system, that
    memory is mapped and cleared anew, page by page: a tenth to a fifth of the time of a pass of 256 tokens.
    """
    if sys.platform != "linux":
        return
    with suppress(OSError, AttributeError):  # another C library
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(M_MMAP_THRESHOLD, 32 * MIB)  # the largest that glibc takes
        mallopt(M_TRIM_THRESHOLD, mebibytes * MIB)
        mallopt(M_TOP_PAD, 16 * MIB)
        mallopt(M_ARENA_MAX, ARENAS)


def freeze_imports() -> None:
    """Exempt the objects of all imported modules from garbage collection; the first call only, before any model.

    A recorded run makes many small objects, a hundred a step, which set off collections; each full one would go
    through all of torch, and those of the youngest alone are a twentieth of a decode. So they are set off less often.
    Whatever is alive when `gc.freeze` is called stays out of the collector's reach for good. A later call would put
    there what visitors have made.
    """
    global _frozen
    with _lock:
        if _frozen:
            return
        _frozen = True
        gc.collect()
        gc.freeze()
        gc.set_threshold(YOUNG_OBJECTS, gc.get_threshold()[1], RARELY)


def collect_at_rest(first: Callable[[], None]) -> None:
    """Call `first`, and collect all garbage, when no run has ended for REST_SECONDS, or LONGEST_SECONDS after the first
    that has.

    Streamlit would do so at the end of each run, before the browser has all of the page, which took a quarter of the
    time of a run; `runner.postScriptGC` in .streamlit/config.toml says that it does not. What is dragged runs the page
    many times a second.
    """
    global _at_rest, _waits_since
    with _lock:
        if _at_rest is not None:
            _at_rest.cancel()
        now = monotonic()
        _waits_since = _waits_since or now
        longest = max(LONGEST_SECONDS, REST_PER_COLLECTION * _took_seconds)
        _at_rest = Timer(max(0, min(REST_SECONDS, _waits_since + longest - now)), _collect, (first,))
        _at_rest.daemon = True
        _at_rest.start()


def _collect(first: Callable[[], None]) -> None:
    global _waits_since, _took_seconds
    with _lock:
        _waits_since = None
    first()
    began = monotonic()
    gc.collect()
    _took_seconds = monotonic() - began


def give_back(forget: Callable[[], None]) -> None:
    """Call `forget`, collect what it has let go of, and hand freed memory back to the system (Linux with glibc)."""
    forget()
    gc.collect()
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):  # another C library
            ctypes.CDLL(None).malloc_trim(0)
