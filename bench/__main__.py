"""Print every ratio beside its aim. The machine should be idle; ratios are medians of pairs timed in turn."""

from __future__ import annotations

import os

os.environ["OMP_NUM_THREADS"] = "1"  # before torch: one thread, as in the server

from bench.core import decoding_ratios, forward_ratios
from bench.first_paint import first_paint_ratios
from viz_transformer.memory import keep_freed_memory, leave_imports_alone

keep_freed_memory()  # as the server does, both
leave_imports_alone()

print("A over B, median of the pairs (quartiles); more than the quartiles' distance from the aim is no noise")
for ratios in (forward_ratios, decoding_ratios, first_paint_ratios):
    for ratio in ratios():
        print(ratio, flush=True)
