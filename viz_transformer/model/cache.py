"""Keys and values cached between decoding steps, in memory allocated once."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor


class AttentionCache:
    """Keys and values of one attention: [B, H, T_max, E], filled from the front.

    A `complete` cache (cross-attention after its first step) is never extended.
    """

    def __init__(self, max_length: int | None) -> None:
        self.max_length = max_length  # None: filled once, from the memory
        self.length = 0
        self.complete = False
        self._key: Tensor | None = None
        self._value: Tensor | None = None

    @property
    def key(self) -> Tensor:
        assert self._key is not None
        return self._key[:, :, : self.length]

    @property
    def value(self) -> Tensor:
        assert self._value is not None
        return self._value[:, :, : self.length]

    def extend(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """Append the new rows [B, H, new, E] and return all keys and values so far."""
        if self.max_length is None:
            self._key, self._value = key, value
            self.length, self.complete = key.size(2), True
            return key, value
        if self._key is None or self._value is None:
            batch, heads, _, head_dim = key.shape
            self._key = key.new_empty(batch, heads, self.max_length, head_dim)
            self._value = torch.empty_like(self._key)
        end = self.length + key.size(2)
        if end > self.max_length:
            raise ValueError(f"the cache holds {self.max_length} positions, position {end - 1} does not fit")
        self._key[:, :, self.length : end] = key
        self._value[:, :, self.length : end] = value
        self.length = end
        return self.key, self.value

    def select(self, rows: Tensor) -> None:
        """Keep these rows of the batch, in this order (rows: int64 [B'])."""
        if self._key is not None and self._value is not None:
            self._key, self._value = self._selected(self._key, rows), self._selected(self._value, rows)

    def _selected(self, stored: Tensor, rows: Tensor) -> Tensor:
        """The selected rows, at the same capacity; only the filled part is copied."""
        filled = stored[:, :, : self.length].index_select(0, rows)
        if self.max_length is None:
            return filled
        if len(rows) != len(stored):
            stored = stored.new_empty(len(rows), *stored.shape[1:])
        stored[:, :, : self.length] = filled
        return stored


class DecoderCache:
    """Self- and cross-attention caches of every decoder layer, and a mask of padding positions."""

    def __init__(self, n_layers: int, max_length: int) -> None:
        self.self_attention: Sequence[AttentionCache] = [AttentionCache(max_length) for _ in range(n_layers)]
        self.cross_attention: Sequence[AttentionCache] = [AttentionCache(None) for _ in range(n_layers)]
        self._keep: Tensor | None = None

    @property
    def length(self) -> int:
        """Positions decoded so far."""
        return self.self_attention[0].length

    def kept(self, new: Tensor) -> Tensor:
        """Append `new` [B, new] and return the mask of all tokens so far, [B, T]: True = not padding."""
        self._keep = new if self._keep is None else torch.cat([self._keep, new], dim=1)
        return self._keep

    def select(self, rows: Tensor, *, same_memory: bool = False) -> None:
        """Keep these rows of the batch in every layer, such as the surviving hypotheses of a beam.

        same_memory: the selected rows read the same memories as before, so cross-attention needs no reordering.
        """
        for cache in (*self.self_attention, *(() if same_memory else self.cross_attention)):
            cache.select(rows)
        if self._keep is not None:
            self._keep = self._keep.index_select(0, rows)
