"""Reads tensors from untrusted files: safetensors, and torch's zip files without running code. And writes files of
tensors that are made one after the other, because all together would take too much memory.

Names, shapes and sizes are checked before numbers are copied, and no file can make the reader take much more memory
than its own size.
"""

from __future__ import annotations

import math
import pickletools
import re
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson
import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from viz_transformer.checkpoint import files
from viz_transformer.checkpoint.files import COPY_AGAIN, CheckpointError
from viz_transformer.checkpoint.importers.refusals import other_kind
from viz_transformer.sentences import quote

Shapes = Mapping[str, tuple[int, ...]]
_NAMES = {torch.float32: ("F32", 4), torch.bool: ("BOOL", 1)}
Kind = tuple[torch.dtype, tuple[int, ...]]

FLOAT_DTYPES = ("F16", "BF16", "F32", "F64")
ZIP_MAGIC, PICKLE_MAGIC = b"PK\x03\x04", b"\x80"

# Names allowed in a pickle: containers, and tensors on plain storages. Narrower than torch's own list, which includes
# for example `bytearray`, with which a small file can request any amount of memory.
_HARMLESS = re.compile(
    r"collections (OrderedDict|Counter)|torch\._utils _rebuild_(tensor_v2|parameter)|torch\.storage UntypedStorage"
    r"|torch (\w+Storage|Size|device|bool|[a-z]+[0-9]+)|_codecs encode|(builtins|__builtin__) (set|complex)"
)
_MAPPED = 32 * 2**20
_SAVE_TENSORS = "save only the tensors again, with a recent torch and torch.save(model.state_dict(), FILE)"
_DISTRUST = "the file is damaged or malicious, so get it again from a source that you trust"


def read_tensors(path: Path, expected: Shapes | None = None) -> dict[str, Tensor]:
    """Tensors of a safetensors or torch file as stored, on the CPU; with `expected`, of these shapes.

    A torch file's nested dictionaries and lists are flattened, names joined by dots; other values are dropped. Raises
    CheckpointError for a file that is missing, damaged, of another kind, would run code, claims more numbers than it
    stores, has unexpected names or shapes, or holds NaN or infinity.
    """
    read = _read_torch if files.read_bytes(path, len(ZIP_MAGIC)) == ZIP_MAGIC else _read_safetensors
    tensors = read(path, expected)
    for name, tensor in tensors.items():
        _check_finite(path, name, tensor)
    return tensors


def read_into(path: Path, state: Mapping[str, Tensor]) -> None:
    """Copy a safetensors file into tensors of these names and shapes, converting float16.

    Reads at most `_MAPPED` bytes plus a tensor per mapping, since mapped pages stay in memory. Raises CheckpointError
    as `read_tensors` does; some tensors may be changed by then.
    """
    shapes = {name: tuple(tensor.shape) for name, tensor in state.items()}
    left = list(state)
    while left:
        with _safetensors(path, shapes) as (file, _):
            left = _some_read(path, file, state, left)


def _some_read(path: Path, file: Any, state: Mapping[str, Tensor], names: list[str]) -> list[str]:
    """Copy the first of these tensors, up to `_MAPPED` bytes, and return the remaining names."""
    read = 0
    for number, name in enumerate(names):
        if read >= _MAPPED:
            return names[number:]
        stored = file.get_tensor(name)
        _check_finite(path, name, stored)
        state[name].copy_(stored)
        read += stored.nbytes
    return []


def all_finite(tensor: Tensor) -> bool:
    """Whether no number is NaN or infinite; allocates nothing."""
    if not tensor.numel() or not tensor.is_floating_point():
        return True
    return all(math.isfinite(end) for end in tensor.aminmax())  # both are NaN if any number is


def _check_finite(path: Path, name: str, tensor: Tensor) -> None:
    if not all_finite(tensor):
        raise CheckpointError(
            f"{path}: {quote(name)} holds NaN or infinite numbers, so the model cannot run: "
            "use weights from before the training went wrong"
        )


def check_safetensors(path: Path) -> None:
    """Raise CheckpointError unless the file starts like safetensors, naming torch files and pickles as such."""
    head = files.read_bytes(path, 9)  # header length in eight bytes, then JSON
    if head[8:] == b"{":
        files.check_weights_header(path)
        return
    if head.startswith(ZIP_MAGIC):
        raise CheckpointError(f"{path} is a torch file and not safetensors: {files.SAVE_AS_FOLDER}")
    if head.startswith(PICKLE_MAGIC):
        raise CheckpointError(f"{path} is a pickle, which could run code, so it was not opened: {_SAVE_TENSORS}")
    if (other := other_kind(path)) is not None:
        raise CheckpointError(f"{path} {other}")
    raise CheckpointError(f"{path} is neither a safetensors nor a torch file, or damaged: {COPY_AGAIN}")


def check_stored(path: Path, expected: Shapes) -> None:
    """Raise CheckpointError unless a safetensors header lists floats of these names and shapes."""
    with _safetensors(path, expected):
        pass


def _read_safetensors(path: Path, expected: Shapes | None) -> dict[str, Tensor]:
    with _safetensors(path, expected) as (file, names):
        return {name: file.get_tensor(name) for name in names}


@contextmanager
def _safetensors(path: Path, expected: Shapes | None) -> Iterator[tuple[Any, tuple[str, ...]]]:
    """The open file and its tensor names, with dtypes and shapes checked."""
    check_safetensors(path)
    try:
        with safe_open(path, framework="pt", device="cpu") as file:  # checks the header against the file's length
            views = {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118 (not a dict)
            for name, view in views.items():
                if view.get_dtype() not in FLOAT_DTYPES:
                    raise CheckpointError(
                        f"{path}: {quote(name)} has the type {view.get_dtype()}; weights are "
                        f"{', '.join(FLOAT_DTYPES)}: convert the file"
                    )
            _check_shapes(path, {name: tuple(view.get_shape()) for name, view in views.items()}, expected)
            yield file, tuple(views)
    except (SafetensorError, OSError, RuntimeError) as error:  # RuntimeError: torch maps the file
        raise CheckpointError(f"{path} is cut off or damaged: {COPY_AGAIN}") from error


def _read_torch(path: Path, expected: Shapes | None) -> dict[str, Tensor]:
    _check_pickle(path)
    # First on the meta device, without data: shapes and storage sizes are only numbers. Then mapped, not read: a
    # storage is a piece of the file, so a shape that claims more fails in torch without an allocation.
    _check_views(path, _load_torch(path, "meta"), expected)
    return {name: tensor.clone() for name, tensor in _load_torch(path, "cpu").items()}


def _check_pickle(path: Path) -> None:
    """Raise CheckpointError unless the file is a plain zip whose pickle names only tensors and containers."""
    try:
        with zipfile.ZipFile(path) as archive:
            if any(entry.compress_type != zipfile.ZIP_STORED for entry in archive.infolist()):
                raise CheckpointError(f"{path} is compressed, as files of tensors are not: {_SAVE_TENSORS}")
            pickles = [name for name in archive.namelist() if name.endswith("data.pkl")]
            if len(pickles) != 1:
                raise CheckpointError(f"{path} is a zip file, but not one that torch.save wrote: {_SAVE_TENSORS}")
            if archive.testzip() is not None:
                raise zipfile.BadZipFile
            names = {str(arg) for op, arg, _ in pickletools.genops(archive.read(pickles[0])) if op.name == "GLOBAL"}
    except (zipfile.BadZipFile, ValueError, OSError) as error:
        if isinstance(error, CheckpointError):
            raise
        raise CheckpointError(f"{path} is cut off or damaged: {COPY_AGAIN}") from error
    for name in sorted(names):
        if not _HARMLESS.fullmatch(name):
            what = name.replace(" ", ".")
            raise CheckpointError(
                f"{path} needs the Python object {what!r:.80} to be opened, which could run code, so it was not "
                f"opened: {_SAVE_TENSORS}"
            )


def _load_torch(path: Path, device: str) -> dict[str, Tensor]:
    """Tensors by name, in the file's order; each container is visited once."""
    try:
        content = torch.load(str(path), map_location=device, weights_only=True, mmap=True)
    except Exception as error:  # torch raises nearly any kind for a damaged file
        raise CheckpointError(f"{path} cannot be read as tensors: {_DISTRUST}") from error
    found: dict[str, Tensor] = {}
    seen: set[int] = set()
    todo: list[tuple[str, Any]] = [("", content)]
    while todo:
        name, value = todo.pop()
        if isinstance(value, Tensor):
            found[name] = value.detach()
        elif isinstance(value, (dict, list, tuple)) and id(value) not in seen:
            seen.add(id(value))
            items = value.items() if isinstance(value, dict) else enumerate(value)
            todo += reversed([(f"{name}.{key}" if name else str(key), item) for key, item in items])
    return found


def _check_views(path: Path, tensors: Mapping[str, Tensor], expected: Shapes | None) -> None:
    size = path.stat().st_size
    for name, tensor in tensors.items():
        held = tensor.untyped_storage().nbytes() // tensor.itemsize
        steps = zip(tensor.shape, tensor.stride(), strict=True)
        last = tensor.storage_offset() + sum((length - 1) * step for length, step in steps)
        if tensor.numel() > held or (tensor.numel() and last >= held) or held * tensor.itemsize > size:
            raise CheckpointError(
                f"{path}: {quote(name)} claims {tensor.numel():,} numbers, but the file does not store so many: "
                f"{_DISTRUST}"
            )
    if (total := sum(tensor.nbytes for tensor in tensors.values())) > 4 * size:  # tied tensors are stored once
        raise CheckpointError(f"{path} has {size:,} bytes, but its tensors claim {total:,}: {_DISTRUST}")
    _check_shapes(path, {name: tuple(tensor.shape) for name, tensor in tensors.items()}, expected)


def _check_shapes(path: Path, found: Shapes, expected: Shapes | None) -> None:
    """Raise CheckpointError unless both have the same names and shapes."""
    if expected is None or found == expected:
        return
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
