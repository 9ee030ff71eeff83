"""The Lightning callback that measures and saves: history, best weights, snapshots, state for resuming."""

from __future__ import annotations

import io
import math
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from lightning.pytorch import Callback, Trainer
from lightning.pytorch.plugins.io import TorchCheckpointIO
from torch import Tensor

from viz_transformer import numerals
from viz_transformer.checkpoint.contents import HISTORY_COLUMNS, SECONDS
from viz_transformer.checkpoint.writing import write_file
from viz_transformer.model.transformer import Transformer
from viz_transformer.train.data import Batch
from viz_transformer.train.module import TrainingModule, predicted
from viz_transformer.train.progress import RIGHT, Reporter
from viz_transformer.train.stopping import Stop
from viz_transformer.train.tasks.task import Plan

COLUMNS = (*HISTORY_COLUMNS, SECONDS)
KEPT = ("history", "best_step", "best_loss", "best_weights")  # besides the time, in Lightning's checkpoint
Row = dict[str, float]
Weights = dict[str, Tensor]


class Keeper(Callback):
    """Saves everything that survives a kill, in the folder `state`.

    A row of the history describes the weights after `step` updates: negative log-likelihood in nats per target token
    (no label smoothing, no dropout, float32) on fixed samples of training and validation pairs; learning rate and
    gradient norm (before clipping) of the last update, empty at step 0; `seconds` of training so far, measuring
    included. The best weights minimise the training objective, with label smoothing, on the validation sample. History,
    best weights and time are saved in Lightning's checkpoint, so a resumed run continues exactly: neither the pause nor
    repeated steps count. After a signal to `stop`, the current step is finished and saved. `count` counts right answers
    among `counted` pairs at each snapshot.
    """

    def __init__(
        self, state: Path, plan: Plan, stop: Stop, train: Sequence[Batch], validation: Sequence[Batch]
    ) -> None:
        self.state, self.plan, self.stop = state, plan, stop
        self.count: Callable[[Weights], int] | None = None
        self.counted = 0
        self.right: list[tuple[int, int, int]] = []  # step, right, number of pairs
        self.reporter = Reporter(state)
        self.samples = {"train_loss": train, "validation_loss": validation}
        self.history: list[Row] = []
        self.best_step = -1
        self.best_loss = math.inf
        self.best_weights: Weights = {}
        self.seconds_before = 0.0  # of earlier parts of the training; NaN if not measured
        self.started = math.nan

    @property
    def seconds(self) -> float:
        """Duration of all parts of the training; NaN if one was not measured."""
        return self.seconds_before + time.monotonic() - self.started

    def state_dict(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in (*KEPT, "seconds", "right")}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        for name in KEPT:
            setattr(self, name, state_dict[name])
        self.seconds_before = state_dict.get("seconds", math.nan)
        self.right = [(step, right, of) for step, right, of in state_dict.get("right", ())]

    def on_train_start(self, trainer: Trainer, pl_module: Any) -> None:
        self.started = time.monotonic()
        self.stop.listen()  # Lightning's own handler ends without saving
        if trainer.is_global_zero:
            self.reporter.began(trainer.global_step, pl_module.total)
        if trainer.global_step == 0:
            self._after(trainer, pl_module, step=0)
        self.stop.check()
        self.stop.waits = True

    def on_train_batch_end(self, trainer: Trainer, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        self._after(trainer, pl_module, step=trainer.global_step)
        if trainer.is_global_zero and self.reporter.due():
            self.reporter.at(trainer.global_step, float(outputs["loss"]))

    def _after(self, trainer: Trainer, module: TrainingModule, *, step: int) -> None:
        plan, last = self.plan, step == module.total
        if step in plan.first_rows or last or (step and step % plan.row_every == 0):
            self._measure(trainer, module, step)
        if step in plan.snapshots and trainer.is_global_zero:
            snapshot = snapshot_path(self.state, step)
            snapshot.parent.mkdir(exist_ok=True)
            write_file(snapshot, pack_weights(module.kept))
            self._count(module, step)
        # Any process may receive the signal, and all must save the same step.
        stops = step > 0 and trainer.strategy.reduce_boolean_decision(self.stop.signum is not None, all=False)
        if last or stops or (step and step % plan.save_every == 0):
            trainer.save_checkpoint(last_path(self.state))  # every process takes part
            trainer.strategy.barrier()
            self.stop.saved = step
            if trainer.is_global_zero:
                self.reporter.saved(step)
        if stops:
            self.stop.place = f"after step {step}"
            self.stop.raise_stopped()

    def _count(self, module: TrainingModule, step: int) -> None:
        if self.count is None:
            return
        before = [row for row in self.right if row[0] < step]
        self.right = [*before, (step, self.count(module.kept.state_dict()), self.counted)]
        lines = ["step,right,pairs", *(",".join(map(str, row)) for row in self.right)]
        write_file(self.state / RIGHT, ("\n".join(lines) + "\n").encode())

    def _measure(self, trainer: Trainer, module: TrainingModule, step: int) -> None:
        row: Row = {"step": step}
        for name, batches in self.samples.items():
            row[name] = mean_loss(module.kept, batches)
        row["learning_rate"] = module.rate
        row["gradient_norm"] = float(module.gradient_norm)
        row[SECONDS] = self.seconds
        self.history.append(row)
        if step:  # at the start Lightning takes it for an epoch mean, and shows it again at the end
            module.log("validation", row["validation_loss"], prog_bar=True)
        # Judge by the objective: with label smoothing, the plain loss is lowest before the training is at its best.
        smoothing = self.plan.smoothing
        loss = (
            mean_loss(module.kept, self.samples["validation_loss"], smoothing) if smoothing else row["validation_loss"]
        )
        if loss < self.best_loss:
            self.best_step, self.best_loss = step, loss
            self.best_weights = {name: value.detach().cpu().clone() for name, value in module.kept.state_dict().items()}
        if trainer.is_global_zero:
            write_file(self.state / "history.csv", history_csv(self.history).encode())


def mean_loss(model: Transformer, batches: Sequence[Batch], smoothing: float = 0.0) -> float:
    """Negative log-likelihood in nats per target token, in float32 without dropout; restores the model's mode.

    smoothing: share of each token's probability spread uniformly over the vocabulary.
    """
    device = next(model.parameters()).device
    pad = -100 if model.config.target_pad is None else model.config.target_pad
    was_training = model.training
    model.eval()
    total, tokens = 0.0, 0
    with torch.no_grad(), torch.autocast(device.type, enabled=False):
        for src, tgt in batches:
            batch = (None if src is None else src.to(device), tgt.to(device))
            logits, wanted = predicted(model, batch)
            wanted = wanted.flatten()
            losses = F.cross_entropy(
                logits.flatten(0, 1).float(), wanted, ignore_index=pad, label_smoothing=smoothing, reduction="none"
            )
            total += float(losses.double().sum())
            tokens += int((wanted != pad).sum())
    model.train(was_training)
    return total / tokens


def history_csv(rows: Sequence[Mapping[str, float]]) -> str:
    """The history as CSV text; missing values are empty cells."""
    lines = [",".join(COLUMNS)]
    for row in rows:
        values = [row.get(name, math.nan) for name in COLUMNS[1:]]
        cells = ["" if math.isnan(value) else numerals.significant(value, 6) for value in values]
        lines.append(",".join([str(int(row["step"])), *cells]))
    return "\n".join(lines) + "\n"


def pack_weights(model: Transformer) -> bytes:
    """The weights as stored: float16."""
    buffer = io.BytesIO()
    torch.save({name: value.detach().cpu().half() for name, value in model.state_dict().items()}, buffer)
    return buffer.getvalue()


def snapshot_path(state: Path, step: int) -> Path:
    return state / "snapshots" / f"step-{step}.pt"


def list_snapshots(state: Path) -> list[int]:
    """Steps of the saved training's snapshots, up to the step to resume from."""
    steps = (int(path.stem.removeprefix("step-")) for path in (state / "snapshots").glob("step-*.pt"))
    return [step for step in steps if step <= last_step(state)]


def last_path(state: Path) -> Path:
    """Path of Lightning's checkpoint of the last saved step."""
    return state / "last.ckpt"


def last_step(state: Path) -> int:
    """The last saved step; 0 if nothing is saved."""
    path = last_path(state)
    return int(torch.load(path, weights_only=True, mmap=True)["global_step"]) if path.is_file() else 0


class WholeFiles(TorchCheckpointIO):
    """Writes Lightning's checkpoints atomically."""

    def save_checkpoint(self, checkpoint: dict[str, Any], path: Any, storage_options: Any = None) -> None:
        buffer = io.BytesIO()
        torch.save(checkpoint, buffer)
        write_file(path, buffer.getbuffer())
