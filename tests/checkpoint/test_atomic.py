"""Saving is atomic: killed at any moment, raised at, or read at the same time, a folder is the old one or the new."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from viz_transformer.checkpoint import atomic
from viz_transformer.checkpoint.atomic import recover, replace_folder

# Runs in a process of its own: saves B over A in a forked child that kills itself before its n-th change to the disk,
# for n = 0, 1, ... until the child gets through, and prints each time what a reader finds.
KILLER = """
import json, os, shutil, signal, sys
from pathlib import Path
import torch
from builders import tiny_checkpoint
from viz_transformer.checkpoint import atomic, load, save_checkpoint

torch.set_num_threads(1)
folder, exchanges = Path(sys.argv[1]), sys.argv[2] == "exchange"
if not exchanges:
    atomic._exchange = lambda a, b: False
checkpoints = {which: tiny_checkpoint("decoder-only", seed=ord(which), decoder_layers=1) for which in "AB"}

def save(which):
    ckpt = checkpoints[which]
    weights = ckpt.model.state_dict()
    save_checkpoint(folder, state_dict=weights, config=ckpt.config, source_codec=ckpt.source_codec,
                    target_codec=ckpt.target_codec, card={"which": which}, examples=[(which, which)],
                    snapshots={7: weights}, dtype="float32")

def found():
    loaded = load(folder)
    which = loaded.card["which"]
    assert loaded.examples() == [(which, which)]
    for ckpt in (loaded, loaded.at_snapshot(7)):
        for name, tensor in checkpoints[which].model.state_dict().items():
            assert torch.equal(ckpt.model.state_dict()[name], tensor)
    return which

def killed_at(n):
    child = os.fork()
    if child == 0:
        def count(event, args):
            nonlocal n
            if event in ("open", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "shutil.rmtree"):
                if n == 0:
                    os.kill(os.getpid(), signal.SIGKILL)
                n -= 1
        sys.addaudithook(count)
        save("B")
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL

save("A")
outcomes = []
while killed_at(len(outcomes)):
    outcomes.append(found())
    if outcomes[-1] == "B":
        save("A")
    else:  # clearing what is left would be the first thing that the next child does
        shutil.rmtree(folder.with_name(".ckpt.new"), ignore_errors=True)
save("B")
print(json.dumps([outcomes, found(), sorted(os.listdir(folder.parent))]))
"""


@pytest.mark.parametrize("way", ["exchange", pytest.param("two renames", marks=pytest.mark.slow)])
def test_a_save_killed_at_any_moment_leaves_the_old_checkpoint_or_the_new(tmp_path: Path, way: str) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", KILLER, str(tmp_path / "ckpt"), way], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    outcomes, last, beside = json.loads(done.stdout)
    assert len(outcomes) > 20
    assert outcomes == sorted(outcomes)  # A A A ... B B: one moment at which the new one takes the old one's place
    assert {*outcomes} == {"A", "B"}
    assert outcomes.count("B") > 5  # also while the old folder is cleared away
    assert last == "B"
    assert beside == ["ckpt"]  # nothing of the killed saves is left


@pytest.fixture(params=["exchange", "two renames"])
def folder(tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder holding old.txt, to be replaced in either way."""
    if request.param == "two renames":
        monkeypatch.setattr(atomic, "_exchange", lambda a, b: False)
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "old.txt").write_text("old")
    return folder


def write_new(folder: Path) -> None:
    (folder / "inner").mkdir()
    (folder / "inner" / "new.txt").write_text("new")


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_the_new_content_takes_the_place_of_the_old_and_nothing_else_stays(folder: Path) -> None:
    replace_folder(folder, write_new)
    assert names(folder) == ["inner"]
    assert (folder / "inner" / "new.txt").read_text() == "new"
    assert names(folder.parent) == ["data"]


def test_a_folder_that_is_not_there_yet_is_made_with_its_parents(tmp_path: Path) -> None:
    replace_folder(tmp_path / "a" / "b", write_new)
    assert names(tmp_path / "a") == ["b"]
    assert names(tmp_path / "a" / "b") == ["inner"]


def test_an_error_while_writing_leaves_the_old_content(folder: Path) -> None:
    def fail(new: Path) -> None:
        write_new(new)
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        replace_folder(folder, fail)
    assert names(folder) == ["old.txt"]
    assert names(folder.parent) == ["data"]


def test_exchange_swaps_two_folders_or_says_that_it_cannot(tmp_path: Path) -> None:
    for name in ("x", "y"):
        (tmp_path / name).mkdir()
        (tmp_path / name / f"was-{name}").touch()
    swapped = atomic._exchange(tmp_path / "x", tmp_path / "y")
    assert names(tmp_path / "x") == (["was-y"] if swapped else ["was-x"])
    assert names(tmp_path / "y") == (["was-x"] if swapped else ["was-y"])


def test_a_folder_that_a_kill_left_beside_its_place_is_brought_back(folder: Path) -> None:
    folder.rename(folder.parent / ".data.old")
    recover(folder)
    assert names(folder) == ["old.txt"]
    assert names(folder.parent) == ["data"]


def test_recovering_does_not_touch_a_folder_that_is_in_its_place(folder: Path) -> None:
    (folder.parent / ".data.old").mkdir()
    recover(folder)
    assert names(folder) == ["old.txt"]


def test_what_earlier_kills_left_behind_is_cleared_by_the_next_save(folder: Path) -> None:
    for leftover in (".data.old", ".data.new"):
        (folder.parent / leftover).mkdir()
        (folder.parent / leftover / "half.txt").touch()
    replace_folder(folder, write_new)
    assert names(folder) == ["inner"]
    assert names(folder.parent) == ["data"]


def test_two_savers_of_one_folder_wait_for_each_other(folder: Path) -> None:
    inside = 0
    most = 0

    def write(new: Path) -> None:
        nonlocal inside, most
        inside += 1
        most = max(most, inside)
        time.sleep(0.05)
        write_new(new)
        inside -= 1

    savers = [threading.Thread(target=replace_folder, args=(folder, write)) for _ in range(4)]
    for saver in savers:
        saver.start()
    for saver in savers:
        saver.join()
    assert most == 1
    assert names(folder) == ["inner"]


def test_a_link_to_a_folder_stays_a_link(folder: Path) -> None:
    link = folder.parent / "link"
    link.symlink_to(folder)
    replace_folder(link, write_new)
    assert link.is_symlink()
    assert names(folder) == ["inner"]
