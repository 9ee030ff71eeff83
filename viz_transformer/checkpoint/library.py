"""The library of models that a person has opened: kept, renamed and removed atomically.

Saved traces of watched modules are kept next to them, as files.
"""

from __future__ import annotations

import re
import secrets
import shutil
from contextlib import suppress
from pathlib import Path

from viz_transformer.checkpoint import files
from viz_transformer.checkpoint.atomic import only_saver, sweep
from viz_transformer.checkpoint.contents import Summary, Unreadable, list_checkpoints
from viz_transformer.checkpoint.files import CheckpointError
from viz_transformer.checkpoint.folders import RECORDING, library
from viz_transformer.checkpoint.saved_traces import RecordingSummary, read_recording
from viz_transformer.checkpoint.writing import replace_file

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,59}")


def kept_models() -> tuple[Summary | Unreadable, ...]:
    """Models of the library by name, then its recordings; leftovers of killed openings are removed."""
    with suppress(OSError):
        sweep(library())
    recordings = (read_recording(path) for path in sorted(library().glob(f"*{RECORDING}")))
    return (*list_checkpoints(library()), *(found for found in recordings if found is not None))


def keep_recording(recording: RecordingSummary, name: str, taken: set[str]) -> Path:
    """Copy the saved trace of a watched module into the library.

    Raises CheckpointError for an invalid or taken name, and OutputError if it cannot be written.
    """
    place = new_place(name, taken)
    with only_saver(place.parent):
        replace_file(place, lambda new: shutil.copyfile(recording.path, new))
    return place


def keep_folder(folder: Path, name: str, taken: set[str]) -> Path:
    """Link a model's folder into the library, without copying its weights.

    Raises CheckpointError for an invalid or taken name, and where the system makes no links.
    """
    place = new_place(name, taken)
    try:
        place.symlink_to(folder.resolve(), target_is_directory=True)
    except OSError as error:
        raise CheckpointError(
            f"{place} cannot be made a link to {folder} ({error.strerror}): start the app with --checkpoints {folder}"
        ) from None
    return place


def new_place(name: str, taken: set[str]) -> Path:
    """Folder for a new model. Raises CheckpointError for an invalid or taken name."""
    check_name(name)
    if name in taken or (library() / name).exists():
        raise CheckpointError(f"there is a model named {name} already: choose another name")
    try:
        library().mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CheckpointError(f"{library()} cannot be made ({error.strerror}): name another with --library") from None
    return library() / name


def check_name(name: str) -> None:
    """Raise CheckpointError unless the name is valid as a folder and in links."""
    if not NAME.fullmatch(name):
        raise CheckpointError(
            "a name has at most 60 letters, digits, dots, hyphens and underscores, and begins with a letter or digit"
        )


def usual_name(path: Path, taken: set[str], ending: str = "") -> str:
    """A free name for the model in this file: the file's or, if that is generic, its folder's, plus the ending."""
    stem = path.name.split(".")[0]
    if stem.lower() in ("model", "ckpt", "checkpoint", "last", "best", "pytorch_model", "weights", "state_dict"):
        stem = path.absolute().parent.name or stem
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", stem).strip("-._")[:50] or "model"
    numbered = (f"{name}{'' if count == 1 else f'-{count}'}{ending}" for count in range(1, 1_000))
    return next(each for each in numbered if each not in taken and not (library() / each).exists())


def rename(old: str, new: str, taken: set[str]) -> None:
    """Rename a model of the library. Raises CheckpointError for an invalid or taken name."""
    kept = _kept(old)
    if kept.is_file() and not new.endswith(RECORDING):
        raise CheckpointError(f"a recording is a file whose name ends with {RECORDING}")
    kept.rename(new_place(new, taken))


def remove(name: str) -> None:
    """Remove a model of the library: hidden at once, then deleted. Raises CheckpointError for an unknown name."""
    folder = _kept(name)
    if folder.is_file() or folder.is_symlink():  # for a link, only the link is removed
        folder.unlink()
        return
    gone = folder.with_name(f".{secrets.token_hex(8)}.removed")
    folder.rename(gone)
    shutil.rmtree(gone, ignore_errors=True)


def _kept(name: str) -> Path:
    check_name(name)
    folder = library() / name
    if not (folder / files.CONFIG).is_file() and (not folder.is_file() or read_recording(folder) is None):
        raise CheckpointError(f"the library has no model named {name}")
    return folder
