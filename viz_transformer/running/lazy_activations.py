"""A run too large to be kept whole: what is looked at beyond what it kept is recorded anew, bit by bit the same.

Kept is as much as there is room for (`ModelSpec.kept`), always masks and the stream that each layer ends in. All else
is made by the same passes over the same tokens with the same edits, when it is asked for: the layer, and the point
asked for of as many other layers as there is room for. A layer made anew has to end in the stream that the run kept, or
nothing of it is shown.
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
"""The run once more, of which only the points of these names are recorded."""


class LazyActivations(Mapping[str, Tensor]):
    """The points of such a run by name, in the order in which they were made. It may be read by several threads.

    names: of those that the run kept; kept: these, and maybe others; said: all that it said; source, target:
    how many tokens it read.
    Reading one that was not kept raises ReplayMismatch if the model does not give the numbers of the run again.
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
        self._made: OrderedDict[str, Tensor] = OrderedDict()  # what was looked at last stands last

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
        """That of a point, which is not recorded anew for it. Raises KeyError for a name that is not there."""
        if name not in self._said:
            raise KeyError(name)
        if name.endswith(".mask"):  # always kept; an edit may have made one for each head
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
                f"{layer.replace('.', ', layer ')} cannot be shown: recorded anew, its {proof} was not bit by bit that"
                " of the run"
            )
        self._made.update((each, made[each]) for each in wanted)

    def _wanted(self, name: str) -> list[str]:
        """What is recorded with this point: its layer, and as far as there is room the same of other layers; what was
        looked at longest ago makes way for these. What is free then takes points of the layers behind."""
        layer, what = layer_of(name), name.removeprefix(layer_of(name))
        sizes = {each: self._bytes(each) for each in self._said if each not in self._names}
        anew = [*sizes]
        turned = anew[(at := anew.index(name)) :] + anew[:at]
        own = [each for each in anew if layer_of(each) == layer and each not in self._made]
        like = [each for each in turned if each.removeprefix(layer_of(each)) == what and layer_of(each) != layer]
        room = hooked_model.ANEW_BYTES - sum(sizes[each] for each in own)
        wanted = own + (more := _that_fit([each for each in like if each not in self._made], sizes, room))
        room -= sum(sizes[each] for each in more) + sum(sizes[each] for each in self._made)
        for old in sorted(self._made, key=set(like).__contains__):  # its like last
            if room < 0:
                room += sizes[old]
                del self._made[old]
        there = {*wanted, *self._made}
        behind = [each for each in turned if each not in there]
        return wanted + _that_fit(behind, sizes, room)

    def _bytes(self, name: str) -> int:
        return 4 * math.prod(self.shape(name))


def _that_fit(names: Sequence[str], sizes: Mapping[str, int], room: int) -> list[str]:
    """The first of these, as many as there is room for."""
    found = list[str]()
    for name in names:
        room -= sizes[name]
        if room < 0:
            break
        found.append(name)
    return found


def only(names: frozenset[str]) -> Thin:
    """Leaves of a pass the points of these names."""
    return lambda values: {name: value for name, value in values.items() if name in names}


def _same(first: Tensor, second: Tensor) -> bool:
    """Bit by bit, NaN included."""
    return first.shape == second.shape and torch.equal(_bits(first), _bits(second))


def _bits(value: Tensor) -> Tensor:
    return value if value.dtype == torch.bool else value.contiguous().view(torch.int32)
