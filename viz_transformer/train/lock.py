"""One training at a time in a folder."""

from __future__ import annotations

import errno
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

LOCK = "lock"
PATIENCE = 0.1
"""Seconds: who only asks whether a training is running holds the lock for much less."""


@contextmanager
def only_training(state: Path) -> Iterator[None]:
    """Hold the folder's lock. The system gives it back with the process, so a kill leaves none.

    Raises ValueError if another training holds it. Some network drives have no locks: nothing is refused there.
    """
    state.mkdir(parents=True, exist_ok=True)
    with (state / LOCK).open("ab") as file:
        if not _locked_soon(file):
            raise ValueError(
                f"another training is running in {state}: wait until it has ended, or choose another folder with --out"
            )
        yield


def is_training(state: Path) -> bool:
    """Whether a training holds the folder's lock now; False where there are no locks."""
    try:
        with (state / LOCK).open("rb+") as file:
            return not _locked(file)  # given back with the file
    except OSError:
        return False


def _locked_soon(file: IO[bytes]) -> bool:
    """Whether nobody else holds the lock for longer than a moment."""
    deadline = time.monotonic() + PATIENCE
    while not _locked(file):
        if time.monotonic() > deadline:
            return False
        time.sleep(PATIENCE / 10)
    return True


def _locked(file: IO[bytes]) -> bool:
    """Whether nobody else holds the lock of this file."""
    try:
        if sys.platform == "win32":
            file.seek(0)
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return error.errno not in (errno.EWOULDBLOCK, errno.EACCES, errno.EDEADLK)
    return True
