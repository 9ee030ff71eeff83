"""Memory that was freed is used again, and what was imported is not searched for garbage."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from types import ModuleType

import pytest
import torch
from builders import tiny_checkpoint

from viz_transformer.model.tap import Recorder
from viz_transformer.running.decoding import decode, decode_stream, follow
from viz_transformer.running.edits import AblateHead
from viz_transformer.running.forks import fork
from viz_transformer.running.strategies import Beam, Sampling
from viz_transformer.running.tracing import trace
from viz_transformer.ui.session import memory
from viz_transformer.ui.session.memory import (
    keep_freed_memory,
    leave_imports_alone,
    leave_new_imports_alone,
    search_at_rest,
)

SCRIPT = """
import resource, sys
from viz_transformer.ui.session.memory import keep_freed_memory
import torch
if sys.argv[1] == "keep":
    keep_freed_memory()

def fill():
    for block in [torch.empty(2**18).fill_(1.0) for _ in range(40)]:  # 40 MiB in blocks of 1 MiB
        pass

fill(); fill()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(5):
    fill()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def test_freed_memory_stays_with_the_process() -> None:
    if sys.platform != "linux":
        keep_freed_memory()  # does nothing there
        return
    faults = {}
    # The C library raises its own limit when it likes; held at its first value, every large block is mapped anew.
    environment = os.environ | {"MALLOC_MMAP_THRESHOLD_": "131072"}
    for mode in ("keep", "usual"):
        command = [sys.executable, "-c", SCRIPT, mode]
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
        faults[mode] = int(done.stdout)
    assert faults["keep"] < 500 < faults["usual"]


@pytest.fixture
def searched(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """All is searched for garbage, as in a process that has imported nothing heavy yet; and again afterwards."""
    gc.unfreeze()
    monkeypatch.setattr(memory, "_left_alone", None)
    usual = gc.get_threshold()
    yield
    gc.unfreeze()
    gc.set_threshold(*usual)


def test_a_recorded_decode_sets_off_no_search_for_garbage(searched: None) -> None:
    ckpt = tiny_checkpoint()
    decode(ckpt, "abc")
    searches: list[str] = []
    gc.callbacks.append(count := lambda phase, info: searches.append(phase))
    try:
        gc.set_threshold(700, 10, 10)
        kept = [decode(ckpt, "abc")]
        assert searches  # with Python's own number
        leave_imports_alone()
        searches.clear()
        kept.append(decode(ckpt, "abc"))
        assert not searches
    finally:
        gc.callbacks.remove(count)


def test_what_is_imported_later_is_left_alone_as_well(searched: None, monkeypatch: pytest.MonkeyPatch) -> None:
    later = [[] for _ in range(1000)]  # what a module would hold
    leave_new_imports_alone()
    assert gc.get_freeze_count() == 0  # before the heavy imports nothing is done
    leave_imports_alone()
    later = [[] for _ in range(1000)]

    def is_searched() -> bool:
        return any(each is later for each in gc.get_objects())

    leave_new_imports_alone()
    assert is_searched()  # nothing was imported
    for number in range(memory.MANY):
        monkeypatch.setitem(sys.modules, f"imported_later_{number}", ModuleType("imported_later"))
    leave_new_imports_alone()
    assert not is_searched()


@pytest.fixture
def searches(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[float]]:
    """When everything was searched for garbage at rest, as it goes on."""
    monkeypatch.setattr(memory, "_waits_since", None)
    found: list[float] = []

    def note(phase: str, info: dict[str, int]) -> None:
        if phase == "stop" and info["generation"] == 2 and threading.current_thread() is not threading.main_thread():
            found.append(time.monotonic())

    gc.callbacks.append(note)
    yield found
    gc.callbacks.remove(note)


def until(found: list[float]) -> None:
    deadline = time.monotonic() + 30
    while not found and time.monotonic() < deadline:
        time.sleep(0.01)
    assert found


def test_garbage_is_searched_for_once_when_no_run_has_ended_for_a_while(
    searches: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "REST", 0.2)
    for _ in range(5):
        search_at_rest()
    until(searches)
    time.sleep(0.5)
    assert len(searches) == 1


def test_garbage_does_not_wait_for_a_rest_that_never_comes(
    searches: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "REST", 3600)
    monkeypatch.setattr(memory, "LONGEST", 0.3)
    began = time.monotonic()
    while not searches and time.monotonic() < began + 30:
        search_at_rest()
        time.sleep(0.01)
    until(searches)
    assert searches[0] - began >= 0.25


CAUSAL, SLIPPED, ALONE = tiny_checkpoint(), tiny_checkpoint(merge="raw-reshape"), tiny_checkpoint("decoder-only")
EDIT = AblateHead("decoder.1.cross", head=1)
RUNS: dict[str, Callable[[], object]] = {
    "pass": lambda: CAUSAL.model(torch.tensor([[4, 5]]), torch.tensor([[1, 6]]), Recorder()),
    "edited pass": lambda: CAUSAL.model(torch.tensor([[4, 5]]), torch.tensor([[1, 6]]), Recorder([EDIT])),
    "trace": lambda: trace(CAUSAL, "abc", "uv"),
    "derived point": lambda: trace(CAUSAL, "abc", "uv")["decoder.1.cross.scores"],
    "greedy": lambda: decode(CAUSAL, "abc"),
    "all looked at": lambda: [(run.trace["logits"], run.steps[0].candidates) for run in [decode(CAUSAL, "abc")]],
    "sampling": lambda: decode(CAUSAL, "abc", strategy=Sampling(seed=1)),
    "beam": lambda: decode(CAUSAL, "abc", strategy=Beam(3)),
    "edit": lambda: decode(CAUSAL, "abc", edits=[EDIT]),
    "whole passes": lambda: decode(SLIPPED, "abc"),
    "decoder alone": lambda: decode(ALONE, "uv"),
    "follow": lambda: follow(CAUSAL, "abc", [5, 6]),
    "fork": lambda: fork(CAUSAL, "abc"),
    "left in the middle": lambda: next(decode_stream(CAUSAL, "abc")),
}


def tensors_alive() -> int:
    return sum(type(each) is torch.Tensor for each in gc.get_objects())


@pytest.mark.parametrize("kind", RUNS)
def test_recorded_runs_leave_nothing_behind_with_the_collector_off(kind: str, searched: None) -> None:
    """Not one tensor: what each of them left would be counted after a few as after many."""
    RUNS[kind]()  # what is computed once for a model
    gc.collect()
    gc.disable()
    try:
        before = tensors_alive()
        for _ in range(8):
            RUNS[kind]()
        assert tensors_alive() == before
    finally:
        gc.enable()
