"""The interface between a model and the rest of the program.

Decoding, tracing, analysis and pages use a `ModelSpec` and a `HookedModel`. Our `Transformer` provides both; so does
the adapter of any other model. What a model cannot provide raises `Unavailable` with a sentence; it is never guessed.
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
"""Largest relative error of rounding to each dtype, beyond that of float32: bfloat16 has 8 significant bits."""
NUMBER_BYTES: Mapping[Precision, int] = {"float32": 4, "bfloat16": 2}
"""Bytes per number of each dtype."""


WHOLE_BYTES, ANEW_BYTES = 2**30, 2**29
"""Maximum bytes of a fully recorded run, and of the points recomputed on demand for a larger one."""

AT_ONCE = "this model adds attention and feed-forward to the stream at once: nothing lies between"
"""Reason why parallel sub-layers have no stream between them."""
OF_ANOTHER = "only this program's own models tell this, and this one is of another"


class Unavailable(ValueError):
    """The model cannot provide this: one sentence, to be shown in place of the picture."""


class ReplayMismatch(ValueError):
    """A recomputed pass gave different numbers: one sentence, to be shown in place of the numbers."""


@dataclass(frozen=True)
class Heads:
    """The heads of one attention."""

    query: int
    """Query heads."""
    key: int
    """Key and value heads: fewer where query heads share one."""
    size: int
    """Features of a query or key per head."""
    value_size: int
    """Features of a value per head."""
    window: int | None = None
    """Keys a query can reach back to (in an encoder: to each side, besides its own position); None: all."""
    cached: int | None = field(default=None, compare=False)
    """Numbers cached per position, if not the keys and values of each head. Not saved with a trace."""

    @property
    def numbers_cached(self) -> int:
        return self.key * (self.size + self.value_size) if self.cached is None else self.cached

    @property
    def shared(self) -> int:
        """Query heads per key head: 1 without sharing."""
        return self.query // self.key


@dataclass(frozen=True, kw_only=True, eq=False)
class ModelSpec:
    """What a model consists of and what a run of it records. Undocumented fields are as in `ModelConfig`."""

    kind: ModelKind
    encoder_layers: int
    decoder_layers: int
    d_model: int
    d_ff: int | None = None
    d_embed: int | None = None
    """Features of the embeddings where they are narrower than the stream, which a linear map then widens."""
    experts: int | None = None
    """Feed-forwards per layer in a mixture of experts, of which each token uses a few."""
    attentions: Mapping[str, Heads]
    """By site, in the order of the forward pass."""
    recorded: tuple[HookPoint, ...]
    """Recorded points, by full name in the order of the forward pass."""
    derived: tuple[HookPoint, ...] = ()
    missing: Mapping[str, str] = field(default_factory=dict)
    """Why the model lacks a point or fact that others have, one sentence per name."""
    modules: Mapping[str, str] = field(default_factory=dict)
    """Module path of each attention, by site, for a watched module."""
    unseen: Mapping[str, str] = field(default_factory=dict)
    """Why an attention of a watched module was not recorded, by site."""
    output: OutputKind
    norm: Literal["pre", "post"]
    final_norm: bool
    positions: str | None = None
    """A key of `ENCODINGS`; None if unknown."""
    source_vocab_size: int | None = None
    target_vocab_size: int | None = None
    max_source: int
    max_target: int
    source_pad: int | None = None
    target_pad: int | None = None
    pad_to: int | None = None
    labels: tuple[str, ...] = ()
    """Class names."""
    reads_pairs: bool = False
    """Whether its input may be two texts that it tells apart."""
    scoring: Scoring = "one"
    """One label of all, each label independently, one of two by the sign of a single logit, or plain numbers."""
    fuses: bool = True
    """Whether long attentions run without materialising their weights."""
    precision: Precision = "float32"
    """The dtype in which the model computes."""
    config: ModelConfig | None = None
    """Only for our own Transformer."""

    @property
    def has_encoder(self) -> bool:
        return self.encoder_layers > 0

    @property
    def has_decoder(self) -> bool:
        return self.decoder_layers > 0

    @property
    def writes(self) -> bool:
        """Whether it predicts the next token and so can generate text."""
        return self.output == "next token"

    @property
    def rounding(self) -> float:
        """Relative tolerance per rounded result when recomputing from the record.

        0 in float32, whose rounding each caller allows for.
        """
        return ROUNDING[self.precision]

    @property
    def own(self) -> ModelConfig:
        """The config of our own Transformer. Raises Unavailable for any other model."""
        if self.config is None:
            raise Unavailable(OF_ANOTHER)
        return self.config

    @cached_property
    def point(self) -> Mapping[str, HookPoint]:
        """Every point, recorded or derived, by name."""
        return MappingProxyType({each.name: each for each in (*self.recorded, *self.derived)})

    def heads(self, kind: KindName, layer: int) -> Heads:
        return self.attentions[KINDS[kind].site(layer)]

    def sizes(self, name: str, *, batch: int, source: int, target: int) -> tuple[int, ...]:
        """Concrete shape of a point, for a full pass over `source` and `target` tokens."""
        own = source if name.startswith("encoder.") or not self.has_decoder else target
        keys = source if ".cross." in name else own
        sizes: dict[str, int | None] = {"B": batch, "T": own, "Q": own, "K": keys, "1": 1, "V": self.target_vocab_size}
        sizes |= {"D": self.d_model, "F": self.d_ff, "X": self.experts, "C": len(self.labels), "N": self.d_embed}
        if (heads := self.attentions.get(name.rpartition(".")[0])) is not None:
            sizes |= {"H": heads.query, "G": heads.key, "E": heads.size, "U": heads.value_size}
        return tuple(size for letter in self.point[name].shape if (size := sizes[letter]) is not None)

    def weights_follow(self, site: str) -> bool:
        """Whether queries and keys alone determine this attention's weights, so that a long one may run fused."""
        return self.fuses and f"{site}.scores" in self.point and f"{site}.sink" not in self.point

    def whole_bytes(self, *, source: int, target: int, written: bool = False) -> int:
        """Upper bound of the float32 bytes that one pass records.

        Masks and biases exist once for all layers of a stack; a fused attention has no weights (`FUSED_FROM`). If the
        target was `written` step by step, it does have weights, and decoder rows count twice: per step, and stacked.
        """
        return sum(self._bytes(source, target, written=written).values())

    @cached_property
    def most_bytes(self) -> int:
        """`whole_bytes` at the model's maximum lengths."""
        return self.whole_bytes(source=self.max_source, target=self.max_target)

    def recorded_bytes(self, *, source: int, target: int, written: bool = False) -> int:
        """Upper bound of the float32 bytes that recording a run takes.

        A run larger than WHOLE_BYTES keeps the points of `kept` and, if written step by step, the weights, plus points
        recomputed on demand: ANEW_BYTES, or one layer where that is larger.
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
        """Points kept by a run that is too large to keep whole.

        Ranks (`keeping_rank`) are added while ANEW_BYTES stay free below WHOLE_BYTES; rank 0 is always kept.
        """
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
        """Bytes by point. A tensor shared by all layers counts where it first occurs."""
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
        """What a generated token adds to this point."""
        return self.point[name].grows


class Decoding(Protocol):
    """A decoder during generation, for a batch of B rows."""

    @property
    def length(self) -> int:
        """Positions in the cache; 0 if every step is a full pass."""

    def step(self, new: Sequence[Sequence[int]]) -> Tensor:
        """Read these new tokens, B rows of equal length; return logits [B, V] after the last one."""

    def select(self, rows: Sequence[int]) -> None:
        """Keep these rows of the batch, in this order, such as the hypotheses of a beam."""


class Linear(NamedTuple):
    """A linear map: weight [out, in], bias [out] if it has one."""

    weight: Tensor
    bias: Tensor | None


@dataclass(frozen=True)
class AttentionParameters:
    """Weight matrices of one attention. Rows of query, key and value, and columns of out, are grouped by head.

    query, key, value: None where no single linear map computes them.
    """

    query: Linear | None
    key: Linear | None
    value: Linear | None
    out: Linear


class HookedModel(Protocol):
    """A model that can be run and recorded. Methods raise `Unavailable` for what the model does not have."""

    @property
    def spec(self) -> ModelSpec: ...

    @property
    def parameter_count(self) -> int:
        """Trained parameters, shared ones counted once."""

    def begin(self, sources: Sequence[Sequence[int]] | None, *, cached: bool = True, hook: Hook = OFF) -> Decoding:
        """Encode the sources, one per row (None: decoder-only), and return a decoder ready to generate.

        Each pass calls the hook. cached: each step reads only the new tokens; else all tokens again.
        """

    def whole(self, sources: Rows | None, targets: Rows | None, *, hook: Hook = OFF) -> Tensor:
        """One pass over rows of ids: logits [B, T, V] at all positions, or the output of a model without logits.

        Raises ValueError if rows of different lengths need padding and the model has no padding token.
        """

    def read_out(self, stream: Tensor, stack: StackName) -> Tensor:
        """Logit lens: logits [B, T, V] of a stream [B, T, D], through the final norm and the output layer."""

    def parameters_of(self, site: str) -> AttentionParameters:
        """Weight matrices of this attention: the model's own tensors, so do not modify them."""

    def table(self, what: TableName, stack: StackName) -> Tensor:
        """Embeddings of all tokens [V, D] or all positions [N, D]: the model's own tensor, so do not modify it."""

    def scalars(self) -> Mapping[str, float]:
        """Known scalars: `{site}.divisor` of the scores and `{stack}.embed.scale` of the embeddings."""

    def frequencies(self) -> Mapping[str, Tensor]:
        """Rotary frequencies [P] that the model holds besides its config, in radians per position, by name.

        Which attention uses which is unknown.
        """


@lru_cache(maxsize=256)
def spec_of(config: ModelConfig, labels: tuple[str, ...] = ()) -> ModelSpec:
    """The spec of our own Transformer with this config.

    labels: names of an encoder's output rows; numbers are used without them.
    """
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
