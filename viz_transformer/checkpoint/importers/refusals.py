"""Recognises files that are not tensors by their first bytes, and says what to do instead."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

from viz_transformer.checkpoint import files
from viz_transformer.checkpoint.files import COPY_AGAIN, CheckpointError
from viz_transformer.checkpoint.untrusted import LONGEST_HEADER

_SAVE = "save the model's numbers alone, with torch.save(model.state_dict(), FILE)"
SMALLEST = 9
"""Bytes of the smallest safetensors file: the header's length and its first byte."""
GGUF = "is a GGUF file, as llama.cpp reads it: give the folder of transformers that it was made from"
_MAGIC: tuple[tuple[bytes, str], ...] = (
    (files.POINTER, files.FETCH),
    (b"GGUF", GGUF),
    (
        b"\x89HDF",
        "is a Keras (HDF5) file, which this program does not read: give a file that torch or safetensors wrote",
    ),
    (b"\x1f\x8b", "is packed with gzip: unpack it first"),
    (b"BZh", "is packed with bzip2: unpack it first"),
    (b"\xfd7zXZ", "is packed with xz: unpack it first"),
    (b"\x28\xb5\x2f\xfd", "is packed with zstd: unpack it first"),
    (b"%PDF", "is a PDF document: give the file of the weights"),
    (b"\x93NUMPY", "is one NumPy array: give a file with all tensors and their names"),
    (b"\x00\x00\x00\x1cftyp", "is a video: give the file of the weights"),
)


def other_kind(path: Path) -> str | None:
    """What an unsupported file is by its first bytes, and what to do; None for any other."""
    return _other_kind(files.read_bytes(path, 512))


def _other_kind(head: bytes) -> str | None:
    return next((what for magic, what in _MAGIC if head.startswith(magic)), None)


def is_read(dtype: str, name: str) -> bool:
    """Whether tensors of this safetensors dtype are read: integers are not accepted as weights."""
    return dtype in _FLOATS or (dtype in _WHOLE and not (dtype in ("I8", "I16") and name.endswith("weight")))


_FLOATS, _WHOLE = ("F16", "BF16", "F32", "F64"), ("I64", "I32", "I16", "I8", "U8", "BOOL")


def of_type(dtype: str, name: str) -> str:
    """Error message for a tensor of an unsupported dtype, with what to do."""
    if dtype.startswith(("F8", "F6", "F4", "I8", "U8")) or (dtype == "U32" and name.endswith("weight")):
        return f"has the type {dtype}, as quantised weights have: get them in 16 or 32 bits"
    return f"has the type {dtype}, which is not read: save it in float32"


def check_kind(path: Path) -> Literal["torch", "safetensors"]:
    """The reader for a file. Raises CheckpointError with one sentence for any other kind of file."""
    head = files.read_bytes(path, 512)
    if not head:
        raise CheckpointError(f"{path} is empty: {COPY_AGAIN}")
    if head.startswith(b"PK\x03\x04"):
        if path.suffix in (".npz", ".keras"):
            raise CheckpointError(_OTHER_ZIPS[path.suffix].format(path=path))
        return "torch"
    if (other := _other_kind(head)) is not None:
        raise CheckpointError(f"{path} {other}")
    if head[8:9] == b"{":
        if (length := int.from_bytes(head[:8], "little")) <= os.path.getsize(path):
            return "safetensors"
        if length <= LONGEST_HEADER:
            raise CheckpointError(f"{path} is cut off (its header goes beyond its end): {COPY_AGAIN}")
    text = head.lstrip().lower()
    if text.startswith((b"<!doctype", b"<html", b"<?xml", b"<head")):
        raise CheckpointError(
            f"{path} is a web page, as a download that needs a login leaves: download the file itself"
        )
    if path.suffix == ".onnx" or head[:2] == b"\x08\x07" or (b"pytorch" in head[:32] and head[0] == 8):
        raise CheckpointError(
            f"{path} is an ONNX file, in which names of weights are lost: give the file it was made from"
        )
    if path.suffix == ".safetensors" and len(head) <= SMALLEST:
        raise CheckpointError(f"{path} is cut off: {COPY_AGAIN}")
    if head[:1] == b"\x80":
        raise CheckpointError(
            f"{path} is a plain pickle, as torch before 1.6 and Python write it, which could run code: open it where it"
            f" was made, and {_SAVE}"
        )
    if path.suffix in (".py", ".ipynb"):
        raise CheckpointError(f"{path} is a program, which is not run: give the file of weights that it writes")
    if text[:1] in (b"{", b"["):
        raise CheckpointError(f"{path} is JSON: give the file of the weights; settings and vocabularies go with it")
    raise CheckpointError(
        f"{path} is neither a safetensors nor a torch file, by its first bytes, whatever its name is: give a file that"
        " torch.save or safetensors wrote"
    )


_OTHER_ZIPS = {
    ".npz": "{path} is a file of NumPy arrays, as Marian writes them: give the folder that it was converted to for"
    " Hugging Face, or save its arrays by their names as safetensors",
    ".keras": "{path} is a Keras file, which this program does not read: give a file that torch or safetensors wrote",
}
