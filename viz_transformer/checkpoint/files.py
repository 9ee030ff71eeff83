"""The files of a checkpoint folder, read with suspicion: sizes first, then content."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

FORMAT_VERSION = 1
CONFIG, CARD, WEIGHTS = "config.json", "card.json", "model.safetensors"
VOCABULARIES = {"source": "source_vocab.json", "target": "target_vocab.json"}
HISTORY, EXAMPLES, SNAPSHOTS = "history.csv", "examples.tsv", "snapshots"
ALL_FILES = frozenset({CONFIG, CARD, WEIGHTS, *VOCABULARIES.values(), HISTORY, EXAMPLES, SNAPSHOTS})

MAX_TEXT_BYTES = 16 * 2**20
"""More than any vocabulary needs, and little enough to read into memory."""

COPY_AGAIN = "copy it again from where it came"
SAVE_AS_FOLDER = "save its tensors as a checkpoint folder in Python, with `viz_transformer.save_checkpoint`"


class CheckpointError(ValueError):
    """A checkpoint that cannot be opened or saved: one sentence with the file's name and what to do."""


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turns the system's errors about this file or folder into a CheckpointError."""
    try:
        yield
    except FileNotFoundError:
        raise CheckpointError(f"{path} is missing: {COPY_AGAIN}") from None
    except OSError as error:
        raise CheckpointError(f"{path} cannot be read ({error.strerror or error}): check its permissions") from None


def read_bytes(path: Path, most: int) -> bytes:
    """The file's first bytes, `most` of them. Raises CheckpointError if it is missing, unreadable or no file."""
    with reading(path):
        if not path.is_file():  # opening a pipe would wait for ever
            raise FileNotFoundError
        with path.open("rb") as file:
            return file.read(most)


def read_text(path: Path) -> str:
    """The file's text. Raises CheckpointError if it is missing, unreadable, too large or not UTF-8."""
    content = read_bytes(path, MAX_TEXT_BYTES + 1)
    if len(content) > MAX_TEXT_BYTES:
        raise CheckpointError(f"{path} has more than {MAX_TEXT_BYTES // 2**20} MiB, so it is no text: {COPY_AGAIN}")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise CheckpointError(f"{path} is not UTF-8 text (byte {error.start}) but damaged: {COPY_AGAIN}") from None


def read_json(path: Path) -> Any:
    """The file's JSON value. Raises CheckpointError as `read_text` does, and for what is not JSON in valid Unicode."""
    text = read_text(path)
    try:
        value = json.loads(text)
        json.dumps(value, ensure_ascii=False).encode("utf-8")  # "\ud800" is JSON, but no text that can be shown
    except json.JSONDecodeError as error:
        raise CheckpointError(f"{path} is not valid JSON (line {error.lineno}: {error.msg}): {COPY_AGAIN}") from None
    except RecursionError:
        raise CheckpointError(f"{path} is nested too deeply for a file of a checkpoint: {COPY_AGAIN}") from None
    except ValueError as error:
        raise CheckpointError(f"{path} is not valid JSON ({error}): {COPY_AGAIN}") from None
    return value


def read_json_object(path: Path) -> dict[str, Any]:
    """The file's JSON object. Raises CheckpointError as `read_json` does, and for any other JSON value."""
    value = read_json(path)
    if not isinstance(value, dict):
        raise CheckpointError(f"{path} holds a JSON {type(value).__name__} instead of an object: {COPY_AGAIN}")
    return value


def sha256(path: Path) -> str:
    """The file's SHA-256 in hexadecimal. Raises CheckpointError if it is missing or unreadable."""
    read_bytes(path, 1)
    with reading(path), path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def check_digest(folder: Path, name: str, card: dict[str, Any]) -> str:
    """The SHA-256 of a file of the folder. Raises CheckpointError unless the card states the same."""
    stated = card.get("sha256")
    stated = stated.get(name) if isinstance(stated, dict) else None
    if not isinstance(stated, str):
        raise CheckpointError(f"{folder / CARD} states no sha256 of {name}, so it cannot be checked: {COPY_AGAIN}")
    if (found := sha256(folder / name)) != stated:
        raise CheckpointError(
            f"{folder / name} does not have the sha256 that {CARD} states, so it was damaged or edited: {COPY_AGAIN}"
        )
    return found
