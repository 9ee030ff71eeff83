"""Traces of torch's own modules, watched: of each kind, small and random."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

import viz_transformer as vt

SOURCE, TARGET = ("the", "cat", "sat", "<b>", ""), ("die", "Katze", "&", "saß")
D, H, LAYERS = 16, 4, 2


def drawn(length: int) -> Tensor:
    return torch.randn(1, length, D, generator=torch.Generator().manual_seed(length))


def watched_trace(kind: str = "encoder-decoder", **more: Any) -> vt.Trace:
    """encoder-decoder: 2 + 2 layers of 4 heads; decoder-only and encoder-only: 2 layers that read the first text."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        if kind == "encoder-decoder":
            model: nn.Module = nn.Transformer(D, H, LAYERS, LAYERS, 20, batch_first=True)
        else:
            model = nn.TransformerEncoder(nn.TransformerEncoderLayer(D, H, 20, batch_first=True), LAYERS)
    model.eval()
    if kind == "encoder-decoder":
        later = nn.Transformer.generate_square_subsequent_mask(len(TARGET))
        x, y = drawn(len(SOURCE)), drawn(len(TARGET))
        return vt.watch(model, lambda: model(x, y, tgt_mask=later), tokens=(SOURCE, TARGET), **more)
    x = drawn(len(SOURCE))
    later = nn.Transformer.generate_square_subsequent_mask(len(SOURCE)) if kind == "decoder-only" else None
    return vt.watch(model, lambda: model(x, mask=later), tokens=SOURCE, **more)
