"""Trainings of the command in processes of their own, which get signals: prints as JSON how each of them ended.
With a second argument those that are killed at any moment, and else all others.

The processes are forked from this one, so that torch is imported once. What is to happen in one is done by a `hook`.
"""

from __future__ import annotations

import contextlib
import csv
import errno
import hashlib
import importlib
import io
import json
import os
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from backwards import LATE, backwards_task, write_data
from lightning.pytorch import Callback

from viz_transformer.command import main
from viz_transformer.train import checkpoint_callback, run
from viz_transformer.train.checkpoint_callback import last_path, last_step
from viz_transformer.train.user_data import TrainingSettings

FOLDER = Path(sys.argv[1])
STEPS = 12  # saved every 5
INT, TERM, KILL = signal.SIGINT, signal.SIGTERM, signal.SIGKILL


def nothing() -> None:
    pass


def forked(out: str, *options: str, hook: Callable[[], None] = nothing) -> int:
    """Start the command in a child; returns its process id."""
    child = os.fork()
    if child:
        return child
    status = 70
    try:
        with (FOLDER / f"{out}.stderr").open("w", encoding="utf-8", errors="backslashreplace") as file:
            os.dup2(file.fileno(), 2)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        hook()
        data = str(FOLDER / "data")
        main(["train", "backwards", "--data", data, "--device", "cpu", "--out", str(FOLDER / out), *options])
    except SystemExit as ending:
        status = ending.code  # type: ignore[assignment]
    finally:
        sys.stderr.flush()
        os._exit(status)


def ended(child: int) -> int:
    """The exit status of a child, -9 if it was killed."""
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def said(out: str) -> str:
    lines = (FOLDER / f"{out}.stderr").read_text(encoding="utf-8").splitlines()
    return "\n".join(line for line in lines if line and not line.startswith("evaluated"))


def curve(out: str) -> Any:
    """Everything of the result that does not depend on the time: weights, snapshots, history."""
    folder = FOLDER / out
    weights = [folder / "model.safetensors", *sorted((folder / "snapshots").iterdir())]
    rows = csv.DictReader(io.StringIO((folder / "history.csv").read_text(encoding="utf-8")))
    history = [{name: value for name, value in row.items() if name != "seconds"} for row in rows]
    return [[hashlib.sha256(file.read_bytes()).hexdigest() for file in weights], history]


def half(state: Path) -> int:
    """How many files were not written to their end."""
    return sum(1 for _ in state.rglob("*.new"))


def outcome(out: str, status: int) -> dict[str, Any]:
    """How a training ended, what it left, and whether it becomes what it would have become when it is resumed."""
    state = FOLDER / f"{out}.training"
    left = {
        "status": status,
        "said": said(out),
        "saved": last_step(state) if last_path(state).is_file() else None,
        "half": half(state),
        "exported": (FOLDER / out).exists(),
    }
    if left["saved"] is not None:
        left["resumed"] = ended(forked(out, "--resume"))
        left["same"] = curve(out) == curve("whole") and not half(state)
    return left


def train(out: str, hook: Callable[[], None]) -> dict[str, Any]:
    return outcome(out, ended(forked(out, "--steps", str(STEPS), hook=hook)))


def raise_all(signums: tuple[signal.Signals, ...]) -> None:
    for signum in signums:
        signal.raise_signal(signum)


def in_step(step: int, act: Callable[[], object]) -> Callable[[], None]:
    """A hook that acts before the update that makes this step."""

    class Act(Callback):
        def on_train_batch_start(self, trainer: Any, *_: Any) -> None:
            if trainer.global_step == step - 1:
                act()

    return lambda: setattr(run, "_progress_bar", lambda quiet: [Act()])


def before(module: Any, name: str, act: Callable[..., object]) -> Callable[[], None]:
    """A hook that acts, with the arguments, before each call of a function."""

    def install() -> None:
        real = getattr(module, name)

        def wrapped(*arguments: Any, **options: Any) -> Any:
            act(*arguments, **options)
            return real(*arguments, **options)

        setattr(module, name, wrapped)

    return install


def when_saved(number: int, *signums: signal.Signals) -> Callable[..., None]:
    """Raises the signals just before the state of the training takes its place for the n-th time."""
    count = 0

    def act(new: Path, path: Path, **_: Any) -> None:
        nonlocal count
        count += Path(path).name == "last.ckpt"
        if count == number and Path(path).name == "last.ckpt":
            raise_all(signums)

    return act


def swallowed(*_: Any) -> None:
    with contextlib.suppress(BaseException):
        signal.raise_signal(TERM)


def turned_into_another_error(*_: Any) -> None:
    try:
        signal.raise_signal(TERM)
    except BaseException:
        raise ImportError("half imported") from None


def full(*_: Any) -> None:
    if (FOLDER / "full disk.training" / "last.ckpt").is_file():
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def from_python() -> None:
    """The function instead of the command."""
    in_step(8, lambda: signal.raise_signal(TERM))()
    settings = TrainingSettings(steps=STEPS, device="cpu")
    run.train("backwards", settings, data=FOLDER / "data", out=FOLDER / "from Python", quiet=True)


def twice() -> dict[str, Any]:
    """A second training while a first one, in its 8th step, is running; then the first is killed."""
    ready, go = os.pipe(), os.pipe()
    arrived = in_step(8, lambda: (os.write(ready[1], b"."), os.read(go[0], 1)))
    first = forked("twice", "--steps", str(STEPS), hook=arrived)
    os.read(ready[0], 1)
    seconds = [[ended(forked("twice", *options)), said("twice")] for options in ([], ["--resume"])]
    os.kill(first, KILL)
    return {"seconds": seconds, **outcome("twice", ended(first))}


def kill_before(number: int, of: Callable[[str, Any], bool]) -> Callable[[], None]:
    """A hook that kills the process before the n-th event, from 0, of some kind."""

    def hook() -> None:
        left = number

        def count(event: str, args: Any) -> None:
            nonlocal left
            if of(event, args):
                left -= 1
                if left < 0:
                    os.kill(os.getpid(), KILL)

        sys.addaudithook(count)

    return hook


def clearing() -> Callable[[str, Any], bool]:
    """Says of each event whether it removes something before the note of the new training is written."""
    over = False

    def removes(event: str, args: Any) -> bool:
        nonlocal over
        over = over or (event == "os.rename" and str(args[1]).endswith("training.json"))
        return not over and event in ("os.remove", "os.rmdir")

    return removes


def changes(event: str, args: Any) -> bool:
    """Whether an event changes the disk in our folder."""
    opens = event == "open" and str(args[0]).startswith(str(FOLDER)) and str(args[1]).startswith("w")
    return opens or event in ("os.mkdir", "os.rename", "os.remove", "os.rmdir")


def killed_in_training() -> list[dict[str, Any]]:
    """Killed before every 17th change to the disk until one gets through, and each time continued, or begun again."""
    outcomes: list[dict[str, Any]] = []
    while True:
        out = f"killed {len(outcomes)}"
        status = ended(forked(out, "--steps", str(STEPS), hook=kill_before(17 * len(outcomes) + 7, changes)))
        if status == 0:
            return outcomes
        begun = (FOLDER / f"{out}.training" / "training.json").is_file()
        again = ended(forked(out, *(["--resume"] if begun else ["--steps", str(STEPS)])))
        outcomes.append({"status": status, "begun": begun, "again": again, "same": curve(out) == curve("whole")})


def killed_in_clearing() -> list[tuple[int, int]]:
    """A finished training is made anew, and killed at each removal of what it had; then begun once more."""
    outcomes: list[tuple[int, int]] = []
    while True:
        out = f"cleared {len(outcomes)}"
        shutil.copytree(FOLDER / "whole.training", FOLDER / f"{out}.training")
        status = ended(forked(out, "--steps", "1", hook=kill_before(len(outcomes), clearing())))
        if status == 0:
            return outcomes
        outcomes.append((status, ended(forked(out, "--steps", "1"))))


if __name__ == "__main__":
    torch.set_num_threads(1)
    os.cpu_count = lambda: 1  # one thread in each training
    os.fsync = lambda _: None  # no power is cut here
    for ours in (INT, TERM):  # whatever who started this ignores
        signal.signal(ours, signal.default_int_handler if ours == INT else signal.SIG_DFL)
    for name in LATE:
        importlib.import_module(name)
    write_data(FOLDER / "data")
    task = backwards_task()
    run.find_task = lambda name: task  # type: ignore[assignment]
    outcomes: dict[str, Any] = {"whole": ended(forked("whole", "--steps", str(STEPS)))}
    if sys.argv[2:]:
        print(json.dumps(outcomes | {"training": killed_in_training(), "clearing": killed_in_clearing()}))
        sys.exit()
    outcomes |= {
        name: train(name, hook)
        for name, hook in {
            "SIGINT in step 8": in_step(8, lambda: signal.raise_signal(INT)),
            "SIGTERM in step 8": in_step(8, lambda: signal.raise_signal(TERM)),
            "SIGTERM in the last step": in_step(STEPS, lambda: signal.raise_signal(TERM)),
            "two signals in step 3": in_step(3, lambda: raise_all((INT, TERM))),
            "two signals in step 8": in_step(8, lambda: raise_all((TERM, INT))),
            "reading": before(type(task), "prepare", lambda *_: signal.raise_signal(INT)),
            "swallowed": before(type(task), "prepare", swallowed),
            "turned into another error": before(type(task), "prepare", turned_into_another_error),
            "first measurement": before(checkpoint_callback, "mean_loss", lambda *_: signal.raise_signal(TERM)),
            "evaluation": before(run, "evaluate_checkpoint", lambda *_, **__: signal.raise_signal(INT)),
            "saving": before(os, "replace", when_saved(1, TERM)),
            "two signals while saving": before(os, "replace", when_saved(2, TERM, TERM)),
            "full disk": before(os, "fsync", full),
            "from Python": from_python,
        }.items()
    }
    outcomes |= {"twice": twice()}
    print(json.dumps(outcomes))
