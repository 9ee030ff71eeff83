"""The parts of a model in the order of the forward pass: the source of every drawing of it.

The map in the sidebar, the residual map of *Layers*, the whole run and *Architecture* draw the same parts at different
sizes; the largest also shows the texts in `Written`. Imports nothing heavy.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

from viz_transformer.model.hooked_model import AT_ONCE, ModelSpec
from viz_transformer.model.kinds import SIDE_OF, KindName, Side, StackName, attentions_of, stacks_of
from viz_transformer.model.positions import ENCODINGS

PartName = Literal["self", "cross", "ffn"]
PART_NAMES: Mapping[str, str] = MappingProxyType(
    {"self": "self-attention", "cross": "cross-attention", "ffn": "feed-forward"}
)
"""Names of the sub-layers."""


@dataclass(frozen=True)
class Parameter:
    """One trained tensor: name in the weights file, shape, and shape in letters ("V×D"; "" if unknown)."""

    name: str
    shape: tuple[int, ...]
    letters: str = ""

    @property
    def count(self) -> int:
        return math.prod(self.shape)


@dataclass(frozen=True)
class Block:
    """The trained tensors of a part; empty for a tied output."""

    name: str
    parameters: tuple[Parameter, ...]

    @property
    def count(self) -> int:
        return sum(parameter.count for parameter in self.parameters)

    @property
    def shapes(self) -> str:
        """Shapes with their letters, repeated ones counted: "4 × (256×256), 4 × (256)"."""
        kinds: dict[tuple[int, ...], int] = {}
        for parameter in self.parameters:
            kinds[parameter.shape] = kinds.get(parameter.shape, 0) + 1
        return ", ".join(
            (f"{number} × " if number > 1 else "") + ("one number" if not shape else f"({'×'.join(map(str, shape))})")
            for shape, number in kinds.items()
        )


@dataclass(frozen=True, kw_only=True)
class Written:
    """Text on a part in the largest drawing."""

    label: str = ""
    """Heading; "" for the default."""
    details: tuple[str, ...] = ()
    """Sizes and unusual settings, one per piece."""
    holds: str = ""
    """Trained tensors of a norm."""


@dataclass(frozen=True, kw_only=True)
class Part(Written):
    """One box. Parts of different layers are equal if their text is equal."""

    name: str = field(compare=False)
    """Its name in the model: "decoder.1.cross", "decoder.1.cross norm", "encoder embedding", "output"."""


@dataclass(frozen=True, kw_only=True)
class SubLayer(Part):
    """An attention or a feed-forward, with the norms around it."""

    part: PartName
    layer: int = field(compare=False)
    kind: KindName | None
    """None for a feed-forward."""
    before: Part | None = None
    """Norm between the stream and the sub-layer."""
    added: Part | None = None
    """Norm of the sub-layer's output before it is added."""
    after: Part | None = None
    """Norm after the sum."""


@dataclass(frozen=True)
class Layer:
    """The sub-layers of a layer in order. parallel: all read the same stream, and their outputs are added together."""

    sublayers: tuple[SubLayer, ...]
    parallel: bool = False

    @property
    def one_norm(self) -> bool:
        """Whether parallel sub-layers share one input norm."""
        return self.parallel and [part.before is not None for part in self.sublayers] == [True, False]


@dataclass(frozen=True, kw_only=True)
class StackLayout:
    """One stack, in the order of the forward pass."""

    stack: StackName
    reads: str
    """Name of the ids that it reads."""
    embedding: Part
    sums: tuple[str, ...]
    """Captions of what is added to the token embeddings."""
    norm: Part | None
    """Norm of that sum."""
    layers: tuple[Layer, ...]
    final_norm: Part | None
    final_map: Part | None
    gives: Literal["memory", "logits", "output"]
    """Its output."""

    @property
    def side(self) -> Side:
        return SIDE_OF[self.stack]

    @property
    def sublayers(self) -> tuple[SubLayer, ...]:
        """Sub-layers of all layers, in order."""
        return tuple(part for layer in self.layers for part in layer.sublayers)

    @property
    def typical(self) -> int:
        """Index of the layer drawn to represent all: the first of the most frequent kind, the later kind on a tie."""
        most = Counter(reversed(self.layers)).most_common(1)[0][0]
        return self.layers.index(most)


@dataclass(frozen=True, kw_only=True)
class Layout:
    """A whole model."""

    stacks: tuple[StackLayout, ...]
    output: Part | None
    """Map from the last stack to the model's output."""
    softmax: Part | None
    """Softmax over that output."""
    over: Literal["vocabulary", "labels"]
    """What the probabilities range over."""
    result: str = ""
    """The final result, in words."""
    memory: int | None
    """Numbers per position that the decoder reads from the encoder; None without cross-attention."""
    blocks: tuple[Block, ...] = ()
    spoken: str = ""
    """Text description of the whole drawing."""
    notes: tuple[str, ...] = ()
    """Notes on what the largest drawing omits."""

    def of(self, stack: StackName) -> StackLayout:
        return next(each for each in self.stacks if each.stack == stack)

    @property
    def block(self) -> Mapping[str, Block]:
        """Trained tensors by part name."""
        return {block.name: block for block in self.blocks}

    @property
    def count(self) -> int:
        return sum(block.count for block in self.blocks)


def layout(spec: ModelSpec, written: Mapping[str, Written] | None = None) -> Layout:
    """The parts of the model with this spec.

    written: text by part name, from the config or the loaded model; the model then has exactly the norms and maps in
    there. Without it, norms follow the spec.
    """
    known = _Known(written)
    stacks = tuple(_stack(spec, stack, known) for stack in stacks_of(spec))
    result = known.part("result", there=False)
    return Layout(
        stacks=stacks,
        output=known.part("output", "output", there=spec.output != "none"),
        softmax=known.part("softmax", there=False),
        over="labels" if spec.output in ("class", "token class") else "vocabulary",
        result="" if result is None else result.label,
        memory=spec.d_model if spec.kind == "encoder-decoder" else None,
    )


@dataclass(frozen=True)
class _Known:
    written: Mapping[str, Written] | None

    def part(self, name: str, label: str = "norm", *, there: bool) -> Part | None:
        """The part with this name, or None. label: default heading. there: whether the spec has it."""
        if self.written is not None:
            there = name in self.written
        return self.always(name, label) if there else None

    def always(self, name: str, label: str) -> Part:
        """A part that every model has."""
        own = (self.written or {}).get(name, Written())
        return Part(name=name, label=own.label or label, details=own.details, holds=own.holds)


def _stack(spec: ModelSpec, stack: StackName, known: _Known) -> StackLayout:
    side = SIDE_OF[stack]
    sums: tuple[str, ...] = ()
    if f"{stack}.embed.position" in spec.point:
        sums = ("positions",) if spec.positions is None else ENCODINGS[spec.positions].box
    if f"{stack}.embed.segment" in spec.point:
        sums = (*sums, "and segments" if sums else "segments")
    is_read = spec.kind == "encoder-decoder" and stack == "encoder"
    has_logits = spec.has_decoder or spec.target_vocab_size is not None
    return StackLayout(
        stack=stack,
        reads=f"{side.name} ids, at most {side.most(spec):,}",
        embedding=known.always(f"{stack} embedding", "Embedding"),
        sums=sums,
        norm=known.part(f"{stack} embedding norm", there=f"{stack}.embed.sum" in spec.point),
        layers=tuple(_layer(spec, stack, layer, known) for layer in range(side.layers(spec))),
        final_norm=known.part(f"{stack} final norm", there=spec.final_norm),
        final_map=known.part(f"{stack} final map", there=False),
        gives="memory" if is_read else "logits" if has_logits else "output",
    )


def _layer(spec: ModelSpec, stack: StackName, layer: int, known: _Known) -> Layer:
    """Sub-layers of this layer; for a watched module, only its attentions."""
    parts: list[tuple[PartName, KindName | None]] = [
        (kind.attention, kind.name)
        for kind in attentions_of(stack, spec)
        if kind.site(layer) in spec.attentions or kind.site(layer) in spec.unseen
    ]
    has_stream = any(f"{stack}.{layer}.ffn.{name}" in spec.point for name in ("in", "out"))
    if has_stream:
        parts.append(("ffn", None))
    found = []
    for part, kind_name in parts:
        name = f"{stack}.{layer}.{part}"
        masked = stack == "decoder" and part == "self"
        label = f"Masked {PART_NAMES[part]}" if masked else PART_NAMES[part].capitalize()
        own = known.always(name, label)
        norm = known.part(f"{name} norm", there=has_stream)
        found.append(
            SubLayer(
                name=name,
                label=own.label,
                details=own.details,
                part=part,
                layer=layer,
                kind=kind_name,
                before=norm if spec.norm == "pre" else None,
                added=known.part(f"{name} added norm", there=False),
                after=norm if spec.norm == "post" else None,
            )
        )
    return Layer(tuple(found), parallel=spec.missing.get(f"{stack}.{layer}.residual_after_self") == AT_ONCE)
