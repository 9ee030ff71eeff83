"""Activations of a run too large to keep whole: missing points are recomputed on demand, bit for bit.

A run keeps as much as there is room for (`ModelSpec.kept`), always including masks and each layer's output. Any other
point is recomputed by the same passes over the same tokens with the same edits, together with its layer and, as far as
there is room, the same point of other layers. Nothing of a layer is returned unless its recomputed output equals the
kept one.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from threading import RLock

import torch
from torch import Tensor

from viz_transformer.model import hooked_model
from viz_transformer.model.hook import Thin, layer_of
from viz_transformer.model.hooked_model import ModelSpec, ReplayMismatch

Again = Callable[[frozenset[str]], Mapping[str, Tensor]]
"""Reruns the run, recording only the points with these names."""


class LazyActivations(Mapping[str, Tensor]):
    """Points of a large run by name, in forward order. Thread-safe.

    names: points that the run kept. kept: those, and possibly others. said: all points. source, target: tokens read.
    Raises ReplayMismatch when reading a missing point if the recomputed numbers differ from the run's.
    """

    def __init__(
        self,
        names: frozenset[str],
        kept: Mapping[str, Tensor],
        said: Sequence[str],
        again: Again,
        spec: ModelSpec,
        *,
        source: int,
        target: int,
    ) -> None:
        self.kept, self._names = kept, names
        self._said = dict.fromkeys(said)  # an ordered set
        self._again = again
        self._spec = spec
        self._lengths = source, target
        self._lock = RLock()
        self._made: OrderedDict[str, Tensor] = OrderedDict()  # most recently used last

    def __getitem__(self, name: str) -> Tensor:
        if name not in self._said:
            raise KeyError(name)
        if name in self._names:
            return self.kept[name]
        with self._lock:
            if name not in self._made:
                self._record(name)
            self._made.move_to_end(name)
            return self._made[name]

    def __contains__(self, name: object) -> bool:
        return name in self._said

    def __iter__(self) -> Iterator[str]:
        return iter(self._said)

    def __len__(self) -> int:
        return len(self._said)

    def shape(self, name: str) -> tuple[int, ...]:
        """Shape of a point, without recomputing it. Raises KeyError for an unknown name."""
        if name not in self._said:
            raise KeyError(name)
        if name.endswith(".mask"):  # always kept; an edit may have made one per head
            return (*self.kept[name].shape,)
        source, target = self._lengths
        return self._spec.sizes(name, batch=1, source=source, target=target)

    def _record(self, name: str) -> None:
        layer = layer_of(name)
        wanted = self._wanted(name)
        proof = next((each for each in reversed(self._said) if layer_of(each) == layer and each in self._names), None)
        names = frozenset(wanted) if proof is None else frozenset({*wanted, proof})
        made = self._again(names)
        if proof is not None and not _same(made[proof], self.kept[proof]):
            raise ReplayMismatch(
                f"{layer.replace('.', ', layer ')} cannot be shown: recomputed, its {proof} was not bit for bit that"
                " of the run"
            )
        self._made.update((each, made[each]) for each in wanted)

    def _wanted(self, name: str) -> list[str]:
        """Points to recompute with this one: its layer, then the same point of other layers, then the next layers.

        Evicts the least recently used points to make room for these.
        """
        layer, what = layer_of(name), name.removeprefix(layer_of(name))
        sizes = {each: self._bytes(each) for each in self._said if each not in self._names}
        anew = [*sizes]
        turned = anew[(at := anew.index(name)) :] + anew[:at]
        own = [each for each in anew if layer_of(each) == layer and each not in self._made]
        like = [each for each in turned if each.removeprefix(layer_of(each)) == what and layer_of(each) != layer]
        room = hooked_model.ANEW_BYTES - sum(sizes[each] for each in own)
        wanted = own + (more := _that_fit([each for each in like if each not in self._made], sizes, room))
        room -= sum(sizes[each] for each in more) + sum(sizes[each] for each in self._made)
        for old in sorted(self._made, key=set(like).__contains__):  # the same point of other layers last
            if room < 0:
                room += sizes[old]
                del self._made[old]
        there = {*wanted, *self._made}
        behind = [each for each in turned if each not in there]
        return wanted + _that_fit(behind, sizes, room)

    def _bytes(self, name: str) -> int:
        return 4 * math.prod(self.shape(name))


def _that_fit(names: Sequence[str], sizes: Mapping[str, int], room: int) -> list[str]:
    """The longest prefix of `names` that fits into `room` bytes."""
    found = list[str]()
    for name in names:
        room -= sizes[name]
        if room < 0:
            break
        found.append(name)
    return found


def only(names: frozenset[str]) -> Thin:
    """Keeps only the points with these names."""
    return lambda values: {name: value for name, value in values.items() if name in names}


def _same(first: Tensor, second: Tensor) -> bool:
    """Equal bit for bit, NaN included."""
    return first.shape == second.shape and torch.equal(_bits(first), _bits(second))


def _bits(value: Tensor) -> Tensor:
    return value if value.dtype == torch.bool else value.contiguous().view(torch.int32)
