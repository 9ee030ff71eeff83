"""The models that a person has opened: kept in the library, renamed and removed there, whole or not at all."""

from __future__ import annotations

import re
import secrets
import shutil
from contextlib import suppress
from pathlib import Path

from viz_transformer.checkpoint import files
from viz_transformer.checkpoint.atomic import sweep
from viz_transformer.checkpoint.contents import Summary, Unreadable, list_checkpoints
from viz_transformer.checkpoint.files import CheckpointError
from viz_transformer.checkpoint.folders import library

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,59}")


def kept_models() -> tuple[Summary | Unreadable, ...]:
    """The models of the library, by name; what was left of ones whose opening was killed is removed."""
    with suppress(OSError):
        sweep(library())
    return list_checkpoints(library())


def new_place(name: str, taken: set[str]) -> Path:
    """The folder that a model of this name will have. Raises CheckpointError for a name that cannot be, or is taken."""
    check_name(name)
    if name in taken or (library() / name).exists():
        raise CheckpointError(f"there is a model named {name} already: choose another name")
    try:
        library().mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CheckpointError(f"{library()} cannot be made ({error.strerror}): name another with --library") from None
    return library() / name


def check_name(name: str) -> None:
    """Raise CheckpointError unless a model can be called so: it becomes a folder, and stands in links."""
    if not NAME.fullmatch(name):
        raise CheckpointError(
            "a name has at most 60 letters, digits, dots, hyphens and underscores, and begins with a letter or digit"
        )


def usual_name(path: Path, taken: set[str]) -> str:
    """A name for the model in this file that is not taken: the file's, or its folder's where that says nothing."""
    stem = path.name.split(".")[0]
    if stem.lower() in ("model", "ckpt", "checkpoint", "last", "best", "pytorch_model", "weights", "state_dict"):
        stem = path.absolute().parent.name or stem
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", stem).strip("-._")[:50] or "model"
    numbered = (name if count == 1 else f"{name}-{count}" for count in range(1, 1_000))
    return next(each for each in numbered if each not in taken and not (library() / each).exists())


def rename(old: str, new: str, taken: set[str]) -> None:
    """Give a model of the library another name. Raises CheckpointError for one that cannot be, or is taken."""
    _kept(old).rename(new_place(new, taken))


def remove(name: str) -> None:
    """Remove a model of the library: at once out of sight, then from the disk. Raises CheckpointError for no model."""
    folder = _kept(name)
    gone = folder.with_name(f".{secrets.token_hex(8)}.removed")
    folder.rename(gone)
    shutil.rmtree(gone, ignore_errors=True)


def _kept(name: str) -> Path:
    check_name(name)
    folder = library() / name
    if not (folder / files.CONFIG).is_file():
        raise CheckpointError(f"the library has no model named {name}")
    return folder
