"""Dropout without waiting for random numbers in training."""

from __future__ import annotations

import torch
from torch import Tensor, nn

STEPS = 2**16


class Dropout(nn.Module):
    """Zeroes a share `p` of the values in training and scales the rest by 1 / (1 - p); the identity in evaluation.

    Draws 16 random bits per value, so p is rounded to a multiple of 1/65536 and the scale uses the rounded p: the
    expectation is exact. torch's Dropout draws a double per value, on the CPU in a single thread.
    Source: Srivastava et al. (2014), in the inverted form.
    """

    def __init__(self, p: float) -> None:
        super().__init__()
        self.p = p
        self.dropped = round(p * STEPS)

    def forward(self, x: Tensor) -> Tensor:
        """x of any shape -> the same shape."""
        if not self.training or not self.dropped:
            return x
        return x * self.factors(x)

    def factors(self, x: Tensor) -> Tensor:
        """The factor of each value, 0 or 1 / (1 - p), with x's shape, dtype and device."""
        numbers = torch.empty((x.numel() + 3) // 4, dtype=torch.int64, device=x.device)
        numbers.random_(torch.iinfo(torch.int64).min, None)  # all 64 bits
        bits = numbers.view(torch.int16)[: x.numel()].view(x.shape)
        kept = bits >= self.dropped - STEPS // 2
        return kept.to(x.dtype) * (STEPS / (STEPS - self.dropped))

    def extra_repr(self) -> str:
        return f"p={self.p}"
