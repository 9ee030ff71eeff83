"""Trains recipes within a number of seconds, as fast as one GPU allows, and keeps of each the best by validation.

    python -m bench.train_recipes prepare DATA taylor.prepared --recipe taylor
    python -m bench.train_recipes train OUT --prepared taylor.prepared --seconds 500

`prepare` reads the data where they are; its file is all that `train` needs, on a machine without them. `train` takes
several prepared recipes one after the other, each with its share of the seconds, or with --at-once as processes beside
each other. OUT/NAME then has `weights.safetensors` (float16, as they were measured), `history.csv` and `measured.json`;
with `state.pt` a training that was stopped goes on. --more names a folder of `bench.taylor_pairs`, which is looked
into again at each epoch. What is trained is the package's model, loss, optimiser and rate; on a GPU in bfloat16 beside
weights in float32, by passes that compute the same with the GPU's own attention.
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
import pickle
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from safetensors.torch import save_file
from torch import Tensor

from bench.taylor_pairs import SAID
from viz_transformer.model.attention import Attention
from viz_transformer.model.config import ModelConfig
from viz_transformer.model.layers import Residual
from viz_transformer.model.transformer import Stack, Transformer
from viz_transformer.train.data import Batch, EncodedPairs, Vary
from viz_transformer.train.module import Together, adamw, rate_factor
from viz_transformer.train.tasks import find_task
from viz_transformer.train.tasks.task import Material, PairTask, Plan

MAX_STEPS = 1_000_000
"""Of the schedule, which goes by the share of the seconds that is over."""


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """A task, trained by a plan for a GPU. `said_of_more`: what a card says of the pairs of --more."""

    task: PairTask
    batch_tokens: int
    peak_rate: float
    warmup: float = 0.02  # share of the seconds
    averaging: float = 0.999
    measured_each: float = 20.0  # seconds
    said_of_more: str = ""


def pair_task(name: str) -> PairTask:
    """The package's task of this name."""
    task = find_task(name)
    assert isinstance(task, PairTask)
    return task


RECIPES: Mapping[str, Recipe] = {
    "taylor": Recipe(task=pair_task("taylor"), batch_tokens=98_304, peak_rate=3e-3, said_of_more=SAID)
}


@dataclass
class Prepared:
    """A recipe with its data as ids."""

    name: str
    material: Material
    validation: EncodedPairs  # all of it


def prepare(name: str, data: Path, limit: int | None = None) -> Prepared:
    """Read and encode the data of a recipe."""
    task = RECIPES[name].task
    if limit is not None:
        task = replace(task, train=tuple(replace(split, limit=limit) for split in task.train))
    material = replace(task.prepare(data), vary=None)  # a closure, made again where it is trained
    validation = task.validation.read(data, task.tokenizers)
    limits = (material.model.max_source, material.model.max_target)
    codecs = material.codecs
    assert codecs[0] is not None
    return Prepared(name, material, EncodedPairs(validation, (codecs[0], codecs[1]), limits, task.validation.file))


def write_prepared(prepared: Prepared, path: Path) -> None:
    """The recipe's data as a file for `read_prepared`."""
    with gzip.open(path, "wb", compresslevel=6) as file:
        pickle.dump(vars(prepared), file)


def read_prepared(path: Path) -> Prepared:
    """What `write_prepared` wrote; a file of one's own, as it may run code."""
    with gzip.open(path, "rb") as file:
        return Prepared(**pickle.load(file))


# --- passes


def check_passes(config: ModelConfig) -> None:
    """Raises ValueError for a model whose passes `logits_of` doesn't compute."""
    wanted = {
        "kind": "encoder-decoder",
        "norm": "post",
        "norm_kind": "layer",
        "final_norm": False,
        "dropout": 0.0,
        "activation": "relu",
        "merge": "concatenate",
        "divisor": "sqrt-head-dim",
        "embedding_scale": "sqrt",
        "padding_mask": "key",
        "positions": "learned",
        "pad_to": None,
    }
    if other := [name for name, value in wanted.items() if getattr(config, name) != value]:
        raise ValueError(f"the passes for a GPU don't know this model's {', '.join(other)}")


def _normed(residual: Residual, x: Tensor, added: Tensor) -> Tensor:
    norm = residual.norm
    return F.layer_norm(x + added, x.shape[-1:], norm.gain, norm.offset, norm.epsilon)


def _attended(attention: Attention, x: Tensor, read: Tensor, *, causal: bool) -> Tensor:
    def heads(found: Tensor) -> Tensor:
        return found.view(*found.shape[:2], attention.n_heads, -1).transpose(1, 2)

    query, key, value = heads(attention.to_query(x)), heads(attention.to_key(read)), heads(attention.to_value(read))
    found = F.scaled_dot_product_attention(query, key, value, is_causal=causal)
    out: Tensor = attention.to_out(found.transpose(1, 2).flatten(2))
    return out


def _embedded(stack: Stack, ids: Tensor) -> Tensor:
    embedding = stack.embedding
    assert embedding.position is not None
    x: Tensor = embedding.token(ids) * embedding.scale + embedding.position.table[: ids.size(1)]
    return x


def _fed(layer: Any, x: Tensor) -> Tensor:
    inner = layer.feed_forward
    return _normed(layer.ffn_residual, x, inner.to_out(F.relu(inner.to_hidden(x))))


def logits_of(model: Transformer, src: Tensor, tgt: Tensor) -> Tensor:
    """The model's logits [B, T, V] where no source has padding, and targets only behind their end.

    Then the causal mask hides the padding from all positions that count, and no other mask is needed.
    """
    memory = _embedded(model.encoder, src)
    for layer in model.encoder.layers:
        memory = _normed(layer.self_residual, memory, _attended(layer.self_attention, memory, memory, causal=False))
        memory = _fed(layer, memory)
    x = _embedded(model.decoder, tgt)
    for layer in model.decoder.layers:
        x = _normed(layer.self_residual, x, _attended(layer.self_attention, x, x, causal=True))
        x = _normed(layer.cross_residual, x, _attended(layer.cross_attention, x, memory, causal=False))
        x = _fed(layer, x)
    assert model.output is not None
    return model.output(x)


# --- data


class Pool:
    """All pairs in the memory of the device, in batches whose sources are equally long."""

    def __init__(self, pairs: EncodedPairs, config: ModelConfig, device: torch.device) -> None:
        self.config, self.device = config, device
        self.src = torch.zeros(0, config.max_source, dtype=torch.uint8, device=device)
        self.tgt = torch.zeros(0, config.max_target, dtype=torch.uint8, device=device)
        self.taken: set[str] = set()
        self.add(pairs.src, pairs.tgt)

    def __len__(self) -> int:
        return len(self.src)

    def add(self, src: Tensor, tgt: Tensor) -> None:
        """More pairs, padded to any length."""
        for name, new in (("src", src), ("tgt", tgt)):
            held = getattr(self, name)
            new = F.pad(new.to(self.device, torch.uint8), (0, held.size(1) - new.size(1)))
            setattr(self, name, torch.cat([held, new]))
        pads = (self.config.source_pad, self.config.target_pad)
        assert pads == (0, 0)
        self.lengths = torch.stack([(self.src != 0).sum(1), (self.tgt != 0).sum(1)]).cpu()  # [2, N]

    def take_in(self, folder: Path) -> None:
        """The files of the folder that are not here yet."""
        names = sorted(path.name for path in folder.glob("[0-9]*.npz") if path.name not in self.taken)
        if not names:
            return
        found = [np.load(folder / name) for name in names]
        self.add(*(torch.from_numpy(np.concatenate([each[side] for each in found])) for side in ("src", "tgt")))
        self.taken.update(names)

    def batches(self, tokens: int, generator: torch.Generator | None) -> list[tuple[Tensor, int, int]]:
        """Indices on the device with the lengths of source and target, in any order; without a generator in one."""
        src, tgt = self.lengths
        order = torch.arange(len(src))
        if generator is not None:
            order = torch.randperm(len(src), generator=generator)
        order = order[torch.argsort(src[order] * 1000 + tgt[order], stable=True)]
        src, tgts, start = src[order], tgt[order].tolist(), 0
        found: list[tuple[Tensor, int, int]] = []
        where = order.to(self.device)
        for length, count in zip(*(each.tolist() for each in src.unique_consecutive(return_counts=True)), strict=True):
            end = start + count
            while start < end:
                stop = min(end, start + max(1, tokens // (length + tgts[start])))
                while stop - start > 1 and (stop - start) * (length + tgts[stop - 1]) > tokens:
                    stop -= max(1, (stop - start) // 20)
                whole = min(-8 * (-tgts[stop - 1] // 8), self.tgt.size(1))  # fewer shapes, whose memory is used again
                found.append((where[start:stop], int(length), whole))
                start = stop
        if generator is None:
            return found
        return [found[i] for i in torch.randperm(len(found), generator=generator).tolist()]

    def batch(self, where: tuple[Tensor, int, int]) -> Batch:
        indices, src, tgt = where
        return self.src[indices, :src].long(), self.tgt[indices, :tgt].long()


# --- optimiser


class StackedMuon(torch.optim.Optimizer):
    """Muon, its iteration for all matrices of a shape at once, in bfloat16: a GPU waits for no single matrix."""

    COEFFICIENTS = (3.4445, -4.775, 2.0315)

    def __init__(self, parameters: Sequence[Tensor], *, lr: float, weight_decay: float, momentum: float = 0.95) -> None:
        super().__init__(parameters, {"lr": lr, "weight_decay": weight_decay, "momentum": momentum})

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]
        for group in self.param_groups:
            rate, momentum = group["lr"], group["momentum"]
            shapes: dict[torch.Size, list[Tensor]] = {}
            for p in group["params"]:
                shapes.setdefault(p.shape, []).append(p)
            for shape, params in shapes.items():
                gradients = torch.stack([p.grad for p in params])  # type: ignore[misc]
                state = self.state[params[0]]
                average = state.setdefault("momentum_buffer", torch.zeros_like(gradients))
                average.lerp_(gradients, 1 - momentum)
                updates = self._orthogonal(gradients.lerp_(average, momentum))
                torch._foreach_mul_(params, 1 - rate * group["weight_decay"])
                torch._foreach_add_(params, list(updates.unbind()), alpha=-rate * 0.2 * math.sqrt(max(shape)))

    def _orthogonal(self, matrices: Tensor) -> Tensor:
        a, b, c = self.COEFFICIENTS
        tall = matrices.size(1) > matrices.size(2)
        found = matrices.mT if tall else matrices
        kind = torch.bfloat16 if found.is_cuda else found.dtype
        found = (found / found.flatten(1).norm(dim=1).clamp(min=1e-7)[:, None, None]).to(kind)
        for _ in range(5):
            gram = found @ found.mT
            found = torch.baddbmm(found, torch.baddbmm(gram, gram, gram, beta=b, alpha=c), found, beta=a)
        return (found.mT if tall else found).to(matrices.dtype)


def optimiser_of(model: Transformer, plan: Plan) -> Together:
    """Muon for the matrices of the layers, AdamW for the rest, as the package's `muon`."""
    inside = [p for name, p in model.named_parameters() if ".layers." in name and p.dim() == 2]
    taken = {id(p) for p in inside}
    others = [p for p in model.parameters() if id(p) not in taken]
    return Together(StackedMuon(inside, lr=plan.peak_rate, weight_decay=plan.weight_decay), adamw(model, plan, others))


# --- training


class Resumable:
    """A training whose state is kept in its folder, so that it goes on where it was stopped."""

    folder: Path
    device: torch.device
    model: Transformer
    average: Any
    optimiser: Any
    generator: torch.Generator
    own: list[Tensor]
    passed: list[Tensor]

    def save(self) -> None:
        """All that a stopped training needs to go on."""
        names = ("step", "seconds", "pairs", "tokens", "epoch", "history")
        state = {name: getattr(self, name) for name in names} | {
            "model": self.model.state_dict(),
            "average": self.average.state_dict(),
            "optimiser": self.optimiser.state_dict(),
            "generator": self.generator.get_state(),
        }
        half = self.folder / "state.new"
        torch.save(state, half)
        half.rename(self.folder / "state.pt")

    def _load(self) -> None:
        state = torch.load(self.folder / "state.pt", weights_only=False, map_location=self.device)
        for name in ("step", "seconds", "pairs", "tokens", "epoch", "history"):
            setattr(self, name, state[name])
        self.model.load_state_dict(state["model"])
        self.average.load_state_dict(state["average"])
        self.optimiser.load_state_dict(state["optimiser"])
        self.generator.set_state(state["generator"].cpu())
        with torch.no_grad():
            torch._foreach_copy_(self.passed, self.own)


@dataclass
class Training(Resumable):
    """One recipe's training as it goes on."""

    recipe: Recipe
    prepared: Prepared
    folder: Path
    device: torch.device
    more: Path | None = None
    step: int = 0
    seconds: float = 0.0  # of learning, measuring left out
    pairs: int = 0
    tokens: int = 0
    epoch: int = 0
    history: list[dict[str, float]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        material = self.prepared.material
        check_passes(material.model)
        self.task = self.recipe.task
        self.plan = replace(self.task.plan, peak_rate=self.recipe.peak_rate)
        torch.manual_seed(self.plan.seed)
        self.model = Transformer(material.model).to(self.device)
        kind = torch.bfloat16 if self.device.type == "cuda" else torch.float32
        self.passes = Transformer(material.model).to(self.device, kind)  # what computes gradients
        self.average = Transformer(material.model).to(self.device).requires_grad_(False)
        self.own, self.passed, self.averaged = (
            list(each.parameters()) for each in (self.model, self.passes, self.average)
        )
        with torch.no_grad():
            torch._foreach_copy_(self.passed, self.own)
            torch._foreach_copy_(self.averaged, self.own)
        for p in self.own:
            p.grad = torch.zeros_like(p)
        self.optimiser = optimiser_of(self.model, self.plan)
        assert isinstance(material.train, EncodedPairs)
        self.pool = Pool(material.train, material.model, self.device)
        self.validation = Pool(self.prepared.validation, material.model, self.device)
        self.generator = torch.Generator(self.device).manual_seed(self.plan.seed)
        self.vary = self._vary()
        if (self.folder / "state.pt").is_file():
            self._load()

    def _vary(self) -> Vary | None:
        source, target = self.prepared.material.codecs
        symmetry = self.task.symmetry
        return None if symmetry is None or source is None else symmetry.vary(source, target)

    def run(self, seconds: float) -> None:
        """Learn for so long, measurements included; the rate falls to 0 at the end."""
        began, since = time.monotonic(), time.monotonic()
        before, total = self.seconds, self.seconds + seconds
        if not self.history:
            self.measure(0.0)
        for where in self._places():
            elapsed = time.monotonic() - began
            if self.over(began, seconds):
                break
            self._learn(self.pool.batch(where), (before + elapsed) / total)
            if time.monotonic() - since >= self.recipe.measured_each:
                self.seconds = before + time.monotonic() - began
                self.measure(self.seconds)
                since = time.monotonic()
                self.save()
        self.seconds = before + time.monotonic() - began
        self.measure(self.seconds)
        self.save()

    def over(self, began: float, seconds: float) -> bool:
        """Whether the time is over."""
        return time.monotonic() - began >= seconds

    def _places(self) -> Iterator[tuple[Tensor, int, int]]:
        while True:
            if self.more is not None:
                self.pool.take_in(self.more)
            plan = torch.Generator().manual_seed(self.plan.seed * 1_000_003 + self.epoch)
            yield from self.pool.batches(self.recipe.batch_tokens, plan)
            self.epoch += 1

    def _learn(self, batch: Batch, share: float) -> None:
        src, tgt = self.vary(batch, self.generator) if self.vary is not None else batch
        assert src is not None
        logits = logits_of(self.passes, src, tgt[:, :-1])
        loss = F.cross_entropy(
            logits.flatten(0, 1).float(), tgt[:, 1:].flatten(), ignore_index=0, label_smoothing=self.plan.smoothing
        )
        loss.backward()
        torch._foreach_copy_([p.grad for p in self.own], [p.grad for p in self.passed])  # type: ignore[misc]
        for p in self.passed:
            p.grad = None
        torch.nn.utils.clip_grad_norm_(self.own, self.plan.clip)
        warmup = max(1, round(self.recipe.warmup * MAX_STEPS))
        rate = self.plan.peak_rate * rate_factor(round(share * MAX_STEPS), warmup=warmup, total=MAX_STEPS)
        for group in self.optimiser.param_groups:
            group["lr"] = rate
        self.optimiser.step()
        decay = min(self.recipe.averaging, self.step / (self.step + 10))
        with torch.no_grad():
            torch._foreach_copy_(self.passed, self.own)
            torch._foreach_lerp_(self.averaged, self.own, 1 - decay)
        self.step += 1
        self.pairs += len(src)
        self.tokens += src.numel() + tgt.numel()
        self.loss = loss.detach()

    @torch.no_grad()
    def measure(self, seconds: float) -> float:
        """Loss and exact matches on all validation pairs, of the average as stored; returns how long it took."""
        began = time.monotonic()
        stored = Transformer(self.prepared.material.model).to(self.device).requires_grad_(False)
        torch._foreach_copy_(list(stored.parameters()), [p.half().float() for p in self.averaged])
        right, total, tokens = 0, 0.0, 0
        by_length = {"short": [0, 0], "long": [0, 0]}
        for where in self.validation.batches(self.recipe.batch_tokens, None):
            src, tgt = self.validation.batch(where)
            assert src is not None
            logits, wanted = logits_of(stored, src, tgt[:, :-1]), tgt[:, 1:]
            counted = wanted != 0
            total += float(F.cross_entropy(logits.flatten(0, 1), wanted.flatten(), ignore_index=0, reduction="sum"))
            tokens += int(counted.sum())
            # Greedy decoding writes the target exactly where each of its tokens is the likeliest after those before.
            whole = ((logits.argmax(-1) == wanted) | ~counted).all(1)
            right += int(whole.sum())
            fits = counted.sum(1) <= 101  # with the end token
            for name, which in (("short", fits), ("long", ~fits)):
                by_length[name][0] += int((whole & which).sum())
                by_length[name][1] += int(which.sum())
        row = {
            "step": self.step,
            "seconds": round(seconds, 1),
            "epoch": self.epoch,
            "training_pairs": len(self.pool),
            "pairs": self.pairs,
            "tokens": self.tokens,
            "train_loss": float(getattr(self, "loss", math.nan)),
            "validation_loss": total / tokens,
            "right": right,
            "of": len(self.validation),
            "right_to_100": by_length["short"][0],
            "of_to_100": by_length["short"][1],
        }
        if not self.history or right >= max(each["right"] for each in self.history):
            kept = {name: value.half().cpu().contiguous() for name, value in stored.state_dict().items()}
            save_file(kept, self.folder / "weights.safetensors")
        self.history.append(row)
        print(
            self.prepared.name,
            " ".join(
                f"{name}={value:.5g}" if isinstance(value, float) else f"{name}={value}" for name, value in row.items()
            ),
            flush=True,
        )
        self._write()
        return time.monotonic() - began

    def _write(self) -> None:
        lines = [",".join(self.history[0]), *(",".join(map(str, row.values())) for row in self.history)]
        (self.folder / "history.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
        best = max(self.history, key=lambda row: row["right"])
        measured = {
            "recipe": self.prepared.name,
            **{name: value for name, value in vars(self.recipe).items() if name not in ("task", "said_of_more")},
            "model": self.prepared.material.model.to_dict(),
            "device": torch.cuda.get_device_name() if self.device.type == "cuda" else "cpu",
            "torch": torch.__version__,
            "best": best,
            "last": self.history[-1],
            "taken_in": sorted(self.pool.taken),
        }
        (self.folder / "measured.json").write_text(json.dumps(measured, indent=1), encoding="utf-8")


def train(
    files: Sequence[Path],
    out: Path,
    seconds: float,
    *,
    device: str = "auto",
    more: Path | None = None,
    peak_rate: float | None = None,
) -> None:
    """Train these prepared recipes one after the other, each for its share of the seconds."""
    chosen = torch.device("cuda" if device == "auto" and torch.cuda.is_available() else device.replace("auto", "cpu"))
    torch.backends.cuda.enable_cudnn_sdp(
        False
    )  # it plans anew for each shape of a batch, which takes longer than a step
    until = time.monotonic() + seconds
    for number, path in enumerate(files):
        prepared = read_prepared(path)
        recipe = RECIPES[prepared.name]
        recipe = recipe if peak_rate is None else replace(recipe, peak_rate=peak_rate)
        training = Training(recipe, prepared, out / prepared.name, chosen, more if prepared.name == "taylor" else None)
        training.run((until - time.monotonic()) / (len(files) - number))


def main() -> None:
    reader = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = reader.add_subparsers(dest="command", required=True)
    first = commands.add_parser("prepare")
    first.add_argument("data", type=Path)
    first.add_argument("out", type=Path)
    first.add_argument("--recipe", choices=[*RECIPES], required=True)
    first.add_argument("--limit", type=int, help="training pairs of each file, at most")
    second = commands.add_parser("train")
    second.add_argument("out", type=Path)
    second.add_argument("--prepared", type=Path, nargs="+", required=True)
    second.add_argument("--seconds", type=float, required=True)
    second.add_argument("--device", choices=["auto", "cpu", "cuda"], default="auto")
    second.add_argument("--more", type=Path)
    second.add_argument("--peak-rate", type=float)
    second.add_argument("--at-once", action="store_true")
    given = reader.parse_args()
    if given.command == "prepare":
        write_prepared(prepare(given.recipe, given.data, given.limit), given.out)
        return
    if not given.at_once:
        how = {"device": given.device, "more": given.more, "peak_rate": given.peak_rate}
        train(given.prepared, given.out, given.seconds, **how)
        return
    options = ["--seconds", str(given.seconds), "--device", given.device]
    for name in ("more", "peak_rate"):
        value = getattr(given, name)
        options += [] if value is None else ["--" + name.replace("_", "-"), str(value)]
    started = [
        subprocess.Popen(
            [sys.executable, "-m", "bench.train_recipes", "train", given.out, "--prepared", path, *options]
        )
        for path in given.prepared
    ]
    sys.exit(max(each.wait() for each in started))


if __name__ == "__main__":
    main()
