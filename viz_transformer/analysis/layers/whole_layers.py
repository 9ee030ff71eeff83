"""What whole layers did to the stream, where a recording has what they read and gave out and nothing between."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from viz_transformer.analysis.layers.sublayers import Floats, cosines, random_pair_cosine
from viz_transformer.model.kinds import SIDE_OF, StackName
from viz_transformer.running.trace import Trace


@dataclass(frozen=True, eq=False)
class LayerFlow:
    """One layer, by token; lengths are Euclidean norms. All arrays: [T].

    came, left: lengths of what the layer read and gave out. changed: the length of their difference. cosine: of the
    two; baseline: its mean over pairs of different tokens, NaN without one; pairs: how many those are. changed and
    cosine are NaN where the two have different numbers of features.
    """

    layer: int
    came: Floats
    left: Floats
    changed: Floats
    cosine: Floats
    baseline: float
    pairs: int


def layer_flows(trace: Trace, stack: StackName) -> tuple[LayerFlow, ...]:
    """The layers of a stack of which both sides were recorded, in the order of the forward pass."""
    found = []
    for layer in range(SIDE_OF[stack].layers(trace.spec)):
        names = [f"{stack}.{layer}.residual_{end}" for end in ("in", "out")]
        if all(name in trace.values for name in names):
            found.append(_flow(layer, *(trace[name][0].double().numpy() for name in names)))
    return tuple(found)


def _flow(layer: int, before: Floats, after: Floats) -> LayerFlow:
    """before, after: [T, D]."""
    came, left = (np.linalg.norm(rows, axis=-1) for rows in (before, after))
    if before.shape != after.shape:
        nothing = np.full(len(before), np.nan)
        return LayerFlow(layer, came, left, nothing, nothing, float("nan"), 0)
    baseline, pairs = random_pair_cosine(before, after)
    changed: Floats = np.linalg.norm(after - before, axis=-1)
    return LayerFlow(layer, came, left, changed, cosines(before, after), baseline, pairs)
