"""Memory that was freed is used again: a second large block of the same size brings no new pages."""

from __future__ import annotations

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
    for mode in ("keep", "usual"):
        done = subprocess.run([sys.executable, "-c", SCRIPT, mode], capture_output=True, text=True, check=True)
        faults[mode] = int(done.stdout)
    assert faults["keep"] < 500 < faults["usual"]
