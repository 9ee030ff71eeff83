"""Allows one training at a time in a folder."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

LOCK = "lock"
PATIENCE = 0.1
"""Seconds to retry: checking whether a training runs holds the lock only briefly."""


@contextmanager
def only_training(state: Path) -> Iterator[None]:
    """Hold the folder's lock, which a kill releases. Raises ValueError if another training holds it."""
    state.mkdir(parents=True, exist_ok=True)
    lock = FileLock(state / LOCK, timeout=PATIENCE, poll_interval=PATIENCE / 10)
    try:
        lock.acquire()
    except Timeout:
        raise ValueError(
            f"another training is running in {state}: wait until it has ended, or choose another folder with --out"
        ) from None
    try:
        yield
    finally:
        lock.release()


def is_training(state: Path) -> bool:
    """Whether a training holds the folder's lock; False for someone else's folder."""
    if not os.access(state / LOCK, os.R_OK | os.W_OK):
        return False
    try:
        with FileLock(state / LOCK, timeout=0):
            return False
    except Timeout:
        return True
    except OSError:
        return False
