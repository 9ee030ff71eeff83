"""A person's own models, reread each time, so that new ones appear without a restart."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from viz_transformer.checkpoint import files
from viz_transformer.checkpoint.contents import Summary, Unreadable, list_checkpoints
from viz_transformer.checkpoint.folders import RECORDING, own_folders
from viz_transformer.checkpoint.saved_traces import read_recording


def own_checkpoints(taken: Iterable[str] = ()) -> tuple[Summary | Unreadable, ...]:
    """The person's own models and traces of watched modules, newest first.

    Folders without a config, such as training state, are skipped. A name that is `taken` or occurs twice is prefixed
    with its parent folder's. A named folder may itself be a checkpoint.
    """
    names = set(taken)
    found: list[Summary | Unreadable] = []
    for folder in own_folders():
        for entry in _entries(folder):
            name = _free(entry, names)
            names.add(name)
            found.append(replace(entry, name=name))
    return tuple(sorted(found, key=_age, reverse=True))


def _entries(folder: Path) -> list[Summary | Unreadable]:
    if folder.is_file():
        nothing = f"{folder} is a file, but not the trace of a watched module: save one with trace.save(file)"
        return [read_recording(folder) or Unreadable(folder.name, folder, nothing)]
    try:
        inner = folder if not (folder / files.CONFIG).is_file() else folder.parent
        entries = list_checkpoints(inner)
        files_here = sorted(folder.glob(f"*{RECORDING}")) if inner == folder else []
    except OSError:
        return []  # unreadable, or just removed
    recordings = (read_recording(path) for path in files_here)
    return [
        *(
            entry
            for entry in entries
            if (entry.path / files.CONFIG).is_file() and (inner == folder or entry.path == folder)
        ),
        *(found for found in recordings if found is not None),
    ]


def _free(entry: Summary | Unreadable, names: set[str]) -> str:
    """The folder's name, prefixed with parent folders until it is free."""
    parts = entry.path.absolute().parts
    tries = ("/".join(parts[-count:]) for count in range(1, len(parts)))
    return next((name for name in tries if name not in names), str(entry.path))


def _age(entry: Summary | Unreadable) -> float:
    card = entry.path / files.CARD
    try:
        return (card if card.is_file() else entry.path).stat().st_mtime
    except OSError:
        return 0.0
