"""Traces as the bytes of a file, and back: files from elsewhere are checked before use."""

from __future__ import annotations

import tempfile
from pathlib import Path

from viz_transformer.running.trace import Trace

LARGEST_FILE = 128 * 2**20
_FILE = "trace.safetensors"


TOO_LARGE = "This run is too large for a file from here: “viz-transformer trace” writes all of it."
"""The message where a run that is not kept whole would be saved."""


def pack_trace(trace: Trace) -> bytes:
    """The file that `trace.save` writes."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / _FILE
        trace.save(path)
        return path.read_bytes()


def open_trace(data: bytes, name: str) -> Trace:
    """The trace in a file of this content. name: what the file is called in sentences.

    Raises ValueError with one sentence for anything but a whole trace whose points fit its config and its tokens.
    """
    if len(data) > LARGEST_FILE:
        raise ValueError(f"{name} has {len(data):,} bytes, a trace is opened here up to {LARGEST_FILE:,}")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / _FILE
        path.write_bytes(data)
        try:
            return Trace.load(path)
        except ValueError as error:
            raise ValueError(str(error).replace(str(path), name)) from None
