"""One query against all keys, as strips: the keys, their products with the query, the scores, and the weights."""

from __future__ import annotations

import numpy as np

from viz_transformer.analysis.attention.picture import Axes, Meta
from viz_transformer.analysis.weight.weight_numbers import QueryRow
from viz_transformer.figures.components import payload
from viz_transformer.figures.components.matrix import axis_data, side_data
from viz_transformer.figures.components.tokens import token_data


def row_payload(numbers: QueryRow, axes: Axes, position: int, writes: str | None, meta: Meta) -> bytes:
    """What the browser gets.

    axes: the two sides; `position` is the query's place on the first; writes: what its row writes.
    Raises ValueError if shapes and tokens do not fit.
    """
    queries, columns = axes
    q, k = np.asarray(numbers.query, dtype=np.float32), np.asarray(numbers.keys, dtype=np.float32)
    count = len(columns)
    if q.ndim != 1 or k.shape != (count, len(q)) or 0 in k.shape:
        raise ValueError(f"query {q.shape} and keys {k.shape} do not fit {count} tokens")
    by_key = {name: np.asarray(getattr(numbers, name)) for name in ("scores", "weights", "mask")}
    for what, values in by_key.items():
        if values.shape != (count,):
            raise ValueError(f"{what} {values.shape} do not fit {count} tokens")
    if not 0 <= position < len(queries):
        raise ValueError(f"there is no query {position}: there are {len(queries)}")
    header = {
        "title": meta.title,
        "label": f"{meta.title}: one query against {count} keys, as strips of keys, products, scores and weights",
        "name": meta.name,
        "caption": meta.caption,
        "query": side_data(queries),
        "token": queries.reads.at((position,)).data()[0],
        "position": position,
        "writes": None if writes is None else token_data([writes])[0],
        "keys": axis_data(columns),
        "scale": meta.scale,
        "fill": meta.fill,
    }
    return payload.pack(
        header,
        query=payload.exact(q),
        keys=payload.exact(k),
        scores=payload.exact(by_key["scores"]),
        weights=payload.exact(by_key["weights"]),
        mask=payload.bits(by_key["mask"]),
    )
