"""Tests whether a reproduced sample could have revealed a wrong reading.

Equal logits prove only what they depend on: in a text of one token, every weight is 1, whatever queries and keys are.
So the model is modified in each way it may be misread, and modifications that move no logit beyond the tolerance are
reported. Shorter windows are tried too: the shortest one that would go unnoticed limits the length for which the sample
is proof.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from viz_transformer.checkpoint.store import expected_shapes
from viz_transformer.measuring.sample import SampleText
from viz_transformer.model.config import ModelConfig
from viz_transformer.model.hook import OFF, Hook
from viz_transformer.model.kinds import KINDS, SIDES, Kind, SideName, kinds_of
from viz_transformer.model.positions import ENCODINGS
from viz_transformer.model.transformer import Transformer, with_weights

Change = Callable[[str, Tensor], Tensor]
"""(full name of a point, value) -> value with which the model continues."""
EXACT_OR_TANH = ("gelu", "gelu-tanh")
"""Equally acceptable: they differ by less than most samples reveal."""


@dataclass(frozen=True)
class Told:
    """What a sample can reveal. longest: proved length by side. untold: wrong readings it would miss, in words."""

    longest: Mapping[str, int]
    untold: tuple[str, ...]


@dataclass(frozen=True)
class _Deviation:
    """A wrong reading: what is wrong, in which kind of attention ("" for the whole model), and the modified model."""

    what: str
    where: str
    made: Callable[[], Transformer]
    hook: Hook = OFF


def try_deviations(model: Transformer, texts: Sequence[SampleText], *, tolerance: float, log_probs: bool) -> Told:
    """What these texts reveal about the model whose logits they have.

    tolerance: allowed difference of a logit. log_probs: the sample has log-probabilities, which ignore a common shift
    of logits.
    """
    trial = _Trial(model, texts, tolerance, log_probs)
    longest: dict[str, int] = {side: trial.longest(side) for side in SIDES if SIDES[side].layers(model.spec)}
    tried: dict[str, dict[str, bool]] = {}
    for each in _deviations(model):
        told = tried.setdefault(each.what, {})
        told[each.where] = told.get(each.where, True) and trial.moves(each.made(), each.hook)
    untold = []
    for what, told in tried.items():
        where = [kind for kind, moved in told.items() if not moved]
        if where:
            untold.append(what if len(where) == len(told) else f"{what} ({', '.join(where)})")
    return Told(longest, tuple(untold))


class _Trial:
    """The texts, longest first, with the model's logits."""

    def __init__(self, model: Transformer, texts: Sequence[SampleText], tolerance: float, log_probs: bool) -> None:
        self.model, self.tolerance, self.log_probs = model, tolerance, log_probs
        self.texts = sorted(texts, key=lambda text: -max(len(text.source or ()), len(text.target or ())))
        self.logits = [self._logits(model, text, OFF) for text in self.texts]

    def moves(self, model: Transformer, hook: Hook) -> bool:
        """Whether a logit of the sample moves by more than the tolerance."""
        found = zip(self.texts, self.logits, strict=True)
        return any(not _near(self._logits(model, text, hook), own, self.tolerance) for text, own in found)

    def longest(self, side: SideName) -> int:
        """Proved length of a side in tokens: one more than the largest window that moves a logit, or 1."""
        pad = SIDES[side].pad(self.model.spec)
        given = [getattr(text, side) or () for text in self.texts]
        most = max(sum(id != pad for id in ids) for ids in given)
        low, high = 0, most  # a window of `low` moves a logit, or is empty; one of `high` masks nothing
        window = most - 1
        while high - low > 1:
            if self.moves(self.model, _Changing(_windowed(SIDES[side].stack, window))):
                low = window
            else:
                high = window
            window = (low + high) // 2
        return low + 1

    @torch.no_grad()
    def _logits(self, model: Transformer, text: SampleText, hook: Hook) -> NDArray[np.float32]:
        """The model's logits for those in the sample, [R, V]."""
        source, target = (None if ids is None else [ids] for ids in (text.source, text.target))
        logits = model.whole(source, target, hook=hook)[0]
        read, pad = (text.source, model.config.source_pad) if target is None else (text.target, model.config.target_pad)
        assert read is not None
        places = [place for place, id in enumerate(read) if id != pad] if len(text.logits) > 1 else [len(read) - 1]
        found = logits[None] if model.spec.output == "class" else logits[places]
        return (found.log_softmax(-1) if self.log_probs else found).numpy()


def _near(found: NDArray[np.float32], own: NDArray[np.float32], tolerance: float) -> bool:
    """Whether all numbers are within the tolerance; NaN is not."""
    return bool(np.nan_to_num(np.abs(found - own), nan=np.inf).max() <= tolerance)


class _Changing:
    """A hook that modifies points."""

    def __init__(self, change: Change, inside: str = "") -> None:
        self._change, self._inside = change, inside

    def __call__(self, name: str, value: Tensor) -> Tensor:
        return self._change(f"{self._inside}{name}", value)

    def scope(self, part: str) -> _Changing:
        return _Changing(self._change, f"{self._inside}{part}.")


def _windowed(stack: str, window: int) -> Change:
    """Limit self-attention to a window: the token itself and window - 1 more to each side."""

    def closed(name: str, value: Tensor) -> Tensor:
        if not (name.startswith(f"{stack}.") and name.endswith(".self.mask")):
            return value
        queries, keys = (torch.arange(size) for size in value.shape[-2:])
        return value & ((queries[:, None] - keys).abs() < window)

    return closed


def _of_kind(kind: Kind, points: Sequence[str], made: Callable[[Tensor], Tensor]) -> _Changing:
    """Modify these points in all attentions of a kind."""
    ends = tuple(f".{kind.attention}.{point}" for point in points)

    def changed(name: str, value: Tensor) -> Tensor:
        return made(value) if name.startswith(f"{kind.stack}.") and name.endswith(ends) else value

    return _Changing(changed)


def _normalised(vectors: Tensor) -> Tensor:
    """Vectors with a mean square of 1, as from an RMS norm without gain, which leaves no tensor in a file."""
    return vectors / (vectors.square().mean(-1, keepdim=True) + 1e-6).sqrt()


def _deviations(model: Transformer) -> Iterator[_Deviation]:
    """All wrong readings to try, those of attention for each kind."""
    config, kinds = model.config, [KINDS[name] for name in kinds_of(model.spec)]
    for kind in kinds:
        yield _Deviation("exchanged queries and keys", kind.words, partial(_exchanged, model, kind))
        for factor in _factors(config):
            hook = _of_kind(kind, ("query",), partial(torch.mul, torch.tensor(factor)))
            yield _Deviation("another divisor", kind.words, lambda: model, hook)
        hook = _of_kind(kind, ("query", "key"), _normalised)
        yield _Deviation("a norm on queries and keys", kind.words, lambda: model, hook)
    heads = (config.n_heads // 2, config.n_heads * 2)
    others: list[tuple[str, dict[str, Any]]] = [("another number of heads", {"n_heads": each}) for each in heads]
    others += [("other positions", {"positions": word, "position_offset": 0}) for word in _positions(config)]
    others += [("another activation", {"activation": word}) for word in _activations(config)]
    for what, changes in others:
        try:
            changed = ModelConfig.from_dict({**config.to_dict(), **changes})
        except ValueError:  # no such model exists, so it cannot be misread as one
            continue
        yield _Deviation(what, "", partial(_rebuilt, changed, model.state_dict()))


def _factors(config: ModelConfig) -> list[float]:
    """Factors of a query that amount to undivided scores, or to the other divisor."""
    divisors = {"sqrt-head-dim": math.sqrt(config.head_dim), "sqrt-d-model": math.sqrt(config.d_model)}
    own = divisors.get(config.divisor, divisors["sqrt-head-dim"])
    return [own / other for other in (1.0, *divisors.values()) if not math.isclose(own, other)]


def _positions(config: ModelConfig) -> list[str]:
    """No positions, and the other computed tables; for a model without positions, sinusoidal ones."""
    if config.positions == "none":
        return ["sinusoidal"]
    tables = [word for word, each in ENCODINGS.items() if each.computed and word != config.positions]
    return ["none", *(tables if config.encoding.computed else [])]


def _activations(config: ModelConfig) -> list[str]:
    same = EXACT_OR_TANH if config.activation in EXACT_OR_TANH else (config.activation,)
    return [word for word in ("relu", "gelu", "silu") if word not in same]


def _exchanged(model: Transformer, kind: Kind) -> Transformer:
    """The model with query and key maps exchanged in one kind of attention."""
    state = model.state_dict()
    changed = dict(state)
    for name in state:
        if name.startswith(f"{kind.stack}.") and f".{kind.attention}_attention.to_query." in name:
            other = name.replace(".to_query.", ".to_key.")
            changed[name], changed[other] = state[other], state[name]
    return _rebuilt(model.config, changed)


def _rebuilt(config: ModelConfig, state: Mapping[str, Tensor]) -> Transformer:
    """A model with this config and as many of these tensors as fit."""
    return with_weights(config, {name: state[name] for name in expected_shapes(config)})
