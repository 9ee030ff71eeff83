"""How the model knows where a token stands: a vector for each position, added to the embedding, or something that
self-attention does by itself: queries and keys turned by their positions, or scores lowered by the distance.

Each kind is an `Encoding`: what it computes, and all that the rest of the program says and shows of it. Its word in
`ENCODINGS` is what a config names. Torch is imported when numbers are made: the words are read long before that.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Literal

from viz_transformer.model.hook_point import KEYS, QUERIES, WEIGHTS, HookPoint

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
class ToldPlacing:
    """How *One weight*, and the program that it copies, work out what positions make of a query or key of the head.

    functions: program text in front. before: what the vector is called that W_Q or W_K made, `made` [E] there. showing:
    lines that `show` what `placed` is made of; placed: the expression of what is recorded; in both `$name` is "query"
    or "key", and the position's name. shown: labels of what the lines show, by their names on the page. formula: LaTeX
    in front of the map, sentence: what happens; in both {place} is the position, {size} head_dim.
    """

    functions: str = ""
    before: str = "before positions act on it"
    showing: str = ""
    placed: str = ""
    shown: Mapping[str, str] = field(default_factory=dict)
    note: str = "These are the numbers before positions act on them."
    formula: str = "P_{{{place}}}"
    sentence: str = "What position {place} makes of it is the recorded one."


@dataclass(frozen=True, kw_only=True)
class ToldBias:
    """How *One weight*, and the program that it copies, work out the biases of one query's row: [K].

    note: the program's comment. worked_out: the expression, of `back` [K], how far each key is behind the query; ""
    leaves the recorded biases as they are. scalars: expressions by name, sentences: what is added, with {scalar}s.
    """

    note: str = "what positions add to the scores"
    worked_out: str = ""
    scalars: Mapping[str, str] = field(default_factory=dict)
    sentences: tuple[str, ...] = ("Positions then add a bias to it.",)


class Encoding:
    """One kind of positional encoding.

    noun: what it is called in a sentence. box: its words in the architecture, two lines beside a sum or one in a
    self-attention's box. picture: what *Positions* draws of it. offered: whether the form of a new model has it.
    """

    noun: ClassVar[str]
    box: ClassVar[tuple[str, ...]] = ()
    picture: ClassVar[Picture] = "none"
    offered: ClassVar[bool] = True

    # what is added to the embeddings
    adds: ClassVar[bool] = False
    """Whether a row of a table is added to each token's embedding: the point `embed.position`."""
    trained: ClassVar[bool] = False
    """Whether the table is trained, and stands in the model's file."""
    formula: ClassVar[Formula | None] = None
    """The formula of sines that the table follows, if it follows one."""

    # what is done in self-attention
    in_attention: ClassVar[bool] = False
    acts: ClassVar[str] = ""
    """What its self-attention does: "turns queries and keys by their positions"."""
    does: ClassVar[str] = ""
    """The same of positions, in short: "turn queries and keys"."""
    sentence: ClassVar[str] = ""
    """What *Positions* says of it."""
    points: ClassVar[tuple[HookPoint, ...]] = ()
    """Points of its self-attention: new ones, each before one that other models have too and that means more here."""
    unplaced: ClassVar[str] = ""
    """What follows `query` and `key` in the names of the points that W_Q and W_K make, if positions change these."""

    def check(self, config: ModelConfig) -> None:
        """Raise ValueError for a config whose sizes do not go with it."""

    def table(self, length: int, d_model: int) -> Tensor:
        """The rows that are added: [N, D], of a trained table as training begins."""
        raise NotImplementedError

    def tensors(self, config: ModelConfig, stack: StackName) -> Held:
        """What each self-attention of the stack holds for it, by name: it is made anew, and never saved."""
        return {}

    def placed(self, name: str, vectors: Tensor, start: int, held: Held, hook: Hook) -> Tensor:
        """The point `name`, query or key, as the dot product takes it: [B, H, T, E], the first at position `start`."""
        return hook(name, vectors)

    def bias(self, back: Tensor, held: Held, stack: StackName) -> Tensor:
        """What is added to the scores, the point `bias`: [H, Q, K]. back: [Q, K], how far a key is behind the query.

        In a decoder it is 0 where `back` is negative: these keys are masked, and a cached step does not have them.
        """
        raise NotImplementedError

    def numbers(self, config: ModelConfig) -> int:
        """Numbers that a model makes for each position, beside those that its file holds."""
        return config.d_model if self.computed else 0

    @property
    def computed(self) -> bool:
        """Whether its table is added and follows a formula: it is made anew, and never saved."""
        return self.adds and not self.trained

    @property
    def biased(self) -> bool:
        """Whether something is added to the scores: the point `bias`."""
        return any(point.name == "bias" for point in self.points)

    def told_placing(self) -> ToldPlacing:
        """Of an encoding with `unplaced` points."""
        return ToldPlacing()

    def told_bias(self, config: ModelConfig, stack: StackName, head: int) -> ToldBias:
        """Of a biased encoding."""
        return ToldBias()


class NoPositions(Encoding):
    """Nothing tells where a token stands, but for a decoder's mask."""

    noun = "no positions"
    offered = False


class Table(Encoding):
    """A row for each position, which is added to the embedding of the token there."""

    picture = "table"
    adds = True


class Sinusoidal(Table):
    """The fixed table of sines and cosines."""

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

    Some tutorials count i = 0, 0, 2, 2, ... and then take the paper's exponent 2i/d_model of that; half of the columns
    hardly move.
    """

    noun = "sines and cosines with the exponent doubled"
    box = ("doubled", "sines")
    formula = "doubled"

    def table(self, length: int, d_model: int) -> Tensor:
        return sinusoid_table(length, d_model, exponent_factor=2)


class SinusoidalHalves(Table):
    """All sines in the first half of the columns, all cosines in the second, with the paper's wavelengths.

    Source: Marian's table, as transformers' MarianSinusoidalPositionalEmbedding makes it.
    """

    noun = "sines and cosines in halves"
    box = ("sines in", "halves")
    offered = False
    fewer: ClassVar[int] = 0
    """How much the exponent's divisor is less than the number of pairs: 1 lets the last wavelength be 2 pi 10000."""

    def check(self, config: ModelConfig) -> None:
        if config.d_model % 2 or config.d_model < 4:
            raise ValueError(f"d_model={config.d_model} must be even and at least 4 for sinusoidal positions in halves")

    def table(self, length: int, d_model: int) -> Tensor:
        factor = d_model / (d_model - 2 * self.fewer)
        return sinusoid_table(length, d_model, exponent_factor=factor, halves=True)


class SinusoidalHalvesFairseq(SinusoidalHalves):
    """The same with the exponent i/(D/2 - 1), so that the last wavelength is exactly 2 pi 10000.

    Source: fairseq's SinusoidalPositionalEmbedding, which has it from tensor2tensor; its first token stands at 2.
    """

    noun = "sines and cosines in halves, as fairseq has them"
    fewer = 1


def sinusoid_table(length: int, d_model: int, *, exponent_factor: float = 1, halves: bool = False) -> Tensor:
    """Sine in the even columns, cosine in the odd ones; with `halves` all sines first: [length, D], float32.

    Columns 2i and 2i+1 turn with wavelength 2 pi 10000^(2i/d_model). Source: Vaswani et al. (2017), section 3.5.
    `exponent_factor` multiplies the exponent; the paper's is 1.
    """
    import torch

    position = torch.arange(length, dtype=torch.float64)[:, None]
    exponent = exponent_factor * torch.arange(0, d_model, 2, dtype=torch.float64)
    angle = position * torch.exp(exponent * (-math.log(10000.0) / d_model))
    sines = torch.stack((angle.sin(), angle.cos()), dim=1 if halves else 2)  # [N, 2, D/2], or [N, D/2, 2]
    return sines.flatten(1).float()


class Learned(Table):
    """A trained row for each position."""

    noun = "learned positions"
    box = ("learned", "positions")
    offered = False
    trained = True

    def table(self, length: int, d_model: int) -> Tensor:
        import torch

        return torch.empty(length, d_model).normal_(std=0.02)


class Rotary(Encoding):
    """Each pair of features of a query or key is turned by its position times the pair's frequency.

    Features 2i and 2i+1 of a head are pair i and turn by position * 10000^(-2i/head_dim); query @ key then depends on
    positions only by their difference. Values are not turned. Source: Su et al. (2021), "RoFormer", equations 15, 34.
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
        """The point as it was made, `{name}_unrotated`, and the point `name`, turned."""
        vectors = hook(f"{name}{self.unplaced}", vectors)
        rows = slice(start, start + vectors.size(-2))
        return hook(name, rotate_pairs(vectors, held["cos"][rows], held["sin"][rows]).to(vectors.dtype))

    def numbers(self, config: ModelConfig) -> int:
        return (config.encoder_layers + config.decoder_layers) * config.head_dim

    def told_placing(self) -> ToldPlacing:
        return ToldPlacing(
            functions=_ROTATION,
            before="before the rotation",
            showing='show("angles", angles($name))\n',
            placed="turned(made, $name)",
            shown={"angle of each dimension's pair": "angles"},
            note="These are the numbers before positions turn them.",
            formula="R_{{{place}}}",
            sentence=(
                "Each pair of neighbouring dimensions 2i, 2i+1 is turned by {place} · 10000^(-2i/{size}) radians:"
                " rotary positions. Lengths stay, and q·k knows the distance of the two alone."
            ),
        )


_ROTATION = """

def angles(place):
    \"\"\"By how much this position turns each dimension's pair, in radians: [E].\"\"\"
    size = point(f"{site}.query").shape[-1]
    return np.repeat(place / 10_000.0 ** (np.arange(0, size, 2) / size), 2)


def turned(vector, place):
    \"\"\"Dimensions 2i and 2i+1 turned counter-clockwise by their angle at this position: [E].\"\"\"
    angle, even, odd = angles(place)[0::2], vector[0::2], vector[1::2]
    cos, sin = np.cos(angle), np.sin(angle)
    return np.stack([even * cos - odd * sin, even * sin + odd * cos], axis=1).reshape(-1)

"""


def rotary_angles(length: int, head_dim: int) -> Tensor:
    """The angle of each pair at each position, in radians: [length, head_dim/2] float64."""
    import torch

    exponent = torch.arange(0, head_dim, 2, dtype=torch.float64) / head_dim
    return torch.arange(length, dtype=torch.float64)[:, None] * ROTARY_BASE**-exponent


def rotate_pairs(vectors: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Each pair (2i, 2i+1) of vectors [..., T, E] turned counter-clockwise; cos, sin: [T, E/2]."""
    import torch

    even, odd = vectors[..., 0::2], vectors[..., 1::2]
    return torch.stack((even * cos - odd * sin, even * sin + odd * cos), dim=-1).flatten(-2)


class Alibi(Encoding):
    """Scores are lowered in proportion to the distance of query and key, in each head by another slope.

    bias = -slope * (i - j), added to query @ key^T / divisor. Source: Press, Smith and Lewis (2022), "Train short, test
    long", section 3. The paper has causal attention: keys after the query, which are masked, have a bias of 0 here. An
    encoder, of which the paper does not speak, takes the distance |i - j| to both sides.
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

    def told_bias(self, config: ModelConfig, stack: StackName, head: int) -> ToldBias:
        slope = repr(alibi_slopes(config.n_heads)[head])
        distance = "np.abs(back)" if stack == "encoder" else "np.maximum(back, 0)"  # what comes later is masked
        return ToldBias(
            note="ALiBi: less for keys that are farther away",
            worked_out=f"-{slope} * {distance}",
            scalars={"slope": slope, "distance": f"{distance}[key]"},
            sentences=(
                "ALiBi then adds minus slope times distance: this head's slope is {slope}, the distance here is"
                " {distance}.",
                "It counts to both sides." if stack == "encoder" else "Keys after the query, masked anyway, get 0.",
            ),
        )


def alibi_slopes(n_heads: int) -> list[float]:
    """The slope of each head: 2^(-8(h+1)/H) for H heads, where H is a power of two.

    For another number of heads: those of the power of two below it, then every second one of twice that power, from
    the first on, as the authors' program has it.
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
"""Every kind of positions, by the word that a config has for it."""
FORMULAS = tuple(word for word, encoding in ENCODINGS.items() if encoding.computed)
"""The words of tables that follow a formula."""
