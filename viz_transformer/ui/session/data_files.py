"""The texts that a model was trained and tested on: read once, or a sentence that says what to put where."""

from __future__ import annotations

import os

from viz_transformer.analysis.inputs.dataset import Data, list_needed_files, read_part
from viz_transformer.checkpoint import Checkpoint
from viz_transformer.measuring.data import DATA_VARIABLE
from viz_transformer.ui.session.memoize import memoize


def data_key() -> str:
    """What names the data folder in a cache: another one has other data."""
    return os.path.abspath(os.path.expanduser(os.environ.get(DATA_VARIABLE) or "data"))


def part(ckpt: Checkpoint, name: str) -> Data:
    """The items of one part of the model's data. Raises ValueError for missing or bad files."""
    return _part(ckpt, name, data_key())


@memoize(4)
def _part(ckpt: Checkpoint, name: str, folder: str) -> Data:
    return read_part(ckpt, name)


def missing_data(ckpt: Checkpoint, name: str, error: ValueError, what: str) -> str:
    """What to put where, in a sentence; the error itself where the files are there."""
    files = list_needed_files(ckpt, name)
    if not files or all(os.path.isfile(os.path.join(data_key(), file)) for file in files):
        return f"{error}."
    listed = " and ".join(files)
    return (
        f"{what}, which are not here: put {listed} into a folder, name that folder in {DATA_VARIABLE} (else ./data is"
        " looked into), and start the app again."
    )


def is_missing(ckpt: Checkpoint, name: str, error: ValueError) -> bool:
    """Whether a part of the data cannot be read because its files are missing, rather than wrong."""
    return missing_data(ckpt, name, error, "") != f"{error}."
