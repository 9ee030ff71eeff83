"""Trainings in processes of their own: whoever started one may end; it goes on, is found, stopped, gone on with."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from viz_transformer.analysis.models.snapshots import at_step, learning_run, shown_pairs, snapshot_steps
from viz_transformer.checkpoint import load
from viz_transformer.train import processes
from viz_transformer.train.processes import Asked, Training, go_on, remove, running, start, stop, trainings
from viz_transformer.train.progress import MARKS, WARM, Reporter, read_progress
from viz_transformer.train.user_data import OwnData

SECONDS = 120
STARTER = """
import sys
from viz_transformer.train.user_data import OwnData
from viz_transformer.train.processes import Asked, start
start(Asked(own=OwnData(pairs=sys.argv[1], layers=1, heads=2, d_model=8, snapshots=4), steps=20_000), "orphan", set())
"""


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("VIZ_TRANSFORMER_CHECKPOINTS", str(tmp_path / "runs"))
    yield tmp_path / "runs"
    for each in trainings():
        if each.running:
            stop(each)
            until(lambda each=each: not each.running)


def small(pairs: Path, steps: int) -> Asked:
    return Asked(own=OwnData(pairs=pairs, layers=1, heads=2, d_model=8, snapshots=4), steps=steps)


def until(there: Callable[[], object]) -> None:
    deadline = time.monotonic() + SECONDS
    while not there():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def step_of(training: Training) -> int:
    return 0 if (progress := training.progress()) is None else progress.step


@pytest.mark.slow
def test_it_goes_on_after_whoever_started_it_is_stopped_killed_and_is_a_model_in_the_end(
    runs: Path, digits: Path
) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "-c", STARTER, str(digits)], env=environment, check=True, timeout=SECONDS)
    (found,) = trainings()
    until(lambda: step_of(found) > 3)
    assert running() == found and found.history()[0]["step"] == 0
    with pytest.raises(ValueError, match="the training of orphan goes on"):
        start(small(digits, 5), "other", set())
    with pytest.raises(ValueError, match="stop it first"):
        remove(found)
    stop(found)
    until(lambda: not found.running)
    progress = found.progress()
    assert progress is not None and 3 < progress.saved == progress.step < 20_000
    assert found.saved and not found.done and found.last_word().startswith(f"stopped after step {progress.saved}")
    assert not (runs / "orphan").exists() and running() is None

    go_on(found)
    until(found.progress)
    os.kill(found.progress().pid, signal.SIGKILL)  # type: ignore[union-attr]
    until(lambda: not found.running)
    assert found.saved and not found.done and found.last_word() == ""

    before = snapshot_steps(found.state)
    note = json.loads((found.state / processes.ASKED).read_text())
    (found.state / processes.ASKED).write_text(json.dumps({**note, "steps": progress.saved + 10}))
    (found,) = trainings()
    go_on(found)
    until(lambda: not found.running)
    assert found.done, found.last_word()
    ckpt, steps = load(runs / "orphan"), snapshot_steps(found.state)
    assert ckpt.card["steps"] == progress.saved + 10 and {*before} <= {*ckpt.snapshots()} == {*steps}
    assert [step for step, right, of in found.right() if 0 <= right <= of] == [*steps]
    assert found.history() == ckpt.history()

    beginning = load(found.beginning)
    pair = shown_pairs(beginning)[0]
    assert pair in ckpt.examples()
    last = learning_run(beginning, found.state, steps[-1], pair)
    assert last.run.text == pair[1] and last.loss > 0
    kept, again = ckpt.at_snapshot(steps[-1]), at_step(beginning, found.state, steps[-1])
    for name, weight in kept.model.state_dict().items():
        assert again.model.state_dict()[name].equal(weight), name

    remove(found)
    assert trainings() == () and load(runs / "orphan")


def test_a_training_that_fails_says_why_in_its_last_word(runs: Path, tmp_path: Path) -> None:
    begun = start(small(tmp_path / "none.tsv", 5), "mine", set())
    until(lambda: not begun.running)
    assert begun.last_word() == f"there is no file {tmp_path / 'none.tsv'}" and not begun.saved


@pytest.mark.parametrize("name", ["", "a/b", "..", "mine\x00", "x" * 61, "taken", "there"])
def test_a_name_that_cannot_be_is_refused_and_nothing_is_written(name: str, runs: Path, digits: Path) -> None:
    (runs / "there.training").mkdir(parents=True)
    with pytest.raises(ValueError, match="name"):
        start(small(digits, 5), name, {"taken"})
    assert [path.name for path in runs.iterdir()] == ["there.training"]
    assert processes.usual_name("there.tsv", {"there-2"}) == "there-3"


def test_a_folder_that_cannot_be_written_is_a_sentence(
    tmp_path: Path, digits: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VIZ_TRANSFORMER_CHECKPOINTS", str(digits))
    with pytest.raises(ValueError, match="cannot be made"):
        start(small(digits, 5), "mine", set())


def test_the_options_ask_for_what_was_asked_and_whole_paths_are_noted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    asked = Asked(own=OwnData(pairs="-mine.tsv", tokens="words", dropout=0.1), epochs=3)
    assert asked.options() == ["--pairs=-mine.tsv", "--tokens=words", "--dropout=0.1", "--epochs=3", "--device=auto"]
    asked.write(tmp_path)
    assert json.loads((tmp_path / "asked.json").read_text())["own"]["pairs"] == str(tmp_path / "-mine.tsv")


def test_the_time_left_is_said_only_when_it_was_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: clock)
    reporter = Reporter(tmp_path)
    reporter.began(40, 240)
    for step in range(41, 40 + WARM + 1):
        reporter.at(step)
        assert reporter.now.left is None
    for step in range(40 + WARM + 1, 140):
        clock += 2.0 if step < 100 else 0.5
        reporter.at(step)
    assert reporter.now.seconds_a_step == 0.5 and reporter.now.left == 0.5 * 101 and MARKS < 40
    assert read_progress(tmp_path) == reporter.now


@pytest.mark.parametrize("content", ["", "{", "[]", '{"pid": "1"}', '{"pid": 1, "phase": "odd"}', '{"other": 1}'])
def test_progress_that_cannot_be_read_is_none(content: str, tmp_path: Path) -> None:
    (tmp_path / "progress.json").write_text(content)
    assert read_progress(tmp_path) is None
