"""Our decoder during generation, with or without a cache."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from viz_transformer.model.cache import DecoderCache
from viz_transformer.model.hook import Hook

if TYPE_CHECKING:
    from viz_transformer.model.transformer import Transformer


class Stepping:
    """A decoder for a batch: with a cache each step reads only the new tokens, without one all tokens again."""

    def __init__(
        self, model: Transformer, sources: Sequence[Sequence[int]] | None, *, cached: bool, hook: Hook
    ) -> None:
        config = model.config
        self._model, self._hook = model, hook
        self._memory: Tensor | None = None
        self._keep: Tensor | None = None
        if sources is not None:
            self._memory, self._keep = model.encode(model.batch(sources, config.source_pad), hook)
        self.cache = DecoderCache(config.decoder_layers, config.max_target) if cached else None
        self._read: list[list[int]] = []
        self._source_of = list(range(len(sources or [()])))  # index of the source that each row reads

    @property
    def length(self) -> int:
        return self.cache.length if self.cache is not None else 0

    def step(self, new: Sequence[Sequence[int]]) -> Tensor:
        """Read these new tokens, B rows of equal length; return logits [B, V] after the last one."""
        if self.cache is None:
            self._read = [old + list(row) for old, row in zip(self._read or [[] for _ in new], new, strict=True)]
            new = self._read
        tgt = self._model.batch(new, self._model.config.target_pad)
        logits = self._model.decode(tgt, self._memory, self._keep, cache=self.cache, hook=self._hook)
        return logits[:, len(new[0]) - 1]

    def select(self, rows: Sequence[int]) -> None:
        if list(rows) == list(range(len(self._source_of))):
            return
        index = torch.tensor(rows, dtype=torch.long, device=self._model.device)
        source_of = [self._source_of[row] for row in rows]
        same_memory, self._source_of = source_of == self._source_of, source_of
        if self._memory is not None and self._keep is not None and not same_memory:
            self._memory, self._keep = self._memory.index_select(0, index), self._keep.index_select(0, index)
        if self.cache is not None:
            self.cache.select(index, same_memory=same_memory)
        elif self._read:
            self._read = [self._read[row] for row in rows]


def pad_rows(
    rows: Sequence[Sequence[int]], pad: int | None, device: torch.device | None = None, *, length: int | None = None
) -> Tensor:
    """Rows of ids as one int64 tensor [B, length or the longest], filled at the end with `pad`.

    Raises ValueError if padding is needed and `pad` is None.
    """
    longest = max(map(len, rows)) if length is None else length
    if pad is None and any(len(row) < longest for row in rows):
        raise ValueError("texts of different lengths need a pad token: take them one by one")
    return torch.tensor([[*row, *[pad] * (longest - len(row))] for row in rows], dtype=torch.long, device=device)
