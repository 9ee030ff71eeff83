"""Parts of a checkpoint folder that need no torch: config, card, history, examples, snapshots."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open

from viz_transformer.checkpoint import files
from viz_transformer.checkpoint.atomic import recover
from viz_transformer.checkpoint.files import COPY_AGAIN, CheckpointError
from viz_transformer.checkpoint.importers.refusals import other_kind
from viz_transformer.given import PATH, optional, takes
from viz_transformer.model.config import ModelConfig
from viz_transformer.model.hooked_model import ModelSpec, spec_of

HISTORY_COLUMNS = ("step", "train_loss", "validation_loss", "learning_rate", "gradient_norm")
SECONDS = "seconds"
"""Last column of a history, the training time so far; absent from older files."""


@dataclass(frozen=True)
class Summary:
    """A checkpoint folder before its weights are read."""

    name: str
    path: Path
    described: ModelConfig | ModelSpec  # config of our own Transformer, or spec of another model
    codecs: dict[str, Any]  # entries "source" and "target" of config.json; None: ids only
    card: dict[str, Any]

    @property
    def spec(self) -> ModelSpec:
        return spec_of(self.described) if isinstance(self.described, ModelConfig) else self.described

    @property
    def config(self) -> ModelConfig:
        """The config of our own Transformer. Raises Unavailable for another model."""
        return self.described if isinstance(self.described, ModelConfig) else self.described.own

    @property
    def parameter_count(self) -> int:
        """Number of parameters, from the header of the weights file. Raises CheckpointError if unreadable."""
        path = self.path / files.WEIGHTS
        files.check_weights_header(path)
        try:
            with safe_open(path, framework="np") as file:
                return sum(math.prod(file.get_slice(name).get_shape()) for name in file.keys())  # noqa: SIM118
        except (SafetensorError, OSError):
            raise CheckpointError(f"{path} cannot be read as a safetensors file: {COPY_AGAIN}") from None

    def snapshots(self) -> tuple[int, ...]:
        """Training steps with saved weights, in order."""
        return snapshot_steps(self.card)

    def history(self) -> list[dict[str, float]]:
        """Rows of history.csv by column, NaN for blank cells; empty without the file."""
        return read_history(self.path)

    def examples(self) -> list[tuple[str, str]]:
        """Held-out (source, target) pairs; empty without the file."""
        return read_examples(self.path)


@dataclass(frozen=True)
class Unreadable:
    """A folder that is not a valid checkpoint, with the reason as a sentence."""

    name: str
    path: Path
    error: str


def bundled_folder() -> Path:
    """Folder of the bundled checkpoints: next to the package in a checkout, inside it in a wheel."""
    package = Path(__file__).resolve().parents[1]
    checkout = package.parent
    return checkout / "checkpoints" if (checkout / "pyproject.toml").is_file() else package / "_app" / "checkpoints"


@takes(folder=optional(PATH))
def list_checkpoints(folder: str | Path | None = None) -> tuple[Summary | Unreadable, ...]:
    """Checkpoints in a folder (default: the bundled ones), by name. Only reads JSON."""
    folder = bundled_folder() if folder is None else Path(folder)
    if not folder.is_dir():
        return ()
    for entry in folder.glob(".*.old"):
        with suppress(OSError):  # not ours to rename: it counts as missing
            recover(entry.with_name(entry.name[1 : -len(".old")]))
    found: list[Summary | Unreadable] = []
    for entry in sorted(folder.iterdir()):
        if entry.is_dir() and not entry.name.startswith("."):
            try:
                found.append(read_summary(entry))
            except CheckpointError as error:
                found.append(Unreadable(entry.name, entry, str(error)))
    return tuple(found)


def find_folder(where: str | Path) -> Path:
    """The folder at this path, or the bundled checkpoint with this name. Raises CheckpointError if there is neither."""
    path, name = Path(where), str(where)
    is_folder = os.path.isdir(path)  # os.path: also False for an invalid file name
    if not is_folder and not os.path.isfile(path):
        with suppress(OSError, ValueError, RuntimeError):  # RuntimeError: a cycle of links
            is_folder = recover(path)
    bundled = bundled_folder() / name
    is_name = path.parts == (name,) and name != ".."
    if is_name and not os.path.exists(path / files.CONFIG) and os.path.isdir(bundled):
        return bundled
    if is_folder:
        return path
    if os.path.isfile(path):
        if (other := other_kind(path)) is not None:
            raise CheckpointError(f"{path} {other}")
        raise CheckpointError(f"{path} is a file, not a checkpoint folder: give the folder, or {files.SAVE_AS_FOLDER}")
    known = [entry.name for entry in list_checkpoints()]
    near = get_close_matches(name, known, n=1)
    hint = f"did you mean {near[0]!r}?" if near else " or ".join(["give a folder", *known])
    raise CheckpointError(f"there is no checkpoint {name!r:.80}: {hint}")


def read_summary(folder: Path) -> Summary:
    """Summary from the folder's config.json and card.json; digests are not compared, weights not opened.

    Cached while the files are unchanged. Raises CheckpointError for a missing or damaged file, another format version,
    or an invalid config.
    """
    return _summary_of(folder, files.stamp(folder / files.CONFIG), files.stamp(folder / files.CARD))


@lru_cache(maxsize=256)
def _summary_of(folder: Path, *_stamps: tuple[int, ...] | None) -> Summary:
    path = folder / files.CONFIG
    content = files.read_json_object(path)
    check_version(path, content.get("format_version"))
    if not isinstance(content.get("model"), dict):
        raise CheckpointError(f"{path} has no 'model' settings: {COPY_AGAIN}")
    with files.explaining(f"{path} does not describe a model (", f"): {COPY_AGAIN}"):
        config = ModelConfig.from_dict(content["model"])
    codecs = {side: content.get(f"{side}_codec") for side in ("source", "target")}
    return Summary(folder.absolute().name, folder, config, codecs, files.read_json_object(folder / files.CARD))


def check_version(path: Path, version: object) -> None:
    """Raise CheckpointError unless this program reads that format version."""
    if version is None:
        raise CheckpointError(
            f"{path} has no format_version, so the folder is not a checkpoint of this program: "
            f"give another folder, or {files.SAVE_AS_FOLDER}"
        )
    if type(version) is not int or version < 1:
        raise CheckpointError(f"{path} has the unknown format_version {version!r:.40}: {COPY_AGAIN}")
    if version > files.FORMAT_VERSION:
        raise CheckpointError(
            f"{path} has format_version {version!r:.20}, this program reads {files.FORMAT_VERSION}: "
            "install a newer viz-transformer"
        )


def snapshot_file(step: int) -> str:
    """Path of a snapshot inside the folder, as in the card's digests."""
    return f"{files.SNAPSHOTS}/step-{step}.safetensors"


def snapshot_steps(card: dict[str, Any]) -> tuple[int, ...]:
    """Steps of the snapshots listed in the card, in order."""
    digests = card.get("sha256")
    names = map(str, digests) if isinstance(digests, dict) else ()
    matches = (re.fullmatch(rf"{files.SNAPSHOTS}/step-(0|[1-9][0-9]{{0,17}})\.safetensors", name) for name in names)
    return tuple(sorted(int(match[1]) for match in matches if match))


def read_history(folder: Path) -> list[dict[str, float]]:
    """Rows of the folder's history.csv by column, NaN for blank cells; empty without the file.

    Raises CheckpointError for a damaged file.
    """
    path = folder / files.HISTORY
    return parse_history(files.read_rows(path), path) if path.exists() else []


def parse_history(lines: Sequence[str], path: Path) -> list[dict[str, float]]:
    """Rows of a history, with SECONDS if present; `path` is named in the CheckpointError."""
    columns = tuple(lines[0].rstrip("\r").split(",", len(HISTORY_COLUMNS) + 1)) if lines else ()
    if columns not in (HISTORY_COLUMNS, (*HISTORY_COLUMNS, SECONDS)):
        raise CheckpointError(f"{path} does not start with the columns {','.join(HISTORY_COLUMNS)}: {COPY_AGAIN}")
    rows = []
    for number, line in enumerate(lines[1:], start=2):
        cells = line.rstrip("\r").split(",", len(columns))
        try:
            values = [float(cell) if cell else math.nan for cell in cells]
            rows.append(dict(zip(columns, values, strict=True)))
        except ValueError:
            raise CheckpointError(
                f"{path} line {number} is not {len(columns)} numbers or blanks: {COPY_AGAIN}"
            ) from None
    return rows


def read_examples(folder: Path) -> list[tuple[str, str]]:
    """Pairs in the folder's examples.tsv; empty without the file. Raises CheckpointError for a damaged file."""
    path = folder / files.EXAMPLES
    if not path.exists():
        return []
    pairs = []
    for number, line in enumerate(files.read_rows(path), start=1):
        source, tab, target = line.partition("\t")
        if not tab or "\t" in target:
            raise CheckpointError(f"{path} line {number} is not a source, a tab and a target: {COPY_AGAIN}")
        pairs.append((source, target))
    return pairs
