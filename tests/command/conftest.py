"""The command line without a process of its own: most of what one takes is to import."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from typing import NamedTuple

import pytest

from viz_transformer.command import main


class Outcome(NamedTuple):
    status: int
    out: str
    err: str


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Outcome]]:
    """Runs a command as `viz-transformer` does, with nothing to read: its exit status and what it printed."""

    def run(*words: object) -> Outcome:
        with pytest.raises(SystemExit) as left:
            main([str(word) for word in words])
        out, err = capsys.readouterr()
        assert isinstance(left.value.code, int)
        return Outcome(left.value.code, out, err)

    with open(os.devnull, encoding="utf-8") as nothing:
        monkeypatch.setattr(sys, "stdin", nothing)
        yield run
