"""Multi-head attention, written out so that every intermediate value has a name.

weights = softmax(query @ key^T / divisor) over the keys that the mask allows; head_out = weights @ value.
Positions may act in self-attention: rotary positions rotate query and key, ALiBi adds a bias to the scores
(`positions.py`).
Source: Vaswani et al. (2017), equation 1 and section 3.2.2.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from viz_transformer.model.cache import AttentionCache
from viz_transformer.model.config import ModelConfig
from viz_transformer.model.dropout import Dropout
from viz_transformer.model.hook import Hook
from viz_transformer.model.hook_point import FUSED_FROM
from viz_transformer.model.kinds import StackName
from viz_transformer.model.masks import MASK_FILLS
from viz_transformer.model.unfilled import has_numbers


def split_heads(x: Tensor, n_heads: int) -> Tensor:
    """[B, T, D] -> [B, H, T, E]: head h owns features h*E to (h+1)*E - 1."""
    batch, length, d_model = x.shape
    return x.view(batch, length, n_heads, d_model // n_heads).transpose(1, 2)


def concatenate_heads(x: Tensor) -> Tensor:
    """[B, H, T, E] -> [B, T, D]: the inverse of split_heads."""
    batch, n_heads, length, head_dim = x.shape
    return x.transpose(1, 2).reshape(batch, length, n_heads * head_dim)


def raw_reshape(x: Tensor) -> Tensor:
    """[B, H, T, E] -> [B, T, D] without transposing heads and positions first, a bug of one tutorial.

    Row t then holds H consecutive queries of one head (see `landing_place`), so it depends on later positions.
    """
    batch, n_heads, length, head_dim = x.shape
    return x.reshape(batch, length, n_heads * head_dim)


def landing_place(head: int, query: int, *, n_heads: int, length: int) -> tuple[int, int]:
    """Output row, and slot of head_dim features within it, of one query of one head after `raw_reshape`."""
    return divmod(head * length + query, n_heads)


def learned_sqrt_d_model(config: ModelConfig) -> nn.Parameter:
    """A trained number, initialised to sqrt(d_model)."""
    return nn.Parameter(torch.tensor(math.sqrt(config.d_model)))


def attention_scores(query: Tensor, key: Tensor, divisor: float | Tensor, bias: Tensor | None = None) -> Tensor:
    """Scaled dot products before the mask, plus `bias` [B, H, Q, K] if given.

    query: [B, H, Q, E], key: [B, H, K, E] -> [B, H, Q, K].
    """
    scores = query @ key.transpose(-2, -1) / divisor
    return scores if bias is None else scores + bias


MERGES: dict[str, Callable[[Tensor], Tensor]] = {"concatenate": concatenate_heads, "raw-reshape": raw_reshape}
DIVISORS: dict[str, Callable[[ModelConfig], float | nn.Parameter]] = {
    "sqrt-head-dim": lambda config: math.sqrt(config.head_dim),  # as in the paper
    "sqrt-d-model": lambda config: math.sqrt(config.d_model),  # scores are smaller than its by sqrt(n_heads)
    "learned": learned_sqrt_d_model,  # one for each attention
}


def is_fused(queries: int, keys: int, mask_fill: str = "zero-rows") -> bool:
    """True if an attention of this size runs in the fused kernel; its weights are then recomputed on demand.

    Requires mask_fill="zero-rows": other fills need the weights of fully masked rows.
    """
    return queries >= FUSED_FROM and keys >= FUSED_FROM and mask_fill == "zero-rows"


class NoPlaces:
    """Attention without positions."""

    def placed(self, name: str, vectors: Tensor, start: int, hook: Hook) -> Tensor:
        """Record and return `name` (query or key) for the dot product: [B, H, T, E], first row at position `start`."""
        return hook(name, vectors)

    def bias(self, like: Tensor, keys: int, start: int, hook: Hook) -> Tensor | None:
        """Bias of the scores, [B, H, Q, K], or None. like: queries [B, H, Q, E], first row at position `start`."""
        return None


class Places(NoPlaces, nn.Module):
    """Applies the model's positional encoding inside self-attention and holds its tensors."""

    def __init__(self, config: ModelConfig, stack: StackName) -> None:
        super().__init__()
        self.encoding, self.stack = config.encoding, stack
        tensors = self.encoding.tensors(config, stack) if has_numbers() else {}
        self.names = tuple(tensors)
        for name, tensor in tensors.items():
            self.register_buffer(name, tensor, persistent=False)

    def held(self) -> dict[str, Tensor]:
        """The encoding's tensors, on the model's device."""
        return {name: getattr(self, name) for name in self.names}

    def placed(self, name: str, vectors: Tensor, start: int, hook: Hook) -> Tensor:
        return self.encoding.placed(name, vectors, start, self.held(), hook)

    def bias(self, like: Tensor, keys: int, start: int, hook: Hook) -> Tensor | None:
        """Record and return the point `bias`, the same for every text of the batch."""
        if not self.encoding.biased:
            return None
        query = torch.arange(start, start + like.size(-2), device=like.device)
        back = query[:, None] - torch.arange(keys, device=like.device)  # [Q, K]: distance back from query to key
        bias = self.encoding.bias(back, self.held(), self.stack)
        return hook("bias", bias.expand(like.size(0), like.size(1), -1, -1))


class Attention(nn.Module):
    """Self-attention, or cross-attention if a memory is given.

    stack: the stack of a self-attention; None for cross-attention, which uses no positions.
    """

    def __init__(self, config: ModelConfig, *, stack: StackName | None = None) -> None:
        super().__init__()
        d_model = config.d_model
        self.n_heads = config.n_heads
        self.divisor: float | nn.Parameter = DIVISORS[config.divisor](config)
        self.mask_fill = config.mask_fill
        self.masked_softmax = MASK_FILLS[config.mask_fill]
        self.merge_heads = MERGES[config.merge]
        self.positions = Places(config, stack) if stack and config.encoding.in_attention else NoPlaces()
        self.to_query = nn.Linear(d_model, d_model, bias=config.attention_bias)
        self.to_key = nn.Linear(d_model, d_model, bias=config.attention_bias)
        self.to_value = nn.Linear(d_model, d_model, bias=config.attention_bias)
        self.to_out = nn.Linear(d_model, d_model, bias=config.attention_bias)
        self.dropout = Dropout(config.dropout if config.attention_dropout else 0.0)

    def forward(
        self, x: Tensor, mask: Tensor, hook: Hook, *, memory: Tensor | None = None, cache: AttentionCache | None = None
    ) -> Tensor:
        """x: [B, Q, D], mask: [B, 1, Q, K], True = may attend -> [B, Q, D].

        Keys and values come from `memory` [B, K, D] if given, else from x. With a cache, x holds only the new
        positions: the recorded key and value are the new rows; weights and mask are the new rows over all keys so far.
        """
        x = hook("in", x)
        start = cache.length if cache is not None else 0  # position of the first new row
        query = self.positions.placed("query", split_heads(self.to_query(x), self.n_heads), start, hook)  # [B, H, Q, E]
        if cache is not None and cache.complete:
            key, value = cache.key, cache.value  # the memory does not change between steps
        else:
            read = x if memory is None else memory
            key = self.positions.placed(
                "key", split_heads(self.to_key(read), self.n_heads), start, hook
            )  # [B, H, K, E]
            value = hook("value", split_heads(self.to_value(read), self.n_heads))
            if cache is not None:
                key, value = cache.extend(key, value)
        mask = hook("mask", mask)
        bias = self.positions.bias(query, key.size(-2), start, hook)
        if is_fused(query.size(-2), key.size(-2), self.mask_fill):
            head_out = hook("head_out", self._fused(query, key, value, mask, bias))
        else:
            scores = attention_scores(query, key, self.divisor, bias)  # [B, H, Q, K]
            weights = hook("weights", self.dropout(self.masked_softmax(scores, mask)))
            head_out = hook("head_out", weights @ value)  # [B, H, Q, E]
        out: Tensor = self.to_out(self.merge_heads(head_out))
        return hook("out", out)

    def _fused(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor, bias: Tensor | None) -> Tensor:
        """Compute head_out without materialising the weights; fully masked rows give zeros."""
        dropout = self.dropout.p if self.training else 0.0
        any_key = mask.any(dim=-1, keepdim=True)
        if isinstance(self.divisor, Tensor):  # the kernel takes a plain number, which has no gradient
            query, scale = query / self.divisor, 1.0
        else:
            scale = 1 / self.divisor
        allowed = mask | ~any_key
        if bias is not None:
            allowed = bias.to(query.dtype).masked_fill(~allowed, -torch.inf)
        head_out = F.scaled_dot_product_attention(query, key, value, attn_mask=allowed, dropout_p=dropout, scale=scale)
        return head_out.masked_fill(~any_key, 0.0)
