"""Teacher-forced runs with dropout on, as in training, reproducible by seed.

The shared model is not modified: the run uses a second set of modules around the same parameters. Dropout draws from a
separate generator, independent of the global random state.
"""

from __future__ import annotations

import copy
from dataclasses import replace
from itertools import chain

import torch
from torch import Tensor

from viz_transformer.checkpoint import Checkpoint
from viz_transformer.model.attention import is_fused
from viz_transformer.model.config import ModelConfig
from viz_transformer.model.dropout import STEPS, Dropout
from viz_transformer.model.hook_point import FUSED_FROM
from viz_transformer.model.transformer import Transformer
from viz_transformer.running.trace import Trace
from viz_transformer.running.tracing import TextOrIds, decoder_input, encode_source, trace

LARGEST_SEED = 2**63 - 1


def training_trace(ckpt: Checkpoint, source: TextOrIds, target: TextOrIds | None, seed: int) -> Trace:
    """Record a teacher-forced run with dropout on, as in a training step. Arguments as in `trace`.

    The same seed gives the same numbers on the same kind of device: those of dropout after `torch.manual_seed(seed)`.
    Recorded weights are taken after attention dropout, so rows need not sum to 1 and weights may exceed 1. `info` has
    the kind "training mode", the seed and the dropout rate.
    Raises ValueError for a seed outside 0 to 2^63 - 1, as `trace` does, and where attention would run fused: the kernel
    neither exposes its dropped weights nor takes a seed.
    """
    if not 0 <= seed <= LARGEST_SEED:
        raise ValueError(f"seed {seed} is not a whole number from 0 to {LARGEST_SEED}")
    config = ckpt.config
    _check_explicit(ckpt, source, target)
    in_training = replace(ckpt, hooked_model=_with_dropout(ckpt.model, seed))
    recorded = trace(in_training, source, target)
    info = {**recorded.info, "kind": "training mode", "seed": seed, "dropout": config.dropout}
    return replace(recorded, info=info)


class _SeededDropout(Dropout):
    """Dropout that draws from the given generator."""

    def __init__(self, p: float, generator: torch.Generator) -> None:
        super().__init__(p)
        self.generator = generator

    def factors(self, x: Tensor) -> Tensor:
        """The same numbers as `Dropout.factors` with the global generator in this state."""
        numbers = torch.empty((x.numel() + 3) // 4, dtype=torch.int64, device=x.device)
        numbers.random_(torch.iinfo(torch.int64).min, None, generator=self.generator)
        bits = numbers.view(torch.int16)[: x.numel()].view(x.shape)
        kept = bits >= self.dropped - STEPS // 2
        return kept.to(x.dtype) * (STEPS / (STEPS - self.dropped))


def _with_dropout(model: Transformer, seed: int) -> Transformer:
    """New modules in training mode that share the model's parameters and buffers, read-only."""
    shared = {id(tensor): tensor for tensor in chain(model.parameters(), model.buffers())}
    copied = copy.deepcopy(model, shared)
    generator = torch.Generator(device=next(model.parameters()).device).manual_seed(seed)
    for module in list(copied.modules()):
        for name, child in list(module.named_children()):
            if isinstance(child, Dropout):
                module.register_module(name, _SeededDropout(child.p, generator))
    return copied.train()


def _check_explicit(ckpt: Checkpoint, source: TextOrIds, target: TextOrIds | None) -> None:
    config = ckpt.config
    if not drops_weights(config):
        return
    lengths = [len(encode_source(ckpt, source))] if config.has_encoder else []
    if config.has_decoder and (target is not None or not config.has_encoder):
        lengths.append(len(decoder_input(ckpt, source if target is None else target)[0]))
    if is_fused(max(lengths), max(lengths), config.mask_fill):
        raise ValueError(
            f"the text has {max(lengths):,} tokens, training mode is recorded for at most {FUSED_FROM - 1}: shorten it"
        )


def drops_weights(config: ModelConfig) -> bool:
    """Whether dropout affects attention weights in training."""
    return config.attention_dropout and config.dropout > 0
