"""Models of transformers that several tests look at: each is made and opened once."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("transformers")

import transformers
from pretrained import KINDS, LABELLED, VERDICTS, folder

from viz_transformer.checkpoint import Checkpoint
from viz_transformer.huggingface.loading import load

transformers.logging.set_verbosity_error()
transformers.logging.disable_progress_bar()


@pytest.fixture(scope="session")
def written(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The folder of a family's model."""
    return cache(lambda name: folder(tmp_path_factory.mktemp(name.replace("/", "-")), name))


@pytest.fixture(scope="session")
def opened(written: Callable[[str], Path]) -> Callable[[str], Checkpoint]:
    """The same, opened by this program."""
    return cache(lambda name: load(written(name)))


@pytest.fixture(scope="session")
def theirs(written: Callable[[str], Path]) -> Callable[[str], Any]:
    """The same, opened by transformers with its own eager attention."""

    def open_it(name: str) -> Any:
        cls = getattr(transformers, {**KINDS, **LABELLED, **VERDICTS}[name][0])
        return cls.from_pretrained(written(name), attn_implementation="eager", dtype="float32").eval()

    return cache(open_it)
