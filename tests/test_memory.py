"""Memory that was freed is used again: a second large block of the same size brings no new pages."""

from __future__ import annotations

import os
import subprocess
import sys

from viz_transformer.memory import keep_freed_memory

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
