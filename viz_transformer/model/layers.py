"""Embedding, feed-forward, and the layers of the two stacks."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from viz_transformer.model.attention import Attention, learned_sqrt_d_model
from viz_transformer.model.cache import AttentionCache
from viz_transformer.model.config import ModelConfig
from viz_transformer.model.dropout import Dropout
from viz_transformer.model.hook import Hook
from viz_transformer.model.norms import NORMS
from viz_transformer.model.unfilled import has_numbers

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": F.relu,
    "gelu": F.gelu,
    "gelu-tanh": partial(F.gelu, approximate="tanh"),  # Hendrycks and Gimpel (2016)
    "silu": F.silu,
}


EMBEDDING_SCALES: dict[str, Callable[[ModelConfig], float | nn.Parameter]] = {
    "one": lambda config: 1.0,
    "sqrt": lambda config: math.sqrt(config.d_model),
    "learned": learned_sqrt_d_model,  # one for each stack
}


Map = Callable[[Tensor], Tensor]


def activate_then_drop(x: Tensor, activation: Map, dropout: Map) -> Tensor:
    """Apply the activation, then dropout."""
    return dropout(activation(x))


def drop_then_activate(x: Tensor, activation: Map, dropout: Map) -> Tensor:
    """Apply dropout, then the activation: equal for ReLU, which commutes with it, but not for GELU."""
    return activation(dropout(x))


def activate(x: Tensor, activation: Map, dropout: Map) -> Tensor:
    """Apply the activation without dropout, as in the paper's text."""
    return activation(x)


def drop_output(x: Tensor, out: Tensor, dropout: Map) -> Tensor:
    """Add the sub-layer's output after dropout (Vaswani et al. 2017, section 5.4)."""
    return x + dropout(out)


def drop_nothing(x: Tensor, out: Tensor, dropout: Map) -> Tensor:
    """Add without dropout: one tutorial defines the third dropout of its decoder layer and never calls it."""
    return x + out


def drop_stream(x: Tensor, out: Tensor, dropout: Map) -> Tensor:
    """Apply dropout to the stream instead of the sub-layer's output: a bug in one tutorial's decoder layer."""
    return dropout(x) + out


FFN_DROPOUTS: dict[str, Callable[[Tensor, Map, Map], Tensor]] = {
    "after-activation": activate_then_drop,
    "before-activation": drop_then_activate,
    "none": activate,
}
RESIDUAL_DROPOUTS: dict[str, Callable[[Tensor, Tensor, Map], Tensor]] = {
    "output": drop_output,
    "none": drop_nothing,
    "stream": drop_stream,
}


class PositionTable(nn.Module):
    """Position vectors: a parameter if trained, else recomputed on construction and not saved."""

    table: Tensor

    def __init__(self, config: ModelConfig, length: int) -> None:
        super().__init__()
        if has_numbers():
            table = config.encoding.table(length + config.position_offset, config.d_model)[config.position_offset :]
        else:
            table = torch.empty(length, config.d_model)
        if config.encoding.trained:
            self.table = nn.Parameter(table)
        else:
            self.register_buffer("table", table, persistent=False)

    def forward(self, start: int, length: int) -> Tensor:
        """Rows start to start + length - 1: [T, D]."""
        return self.table[start : start + length]


class Embedding(nn.Module):
    """Input of a stack: scaled token embedding plus position vector."""

    def __init__(self, config: ModelConfig, vocab_size: int, max_length: int) -> None:
        super().__init__()
        self.token = nn.Embedding(vocab_size, config.d_model)
        self.scale: float | nn.Parameter = EMBEDDING_SCALES[config.embedding_scale](config)
        self.position = PositionTable(config, max_length) if config.encoding.adds else None
        self.dropout = Dropout(config.dropout if config.embedding_dropout else 0.0)

    def forward(self, ids: Tensor, hook: Hook, *, start: int = 0) -> Tensor:
        """ids: [B, T], first token at position `start` -> [B, T, D]."""
        x = hook("token", self.token(ids) * self.scale)
        if self.position is not None:
            position = self.position(start, ids.size(1)).expand_as(x)
            x = x + hook("position", position)
        out: Tensor = self.dropout(x)
        return hook("out", out)


class FeedForward(nn.Module):
    """Two linear maps with an activation between, applied to each position (Vaswani et al. 2017, equation 2)."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.to_hidden = nn.Linear(config.d_model, config.d_ff, bias=config.ffn_bias)
        self.to_out = nn.Linear(config.d_ff, config.d_model, bias=config.ffn_bias)
        self.activation = ACTIVATIONS[config.activation]
        self.activate = FFN_DROPOUTS[config.ffn_dropout]
        self.dropout = Dropout(config.dropout)

    def forward(self, x: Tensor, hook: Hook) -> Tensor:
        """[B, T, D] -> [B, T, D]; the point hidden is [B, T, d_ff], after the activation."""
        x = hook("in", x)
        hidden = hook("hidden", self.activate(self.to_hidden(x), self.activation, self.dropout))
        out: Tensor = self.to_out(hidden)
        return hook("out", out)


class Residual(nn.Module):
    """Residual connection of a sub-layer: x + sublayer(norm(x)) for pre-norm, norm(x + sublayer(x)) for post-norm."""

    def __init__(self, config: ModelConfig, *, dropped: str = "output") -> None:
        super().__init__()
        self.norm = NORMS[config.norm_kind](config)
        self.norm_first = config.norm == "pre"
        self.add = RESIDUAL_DROPOUTS[dropped]
        self.dropout = Dropout(config.dropout)

    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor], hook: Hook, *, part: str, after: str) -> Tensor:
        """x: [B, T, D]. part: name of the sub-layer's norm. after: name of the stream after it."""
        norm_hook = hook.scope(part)
        if self.norm_first:
            x = self.add(x, sublayer(self.norm(x, norm_hook)), self.dropout)
        else:
            total = hook(f"{after}_sum", self.add(x, sublayer(x), self.dropout))
            x = self.norm(total, norm_hook)
        return hook(after, x)


class EncoderLayer(nn.Module):
    """Self-attention and feed-forward."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.self_attention = Attention(config, stack="encoder")
        self.feed_forward = FeedForward(config)
        self.self_residual = Residual(config)
        self.ffn_residual = Residual(config)

    def forward(self, x: Tensor, mask: Tensor, hook: Hook) -> Tensor:
        """x: [B, S, D], mask: [B, 1, S, S] -> [B, S, D]."""
        feed_forward = partial(self.feed_forward, hook=hook.scope("ffn"))
        attend = partial(self.self_attention, mask=mask, hook=hook.scope("self"))
        x = hook("residual_in", x)
        x = self.self_residual(x, attend, hook, part="self", after="residual_after_self")
        x = self.ffn_residual(x, feed_forward, hook, part="ffn", after="residual_out")
        return x


class DecoderLayer(nn.Module):
    """Masked self-attention, cross-attention if the model has an encoder, and feed-forward."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.self_attention = Attention(config, stack="decoder")
        self.self_residual = Residual(config)
        if config.has_encoder:
            self.cross_attention = Attention(config)
            self.cross_residual = Residual(config)
        self.feed_forward = FeedForward(config)
        self.ffn_residual = Residual(config, dropped=config.decoder_ffn_dropout)

    def forward(
        self,
        x: Tensor,
        mask: Tensor,
        hook: Hook,
        *,
        memory: Tensor | None = None,
        memory_mask: Tensor | None = None,
        self_cache: AttentionCache | None = None,
        cross_cache: AttentionCache | None = None,
    ) -> Tensor:
        """x: [B, T, D], mask: [B, 1, T, T], memory: [B, S, D], memory_mask: [B, 1, T, S] -> [B, T, D]."""
        feed_forward = partial(self.feed_forward, hook=hook.scope("ffn"))
        attend_self = partial(self.self_attention, mask=mask, hook=hook.scope("self"), cache=self_cache)
        x = hook("residual_in", x)
        x = self.self_residual(x, attend_self, hook, part="self", after="residual_after_self")
        if memory is not None:
            reads = {"mask": memory_mask, "memory": memory, "cache": cross_cache}
            attend_memory = partial(self.cross_attention, hook=hook.scope("cross"), **reads)
            x = self.cross_residual(x, attend_memory, hook, part="cross", after="residual_after_cross")
        x = self.ffn_residual(x, feed_forward, hook, part="ffn", after="residual_out")
        return x
