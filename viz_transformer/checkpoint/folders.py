"""The folders in which a person's own models lie, beside those that come with the program.

`app --checkpoints DIR` names some, `./runs` is where `train` writes, and the library is where opened models are kept.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from platformdirs import user_data_path

CHECKPOINTS_VARIABLE, LIBRARY_VARIABLE = "VIZ_TRANSFORMER_CHECKPOINTS", "VIZ_TRANSFORMER_LIBRARY"
RECORDING = ".safetensors"
"""How the name of a saved trace ends."""
RUNS = "runs"
"""Where `train` writes: what VIZ_TRANSFORMER_CHECKPOINTS is if nothing is said."""


def library() -> Path:
    """Where opened models are kept: VIZ_TRANSFORMER_LIBRARY, else a folder in the user's data directory."""
    if given := os.environ.get(LIBRARY_VARIABLE):
        return Path(given)
    return user_data_path("viz-transformer", appauthor=False) / "models"


def name_folders(folders: Iterable[Path], library: Path | None = None) -> None:
    """Have this process look into these folders, and keep opened models there; a saved trace of a watched module may
    be named too. Raises ValueError for a missing one, and for any other file."""
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
    """The folders to look into, each once: those that were named, `./runs`, the library."""
    named = [Path(each) for each in os.environ.get(CHECKPOINTS_VARIABLE, RUNS).split(os.pathsep) if each]
    found: dict[Path, Path] = {}
    for folder in (*named, library()):
        found.setdefault(folder.absolute(), folder.absolute())
    return tuple(found)
