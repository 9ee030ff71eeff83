"""One query against all keys, as strips: the keys, their products with the query, the scores, and the weights."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from viz_transformer.figures.components import payload
from viz_transformer.figures.components.lines import WeightScale
from viz_transformer.figures.components.matrix import Axis


def row_payload(
    query: ArrayLike,
    keys: ArrayLike,
    scores: ArrayLike,
    weights: ArrayLike,
    mask: ArrayLike,
    *,
    queries: Axis,
    columns: Axis,
    position: int,
    writes: Mapping[str, Any] | None,
    title: str,
    name: str,
    caption: str,
    scale: WeightScale,
    fill: str = "",
) -> bytes:
    """What the browser gets. query: [E]; keys: [K, E]; scores, weights: [K]; mask: [K], True = may attend.

    queries, columns: the two sides; `position` is the query's place on the first; writes: what its row writes.
    Raises ValueError if shapes and tokens do not fit.
    """
    q, k = np.asarray(query, dtype=np.float32), np.asarray(keys, dtype=np.float32)
    count = len(columns.tokens)
    if q.ndim != 1 or k.shape != (count, len(q)) or 0 in k.shape:
        raise ValueError(f"query {q.shape} and keys {k.shape} do not fit {count} tokens")
    by_key = {"scores": np.asarray(scores), "weights": np.asarray(weights), "mask": np.asarray(mask)}
    for what, values in by_key.items():
        if values.shape != (count,):
            raise ValueError(f"{what} {values.shape} do not fit {count} tokens")
    if not 0 <= position < len(queries.tokens):
        raise ValueError(f"there is no query {position}: there are {len(queries.tokens)}")
    header = {
        "title": title,
        "label": f"{title}: one query against {count} keys, as strips of keys, products, scores and weights",
        "name": name,
        "caption": caption,
        "query": {**queries.data(), "tokens": [], "count": len(queries.tokens)},
        "token": queries.tokens[position],
        "position": position,
        "writes": writes,
        "keys": columns.data(),
        "scale": scale,
        "fill": fill,
    }
    return payload.pack(
        header,
        query=payload.exact(q),
        keys=payload.exact(k),
        scores=payload.exact(by_key["scores"]),
        weights=payload.exact(by_key["weights"]),
        mask=payload.bits(by_key["mask"]),
    )
