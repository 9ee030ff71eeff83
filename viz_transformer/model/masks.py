"""Masks: Boolean tensors, True = may attend, and what a softmax makes of them."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor


def causal_mask(queries: int, keys: int, *, start: int = 0, device: torch.device | None = None) -> Tensor:
    """True where key position <= query position: [1, 1, Q, K]; the first query stands at position `start`."""
    query_position = torch.arange(start, start + queries, device=device)
    key_position = torch.arange(keys, device=device)
    return (key_position[None, :] <= query_position[:, None])[None, None]


def key_mask(keep: Tensor, queries: int) -> Tensor:
    """Every query may attend to every kept key: keep [B, K] True = a token, not padding -> [B, 1, Q, K]."""
    return keep[:, None, None, :].expand(-1, 1, queries, -1)


def softmax_or_zeros(scores: Tensor, mask: Tensor) -> Tensor:
    """Softmax over the allowed keys; a query that may attend to nothing gets a row of zeros.

    scores: [B, H, Q, K], mask: Boolean, broadcastable to it. Masked cells are exactly 0.
    """
    masked = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    return masked.softmax(dim=-1).masked_fill(~mask, 0.0)


MASK_FILLS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {"zero-rows": softmax_or_zeros}
