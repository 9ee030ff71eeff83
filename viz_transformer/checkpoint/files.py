"""Reads the files of a checkpoint folder, which are untrusted: sizes first, then content."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta
from safetensors import SafetensorError

from viz_transformer import declared
from viz_transformer.checkpoint.untrusted import MAX_VALUES, TooMuch, check_header, json_values
from viz_transformer.sentences import put_on_one_line, quote

FORMAT_VERSION = 1
CONFIG, CARD, WEIGHTS = "config.json", "card.json", "model.safetensors"
VOCABULARIES = {"source": "source_vocab.json", "target": "target_vocab.json"}
HISTORY, EXAMPLES, SNAPSHOTS = "history.csv", "examples.tsv", "snapshots"
ALL_FILES = frozenset({CONFIG, CARD, WEIGHTS, *VOCABULARIES.values(), HISTORY, EXAMPLES, SNAPSHOTS})

MAX_TEXT_BYTES = 16 * 2**20
"""More than any vocabulary, history or example list needs, and small enough to hold in memory."""
MAX_OBJECT_BYTES, MAX_OBJECT_VALUES = 4 * 2**20, 100_000
"""Limits for a config or card, which stay in memory."""
MAX_WEIGHTS_BYTES = 2 * 2**30
"""Limit for one weights file: about what can be hashed in five seconds."""
MAX_ROWS = 100_000
"""Limit for a history or example list."""

COPY_AGAIN = "copy it again from where it came"
TOO_LARGE = "the weights are finite, but so large that what is computed with them is not"
POINTER = b"version https://git-lfs"
FETCH = "is a pointer to a file that was not downloaded: fetch it with `git lfs pull`"
SAVE_AS_FOLDER = "save its tensors as a checkpoint folder in Python, with `viz_transformer.save_checkpoint`"


Kinds = type[Exception] | tuple[type[Exception], ...]
"""The types of errors that an `except` clause names."""


class CheckpointError(ValueError):
    """A checkpoint that cannot be opened or saved: one sentence with the file and what to do."""


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn system errors about this path into CheckpointError."""
    try:
        yield
    except FileNotFoundError:
        raise CheckpointError(f"{path} is missing: {COPY_AGAIN}") from None
    except OSError as error:
        raise CheckpointError(f"{path} cannot be read ({error.strerror or error}): check its permissions") from None


@contextmanager
def explaining(before: str, after: str = "", kinds: Kinds = ValueError) -> Iterator[None]:
    """Turn an error into a CheckpointError that says it on one line between these texts; a CheckpointError stays."""
    try:
        yield
    except CheckpointError:
        raise
    except kinds as error:
        raise CheckpointError(f"{before}{put_error_in_words(error)}{after}") from None


def put_error_in_words(error: Exception) -> str:
    """What an error says, on one line; of one without a text its name."""
    if isinstance(error, KeyError) and error.args:  # holds only the name, of an activation for example
        return f"nothing is found under the name {quote(error.args[0])}"
    return put_on_one_line(str(error), 200) or type(error).__name__


@contextmanager
def intact(path: Path, kinds: Kinds = (SafetensorError, OSError, RuntimeError)) -> Iterator[None]:
    """Turn an error about a file's content, of which torch has RuntimeErrors, into a CheckpointError that says it is
    damaged; a CheckpointError stays."""
    try:
        yield
    except CheckpointError:
        raise
    except kinds as error:
        raise CheckpointError(f"{path} is cut off or damaged: {COPY_AGAIN}") from error


def refusing_too_much(path: Path) -> AbstractContextManager[None]:
    """Turn a TooMuch into a CheckpointError that says the file is not read."""
    return explaining(f"{path} is not read: ", kinds=TooMuch)


def stamp(path: Path) -> tuple[int, ...] | None:
    """Numbers that change whenever a file or folder does, for caches; None if there is none."""
    try:
        status = path.stat()
    except (OSError, ValueError):  # ValueError: a name with a NUL character
        return None
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def read_bytes(path: Path, most: int) -> bytes:
    """The first `most` bytes of a file. Raises CheckpointError if it is missing, unreadable or not a regular file."""
    with reading(path):
        if not path.is_file():  # opening a pipe would block
            raise FileNotFoundError
        with path.open("rb") as file:
            return file.read(most)


def read_text(path: Path, most: int = MAX_TEXT_BYTES) -> str:
    """Text of a file. Raises CheckpointError if missing, unreadable, not UTF-8 or longer than `most` bytes."""
    content = read_bytes(path, most + 1)
    if len(content) > most:
        raise CheckpointError(
            f"{path} has more than {most // 2**20} MiB, so it is not what its name says: {COPY_AGAIN}"
        )
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise CheckpointError(f"{path} is not UTF-8 text (byte {error.start}) but damaged: {COPY_AGAIN}") from None


def read_rows(path: Path) -> list[str]:
    """Lines of a table. Raises CheckpointError as `read_text` does, and for more than MAX_ROWS."""
    text = read_text(path)
    check_rows(path, text.count("\n"))
    return text.removesuffix("\n").split("\n") if text else []


def check_rows(path: Path, rows: int) -> None:
    """Raise CheckpointError for more than MAX_ROWS rows."""
    if rows > MAX_ROWS:
        raise CheckpointError(f"{path} has {rows:,} lines, at most {MAX_ROWS:,} are read: leave some out")


def read_json(path: Path, most_bytes: int = MAX_TEXT_BYTES, most_values: int = MAX_VALUES) -> Any:
    """JSON value of a file. Raises CheckpointError as `read_text` does, and for invalid JSON or Unicode.

    Content that would take much more memory than the file is refused before parsing.
    """
    text = read_text(path, most_bytes)
    if (values := json_values(text)) > most_values:
        raise CheckpointError(f"{path} holds {values:,} values, at most {most_values:,} are read: {COPY_AGAIN}")
    try:
        value = json.loads(text)
        if "\\ud" in text or "\\uD" in text:  # "\ud800" is valid JSON, but not displayable text
            for part in json.JSONEncoder(ensure_ascii=False).iterencode(value):
                part.encode("utf-8")
    except json.JSONDecodeError as error:
        raise CheckpointError(f"{path} is not valid JSON (line {error.lineno}: {error.msg}): {COPY_AGAIN}") from None
    except RecursionError:
        raise CheckpointError(f"{path} is nested too deeply for a file of a checkpoint: {COPY_AGAIN}") from None
    except ValueError as error:
        raise CheckpointError(f"{path} is not valid JSON ({error!s:.200}): {COPY_AGAIN}") from None
    return value


def read_json_object(path: Path) -> dict[str, Any]:
    """JSON object of a file. Raises CheckpointError as `read_json` does, and for any other JSON value."""
    value = read_json(path, MAX_OBJECT_BYTES, MAX_OBJECT_VALUES)
    if not isinstance(value, dict):
        raise CheckpointError(f"{path} holds a JSON {type(value).__name__} instead of an object: {COPY_AGAIN}")
    return value


def read_index(path: Path) -> dict[str, str]:
    """In which file each tensor is, by an index of several. Raises CheckpointError as `read_json` does, and for any
    other JSON."""
    content = read_json(path)
    where: Any = content.get("weight_map") if isinstance(content, dict) else content
    if (problem := declared.fault(_WeightMap, where, "weight_map")) is not None:
        raise CheckpointError(f"{path}: {problem}: {COPY_AGAIN}")
    found: dict[str, str] = where
    return found


_WeightMap = Annotated[
    dict[str, str], Meta(min_length=1, description="an object with the file in which each tensor is, by their names")
]


def check_weights_header(path: Path) -> None:
    """Raise CheckpointError for a tensor file that is missing, too large, or has too long a header."""
    read_bytes(path, 1)
    with reading(path):
        if (size := path.stat().st_size) > MAX_WEIGHTS_BYTES:
            raise CheckpointError(
                f"{path} has {size:,} bytes, weights are read up to {MAX_WEIGHTS_BYTES:,}: choose a smaller model"
            )
        check_tensors_header(path)


def check_tensors_header(path: Path) -> None:
    """Raise CheckpointError for a safetensors file that is truncated or over a limit."""
    with explaining(f"{path} is cut off or damaged (", f"): {COPY_AGAIN}"), refusing_too_much(path):
        check_header(path)


def sha256(path: Path) -> str:
    """Hex SHA-256 of a file. Raises CheckpointError if it is missing or unreadable."""
    read_bytes(path, 1)
    with reading(path), path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def check_digest(folder: Path, name: str, card: dict[str, Any]) -> str:
    """SHA-256 of a file in the folder. Raises CheckpointError if the card has another."""
    stated = card.get("sha256")
    stated = stated.get(name) if isinstance(stated, dict) else None
    if not isinstance(stated, str):
        raise CheckpointError(f"{folder / CARD} has no sha256 of {name}, so it cannot be checked: {COPY_AGAIN}")
    if (found := sha256(folder / name)) != stated:
        raise CheckpointError(
            f"{folder / name} does not have the sha256 that {CARD} states, so it was damaged or edited: {COPY_AGAIN}"
        )
    return found
