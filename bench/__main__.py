"""Print every figure beside its aim; `python -m bench pictures peers` only those parts, `--short` in fewer rounds.

The machine should be idle. Ratios are medians of pairs timed in turn, and hold on a busy machine too; milliseconds do
not.
"""

from __future__ import annotations

import os

os.environ["OMP_NUM_THREADS"] = "1"  # before torch: one thread, as in the server

import sys

from bench.core import decoding_ratios, forward_ratios, marian_ratios
from bench.decoding_step import step_results
from bench.first_paint import first_paint_ratios
from bench.huggingface import huggingface_results
from bench.navigation import navigation_results
from bench.peers import peer_results
from bench.pictures import picture_results
from bench.ratios import SHORT
from bench.served import served_results
from bench.vocabulary import vocabulary_results
from bench.whole import whole_results
from viz_transformer.ui.compat import keep_freed_memory
from viz_transformer.ui.session.memory import freeze_imports

PARTS = {
    "forward": forward_ratios,
    "decoding": decoding_ratios,
    "marian": marian_ratios,
    "huggingface": huggingface_results,
    "first_paint": first_paint_ratios,
    "pictures": picture_results,
    "whole": whole_results,
    "step": step_results,
    "served": served_results,
    "vocabulary": vocabulary_results,
    "navigation": navigation_results,
    "peers": peer_results,
}

wanted = [word for word in sys.argv[1:] if word != SHORT] or [*PARTS]
if unknown := set(wanted) - set(PARTS):
    sys.exit(f"no part is named {', '.join(sorted(unknown))}: there are {', '.join(PARTS)}")

keep_freed_memory()  # as the server does, both
freeze_imports()

print(
    "Medians (quartiles); A / B: A over B, timed in turn; further from the aim than the quartiles are apart is no noise"
)
for part in wanted:
    for result in PARTS[part]():
        print(result, flush=True)
