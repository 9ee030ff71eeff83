"""An owner's sample: ids that a model was given where it was trained, and its logits there.

The file is untrusted: `.npz` from numpy.savez, or JSON. Sizes are checked before numbers are read, and pickles are
refused.
"""

from __future__ import annotations

import math
import struct
import tokenize
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from viz_transformer.checkpoint import files
from viz_transformer.checkpoint.untrusted import regular_size
from viz_transformer.model.hooked_model import ModelSpec
from viz_transformer.sentences import quote

Array = NDArray[Any]

MAX_BYTES = 256 * 2**20
MAX_JSON_BYTES, MAX_JSON_VALUES = 32 * 2**20, 2_000_000
LONGEST_DIRECTORY = 2**16
"""Maximum bytes of a zip directory: the reader takes ten times as much memory."""
MAX_TEXTS = 64
IDS = ("source", "target")
SAVE_AGAIN = "write it again with the lines that `viz-transformer import --sample-script` prints"


class SampleError(ValueError):
    """A file that is not a sample, or of another model: one sentence with its name and what to do."""


@dataclass(frozen=True, eq=False)
class SampleText:
    """One text of a sample: the ids that each stack read (None: no such stack), and logits [R, V].

    R is the number of positions, of which the first are the text's, or 1 for the last position only.
    """

    source: tuple[int, ...] | None
    target: tuple[int, ...] | None
    logits: Array


@dataclass(frozen=True, eq=False)
class Sample:
    """Content of a sample file: ids [N, S] and [N, T] by side, and logits [N, R, V]."""

    path: Path
    ids: Mapping[str, Array]
    logits: Array

    def texts(self, spec: ModelSpec) -> list[SampleText]:
        """The texts as this model reads them. Raises SampleError for ids or logits that do not fit it."""
        sides = ["source"] * spec.has_encoder + ["target"] * spec.has_decoder
        given = dict(self.ids)
        if len(sides) == len(given) == 1:
            given = {sides[0]: next(iter(given.values()))}
        if set(given) != set(sides):
            raise SampleError(
                f"{self.path} holds ids of {' and '.join(self.ids)}, but a model of kind {spec.kind} reads "
                f"{' and '.join(sides)}: {SAVE_AGAIN}"
            )
        for side, ids in given.items():
            self._check_ids(spec, side, ids)
        vocabulary, found = spec.target_vocab_size, self.logits.shape
        if vocabulary != found[2]:
            raise SampleError(
                f"{self.path} has {found[2]:,} logits at each position, the model's vocabulary {vocabulary}"
            )
        length = given[sides[-1]].shape[1]
        if spec.output == "class" and found[1] != 1:
            raise SampleError(f"{self.path} has logits at {found[1]:,} positions, this model gives one row to a text")
        if found[1] not in (1, length, spec.pad_to):
            raise SampleError(f"{self.path} has logits at {found[1]:,} positions for {length:,} ids: save those of all")
        rows = {side: [tuple(map(int, row)) for row in ids] for side, ids in given.items()}
        nothing = [None] * len(self.logits)
        texts = zip(rows.get("source", nothing), rows.get("target", nothing), self.logits, strict=True)
        return [SampleText(source, target, logits) for source, target, logits in texts]

    def _check_ids(self, spec: ModelSpec, side: str, ids: Array) -> None:
        size, most = getattr(spec, f"{side}_vocab_size"), getattr(spec, f"max_{side}")
        if ids.shape[1] > most:
            raise SampleError(f"{self.path} has {ids.shape[1]:,} ids of the {side}, the model reads at most {most:,}")
        if not (ids.min() >= 0 and ids.max() < size):
            wrong = ids.min() if ids.min() < 0 else ids.max()
            raise SampleError(f"{self.path}: {wrong} is not an id of the model's {side} vocabulary of {size:,} tokens")


def read_sample(path: str | Path) -> Sample:
    """Read a sample file. Raises ValueError with one sentence for anything else."""
    path = Path(path)
    size = regular_size(path)
    if size > MAX_BYTES:
        raise SampleError(f"{path} has {size:,} bytes, samples are read up to {MAX_BYTES:,}: save fewer texts")
    zipped = files.read_bytes(path, 4) == b"PK\x03\x04"
    held = _read_npz(path, size) if zipped else _read_json(path)
    if "logits" not in held or not set(IDS) & set(held):
        raise SampleError(f"{path} lacks {'logits' if 'logits' not in held else 'source or target'}: {SAVE_AGAIN}")
    return _sample(path, held)


def _sample(path: Path, held: Mapping[str, Array]) -> Sample:
    """The arrays with a text axis, checked against each other."""
    logits = held["logits"]
    ids = {side: held[side] for side in IDS if side in held}
    for side, array in ids.items():
        if array.dtype.kind not in "iu" or array.ndim not in (1, 2) or not array.size:
            raise SampleError(f"{path}: {side} is not a list of ids, whole numbers: {SAVE_AGAIN}")
    if logits.dtype.kind not in "iuf" or logits.ndim not in (1, 2, 3) or not logits.size:
        raise SampleError(f"{path}: logits are not numbers of shape [positions, vocabulary]: {SAVE_AGAIN}")
    if not np.isfinite(logits).all():
        raise SampleError(
            f"{path} has logits that are NaN or infinite: save a text without padding, before the softmax"
        )
    read = list(ids.values())[-1]
    if read.ndim == 2 and read.shape[1] == 1 < read.shape[0] and logits.ndim == 3 and logits.shape[1] == 1:
        logits = logits.swapaxes(0, 1)  # one text, positions first
        ids = {side: array.T if array.ndim == 2 else array for side, array in ids.items()}
    ids = {side: np.atleast_2d(array) for side, array in ids.items()}
    if logits.ndim == 1 or (logits.ndim == 2 and len(next(iter(ids.values()))) > 1):
        logits = np.atleast_2d(logits)[:, None]  # last position only
    logits = logits.reshape(-1, *logits.shape[-2:])
    counts = {len(logits), *map(len, ids.values())}
    if len(counts) != 1:
        raise SampleError(f"{path} holds logits of {len(logits):,} texts, but ids of {len(next(iter(ids.values()))):,}")
    if len(logits) > MAX_TEXTS:
        raise SampleError(f"{path} holds {len(logits):,} texts, at most {MAX_TEXTS} are read: save fewer")
    return Sample(path, ids, logits)


def _read_json(path: Path) -> dict[str, Array]:
    content = files.read_json(path, MAX_JSON_BYTES, MAX_JSON_VALUES)
    if not isinstance(content, dict):
        raise SampleError(f"{path} is no JSON object with source, target and logits: {SAVE_AGAIN}")
    found = {}
    for name in (*IDS, "logits"):
        if content.get(name) is None:
            continue
        try:
            found[name] = np.array(content[name])
        except (ValueError, OverflowError):
            raise SampleError(f"{path}: the lists of {name} are not equally long: {SAVE_AGAIN}") from None
    return found


def _read_npz(path: Path, size: int) -> dict[str, Array]:
    try:
        _check_directory(path, size)
        with zipfile.ZipFile(path) as archive:
            entries = {entry.filename: entry for entry in archive.infolist()}
            held = {name: entries[f"{name}.npy"] for name in (*IDS, "logits") if f"{name}.npy" in entries}
            return {name: _array(path, name, archive, entry, size) for name, entry in held.items()}
    except SampleError:
        raise
    except (zipfile.BadZipFile, OSError, EOFError, RuntimeError, ValueError, OverflowError, struct.error) as error:
        raise SampleError(f"{path} is cut off or damaged: {SAVE_AGAIN}") from error


def _check_directory(path: Path, size: int) -> None:
    """Raise BadZipFile unless the file ends like numpy's: a short directory without a comment."""
    with path.open("rb") as file:
        file.seek(max(0, size - 42))
        end = file.read()
    record = end[-22:]
    if record[:4] != b"PK\x05\x06" or end[:4] == b"PK\x06\x07":
        raise zipfile.BadZipFile
    if int.from_bytes(record[12:16], "little") > LONGEST_DIRECTORY:
        raise zipfile.BadZipFile


def _array(path: Path, name: str, archive: zipfile.ZipFile, entry: zipfile.ZipInfo, size: int) -> Array:
    """One array, after checking its header against its size."""
    if entry.compress_type != zipfile.ZIP_STORED:
        raise SampleError(f"{path} is compressed: write it with numpy.savez instead of numpy.savez_compressed")
    if entry.file_size > size:
        raise SampleError(f"{path} has {size:,} bytes, but {name} claims {entry.file_size:,}: {SAVE_AGAIN}")
    with archive.open(entry) as file:
        shape, by_column, dtype = _header(path, name, file)
        left = entry.file_size - file.tell()
        if dtype.hasobject:
            raise SampleError(f"{path}: {name} is a pickle, which could run code, so it was not opened: {SAVE_AGAIN}")
        if dtype.kind not in "iuf":
            raise SampleError(f"{path}: {name} has the type {quote(str(dtype))} instead of numbers: {SAVE_AGAIN}")
        if min(shape, default=0) < 0 or math.prod(shape) * dtype.itemsize != left:
            raise SampleError(
                f"{path}: {name} says that its shape is {quote(shape)}, but has {left:,} bytes: {SAVE_AGAIN}"
            )
        return np.frombuffer(file.read(), dtype).reshape(shape, order="F" if by_column else "C")


def _header(path: Path, name: str, file: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    try:
        version = npy.read_magic(file)
        if version == (1, 0):
            return npy.read_array_header_1_0(file)
        if version == (2, 0):
            return npy.read_array_header_2_0(file)
    except (ValueError, SyntaxError, TypeError, tokenize.TokenError, RecursionError, MemoryError):
        pass
    raise SampleError(f"{path}: {name} is not an array as numpy.savez writes it: {SAVE_AGAIN}")
