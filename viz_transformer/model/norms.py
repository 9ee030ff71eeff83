"""Normalisation, with its mean and scale as points."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from viz_transformer.config import ModelConfig
from viz_transformer.tap import Tap


class LayerNorm(nn.Module):
    """(x - mean) / scale * gain + offset over the features, scale = sqrt(biased variance + epsilon).

    Written out instead of calling the fused kernel, so that mean and scale are values the output is made from.
    Source: Ba et al. (2016), equation 4; the same numbers as nn.LayerNorm.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.gain = nn.Parameter(torch.ones(config.d_model))
        self.offset = nn.Parameter(torch.zeros(config.d_model))
        self.epsilon = config.norm_epsilon

    def forward(self, x: Tensor, tap: Tap) -> Tensor:
        """x: [B, T, D] -> [B, T, D]; the points norm_mean and norm_scale are [B, T, 1]."""
        variance, mean = torch.var_mean(x, dim=-1, correction=0, keepdim=True)
        mean = tap("norm_mean", mean)
        scale = tap("norm_scale", (variance + self.epsilon).sqrt())
        return torch.addcmul(self.offset, (x - mean) / scale, self.gain)


NORMS: dict[str, Callable[[ModelConfig], nn.Module]] = {"layer": LayerNorm}
