"""Batches of ids from pairs or one long text, bucketed by length, in an order that depends only on (seed, step)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Protocol

import torch
from torch import Tensor

from viz_transformer.measuring.data import Pair
from viz_transformer.model.stepping import pad_rows
from viz_transformer.text.codec import Codec

Batch = tuple[Tensor | None, Tensor]  # source ids [B, S] (None: decoder-only), target ids [B, T]
Vary = Callable[[Batch, torch.Generator], Batch]
"""Augments a batch with equally valid examples of the same lengths, drawing from the generator."""
POOL = 16_384  # pairs sorted by length together: hardly any padding, yet mixed lengths


class Examples(Protocol):
    """Training examples as ids, by index, with their lengths."""

    src_lengths: Tensor  # [N]
    tgt_lengths: Tensor  # [N]

    def epoch(self, generator: torch.Generator) -> Tensor:
        """Indices of one pass over the data, shuffled."""

    def batch(self, indices: Tensor) -> Batch:
        """The examples at these indices."""

    def batches(self, tokens: int) -> list[Batch]:
        """All examples once, in batches of at most `tokens` padded tokens, for measuring."""

    def read_lengths(self) -> dict[str, int]:
        """Maximum tokens that each stack reads, by side: the positions that are trained."""

    def hold_on(self, device: torch.device) -> None:
        """Move all examples to the device, where batches are then made."""


class EncodedPairs:
    """All pairs as padded ids: `src` [N, S], `tgt` [N, T] (int16 or int32), with lengths.

    With `pad_to`, all have that length. Raises ValueError for a pair that is too long, with its index in the file.
    """

    def __init__(
        self,
        pairs: Sequence[Pair],
        codecs: tuple[Codec, Codec],
        limits: tuple[int, int],
        name: str,
        *,
        pad_to: int | None = None,
    ) -> None:
        sides = []
        for side, (codec, limit) in enumerate(zip(codecs, limits, strict=True)):
            rows = [codec.encode(pair[side]).ids for pair in pairs]
            for index, row in enumerate(rows):
                if len(row) > limit:
                    word = ("source", "target")[side]
                    raise ValueError(
                        f"{name}, pair {index + 1}: the {word} has {len(row)} tokens, the model reads at most {limit}"
                    )
            pad = codec.vocabulary.pad
            assert pad is not None
            dtype = torch.int16 if len(codec.vocabulary) < 2**15 else torch.int32
            # A target has one token more than the decoder reads.
            length = None if pad_to is None else pad_to + side
            lengths = [len(row) if length is None else length for row in rows]
            sides.append((pad_rows(rows, pad, length=length).to(dtype), torch.tensor(lengths)))
        (self.src, self.src_lengths), (self.tgt, self.tgt_lengths) = sides

    def __len__(self) -> int:
        return len(self.src)

    def epoch(self, generator: torch.Generator) -> Tensor:
        return torch.randperm(len(self), generator=generator)

    def batch(self, indices: Tensor) -> Batch:
        """The pairs at these indices, cut to the longest of them."""
        longest_src = int(self.src_lengths[indices].max())
        longest_tgt = int(self.tgt_lengths[indices].max())
        indices = indices.to(self.src.device)
        return self.src[indices, :longest_src].long(), self.tgt[indices, :longest_tgt].long()

    def batches(self, tokens: int) -> list[Batch]:
        """All examples once, in batches of at most `tokens` padded tokens, for measuring."""
        order = torch.argsort(self.tgt_lengths * 65536 + self.src_lengths, stable=True)
        return [self.batch(indices) for indices in _cut(order, self.src_lengths, self.tgt_lengths, tokens)]

    def read_lengths(self) -> dict[str, int]:
        """The longest source, and the longest target without its last token, which is only predicted."""
        return {"source": int(self.src_lengths.max()), "target": int(self.tgt_lengths.max()) - 1}

    def hold_on(self, device: torch.device) -> None:
        """Move the ids to the device; the lengths, used only for planning batches, stay."""
        self.src, self.tgt = self.src.to(device), self.tgt.to(device)


class EncodedText:
    """One long text for a decoder-only model: window i reads `window` tokens from i on and predicts the next ones.

    Raises ValueError for a text shorter than a window.
    """

    def __init__(self, ids: Sequence[int] | Tensor, window: int, starts: Tensor | None = None) -> None:
        if len(ids) <= window:
            raise ValueError(f"the text has {len(ids)} tokens: it must have more than the {window} of a window")
        self.ids = torch.as_tensor(ids)
        self.window = window
        self.starts = torch.arange(len(ids) - window) if starts is None else starts
        self.src_lengths = torch.zeros(len(self.starts), dtype=torch.long)
        self.tgt_lengths = torch.full((len(self.starts),), window)

    def epoch(self, generator: torch.Generator) -> Tensor:
        """Adjacent windows from a random start, shuffled: each token is read once."""
        first = int(torch.randint(min(self.window, len(self.starts)), (1,), generator=generator))
        indices = torch.arange(first, len(self.starts), self.window)
        return indices[torch.randperm(len(indices), generator=generator)]

    def read_lengths(self) -> dict[str, int]:
        return {"target": self.window}

    def hold_on(self, device: torch.device) -> None:
        self.ids = self.ids.to(device)

    def evenly(self, n: int) -> EncodedText:
        """The same text with n evenly spaced windows."""
        step = max(1, len(self.starts) // n)
        return EncodedText(self.ids, self.window, self.starts[::step][:n])

    def batch(self, indices: Tensor) -> Batch:
        """The windows at these indices, each with the following token: no source, [B, window + 1]."""
        places = self.starts[indices][:, None] + torch.arange(self.window + 1)
        return None, self.ids[places.to(self.ids.device)]

    def batches(self, tokens: int) -> list[Batch]:
        """All windows once, in batches of at most `tokens` tokens, for measuring."""
        return [self.batch(part) for part in torch.split(torch.arange(len(self.starts)), max(1, tokens // self.window))]


class TrainingOrder:
    """The examples of the batch at each step: a pure function of (seed, step).

    Each epoch shuffles all examples, sorts pools of them by length, cuts batches of at most `tokens` padded tokens
    (source plus target) and shuffles the batches. `vary` augments each batch anew at each step.
    """

    def __init__(self, examples: Examples, *, tokens: int, seed: int, vary: Vary | None = None) -> None:
        self.examples, self.tokens, self.seed, self.vary = examples, tokens, seed, vary
        self._starts = [0]  # first step of each epoch
        self._epoch = lru_cache(maxsize=1)(self._plan)

    def steps(self, epochs: int) -> int:
        """Number of batches in the first epochs."""
        while len(self._starts) <= epochs:
            self._starts.append(self._starts[-1] + len(self._epoch(len(self._starts) - 1)))
        return self._starts[epochs]

    def __getitem__(self, step: int) -> Batch:
        epoch = 0
        while self.steps(epoch + 1) <= step:
            epoch += 1
        batch = self.examples.batch(self._epoch(epoch)[step - self._starts[epoch]])
        if self.vary is None:
            return batch
        return self.vary(batch, torch.Generator().manual_seed(self.seed * 1_000_003 + step))

    def _plan(self, epoch: int) -> list[Tensor]:
        generator = torch.Generator().manual_seed(self.seed * 1_000_003 + epoch)
        shuffled = self.examples.epoch(generator)
        batches: list[Tensor] = []
        for pool in torch.split(shuffled, POOL):
            key = self.examples.tgt_lengths[pool] * 65536 + self.examples.src_lengths[pool]
            pool = pool[torch.argsort(key, stable=True)]
            batches += _cut(pool, self.examples.src_lengths, self.examples.tgt_lengths, self.tokens)
        return [batches[i] for i in torch.randperm(len(batches), generator=generator).tolist()]


class Batches:
    """Batches of one process, from step 0 or where it stopped; Lightning saves the position.

    Of `world` processes, process `rank` takes every world-th batch.
    """

    def __init__(self, order: TrainingOrder, *, steps: int, rank: int = 0, world: int = 1) -> None:
        self.order, self.steps, self.rank, self.world = order, steps, rank, world
        self.step = 0

    def __len__(self) -> int:
        return self.steps

    def __iter__(self) -> Iterator[Batch]:
        while self.step < self.steps:
            self.step += 1
            yield self.order[(self.step - 1) * self.world + self.rank]

    def state_dict(self) -> dict[str, int]:
        """Position: the number of batches returned."""
        return {"step": self.step}

    def load_state_dict(self, state: dict[str, int]) -> None:
        self.step = state["step"]


def _cut(order: Tensor, src_lengths: Tensor, tgt_lengths: Tensor, tokens: int) -> list[Tensor]:
    """Cut the indices, in order, so that rows x (longest source + longest target) stays within `tokens`."""
    cuts, start, src, tgt = [], 0, 0, 0
    lengths = zip(src_lengths[order].tolist(), tgt_lengths[order].tolist(), strict=True)
    for position, (source, target) in enumerate(lengths):
        wider_src, wider_tgt = max(src, source), max(tgt, target)
        if position > start and (position - start + 1) * (wider_src + wider_tgt) > tokens:
            cuts.append(order[start:position])
            start, wider_src, wider_tgt = position, source, target
        src, tgt = wider_src, wider_tgt
    return [*cuts, order[start:]]
