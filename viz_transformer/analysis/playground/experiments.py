"""Two trainings of a few seconds: attention that learns to reconstruct its input, and copying with and without the
mask.

Each makes one step at a time (`background.py` runs them) and draws all its random numbers from generators of its own,
so that a seed gives the same curves to the last bit, whatever else the process does, on one kind of machine.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from viz_transformer.model.attention import Attention, attention_scores
from viz_transformer.model.config import ModelConfig
from viz_transformer.model.hook import OFF, Hook, Recorder
from viz_transformer.model.norms import LayerNorm
from viz_transformer.model.transformer import Output, Transformer

M = TypeVar("M", bound=nn.Module)
Numbers = NDArray[np.float32]
SNAPSHOT_EVERY = 100


# --- one head and several heads give back their input


@dataclass(frozen=True, kw_only=True)
class RebuildSettings:
    """vectors: the input, [T, d_model], which the output has to be. Raises ValueError for sizes that do not fit."""

    vectors: tuple[tuple[float, ...], ...]
    heads: int = 2
    seed: int = 0
    steps: int = 10_000
    learning_rate: float = 1e-3

    def __post_init__(self) -> None:
        if len({len(vector) for vector in self.vectors}) != 1:
            raise ValueError("the input needs at least one vector, and all of one length")
        if self.heads < 2 or self.d_model % self.heads:
            raise ValueError(f"{self.d_model} numbers cannot be split evenly into {self.heads} heads of two or more")

    @property
    def d_model(self) -> int:
        return len(self.vectors[0])


@dataclass(frozen=True, eq=False)
class Rebuilt:
    """The output of one of the two after `step` steps. output: [T, d_model]; weights: [H, T, T]."""

    step: int
    loss: float
    output: Numbers
    weights: Numbers


class Rebuild:
    """One head, and several heads with W_O, each learning to give back x on its own by Adam; mean squared error.

    losses[0] and losses[1] are those before each step's change: [2, steps] of which the first `done` are there.
    `before` and `now` are (one head, several heads); `now` is renewed every SNAPSHOT_EVERY steps and at the end.
    The one head has query, key and value maps and no W_O. Both start as a well-known lab has it: torch's usual numbers
    for the maps of the one, Xavier-uniform maps and zero biases for the others.
    """

    def __init__(self, settings: RebuildSettings) -> None:
        self.total, self.done = settings.steps, 0
        self.names = ("one head", f"{settings.heads} heads")
        self.losses = np.full((2, settings.steps), np.nan)
        self.x = torch.tensor(settings.vectors, dtype=torch.float32)
        config = ModelConfig(
            target_vocab_size=1,
            decoder_layers=1,
            d_model=settings.d_model,
            n_heads=settings.heads,
            d_ff=1,
            dropout=0.0,
        )
        several = _make_module(lambda: Attention(config), settings.seed)
        single = _make_module(lambda: OneHead(settings.d_model), settings.seed, usual=True)
        self._mask = torch.ones(1, 1, len(self.x), len(self.x), dtype=torch.bool)
        self._models: tuple[OneHead | Attention, ...] = (single, several)
        self._optimisers = [torch.optim.Adam(model.parameters(), settings.learning_rate) for model in self._models]
        self.before = self.now = self._take_snapshot()

    def step(self) -> None:
        """One step of both."""
        for place, (model, optimiser) in enumerate(zip(self._models, self._optimisers, strict=True)):
            loss = F.mse_loss(self._output(model), self.x)
            optimiser.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]  # torch has no types for it
            optimiser.step()
            self.losses[place, self.done] = loss.item()
        self.done += 1
        if self.done % SNAPSHOT_EVERY == 0:
            self.now = self._take_snapshot()

    def settle(self) -> None:
        """Bring `now` up to the last step."""
        self.now = self._take_snapshot()

    def _output(self, model: OneHead | Attention, hook: Hook = OFF) -> Tensor:
        out: Tensor = model(self.x[None], self._mask, hook)[0]
        return out

    @torch.no_grad()
    def _take_snapshot(self) -> tuple[Rebuilt, ...]:
        found = []
        for model in self._models:
            recorder = Recorder()
            output = self._output(model, recorder)
            loss = F.mse_loss(output, self.x).item()
            weights = recorder.values["weights"][0]
            found.append(Rebuilt(self.done, loss, output.numpy().copy(), weights.numpy().copy()))
        return tuple(found)


def new_rebuild(settings: RebuildSettings) -> Rebuild:
    """The training, on one thread of torch in the thread that calls."""
    torch.set_num_threads(1)
    return Rebuild(settings)


class OneHead(nn.Module):
    """Attention of one head without W_O: the weighted values are the output."""

    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.to_query = nn.Linear(d_model, d_model)
        self.to_key = nn.Linear(d_model, d_model)
        self.to_value = nn.Linear(d_model, d_model)
        self.divisor = math.sqrt(d_model)

    def forward(self, x: Tensor, mask: Tensor, hook: Hook) -> Tensor:
        """[1, T, D] -> [1, T, D]; nothing is masked."""
        query, key, value = self.to_query(x), self.to_key(x), self.to_value(x)
        weights = hook("weights", attention_scores(query, key, self.divisor).softmax(dim=-1)[:, None])[:, 0]
        output: Tensor = weights @ value
        return output


# --- copying with and without the causal mask


@dataclass(frozen=True, kw_only=True)
class CopySettings:
    """Texts of `length` random letters out of `letters`, a bar, and the same letters again."""

    seed: int = 0
    length: int = 8
    letters: int = 8
    steps: int = 600
    batch: int = 16
    learning_rate: float = 3e-3
    tests: int = 100


@dataclass(frozen=True, eq=False)
class Copied:
    """The test results of a model after `step` steps, on `tests` texts that are in no batch.

    read: share of letters that it has right when it is given the right ones before (teacher-forced); written: when it
    reads its own, and `whole`, the share of texts without a mistake. answers: what it writes for the first few texts.
    weights: [H, T, T] of its attention on the first text, teacher-forced; ahead: the share of them on later positions.
    """

    step: int
    read: float
    written: float
    whole: float
    answers: tuple[tuple[int, ...], ...]
    weights: Numbers
    ahead: float


class Copying:
    """Two equal decoders of one layer that learn to write a text and then its copy, one without the causal mask.

    Both see the same batches and start from the same numbers. losses[m, 0] is the mean negative log-likelihood, in
    nats per letter, of the copied letters, losses[m, 1] that of all letters, of which the first half is random:
    [2, 2, steps]. m = 0 is with the mask, 1 without. texts: [N, T], the ids of the tests; `bar` is the id of the bar.
    """

    names = ("with the causal mask", "without it")

    def __init__(self, settings: CopySettings) -> None:
        self.settings = settings
        self.total, self.done, self.bar = settings.steps, 0, settings.letters
        self.losses = np.full((2, 2, settings.steps), np.nan)
        config = ModelConfig(
            target_vocab_size=settings.letters + 1,
            decoder_layers=1,
            d_model=32,
            n_heads=2,
            d_ff=64,
            dropout=0.0,
            max_target=2 * settings.length + 1,
        )
        self._hooks: tuple[Hook, ...] = (OFF, OpenMask())
        self._models = [_make_module(lambda: Transformer(config), settings.seed) for _ in self._hooks]
        self._optimisers = [torch.optim.Adam(model.parameters(), settings.learning_rate) for model in self._models]
        self._batches = torch.Generator().manual_seed(settings.seed)
        tests = torch.Generator().manual_seed(settings.seed + 1_000_003)  # no stream of batches begins so
        self.texts = self._draw(settings.tests, tests)
        self.before = self.now = self._take_snapshot()

    @property
    def floor(self) -> float:
        """The lowest possible loss over all letters for a model that cannot see a letter before it is written."""
        length = self.settings.length
        return length * math.log(self.settings.letters) / (2 * length + 1)

    def step(self) -> None:
        """One step of both, on one batch."""
        length = self.settings.length
        texts = self._draw(self.settings.batch, self._batches)
        given, wanted = texts[:, :-1], texts[:, 1:]
        for place, (model, optimiser, hook) in enumerate(zip(self._models, self._optimisers, self._hooks, strict=True)):
            losses = F.cross_entropy(model(given, hook=hook).transpose(1, 2), wanted, reduction="none")  # [B, T]
            loss = losses.mean()
            optimiser.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]  # torch has no types for it
            optimiser.step()
            self.losses[place, 0, self.done] = losses[:, length:-1].mean().item()
            self.losses[place, 1, self.done] = loss.item()
        self.done += 1

    def settle(self) -> None:
        """Bring `now` up to the last step."""
        self.now = self._take_snapshot()

    def _draw(self, count: int, generator: torch.Generator) -> Tensor:
        """Bar, letters, the same letters, bar: [N, 2 * length + 2]."""
        letters = torch.randint(self.settings.letters, (count, self.settings.length), generator=generator)
        bar = torch.full((count, 1), self.bar)
        return torch.cat([bar, letters, letters, bar], dim=1)

    def _take_snapshot(self) -> tuple[Copied, ...]:
        return tuple(self._test(model, hook) for model, hook in zip(self._models, self._hooks, strict=True))

    @torch.no_grad()
    def _test(self, model: Transformer, hook: Hook) -> Copied:
        length = self.settings.length
        wanted = self.texts[:, 1 : length + 1]
        read = model(self.texts[:, :-1], hook=hook)[:, length:-1].argmax(dim=-1)
        written = self.texts[:, : length + 1]
        for _ in range(length):
            following = model(written, hook=hook)[:, -1].argmax(dim=-1, keepdim=True)
            written = torch.cat([written, following], dim=1)
        answers = written[:, -length:]
        recorder = Recorder()
        model(self.texts[:1, :-1], hook=_Both(recorder, hook))
        weights = recorder.values["decoder.0.self.weights"][0]
        return Copied(
            self.done,
            (read == wanted).double().mean().item(),
            (answers == wanted).double().mean().item(),
            (answers == wanted).all(dim=1).double().mean().item(),
            tuple(tuple(answer) for answer in answers[:6].tolist()),
            weights.numpy().copy(),
            (weights.triu(1).sum() / weights.sum()).item(),
        )


def new_copying(settings: CopySettings) -> Copying:
    """The training, on one thread of torch in the thread that calls."""
    torch.set_num_threads(1)
    return Copying(settings)


class OpenMask:
    """A hook that lets every query attend to every key; all else is returned unchanged."""

    def __call__(self, name: str, value: Tensor) -> Tensor:
        return torch.ones_like(value) if name == "mask" else value

    def scope(self, part: str) -> Hook:
        return self


class _Both:
    """A hook that changes a value by the second hook and then passes it to the first to store."""

    def __init__(self, store: Hook, change: Hook) -> None:
        self._store, self._change = store, change

    def __call__(self, name: str, value: Tensor) -> Tensor:
        return self._store(name, self._change(name, value))

    def scope(self, part: str) -> Hook:
        return _Both(self._store.scope(part), self._change.scope(part))


def _make_module(make: Callable[[], M], seed: int, *, usual: bool = False) -> M:
    """A module whose numbers all come from a generator of this seed.

    Xavier-uniform maps and zero biases, or with `usual` the numbers that torch gives a Linear; embeddings whose scaled
    vectors have variance 1. What modules draw by themselves when they are made is overwritten: it comes from the one
    generator of all threads, which is left as it was.
    """
    with torch.random.fork_rng(devices=[]):
        module = make()
    generator = torch.Generator().manual_seed(seed)
    for part in module.modules():
        if isinstance(part, nn.Linear):
            if usual:
                bound = 1 / math.sqrt(part.in_features)
                nn.init.uniform_(part.weight, -bound, bound, generator=generator)
                nn.init.uniform_(part.bias, -bound, bound, generator=generator)
            else:
                nn.init.xavier_uniform_(part.weight, generator=generator)
                nn.init.zeros_(part.bias)
        elif isinstance(part, nn.Embedding):
            nn.init.normal_(part.weight, std=1 / math.sqrt(part.embedding_dim), generator=generator)
        elif isinstance(part, LayerNorm):
            nn.init.ones_(part.gain)
            nn.init.zeros_(part.offset)
        elif isinstance(part, Output):
            assert part.weight is not None and part.bias is not None
            nn.init.xavier_uniform_(part.weight, generator=generator)
            nn.init.zeros_(part.bias)
    return module
