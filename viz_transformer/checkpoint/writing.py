"""Writes one file atomically, following links, and never replaces a device.

A regular file is written next to its target, synced and renamed. Other existing targets cannot be replaced safely:
terminals, /dev/null and pipes are written into; disks and sockets are refused.
"""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import stat
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path


class OutputError(OSError, ValueError):
    """A file that cannot be written: one sentence with its name and what to do."""


def check_output(path: str | os.PathLike[str]) -> None:
    """Raise OutputError, before any work is done, if no file can be written there."""
    path = Path(path)
    kind = _kind(path)
    if kind == stat.S_IFDIR:
        raise OutputError(f"{path} is a folder: give the name of a file")
    if kind not in (None, stat.S_IFREG, stat.S_IFCHR, stat.S_IFIFO):
        raise OutputError(f"{path} is a disk or a socket, which is not written to: give the name of a file")
    parent = Path(os.path.realpath(path)).parent
    if kind is None and not parent.is_dir():
        raise OutputError(f"{path} cannot be written: there is no folder {parent}: make it first, or write elsewhere")
    if kind in (None, stat.S_IFREG) and not os.access(parent, os.W_OK):
        raise OutputError(f"{path} cannot be written: the folder {parent} may not be changed: write somewhere else")


def write_file(path: str | os.PathLike[str], content: bytes | memoryview) -> None:
    """Replace the file's content, as `replace_file` does."""
    replace_file(path, lambda new: new.write_bytes(content))


def replace_file(path: str | os.PathLike[str], write: Callable[[Path], object]) -> None:
    """Replace the file's content with what `write` puts into a new file; if it raises, the old content stays.

    Follows links. An existing file keeps its permissions; a new one gets the system's defaults. Raises OutputError if
    it cannot be written, naming a full disk as such.
    """
    path = Path(path)
    check_output(path)
    try:
        if _kind(path) in (None, stat.S_IFREG):
            _replace(Path(os.path.realpath(path)), write)
        else:
            with tempfile.TemporaryDirectory() as folder:
                write(new := Path(folder) / "content")
                _pour(new, path)
    except OutputError:
        raise
    except OSError as error:
        raise OutputError(f"{path} cannot be written: {reason(error)}") from error


def reason(error: OSError) -> str:
    """Why the system could not write, and what to do if known."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return "the disk is full: make room, or write somewhere else"
    if error.errno == errno.ENXIO:
        return "nobody reads from this pipe: start what reads it first"
    return error.strerror or str(error)


def sync(path: Path) -> None:
    """Sync a file's content, or a folder's entries, to disk."""
    if sys.platform == "win32":
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _kind(path: Path) -> int | None:
    """Type of what is at the path, links followed: S_IFREG etc.; None for nothing."""
    try:
        return stat.S_IFMT(path.stat().st_mode)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:  # ValueError: a name with a NUL character
        why = error.strerror if isinstance(error, OSError) else error
        raise OutputError(f"{str(path)!r:.300} cannot be written ({why}): give the name of a file") from None


def _replace(path: Path, write: Callable[[Path], object]) -> None:
    new = path.with_name(f".{secrets.token_hex(8)}.new")  # short, in case the file's own name has the maximum length
    os.close(os.open(new, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))  # minus the umask
    try:
        permissions = stat.S_IMODE((path if path.exists() else new).stat().st_mode)
        write(new)
        new.chmod(permissions)
        sync(new)
        new.replace(path)
        sync(path.parent)
    finally:
        new.unlink(missing_ok=True)


def _pour(content: Path, device: Path) -> None:
    """Write a file's content into a device, or into a pipe with a reader, without blocking."""
    descriptor = os.open(device, os.O_WRONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0))
    with os.fdopen(descriptor, "wb") as out, content.open("rb") as file:
        if sys.platform != "win32":
            os.set_blocking(descriptor, True)
        shutil.copyfileobj(file, out)
