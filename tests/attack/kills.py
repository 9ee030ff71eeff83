"""Kills and signals at any moment of a training, while a checkpoint folder is saved, and while another program's file
is opened: what is left opens or goes on.

All trainings are forked from one process that has imported what they need: `python -m attack.kills COUNT SEED FOLDER
[train] [save] [open]` prints a line for each that got through, and ends with status 0 if there was none.
"""

from __future__ import annotations

import importlib
import os
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from random import Random

from attack.trying import Broken, check, check_sentence

SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
STEPS = "24"
STOPPED = {signal.SIGKILL: -9, signal.SIGTERM: 143, signal.SIGINT: 130}
CLOCK = 300.0


def main(count: int, seed: str, place: Path, *only: str) -> int:
    """As many tries of each kind, three times as many openings; the number of those that got through."""
    Path(place).mkdir(parents=True, exist_ok=True)
    only = only or ("train", "save", "open")
    nursery = Nursery(place)
    through = 0
    kinds = {"train": (nursery.train, count), "save": (nursery.save, count), "open": (nursery.opening, 3 * count + 1)}
    for kind, (attack, tries) in kinds.items():
        for number in range(tries if kind in only else 0):
            try:
                attack(Random(f"{kind} {seed} {number}"), place / f"{kind}-{number}")
            except Broken as broken:
                through += 1
                print(f"kills {kind}, seed {seed}, number {number}: {' '.join(str(broken).split())}", flush=True)
    print(f"openings killed while they wrote: {nursery.unfinished}", file=sys.stderr)
    return through


class Nursery:
    """The task, its data, and how long a training takes when nothing stops it."""

    def __init__(self, place: Path) -> None:
        sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "train"))
        import lightning.pytorch  # noqa: F401
        import torch
        from backwards import LATE, backwards_task, write_data

        import viz_transformer.train.run  # noqa: F401
        from viz_transformer.train import tasks

        for name in LATE:
            importlib.import_module(name)
        tasks.TASKS = {"backwards": backwards_task()}
        os.cpu_count = lambda: 1  # trainings of one thread: two that wait for each other take minutes on a busy machine
        torch.set_num_threads(1)  # a child has none of the threads that its parent has started, and would wait for them
        self.opened: float | None = None
        self.unfinished = 0
        self.data = write_data(place / "data")
        began = time.monotonic()
        check(self.ended(self.training(place / "whole")) == 0, "a training that nobody stops fails")
        self.seconds, self.weights = time.monotonic() - began, digest(place / "whole")

    def train(self, draw: Random, place: Path) -> None:
        """A training that is stopped at some moment leaves a folder that opens, or none, and can be ended."""
        place.mkdir()
        out, number = place / "out", draw.choice(SIGNALS)
        child = self.training(out)
        time.sleep(draw.uniform(0, self.seconds))
        os.kill(child, number)
        status = self.ended(child)
        what = f"{signal.Signals(number).name}, status {status}"
        # 0: it was faster; a signal that comes before the program listens to it ends it as it ends any program
        check(status in (0, STOPPED[number], -number), f"{what}: {said(out)[-200:]!r}")
        check("Traceback" not in said(out), f"{what}, and a traceback")
        if out.exists():
            digest(out)
        if self.ended(self.training(out, "--resume")) != 0:
            last = said(out).splitlines()[-1]
            check("there is nothing to resume" in last, f"{what}, then --resume: {last!r:.300}")
            check_sentence(last)
            check(self.ended(self.training(out)) == 0, f"{what}, then anew: {said(out)[-300:]!r}")
        check(digest(out) == self.weights, f"{what}: the weights are others than those of an unbroken training")
        left = [path for path in place.rglob("*") if path.name.endswith((".new", ".old", ".tmp"))]
        check(not left, f"{what}: {left} is left")

    def save(self, draw: Random, place: Path) -> None:
        """A folder that is saved again and again when the process is killed is the old one or the new one, whole."""
        from builders import tiny_checkpoint

        from viz_transformer.checkpoint import list_checkpoints, save_checkpoint

        place.mkdir()
        versions = [tiny_checkpoint(seed=seed) for seed in (0, 1)]

        def saves() -> int:
            for number in range(10_000):
                ckpt = versions[number % 2]
                save_checkpoint(
                    place / "tiny",
                    state_dict=ckpt.model.state_dict(),
                    config=ckpt.config,
                    source_codec=ckpt.source_codec,
                    target_codec=ckpt.target_codec,
                    card={"task": str(number % 2)},
                )
            return 0

        child = forked(saves, place / "said")
        deadline = time.monotonic() + CLOCK
        while not (place / "tiny").exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(draw.uniform(0, 0.1))
        os.kill(child, signal.SIGKILL)
        self.ended(child)
        names = [summary.name for summary in list_checkpoints(place)]
        check(names == ["tiny"], f"the folders are {names}")
        digest(place / "tiny")

    def opening(self, draw: Random, place: Path) -> None:
        """The library is killed while it takes another program's file: it has the whole model or nothing of it."""
        import torch
        from builders import tiny_checkpoint

        from viz_transformer.checkpoint.importers.importing import Answers, import_file
        from viz_transformer.checkpoint.library import kept_models, new_place

        place.mkdir()
        os.environ["VIZ_TRANSFORMER_LIBRARY"] = str(place / "library")
        torch.save(tiny_checkpoint(d_model=256, d_ff=2048).model.state_dict(), place / "m.pt")

        def opens(name: str) -> Callable[[], int]:
            told = Answers(settings={"n_heads": 4})
            return lambda: import_file(place / "m.pt", new_place(name, set()), told) is None

        if self.opened is None:
            began = time.monotonic()
            check(self.ended(forked(opens("first"), place / "said")) == 0, said(place / "m.pt"))
            self.opened = time.monotonic() - began
        there = {model.name for model in kept_models()}
        child = forked(opens("m"), place / "said")
        time.sleep(draw.uniform(0, 1.2 * self.opened))
        os.kill(child, signal.SIGKILL)
        status = self.ended(child)
        self.unfinished += any((place / "library").glob(".*"))
        names = {model.name for model in kept_models()}
        check(names in (there, there | {"m"}), f"status {status}: the models are {names}")
        for name in names:
            digest(place / "library" / name)
        left = {path.name for path in (place / "library").glob("*")} | {p.name for p in (place / "library").glob(".*")}
        check(left == names, f"status {status}: {left - names} is left")

    def training(self, out: Path, *more: str) -> int:
        """The process of a training that writes this folder."""
        from viz_transformer import command

        words = ["train", "backwards", "--data", str(self.data), "--out", str(out), "--device", "cpu"]

        def run() -> int:
            try:
                command.main([*words, *([] if more else ["--steps", STEPS]), *more])
            except SystemExit as end:
                return end.code if isinstance(end.code, int) else 1

        return forked(run, out.with_name("said"))

    def ended(self, child: int) -> int:
        """The exit status, negative for a signal. Raises Broken if it does not end."""
        deadline = time.monotonic() + CLOCK
        while time.monotonic() < deadline:
            done, status = os.waitpid(child, os.WNOHANG)
            if done:
                return os.waitstatus_to_exitcode(status)
            time.sleep(0.01)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        raise Broken(f"it goes on for {CLOCK:g} s")


def forked(work: Callable[[], int], output: Path) -> int:
    """A copy of this process that does the work and ends with its status; what it says goes into the file."""
    sys.stdout.flush()
    output.parent.mkdir(parents=True, exist_ok=True)
    file = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)  # here: the child may be killed at once
    child = os.fork()
    if child:
        os.close(file)
        return child
    status = 130  # unless it comes to an end of its own
    with suppress(BaseException):
        for stream in (1, 2):
            os.dup2(file, stream)
        status = work()
        sys.stdout.flush(), sys.stderr.flush()
    os._exit(status)


def said(out: Path) -> str:
    """What the training of this folder has said."""
    return out.with_name("said").read_text(encoding="utf-8", errors="replace").strip()


def digest(folder: Path) -> str:
    """Of the weights of a checkpoint folder that opens. Raises Broken if it does not."""
    from viz_transformer.checkpoint import CheckpointError, load

    try:
        load(folder)
    except CheckpointError as error:
        raise Broken(f"what is left does not open: {error}") from None
    return sha256((folder / "model.safetensors").read_bytes()).hexdigest()


if __name__ == "__main__":
    sys.exit(min(main(int(sys.argv[1]), sys.argv[2], Path(sys.argv[3]), *sys.argv[4:]), 1))
