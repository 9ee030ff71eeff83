"""Checks on untrusted files, before they are read: what they are and how much memory they would take."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import orjson

from viz_transformer.sentences import quote

METADATA = "__metadata__"  # the only header entry that is not a tensor

LONGEST_HEADER = 8 * 2**20
"""Maximum bytes of a safetensors header."""
MAX_TENSORS = 20_000
"""Maximum tensors of one file: weights with training state are some thousand."""
MAX_VALUES = 500_000
"""Maximum values of a JSON description: an empty list takes three bytes in the file and sixty in memory."""


class TooMuch(ValueError):
    """A valid file beyond the limits; holds only the reason."""


def regular_size(path: str | os.PathLike[str]) -> int:
    """Size of a regular file in bytes. Raises ValueError with a sentence for anything else."""
    try:
        status = os.stat(path)
    except FileNotFoundError:
        raise ValueError(f"there is no file {path}") from None
    except (OSError, ValueError) as error:  # ValueError: a name with a NUL character
        why = error.strerror if isinstance(error, OSError) else error
        raise ValueError(f"{quote(os.fspath(path), 300)} cannot be read: {why}") from None
    if stat.S_ISDIR(status.st_mode):
        raise ValueError(f"{path} is a folder: give a file")
    if not stat.S_ISREG(status.st_mode):
        raise ValueError(f"{path} is a pipe or a device: give a file")
    return status.st_size


def check_header(path: Path) -> None:
    """Raise ValueError with the reason for a truncated safetensors file, or with a sentence if it is not a file.

    Raises TooMuch for one that would take too much time or memory.
    """
    size = regular_size(path)
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if length > size - 8:
            raise ValueError("its header goes beyond its end")
        if length > LONGEST_HEADER:
            raise TooMuch(f"its header has {length:,} bytes, at most {LONGEST_HEADER:,} are read")
        header = file.read(length)
    check_count(header.count(b'"data_offsets"'))
    if (values := json_values(header)) > MAX_VALUES:
        raise TooMuch(f"its header has {values:,} values, at most {MAX_VALUES:,} are read")
    try:
        described = orjson.loads(header)
        check_count(len(described) - (METADATA in described))  # however "data_offsets" is written
        ends = (entry["data_offsets"][1] for name, entry in described.items() if name != METADATA)
        end = 8 + length + max(ends, default=0)
        differs = bool(end != size)
    except TooMuch:
        raise
    except (ValueError, LookupError, TypeError, AttributeError):
        return  # the reader has its own error for an invalid header
    if differs:  # else the whole file would be mapped, whatever its size
        raise ValueError("its tensors end elsewhere than the file")


def check_count(tensors: int) -> None:
    """Raise TooMuch with the reason for too many tensors in one file."""
    if tensors > MAX_TENSORS:
        raise TooMuch(f"it holds {tensors:,} tensors, at most {MAX_TENSORS:,} are read: give the weights of one model")


def json_values(content: str | bytes) -> int:
    """Approximate number of JSON values, without parsing."""
    if isinstance(content, str):
        return sum(content.count(sign) for sign in ",[{")
    return sum(content.count(sign) for sign in (b",", b"[", b"{"))
