"""The ways in which an edited answer can be computed, held against each other."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
import torch

from viz_transformer.checkpoint import Checkpoint
from viz_transformer.model.tap import Recorder
from viz_transformer.running.decoding import decode, follow
from viz_transformer.running.edits import Edit
from viz_transformer.running.strategies import Beam


def check_that_every_way_agrees(ckpt: Checkpoint, source: str | list[int], edits: Sequence[Edit], steps: int) -> None:
    """A beam's score is the sum of its steps; decode, follow and whole passes give each step the same logits."""
    ends = ckpt.codec("target").ends
    beam = decode(ckpt, source, strategy=Beam(3, length_penalty=0.0), max_steps=steps, edits=edits, ban=ends)
    assert beam.score == pytest.approx(beam.log_prob, abs=1e-3, nan_ok=True), edits
    run = decode(ckpt, source, max_steps=steps, edits=edits, ban=ends)
    again = follow(ckpt, source, [step.token_id for step in run.steps], edits=edits, ban=ends)
    read = run.trace.tgt_ids

    def whole(length: int) -> torch.Tensor:
        """Logits [T, V] of one pass over the first tokens, in which the edits are left out that it has no place for."""
        recorder = Recorder(edits)
        with torch.no_grad():
            src = [run.trace.src_ids] if ckpt.anatomy.has_encoder else None
            return ckpt.instrument.whole(src, [read[:length]], tap=recorder)[0]

    once = whole(len(read))
    for step, same in zip(run.steps, again.steps, strict=True):
        row = len(read) - steps + step.index
        own = whole(row + 1)[-1]  # the pass of this step alone
        others = [same.logits, own] + ([once[row]] if run.trace.reads_ahead is None else [])
        for other in others:
            close = 1e-4 * max(1.0, float(own.nan_to_num().abs().max()))
            torch.testing.assert_close(step.logits, other, atol=close, rtol=0, equal_nan=True, msg=str(edits))
