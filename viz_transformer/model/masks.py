"""Boolean masks (True = may attend), and the softmax under a mask."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor


def causal_mask(queries: int, keys: int, *, start: int = 0, device: torch.device | None = None) -> Tensor:
    """True where key position <= query position: [1, 1, Q, K]; the first query is at position `start`."""
    query_position = torch.arange(start, start + queries, device=device)
    key_position = torch.arange(keys, device=device)
    return (key_position[None, :] <= query_position[:, None])[None, None]


def key_mask(keep: Tensor, queries: int) -> Tensor:
    """Let every query attend to every kept key: keep [B, K], True = not padding -> [B, 1, Q, K]."""
    return keep[:, None, None, :].expand(-1, 1, queries, -1)


def key_only(query_keep: Tensor, key_keep: Tensor) -> Tensor:
    """Mask padded keys: [B, Q], [B, K] -> [B, 1, Q, K]."""
    return key_mask(key_keep, query_keep.size(1))


def key_or_query(query_keep: Tensor, key_keep: Tensor) -> Tensor:
    """Mask padded keys, and every key of a padded query: [B, Q], [B, K] -> [B, 1, Q, K]."""
    return (query_keep[:, :, None] & key_keep[:, None, :])[:, None]


def swapped_axes(query_keep: Tensor, key_keep: Tensor) -> Tensor:
    """The bug of one tutorial: query and key padding are swapped. [B, T], [B, T] -> [B, 1, T, T].

    The shapes fit only because both sides are padded to one length.
    """
    return key_or_query(key_keep, query_keep)


class PaddingMasks(NamedTuple):
    """Functions from padding (query side, key side) to masks, before causality."""

    self_attention: Callable[[Tensor, Tensor], Tensor]
    cross_attention: Callable[[Tensor, Tensor], Tensor]


PADDING_MASKS: dict[str, PaddingMasks] = {
    "key": PaddingMasks(key_only, key_only),
    "key-or-query": PaddingMasks(key_or_query, key_or_query),
    "key-or-query-swapped-cross": PaddingMasks(key_or_query, swapped_axes),
}


def softmax_or_zeros(scores: Tensor, mask: Tensor) -> Tensor:
    """Softmax over the allowed keys; fully masked queries get a row of zeros.

    scores: [B, H, Q, K], mask: Boolean, broadcastable to it. Masked cells are exactly 0.
    """
    masked = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    return masked.softmax(dim=-1).masked_fill(~mask, 0.0)


@dataclass(frozen=True)
class FilledSoftmax:
    """Softmax after replacing masked scores with one number.

    Masked cells are exactly 0 next to an allowed one. A fully masked row is uniform over all keys or, with -inf, NaN,
    which spreads to everything that reads it.
    """

    fill: float

    def __call__(self, scores: Tensor, mask: Tensor) -> Tensor:
        """scores: [B, H, Q, K], mask: Boolean, broadcastable to it."""
        return scores.masked_fill(~mask, self.fill).softmax(dim=-1)


@dataclass(frozen=True)
class AddedSoftmax:
    """Softmax after adding one number to masked scores, which rounds them.

    Near 1e9, float32 has steps of 64: a fully masked row is uniform while its scores stay below 32. Larger scores
    become multiples of 64, and the keys with the largest get all the weight.
    """

    addend: float

    def __call__(self, scores: Tensor, mask: Tensor) -> Tensor:
        """scores: [B, H, Q, K], mask: Boolean, broadcastable to it."""
        return (scores + self.addend * (~mask).to(scores.dtype)).softmax(dim=-1)


LOWEST_ADDED = AddedSoftmax(torch.finfo(torch.float32).min)
"""The fill used by transformers: a fully masked row is uniform, whatever its scores."""
MASK_FILLS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "zero-rows": softmax_or_zeros,
    "-inf": FilledSoftmax(-math.inf),
    "-1e9": FilledSoftmax(-1e9),
    "-1e10": FilledSoftmax(-1e10),
    "added-1e9": AddedSoftmax(-1e9),
}
