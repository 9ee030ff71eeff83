"""Runs of our own models that are too large to be kept whole: the same numbers, in less memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest
from builders import tiny_checkpoint
from in_turn import each_once

from viz_transformer.model import hooked_model
from viz_transformer.running.decoding import Run, decode
from viz_transformer.running.edits import AblateHead, SetMask
from viz_transformer.running.lazy_activations import LazyActivations
from viz_transformer.running.stacked_steps import is_of_cached_steps
from viz_transformer.running.trace import Trace
from viz_transformer.running.tracing import trace

SLIPS: dict[str, Any] = {"norm": "post", "final_norm": False, "norm_kind": "positions-and-features"}
EDITS = [
    AblateHead("decoder.1.self", 0, "mean"),
    AblateHead("decoder.0.self", 1, "uniform"),
    SetMask("decoder.1.cross", 1, 0, False, 1),
]


def same(large: Trace, whole: Trace) -> None:
    assert isinstance(large.values, LazyActivations) and not large.is_kept_whole and whole.is_kept_whole
    assert large.points(derived=True) == whole.points(derived=True)
    for name in whole.points(derived=True):
        assert large[name].equal(whole[name]), name
        assert large.shape(name) == tuple(whole[name].shape), name


def same_run(large: Run, whole: Run) -> None:
    same(large.trace, whole.trace)
    assert is_of_cached_steps(large.trace) == is_of_cached_steps(whole.trace)
    for mine, theirs in zip(large.steps, whole.steps, strict=True):
        assert mine.logits.equal(theirs.logits) and mine.rows.keys() == theirs.rows.keys()
        assert all(mine.rows[name].equal(row) for name, row in theirs.rows.items())
    own, theirs_own = large.per_step_rows, whole.per_step_rows
    for name in theirs_own.points():
        assert own[name].nan_to_num(nan=-1).equal(theirs_own[name].nan_to_num(nan=-1)), name


@each_once(
    "changes, edit",
    [{}, SLIPS, {"merge": "raw-reshape"}, {"pad_to": 20, "max_target": 20, "max_source": 20}, {"positions": "rotary"}],
    [*EDITS, None],
)
def test_a_text_is_written_with_the_same_numbers(
    changes: dict[str, Any], edit: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a cache, and step by step in whole passes, with padding too; edits are made again."""
    ckpt, edits = tiny_checkpoint(**changes), [] if edit is None else [edit]
    whole = decode(ckpt, "abc", max_steps=5, ban=["</s>"], edits=edits)
    first = ckpt.spec.whole_bytes(source=len(whole.trace.src), target=2)
    for room in (0, first):
        monkeypatch.setattr(hooked_model, "WHOLE_BYTES", room)
        monkeypatch.setattr(hooked_model, "ANEW_BYTES", room)
        same_run(decode(ckpt, "abc", max_steps=5, ban=["</s>"], edits=edits), whole)


@pytest.mark.parametrize("kind", ["encoder-decoder", "decoder-only", "encoder-only"])
def test_a_pass_has_the_same_numbers(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ckpt = tiny_checkpoint(kind)
    given = ("abc", "uv") if kind == "encoder-decoder" else ("uvw" if kind == "decoder-only" else "abc", None)
    whole = trace(ckpt, *given)
    monkeypatch.setattr(hooked_model, "WHOLE_BYTES", 0)
    large = trace(ckpt, *given)
    same(large, whole)
    assert large.id == whole.id


def test_a_run_that_may_be_kept_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    run = decode(tiny_checkpoint(), "abc", max_steps=3)
    assert run.trace.is_kept_whole
    taken = run.trace.spec.whole_bytes(source=len(run.trace.src), target=len(run.trace.tgt))
    monkeypatch.setattr(hooked_model, "WHOLE_BYTES", taken)
    assert trace(tiny_checkpoint(), "abc", [*run.trace.tgt_ids]).is_kept_whole
    monkeypatch.setattr(hooked_model, "WHOLE_BYTES", taken - 1)
    assert not trace(tiny_checkpoint(), "abc", [*run.trace.tgt_ids]).is_kept_whole


MEASURED = """
import json, re, sys
from pathlib import Path
import torch
from builders import tiny_checkpoint
from viz_transformer.model import hooked_model
from viz_transformer.running.decoding import decode
from viz_transformer.running.tracing import trace

torch.set_num_threads(1)
sizes = {"d_model": 256, "n_heads": 8, "d_ff": 1024, "decoder_layers": 12, "max_target": 512}
ckpt = tiny_checkpoint("decoder-only", **sizes)
ids = [5 + n % 6 for n in range(400)]
whole = ckpt.spec.whole_bytes(source=0, target=400)
trace(ckpt, ids[:9])
with torch.no_grad():
    ckpt.hooked_model.whole(None, [ids])  # unrecorded: what a pass itself takes
peak = lambda: int(re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1])
peaks = [peak()]
for room in (whole // 4, 2 * whole):
    hooked_model.WHOLE_BYTES, hooked_model.ANEW_BYTES = room, room // 2
    run = decode(ckpt, ids, max_steps=3, ban=["</s>"]).trace if sys.argv[1:] else trace(ckpt, ids)
    for name in run.points():
        run[name].sum()
    peaks.append(peak())
    del run
print(json.dumps([1024 * (each - peaks[0]) / whole for each in peaks[1:]]))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the system tells its peak there")
@pytest.mark.slow
@pytest.mark.parametrize("written", [[], ["written"]])
def test_it_takes_the_memory_that_is_said_and_not_that_of_all_of_it(written: list[str]) -> None:
    """Of 131 MiB a quarter, beside what a pass takes: every point is looked at, one after the other. What is let go of
    goes back to the system at once, so that only what is held counts."""
    given_back = {**os.environ, "MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "0"}
    given_back["PYTHONPATH"] = os.pathsep.join(sys.path)
    command = [sys.executable, "-c", MEASURED, *written]
    told = subprocess.run(command, capture_output=True, text=True, check=True, env=given_back)
    in_part, all_of_it = json.loads(told.stdout)
    assert in_part < 0.5 < 0.8 < all_of_it
