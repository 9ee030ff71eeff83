"""Splits fused projections of other programs into separate W_Q, W_K and W_V.

A weight is [out, in], as in nn.Linear; a bias is [out]. In the result, head h owns rows h*E to (h+1)*E - 1 of each map.
Numbers are moved, never computed.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor


def split_stacked(fused: Tensor, parts: int = 3) -> tuple[Tensor, ...]:
    """Split all of W_Q, then W_K, then W_V, as in `nn.MultiheadAttention.in_proj_weight` and nanoGPT's `c_attn`.

    fused: [parts*D, D] or a bias [parts*D]; parts=2 for keys and values only. Returns parts of [D, D] or [D]. Raises
    ValueError if the rows do not divide evenly.
    """
    _check_rows(fused, parts, f"{parts} maps")
    return tuple(part.clone() for part in fused.chunk(parts, dim=0))


def split_interleaved(fused: Tensor, n_heads: int, parts: int = 3) -> tuple[Tensor, ...]:
    """Split query, key and value of head 0, then of head 1, ...: a projection reshaped to [B, T, H, parts*E].

    fused: [parts*D, D] or a bias [parts*D]; parts=2 for keys and values only. Returns parts of [D, D] or [D]. Raises
    ValueError if the rows do not divide evenly.
    """
    _check_rows(fused, n_heads * parts, f"{parts} maps of {n_heads} heads")
    head_dim = len(fused) // (n_heads * parts)
    by_head = fused.reshape(n_heads, parts, head_dim, *fused.shape[1:])
    return tuple(by_head[:, part].reshape(-1, *fused.shape[1:]).clone() for part in range(parts))


def join_heads(heads: Sequence[Tensor]) -> Tensor:
    """Join one Linear per head into one map: H of [E, D] -> [D, D]; biases H of [E] -> [D].

    Raises ValueError if there are none, or if shapes differ.
    """
    shapes = {tuple(head.shape) for head in heads}
    if len(shapes) != 1:
        given = ", ".join(map(str, sorted(shapes))) or "none"
        raise ValueError(f"the heads of one map must have one shape, not {given}")
    return torch.cat(list(heads))


def _check_rows(fused: Tensor, parts: int, what: str) -> None:
    if parts < 1 or fused.dim() not in (1, 2) or len(fused) % parts:
        raise ValueError(f"a tensor of shape {list(fused.shape)} is not {what} below each other")
