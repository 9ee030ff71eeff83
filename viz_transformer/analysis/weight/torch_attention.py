"""One attention of a run through nn.MultiheadAttention with the same weights, beside what the run recorded."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from viz_transformer import declared
from viz_transformer.model.attention import Attention
from viz_transformer.model.kinds import KINDS, KindName
from viz_transformer.model.transformer import Stack, Transformer
from viz_transformer.numerals import significant
from viz_transformer.running.trace import Trace


@dataclass(frozen=True, eq=False)
class Pair:
    """Ours as recorded, torch's, and which rows torch defines. ours, torch: [..., Q, N] float32; defined: [..., Q]."""

    ours: NDArray[np.float32]
    torch: NDArray[np.float32]
    defined: NDArray[np.bool_]

    @property
    def largest(self) -> float:
        """The largest absolute difference over the rows that torch defines."""
        gap = np.abs(self.ours.astype(np.float64) - self.torch)[self.defined]
        return float(np.nan_to_num(gap, nan=np.inf).max(initial=0.0))


@dataclass(frozen=True, eq=False)
class TorchComparison:
    """weights: [H, Q, K] each, out: [Q, D] each; None where `reason`, or `out_reason`, says why they do not compare."""

    weights: Pair | None
    out: Pair | None
    reason: str = ""
    out_reason: str = ""


def torch_attention(trace: Trace, model: Transformer, kind: KindName, layer: int) -> TorchComparison:
    """This attention of the trace in both ways. `model` is the one that made the trace, in evaluation mode.

    nn.MultiheadAttention reads the recorded inputs and mask in float32, and gives NaN for a row that may attend to
    nothing. Raises ValueError for a layer that the model lacks.
    """
    site, config = KINDS[kind].site(layer), trace.config
    stack: Stack = getattr(model, KINDS[kind].stack)
    declared.place("layer", layer, len(stack.layers))
    divisor, root = trace.scalars[f"{site}.divisor"], math.sqrt(config.head_dim)
    if not math.isclose(divisor, root, rel_tol=1e-7):
        divides = f"it always divides scores by the square root of head_dim, {significant(root, 6)}"
        reason = f"{divides}; this model divides by {significant(divisor, 6)}"
        return TorchComparison(None, None, reason, reason)
    if config.encoding.unplaced and kind != "cross":
        reason = f"it does not {config.encoding.does} by their positions, as this model does"
        return TorchComparison(None, None, reason, reason)
    ours: Attention = getattr(stack.layers[layer], f"{KINDS[kind].attention}_attention")
    theirs = nn.MultiheadAttention(config.d_model, config.n_heads, bias=config.attention_bias, batch_first=True).eval()
    reads = trace[f"{site}.in"]
    memory = trace["encoder.out"] if kind == "cross" else reads
    mask = trace[f"{site}.mask"].expand(1, config.n_heads, reads.size(1), memory.size(1))[0]  # [H, Q, K]
    closed = ~mask
    if f"{site}.bias" in trace:  # torch adds a mask of numbers to its scores
        closed = trace[f"{site}.bias"][0].masked_fill(closed, -torch.inf)
    with torch.no_grad():
        _copy(ours, theirs)
        out, weights = theirs(reads, memory, memory, attn_mask=closed, average_attn_weights=False)
    defined = mask.any(dim=-1)
    pair = Pair(_array(trace[f"{site}.weights"][0]), _array(weights[0]), _array(defined).astype(bool))
    if config.merge == "raw-reshape":
        reason = "it puts the heads of one position beside each other; this model merges them by a raw reshape"
        return TorchComparison(pair, None, out_reason=reason)
    whole = _array(defined.all(dim=0)).astype(bool)
    return TorchComparison(pair, Pair(_array(trace[f"{site}.out"][0]), _array(out[0]), whole))


def _copy(ours: Attention, theirs: nn.MultiheadAttention) -> None:
    """Copy our parameters: torch has the three maps in one matrix, query over key over value."""
    maps = (ours.to_query, ours.to_key, ours.to_value)
    theirs.in_proj_weight.copy_(torch.cat([each.weight for each in maps]))
    theirs.out_proj.weight.copy_(ours.to_out.weight)
    if ours.to_out.bias is not None:
        theirs.in_proj_bias.copy_(torch.cat([each.bias for each in maps]))
        theirs.out_proj.bias.copy_(ours.to_out.bias)


def _array(values: Tensor) -> NDArray[np.float32]:
    return np.asarray(values.detach().cpu().numpy(), dtype=np.float32)
