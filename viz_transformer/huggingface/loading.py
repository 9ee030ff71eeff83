"""Opening whatever folder a model is in: one of ours, or one that transformers wrote."""

from __future__ import annotations

from pathlib import Path

from viz_transformer import huggingface
from viz_transformer.checkpoint import store
from viz_transformer.checkpoint.contents import find_folder
from viz_transformer.checkpoint.files import CheckpointError
from viz_transformer.checkpoint.store import Checkpoint
from viz_transformer.huggingface.folder import is_huggingface, read_folder


def load(where: str | Path) -> Checkpoint:
    """The checkpoint in a folder, ours or one from `save_pretrained`, or the bundled one of that name.

    Runs no code of the folder's, and needs no network. Raises CheckpointError, one sentence with the file and what to
    do, if anything is missing, damaged, changed, too large, or of a kind that cannot be recorded.
    """
    folder = find_folder(where)
    if not is_huggingface(folder):
        return store.load(where)
    summary = read_folder(folder)
    if (library := huggingface.lacking()) is not None:
        raise CheckpointError(
            f"{folder} is a model of transformers, which needs {library}: install it with `{huggingface.INSTALL}`"
        )
    return huggingface.open_folder(summary)
