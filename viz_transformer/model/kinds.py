"""The three kinds of attention and the two sides that they join; each fact about them is defined here.

Addresses, files and components use their plain names: `KINDS["cross"]`, `SIDES["source"]`. Imports nothing heavy: the
page frame reads this before the first paint.
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
    """Sizes that a kind and a side need, from a `ModelSpec` or our own config."""

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
    """One of the two texts of a run: the source, read by an encoder, or the target, read by a decoder."""

    name: SideName
    stack: StackName  # the stack that reads it
    field: QueryField  # the selection's letter for one of its positions
    label: str  # its name on controls

    def of(self, source: T, target: T) -> T:
        """Pick the argument of this side."""
        return source if self.name == "source" else target

    def layers(self, model: Counts) -> int:
        """Layers of its stack."""
        return self.of(model.encoder_layers, model.decoder_layers)

    def pad(self, model: Counts) -> int | None:
        """Id of its padding token, or None."""
        return self.of(model.source_pad, model.target_pad)

    def vocab_size(self, model: Counts) -> int | None:
        """Size of its vocabulary; None if the model does not read this side."""
        return self.of(model.source_vocab_size, model.target_vocab_size)

    def most(self, model: Counts) -> int:
        """Maximum tokens of this side."""
        return self.of(model.max_source, model.max_target)


@dataclass(frozen=True, kw_only=True)
class Kind:
    """One kind of attention. Its colours are `palette.{name}` and `palette.{name}_ink`."""

    name: KindName
    queries: Side  # the side whose tokens are its rows
    keys: Side  # the side whose tokens are its columns
    attention: Literal["self", "cross"]  # last part of its site's name
    causal: bool  # whether later keys are masked
    label: str  # who attends to what, on controls
    words: str  # its name in titles and sentences
    letter: str  # prefix of an edited cell in an address
    fields: tuple[QueryField, KeyField]  # the selection's letters for a query and a key position

    @property
    def stack(self) -> StackName:
        """The stack that contains it and reads the queries."""
        return self.queries.stack

    @property
    def writes(self) -> bool:
        """Whether its rows belong to a decoder, where each predicts a token."""
        return self.stack == "decoder"

    def site(self, layer: int) -> str:
        """Name of its attention in a layer: decoder.1.cross."""
        return f"{self.stack}.{layer}.{self.attention}"

    def layers(self, model: Counts) -> int:
        """Layers of the model that have it; 0 if the model lacks its queries or keys."""
        return self.queries.layers(model) if self.keys.layers(model) else 0

    def sides(self, source: T, target: T) -> tuple[T, T]:
        """Pick the arguments of the queries' and the keys' side."""
        return self.queries.of(source, target), self.keys.of(source, target)


SOURCE = Side(name="source", stack="encoder", field="i", label="Source, encoder")
TARGET = Side(name="target", stack="decoder", field="t", label="Target, decoder")
SIDES: Mapping[SideName, Side] = MappingProxyType({side.name: side for side in (SOURCE, TARGET)})
SIDE_OF: Mapping[StackName, Side] = MappingProxyType({side.stack: side for side in (SOURCE, TARGET)})
"""The side that each stack reads."""

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
"""In the order of controls, cross-attention first."""


def stacks_of(model: Counts) -> tuple[StackName, ...]:
    """Stacks of a model, in the order of the forward pass."""
    return tuple(stack for stack, side in SIDE_OF.items() if side.layers(model))


def attentions_of(stack: StackName, model: Counts) -> tuple[Kind, ...]:
    """Attentions in each layer of a stack, in the order of the forward pass."""
    return tuple(kind for kind in (_ENCODER, _DECODER, _CROSS) if kind.stack == stack and kind.layers(model))


def kinds_of(model: Counts) -> tuple[KindName, ...]:
    """Attention kinds of a model, in the order of `KINDS`."""
    return tuple(name for name, kind in KINDS.items() if kind.layers(model))
