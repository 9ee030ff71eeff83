"""Masks: Boolean tensors, True = may attend, and what a softmax makes of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

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


def key_only(query_keep: Tensor, key_keep: Tensor) -> Tensor:
    """Padded keys are masked: [B, Q], [B, K] -> [B, 1, Q, K]."""
    return key_mask(key_keep, query_keep.size(1))


def key_or_query(query_keep: Tensor, key_keep: Tensor) -> Tensor:
    """Padded keys are masked, and every key for a padded query: [B, Q], [B, K] -> [B, 1, Q, K]."""
    return (query_keep[:, :, None] & key_keep[:, None, :])[:, None]


def swapped_axes(query_keep: Tensor, key_keep: Tensor) -> Tensor:
    """The slip of one tutorial: masked where the query's side is padded at the KEY's position, or the other way round.

    [B, T], [B, T] -> [B, 1, T, T]: it fits only because both sides are padded to one length.
    """
    return key_or_query(key_keep, query_keep)


class PaddingMasks(NamedTuple):
    """From which positions are tokens to which keys a query may attend to, before causality."""

    self_attention: Callable[[Tensor, Tensor], Tensor]
    cross_attention: Callable[[Tensor, Tensor], Tensor]


PADDING_MASKS: dict[str, PaddingMasks] = {
    "key": PaddingMasks(key_only, key_only),
    "key-or-query": PaddingMasks(key_or_query, key_or_query),
    "key-or-query-swapped-cross": PaddingMasks(key_or_query, swapped_axes),
}


def softmax_or_zeros(scores: Tensor, mask: Tensor) -> Tensor:
    """Softmax over the allowed keys; a query that may attend to nothing gets a row of zeros.

    scores: [B, H, Q, K], mask: Boolean, broadcastable to it. Masked cells are exactly 0.
    """
    masked = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    return masked.softmax(dim=-1).masked_fill(~mask, 0.0)


@dataclass(frozen=True)
class FilledSoftmax:
    """Softmax after masked scores were replaced by one number.

    Masked cells are exactly 0 beside an allowed one. A row without any is exactly even over all keys, masked as they
    are; filled with minus infinity it is NaN, which spreads to all that reads it.
    """

    fill: float

    def __call__(self, scores: Tensor, mask: Tensor) -> Tensor:
        """scores: [B, H, Q, K], mask: Boolean, broadcastable to it."""
        return scores.masked_fill(~mask, self.fill).softmax(dim=-1)


@dataclass(frozen=True)
class AddedSoftmax:
    """Softmax after one number was added to masked scores, which rounds them.

    float32 at 1e9 has steps of 64: a row that may attend to nothing is even over all keys while scores stay below 32.
    Larger ones become multiples of 64, and all the weight goes to the keys that have the largest.
    """

    addend: float

    def __call__(self, scores: Tensor, mask: Tensor) -> Tensor:
        """scores: [B, H, Q, K], mask: Boolean, broadcastable to it."""
        return (scores + self.addend * (~mask).to(scores.dtype)).softmax(dim=-1)


LOWEST_ADDED = AddedSoftmax(torch.finfo(torch.float32).min)
"""What transformers does with masks: a row that may attend to nothing is even, whatever its scores are."""
MASK_FILLS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "zero-rows": softmax_or_zeros,
    "-inf": FilledSoftmax(-math.inf),
    "-1e9": FilledSoftmax(-1e9),
    "-1e10": FilledSoftmax(-1e10),
    "added-1e9": AddedSoftmax(-1e9),
}
