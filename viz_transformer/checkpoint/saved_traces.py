"""Saved traces of watched modules among a person's models, read without torch."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import orjson

from viz_transformer import declared
from viz_transformer.checkpoint import files
from viz_transformer.checkpoint.contents import Summary, Unreadable
from viz_transformer.checkpoint.untrusted import LONGEST_HEADER, MAX_VALUES, METADATA, check_header, json_values
from viz_transformer.model.hooked_model import Unavailable
from viz_transformer.model.watched import parse_watched_spec, uneven_layers
from viz_transformer.sentences import put_on_one_line

NO_MODEL = "it is a recording of one call of a module, and no model that could be run"


Side = tuple[tuple[int, ...], tuple[str, ...], tuple[str, ...]]
"""Tokens of a trace: ids, names and the typed text."""


@dataclass(frozen=True, kw_only=True)
class TraceHeader:
    """Metadata of a trace file.

    Fields with a default are missing in the oldest files, or exist for some models only: `model` describes another
    program's model, `watched` a module that was only watched.
    """

    format_version: int
    config: dict[str, Any] | None
    model: dict[str, Any] | None = None
    watched: dict[str, Any] | None = None
    labels: tuple[str, ...] = ()
    checkpoint: str
    weights_sha256: str
    src: Side
    tgt: Side
    next_ids: tuple[int | None, ...]
    next_tokens: tuple[str | None, ...]
    edits: tuple[dict[str, Any], ...]
    info: dict[str, Any]
    points: tuple[str, ...]
    scalars: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class RecordingSummary(Summary):
    """A saved trace of a watched module, before its numbers are read. text: the tokens that it reads."""

    text: str

    @property
    def parameter_count(self) -> int:
        raise Unavailable(NO_MODEL)

    def snapshots(self) -> tuple[int, ...]:
        return ()

    def history(self) -> list[dict[str, float]]:
        return []

    def examples(self) -> list[tuple[str, str]]:
        """Its one text."""
        return [(self.text, "")]


def read_recording(path: Path) -> RecordingSummary | Unreadable | None:
    """The file's description, or why it is invalid; None if it is not the trace of a watched module."""
    try:
        return _read(path, files.stamp(path)) if path.is_file() else None
    except (OSError, ValueError):  # ValueError: a name with a NUL character
        return None


@lru_cache(maxsize=256)
def _read(path: Path, _stamp: tuple[int, ...] | None) -> RecordingSummary | Unreadable | None:
    about = _described(path)
    if about is None:
        return None
    try:
        check_header(path)
        header = declared.read(TraceHeader, about)
        source, target = header.src[1], header.tgt[1]
        spec = parse_watched_spec(header.watched, source=len(source), target=len(target))
        if uneven := uneven_layers(spec):
            raise ValueError(uneven)
    except ValueError as error:
        why = put_on_one_line(str(error), 200)
        return Unreadable(path.name, path, f"{path} is not a trace that can be shown here: {why}")
    return RecordingSummary(path.name, path, spec, {"source": None, "target": None}, {}, " ".join(source or target))


def is_trace(path: Path) -> bool:
    """Whether a safetensors file is marked as a saved trace, of a model or a watched module."""
    return _metadata(path) is not None


def _described(path: Path) -> dict[str, Any] | None:
    """Description of a watched module's trace in a safetensors file, or None."""
    about = _metadata(path)
    return None if about is None or about["config"] is not None or "watched" not in about else about


def _metadata(path: Path) -> dict[str, Any] | None:
    """Description of the trace in a safetensors file, or None."""
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        header = file.read(length) if length <= LONGEST_HEADER else b""
    if json_values(header) > MAX_VALUES:
        return None
    try:
        about = orjson.loads(orjson.loads(header)[METADATA]["viz_transformer"])
        return about if "config" in about and "src" in about else None
    except (ValueError, LookupError, TypeError):
        return None
