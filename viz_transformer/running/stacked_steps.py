"""The points of cached decoding steps, as those of one pass over all that was read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import torch
from torch import Tensor

from viz_transformer.model.hook_point import Growth
from viz_transformer.running.lazy_activations import LazyActivations
from viz_transformer.running.trace import Trace, trace_value


class StackedSteps(Mapping[str, Tensor]):
    """Rows of all steps below each other, put together when a point is first looked at. Several threads may read it.

    before: what was recorded once, ahead of the steps (the encoder); steps: the points of each step; grows: what a
    step adds to a point, as `ModelSpec.grows` says. The rows of a causal attention get ever longer: keys that a row did
    not have yet are 0 in weights and in a bias, False in masks.
    """

    def __init__(
        self,
        before: Mapping[str, Tensor],
        steps: Sequence[Mapping[str, Tensor]],
        *,
        grows: Callable[[str], Growth],
    ) -> None:
        self._grows = grows
        self._parts = before, steps
        self._names = dict.fromkeys((*before, *steps[0]))  # an ordered set
        self._joined: dict[str, Tensor] = {}

    def __getitem__(self, name: str) -> Tensor:
        if name not in self._names:
            raise KeyError(name)
        parts = self._parts  # before it is looked whether they are needed: `join_all` lets go of them last
        if name not in self._joined:
            self._joined[name] = trace_value(self._join(name, *parts))
        return self._joined[name]

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def join_all(self) -> None:
        """Put all points together, and let go of those of each step: a hundred small tensors less for each.

        What the steps have under several names, as what a layer gives out and the next reads, stays one tensor.
        """
        before, steps = self._parts
        if not steps:
            return
        alike = dict[tuple[object, ...], str]()
        for name in self._names:
            first = before[name] if name in before else steps[0][name]
            kind = (first.data_ptr(), first.shape, first.stride(), first.dtype, name in before, self._grows(name))
            if name not in self._joined and (same := alike.setdefault(kind, name)) != name:
                self._joined[name] = self[same]
            else:
                self[name]
        self._parts = {}, ()

    def _join(self, name: str, before: Mapping[str, Tensor], steps: Sequence[Mapping[str, Tensor]]) -> Tensor:
        if name in before:
            return before[name]
        grows = self._grows(name)
        if grows == "never":  # made once, in the first step
            return steps[0][name]
        parts = [step[name] for step in steps]
        if grows == "rows and keys":
            return _triangle(parts)
        if name.endswith(".mask"):  # an edit may have made one for each head at some steps
            heads = max(part.size(1) for part in parts)
            parts = [part.expand(-1, heads, -1, -1) for part in parts]
        return torch.cat(parts, dim=-2)


def is_of_cached_steps(trace: Trace) -> bool:
    """Whether its rows were recorded step by step, each with the tokens before it in a cache."""
    return isinstance(trace.values.kept if isinstance(trace.values, LazyActivations) else trace.values, StackedSteps)


def _triangle(parts: Sequence[Tensor]) -> Tensor:
    """[B, H or 1, rows, K] with ever larger K -> one [B, H or 1, T, T]."""
    heads = max(part.size(1) for part in parts)
    rows = sum(part.size(2) for part in parts)
    whole = parts[0].new_zeros(parts[0].size(0), heads, rows, parts[-1].size(3))
    at = 0
    for part in parts:
        whole[:, :, at : at + part.size(2), : part.size(3)] = part
        at += part.size(2)
    return whole
