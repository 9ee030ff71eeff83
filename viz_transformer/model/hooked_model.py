"""What the rest of the program knows of a model: what it is made of, and what it can be asked.

Decoding, tracing, analysis and pages read a `ModelSpec` and ask a `HookedModel`. Our `Transformer` is one; a model of
another program becomes one by saying the same of itself. What it cannot say is a sentence (`Unavailable`), never a
guess.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

from viz_transformer.model.config import ModelConfig, ModelKind
from viz_transformer.model.hook import OFF, Hook, layer_of
from viz_transformer.model.hook_point import FUSED_FROM, Growth, HookPoint
from viz_transformer.model.kinds import KINDS, KindName, StackName
from viz_transformer.model.points import (
    attention_sites,
    derived_points,
    keeping_rank,
    recorded_points,
    undefined_points,
)

if TYPE_CHECKING:
    from torch import Tensor

Rows = Sequence[Sequence[int]]
OutputKind = Literal["next token", "masked token", "class", "token class", "none"]
Scoring = Literal["one", "each", "either", "number"]
TableName = Literal["tokens", "positions"]
Precision = Literal["float32", "bfloat16"]
ROUNDING: Mapping[Precision, float] = {"float32": 0.0, "bfloat16": 2.0**-8}
"""Of a number to the nearest of a type, as a share of it at most, beyond that of float32: bfloat16 has 8 bits."""
NUMBER_BYTES: Mapping[Precision, int] = {"float32": 4, "bfloat16": 2}
"""How many bytes a number of a type takes."""


WHOLE_BYTES, ANEW_BYTES = 2**30, 2**29
"""Of the recording of a run that is kept whole, at most; and of what is recorded anew of a larger one."""

AT_ONCE = "this model adds attention and feed-forward to the stream at once: nothing lies between"
"""Why a model whose sub-layers all read what comes into their layer has no stream between them."""
OF_ANOTHER = "only this program's own models tell this, and this one is of another"


class Unavailable(ValueError):
    """A model does not tell this of itself: one sentence, to be shown where the picture would stand."""


class ReplayMismatch(ValueError):
    """A pass of a run that was made again gave other numbers: one sentence, to be shown where they would stand."""


@dataclass(frozen=True)
class Heads:
    """One attention: how many heads ask, how many hold keys and values (fewer where query heads share one), the
    features of a query or key and of a value in a head, and how many keys a query can reach back to, in an encoder to
    each side beside its own place (None: all). cached: numbers that a cache keeps of a position, where these are not
    the keys and values of each head that holds some; a saved trace does not have it."""

    query: int
    key: int
    size: int
    value_size: int
    window: int | None = None
    cached: int | None = field(default=None, compare=False)

    @property
    def numbers_cached(self) -> int:
        """Numbers that a cache keeps of a position."""
        return self.key * (self.size + self.value_size) if self.cached is None else self.cached

    @property
    def shared(self) -> int:
        """How many heads ask each head of keys and values, in turn: 1 where each has its own."""
        return self.query // self.key


@dataclass(frozen=True, kw_only=True, eq=False)
class ModelSpec:
    """What a model is made of and what a run of it records.

    attentions: by site, in the order of the forward pass. recorded, derived: every point by its full name. missing: why
    it has no such point or fact though other models do, a sentence by name. modules: of a module that was watched, the
    names of its own parts, by site. unseen: by site, why an attention of it was not recorded. experts: feed-forwards in
    a layer of which each token has a few, None in a model with one. d_embed: the features of its embeddings where they
    are narrower than the stream, which a map then makes of them; None elsewhere. positions: the word of `ModelConfig`
    for what tells them apart, None if the model does not say. Sizes of vocabularies, limits and padding as in
    `ModelConfig`; `config` is that of our own Transformer, None for any other model. labels: the names of a model's
    classes, of which by `scoring` one holds, or each by itself, or of two the one by the sign of a single logit, or
    whose logits are plain numbers (of a regression).
    precision: the type that its numbers are computed in.
    reads_pairs: whether its text may be two texts that are told apart. fuses: whether a long attention whose weights
    follow from its queries and keys runs without making them.
    """

    kind: ModelKind
    encoder_layers: int
    decoder_layers: int
    d_model: int
    d_ff: int | None = None
    d_embed: int | None = None
    experts: int | None = None
    attentions: Mapping[str, Heads]
    recorded: tuple[HookPoint, ...]
    derived: tuple[HookPoint, ...] = ()
    missing: Mapping[str, str] = field(default_factory=dict)
    modules: Mapping[str, str] = field(default_factory=dict)
    unseen: Mapping[str, str] = field(default_factory=dict)
    output: OutputKind
    norm: Literal["pre", "post"]
    final_norm: bool
    positions: str | None = None
    source_vocab_size: int | None = None
    target_vocab_size: int | None = None
    max_source: int
    max_target: int
    source_pad: int | None = None
    target_pad: int | None = None
    pad_to: int | None = None
    labels: tuple[str, ...] = ()
    reads_pairs: bool = False
    scoring: Scoring = "one"
    fuses: bool = True
    precision: Precision = "float32"
    config: ModelConfig | None = None

    @property
    def has_encoder(self) -> bool:
        return self.encoder_layers > 0

    @property
    def has_decoder(self) -> bool:
        return self.decoder_layers > 0

    @property
    def writes(self) -> bool:
        """Whether it gives the next token, so that it can write; any other model only reads."""
        return self.output == "next token"

    @property
    def rounding(self) -> float:
        """What is recomputed from the record is to be allowed to differ by, for each result that the run rounded:
        a share of the largest number, 0 in float32, whose rounding each place allows for by itself."""
        return ROUNDING[self.precision]

    @property
    def own(self) -> ModelConfig:
        """The config of our own Transformer. Raises Unavailable for a model that is none."""
        if self.config is None:
            raise Unavailable(OF_ANOTHER)
        return self.config

    @cached_property
    def point(self) -> Mapping[str, HookPoint]:
        """Every point, recorded and derived, by its name."""
        return MappingProxyType({each.name: each for each in (*self.recorded, *self.derived)})

    def heads(self, kind: KindName, layer: int) -> Heads:
        """The heads of this attention."""
        return self.attentions[KINDS[kind].site(layer)]

    def sizes(self, name: str, *, batch: int, source: int, target: int) -> tuple[int, ...]:
        """The shape of this point in numbers, for a whole pass over `source` and `target` tokens."""
        own = source if name.startswith("encoder.") or not self.has_decoder else target
        keys = source if ".cross." in name else own
        sizes: dict[str, int | None] = {"B": batch, "T": own, "Q": own, "K": keys, "1": 1, "V": self.target_vocab_size}
        sizes |= {"D": self.d_model, "F": self.d_ff, "X": self.experts, "C": len(self.labels), "N": self.d_embed}
        if (heads := self.attentions.get(name.rpartition(".")[0])) is not None:
            sizes |= {"H": heads.query, "G": heads.key, "E": heads.size, "U": heads.value_size}
        return tuple(size for letter in self.point[name].shape if (size := sizes[letter]) is not None)

    def weights_follow(self, site: str) -> bool:
        """Whether the weights of this attention are made of its queries and keys alone, so that a long one need not
        make them."""
        return self.fuses and f"{site}.scores" in self.point and f"{site}.sink" not in self.point

    def whole_bytes(self, *, source: int, target: int, written: bool = False) -> int:
        """Memory of everything that one pass says in float32, at most: before it is made.

        Masks and biases are made once for all layers of a stack; weights of a long attention that follow from its
        queries and keys are not made (`FUSED_FROM`). If the target was `written` step by step they are, and its rows
        are kept twice: by step, and joined to one pass.
        """
        return sum(self._bytes(source, target, written=written).values())

    @cached_property
    def most_bytes(self) -> int:
        """The same of the longest texts that it reads."""
        return self.whole_bytes(source=self.max_source, target=self.max_target)

    def recorded_bytes(self, *, source: int, target: int, written: bool = False) -> int:
        """Memory of the recording of a run in float32, at most: before it is made.

        A run that is larger than WHOLE_BYTES keeps the points of `kept`, and of written rows also the weights; beside
        them stands what is looked at: ANEW_BYTES, or one layer where that is more.
        """
        sizes = self._bytes(source, target, written=written)
        if (whole := sum(sizes.values())) <= WHOLE_BYTES:
            return whole
        taken, layers = 0, dict[str, int]()
        kept, once = self.kept(source=source, target=target), self._bytes(source, target)
        for name, size in sizes.items():
            if name in kept:
                taken += size
                continue
            if written and name.startswith("decoder.") and name.endswith(".weights"):
                taken += size // 2
            layers[layer_of(name)] = layers.get(layer_of(name), 0) + once.get(name, 0)
        return min(whole, taken + max([ANEW_BYTES, *layers.values()]))

    def kept(self, *, source: int, target: int) -> frozenset[str]:
        """The points that a run keeps which is too large to be kept whole: those of the first ranks (`keeping_rank`)
        that leave room for ANEW_BYTES below WHOLE_BYTES, and always those of the first."""
        sizes = self._bytes(source, target)
        ranks = {name: keeping_rank(name) for name in sizes}
        found, taken = set[str](), 0
        for rank in range(1 + max((rank for rank in ranks.values() if rank is not None), default=0)):
            names = [name for name, its in ranks.items() if its == rank]
            taken += sum(sizes[name] for name in names)
            if rank and taken > WHOLE_BYTES - ANEW_BYTES:
                break
            found.update(names)
        return frozenset(found)

    def _bytes(self, source: int, target: int, *, written: bool = False) -> dict[str, int]:
        """By point. What is made once for all layers counts where it is said first."""
        found, shared = dict[str, int](), set[str]()
        for point in self.recorded:
            name, sizes = point.name, self.sizes(point.name, batch=1, source=source, target=target)
            site, _, what = name.rpartition(".")
            by_step = written and not name.startswith("encoder.")
            numbers = math.prod(sizes)
            if what in ("mask", "bias"):
                once = f"{site.partition('.')[0]}.{site.rpartition('.')[2]}.{what}"
                found[name] = 0 if once in shared else 4 * numbers
                shared.add(once)
            elif what != "weights" or by_step or min(sizes[-2:]) < FUSED_FROM or not self.weights_follow(site):
                found[name] = 4 * numbers * (2 if by_step else 1)
        return found

    def grows(self, name: str) -> Growth:
        """What a token that is written adds to the point of this name."""
        return self.point[name].grows


class Decoding(Protocol):
    """A decoder in the middle of its work, for a batch of B rows."""

    @property
    def length(self) -> int:
        """Positions that the cache holds; 0 where every step reads all tokens anew."""
        ...

    def step(self, new: Sequence[Sequence[int]]) -> Tensor:
        """Read these new tokens, B rows of one length: logits [B, V] after the last of them."""
        ...

    def select(self, rows: Sequence[int]) -> None:
        """Go on with these rows of the batch, in this order: hypotheses of a beam."""
        ...


class Linear(NamedTuple):
    """A linear map: weight [out, in], bias [out] if it has one."""

    weight: Tensor
    bias: Tensor | None


@dataclass(frozen=True)
class AttentionParameters:
    """Learned maps of one attention. Rows of query, key and value belong to the heads in turn, so do columns of out.
    query, key, value: None where no single map makes them."""

    query: Linear | None
    key: Linear | None
    value: Linear | None
    out: Linear


class HookedModel(Protocol):
    """A model that can be run and looked at. What it is asked for and does not have raises `Unavailable`."""

    @property
    def spec(self) -> ModelSpec: ...

    @property
    def parameter_count(self) -> int:
        """Trained numbers, shared ones counted once."""
        ...

    def begin(self, sources: Sequence[Sequence[int]] | None, *, cached: bool = True, hook: Hook = OFF) -> Decoding:
        """Read the sources, one for each row (None: a decoder alone), ready to write. Each pass calls the hook.

        cached: a step reads the new tokens only; else all of them anew.
        """
        ...

    def whole(self, sources: Rows | None, targets: Rows | None, *, hook: Hook = OFF) -> Tensor:
        """One pass over rows of ids: logits [B, T, V] at all positions, or what a model without logits gives out.

        Raises ValueError where rows of different lengths need padding and the model has none.
        """
        ...

    def read_out(self, stream: Tensor, stack: StackName) -> Tensor:
        """The logits [B, T, V] of a stream [B, T, D], by the final norm and the output layer."""
        ...

    def parameters_of(self, site: str) -> AttentionParameters:
        """The maps of this attention; the model's own tensors, so read them only."""
        ...

    def table(self, what: TableName, stack: StackName) -> Tensor:
        """The vectors of all tokens [V, D] or of all positions [N, D]; the model's own, so read them only."""
        ...

    def scalars(self) -> Mapping[str, float]:
        """What each attention divides its scores by, `{site}.divisor`, and each stack multiplies its embeddings by,
        `{stack}.embed.scale`, as far as the model tells them."""
        ...

    def frequencies(self) -> Mapping[str, Tensor]:
        """Every list of radians by which pairs of features are turned in a position that the model holds beside its
        config, [P], by its name; which of them an attention uses is not said."""
        ...


@lru_cache(maxsize=256)
def spec_of(config: ModelConfig, labels: tuple[str, ...] = ()) -> ModelSpec:
    """The spec of our own Transformer with this config. labels: what the rows of an encoder's output are called;
    without names they are called by their numbers."""
    heads = Heads(config.n_heads, config.n_heads, config.head_dim, config.head_dim)
    output: OutputKind = "next token"
    if not config.has_decoder:
        pooled: OutputKind = "class" if config.pooling != "none" else "token class"
        output = "none" if config.target_vocab_size is None else pooled
        labels = labels or tuple(map(str, range(config.target_vocab_size or 0)))
    return ModelSpec(
        kind=config.kind,
        encoder_layers=config.encoder_layers,
        decoder_layers=config.decoder_layers,
        d_model=config.d_model,
        d_ff=config.d_ff,
        attentions=MappingProxyType(dict.fromkeys(attention_sites(config), heads)),
        recorded=tuple(recorded_points(config)),
        derived=tuple(derived_points(config)),
        missing=undefined_points(config),
        output=output,
        norm=config.norm,
        final_norm=config.final_norm,
        positions=config.positions,
        source_vocab_size=config.source_vocab_size,
        target_vocab_size=config.target_vocab_size,
        max_source=config.max_source,
        max_target=config.max_target,
        source_pad=config.source_pad,
        target_pad=config.target_pad,
        pad_to=config.pad_to,
        labels=labels,
        config=config,
    )
