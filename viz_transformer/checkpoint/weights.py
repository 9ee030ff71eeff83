"""Reads tensors from untrusted safetensors files, and writes files of tensors that are made one after the other,
because all together would take too much memory.

Names, shapes and sizes are checked before numbers are copied, and no file can make the reader take much more memory
than its own size.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from viz_transformer.checkpoint import files
from viz_transformer.checkpoint.files import COPY_AGAIN, CheckpointError, intact
from viz_transformer.checkpoint.importers.refusals import other_kind
from viz_transformer.sentences import quote

Shapes = Mapping[str, tuple[int, ...]]
_NAMES = {torch.float32: ("F32", 4), torch.bool: ("BOOL", 1)}
Kind = tuple[torch.dtype, tuple[int, ...]]
_FLOAT_DTYPES = ("F16", "BF16", "F32", "F64")
_MAPPED = 32 * 2**20


def read_into(path: Path, state: Mapping[str, Tensor]) -> None:
    """Copy a safetensors file into tensors of these names and shapes, converting float16.

    Reads at most `_MAPPED` bytes plus a tensor per mapping, since mapped pages stay in memory. Raises CheckpointError
    for a file that is missing, damaged, of another kind, has other names or shapes, or holds NaN or infinity; some
    tensors may be changed by then.
    """
    shapes = {name: tuple(tensor.shape) for name, tensor in state.items()}
    left = list(state)
    while left:
        read = 0
        with _safetensors(path, shapes) as file:
            while left and read < _MAPPED:
                stored = file.get_tensor(name := left.pop(0))
                check_finite(f"{path}: {quote(name)}", stored)
                state[name].copy_(stored)
                read += stored.nbytes


def all_finite(tensor: Tensor) -> bool:
    """Whether no number is NaN or infinite; allocates nothing."""
    if not tensor.numel() or not tensor.is_floating_point():
        return True
    return all(math.isfinite(end) for end in tensor.aminmax())  # both are NaN if any number is


def check_finite(what: str, tensor: Tensor) -> None:
    """Raise CheckpointError, whose sentence begins with `what`, for a tensor with NaN or an infinite number."""
    if not all_finite(tensor):
        raise CheckpointError(
            f"{what} holds NaN or infinite numbers, so the model cannot run: use weights from before the training went"
            " wrong"
        )


def check_safetensors(path: Path) -> None:
    """Raise CheckpointError unless the file starts like safetensors, naming torch files and pickles as such."""
    head = files.read_bytes(path, 9)  # header length in eight bytes, then JSON
    if head[8:] == b"{":
        files.check_weights_header(path)
        return
    if head.startswith(b"PK\x03\x04"):
        raise CheckpointError(f"{path} is a torch file and not safetensors: {files.SAVE_AS_FOLDER}")
    if head.startswith(b"\x80"):
        raise CheckpointError(
            f"{path} is a pickle, which could run code, so it was not opened: save only the tensors again, with a"
            " recent torch and torch.save(model.state_dict(), FILE)"
        )
    if (other := other_kind(path)) is not None:
        raise CheckpointError(f"{path} {other}")
    raise CheckpointError(f"{path} is neither a safetensors nor a torch file, or damaged: {COPY_AGAIN}")


def check_stored(path: Path, expected: Shapes) -> None:
    """Raise CheckpointError unless a safetensors header lists floats of these names and shapes."""
    with _safetensors(path, expected):
        pass


@contextmanager
def _safetensors(path: Path, expected: Shapes) -> Iterator[Any]:
    """The open file, whose dtypes, names and shapes are checked."""
    check_safetensors(path)
    with intact(path), safe_open(path, framework="pt", device="cpu") as file:  # checks the header by the file's length
        views = {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118 (not a dict)
        for name, view in views.items():
            if view.get_dtype() not in _FLOAT_DTYPES:
                raise CheckpointError(
                    f"{path}: {quote(name)} has the type {view.get_dtype()}; weights are "
                    f"{', '.join(_FLOAT_DTYPES)}: convert the file"
                )
        _check_shapes(path, {name: tuple(view.get_shape()) for name, view in views.items()}, expected)
        yield file


def _check_shapes(path: Path, found: Shapes, expected: Shapes) -> None:
    """Raise CheckpointError unless both have the same names and shapes."""
    advice = f"the file is damaged or belongs to another config, so {COPY_AGAIN}"
    for name in sorted(expected.keys() - found.keys()):
        raise CheckpointError(f"{path} lacks the tensor {name!r} that the config asks for: {advice}")
    for name in sorted(found.keys() - expected.keys()):
        raise CheckpointError(f"{path} has a tensor {name!r:.80} that the config has no place for: {advice}")
    for name, shape in expected.items():
        if found[name] != shape:
            raise CheckpointError(
                f"{path}: {name!r} has the shape {list(found[name])}, the config asks for {list(shape)}: {advice}"
            )


def save_tensors(tensors: dict[str, Tensor], path: Path, metadata: dict[str, str] | None = None) -> None:
    """Write a safetensors file. Raises OSError, whose number safetensors states only in its sentence."""
    try:
        save_file(tensors, path, metadata)
    except SafetensorError as error:
        number = re.search(r"os error (\d+)", str(error))
        raise OSError(*((int(number[1]), os.strerror(int(number[1]))) if number else (str(error),))) from error


def write_tensors(
    path: Path, kinds: Mapping[str, Kind], make: Callable[[str], Tensor], metadata: Mapping[str, str]
) -> None:
    """Write tensors of these types and shapes, each asked for by its name in turn, and let go of. Raises ValueError if
    one has another shape than was said.

    safetensors itself writes what is there at once. Format: https://huggingface.co/docs/safetensors, its length, a
    header in JSON with the place of each tensor, the numbers without gaps.
    """
    header: dict[str, object] = {"__metadata__": dict(metadata)}
    end = 0
    for name, (dtype, shape) in kinds.items():
        called, size = _NAMES[dtype]
        begin, end = end, end + size * math.prod(shape)
        header[name] = {"dtype": called, "shape": shape, "data_offsets": (begin, end)}
    described = orjson.dumps(header)
    described += b" " * (-len(described) % 8)
    with path.open("wb") as file:
        file.write(len(described).to_bytes(8, "little"))
        file.write(described)
        for name, kind in kinds.items():
            value = make(name).detach().cpu().contiguous()
            if (value.dtype, tuple(value.shape)) != kind:
                raise ValueError(f"{name} is {value.dtype} {list(value.shape)}, and not {kind[0]} {list(kind[1])}")
            file.write(value.numpy().data.cast("B") if value.numel() else b"")
