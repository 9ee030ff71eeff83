"""How the process treats memory that is no longer used."""

from __future__ import annotations

import ctypes
import gc
import sys
from contextlib import suppress
from threading import Lock, Timer
from time import monotonic

M_TRIM_THRESHOLD, M_TOP_PAD, M_MMAP_THRESHOLD = -1, -2, -3  # <malloc.h>
MIB = 2**20
MANY = 20
"""Modules that are worth a search of their own."""

YOUNG = 50_000
"""Objects made before the youngest are searched for garbage; Python's own number is 700."""

REST, LONGEST = 1.0, 5.0
"""Seconds after which nobody waits for the page any more, and after which garbage does not wait for that."""

_left_alone: int | None = None  # modules that were there the last time
_at_rest: Timer | None = None
_waits_since: float | None = None  # when the first run ended since garbage was searched for
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


def leave_imports_alone() -> None:
    """After the heavy imports: their hundred thousand objects are no longer searched for garbage.

    A recorded run keeps many small objects, a hundred a step, which sets off collections; each full one would go
    through all of torch, and those of the youngest alone are a twentieth of a decode. So they are set off less often.
    """
    global _left_alone
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG, *gc.get_threshold()[1:])
    _left_alone = len(sys.modules)


def leave_new_imports_alone() -> None:
    """The same for what was imported since, if that is much; nothing before the first time."""
    if _left_alone is not None and len(sys.modules) >= _left_alone + MANY:
        leave_imports_alone()


def search_at_rest() -> None:
    """Search everything for garbage when no run has ended for REST seconds, or LONGEST after the first that has.

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
        _at_rest = Timer(max(0, min(REST, _waits_since + LONGEST - now)), _search)
        _at_rest.daemon = True
        _at_rest.start()


def _search() -> None:
    global _waits_since
    with _lock:
        _waits_since = None
    gc.collect()
