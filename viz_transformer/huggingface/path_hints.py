"""Recognises paths given in place of a transformers folder: a file in it, or a folder of such folders."""

from __future__ import annotations

import os
import shlex
from itertools import islice
from pathlib import Path

from safetensors import SafetensorError, safe_open

from viz_transformer.checkpoint import files
from viz_transformer.checkpoint.files import CheckpointError
from viz_transformer.checkpoint.importers.refusals import GGUF
from viz_transformer.checkpoint.untrusted import check_header
from viz_transformer.huggingface.folder import INDEX, is_huggingface, is_only_weights, read_folder
from viz_transformer.sentences import join_names, quote

MAX_LOOKED_AT, NAMED = 2000, 3
"""How many entries to inspect, and how many folders to name."""


def instead_of(given: Path) -> str | None:
    """Error message with the right path; None for a model's folder and for anything else."""
    if os.path.isfile(given):  # os.path: also False for an invalid file name
        if given.name != INDEX and given.suffix != ".safetensors":
            return None
        if is_huggingface(given.parent):
            return _wrong_with(given.parent) or (
                f"{given} is one file of a folder that transformers wrote: give the folder, {given.parent.absolute()}"
            )
        if _is_marked(given):
            return (
                f"{given} has weights as transformers writes them, and nothing that says of which model: give the whole"
                f" folder that save_pretrained wrote, with {files.CONFIG} and the tokenizer"
            )
        return None
    return _instead_of_several(given) if os.path.isdir(given) else None


def instead_of_importing(given: Path) -> str | None:
    """The same for `import`, which a transformers folder does not need."""
    if is_only_weights(given if os.path.isdir(given) else given.parent):
        return None  # may belong to any model, with errors of its own
    if is_huggingface(given):
        return _wrong_with(given) or (
            f"{given} is a folder that transformers wrote, which is opened as it lies there: give it to inspect, or"
            " its path to the Models page"
        )
    return instead_of(given)


def _wrong_with(folder: Path) -> str | None:
    """Why a transformers folder cannot be opened, in one sentence, or None."""
    try:
        read_folder(folder)
    except CheckpointError as error:
        return str(error)
    return None


def _instead_of_several(folder: Path) -> str | None:
    if (folder / files.CONFIG).exists() or is_huggingface(folder):
        return None
    try:
        entries = sorted(islice(folder.iterdir(), MAX_LOOKED_AT))
    except OSError:
        return None
    names = [entry.name for entry in entries if (entry / files.CONFIG).is_file()]
    others = [entry.name for entry in entries if entry.suffix == ".gguf"]
    if others and not names and not any(entry.suffix == ".safetensors" for entry in entries):
        return f"{folder} has its weights only as {others[0]}, which {GGUF}"
    if not names:
        return None
    more = [f"{len(names) - NAMED} more"] if len(names) > NAMED else []
    said = join_names([*map(quote, names[:NAMED]), *more])
    one = "one folder of a model" if len(names) == 1 else f"{len(names)} folders of models"
    which = "that one" if len(names) == 1 else "one of them"
    return f"{folder} holds {one}, {said}: give {which} (`app --checkpoints {shlex.quote(str(folder))}` lists all)"


def _is_marked(path: Path) -> bool:
    """Whether a file is marked as torch tensors, as transformers does."""
    try:
        check_header(path)
        with safe_open(path, framework="np") as file:
            return (file.metadata() or {}).get("format") == "pt"
    except (SafetensorError, OSError, ValueError):
        return False
