"""Atomic replacement of a folder: a kill at any moment leaves the old folder or the new one.

The new folder is written next to the old one, synced, and exchanged with it in one system call (Linux). Elsewhere this
takes two renames, and `recover` repairs a kill between them. Two names next to the folder `numbers` are reserved:
`.numbers.new` may be deleted at any time; `.numbers.old` is the old folder between the renames.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from viz_transformer.checkpoint.writing import sync

if sys.platform != "win32":
    import fcntl

AT_FDCWD, RENAME_EXCHANGE = -100, 2  # <fcntl.h>, <linux/fs.h>


def replace_folder(folder: Path, write: Callable[[Path], None]) -> None:
    """Replace the content of `folder` with what `write` puts into an empty folder.

    If `write` raises, the old folder stays. On Windows a power cut may lose the new content; a kill does not.
    """
    folder = folder.resolve()
    new, old = _beside(folder)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with only_saver(folder.parent):
        _finish_renames(folder)
        _remove(new)
        try:
            new.mkdir()
            write(new)
            _sync_tree(new)
            if not folder.exists():
                new.rename(folder)
            elif not _exchange(new, folder):
                folder.rename(old)
                new.rename(folder)
                old.rename(new)
            sync(folder.parent)
        finally:
            _remove(new)


def recover(folder: Path) -> bool:
    """Restore the folder if a save was killed between its two renames; return whether it exists.

    Waits for a save in progress. Raises OSError if the old folder cannot be renamed back.
    """
    folder = folder.resolve()
    _, old = _beside(folder)
    while not folder.exists() and old.exists():
        with only_saver(folder.parent):
            _finish_renames(folder)
    return folder.exists()


def sweep(parent: Path) -> None:
    """Remove leftovers of killed saves and removals in `parent`, unless a save is in progress there."""
    if sys.platform == "win32" or not parent.is_dir():
        return
    descriptor = os.open(parent, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        for entry in (*parent.glob(".*.new"), *parent.glob(".*.removed")):
            if entry.is_file():
                entry.unlink(missing_ok=True)
            shutil.rmtree(entry, ignore_errors=True)
    except OSError:
        return
    finally:
        os.close(descriptor)


def _beside(folder: Path) -> tuple[Path, Path]:
    return folder.with_name(f".{folder.name}.new"), folder.with_name(f".{folder.name}.old")


def _finish_renames(folder: Path) -> None:
    new, old = _beside(folder)
    if not old.exists():
        return
    if folder.exists():  # both renames were made: the old folder is obsolete
        _remove(new)
        old.rename(new)
    else:
        old.rename(folder)


def _exchange(a: Path, b: Path) -> bool:
    """Exchange a and b in one step; False where the system cannot."""
    if sys.platform != "linux":
        return False
    renameat2 = getattr(ctypes.CDLL(None), "renameat2", None)
    if renameat2 is None:
        return False
    done: bool = renameat2(AT_FDCWD, os.fsencode(a), AT_FDCWD, os.fsencode(b), RENAME_EXCHANGE) == 0
    return done


@contextmanager
def only_saver(parent: Path) -> Iterator[None]:
    """Hold the lock for saves in `parent`. The process owns it, so a kill releases it."""
    if sys.platform == "win32":
        yield
        return
    descriptor = os.open(parent, os.O_RDONLY)
    try:
        with suppress(OSError):  # some network drives have no locks
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _sync_tree(folder: Path) -> None:
    for inside, _, names in os.walk(folder):
        for path in (Path(inside, name) for name in names):
            if path.is_file() and not path.is_symlink():
                sync(path)
        sync(Path(inside))


def _remove(folder: Path) -> None:
    if folder.exists():
        shutil.rmtree(folder)
