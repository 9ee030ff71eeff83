"""Trainings on a user's own data, as separate processes: started, found, stopped, resumed, removed.

All state is in files, so a training survives whoever started it.
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
"""Niceness of the process, in favour of interactive work."""
_children: dict[Path, subprocess.Popen[bytes]] = {}
_starting = Lock()


@dataclass(frozen=True, kw_only=True)
class Asked:
    """Settings with which a training on own data was started; absolute paths, so that it can resume from anywhere."""

    own: OwnData
    epochs: int | None = None
    steps: int | None = None
    peak_rate: float | None = None
    device: str = "auto"

    def whole(self) -> Asked:
        """The same with absolute paths, as strings."""
        given = {name: getattr(self.own, name) for name in ("pairs", "valid", "test")}
        paths = {name: os.path.abspath(os.path.expanduser(path)) for name, path in given.items() if path is not None}
        return replace(self, own=replace(self.own, **paths))

    def write(self, state: Path) -> None:
        """Save to the folder of the training's state."""
        write_file(state / ASKED, json.dumps(asdict(self.whole()), indent=1).encode())

    def options(self) -> list[str]:
        """The equivalent options of `viz-transformer train`."""
        given = {**asdict(self.own), **{name: value for name, value in asdict(self).items() if name != "own"}}
        words = []
        for name, value in given.items():
            words += [] if value is None else [f"--{name.replace('_', '-')}={value}"]
        return words


@dataclass(frozen=True)
class Training:
    """One training of the folder. out: the checkpoint it makes. state: its state so far."""

    out: Path
    state: Path
    asked: Asked

    @property
    def name(self) -> str:
        return self.out.name

    @property
    def running(self) -> bool:
        """Whether a process is working on it, whoever started it."""
        child = _children.get(self.state)
        return (child is not None and child.poll() is None) or is_training(self.state)

    @property
    def done(self) -> bool:
        return (self.state / EXPORTED).is_file()

    @property
    def saved(self) -> bool:
        return (self.state / SAVED).is_file()

    def progress(self) -> Progress | None:
        """Its last reported progress; None before the first report."""
        return read_progress(self.state)

    def right(self) -> list[tuple[int, int, int]]:
        """(step, right answers, validation pairs) of each count so far."""
        return read_right(self.state)

    @property
    def beginning(self) -> Path:
        """Checkpoint folder of the untrained model, present once the data have been read."""
        return self.state / BEGINNING

    def history(self) -> list[dict[str, float]]:
        """Rows of its history so far; empty if there is none, or if unreadable."""
        try:
            return read_history(self.state)
        except CheckpointError:
            return []

    def last_word(self) -> str:
        """The last line of its output, which says why it ended; "" if there is none."""
        try:
            lines = (self.state / LOG).read_text(encoding="utf-8", errors="replace").split("\n")
        except OSError:
            return ""
        return next((line.strip() for line in reversed(lines) if line.strip()), "")


def missing() -> tuple[str, ...]:
    """Libraries that training needs and this installation lacks."""
    return tuple(name for name in NEEDED if importlib.util.find_spec(name) is None)


def folder() -> Path:
    """Folder of trainings: the last one that the app searches, `./runs` by default."""
    given = [each for each in os.environ.get(CHECKPOINTS_VARIABLE, RUNS).split(os.pathsep) if each]
    return Path(given[-1] if given else RUNS)


def trainings() -> tuple[Training, ...]:
    """Trainings on own data in the folder, most recently active first."""
    found = []
    with suppress(OSError):
        for state in folder().glob(f"*{ENDING}"):
            if (asked := _read_asked(state)) is not None:
                found.append(Training(state.with_name(state.name.removesuffix(ENDING)), state, asked))
    return tuple(sorted(found, key=_moved, reverse=True))


def running() -> Training | None:
    """The running training, or None."""
    return next((each for each in trainings() if each.running), None)


def usual_name(file: str, taken: set[str]) -> str:
    """A free name derived from the data file's."""
    stem = "".join(sign if sign.isascii() and sign.isalnum() else "-" for sign in Path(file).name.split(".")[0])
    name = stem.strip("-")[:50] or "own"
    names = (name if count == 1 else f"{name}-{count}" for count in range(1, 10_000))
    return next(each for each in names if _is_free(each, taken))


def start(asked: Asked, name: str, taken: set[str], *, keep: bool = False) -> Training:
    """Start a training under this name; `keep` first copies its temporary file next to it.

    Raises ValueError for an invalid or taken name, while another training runs, and if nothing can be written.
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
    """Resume a training from its last saved step, or restart it if there is none. Raises ValueError while one runs."""
    with _starting:
        _refuse_second()
        _run(training, *["--resume"] * training.saved)


def stop(training: Training) -> None:
    """Ask its process to save the current step and end, which takes a moment. On Windows it ends at once."""
    child = _children.get(training.state)
    if child is not None and child.poll() is None:
        child.terminate()
    elif is_training(training.state) and (progress := training.progress()) is not None:
        with suppress(ProcessLookupError):  # it has just ended
            os.kill(progress.pid, signal.SIGTERM)


def remove(training: Training) -> None:
    """Remove a training's state, keeping its checkpoint. Raises ValueError while it runs."""
    if training.running:
        raise ValueError(f"the training of {training.name} is still running: stop it first")
    shutil.rmtree(training.state, ignore_errors=True)


def _run(training: Training, *more: str) -> Training:
    inside = training.out.absolute().is_relative_to(Path.cwd())
    out = training.out.absolute().relative_to(Path.cwd()) if inside else training.out.absolute()
    words = ["train", *training.asked.options(), f"--out={out}", "--quiet", *more]
    # -P: do not import from the current folder, as in the installed command.
    command = [sys.executable, "-P", "-m", "viz_transformer.command", *words]
    (training.state / PROGRESS).unlink(missing_ok=True)  # from an earlier process
    with (training.state / LOG).open("wb") as log:
        child = subprocess.Popen(
            command,
            env=_environment(),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,  # the training survives the terminal and its Ctrl-C
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
    """This process' environment; in a checkout, with the package's location on PYTHONPATH."""
    here = Path(__file__).resolve().parents[2]
    if not (here / "pyproject.toml").is_file():
        return {**os.environ}
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(here), *filter(None, [os.environ.get("PYTHONPATH")])])}


def _kept_beside(own: OwnData, out: Path) -> OwnData:
    """The data with its file copied next to the future checkpoint, under its name."""
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
    """The saved settings; None for a bundled task, and if unreadable."""
    try:
        content: dict[str, Any] = json.loads((state / ASKED).read_text(encoding="utf-8"))
        return Asked(**{**content, "own": OwnData(**content["own"])})
    except (OSError, ValueError, TypeError, KeyError):
        return None
