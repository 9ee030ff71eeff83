"""Trainings on one's own data as processes of their own: started, found again, stopped, gone on with, removed.

Everything that is known of one lies in files, so whoever started it may end: it goes on, and the next one finds it.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from threading import Lock
from typing import Any

from viz_transformer.checkpoint.contents import read_history
from viz_transformer.checkpoint.files import CheckpointError
from viz_transformer.checkpoint.folders import CHECKPOINTS_VARIABLE, RUNS
from viz_transformer.checkpoint.library import check_name
from viz_transformer.checkpoint.writing import write_file
from viz_transformer.train.lock import is_training
from viz_transformer.train.progress import BEGINNING, EXPORTED, PROGRESS, Progress, read_progress, read_right
from viz_transformer.train.user_data import OwnData

ASKED, LOG, SAVED = "asked.json", "output.txt", "last.ckpt"
ENDING = ".training"
NEEDED = ("lightning", "tokenizers")
NEEDS = (
    "training needs Lightning and tokenizers: in the folder of this project, `pip install -e '.[train]'` installs them"
)
NICENESS = 3
"""How much a training stands back for what a person waits for."""
_children: dict[Path, subprocess.Popen[bytes]] = {}
_starting = Lock()


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What a training on one's own data was started with; its paths are whole, so that it can go on from anywhere."""

    own: OwnData
    epochs: int | None = None
    steps: int | None = None
    peak_rate: float | None = None
    device: str = "auto"

    def whole(self) -> Asked:
        """The same with whole paths, as texts."""
        given = {name: getattr(self.own, name) for name in ("pairs", "valid", "test")}
        paths = {name: os.path.abspath(os.path.expanduser(path)) for name, path in given.items() if path is not None}
        return replace(self, own=replace(self.own, **paths))

    def write(self, state: Path) -> None:
        """Into the folder of the training's state."""
        write_file(state / ASKED, json.dumps(asdict(self.whole()), indent=1).encode())

    def options(self) -> list[str]:
        """The options of `viz-transformer train` that ask for it."""
        given = {**asdict(self.own), **{name: value for name, value in asdict(self).items() if name != "own"}}
        words = []
        for name, value in given.items():
            words += [] if value is None else [f"--{name.replace('_', '-')}={value}"]
        return words


@dataclass(frozen=True)
class Training:
    """One training of the folder: `out` is the checkpoint that it makes, `state` what it has so far."""

    out: Path
    state: Path
    asked: Asked

    @property
    def name(self) -> str:
        return self.out.name

    @property
    def running(self) -> bool:
        """Whether a process works on it now, whoever started that."""
        child = _children.get(self.state)
        return (child is not None and child.poll() is None) or is_training(self.state)

    @property
    def done(self) -> bool:
        """Whether its checkpoint is complete."""
        return (self.state / EXPORTED).is_file()

    @property
    def saved(self) -> bool:
        """Whether there is something to go on from."""
        return (self.state / SAVED).is_file()

    def progress(self) -> Progress | None:
        """What it said last; None before its first word."""
        return read_progress(self.state)

    def right(self) -> list[tuple[int, int, int]]:
        """Step, validation pairs answered right, and how many were asked, of each count so far."""
        return read_right(self.state)

    @property
    def beginning(self) -> Path:
        """The checkpoint folder of the model before its first step; it is there when the data have been read."""
        return self.state / BEGINNING

    def history(self) -> list[dict[str, float]]:
        """The rows of its history so far; none while there is none that can be read."""
        try:
            return read_history(self.state)
        except CheckpointError:
            return []

    def last_word(self) -> str:
        """The last line that its process wrote, which says why it ended; "" if it said nothing."""
        try:
            lines = (self.state / LOG).read_text(encoding="utf-8", errors="replace").split("\n")
        except OSError:
            return ""
        return next((line.strip() for line in reversed(lines) if line.strip()), "")


def missing() -> tuple[str, ...]:
    """The libraries that training needs and this installation lacks."""
    return tuple(name for name in NEEDED if importlib.util.find_spec(name) is None)


def folder() -> Path:
    """Where trainings are: the last folder that the app looks into, `./runs` if nothing else was said."""
    given = [each for each in os.environ.get(CHECKPOINTS_VARIABLE, RUNS).split(os.pathsep) if each]
    return Path(given[-1] if given else RUNS)


def trainings() -> tuple[Training, ...]:
    """The trainings on own data in the folder, the one that moved last first."""
    found = []
    with suppress(OSError):
        for state in folder().glob(f"*{ENDING}"):
            if (asked := _read_asked(state)) is not None:
                found.append(Training(state.with_name(state.name.removesuffix(ENDING)), state, asked))
    return tuple(sorted(found, key=_moved, reverse=True))


def running() -> Training | None:
    """The training that goes on now, if there is one."""
    return next((each for each in trainings() if each.running), None)


def usual_name(file: str, taken: set[str]) -> str:
    """A name for what is learned from this file that is free."""
    stem = "".join(sign if sign.isascii() and sign.isalnum() else "-" for sign in Path(file).name.split(".")[0])
    name = stem.strip("-")[:50] or "own"
    names = (name if count == 1 else f"{name}-{count}" for count in range(1, 10_000))
    return next(each for each in names if _is_free(each, taken))


def start(asked: Asked, name: str, taken: set[str], *, keep: bool = False) -> Training:
    """Start a training under this name; with `keep` its file is copied beside it first, since it will not stay.

    Raises ValueError for a name that cannot be or is taken, while another one runs, and if nothing can be written.
    """
    check_name(name)
    if not _is_free(name, taken):
        raise ValueError(f"there is a model or a training named {name} already: choose another name")
    with _starting:
        _refuse_second()
        out = folder() / name
        state = out.with_name(name + ENDING)
        try:
            state.mkdir(parents=True)
            if keep:
                asked = replace(asked, own=_kept_beside(asked.own, out))
            asked.write(state)
        except OSError as error:
            raise ValueError(f"{state} cannot be made ({error.strerror or error}): start the app elsewhere") from None
        return _run(Training(out, state, asked.whole()))


def go_on(training: Training) -> None:
    """Continue a training from its last saved step, or begin it again if none is saved.

    Raises ValueError while a training runs.
    """
    with _starting:
        _refuse_second()
        _run(training, *["--resume"] * training.saved)


def stop(training: Training) -> None:
    """Ask its process to save the step that is under way and to end; it takes a moment. On Windows it ends at once."""
    child = _children.get(training.state)
    if child is not None and child.poll() is None:
        child.terminate()
    elif is_training(training.state) and (progress := training.progress()) is not None:
        with suppress(ProcessLookupError):  # it has just ended
            os.kill(progress.pid, signal.SIGTERM)


def remove(training: Training) -> None:
    """Remove what a training has saved; its checkpoint, if there is one, stays. Raises ValueError while it runs."""
    if training.running:
        raise ValueError(f"the training of {training.name} goes on: stop it first")
    shutil.rmtree(training.state, ignore_errors=True)


def _run(training: Training, *more: str) -> Training:
    inside = training.out.absolute().is_relative_to(Path.cwd())
    out = training.out.absolute().relative_to(Path.cwd()) if inside else training.out.absolute()
    words = ["train", *training.asked.options(), f"--out={out}", "--quiet", *more]
    # -P: as for the command itself, what lies in the present folder is no library.
    command = [sys.executable, "-P", "-m", "viz_transformer.command", *words]
    (training.state / PROGRESS).unlink(missing_ok=True)  # of another process
    with (training.state / LOG).open("wb") as log:
        child = subprocess.Popen(
            command,
            env=_environment(),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,  # the terminal's Ctrl-C and its end are not for the training
            creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
        )
    _children[training.state] = child
    if hasattr(os, "setpriority"):
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, child.pid, NICENESS)
    return training


def _refuse_second() -> None:
    if (other := running()) is not None:
        raise ValueError(f"the training of {other.name} goes on: wait until it has ended, or stop it")


def _is_free(name: str, taken: set[str]) -> bool:
    return name not in taken and not any((folder() / each).exists() for each in (name, name + ENDING))


def _environment() -> dict[str, str]:
    """That of this process; in a checkout, where the package may not be installed, also where it lies."""
    here = Path(__file__).resolve().parents[2]
    if not (here / "pyproject.toml").is_file():
        return {**os.environ}
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(here), *filter(None, [os.environ.get("PYTHONPATH")])])}


def _kept_beside(own: OwnData, out: Path) -> OwnData:
    """The data with its file copied beside the checkpoint that is to be, under its name."""
    file = Path(own.pairs)
    place = out.with_name(out.name + "".join(file.suffixes[-2:]))
    shutil.copyfile(file, place)
    return replace(own, pairs=place)


def _moved(training: Training) -> float:
    times = [0.0]
    for name in (ASKED, LOG, PROGRESS, EXPORTED):
        with suppress(OSError):
            times.append((training.state / name).stat().st_mtime)
    return max(times)


def _read_asked(state: Path) -> Asked | None:
    """What is noted there; None for a training of a bundled task, and for what cannot be read."""
    try:
        content: dict[str, Any] = json.loads((state / ASKED).read_text(encoding="utf-8"))
        return Asked(**{**content, "own": OwnData(**content["own"])})
    except (OSError, ValueError, TypeError, KeyError):
        return None
