"""Folders of a person's own models, besides the bundled ones.

These are the folders named by `app --checkpoints DIR`, `./runs` where `train` writes, and the library of opened models.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from platformdirs import user_data_path

CHECKPOINTS_VARIABLE, LIBRARY_VARIABLE = "VIZ_TRANSFORMER_CHECKPOINTS", "VIZ_TRANSFORMER_LIBRARY"
RECORDING = ".safetensors"
"""File name suffix of a saved trace."""
RUNS = "runs"
"""Default output folder of `train`, unless VIZ_TRANSFORMER_CHECKPOINTS is set."""


def library() -> Path:
    """Folder of opened models: VIZ_TRANSFORMER_LIBRARY, or one in the user's data directory."""
    if given := os.environ.get(LIBRARY_VARIABLE):
        return Path(given)
    return user_data_path("viz-transformer", appauthor=False) / "models"


def name_folders(folders: Iterable[Path], library: Path | None = None) -> None:
    """Set the folders to search in this process, and the library; a saved trace of a watched module may be named too.

    Raises ValueError for a missing path, and for any other file.
    """
    named = [folder.absolute() for folder in folders]
    for folder in named:
        if folder.is_file():
            if folder.suffix != RECORDING:
                raise ValueError(f"{folder} is a file, but not the trace of a watched module: give a folder")
        elif not folder.is_dir():
            raise ValueError(f"there is no folder {folder}: give one that holds checkpoint folders")
        if os.pathsep in str(folder):
            raise ValueError(f"the name of {folder} has {os.pathsep!r} in it: give another folder")
    if named:
        before = os.environ.get(CHECKPOINTS_VARIABLE, RUNS)
        os.environ[CHECKPOINTS_VARIABLE] = os.pathsep.join([*map(str, named), before])
    if library is not None:
        os.environ[LIBRARY_VARIABLE] = str(library.absolute())


def own_folders() -> tuple[Path, ...]:
    """Folders to search, without duplicates: the named ones, `./runs`, the library."""
    named = [Path(each) for each in os.environ.get(CHECKPOINTS_VARIABLE, RUNS).split(os.pathsep) if each]
    found: dict[Path, Path] = {}
    for folder in (*named, library()):
        found.setdefault(folder.absolute(), folder.absolute())
    return tuple(found)
