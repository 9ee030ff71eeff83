"""Progress of a training: a small file next to its state, readable while it runs."""

from __future__ import annotations

import json
import os
import time
from collections import deque
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Literal

import msgspec

from viz_transformer.checkpoint.writing import write_file

Phase = Literal["preparing", "learning", "measuring"]
PROGRESS, RIGHT, BEGINNING, EXPORTED = "progress.json", "right.csv", "beginning", "exported"
"""Files in a training's state folder: progress, right answers, the model at step 0, completion."""
EVERY = 1.0
"""Seconds between writes."""
MARKS = 30
"""Writes over which the speed is averaged, as it depends on other load."""
WARM = 3
"""Steps of a start that are not timed, since they are slower."""


@dataclass(frozen=True, kw_only=True)
class Progress:
    """Progress of a training."""

    phase: Phase = "preparing"
    pid: int
    step: int = 0
    steps: int = 0
    """Length of the training."""
    saved: int = 0
    """Last step that can be resumed."""
    loss: float | None = None
    """Loss of the last batch."""
    seconds_a_step: float | None = None
    """Over the last steps of this start, measuring included; None if not yet measured."""

    @property
    def left(self) -> float | None:
        """Estimated seconds until the last step."""
        return None if self.seconds_a_step is None else self.seconds_a_step * (self.steps - self.step)


class Reporter:
    """Writes a training's progress to its state folder, at most every EVERY seconds."""

    def __init__(self, state: Path) -> None:
        self.state = state
        self.now = Progress(pid=os.getpid())
        self._written = float("-inf")
        self._first = 0
        self._marks: deque[tuple[int, float]] = deque(maxlen=MARKS)

    def phase(self, phase: Phase) -> None:
        self.now = replace(self.now, phase=phase)
        self._write()

    def began(self, step: int, steps: int) -> None:
        """Training starts at `step`, with `steps` in all."""
        self._first = step
        self.now = replace(self.now, phase="learning", step=step, steps=steps, saved=step)
        self._write()

    def due(self) -> bool:
        """Whether the next write is due."""
        return time.monotonic() - self._written >= EVERY

    def at(self, step: int, loss: float | None = None) -> None:
        if step >= self._first + WARM:
            self._marks.append((step, time.monotonic()))
        pace = None
        if len(self._marks) > 1:
            (first, since), (last, until) = self._marks[0], self._marks[-1]
            pace = (until - since) / (last - first)
        self.now = replace(self.now, step=step, loss=loss, seconds_a_step=pace)
        self._write()

    def saved(self, step: int) -> None:
        """The training can be resumed from this step."""
        self.now = replace(self.now, step=step, saved=step)
        self._write()

    def _write(self) -> None:
        self._written = time.monotonic()
        write_file(self.state / PROGRESS, json.dumps(asdict(self.now)).encode())


def read_progress(state: Path) -> Progress | None:
    """Last progress of a training; None if missing or unreadable."""
    try:
        return msgspec.json.decode((state / PROGRESS).read_bytes(), type=Progress)
    except (OSError, ValueError):
        return None


def read_right(state: Path) -> list[tuple[int, int, int]]:
    """(step, right answers, pairs) of each count so far; empty if the file is damaged."""
    try:
        lines = (state / RIGHT).read_text(encoding="utf-8").splitlines()[1:]
        rows = [tuple(map(int, line.split(","))) for line in lines]
    except (OSError, ValueError):
        return []
    return [(row[0], row[1], row[2]) for row in rows if len(row) == 3]
