"""Files that are something else than tensors: what they are, by their first bytes, and what to do instead."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

from viz_transformer.checkpoint import files
from viz_transformer.checkpoint.files import COPY_AGAIN, CheckpointError

_SAVE = "save the model's numbers alone, with torch.save(model.state_dict(), FILE)"
_MAGIC: tuple[tuple[bytes, str], ...] = (
    (files.POINTER, files.FETCH),
    (b"GGUF", "is a GGUF file of quantised weights: give the weights that it was made from"),
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


def check_kind(path: Path) -> Literal["torch", "safetensors"]:
    """Which reader the file is for. Raises CheckpointError, one sentence, for every other kind of file."""
    head = files.read_bytes(path, 512)
    if not head:
        raise CheckpointError(f"{path} is empty: {COPY_AGAIN}")
    if head.startswith(b"PK\x03\x04"):
        if path.suffix in (".npz", ".keras"):
            raise CheckpointError(_OTHER_ZIPS[path.suffix].format(path=path))
        return "torch"
    for magic, what in _MAGIC:
        if head.startswith(magic):
            raise CheckpointError(f"{path} {what}")
    text = head.lstrip().lower()
    if text.startswith((b"<!doctype", b"<html", b"<?xml", b"<head")):
        raise CheckpointError(
            f"{path} is a web page, as a download that needs a login leaves: download the file itself"
        )
    if path.suffix == ".onnx" or head[:2] == b"\x08\x07" or (b"pytorch" in head[:32] and head[0] == 8):
        raise CheckpointError(
            f"{path} is an ONNX file, in which names of weights are lost: give the file it was made from"
        )
    if head[8:9] == b"{" and int.from_bytes(head[:8], "little") <= os.path.getsize(path):
        return "safetensors"
    if path.suffix == ".safetensors":
        raise CheckpointError(f"{path} is cut off or damaged: {COPY_AGAIN}")
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
        f"{path} is neither a safetensors nor a torch file, or was cut off: give a file that torch.save or safetensors "
        "wrote"
    )


_OTHER_ZIPS = {
    ".npz": "{path} is a file of NumPy arrays, as Marian writes them: give the folder that it was converted to for"
    " Hugging Face, or save its arrays by their names as safetensors",
    ".keras": "{path} is a Keras file, which this program does not read: give a file that torch or safetensors wrote",
}
