"""The three kinds of attention, and the two sides of a run that they join: each fact about them is stated here once.

A kind and a side go by their plain words in addresses, files and components: `KINDS["cross"]`, `SIDES["source"]`.
Imports nothing heavy: the page frame reads this before the first paint.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, Protocol, TypeVar

KindName = Literal["encoder", "decoder", "cross"]
SideName = Literal["source", "target"]
StackName = Literal["encoder", "decoder"]
QueryField = Literal["i", "t"]
KeyField = Literal["i", "j", "u"]
T = TypeVar("T")


class Counts(Protocol):
    """What a kind and a side ask of a model: its `ModelSpec` has it, and the config of our own."""

    @property
    def encoder_layers(self) -> int: ...
    @property
    def decoder_layers(self) -> int: ...
    @property
    def source_vocab_size(self) -> int | None: ...
    @property
    def target_vocab_size(self) -> int | None: ...
    @property
    def source_pad(self) -> int | None: ...
    @property
    def target_pad(self) -> int | None: ...
    @property
    def max_source(self) -> int: ...
    @property
    def max_target(self) -> int: ...


@dataclass(frozen=True, kw_only=True)
class Side:
    """One of the two texts of a run: the source, which an encoder reads, or the target, which a decoder reads.

    `stack` is the stack that reads it, `field` the selection's letter for a position of it, `label` its words on a
    control.
    """

    name: SideName
    stack: StackName
    field: QueryField
    label: str

    def of(self, source: T, target: T) -> T:
        """What belongs to this side, of what the source has and what the target has."""
        return source if self.name == "source" else target

    def layers(self, model: Counts) -> int:
        """How many layers its stack has."""
        return self.of(model.encoder_layers, model.decoder_layers)

    def pad(self, model: Counts) -> int | None:
        """The id of its padding token, None without one."""
        return self.of(model.source_pad, model.target_pad)

    def vocab_size(self, model: Counts) -> int | None:
        """How many tokens its vocabulary has, None for a model that has no stack for it."""
        return self.of(model.source_vocab_size, model.target_vocab_size)

    def most(self, model: Counts) -> int:
        """How many tokens of it the model reads at most."""
        return self.of(model.max_source, model.max_target)


@dataclass(frozen=True, kw_only=True)
class Kind:
    """One kind of attention. `queries` and `keys` are the sides whose tokens its rows and its columns stand for.

    `attention` is the last word of its site, `causal` whether later keys are closed to a query. `label` (who looks
    → at what) stands on controls, `words` in titles and sentences; `letter` begins a changed cell in an address, and
    `fields` are the selection's letters for a query position and a key position.
    Its colours go by its name: `palette.cross`, `palette.cross_ink`.
    """

    name: KindName
    queries: Side
    keys: Side
    attention: Literal["self", "cross"]
    causal: bool
    label: str
    words: str
    letter: str
    fields: tuple[QueryField, KeyField]

    @property
    def stack(self) -> StackName:
        """The stack whose layers have it: that which reads the queries."""
        return self.queries.stack

    @property
    def writes(self) -> bool:
        """Whether its rows are a decoder's, each of which writes a token."""
        return self.stack == "decoder"

    def site(self, layer: int) -> str:
        """The name of its attention in a layer: decoder.1.cross."""
        return f"{self.stack}.{layer}.{self.attention}"

    def layers(self, model: Counts) -> int:
        """How many layers of a model have it; 0 if the model lacks what gives the queries or the keys."""
        return self.queries.layers(model) if self.keys.layers(model) else 0

    def sides(self, source: T, target: T) -> tuple[T, T]:
        """What belongs to the queries and to the keys, of what the source has and what the target has."""
        return self.queries.of(source, target), self.keys.of(source, target)


SOURCE = Side(name="source", stack="encoder", field="i", label="Source, encoder")
TARGET = Side(name="target", stack="decoder", field="t", label="Target, decoder")
SIDES: Mapping[SideName, Side] = MappingProxyType({side.name: side for side in (SOURCE, TARGET)})
SIDE_OF: Mapping[StackName, Side] = MappingProxyType({side.stack: side for side in (SOURCE, TARGET)})
"""The side that a stack reads."""

_CROSS = Kind(
    name="cross",
    queries=TARGET,
    keys=SOURCE,
    attention="cross",
    causal=False,
    label="Decoder → source",
    words="cross-attention",
    letter="c",
    fields=("t", "i"),
)
_DECODER = Kind(
    name="decoder",
    queries=TARGET,
    keys=TARGET,
    attention="self",
    causal=True,
    label="Decoder → itself",
    words="decoder self-attention",
    letter="d",
    fields=("t", "u"),
)
_ENCODER = Kind(
    name="encoder",
    queries=SOURCE,
    keys=SOURCE,
    attention="self",
    causal=False,
    label="Source → itself",
    words="encoder self-attention",
    letter="e",
    fields=("i", "j"),
)
KINDS: Mapping[KindName, Kind] = MappingProxyType({kind.name: kind for kind in (_CROSS, _DECODER, _ENCODER)})
"""In the order of controls: the one that joins the two texts first."""


def stacks_of(model: Counts) -> tuple[StackName, ...]:
    """The stacks that a model has, in the order of the forward pass."""
    return tuple(stack for stack, side in SIDE_OF.items() if side.layers(model))


def attentions_of(stack: StackName, model: Counts) -> tuple[Kind, ...]:
    """The attentions in each layer of a stack, in the order of the forward pass."""
    return tuple(kind for kind in (_ENCODER, _DECODER, _CROSS) if kind.stack == stack and kind.layers(model))


def kinds_of(model: Counts) -> tuple[KindName, ...]:
    """The kinds of attention that a model has, in the order of `KINDS`."""
    return tuple(name for name, kind in KINDS.items() if kind.layers(model))
