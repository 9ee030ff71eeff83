"""Random edits, and the ways in which an edited answer can be computed, held against each other."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
import torch

from viz_transformer.checkpoint import Checkpoint
from viz_transformer.model.hook import OFF, Recorder
from viz_transformer.running.decoding import decode, follow
from viz_transformer.running.edits import AblateHead, Edit, FixRow, RemovePositions, Replace, Scale, SetMask
from viz_transformer.running.strategies import Beam
from viz_transformer.running.tracing import trace


def edit_of_weights(rng: random.Random, ckpt: Checkpoint, steps: int) -> Edit:
    """An edit of a mask or of weights of a run of so many steps."""
    sites = [site for site in ckpt.spec.attentions if site.startswith("decoder.")]
    site, heads = rng.choice(sites), ckpt.spec.attentions[sites[0]].query
    place = lambda: rng.choice([None, *range(steps - 1)])  # noqa: E731
    keys = place() if site.endswith("self") else rng.choice([None, 0, 1])
    head = rng.choice([None, *range(heads)])
    kinds: list[Edit] = [
        SetMask(site, place(), keys, rng.random() < 0.4, head),
        SetMask(site, place(), None, False, head),
        AblateHead(site, rng.randrange(heads), rng.choice(["zero", "mean", "uniform"])),
        Scale(f"{site}.weights", rng.choice([0.5, -1.0]), at=(head, place(), None)),
        Replace(f"{site}.mask", rng.choice([0.0, 1.0]), at=(None, place())),
        Replace(f"{site}.weights", 0.2, at=(head, place())),
        FixRow(site, 2, (0.5, 0.5), head),
    ]
    return rng.choice(kinds)


def any_edit(rng: random.Random, ckpt: Checkpoint, source: str, steps: int) -> Edit:
    """An edit of any class and any point of a run that reads this text and takes so many steps; it may not fit."""
    spec = ckpt.spec
    point = rng.choice([each.name for each in spec.recorded])
    at = rng.choice(
        [(), (None, rng.randrange(steps)), (rng.randrange(3),), (rng.randrange(3), rng.randrange(steps), 0)]
    )
    written = ckpt.codec("target").names[4 + rng.randrange(4)]

    def patch() -> Edit:
        """What another run has there, of an encoder for the same text read in another order."""
        other = trace(ckpt, source[::-1], written * steps if spec.has_encoder else None)
        return Replace(point, other[point])

    kinds = [
        lambda: edit_of_weights(rng, ckpt, steps),
        lambda: Scale(point, rng.choice([0.0, 0.5, 2.0, -1.0]), at),
        lambda: Replace(point, rng.choice([0.0, 1.0, -0.5]), at),
        lambda: RemovePositions(rng.choice(["encoder", "decoder"])),
        patch,
    ]
    return rng.choice(kinds)()


def check_that_looking_changes_nothing(ckpt: Checkpoint, src: Sequence[int], tgt: Sequence[int]) -> None:
    """With the hook off, recording, and with an edit that multiplies by 1, the logits are the same bit by bit."""
    given = [src] if ckpt.spec.has_encoder else None
    point = next(each.name for each in ckpt.spec.recorded if each.name.endswith(".weights"))
    with torch.no_grad():
        off, *others = (
            ckpt.hooked_model.whole(given, [tgt], hook=hook)
            for hook in (OFF, Recorder(()), Recorder([Scale(point, 1.0)]))
        )
    assert all(torch.equal(off, other) or off.isnan().any() for other in others)


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
            src = [run.trace.src_ids] if ckpt.spec.has_encoder else None
            return ckpt.hooked_model.whole(src, [read[:length]], hook=recorder)[0]

    once = whole(len(read))
    for step, same in zip(run.steps, again.steps, strict=True):
        row = len(read) - steps + step.index
        own = whole(row + 1)[-1]  # the pass of this step alone
        others = [same.logits, own] + ([once[row]] if run.trace.non_causal_reason is None else [])
        for other in others:
            close = 1e-4 * max(1.0, float(own.nan_to_num().abs().max()))
            torch.testing.assert_close(step.logits, other, atol=close, rtol=0, equal_nan=True, msg=str(edits))
