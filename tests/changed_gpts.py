"""Small decoders with nanoGPT's names, each changed in one place that leaves no tensor in its file, and trained for a
second on made-up words: what people make of nanoGPT's model."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import torch
import torch.nn.functional as F
from strangers import causal, sinusoid
from torch import Tensor, nn

WIDTH, HEADS, LAYERS, LENGTH = 32, 4, 2, 48
LETTERS = "\nabcdefghijklmnopqrstuvwxyz ."
STEPS, MORE_STEPS, BATCH = 150, 60, 12


@dataclass(frozen=True)
class Change:
    """What is done otherwise than in nanoGPT. reads: the settings that say it; None where none can."""

    reads: dict[str, Any] | None
    order: str = "qkv"
    scale: float = 1.0
    activation: str = "gelu"
    norm: str = "layer"
    post: bool = False
    beside: bool = False
    divisor: float = math.sqrt(WIDTH / HEADS)
    positions: str = "learned"
    window: int = LENGTH
    qk_norm: bool = False
    cap: float = 0.0
    shared: bool = False
    extra: dict[str, Any] = field(default_factory=dict)


CHANGES = {
    "nothing": Change({}),
    "order k q v": Change({"qkv_order": "kqv"}, order="kqv"),
    "order v k q": Change({"qkv_order": "vkq"}, order="vkq"),
    "embedding times the root": Change({"embedding_scale": "sqrt"}, scale=math.sqrt(WIDTH)),
    "ReLU": Change({"activation": "relu"}, activation="relu"),
    "post-norm": Change({"norm": "post"}, post=True),
    "divided by the root of d_model": Change({"divisor": "sqrt-d-model"}, divisor=math.sqrt(WIDTH)),
    "rotary, halves": Change({"positions": "rotary", "rotary_pairs": "halves"}, positions="rotary halves"),
    "rotary, neighbours": Change({"positions": "rotary", "rotary_pairs": "neighbours"}, positions="rotary neighbours"),
    "ALiBi": Change({"positions": "alibi"}, positions="alibi"),
    "sines": Change({"positions": "sinusoidal"}, positions="sines"),
    "sines in halves": Change({"positions": "sinusoidal-halves"}, positions="sines in halves"),
    "no positions": Change({"positions": "none"}, positions="none"),
    "window of 6": Change(None, window=6),
    "embedding times 8": Change(None, scale=8.0),
    "squared ReLU": Change(None, activation="squared"),
    "parallel": Change(None, beside=True),
    "RMS norm": Change(None, norm="rms"),
    "norm of q and k": Change(None, qk_norm=True),
    "soft cap": Change(None, cap=4.0),
    "shared block": Change(None, shared=True),
    "no division": Change(None, divisor=1.0),
}


def turned(x: Tensor, *, halves: bool) -> Tensor:
    """Rotary positions, [B, H, T, E]."""
    size, length = x.size(-1), x.size(-2)
    angle = torch.arange(length)[:, None] / 10_000 ** (torch.arange(0, size, 2) / size)
    cos, sin = angle.cos(), angle.sin()
    if halves:
        first, second = x.chunk(2, -1)
        return torch.cat((first * cos - second * sin, second * cos + first * sin), -1)
    even, odd = x[..., 0::2], x[..., 1::2]
    return torch.stack((even * cos - odd * sin, odd * cos + even * sin), -1).flatten(-2)


class Norm(nn.Module):
    def __init__(self, change: Change):
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.ones(WIDTH)), nn.Parameter(torch.zeros(WIDTH))
        self.rms = change.norm == "rms"

    def forward(self, x: Tensor) -> Tensor:
        if self.rms:
            return F.rms_norm(x, (WIDTH,), self.weight, 1e-5) + self.bias
        return F.layer_norm(x, (WIDTH,), self.weight, self.bias)


class Attention(nn.Module):
    def __init__(self, change: Change):
        super().__init__()
        self.change = change
        self.c_attn, self.c_proj = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)

    def forward(self, x: Tensor) -> Tensor:
        change, length = self.change, x.size(1)
        parts = dict(zip(change.order, self.c_attn(x).chunk(3, -1), strict=True))
        q, k, v = (parts[each].unflatten(-1, (HEADS, -1)).transpose(1, 2) for each in "qkv")
        if change.qk_norm:
            q, k = F.rms_norm(q, (q.size(-1),)) * 2, F.rms_norm(k, (k.size(-1),)) * 2
        if change.positions.startswith("rotary"):
            q, k = (turned(each, halves=change.positions.endswith("halves")) for each in (q, k))
        scores = q @ k.transpose(-2, -1) / change.divisor
        back = torch.arange(length)[:, None] - torch.arange(length)
        if change.positions == "alibi":
            scores = scores - back * 2.0 ** (-8 * torch.arange(1, HEADS + 1) / HEADS)[:, None, None]
        keep = causal(length) & (back < change.window)
        out = scores.masked_fill(~keep, -math.inf).softmax(-1) @ v
        y: Tensor = self.c_proj(out.transpose(1, 2).flatten(2))
        return y


class Block(nn.Module):
    def __init__(self, change: Change):
        super().__init__()
        self.change = change
        self.ln_1, self.ln_2, self.attn = Norm(change), Norm(change), Attention(change)
        self.mlp = nn.ModuleDict({"c_fc": nn.Linear(WIDTH, 4 * WIDTH), "c_proj": nn.Linear(4 * WIDTH, WIDTH)})

    def forward(self, x: Tensor) -> Tensor:
        if self.change.post:
            x = self.ln_1(x + self.attn(x))
            return self.ln_2(x + self.forwarded(x))  # type: ignore[no-any-return]
        if self.change.beside:
            return x + self.attn(self.ln_1(x)) + self.forwarded(self.ln_2(x))  # type: ignore[no-any-return]
        x = x + self.attn(self.ln_1(x))
        return x + self.forwarded(self.ln_2(x))

    def forwarded(self, x: Tensor) -> Tensor:
        hidden = self.mlp["c_fc"](x)
        made = {"gelu": F.gelu, "relu": F.relu, "squared": lambda h: h.relu().square()}[self.change.activation]
        y: Tensor = self.mlp["c_proj"](made(hidden))
        return y


class ChangedGPT(nn.Module):
    def __init__(self, change: Change):
        super().__init__()
        self.change = change
        parts: dict[str, nn.Module] = {"wte": nn.Embedding(len(LETTERS), WIDTH)}
        if change.positions == "learned":
            parts["wpe"] = nn.Embedding(LENGTH, WIDTH)
        parts["h"] = nn.ModuleList([Block(change) for _ in range(1 if change.shared else LAYERS)])
        parts["ln_f"] = Norm(change)
        self.transformer = nn.ModuleDict(parts)
        self.lm_head = nn.Linear(WIDTH, len(LETTERS), bias=False)
        for name, weight in self.named_parameters():
            if weight.dim() == 2:
                nn.init.normal_(weight, std=0.05 if "wte" in name or "wpe" in name else 0.18)

    def forward(self, ids: Tensor) -> Tensor:
        change, length = self.change, ids.size(1)
        x = self.transformer["wte"](ids) * change.scale
        if change.positions == "learned":
            x = x + self.transformer["wpe"](torch.arange(length))
        elif change.positions == "sines":
            x = x + sinusoid(length, WIDTH)
        elif change.positions == "sines in halves":
            angle = torch.arange(length)[:, None] / 10_000 ** (torch.arange(0, WIDTH, 2) / WIDTH)
            x = x + torch.cat((angle.sin(), angle.cos()), -1)
        for block in [*self.transformer["h"]] * (2 if change.shared else 1):
            x = block(x)
        logits: Tensor = self.lm_head(self.transformer["ln_f"](x))
        return logits * 1.0 if not change.cap else change.cap * torch.tanh(logits / change.cap)


def lines(count: int, seed: int) -> list[str]:
    """Lines of made-up words, each followed by one of two; the end of a line repeats its first word."""
    words_of = random.Random(0)
    words = ["".join(words_of.choices(LETTERS[1:27], k=words_of.randint(3, 6))) for _ in range(24)]
    follows = {word: words_of.sample(words, 2) for word in words}
    chance = random.Random(seed)
    found = []
    for _ in range(count):
        said = [chance.choice(words)]
        while sum(map(len, said)) + len(said) < 26:
            said.append(chance.choice(follows[said[-1]]))
        found.append(f"{' '.join(said)} {said[0]}.")
    return found


def ids_of(line: str) -> list[int]:
    return [LETTERS.index(each) for each in line]


@cache
def changed_gpt(name: str) -> ChangedGPT:
    """The trained model of this change; the same each time."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            model = ChangedGPT(CHANGES[name])
            if name == "nothing":
                _train(model, STEPS)
            else:  # from what is learned already: a changed model gets used to its change
                model.load_state_dict(changed_gpt("nothing").state_dict(), strict=False)
                _train(model, MORE_STEPS)
    finally:
        torch.set_num_threads(threads)
    return model.eval()


def _train(model: ChangedGPT, steps: int) -> None:
    text = ids_of("\n".join(lines(1500, 1)) + "\n")
    starts = [i + 1 for i, each in enumerate(text) if each == 0 and i + LENGTH + 1 < len(text)]
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, weight_decay=0.0)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 1e-2, total_steps=steps)
    data, chance = torch.tensor(text), random.Random(2)
    for _ in range(steps):
        rows = torch.stack([data[i : i + LENGTH + 1] for i in chance.choices(starts, k=BATCH)])
        loss = F.cross_entropy(model(rows[:, :-1]).flatten(0, 1), rows[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()


def true_loss(name: str, texts: list[str]) -> float:
    """Nats per token of these lines, each read from its start, as the model's own program measures them."""
    model, total, count = changed_gpt(name), 0.0, 0
    with torch.no_grad():
        for line in texts:
            ids = torch.tensor([ids_of(line)])
            total += float(F.cross_entropy(model(ids[:, :-1])[0], ids[0, 1:], reduction="sum"))
            count += ids.size(1) - 1
    return total / count
