"""What several files of browser tests share."""

from __future__ import annotations

from pathlib import Path

import pytest
from browser.checkpoints import TYPED

from viz_transformer import decode, load
from viz_transformer.running.decoding import Run


@pytest.fixture(scope="session")
def run(random_folder: Path) -> Run:
    """The run of TYPED that the app shows with the random checkpoint "signs"."""
    return decode(load(random_folder / "signs"), TYPED)
