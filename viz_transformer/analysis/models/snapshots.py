"""One sentence at every training snapshot: its answer, its loss and the maps of all heads.

Each snapshot writes its own answer, and is then given one and the same target: only so do the losses compare, and only
so have the maps the same tokens on their axes. While a training is running, an example pair is shown instead, at the
snapshots so far.
"""

from __future__ import annotations

import hashlib
import io
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray

from viz_transformer.analysis.attention.maps import attention_kinds, layer_count, layer_weights
from viz_transformer.checkpoint import Checkpoint
from viz_transformer.model.kinds import KindName
from viz_transformer.model.transformer import Transformer
from viz_transformer.running.decoding import Run, decode
from viz_transformer.running.trace import Trace

Origin = Literal["given", "example", "last"]
Progress = Callable[[int, int], None]
"""Called with the number of snapshots done and in total."""


@dataclass(frozen=True, eq=False)
class SnapshotRun:
    """The sentence at one training step.

    `text` is the answer that these weights write, `complete` whether they ended it themselves, `right` whether its
    tokens are those of the target. `loss` is the mean negative log-likelihood of the target in nats per token, end
    token included. `run` is the one in which the target was given.
    """

    step: int
    text: str
    complete: bool
    right: bool
    loss: float
    run: Run

    @property
    def trace(self) -> Trace:
        return self.run.trace


@dataclass(frozen=True, eq=False)
class SnapshotSeries:
    """The same sentence at all snapshots, in order; the last one is the exported model itself.

    `target` is the text that every snapshot was given, `origin` where it comes from: a person, the example pairs that
    came with the model, or the exported model's own answer.
    """

    source: str
    target: str
    origin: Origin
    runs: tuple[SnapshotRun, ...]

    @property
    def steps(self) -> tuple[int, ...]:
        return tuple(run.step for run in self.runs)

    @property
    def kinds(self) -> tuple[KindName, ...]:
        return attention_kinds(self.runs[0].trace)

    def maps(self, kind: KindName) -> NDArray[np.float32]:
        """The weights of all heads at all snapshots: [snapshots, L, H, Q, K]."""
        layers = range(layer_count(self.runs[0].trace, kind))
        return np.stack([np.stack([layer_weights(run.trace, kind, layer)[0] for layer in layers]) for run in self.runs])

    def mask(self, kind: KindName) -> NDArray[np.bool_]:
        """[Q, K], True = may attend; it depends on the tokens alone, which are the same in all layers and snapshots."""
        mask: NDArray[np.bool_] = layer_weights(self.runs[0].trace, kind, 0)[1][0]
        return mask


def snapshot_series(
    ckpt: Checkpoint, source: str, target: str | None = None, *, progress: Progress = lambda done, all: None
) -> SnapshotSeries:
    """The sentence at all snapshots. The default target is from the example pair with this source, if there is one.

    An answer is cut at twice the target's length and some tokens. Raises ValueError with one sentence for a model
    without snapshots and for a text that it cannot read, CheckpointError for a damaged snapshot.
    """
    if not ckpt.snapshots():
        raise ValueError(f"{ckpt.name} came without snapshots of its training")
    origin: Origin = "given"
    given: str | Sequence[int] | None = target
    if given is None:
        origin, given = "example", dict(ckpt.examples()).get(source)
    if given is None:
        origin, given = "last", _own_answer(ckpt, decode(ckpt, source))
    steps = _steps(ckpt)
    runs: list[SnapshotRun] = []
    for step in steps:
        model = ckpt if step not in ckpt.snapshots() else ckpt.at_snapshot(step)
        runs.append(snapshot_run(model, step, source, given))
        progress(len(runs), len(steps))
    return SnapshotSeries(source, given if isinstance(given, str) else _text(ckpt, given), origin, tuple(runs))


def _steps(ckpt: Checkpoint) -> tuple[int, ...]:
    """The steps of the snapshots, and the exported model's if that is later than all of them."""
    exported = ckpt.card.get("exported_step")
    last = ckpt.snapshots()[-1]
    return (*ckpt.snapshots(), exported) if type(exported) is int and exported > last else ckpt.snapshots()


def _own_answer(ckpt: Checkpoint, run: Run) -> tuple[int, ...]:
    """The model's answer as a target: without the end token; cut where there is no room to add one."""
    codec = ckpt.codec("target")
    hidden = {codec.start, codec.padding, *codec.ends}
    ids = [step.token_id for step in run.steps if step.token_id not in hidden]
    return tuple(ids if run.stopped == "end token" or not codec.ends else ids[: len(run.steps) - 1])


def snapshot_run(ckpt: Checkpoint, step: int, source: str, target: str | Sequence[int]) -> SnapshotRun:
    """The run of the sentence with the weights of this step. Raises ValueError for a text that the model cannot
    read."""
    forced = decode(ckpt, source, target=target)
    wanted = [each.token_id for each in forced.steps]
    free = decode(ckpt, source, max_steps=2 * len(wanted) + 4)
    return SnapshotRun(
        step=step,
        text=free.text,
        complete=free.stopped == "end token",
        right=[each.token_id for each in free.steps] == wanted,
        loss=-math.fsum(each.log_prob for each in forced.steps) / len(wanted),
        run=forced,
    )


def _text(ckpt: Checkpoint, ids: Sequence[int]) -> str:
    return ckpt.codec("target").decode(ids)


LONG, MAX_PAIRS = 40, 5
"""Characters of an example that is too long to be read at a glance, and how many examples are."""


def snapshot_steps(state: Path) -> tuple[int, ...]:
    """The steps of the snapshots that a training's state holds, in order."""
    steps = (path.stem.removeprefix("step-") for path in (state / "snapshots").glob("step-*.pt"))
    return tuple(sorted(int(step) for step in steps if step.isdecimal()))


def shown_pairs(ckpt: Checkpoint) -> tuple[tuple[str, str], ...]:
    """Example pairs to show while it learns: those with a short source and target, else the shortest."""
    pairs = sorted(ckpt.examples(), key=lambda pair: max(map(len, pair)))
    short = [pair for pair in ckpt.examples() if max(map(len, pair)) <= LONG]
    return tuple((short or pairs)[:MAX_PAIRS])


def at_step(beginning: Checkpoint, state: Path, step: int) -> Checkpoint:
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
    """The run of an example pair with the weights of this step."""
    return snapshot_run(at_step(beginning, state, step), step, *pair)


def learning_series(runs: tuple[SnapshotRun, ...], pair: tuple[str, str]) -> SnapshotSeries:
    """The series of the runs so far, for the replay of a training."""
    return SnapshotSeries(*pair, "example", runs)
