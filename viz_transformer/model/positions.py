"""How the model knows where a token stands: a vector for each position, added to the embedding, or something that
self-attention does by itself: queries and keys turned by their positions, or scores lowered by the distance."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn

from viz_transformer.model.config import ModelConfig
from viz_transformer.model.tap import Tap

ROTARY_BASE = 10_000.0


def sinusoid_table(length: int, d_model: int, *, exponent_factor: int = 1) -> Tensor:
    """Sine in the even columns, cosine in the odd ones: [length, D], float32.

    Columns 2i and 2i+1 turn with wavelength 2 pi 10000^(2i/d_model). Source: Vaswani et al. (2017), section 3.5.
    `exponent_factor` multiplies the exponent; the paper's is 1.
    """
    position = torch.arange(length, dtype=torch.float64)[:, None]
    exponent = exponent_factor * torch.arange(0, d_model, 2, dtype=torch.float64)
    frequency = torch.exp(exponent * (-math.log(10000.0) / d_model))
    table = torch.empty(length, d_model, dtype=torch.float64)
    table[:, 0::2] = torch.sin(position * frequency)
    table[:, 1::2] = torch.cos(position * frequency)
    return table.float()


class Sinusoidal(nn.Module):
    """The fixed table of sines and cosines."""

    table: Tensor
    exponent_factor = 1

    def __init__(self, max_length: int, d_model: int) -> None:
        super().__init__()
        table = sinusoid_table(max_length, d_model, exponent_factor=self.exponent_factor)
        self.register_buffer("table", table, persistent=False)

    def forward(self, start: int, length: int) -> Tensor:
        """Rows start to start + length - 1: [T, D]."""
        return self.table[start : start + length]


class SinusoidalDoubled(Sinusoidal):
    """The table with its exponent doubled: column pair i has wavelength 2 pi 10000^(4i/d_model), up to 2 pi 10^8.

    Some tutorials count i = 0, 0, 2, 2, ... and then take the paper's exponent 2i/d_model of that; half of the columns
    hardly move.
    """

    exponent_factor = 2


class Learned(nn.Module):
    """A trained row for each position."""

    def __init__(self, max_length: int, d_model: int) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.empty(max_length, d_model))
        nn.init.normal_(self.table, std=0.02)

    def forward(self, start: int, length: int) -> Tensor:
        """Rows start to start + length - 1: [T, D]."""
        return self.table[start : start + length]


POSITIONS: dict[str, Callable[[int, int], nn.Module] | None] = {
    "sinusoidal": Sinusoidal,
    "sinusoidal-doubled": SinusoidalDoubled,
    "learned": Learned,
    "none": None,
    "rotary": None,
    "alibi": None,
}
"""What is added to the embeddings."""


class InAttention:
    """What an attention does with positions: nothing. A kind of positions that acts there overrides what it changes.

    One that has a table is a module too, and is made with the config and the stack whose self-attention it is part of.
    """

    def placed(self, name: str, vectors: Tensor, start: int, tap: Tap) -> Tensor:
        """The point `name`, query or key, as the dot product takes it: [B, H, T, E], the first at position `start`."""
        return tap(name, vectors)

    def bias(self, like: Tensor, keys: int, start: int, tap: Tap) -> Tensor | None:
        """What is added to the scores: [B, H, Q, K], or None. like: the queries [B, H, Q, E], the first at `start`."""
        return None


class Rotary(InAttention, nn.Module):
    """Each pair of features of a query or key is turned by its position times the pair's frequency.

    Features 2i and 2i+1 of a head are pair i and turn by position * 10000^(-2i/head_dim); query @ key then depends on
    positions only by their difference. Values are not turned. Source: Su et al. (2021), "RoFormer", equations 15, 34.
    """

    cos: Tensor
    sin: Tensor

    def __init__(self, config: ModelConfig, stack: str) -> None:
        super().__init__()
        angle = rotary_angles(config.max_source if stack == "encoder" else config.max_target, config.head_dim)
        self.register_buffer("cos", angle.cos().float(), persistent=False)  # [N, E/2]
        self.register_buffer("sin", angle.sin().float(), persistent=False)

    def placed(self, name: str, vectors: Tensor, start: int, tap: Tap) -> Tensor:
        """The point as it was made, `{name}_unrotated`, and the point `name`, turned."""
        vectors = tap(f"{name}_unrotated", vectors)
        rows = slice(start, start + vectors.size(-2))
        return tap(name, turned(vectors, self.cos[rows], self.sin[rows]).to(vectors.dtype))


def rotary_angles(length: int, head_dim: int) -> Tensor:
    """The angle of each pair at each position, in radians: [length, head_dim/2] float64."""
    exponent = torch.arange(0, head_dim, 2, dtype=torch.float64) / head_dim
    return torch.arange(length, dtype=torch.float64)[:, None] * ROTARY_BASE**-exponent


def turned(vectors: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Each pair (2i, 2i+1) of vectors [..., T, E] turned counter-clockwise; cos, sin: [T, E/2]."""
    even, odd = vectors[..., 0::2], vectors[..., 1::2]
    return torch.stack((even * cos - odd * sin, even * sin + odd * cos), dim=-1).flatten(-2)


class Alibi(InAttention, nn.Module):
    """Scores are lowered in proportion to the distance of query and key, in each head by another slope.

    bias = -slope * (i - j), added to query @ key^T / divisor. Source: Press, Smith and Lewis (2022), "Train short, test
    long", section 3. The paper has causal attention: keys after the query, which are masked, have a bias of 0 here. An
    encoder, of which the paper does not speak, takes the distance |i - j| to both sides.
    """

    slopes: Tensor

    def __init__(self, config: ModelConfig, stack: str) -> None:
        super().__init__()
        self.both_sides = stack == "encoder"
        self.register_buffer("slopes", torch.tensor(alibi_slopes(config.n_heads)), persistent=False)  # [H]

    def bias(self, like: Tensor, keys: int, start: int, tap: Tap) -> Tensor:
        """The point `bias`, the same for every text of the batch."""
        query = torch.arange(start, start + like.size(-2), device=like.device)
        back = query[:, None] - torch.arange(keys, device=like.device)  # [Q, K], from the query to the key
        distance = back.abs() if self.both_sides else back.clamp(min=0)
        bias = distance * -self.slopes[:, None, None]
        return tap("bias", bias.expand(like.size(0), -1, -1, -1))


def alibi_slopes(n_heads: int) -> list[float]:
    """The slope of each head: 2^(-8(h+1)/H) for H heads, where H is a power of two.

    For another number of heads: those of the power of two below it, then every second one of twice that power, from
    the first on, as the authors' program has it.
    """
    whole = 2 ** (n_heads.bit_length() - 1)
    slopes = [2.0 ** (-8 * (head + 1) / whole) for head in range(whole)]
    return slopes + [2.0 ** (-4 * (head + 1) / whole) for head in range(0, 2 * (n_heads - whole), 2)]


IN_ATTENTION: dict[str, Callable[[ModelConfig, str], InAttention]] = {"rotary": Rotary, "alibi": Alibi}
"""What self-attention does with positions, for the words that act there."""


def in_attention(config: ModelConfig, stack: str | None) -> InAttention:
    """What the self-attention of this stack does with positions; None is cross-attention, which knows none."""
    make = IN_ATTENTION.get(config.positions)
    return InAttention() if make is None or stack is None else make(config, stack)
