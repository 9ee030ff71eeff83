"""Positional encodings: how the model knows where a token is.

An encoding adds a vector to each embedding, rotates queries and keys, or lowers scores with distance. Each is an
`Encoding`, which also defines its texts and drawings, and a key of `ENCODINGS` for configs. Torch is imported only when
numbers are computed: the names are read long before.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from viz_transformer.model.hook_point import KEYS, QUERIES, WEIGHTS, HookPoint
from viz_transformer.model.position_source import lowered_behind, lowered_to_both_sides, pair_angles, rotated

if TYPE_CHECKING:
    from torch import Tensor

    from viz_transformer.model.config import ModelConfig
    from viz_transformer.model.hook import Hook
    from viz_transformer.model.kinds import StackName

    Held = Mapping[str, Tensor]

ROTARY_BASE = 10_000.0
Formula = Literal["standard", "doubled"]
Picture = Literal["table", "rotation", "slopes", "bias", "none"]


@dataclass(frozen=True, kw_only=True)
class PlacingSource:
    """How *One weight* and its program derive the rotated query or key of a head.

    In `formula` and `sentence`, {place} is the position, {size} head_dim. Functions need numpy alone
    (`position_source`): the program has their source.
    """

    before: str = "before positions act on it"
    """Label of the vector that W_Q or W_K gives."""
    of_places: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    """Ingredients of the result by label: functions of position and head_dim."""
    placed: Callable[..., Any] | None = None
    """(vector [E], position) -> the recorded vector; None if it is not derived."""
    shown: Mapping[str, str] = field(default_factory=dict)
    """Labels of the shown values, by name."""
    note: str = "These are the numbers before positions act on them."
    formula: str = "P_{{{place}}}"
    """LaTeX to the left of the matrix."""
    sentence: str = "What position {place} makes of it is the recorded one."
    """What happens, in words."""


@dataclass(frozen=True, kw_only=True)
class BiasSource:
    """How *One weight* and its program derive the biases of one query's row, [K].

    In `sentences`, {scalar} is an entry of `scalars`.
    """

    bias_of: Callable[..., Any] | None = None
    """(`back` [K], each key's distance back from the query; slope) -> biases; None keeps the recorded ones. It needs
    numpy alone: the program has its source."""
    slope: float = 0.0
    """A number of this head."""
    scalars: Mapping[str, Callable[[int], float]] = field(default_factory=dict)
    """Functions of the cell's distance back, by name."""
    sentences: tuple[str, ...] = ("Positions then add a bias to it.",)
    """What is added, in words."""


class Encoding:
    """One kind of positional encoding."""

    noun: ClassVar[str]
    """Its name in a sentence."""
    box: ClassVar[tuple[str, ...]] = ()
    """Its label in *Architecture*: two lines next to a sum, or one inside the self-attention box."""
    picture: ClassVar[Picture] = "none"
    """What *Positions* draws."""
    offered: ClassVar[bool] = True
    """Whether the new-model form offers it."""

    # encodings that add to the embeddings
    adds: ClassVar[bool] = False
    """Whether a row of a table is added to each token's embedding: the point `embed.position`."""
    trained: ClassVar[bool] = False
    """Whether the table is trained and saved with the model."""
    formula: ClassVar[Formula | None] = None
    """The sinusoidal formula of the table, if any."""

    # encodings that act in self-attention
    in_attention: ClassVar[bool] = False
    acts: ClassVar[str] = ""
    """What its self-attention does: "rotates queries and keys by their positions"."""
    does: ClassVar[str] = ""
    """The same in short, with positions as the subject: "rotate queries and keys"."""
    sentence: ClassVar[str] = ""
    """Its description on *Positions*."""
    points: ClassVar[tuple[HookPoint, ...]] = ()
    """Extra points of its self-attention, each before a common point whose meaning it changes."""
    unplaced: ClassVar[str] = ""
    """Suffix of `query` and `key` for the points before positions act on them, if they do."""

    def check(self, config: ModelConfig) -> None:
        """Raise ValueError for a config whose sizes do not fit this encoding."""

    def table(self, length: int, d_model: int) -> Tensor:
        """The added rows, [N, D]; the initial ones if trained."""
        raise NotImplementedError

    def tensors(self, config: ModelConfig, stack: StackName) -> Held:
        """Tensors that each self-attention of the stack holds, by name: recomputed, never saved."""
        return {}

    def placed(self, name: str, vectors: Tensor, start: int, held: Held, hook: Hook) -> Tensor:
        """Record and return `name` (query or key) for the dot product: [B, H, T, E], first row at position `start`."""
        return hook(name, vectors)

    def bias(self, back: Tensor, held: Held, stack: StackName) -> Tensor:
        """The point `bias`, added to the scores: [H, Q, K]. back: [Q, K], each key's distance back from the query.

        In a decoder it is 0 where `back` is negative: those keys are masked, and a cached step does not have them.
        """
        raise NotImplementedError

    def numbers(self, config: ModelConfig) -> int:
        """Numbers per position that the model computes rather than loads."""
        return config.d_model if self.computed else 0

    @property
    def computed(self) -> bool:
        """Whether its added table follows a formula: recomputed, never saved."""
        return self.adds and not self.trained

    @property
    def biased(self) -> bool:
        """Whether it adds the point `bias` to the scores."""
        return any(point.name == "bias" for point in self.points)

    def placing_source(self) -> PlacingSource:
        """The derivation for an encoding with `unplaced` points."""
        return PlacingSource()

    def bias_source(self, config: ModelConfig, stack: StackName, head: int) -> BiasSource:
        """The derivation for an encoding with a bias."""
        return BiasSource()


class NoPositions(Encoding):
    """No positional encoding: only a decoder's mask depends on the order."""

    noun = "no positions"
    offered = False


class Table(Encoding):
    """A vector for each position, added to the token's embedding."""

    picture = "table"
    adds = True


class Sinusoidal(Table):
    """The fixed sine and cosine table of the paper."""

    noun = "sines and cosines"
    box = ("position", "sines")
    offered = False
    formula: ClassVar[Formula | None] = "standard"

    def check(self, config: ModelConfig) -> None:
        if config.d_model % 2:
            raise ValueError(f"d_model={config.d_model} must be even for sinusoidal positions")

    def table(self, length: int, d_model: int) -> Tensor:
        return sinusoid_table(length, d_model)


class SinusoidalDoubled(Sinusoidal):
    """The table with its exponent doubled: column pair i has wavelength 2 pi 10000^(4i/d_model), up to 2 pi 10^8.

    A bug in some tutorials, which count i = 0, 0, 2, 2, ... and then apply the paper's exponent 2i/d_model; half of the
    columns hardly vary.
    """

    noun = "sines and cosines with the exponent doubled"
    box = ("doubled", "sines")
    formula = "doubled"

    def table(self, length: int, d_model: int) -> Tensor:
        return sinusoid_table(length, d_model, exponent_factor=2)


class SinusoidalHalves(Table):
    """All sines in the first half of the columns, all cosines in the second, with the paper's wavelengths.

    Source: MarianSinusoidalPositionalEmbedding of transformers.
    """

    noun = "sines and cosines in halves"
    box = ("sines in", "halves")
    offered = False
    fewer: ClassVar[int] = 0
    """Subtracted from the number of pairs in the exponent's divisor: 1 makes the last wavelength 2 pi 10000."""

    def check(self, config: ModelConfig) -> None:
        if config.d_model % 2 or config.d_model < 4:
            raise ValueError(f"d_model={config.d_model} must be even and at least 4 for sinusoidal positions in halves")

    def table(self, length: int, d_model: int) -> Tensor:
        factor = d_model / (d_model - 2 * self.fewer)
        return sinusoid_table(length, d_model, exponent_factor=factor, halves=True)


class SinusoidalHalvesFairseq(SinusoidalHalves):
    """`SinusoidalHalves` with exponent i/(D/2 - 1), so that the last wavelength is exactly 2 pi 10000.

    Source: fairseq's SinusoidalPositionalEmbedding, after tensor2tensor; its first token uses row 2.
    """

    noun = "sines and cosines in halves, as fairseq has them"
    fewer = 1


def sinusoid_table(length: int, d_model: int, *, exponent_factor: float = 1, halves: bool = False) -> Tensor:
    """Sines in the even columns, cosines in the odd ones, or with `halves` all sines first: [length, D], float32.

    Columns 2i and 2i+1 have wavelength 2 pi 10000^(2i/d_model); `exponent_factor` multiplies the exponent. Source:
    Vaswani et al. (2017), section 3.5.
    """
    import torch

    position = torch.arange(length, dtype=torch.float64)[:, None]
    exponent = exponent_factor * torch.arange(0, d_model, 2, dtype=torch.float64)
    angle = position * torch.exp(exponent * (-math.log(10000.0) / d_model))
    sines = torch.stack((angle.sin(), angle.cos()), dim=1 if halves else 2)  # [N, 2, D/2], or [N, D/2, 2]
    return sines.flatten(1).float()


class Learned(Table):
    """A trained vector for each position."""

    noun = "learned positions"
    box = ("learned", "positions")
    offered = False
    trained = True

    def table(self, length: int, d_model: int) -> Tensor:
        import torch

        return torch.empty(length, d_model).normal_(std=0.02)


class Rotary(Encoding):
    """Rotates each pair of features of a query or key by its position times the pair's frequency.

    Features 2i and 2i+1 of a head are pair i, rotated by position * 10000^(-2i/head_dim); query @ key then depends on
    positions only through their difference. Values are not rotated. Source: Su et al. (2021), "RoFormer", equations 15,
    34.
    """

    noun = "rotary positions"
    box = ("rotary",)
    picture = "rotation"
    in_attention = True
    acts = "turns queries and keys by their positions"
    does = "turn queries and keys"
    sentence = (
        "Each self-attention turns its queries and keys, pair by pair of neighbouring dimensions, by position times"
        " frequency; values are not turned, and cross-attention knows no positions."
    )
    points = (
        HookPoint("query_unrotated", QUERIES, "queries by head, unscaled, as W_Q makes them"),
        HookPoint("query", QUERIES, "the same, turned by their positions: what the scores are made of"),
        HookPoint("key_unrotated", KEYS, "keys by head, as W_K makes them"),
        HookPoint("key", KEYS, "the same, turned by their positions: what the scores are made of"),
    )
    unplaced = "_unrotated"

    def check(self, config: ModelConfig) -> None:
        if config.head_dim % 2:
            raise ValueError(
                f"d_model={config.d_model} and n_heads={config.n_heads} give heads of {config.head_dim} features:"
                " rotary positions turn pairs of them, so their number must be even"
            )

    def tensors(self, config: ModelConfig, stack: StackName) -> Held:
        """Cosine and sine of each pair's angle at each position: [N, E/2]."""
        angle = rotary_angles(config.max_source if stack == "encoder" else config.max_target, config.head_dim)
        return {"cos": angle.cos().float(), "sin": angle.sin().float()}

    def placed(self, name: str, vectors: Tensor, start: int, held: Held, hook: Hook) -> Tensor:
        """Record `{name}_unrotated`, then record and return the rotated `name`."""
        vectors = hook(f"{name}{self.unplaced}", vectors)
        rows = slice(start, start + vectors.size(-2))
        return hook(name, rotate_pairs(vectors, held["cos"][rows], held["sin"][rows]).to(vectors.dtype))

    def numbers(self, config: ModelConfig) -> int:
        return (config.encoder_layers + config.decoder_layers) * config.head_dim

    def placing_source(self) -> PlacingSource:
        return PlacingSource(
            before="before the rotation",
            of_places={"angles": pair_angles},
            placed=rotated,
            shown={"angle of each dimension's pair": "angles"},
            note="These are the numbers before positions turn them.",
            formula="R_{{{place}}}",
            sentence=(
                "Each pair of neighbouring dimensions 2i, 2i+1 is turned by {place} · 10000^(-2i/{size}) radians:"
                " rotary positions. Lengths stay, and q·k knows the distance of the two alone."
            ),
        )


def rotary_angles(length: int, head_dim: int) -> Tensor:
    """Angle of each pair at each position, in radians: [length, head_dim/2] float64."""
    import torch

    exponent = torch.arange(0, head_dim, 2, dtype=torch.float64) / head_dim
    return torch.arange(length, dtype=torch.float64)[:, None] * ROTARY_BASE**-exponent


def rotate_pairs(vectors: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Rotate each pair (2i, 2i+1) of vectors [..., T, E] counter-clockwise; cos, sin: [T, E/2]."""
    import torch

    even, odd = vectors[..., 0::2], vectors[..., 1::2]
    return torch.stack((even * cos - odd * sin, even * sin + odd * cos), dim=-1).flatten(-2)


class Alibi(Encoding):
    """Lowers scores in proportion to the distance between query and key, with a different slope per head.

    bias = -slope * (i - j), added to query @ key^T / divisor. Source: Press, Smith and Lewis (2022), "Train short, test
    long", section 3. The paper covers causal attention: masked later keys have a bias of 0 here. An encoder, which it
    does not cover, uses the distance |i - j|.
    """

    noun = "ALiBi"
    box = ("ALiBi",)
    picture = "slopes"
    in_attention = True
    acts = "lowers scores by the distance of query and key"
    does = "lower the scores"
    sentence = "Each self-attention adds minus slope times distance to its scores; cross-attention knows no positions."
    points = (
        HookPoint("bias", WEIGHTS, "what is added to the scores; 0 at keys after a decoder's query"),
        HookPoint("weights", WEIGHTS, "masked softmax over the keys of query @ key^T / divisor + bias"),
    )

    def tensors(self, config: ModelConfig, stack: StackName) -> Held:
        import torch

        return {"slopes": torch.tensor(alibi_slopes(config.n_heads))}  # [H]

    def bias(self, back: Tensor, held: Held, stack: StackName) -> Tensor:
        distance = back.abs() if stack == "encoder" else back.clamp(min=0)
        return distance * -held["slopes"][:, None, None]

    def bias_source(self, config: ModelConfig, stack: StackName, head: int) -> BiasSource:
        slope, both = alibi_slopes(config.n_heads)[head], stack == "encoder"
        return BiasSource(
            bias_of=lowered_to_both_sides if both else lowered_behind,
            slope=slope,
            scalars={"slope": lambda _: slope, "distance": abs if both else (lambda back: max(back, 0))},
            sentences=(
                "ALiBi then adds minus slope times distance: this head's slope is {slope}, the distance here is"
                " {distance}.",
                "It counts to both sides." if both else "Keys after the query, masked anyway, get 0.",
            ),
        )


def alibi_slopes(n_heads: int) -> list[float]:
    """Slope of each head: 2^(-8(h+1)/H) for H heads, where H is a power of two.

    For other H, as in the authors' code: the slopes of the next lower power of two, then every second slope of the next
    higher one.
    """
    whole = 2 ** (n_heads.bit_length() - 1)
    slopes = [2.0 ** (-8 * (head + 1) / whole) for head in range(whole)]
    return slopes + [2.0 ** (-4 * (head + 1) / whole) for head in range(0, 2 * (n_heads - whole), 2)]


NONE = NoPositions()
ENCODINGS: dict[str, Encoding] = {
    "sinusoidal": Sinusoidal(),
    "sinusoidal-doubled": SinusoidalDoubled(),
    "sinusoidal-halves": SinusoidalHalves(),
    "sinusoidal-halves-fairseq": SinusoidalHalvesFairseq(),
    "learned": Learned(),
    "none": NONE,
    "rotary": Rotary(),
    "alibi": Alibi(),
}
"""Every positional encoding, by its name in a config."""
FORMULAS = tuple(word for word, encoding in ENCODINGS.items() if encoding.computed)
"""Names of the tables that follow a formula."""
