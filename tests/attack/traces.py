"""Trace files that are damaged in one place, opened by code and as the Tensors page does."""

from __future__ import annotations

import json
import struct
from functools import cache
from pathlib import Path
from random import Random

from builders import tiny_checkpoint
from watched import watched_trace

from attack import choices, hostile
from attack.folders import SPECIAL
from attack.trying import attempt
from viz_transformer.analysis.tensors.trace_files import open_trace, pack_trace
from viz_transformer.running.decoding import decode
from viz_transformer.running.trace import Trace
from viz_transformer.running.tracing import trace


@cache
def whole(kind: str) -> bytes:
    """The file of a run of a tiny model, or of a module that was watched."""
    if kind == "watched":
        return pack_trace(watched_trace())
    ckpt = tiny_checkpoint(kind)
    made = decode(ckpt, "abc", max_steps=3).trace if kind == "encoder-decoder" else trace(ckpt, "abc")
    return pack_trace(made)


def attack(draw: Random, place: Path) -> None:
    """A file with something wrong, opened, and every point that it claims to have looked at."""
    content = whole(draw.choice(("encoder-decoder", "decoder-only", "encoder-only", "watched")))
    content = draw.choice((_described, _described, hostile.safetensors, _bytes))(draw, content)
    path = place / "run.safetensors"
    special = draw.choice(SPECIAL) if draw.random() < 0.1 else None
    if special is not None:
        special(path)
    else:
        path.write_bytes(content)
    try:
        attempt(lambda: use(Trace.load(path)), size=len(content))
        if special is None:
            attempt(lambda: use(open_trace(content, "run.safetensors")), size=len(content))
    finally:
        path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink(missing_ok=True)


def use(found: Trace) -> None:
    """What opening it is for; a point that it does not have is a KeyError with a sentence."""
    found.id, found.points(derived=True)
    [edit.caption() for edit in found.edits]


def _described(draw: Random, content: bytes) -> bytes:
    """Damages what the file says about its run; its tensors stay."""
    length = struct.unpack("<Q", content[:8])[0]
    header = json.loads(content[8 : 8 + length])
    about = json.loads(header["__metadata__"]["viz_transformer"])
    if draw.random() < 0.3:
        about["edits"] = hostile.damaged([choices.edit(draw, choices.tiny("encoder-decoder"))], draw)
    elif draw.random() < 0.3 and about["config"] is None:
        about["watched"] = hostile.damaged(about["watched"], draw)
    elif draw.random() < 0.3:
        about["config"] = hostile.damaged(about["config"], draw)
    else:
        about = hostile.damaged(about, draw)
    header["__metadata__"]["viz_transformer"] = json.dumps(about)
    packed = hostile.json_bytes(header)
    return struct.pack("<Q", len(packed)) + packed + content[8 + length :]


def _bytes(draw: Random, content: bytes) -> bytes:
    return hostile.bytes_damaged(content, draw)
