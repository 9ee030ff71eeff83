"""A run with dropout on, as in training: a teacher-forced run of its own, repeatable by its seed.

The checkpoint's model is shared and stays as it is: what runs is a second set of modules around the same parameters.
Its dropout draws from a generator of its own, apart from the global random state and from what others draw meanwhile.
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
    """What happens when the model reads `source` and `target` with dropout on, as in a step of its training.

    `source` and `target` are as `trace` takes them. The same seed gives the same numbers (on the same kind of device);
    those that dropout after `torch.manual_seed(seed)` would give. Recorded weights are those behind attention dropout:
    a row need not sum to 1, and a weight can be above 1. `info` has the kind "training mode", the seed and the share
    that is dropped.
    Raises ValueError for a seed outside 0 to 2^63 - 1, for what `trace` refuses, and where attention would run in the
    fused kernel, which neither shows the weights that it dropped nor draws them from a seed of its own.
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
    """The same dropout, drawing from the given generator."""

    def __init__(self, p: float, generator: torch.Generator) -> None:
        super().__init__(p)
        self.generator = generator

    def factors(self, x: Tensor) -> Tensor:
        """As `Dropout.factors`, number by number, if the global generator were in this one's state."""
        numbers = torch.empty((x.numel() + 3) // 4, dtype=torch.int64, device=x.device)
        numbers.random_(torch.iinfo(torch.int64).min, None, generator=self.generator)
        bits = numbers.view(torch.int16)[: x.numel()].view(x.shape)
        kept = bits >= self.dropped - STEPS // 2
        return kept.to(x.dtype) * (STEPS / (STEPS - self.dropped))


def _with_dropout(model: Transformer, seed: int) -> Transformer:
    """New modules in training mode around the model's own parameters and buffers, which a pass only reads."""
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
    """Whether dropout in training touches attention weights."""
    return config.attention_dropout and config.dropout > 0
