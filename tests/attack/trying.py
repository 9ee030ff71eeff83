"""The property that all attacks share: an answer or one sentence, soon, in bounded memory, and never another error."""

from __future__ import annotations

import faulthandler
import os
import re
import resource
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

MIB = 2**20
LONGEST_SENTENCE = 600
SECONDS = 5.0
"""Of processor time, so that a busy machine fails nothing."""
CLOCK = 60.0
"""Of the clock, for what waits and does not compute. Where nothing can be raised, the process ends after twice that."""
ROOM = 256 * MIB
"""What an attack may take, beyond the size of what it brings."""
_MOST = 3 * 2**30  # where Python itself stops: far above ROOM, far below what the machine has
_RESIDENT, _PEAK = "VmRSS", "VmHWM"


class Broken(AssertionError):
    """An attack that got through: what happened, in one line."""


class _Hangs(BaseException):
    """Raised by a timer inside of what takes too long; no `except Exception` holds it up."""


def attempt(
    action: Callable[[], object], *, size: int = 0, seconds: float = SECONDS, clock: float = CLOCK
) -> str | None:
    """None if the action ends in an answer, else the sentence that refuses it. Raises Broken for any other end.

    size: bytes that the action is given, which it may take beyond ROOM. seconds: of work, clock: of waiting.
    """
    before = _memory(_RESIDENT, reset=True)
    try:
        with _limited(seconds, clock):
            action()
            sentence = None
    except (ValueError, OSError) as error:
        sentence = str(error)
        check_sentence(sentence)
    except _Hangs as error:
        raise Broken(f"{error} and goes on") from None
    except Exception as error:
        raise Broken(f"{type(error).__name__}: {error!s:.300}") from error
    if (taken := _memory(_PEAK) - before) > size + ROOM:
        raise Broken(f"takes {taken / MIB:,.0f} MiB for {size / MIB:,.1f} MiB")
    return sentence


def check_sentence(sentence: str) -> None:
    """Raises Broken unless it is one line that can be shown: not empty, not long, valid Unicode."""
    what = f"{sentence[:200]!r}"
    if not sentence.strip():
        raise Broken("refused without a word")
    if len(sentence) > LONGEST_SENTENCE:
        raise Broken(f"a sentence of {len(sentence):,} characters: {what}")
    if len(sentence.splitlines()) > 1:
        raise Broken(f"a sentence of {len(sentence.splitlines())} lines: {what}")
    check_unicode(sentence)
    if re.search(r"[\x00-\x08\x0b-\x1f\x7f]", sentence):
        raise Broken(f"a sentence with control characters: {what}")


def check_unicode(text: str) -> None:
    """Raises Broken for half a surrogate pair, which no file and no screen can hold."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise Broken(f"no valid Unicode: {ascii(text)[:200]}") from None


def check(claim: bool, otherwise: str) -> None:
    """Raises Broken with the words unless the claim is true."""
    if not claim:
        raise Broken(otherwise)


@contextmanager
def _limited(seconds: float, clock: float) -> Iterator[None]:
    """Raises _Hangs inside the block when its time is over, and lets no runaway take the machine's memory."""

    def stop(number: int, frame: FrameType | None) -> None:
        where = f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}" if frame else "?"
        what = f"{seconds:g} s of work" if number == signal.SIGPROF else f"{clock:g} s of waiting"
        raise _Hangs(f"took {what}, is in {where}")

    old = {number: signal.signal(number, stop) for number in (signal.SIGPROF, signal.SIGALRM)}
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    if sys.platform == "linux":
        resource.setrlimit(resource.RLIMIT_AS, (_memory("VmSize") + _MOST, hard))
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.setitimer(signal.ITIMER_REAL, clock)
    faulthandler.dump_traceback_later(2 * clock, exit=True)
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
        for number, handler in old.items():
            signal.signal(number, handler)


def _memory(what: str, *, reset: bool = False) -> int:
    """Bytes of this process as Linux counts them; `reset` begins to look for the peak anew."""
    if sys.platform != "linux":
        return 0
    if reset:
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")
    return status_bytes(os.getpid(), what)


def status_bytes(process: int, what: str = _RESIDENT) -> int:
    """A line of /proc/PID/status, in bytes."""
    found = re.search(rf"{what}:\s*(\d+) kB", Path(f"/proc/{process}/status").read_text())
    assert found is not None
    return int(found[1]) * 1024
