"""Replacing a whole folder at once: a kill at any moment leaves the old folder or the new one, never a mixture.

The new folder is written beside the old one, brought to the disk, and exchanged with it in one system call (Linux).
Where there is no such call it takes two renames; `recover` finishes what a kill between them left. Two names beside
the folder `numbers` are ours: `.numbers.new` holds what may be deleted at any time, `.numbers.old` the old folder
between the two renames.
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
    """Make `folder` hold what `write` puts into the empty folder that it is given, and nothing else.

    If `write` raises, the old folder stays. On Windows a power cut may lose the new content, a kill does not.
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
    """Whether the folder is there, after bringing it back if a save was killed between its two renames.

    Waits for a save that is between them now. Raises OSError if the old folder lies there but cannot be renamed.
    """
    folder = folder.resolve()
    _, old = _beside(folder)
    while not folder.exists() and old.exists():
        with only_saver(folder.parent):
            _finish_renames(folder)
    return folder.exists()


def sweep(parent: Path) -> None:
    """Remove what killed saves and removals have left in `parent`; nothing while somebody saves a folder there."""
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
    if folder.exists():  # both renames were made: the old folder is of no use any more
        _remove(new)
        old.rename(new)
    else:
        old.rename(folder)


def _exchange(a: Path, b: Path) -> bool:
    """Whether a and b have changed places, in one step; False where the system cannot do that."""
    if sys.platform != "linux":
        return False
    renameat2 = getattr(ctypes.CDLL(None), "renameat2", None)
    if renameat2 is None:
        return False
    done: bool = renameat2(AT_FDCWD, os.fsencode(a), AT_FDCWD, os.fsencode(b), RENAME_EXCHANGE) == 0
    return done


@contextmanager
def only_saver(parent: Path) -> Iterator[None]:
    """One saver at a time among the folders of `parent`. The lock goes with the process, so a kill leaves none."""
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
