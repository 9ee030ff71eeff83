"""Runs of tiny random models in every variant that changes the way to a weight, for the tests of the ladder."""

from __future__ import annotations

from typing import Any

import torch
from builders import tiny_checkpoint

from viz_transformer.analysis.attention.maps import attention_kinds
from viz_transformer.analysis.weight.weight_numbers import Cell
from viz_transformer.checkpoint import Checkpoint
from viz_transformer.model.kinds import KindName
from viz_transformer.running.trace import Trace
from viz_transformer.running.tracing import trace

SLIPS: dict[str, Any] = {
    "pad_to": 9,
    "max_source": 9,
    "max_target": 9,
    "norm": "post",
    "final_norm": False,
    "norm_kind": "positions-and-features",
    "merge": "raw-reshape",
    "mask_fill": "added-1e9",
    "padding_mask": "key-or-query-swapped-cross",
}
VARIANTS: dict[str, dict[str, Any]] = {
    "pre-norm": {},
    "post-norm": {"norm": "post", "final_norm": False},
    "one head": {"n_heads": 1},
    "no biases": {"attention_bias": False},
    "bessel": {"norm_kind": "bessel", "encoder_final_norm": "torch", "norm_epsilon": 1e-3},
    "norm over positions": {"norm_kind": "positions-and-features"},
    "divided by the root of d_model": {"divisor": "sqrt-d-model"},
    "learned divisor and scale": {"divisor": "learned", "embedding_scale": "learned"},
    "no positions": {"positions": "none", "embedding_scale": "one"},
    "raw merge": {"merge": "raw-reshape"},
    "-inf": {"mask_fill": "-inf"},
    "-1e9": {"mask_fill": "-1e9"},
    "-1e10": {"mask_fill": "-1e10", "positions": "learned"},
    "-1e9, queries masked": {"mask_fill": "-1e9", "padding_mask": "key-or-query"},
    "zero rows, queries masked": {"padding_mask": "key-or-query"},
    "slips": SLIPS,
    "rotary": {"positions": "rotary"},
    "rotary, post-norm": {"positions": "rotary", "norm": "post", "final_norm": False, "attention_bias": False},
    "alibi": {"positions": "alibi"},
    "alibi, -1e9 added": {"positions": "alibi", "mask_fill": "added-1e9"},
}
SOURCE, TARGET = [4, 5, 6, 7, 4, 0, 0], [1, 9, 8, 7, 9, 0]  # id 0 is padding


def run_of(variant: str, **changes: Any) -> tuple[Checkpoint, Trace]:
    """A tiny encoder-decoder of this variant, and its run of a padded source and target."""
    config = {**VARIANTS[variant], **changes}
    ckpt = tiny_checkpoint(**config)
    pad = [0] * max(0, (ckpt.config.pad_to or 0) - len(SOURCE))
    with torch.no_grad():
        return ckpt, trace(ckpt, [*SOURCE, *pad], [*TARGET, *pad, *([0] if pad else [])])


def cells(run: Trace) -> list[Cell]:
    """A cell of each kind: an open one, a masked one, and one whose query is padding."""
    heads = run.config.n_heads
    found: list[Cell] = []
    kinds: tuple[KindName, ...] = attention_kinds(run)
    for kind in kinds:
        layer = 1
        for head, query, key in ((heads - 1, 3, 1), (0, 2, 5), (heads // 2, 5, 2)):
            found.append(Cell(kind=kind, layer=layer, head=head, query=query, key=key))
        found.append(Cell(kind=kind, layer=0, head=0, query=0, key=0))
    return found
