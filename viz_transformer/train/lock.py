"""One training at a time in a folder."""

from __future__ import annotations

import errno
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

LOCK = "lock"


@contextmanager
def only_training(state: Path) -> Iterator[None]:
    """Hold the folder's lock. The system gives it back with the process, so a kill leaves none.

    Raises ValueError if another training holds it. Some network drives have no locks: nothing is refused there.
    """
    state.mkdir(parents=True, exist_ok=True)
    with (state / LOCK).open("ab") as file:
        if not _locked(file):
            raise ValueError(
                f"another training is running in {state}: wait until it has ended, or choose another folder with --out"
            )
        yield


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
