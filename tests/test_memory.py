"""Memory that was freed is used again, and what was imported is not searched for garbage."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from collections.abc import Iterator
from types import ModuleType

import pytest
from builders import tiny_checkpoint

from viz_transformer import memory
from viz_transformer.decoding import decode
from viz_transformer.memory import keep_freed_memory, leave_imports_alone, leave_new_imports_alone

SCRIPT = """
import resource, sys
from viz_transformer.memory import keep_freed_memory
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
