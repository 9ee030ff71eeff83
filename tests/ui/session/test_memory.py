"""Memory that was freed is used again, and what was imported is not searched for garbage."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from builders import tiny_checkpoint

from viz_transformer.checkpoint import Checkpoint
from viz_transformer.model.hook import Recorder
from viz_transformer.running.decoding import Run, decode, decode_stream, follow
from viz_transformer.running.edits import AblateHead
from viz_transformer.running.forks import fork
from viz_transformer.running.strategies import Beam, Sampling
from viz_transformer.running.tracing import trace
from viz_transformer.ui.compat import keep_freed_memory
from viz_transformer.ui.session import memory
from viz_transformer.ui.session.memory import collect_at_rest, freeze_imports

SCRIPT = """
import resource, sys
from viz_transformer.ui.compat import keep_freed_memory
if sys.argv[1] == "keep":
    keep_freed_memory()

def fill():
    for block in [bytes([7]) * 2**20 for _ in range(40)]:
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
    """Nothing has asked yet that imports be frozen; Python searches as often afterwards as before."""
    monkeypatch.setattr(memory, "_frozen", False)
    usual = gc.get_threshold()
    yield
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
        freeze_imports()
        searches.clear()
        kept.append(decode(ckpt, "abc"))
        assert not searches
    finally:
        gc.callbacks.remove(count)


def test_what_visitors_made_is_never_frozen(searched: None) -> None:
    """The call for each model that is loaded froze all runs and sessions there were, each time."""
    imported, before = [[number] for number in range(1000)], gc.get_freeze_count()
    freeze_imports()
    frozen = gc.get_freeze_count()
    assert frozen >= before + len(imported)
    made = [[number] for number in range(1000)]
    freeze_imports()
    assert gc.get_freeze_count() <= frozen  # some that is frozen may be let go of
    assert any(each is made for each in gc.get_objects())


@pytest.mark.skipif(sys.platform != "linux", reason="other systems' C libraries decide for themselves")
def test_what_is_let_go_of_is_given_back_to_the_system() -> None:
    """A circle of large objects, which only a collection finds, in memory that glibc keeps for itself."""
    done = subprocess.run([sys.executable, "-c", GIVEN_BACK], capture_output=True, text=True, check=True)
    before, kept, after = map(int, done.stdout.split())
    assert kept - before > 150 * 2**20
    assert after - before < 30 * 2**20


GIVEN_BACK = """
from viz_transformer.ui.compat import keep_freed_memory
from viz_transformer.ui.session.memory import give_back
keep_freed_memory()
def resident():
    from pathlib import Path
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096
class Circle:
    def __init__(self):
        self.own, self.blocks = self, [bytes([7]) * 2**20 for _ in range(200)]
before = resident()
held = [Circle()]
kept = resident()
give_back(held.clear)
print(before, kept, resident())
"""


@pytest.fixture
def searches(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[int, list[float]]]:
    """When the young (1) and when all objects (2) were searched for garbage at rest, as it goes on."""
    monkeypatch.setattr(memory, "_waits_since", None)
    monkeypatch.setattr(memory, "_all_searched", time.monotonic())
    monkeypatch.setattr(memory, "_took_seconds", 0.2)
    monkeypatch.setattr(memory, "_resident_bytes", lambda: 0)
    found: dict[int, list[float]] = {0: [], 1: [], 2: []}
    gc.freeze()  # what other tests made is not searched through again and again

    def note(phase: str, info: dict[str, int]) -> None:
        if phase == "stop" and isinstance(threading.current_thread(), threading.Timer):
            found[info["generation"]].append(time.monotonic())

    gc.callbacks.append(note)
    yield found
    gc.callbacks.remove(note)
    with memory._lock:
        if memory._at_rest is not None:
            memory._at_rest.cancel()


def until(found: list[float]) -> None:
    deadline = time.monotonic() + 30
    while not found and time.monotonic() < deadline:
        time.sleep(0.01)
    assert found


def test_young_garbage_is_searched_for_once_when_no_run_has_ended_for_a_while(
    searches: dict[int, list[float]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "REST_SECONDS", 0.2)
    for _ in range(5):
        collect_at_rest(lambda: None)
    until(searches[1])
    time.sleep(0.5)
    assert len(searches[1]) == 1
    assert not searches[2]  # that would hold whoever asks for the next page


def test_garbage_does_not_wait_for_a_rest_that_never_comes(
    searches: dict[int, list[float]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "REST_SECONDS", 3600)
    monkeypatch.setattr(memory, "LONGEST_SECONDS", 0.3)
    began = time.monotonic()
    while not searches[1] and time.monotonic() < began + 30:
        collect_at_rest(lambda: None)
        time.sleep(0.01)
    until(searches[1])
    assert searches[1][0] - began >= 0.25


def test_all_garbage_is_searched_for_at_rest_where_that_holds_nobody(
    searches: dict[int, list[float]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "REST_SECONDS", 0.05)
    monkeypatch.setattr(memory, "_took_seconds", 0.05)
    collect_at_rest(lambda: None)
    until(searches[2])
    assert memory._took_seconds != 0.05


def test_all_garbage_is_searched_for_once_nobody_asks_any_more(
    searches: dict[int, list[float]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "REST_SECONDS", 0.05)
    monkeypatch.setattr(memory, "QUIET_SECONDS", 0.3)
    collect_at_rest(lambda: None)
    until(searches[2])
    assert searches[2][0] - searches[1][0] >= 0.25


def test_all_garbage_does_not_wait_for_ever_for_that(
    searches: dict[int, list[float]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "REST_SECONDS", 0.05)
    monkeypatch.setattr(memory, "QUIET_SECONDS", 3600)
    monkeypatch.setattr(memory, "LONGEST_UNQUIET_SECONDS", 0.3)
    began = time.monotonic()
    while not searches[2] and time.monotonic() < began + 30:
        collect_at_rest(lambda: None)
        time.sleep(0.1)
    until(searches[2])
    assert searches[2][0] - began >= 0.25


def test_all_garbage_is_searched_for_when_the_process_has_grown(
    searches: dict[int, list[float]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "REST_SECONDS", 0.05)
    monkeypatch.setattr(memory, "QUIET_SECONDS", 3600)
    monkeypatch.setattr(memory, "_resident_bytes", lambda: memory._resident_then + 257 * memory.MIB)
    collect_at_rest(lambda: None)
    until(searches[2])


def test_what_is_overdue_waits_for_a_moment_between_two_pages(
    searches: dict[int, list[float]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "REST_SECONDS", 0.05)
    monkeypatch.setattr(memory, "_resident_bytes", lambda: memory._resident_then + 257 * memory.MIB)
    over = threading.Event()
    page = threading.Thread(target=over.wait, name="ScriptRunner.scriptThread")
    page.start()
    collect_at_rest(lambda: None)
    until(searches[1])
    assert not searches[2]
    over.set()
    page.join()
    until(searches[2])


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


def test_recorded_runs_leave_nothing_behind_with_the_collector_off(searched: None) -> None:
    """Not one tensor: what each of them left would be counted after a few as after many."""
    for run in RUNS.values():
        run()  # what is computed once for a model
    gc.collect()
    gc.disable()
    gc.freeze()  # what there is already is not counted
    try:
        left = {}
        for kind, run in RUNS.items():
            run()
            before = tensors_alive()
            for _ in range(2):
                run()
            left[kind] = tensors_alive() - before
        assert not any(left.values()), left
    finally:
        gc.enable()


SETTINGS: dict[str, dict[str, Any]] = {
    "whole passes": {"merge": "raw-reshape"},
    "decoder alone": {"kind": "decoder-only"},
}
WRITTEN: dict[str, Callable[[Checkpoint], Run]] = {
    "greedy": lambda ckpt: decode(ckpt, "abc"),
    "sampling": lambda ckpt: decode(ckpt, "abc", strategy=Sampling(seed=1)),
    "beam": lambda ckpt: decode(ckpt, "abc", strategy=Beam(3)),
    "whole passes": lambda ckpt: decode(ckpt, "abc"),
    "decoder alone": lambda ckpt: decode(ckpt, "uv"),
    "follow": lambda ckpt: follow(ckpt, "abc", [5, 6]),
}


def test_a_run_that_is_kept_whole_does_not_keep_its_model() -> None:
    """Runs stay longer than models, and each would keep all weights in memory."""
    weights, runs = {}, {}
    for kind, write in WRITTEN.items():
        ckpt = tiny_checkpoint(**SETTINGS.get(kind, {}))
        weights[kind], run = weakref.ref(ckpt.model), write(ckpt)
        assert (run.steps[0].candidates and run.steps[-1].cache is not None) or kind == "whole passes"
        runs[kind] = run
        del ckpt
    gc.collect()
    assert not [kind for kind, model in weights.items() if model() is not None]
    assert all(run.steps for run in runs.values())
