"""The tests of training share the task of `backwards.py`, which the processes that they start import as well."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A data folder with the files of the task."""
    from backwards import write_data

    return write_data(tmp_path / "data")
