"""The key that a query gives most of its weight."""

from __future__ import annotations

import numpy as np

from viz_transformer.analysis.attention.maps import head_view, valid_mask
from viz_transformer.analysis.attention.rollout import rollout_view
from viz_transformer.model.kinds import KINDS, KindName
from viz_transformer.running.trace import Trace


def strongest_key(trace: Trace, kind: KindName, layer: int, head: int | str, query: int) -> int | None:
    """The position of the key with most weight in a row of a head, or of the "mean", the "max" or the "rollout".

    The first of equal ones; only keys that the row may attend to and that existed at its step count. None for a row
    without weight, and where the map is undefined in this model or was not recorded. Raises ValueError for a kind,
    layer or head that the model lacks.
    """
    if KINDS[kind].site(layer) in trace.spec.unseen:
        return None
    if head == "rollout":
        try:
            view = rollout_view(trace, kind, layer)
        except ValueError:
            return None
    else:
        view = head_view(trace, kind, layer, head)  # type: ignore[arg-type]
    free = view.mask[query] & np.isfinite(view.weights[query])
    there = valid_mask(trace, kind)
    if there is not None:
        free = free & there[query]
    weights = np.where(free, view.weights[query], 0)
    at = int(weights.argmax())
    return at if weights[at] > 0 else None
