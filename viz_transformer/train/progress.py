"""How far a training has come: a small file beside its state, which anyone may read while it goes on."""

from __future__ import annotations

import json
import os
import time
from collections import deque
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Literal, get_args

from viz_transformer.checkpoint.writing import write_file

Phase = Literal["preparing", "learning", "measuring"]
PROGRESS, RIGHT, BEGINNING, EXPORTED = "progress.json", "right.csv", "beginning", "exported"
"""In the folder of a training's state: this file, pairs answered right, the model at step 0, and that all is done."""
EVERY = 1.0
"""Seconds between two writings."""
MARKS = 30
"""Writings that the pace is measured over: what else the computer does changes it."""
WARM = 3
"""Steps of a start that are not timed: they take longer than the others."""


@dataclass(frozen=True, kw_only=True)
class Progress:
    """`steps` is the length, `saved` the last step that can be gone on from, `loss` that of the last batch.

    `seconds_a_step` is measured over the last steps of this start, measurements of the losses included; None before
    there is a measure.
    """

    phase: Phase = "preparing"
    pid: int
    step: int = 0
    steps: int = 0
    saved: int = 0
    loss: float | None = None
    seconds_a_step: float | None = None

    @property
    def left(self) -> float | None:
        """Seconds until the last step, at the pace so far."""
        return None if self.seconds_a_step is None else self.seconds_a_step * (self.steps - self.step)


class Reporter:
    """Writes the progress of one start of a training into its state folder, at most every EVERY seconds."""

    def __init__(self, state: Path) -> None:
        self.state = state
        self.now = Progress(pid=os.getpid())
        self._written = float("-inf")
        self._first = 0
        self._marks: deque[tuple[int, float]] = deque(maxlen=MARKS)

    def phase(self, phase: Phase) -> None:
        """Say what is done from now on."""
        self.now = replace(self.now, phase=phase)
        self._write()

    def began(self, step: int, steps: int) -> None:
        """A training of this length learns, from this step on."""
        self._first = step
        self.now = replace(self.now, phase="learning", step=step, steps=steps, saved=step)
        self._write()

    def due(self) -> bool:
        """Whether it is time to say again where the training is."""
        return time.monotonic() - self._written >= EVERY

    def at(self, step: int, loss: float | None = None) -> None:
        """This step is done."""
        if step >= self._first + WARM:
            self._marks.append((step, time.monotonic()))
        pace = None
        if len(self._marks) > 1:
            (first, since), (last, until) = self._marks[0], self._marks[-1]
            pace = (until - since) / (last - first)
        self.now = replace(self.now, step=step, loss=loss, seconds_a_step=pace)
        self._write()

    def saved(self, step: int) -> None:
        """The training can go on from this step."""
        self.now = replace(self.now, step=step, saved=step)
        self._write()

    def _write(self) -> None:
        self._written = time.monotonic()
        write_file(self.state / PROGRESS, json.dumps(asdict(self.now)).encode())


def read_progress(state: Path) -> Progress | None:
    """What a training last said of itself; None if it said nothing that can be read."""
    try:
        found = Progress(**json.loads((state / PROGRESS).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None
    numbers = (found.pid, found.step, found.steps, found.saved)
    return found if found.phase in get_args(Phase) and all(type(each) is int for each in numbers) else None


def read_right(state: Path) -> list[tuple[int, int, int]]:
    """Step, pairs answered right, and pairs that were asked, of each count so far; nothing of a damaged file."""
    try:
        lines = (state / RIGHT).read_text(encoding="utf-8").splitlines()[1:]
        rows = [tuple(map(int, line.split(","))) for line in lines]
    except (OSError, ValueError):
        return []
    return [(row[0], row[1], row[2]) for row in rows if len(row) == 3]
