"""A training that goes on, looked at from outside: one example at each of the snapshots that it has taken so far."""

from __future__ import annotations

import hashlib
import io
from dataclasses import replace
from pathlib import Path

import torch

from viz_transformer.analysis.models.snapshots import SnapshotRun, SnapshotSeries, snapshot_run
from viz_transformer.checkpoint import Checkpoint
from viz_transformer.model.transformer import Transformer

LONG = 40
"""Characters of an example that is too long to be read at a glance."""


def list_snapshot_steps(state: Path) -> tuple[int, ...]:
    """The steps of the snapshots that a training's state holds, in order."""
    steps = (path.stem.removeprefix("step-") for path in (state / "snapshots").glob("step-*.pt"))
    return tuple(sorted(int(step) for step in steps if step.isdecimal()))


def shown_pairs(ckpt: Checkpoint, most: int = 5) -> tuple[tuple[str, str], ...]:
    """Example pairs that are looked at while it learns: those with a short source and target, else the shortest."""
    pairs = sorted(ckpt.examples(), key=lambda pair: max(map(len, pair)))
    short = [pair for pair in ckpt.examples() if max(map(len, pair)) <= LONG]
    return tuple((short or pairs)[:most])


def load_step(beginning: Checkpoint, state: Path, step: int) -> Checkpoint:
    """The model as it was after this step. `beginning`: the same model with other weights.

    Raises ValueError if the snapshot cannot be read.
    """
    path = state / "snapshots" / f"step-{step}.pt"
    try:
        content = path.read_bytes()
        weights = torch.load(io.BytesIO(content), weights_only=True)
        model = Transformer(beginning.config)
        model.load_state_dict({name: value.float() for name, value in weights.items()})
    except Exception as error:  # torch has an error of its own for each way in which a file can be damaged
        raise ValueError(
            f"{path} cannot be read ({type(error).__name__}): it is being removed, or is damaged"
        ) from None
    digest = hashlib.sha256(content).hexdigest()
    return replace(beginning, name=f"{state.stem}@{step}", hooked_model=model.eval(), weights_sha256=digest)


def learning_run(beginning: Checkpoint, state: Path, step: int, pair: tuple[str, str]) -> SnapshotRun:
    """An example pair with the weights of this step."""
    return snapshot_run(load_step(beginning, state, step), step, *pair)


def learning_series(runs: tuple[SnapshotRun, ...], pair: tuple[str, str]) -> SnapshotSeries:
    """The runs so far as the replay of a training shows them."""
    return SnapshotSeries(*pair, "example", runs)
