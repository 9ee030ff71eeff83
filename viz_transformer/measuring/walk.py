"""An independent forward pass in float64, written from the definitions in the paper and the tutorials.

It takes tensors and settings from the checkpoint, so it can reveal a bug in the model's code, but never a wrong
setting.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def walk(
    numbers: Mapping[str, Array], words: Mapping[str, Any], source: Sequence[int] | None, target: Sequence[int] | None
) -> dict[str, Array]:
    """Every point of one run, by name, in forward order; float64, Boolean masks, no batch axis.

    numbers: tensors of a checkpoint. words: fields of its config. source, target: ids as the stacks read them, padding
    included; None for a missing stack.
    """
    return _Walk(numbers, words).run(source, target)


class _Walk:
    def __init__(self, numbers: Mapping[str, Array], words: Mapping[str, Any]) -> None:
        self.numbers, self.words = numbers, words
        self.heads = words["n_heads"]
        self.size = words["d_model"] // self.heads
        self.points: dict[str, Array] = {}

    def run(self, source: Sequence[int] | None, target: Sequence[int] | None) -> dict[str, Array]:
        with np.errstate(all="ignore"):  # a fully masked row is NaN under one mask fill
            out, stack = np.empty(0), ""
            seen: Array | None = None
            if source is not None:
                ids, stack = np.array(source), "encoder"
                seen = self.is_token(ids, "source")
                out = self.stack(stack, ids, self.padding(seen, seen), None, None)
            if target is not None:
                memory, ids, stack = out, np.array(target), "decoder"
                own = self.is_token(ids, "target")
                back = np.subtract.outer(np.arange(len(ids)), np.arange(len(ids)))
                crossed = None if seen is None else self.crossing(own, seen)
                out = self.stack(stack, ids, self.padding(own, own) & (back >= 0), memory, crossed)
            if self.words["pooling"] != "none":
                out = self.of_text(out, self.is_token(np.array(source), "source"))
            if self.words["target_vocab_size"] is not None:
                tied = self.words["tied_output"]
                matrix = self.numbers[f"{stack}.embedding.token.weight" if tied else "output.weight"]
                bias = self.tensor("output.bias") if self.words["output_bias"] else 0.0
                self.points["logits"] = np.einsum("...d,vd->...v", out, matrix, dtype=np.float64) + bias
        return self.points

    def of_text(self, out: Array, tokens: Array) -> Array:
        """[T, D] -> [D]: pool the text for its labels."""
        rows = {"first": out[:1], "last": out[tokens][-1:], "mean": out[tokens]}[self.words["pooling"]]
        found: Array = rows.mean(axis=0)
        return found

    def tensor(self, name: str, rows: Array | None = None) -> Array:
        numbers = self.numbers[name]
        return (numbers if rows is None else numbers[rows]).astype(np.float64)

    def note(self, name: str, value: Array) -> Array:
        self.points[name] = value
        return value

    # --- masks: True = may attend

    def is_token(self, ids: Array, side: str) -> Array:
        pad = self.words[f"{side}_pad"]
        return np.array([id != pad for id in ids])

    def padding(self, queries: Array, keys: Array) -> Array:
        """[Q, K]; under some rules padded queries are masked too."""
        rows = np.full(len(queries), True) if self.words["padding_mask"] == "key" else queries
        both: Array = rows[:, None] & keys
        return both

    def crossing(self, target: Array, source: Array) -> Array:
        """[T, S]; the swapped rule exchanges the padding of source and target."""
        if self.words["padding_mask"] == "key-or-query-swapped-cross":
            source, target = target, source
        return self.padding(target, source)

    # --- a stack

    def stack(self, name: str, ids: Array, mask: Array, memory: Array | None, crossed: Array | None) -> Array:
        x = self.embedded(name, ids)
        for layer in range(self.words[f"{name}_layers"]):
            x = self.layer(f"{name}.{layer}", f"{name}.layers.{layer}", x, mask, memory, crossed)
        if self.words["final_norm"]:
            by_torch = name == "encoder" and self.words["encoder_final_norm"] == "torch"
            kind, epsilon = ("layer", 1e-5) if by_torch else (self.words["norm_kind"], self.words["norm_epsilon"])
            x = self.norm(name, f"{name}.norm", x, kind, epsilon)
        return self.note(f"{name}.out", x)

    def embedded(self, name: str, ids: Array) -> Array:
        scale = {"one": 1.0, "sqrt": math.sqrt(self.words["d_model"])}.get(self.words["embedding_scale"])
        factor = self.tensor(f"{name}.embedding.scale") if scale is None else scale
        x = self.note(f"{name}.embed.token", self.tensor(f"{name}.embedding.token.weight", ids) * factor)
        rows = self.rows_of_positions(name, len(ids))
        if rows is not None:
            x = x + self.note(f"{name}.embed.position", rows)
        return self.note(f"{name}.embed.out", x)

    def rows_of_positions(self, name: str, length: int) -> Array | None:
        """[T, D], or None if no positions are added."""
        kind, width = self.words["positions"], self.words["d_model"]
        if kind in ("none", "rotary", "alibi"):
            return None
        if kind == "learned":
            return self.tensor(f"{name}.embedding.position.table")[:length]
        half = width // 2
        pair = np.arange(half)
        exponent = {
            "sinusoidal": pair / half,
            "sinusoidal-doubled": 2 * pair / half,
            "sinusoidal-halves": pair / half,
            "sinusoidal-halves-fairseq": pair / (half - 1),
        }[kind]
        angle = np.outer(np.arange(length) + self.words["position_offset"], 10_000.0**-exponent)
        if "halves" in kind:
            return np.hstack([np.sin(angle), np.cos(angle)])
        table = np.empty((length, width))
        table[:, 0::2], table[:, 1::2] = np.sin(angle), np.cos(angle)
        return table

    # --- a layer

    def layer(self, at: str, held: str, x: Array, mask: Array, memory: Array | None, crossed: Array | None) -> Array:
        self.note(f"{at}.residual_in", x)
        attend, feed = self.attention, self.feed_forward
        x = self.sublayer(at, held, "self", x, lambda y: attend(f"{at}.self", f"{held}.self_attention", y, mask))
        if crossed is not None:
            reading = f"{at}.cross", f"{held}.cross_attention"
            x = self.sublayer(at, held, "cross", x, lambda y: attend(*reading, y, crossed, memory))
        return self.sublayer(at, held, "ffn", x, lambda y: feed(f"{at}.ffn", f"{held}.feed_forward", y))

    def sublayer(self, at: str, held: str, part: str, x: Array, inner: Any) -> Array:
        kind, epsilon = self.words["norm_kind"], self.words["norm_epsilon"]
        behind = f"{at}.residual_out" if part == "ffn" else f"{at}.residual_after_{part}"
        name = f"{held}.{part}_residual.norm"
        if self.words["norm"] == "pre":
            return self.note(behind, x + inner(self.norm(f"{at}.{part}", name, x, kind, epsilon)))
        total = self.note(f"{behind}_sum", x + inner(x))
        return self.note(behind, self.norm(f"{at}.{part}", name, total, kind, epsilon))

    def norm(self, at: str, held: str, x: Array, kind: str, epsilon: float) -> Array:
        axes = (0, 1) if kind == "positions-and-features" else (1,)
        mean = self.note(f"{at}.norm_mean", x.mean(axes, keepdims=True))
        squares = ((x - mean) ** 2).sum(axes, keepdims=True)
        count = math.prod(x.shape[axis] for axis in axes)
        made = np.sqrt(squares / (count - 1)) + epsilon if kind == "bessel" else np.sqrt(squares / count + epsilon)
        scale = self.note(f"{at}.norm_scale", made)
        normed: Array = (x - mean) / scale * self.tensor(f"{held}.gain") + self.tensor(f"{held}.offset")
        return normed

    def linear(self, held: str, x: Array, has_bias: bool) -> Array:
        made: Array = np.einsum("ti,oi->to", x, self.tensor(f"{held}.weight"), optimize=True)
        return made + self.tensor(f"{held}.bias") if has_bias else made

    def feed_forward(self, at: str, held: str, x: Array) -> Array:
        self.note(f"{at}.in", x)
        made = self.linear(f"{held}.to_hidden", x, self.words["ffn_bias"])
        hidden = self.note(f"{at}.hidden", activated(made, self.words["activation"]))
        return self.note(f"{at}.out", self.linear(f"{held}.to_out", hidden, self.words["ffn_bias"]))

    # --- attention

    def attention(self, at: str, held: str, x: Array, mask: Array, memory: Array | None = None) -> Array:
        """mask: [Q, K]. Without a memory, self-attention with rotary positions or ALiBi."""
        self.note(f"{at}.in", x)
        biased, own = self.words["attention_bias"], memory is None
        query = self.by_head(self.linear(f"{held}.to_query", x, biased))
        query = self.placed(f"{at}.query", query) if own else self.note(f"{at}.query", query)
        read = x if memory is None else memory
        key = self.by_head(self.linear(f"{held}.to_key", read, biased))
        key = self.placed(f"{at}.key", key) if own else self.note(f"{at}.key", key)
        value = self.note(f"{at}.value", self.by_head(self.linear(f"{held}.to_value", read, biased)))
        self.note(f"{at}.mask", mask[None])
        divisors = {"sqrt-head-dim": math.sqrt(self.size), "sqrt-d-model": math.sqrt(self.words["d_model"])}
        divisor = divisors.get(self.words["divisor"])
        products = np.einsum("hqe,hke->hqk", query, key)
        scores = products / (self.tensor(f"{held}.divisor") if divisor is None else divisor)
        if own and self.words["positions"] == "alibi":
            scores = scores + self.note(f"{at}.bias", self.distances(at, len(x)))
        weights = self.note(f"{at}.weights", masked_softmax(scores, mask, self.words["mask_fill"]))
        head_out = self.note(f"{at}.head_out", np.einsum("hqk,hke->hqe", weights, value))
        if self.words["merge"] == "raw-reshape":
            merged = head_out.reshape(len(x), -1)  # heads first, so that a row holds several queries of one head
        else:
            merged = np.concatenate(list(head_out), axis=1)
        return self.note(f"{at}.out", self.linear(f"{held}.to_out", merged, biased))

    def by_head(self, x: Array) -> Array:
        return np.stack(np.split(x, self.heads, axis=1))

    def placed(self, name: str, vectors: Array) -> Array:
        """Apply rotary positions to [H, T, E], as complex multiplication."""
        if self.words["positions"] != "rotary":
            return self.note(name, vectors)
        self.note(f"{name}_unrotated", vectors)
        frequency = 10_000.0 ** (-2 * np.arange(self.size // 2) / self.size)
        turns = np.exp(1j * np.outer(np.arange(vectors.shape[1]), frequency))
        turned = (vectors[..., 0::2] + 1j * vectors[..., 1::2]) * turns
        return self.note(name, np.stack([turned.real, turned.imag], axis=-1).reshape(vectors.shape))

    def distances(self, at: str, length: int) -> Array:
        """ALiBi's bias [H, Q, K]; 0 for later keys in a decoder, which are masked."""
        back = np.subtract.outer(np.arange(length), np.arange(length))
        distance = np.abs(back) if at.startswith("encoder") else np.where(back > 0, back, 0)
        return np.array(slopes(self.heads))[:, None, None] * -distance


def slopes(heads: int) -> list[float]:
    """ALiBi's slope of each head: a geometric series ending at 1/256, by the authors' rule for any number."""
    if heads & (heads - 1) == 0:
        return [2.0 ** -(8 * (head + 1) / heads) for head in range(heads)]
    below = 1 << (heads.bit_length() - 1)
    return slopes(below) + slopes(2 * below)[::2][: heads - below]


def activated(x: Array, kind: str) -> Array:
    kinds: dict[str, Callable[[], Array]] = {
        "relu": lambda: np.where(x > 0, x, 0.0),
        "silu": lambda: x / (1 + np.exp(-x)),
        "gelu": lambda: x / 2 * (1 + np.vectorize(math.erf, otypes=[float])(x / math.sqrt(2))),
        "gelu-tanh": lambda: x / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
    }
    return kinds[kind]()


def masked_softmax(scores: Array, mask: Array, fill: str) -> Array:
    """Weights [H, Q, K] under a mask fill; mask: [Q, K]."""
    if fill == "added-1e9":  # in float32, like the model: the sums are multiples of 64
        added = scores.astype(np.float32) + np.where(mask, np.float32(0), np.float32(-1e9))
        return softmax(added.astype(np.float64))
    number = {"-1e9": -1e9, "-1e10": -1e10}.get(fill, -math.inf)
    weights = softmax(np.where(mask, scores, number))
    return np.where(mask.any(axis=1, keepdims=True), weights, 0.0) if fill == "zero-rows" else weights


def softmax(scores: Array) -> Array:
    """Softmax over the last axis; NaN for a row of minus infinities."""
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights: Array = powers / powers.sum(axis=-1, keepdims=True)
    return weights
