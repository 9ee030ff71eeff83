"""The Lightning module: model, loss, optimizer and learning rate."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import torch
import torch.nn.functional as F
from lightning.pytorch import LightningModule
from torch import Tensor
from torch.nn import Parameter
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from viz_transformer.model.transformer import Transformer
from viz_transformer.train.data import Batch, Batches, TrainingOrder
from viz_transformer.train.tasks.task import Plan


def rate_factor(step: int, *, warmup: int, total: int) -> float:
    """Share of the peak learning rate after `step` updates: linear warm-up, then half a cosine to 0.

    Source: one-cycle schedule of Smith (2018), with a linear warm-up as in Vaswani et al. (2017).
    """
    warmup = min(warmup, max(1, total // 4))  # short runs warm up too
    if step < warmup:
        return (step + 1) / warmup
    return 0.5 * (1 + math.cos(math.pi * min(1.0, (step - warmup) / max(1, total - warmup))))


def predicted(model: Transformer, batch: Batch) -> tuple[Tensor, Tensor]:
    """Teacher-forced logits [B, T, V] of a batch, and the target ids [B, T]."""
    src, tgt = batch
    read = tgt[:, :-1]
    logits: Tensor = model(read) if src is None else model(src, read)
    return logits, tgt[:, 1:]


def twice(batch: Batch) -> Batch:
    """Each example twice, the second copies after the first."""
    src, tgt = batch
    return None if src is None else torch.cat([src, src]), torch.cat([tgt, tgt])


def divergence(first: Tensor, second: Tensor, counted: Tensor) -> Tensor:
    """Mean of KL(p || q) and KL(q || p) in nats per token, of logits [B, T, V] where `counted` [B, T] is True.

    Source: R-Drop, Liang et al. (2021), equation 3.
    """
    p, q = F.log_softmax(first[counted].float(), -1), F.log_softmax(second[counted].float(), -1)
    return 0.5 * ((p.exp() - q.exp()) * (p - q)).sum(-1).mean()


def averaged(model: Transformer, decay: float) -> AveragedModel:
    """An exponential moving average of the model's weights, initialised to the present ones."""
    average = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(decay)).requires_grad_(False)  # type: ignore[no-untyped-call]
    average.update_parameters(model)
    return average


def adamw(model: Transformer, plan: Plan, parameters: Iterable[Parameter] | None = None) -> torch.optim.AdamW:
    """AdamW for these parameters (default: all), without weight decay on biases and norms."""
    chosen = list(model.parameters() if parameters is None else parameters)
    return torch.optim.AdamW(
        [
            {"params": [p for p in chosen if p.dim() > 1], "weight_decay": plan.weight_decay},
            {"params": [p for p in chosen if p.dim() <= 1], "weight_decay": 0.0},
        ],
        lr=plan.peak_rate,
        betas=(0.9, 0.98),
        eps=1e-9,
        fused=True,
    )


class FloatMuon(torch.optim.Muon):
    """Muon with its iteration in float32: twenty times as fast as bfloat16 on a CPU without it."""

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]
        for group in self.param_groups:
            rate = group["lr"]
            for p in group["params"]:
                if p.grad is None:
                    continue
                average = self.state[p].setdefault("momentum_buffer", torch.zeros_like(p.grad))
                average.lerp_(p.grad, 1 - group["momentum"])
                update = orthogonal(
                    p.grad.lerp(average, group["momentum"]), group["ns_coefficients"], group["ns_steps"]
                )
                p.mul_(1 - rate * group["weight_decay"])
                p.add_(update, alpha=-rate * 0.2 * math.sqrt(max(p.shape)))


def orthogonal(matrix: Tensor, coefficients: tuple[float, float, float], steps: int) -> Tensor:
    """The matrix with singular values near 1, by Newton-Schulz iteration in its own precision."""
    a, b, c = coefficients
    found = matrix.T if matrix.size(0) > matrix.size(1) else matrix
    found = found / found.norm().clamp(min=1e-7)
    for _ in range(steps):
        gram = found @ found.T
        found = torch.addmm(found, torch.addmm(gram, gram, gram, beta=b, alpha=c), found, beta=a)
    return found.T if matrix.size(0) > matrix.size(1) else found


def muon(model: Transformer, plan: Plan) -> Together:
    """Muon for the layers' matrices, AdamW for embeddings, output and vectors.

    Source: Jordan et al. (2024), scaled to AdamW's learning rate as in Liu et al. (2025), so that one rate serves both.
    """
    inside = [p for name, p in model.named_parameters() if ".layers." in name and p.dim() == 2]
    taken = {id(p) for p in inside}
    others = [p for p in model.parameters() if id(p) not in taken]
    matrices = (FloatMuon if plan.optimizer == "muon-float32" else torch.optim.Muon)(
        inside, lr=plan.peak_rate, weight_decay=plan.weight_decay, adjust_lr_fn="match_rms_adamw"
    )
    return Together(matrices, adamw(model, plan, others))


class Together(torch.optim.Optimizer):
    """Several optimizers as one, with disjoint parameters, stepped and saved together."""

    def __init__(self, *parts: torch.optim.Optimizer) -> None:
        self.parts = parts
        super().__init__([group for part in parts for group in part.param_groups], {})

    def step(self, closure: Any = None) -> Any:
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for part in self.parts:
            part.step()
        return loss

    def state_dict(self) -> dict[str, Any]:
        return {"parts": [part.state_dict() for part in self.parts]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        for part, saved in zip(self.parts, state_dict["parts"], strict=True):
            part.load_state_dict(saved)
        self.param_groups = [group for part in self.parts for group in part.param_groups]


class TrainingModule(LightningModule):
    """A model and its training step. total: optimizer steps of the whole training."""

    def __init__(self, model: Transformer, order: TrainingOrder, plan: Plan, total: int) -> None:
        super().__init__()
        self.model = model
        self.order = order
        self.plan = plan
        self.total = total
        self.gradient_norm = torch.tensor(math.nan)  # of the last update, before clipping
        self.rate = 0.0  # learning rate of the last update
        self.average = averaged(model, plan.averaging) if plan.averaging else None

    @property
    def kept(self) -> Transformer:
        """The model that is measured and stored: the weight average, if the plan has one."""
        if self.average is None:
            return self.model
        average: Transformer = self.average.module  # type: ignore[assignment]
        return average

    def train_dataloader(self) -> Batches:
        return Batches(self.order, steps=self.total, rank=self.trainer.global_rank, world=self.trainer.world_size)

    def on_train_batch_start(self, batch: Batch, batch_idx: int) -> None:
        # Dropout depends only on the step, so a resumed run draws what an unbroken run draws.
        torch.manual_seed(self.plan.seed + self.global_step + 1_000_003 * self.trainer.global_rank)

    def training_step(self, batch: Batch, batch_idx: int) -> Tensor:
        """Label-smoothed cross-entropy per target token, end token included, padding excluded.

        With `consistency`, the mean of two passes plus their weighted `divergence`.
        """
        weight, pad = self.plan.consistency, self.model.config.target_pad
        logits, wanted = predicted(self.model, twice(batch) if weight else batch)
        loss = F.cross_entropy(
            logits.flatten(0, 1).float(),
            wanted.flatten(),
            ignore_index=-100 if pad is None else pad,
            label_smoothing=self.plan.smoothing,
        )
        if weight:
            counted = torch.ones_like(wanted) if pad is None else wanted != pad
            first, second = logits.chunk(2)
            loss = loss + weight / 2 * divergence(first, second, counted.chunk(2)[0].bool())
        self.log("loss", loss, prog_bar=True)
        return loss

    def optimizer_step(self, *args: Any, **kwargs: Any) -> None:
        super().optimizer_step(*args, **kwargs)
        if self.average is not None:  # here, since callbacks save and measure before later hooks of this class
            self.average.update_parameters(self.model)

    def configure_gradient_clipping(self, optimizer: Any, *_: Any, **__: Any) -> None:
        # Lightning's own clipping refuses a fused optimizer under mixed precision.
        self.gradient_norm = torch.nn.utils.clip_grad_norm_(self.parameters(), self.plan.clip)
        self.rate = float(optimizer.param_groups[0]["lr"])

    def configure_optimizers(self) -> Any:
        optimizer = (adamw if self.plan.optimizer == "adamw" else muon)(self.model, self.plan)
        schedule = torch.optim.lr_scheduler.LambdaLR(
            optimizer, lambda step: rate_factor(step, warmup=self.plan.warmup, total=self.total)
        )
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": schedule, "interval": "step"}}
