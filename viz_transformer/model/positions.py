"""How the model knows where a token stands: a vector for each position, added to the embedding."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn


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
}
