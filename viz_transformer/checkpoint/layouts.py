"""Fused projections of other people's files, split into the separate maps W_Q, W_K and W_V of ours.

A weight is stored as nn.Linear has it, [out, in]; a bias is [out]. The rows of the result are ours: head h owns rows
h*E to (h+1)*E - 1 of each map. Numbers are moved, never computed.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor


def split_stacked(fused: Tensor, parts: int = 3) -> tuple[Tensor, ...]:
    """All of W_Q, then all of W_K, then all of W_V, below each other, as `nn.MultiheadAttention.in_proj_weight` and
    nanoGPT's `c_attn` have them.

    fused: [parts*D, D] or a bias [parts*D]; `parts` is 2 for keys and values alone. Returns parts of [D, D] or [D].
    Raises ValueError if the rows cannot be divided so.
    """
    _check_rows(fused, parts, f"{parts} maps")
    return tuple(part.clone() for part in fused.chunk(parts, dim=0))


def split_interleaved(fused: Tensor, n_heads: int, parts: int = 3) -> tuple[Tensor, ...]:
    """Query, key and value of head 0, then those of head 1, and so on: made by reshaping the projection to
    [B, T, H, parts*E] and splitting after that.

    fused: [parts*D, D] or a bias [parts*D]; `parts` is 2 for keys and values alone. Returns parts of [D, D] or [D].
    Raises ValueError if the rows cannot be divided so.
    """
    _check_rows(fused, n_heads * parts, f"{parts} maps of {n_heads} heads")
    head_dim = len(fused) // (n_heads * parts)
    by_head = fused.reshape(n_heads, parts, head_dim, *fused.shape[1:])
    return tuple(by_head[:, part].reshape(-1, *fused.shape[1:]).clone() for part in range(parts))


def join_heads(heads: Sequence[Tensor]) -> Tensor:
    """One map from one Linear for each head: H of [E, D] -> [D, D]; biases H of [E] -> [D].

    Raises ValueError if there is none, or their shapes differ.
    """
    shapes = {tuple(head.shape) for head in heads}
    if len(shapes) != 1:
        given = ", ".join(map(str, sorted(shapes))) or "none"
        raise ValueError(f"the heads of one map must have one shape, not {given}")
    return torch.cat(list(heads))


def _check_rows(fused: Tensor, parts: int, what: str) -> None:
    if parts < 1 or fused.dim() not in (1, 2) or len(fused) % parts:
        raise ValueError(f"a tensor of shape {list(fused.shape)} is not {what} below each other")
