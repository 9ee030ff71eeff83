"""The training slider: one sentence at every snapshot, moved through in the browser, with any head's map."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from viz_transformer import payload
from viz_transformer.analysis.attention.axes import Axes
from viz_transformer.figures import labels
from viz_transformer.model.kinds import KindName

MAX_EXACT = 2_000_000
"""The most weights sent bit by bit, 8 MB; more are sent in 16 bits each."""
LONGEST = 400


@dataclass(frozen=True)
class SnapshotData:
    """One snapshot: its training step, its answer, whether that is the target, and the target's loss."""

    step: int
    text: str
    complete: bool
    right: bool
    loss: float


@dataclass(frozen=True, eq=False)
class MapsOfKind:
    """All heads of one kind at all snapshots. weights: [S, L, H, Q, K]; mask: [Q, K], True = may attend."""

    kind: KindName
    name: str
    weights: NDArray[np.float32]
    mask: NDArray[np.bool_]
    axes: Axes


def snapshots_payload(
    snapshots: Sequence[SnapshotData], maps: Sequence[MapsOfKind], *, caption: str, name: str
) -> bytes:
    """The payload of the training slider: all snapshots at once. Raises ValueError for what does not fit together.

    Arrays: losses [S], and for the i-th kind maps_i [S, L, H, Q, K] and mask_i [Q, K] where anything is masked.
    """
    if not snapshots or not maps:
        raise ValueError("there is no snapshot to show")
    steps = [snapshot.step for snapshot in snapshots]
    if sorted(set(steps)) != steps:
        raise ValueError(f"the snapshots' steps do not go up: {steps}")
    encoding = _encoding(maps)
    arrays = {"losses": payload.exact([snapshot.loss for snapshot in snapshots])}
    for i, each in enumerate(maps):
        shape = (len(each.axes[0]), len(each.axes[1]))
        if each.weights.ndim != 5 or each.weights.shape[0] != len(snapshots) or each.weights.shape[3:] != shape:
            raise ValueError(
                f"maps {each.weights.shape} do not fit {len(snapshots)} snapshots of {shape[0]} × {shape[1]} tokens"
            )
        if each.mask.shape != shape:
            raise ValueError(f"mask {each.mask.shape} does not have the shape {shape} of the maps")
        exact = encoding == "float32"
        arrays[f"maps_{i}"] = payload.exact(each.weights) if exact else payload.rounded(each.weights, "sqrt-uint16")
        if not each.mask.all():
            arrays[f"mask_{i}"] = payload.bits(each.mask)
    header = {
        "snapshots": [
            {
                "step": snapshot.step,
                "text": labels.shorten(labels.sentence(snapshot.text), LONGEST) if snapshot.text else "",
                "complete": snapshot.complete,
                "right": snapshot.right,
            }
            for snapshot in snapshots
        ],
        "kinds": [
            {
                "kind": each.kind,
                "name": each.name,
                "rows": each.axes[0].data(),
                "columns": each.axes[1].data(),
                "writes": each.axes[0].written("rows"),
            }
            for each in maps
        ],
        "caption": caption,
        "name": name,
    }
    return payload.pack(header, **arrays)


def _encoding(maps: Sequence[MapsOfKind]) -> Literal["float32", "sqrt-uint16"]:
    shares = all(float(each.weights.min()) >= 0 and float(each.weights.max()) <= 1 for each in maps)
    many = sum(each.weights.size for each in maps) > MAX_EXACT
    return "sqrt-uint16" if many and shares else "float32"
