"""Reads any file of trained tensors: its content by the names it uses, before numbers are copied.

Formats: safetensors, torch's zip files (`.pt .pth .ckpt .bin`), and shards of either with an index. No code in a file
is run.
"""

from __future__ import annotations

import math
import os
import shlex
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from io import FileIO
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from torch import Tensor

from viz_transformer.checkpoint import files
from viz_transformer.checkpoint.files import COPY_AGAIN, CheckpointError
from viz_transformer.checkpoint.importers.refusals import GGUF, check_kind, of_type
from viz_transformer.checkpoint.importers.safe_pickle import MORE_TENSORS, Call, Name, Persistent, read_pickle
from viz_transformer.checkpoint.saved_traces import is_trace, read_recording
from viz_transformer.checkpoint.untrusted import LONGEST_HEADER, MAX_TENSORS, check_count
from viz_transformer.sentences import quote

MAX_BYTES = 8 * 2**30
"""Limit for all files of one model together."""
MAX_SHARDS = 1000
"""Limit for the files in an index."""
_DISTRUST = "the file is damaged or malicious, so get it again from a source that you trust"
PICKLED_MODULE = (
    "is a whole pickled module, which needs its own code to be opened: where that is, save its numbers alone, with"
    " torch.save(model.state_dict(), FILE)"
)
_DTYPES = {
    "FloatStorage": torch.float32,
    "DoubleStorage": torch.float64,
    "HalfStorage": torch.float16,
    "BFloat16Storage": torch.bfloat16,
    "LongStorage": torch.int64,
    "IntStorage": torch.int32,
    "ShortStorage": torch.int16,
    "CharStorage": torch.int8,
    "ByteStorage": torch.uint8,
    "BoolStorage": torch.bool,
    "ComplexFloatStorage": torch.complex64,
}
_SAFE_DTYPES = {
    "F32": torch.float32,
    "F64": torch.float64,
    "F16": torch.float16,
    "BF16": torch.bfloat16,
    "I64": torch.int64,
    "I32": torch.int32,
    "I16": torch.int16,
    "I8": torch.int8,
    "U8": torch.uint8,
    "BOOL": torch.bool,
}


@dataclass(frozen=True, eq=False)
class Stored:
    """A tensor in a file: shape and dtype now, numbers on demand."""

    shape: tuple[int, ...]
    dtype: torch.dtype
    place: tuple[Any, ...]  # location of the numbers; equal for tied tensors
    read: Callable[[], Tensor] = field(repr=False)  # raises CheckpointError if the file is damaged there

    @property
    def bytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize


@dataclass(frozen=True, eq=False)
class Found:
    """Content of a file: tensors and plain values, by the path of keys that leads to them."""

    path: Path
    tensors: Mapping[tuple[str, ...], Stored]
    values: Mapping[tuple[str, ...], Any]
    files: tuple[Path, ...] = ()


def read_file(path: str | Path) -> Found:
    """Tensors in a file, in an index of shards (`*.index.json`), or in a folder with one of these.

    Raises CheckpointError with one sentence if there are no plausible tensors, or if they claim more than is stored.
    """
    path = Path(path)
    if os.path.isdir(path):  # os.path: also False for an invalid file name
        path = _in_folder(path)
    elif not os.path.isfile(path):
        raise CheckpointError(f"there is no file {quote(str(path), 300)}: give the path of a file of weights")
    found = _read_index(path) if path.name.endswith(".index.json") else _read_one(path)
    if not found.tensors:
        raise CheckpointError(f"{path} holds no tensors: give the file that the training wrote its weights into")
    places = {stored.place: stored.bytes for stored in found.tensors.values()}  # tied tensors are stored once
    claimed, size = sum(places.values()), sum(part.stat().st_size for part in found.files)
    if claimed > size:
        raise CheckpointError(f"{path} has {size:,} bytes, but its tensors claim {claimed:,}: {_DISTRUST}")
    return found


def _in_folder(folder: Path) -> Path:
    """The only weights file, or the only index, in a folder."""
    with files.reading(folder):
        names = sorted(entry.name for entry in folder.iterdir() if entry.is_file())
    for ending in (".index.json", ".safetensors", (".pt", ".pth", ".ckpt", ".bin")):
        fitting = [name for name in names if name.endswith(ending)]
        if len(fitting) == 1:
            return folder / fitting[0]
        if fitting:
            raise CheckpointError(f"{folder} has several files of weights, such as {fitting[0]}: give one of them")
    if others := [name for name in names if name.endswith(".gguf")]:
        raise CheckpointError(f"{folder} has its weights only as {others[0]}, which {GGUF}")
    raise CheckpointError(
        f"{folder} has no file of weights (.safetensors, .pt, .pth, .ckpt, .bin): give another folder"
    )


def _read_index(path: Path) -> Found:
    """The shards named by an index, all next to it; each holds the tensors that the index lists."""
    where = files.read_index(path)
    check_number(path, len(where))
    if len(names := sorted(set(where.values()))) > MAX_SHARDS:
        raise CheckpointError(f"{path} names {len(names):,} files, at most {MAX_SHARDS:,} are read: {COPY_AGAIN}")
    shards: dict[str, Found] = {}
    for name in names:
        if Path(name).name != name or name in (".", ".."):
            raise CheckpointError(f"{path} names the file {quote(name)}, which is not next to it: {_DISTRUST}")
        shard = path.parent / name
        if shard.is_symlink() and shard.resolve().parent != path.parent.resolve():
            raise CheckpointError(f"{shard} is a link to another folder: copy the file itself beside {path.name}")
        if not shard.is_file():
            raise CheckpointError(f"{path} names the file {name}, which is missing: {COPY_AGAIN}")
        shards[name] = _read_one(shard)
        check_number(path, sum(len(each.tensors) for each in shards.values()))
    held = {name: {".".join(keys): stored for keys, stored in shard.tensors.items()} for name, shard in shards.items()}
    tensors: dict[tuple[str, ...], Stored] = {}
    for tensor, name in where.items():
        if tensor not in held[name]:
            raise CheckpointError(
                f"{path.parent / name} does not hold the tensor {quote(tensor)} that {path.name} says: "
                f"shards of two models are mixed, or one is missing, so {COPY_AGAIN}"
            )
        tensors[(tensor,)] = held[name][tensor]
    extra = sum(len(shard.tensors) for shard in shards.values()) - len(tensors)
    if extra:
        raise CheckpointError(f"the files of {path} hold {extra} tensors that it does not name: {COPY_AGAIN}")
    return Found(path, tensors, {}, tuple(path.parent / name for name in shards))


def check_number(path: Path, tensors: int) -> None:
    """Raise CheckpointError for a file, or an index's files, with too many tensors."""
    with files.refusing_too_much(path):
        check_count(tensors)


def _read_one(path: Path) -> Found:
    kind = check_kind(path)
    if path.stat().st_size > MAX_BYTES:
        raise CheckpointError(f"{path} has {path.stat().st_size:,} bytes, at most {MAX_BYTES:,} are read")
    return _read_torch(path) if kind == "torch" else _read_safetensors(path)


def _read_safetensors(path: Path) -> Found:
    files.check_tensors_header(path)
    if read_recording(path) is not None:
        raise CheckpointError(
            f"{path} is the recording of a watched module, and no file of weights:"
            f" `viz-transformer app --checkpoints {shlex.quote(str(path))}` shows it"
        )
    if is_trace(path):
        raise CheckpointError(f"{path} is the saved trace of one run, and no file of weights: open it on Tensors")
    tensors: dict[tuple[str, ...], Stored] = {}
    with files.intact(path), safe_open(path, framework="pt", device="cpu") as file:
        for name in file.keys():  # noqa: SIM118 (not a dict)
            view = file.get_slice(name)
            dtype = _SAFE_DTYPES.get(view.get_dtype())
            if dtype is None:
                raise CheckpointError(f"{path}: {quote(name)} {of_type(view.get_dtype(), name)}")
            shape = tuple(view.get_shape())
            tensors[(name,)] = Stored(shape, dtype, (path, name), lambda name=name: _tensor_of(path, name))  # type: ignore[misc]
    return Found(path, tensors, {}, (path,))


def _tensor_of(path: Path, name: str) -> Tensor:
    with files.intact(path), safe_open(path, framework="pt", device="cpu") as file:
        tensor: Tensor = file.get_tensor(name)
        return tensor


# --- torch's zip files


class _Directory(FileIO):
    """A zip file whose directory, read at once, is refused if it would take long."""

    read_whole = False

    def read(self, size: int | None = -1, /) -> bytes:
        left = os.fstat(self.fileno()).st_size - self.tell()
        most = left if size is None or size < 0 else min(size, left)
        if most > LONGEST_HEADER and not self.read_whole:
            raise CheckpointError(
                f"{self.name} is not read: the directory of its parts has more than {LONGEST_HEADER:,} bytes, as files"
                " of one model have not"
            )
        return super().read(size) or b""


@dataclass(frozen=True)
class _Record:
    """Location of a storage's numbers in the file."""

    start: int
    length: int


def _read_torch(path: Path) -> Found:
    damage = (zipfile.BadZipFile, ValueError, OSError, EOFError, NotImplementedError)
    with files.intact(path, damage), _Directory(path) as file, zipfile.ZipFile(file) as archive:
        file.read_whole = True
        records, content, order = _records(path, archive)
    if order == b"big":
        raise CheckpointError(f"{path} was written on a machine of another byte order: save it there as safetensors")
    with files.explaining(f"{path} cannot be read (", f"): {_DISTRUST}"), files.refusing_too_much(path):
        root = read_pickle(content)
    if isinstance(root, Call) and isinstance(root.state, dict) and "_modules" in root.state:
        raise CheckpointError(f"{path} {PICKLED_MODULE}")
    tensors: dict[tuple[str, ...], Stored] = {}
    values: dict[tuple[str, ...], Any] = {}
    for keys, value in _walk(root):
        stored = _stored(path, keys, value, records)
        if stored is not None:
            tensors[keys] = stored
            if len(tensors) > MAX_TENSORS:
                raise CheckpointError(f"{path} is not read: {MORE_TENSORS}")
        elif isinstance(value, str | int | float | bool) or value is None:
            values[keys] = value
    return Found(path, tensors, values, (path,))


def _records(path: Path, archive: zipfile.ZipFile) -> tuple[dict[str, _Record], bytes, bytes]:
    """Locations of the storages, the pickle, and the byte order."""
    entries = archive.infolist()
    check_number(path, sum("/data/" in entry.filename for entry in entries))
    size = path.stat().st_size
    if any(entry.compress_type != zipfile.ZIP_STORED for entry in entries):
        raise CheckpointError(
            f"{path} is compressed, as files of tensors are not: unpack it, and give the file that was packed"
        )
    if sum(entry.file_size for entry in entries) > size:
        raise CheckpointError(f"{path} has {size:,} bytes, but its parts claim more: {_DISTRUST}")
    pickles = [entry for entry in entries if entry.filename.split("/")[-1] == "data.pkl"]
    if len(pickles) != 1:
        raise CheckpointError(f"{path} is a zip file, but not one that torch.save wrote: give the file of the weights")
    folder = pickles[0].filename.removesuffix("data.pkl")
    if any(entry.filename.startswith(f"{folder}code/") for entry in entries):
        raise CheckpointError(
            f"{path} is a TorchScript program, which would have to be run: save its numbers alone, with "
            "torch.save(torch.jit.load(FILE).state_dict(), OTHER)"
        )
    if pickles[0].file_size > 64 * 2**20:
        raise CheckpointError(f"{path} describes its tensors in {pickles[0].file_size:,} bytes: {_DISTRUST}")
    with path.open("rb") as file:
        records = {
            entry.filename.removeprefix(f"{folder}data/"): _record(file, entry, size)
            for entry in entries
            if entry.filename.startswith(f"{folder}data/")
        }
    order = next((entry for entry in entries if entry.filename == f"{folder}byteorder"), None)
    return records, archive.read(pickles[0]), b"" if order is None else archive.read(order)[:8]


def _record(file: Any, entry: zipfile.ZipInfo, size: int) -> _Record:
    """Location of an entry's bytes, after its local header, whose two lengths may differ from the directory's."""
    file.seek(entry.header_offset)
    header = file.read(30)
    if header[:4] != b"PK\x03\x04":
        raise zipfile.BadZipFile
    start = entry.header_offset + 30 + int.from_bytes(header[26:28], "little") + int.from_bytes(header[28:30], "little")
    if start + entry.file_size > size:
        raise zipfile.BadZipFile
    return _Record(start, entry.file_size)


def _walk(root: Any) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Everything in nested dictionaries and lists, by keys; each container is visited once."""
    seen: set[int] = set()
    todo: list[tuple[tuple[str, ...], Any]] = [((), root)]
    while todo:
        keys, value = todo.pop()
        inside = _contents(value)
        if not isinstance(inside, dict | list | tuple):
            yield keys, value
        elif id(inside) not in seen and len(keys) < 32:
            seen.add(id(inside))
            items = list(inside.items() if isinstance(inside, dict) else enumerate(inside))
            todo += reversed([((*keys, str(key)), item) for key, item in items if isinstance(key, str | int)])


def _contents(value: Any) -> Any:
    """Content of a dictionary, list or plain-value object; anything else unchanged."""
    if not isinstance(value, Call) or _is_tensor(value):
        return value
    if isinstance(value.items, dict | list):
        return value.items
    return value.state if isinstance(value.state, dict) else value  # such as a Namespace of settings


_REBUILDERS = ("torch._utils._rebuild_tensor_v2", "torch._utils._rebuild_tensor_v3", "torch._utils._rebuild_tensor")
_PARAMETERS = ("torch._utils._rebuild_parameter", "torch._utils._rebuild_parameter_with_state")
_OTHERS = {
    "torch._utils._rebuild_qtensor": "quantised: give the weights as they were before that",
    "torch._utils._rebuild_sparse_tensor": "sparse: save it dense, with tensor.to_dense()",
    "torch._utils._rebuild_meta_tensor_no_storage": "without numbers: save it from a model whose weights are there",
}


def _is_tensor(value: Call) -> bool:
    name = value.function.full if isinstance(value.function, Name) else ""
    return name in _REBUILDERS or name in _PARAMETERS or name in _OTHERS or name.endswith("_rebuild_from_type_v2")


def _stored(path: Path, keys: tuple[str, ...], value: Any, records: Mapping[str, _Record]) -> Stored | None:
    """The tensor that a value represents, or None."""
    for _ in range(4):  # a parameter wraps a tensor's call
        if not isinstance(value, Call) or not isinstance(value.function, Name):
            return None
        name, arguments = value.function.full, value.arguments
        what = f"{path}: {quote('.'.join(keys))}"
        if name in _OTHERS:
            raise CheckpointError(f"{what} is {_OTHERS[name]}")
        if name in _PARAMETERS and isinstance(arguments, tuple) and arguments:
            value = arguments[0]
        elif name.endswith("_rebuild_from_type_v2") and isinstance(arguments, tuple) and len(arguments) == 4:
            value = Call(arguments[0], arguments[2])
        elif name in _REBUILDERS:
            return _placed(path, what, arguments, records)
        else:
            return None
    return None


def _placed(path: Path, what: str, arguments: Any, records: Mapping[str, _Record]) -> Stored:
    """The tensor with these arguments, whose shape and strides must stay within its storage."""
    damaged = CheckpointError(f"{what} is damaged: {_DISTRUST}")
    if not isinstance(arguments, tuple) or len(arguments) < 4 or not isinstance(arguments[0], Persistent):
        raise damaged
    storage, offset, shape, steps = arguments[0].key, *arguments[1:4]
    whole = isinstance(shape, tuple) and isinstance(steps, tuple) and len(shape) == len(steps) <= 16
    numbers = (offset, *shape, *steps) if whole else (None,)
    if not all(type(number) is int and 0 <= number < 2**62 for number in numbers):
        raise damaged
    if (
        not isinstance(storage, tuple)
        or len(storage) != 5
        or storage[0] != "storage"
        or not isinstance(storage[1], Name)
    ):
        raise damaged
    kind = storage[1].full.removeprefix("torch.").removeprefix("storage.")
    of_call = arguments[6] if len(arguments) > 6 and isinstance(arguments[6], Name) else None  # the newer form
    dtype = getattr(torch, of_call.full.removeprefix("torch."), None) if of_call is not None else _DTYPES.get(kind)
    if not isinstance(dtype, torch.dtype):
        raise CheckpointError(f"{what} has numbers of the type {quote(kind)}, which weights do not have: {_DISTRUST}")
    record = records.get(str(storage[2]))
    if record is None:
        raise CheckpointError(f"{what} has no numbers in the file: it is cut off or damaged, so {COPY_AGAIN}")
    count = math.prod(shape)
    last = offset + sum((length - 1) * step for length, step in zip(shape, steps, strict=True))
    held = record.length // dtype.itemsize
    if count and (count > held or last >= held):
        raise CheckpointError(f"{what} claims {count:,} numbers, but the file does not store so many: {_DISTRUST}")

    def read() -> Tensor:
        if not count:
            return torch.empty(shape, dtype=dtype)
        numbers = _bytes_of(path, what, record.start + offset * dtype.itemsize, (last - offset + 1) * dtype.itemsize)
        return torch.frombuffer(numbers, dtype=dtype).as_strided(shape, steps).contiguous()

    return Stored(shape, dtype, (path, record, offset, shape, steps), read)


def _bytes_of(path: Path, what: str, start: int, length: int) -> bytearray:
    """These bytes of a file: only a tensor's own are read, however long the storage is that it is a view of."""
    held = bytearray(length)
    with files.reading(path), path.open("rb") as file:
        file.seek(start)
        if file.readinto(held) != length:
            raise CheckpointError(f"{what} is cut off: {COPY_AGAIN}")
    return held
