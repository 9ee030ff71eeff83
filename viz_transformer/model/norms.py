"""Normalisation, with its mean and scale recorded as points."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor, nn

from viz_transformer.model.config import ModelConfig
from viz_transformer.model.hook import Hook


class LayerNorm(nn.Module):
    """(x - mean) / scale * gain + offset over the features, scale = sqrt(biased variance + epsilon).

    Written out instead of using the fused kernel, so that mean and scale are values that the output is computed from.
    Source: Ba et al. (2016), equation 4; the same numbers as nn.LayerNorm.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.gain = nn.Parameter(torch.ones(config.d_model))
        self.offset = nn.Parameter(torch.zeros(config.d_model))
        self.epsilon = config.norm_epsilon

    def forward(self, x: Tensor, hook: Hook) -> Tensor:
        """x: [B, T, D] -> [B, T, D]. Records norm_mean and norm_scale."""
        mean, scale = self.mean_and_scale(x)
        mean, scale = hook("norm_mean", mean), hook("norm_scale", scale)
        return torch.addcmul(self.offset, (x - mean) / scale, self.gain)

    def mean_and_scale(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """The mean subtracted and the scale divided by: [B, T, 1] each."""
        variance, mean = torch.var_mean(x, dim=-1, correction=0, keepdim=True)
        return mean, (variance + self.epsilon).sqrt()


class BesselNorm(LayerNorm):
    """Layer norm with scale = standard deviation (divided by D - 1) + epsilon outside the root.

    Source: "The Annotated Transformer" (Rush 2018), class LayerNorm.
    """

    def mean_and_scale(self, x: Tensor) -> tuple[Tensor, Tensor]:
        deviation, mean = torch.std_mean(x, dim=-1, correction=1, keepdim=True)
        return mean, deviation + self.epsilon


class PositionsAndFeaturesNorm(LayerNorm):
    """Mean and biased variance over positions and features together; gain and offset per feature.

    Every position then depends on all others, padding included. A bug in one tutorial (`dims = (-1, -2)`): Ba et al.
    (2016) normalise each position separately.
    """

    def mean_and_scale(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """The mean subtracted and the scale divided by: [B, 1, 1] each."""
        variance, mean = torch.var_mean(x, dim=(-2, -1), correction=0, keepdim=True)
        return mean, (variance + self.epsilon).sqrt()


def torch_norm(config: ModelConfig) -> LayerNorm:
    """nn.LayerNorm with its default epsilon of 1e-5, whatever the other norms use."""
    return LayerNorm(replace(config, norm_epsilon=1e-5))


NORMS: dict[str, Callable[[ModelConfig], nn.Module]] = {
    "layer": LayerNorm,
    "bessel": BesselNorm,
    "positions-and-features": PositionsAndFeaturesNorm,
}


def encoder_final_norm(config: ModelConfig) -> nn.Module:
    """The norm after the encoder's last layer: like the others, or nn.LayerNorm."""
    return torch_norm(config) if config.encoder_final_norm == "torch" else NORMS[config.norm_kind](config)
