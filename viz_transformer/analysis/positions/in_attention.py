"""What positions do inside one head of self-attention: a rotation of queries and keys, or a bias of the scores.

Worked out in float64 with numpy from what a run recorded, and set beside what it recorded next.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from viz_transformer.model.positions import ROTARY_BASE, alibi_slopes
from viz_transformer.running.record import Trace

Float32: TypeAlias = NDArray[np.float32]
Float64: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Rotated:
    """One query and one key of a head, and what becomes of their product when they stand at other distances.

    frequency: [E/2], radians that each pair turns in a position. query, key: [E], before the rotation; turned_query,
    turned_key: as recorded. distance: [2T - 1], of query less key; product: [2T - 1], query times key, undivided.
    recorded: their product in this run. error: the largest difference of any key's product with this query from the
    recorded one; turned_error: that of a turned query or key from its recorded one.
    """

    positions: tuple[int, int]
    frequency: Float64
    query: Float64
    key: Float64
    turned_query: Float64
    turned_key: Float64
    distance: NDArray[np.int64]
    product: Float64
    recorded: float
    error: float
    turned_error: float


def rotated(trace: Trace, site: str, head: int, query: int, key: int) -> Rotated:
    """The rotation of this head's query and key; `site` is a self-attention of a model with rotary positions.

    R_i q · R_j k = sum over pairs of (q0 k0 + q1 k1) cos(d w) - (q0 k1 - q1 k0) sin(-d w) with d = i - j: the distance
    alone. Source: Su et al. (2021), equations 14 to 16. Raises ValueError for a head or position that is not there.
    """
    before_q, before_k = (_head(trace, f"{site}.{name}_unrotated", head) for name in ("query", "key"))
    after_q, after_k = (_head(trace, f"{site}.{name}", head) for name in ("query", "key"))
    count, size = before_q.shape
    _check(count, query, key)
    frequency = ROTARY_BASE ** -(np.arange(0, size, 2) / size)
    distance = np.arange(1 - count, count)
    product = _products(before_q[query], before_k[key], distance, frequency)
    own = np.array([_products(before_q[query], before_k[j], np.array([query - j]), frequency)[0] for j in range(count)])
    turned = [_turned(rows, frequency) - after for rows, after in ((before_q, after_q), (before_k, after_k))]
    recorded = after_k @ after_q[query]
    return Rotated(
        positions=(query, key),
        frequency=frequency,
        query=before_q[query],
        key=before_k[key],
        turned_query=after_q[query],
        turned_key=after_k[key],
        distance=distance,
        product=product,
        recorded=float(recorded[key]),
        error=float(np.abs(own - recorded).max()),
        turned_error=float(max(np.abs(gap).max() for gap in turned)),
    )


def _products(query: Float64, key: Float64, distance: NDArray[np.int64], frequency: Float64) -> Float64:
    """The product at each distance of query less key: [N]."""
    angle = distance[:, None] * frequency
    along = query[0::2] * key[0::2] + query[1::2] * key[1::2]
    across = query[0::2] * key[1::2] - query[1::2] * key[0::2]
    found: Float64 = (along * np.cos(angle) + across * np.sin(angle)).sum(axis=1)
    return found


def _turned(rows: Float64, frequency: Float64) -> Float64:
    """Each row [T, E] turned by its own position, as complex numbers."""
    angle = np.arange(len(rows))[:, None] * frequency
    pairs = (rows[:, 0::2] + 1j * rows[:, 1::2]) * np.exp(1j * angle)
    return np.stack([pairs.real, pairs.imag], axis=-1).reshape(rows.shape)


@dataclass(frozen=True, eq=False)
class Biases:
    """The slope of each head, and one head's bias [Q, K] as recorded. error: its difference from slope times distance,
    over the keys that come at or before a decoder's query, or all of an encoder's."""

    slopes: tuple[float, ...]
    bias: NDArray[np.float32]
    error: float


def recorded_bias(trace: Trace, site: str, head: int) -> Float32:
    """What positions add to the scores of this head, as recorded: [Q, K]. Raises ValueError for another head."""
    return _head(trace, f"{site}.bias", head).astype(np.float32)


def biases(trace: Trace, site: str, head: int) -> Biases:
    """The bias of this head; `site` is a self-attention of a model with ALiBi. Raises ValueError for another head."""
    bias = recorded_bias(trace, site, head)
    slopes = tuple(alibi_slopes(trace.config.n_heads))
    back = np.arange(len(bias))[:, None] - np.arange(len(bias))
    distance = np.abs(back) if site.startswith("encoder") else np.maximum(back, 0)
    return Biases(slopes, bias, float(np.abs(bias + slopes[head] * distance).max()))


def _head(trace: Trace, name: str, head: int) -> Float64:
    """One head of a point [1, H, ...] in float64."""
    if not 0 <= head < trace.config.n_heads:
        raise ValueError(f"there is no head {head}: heads go from 0 to {trace.config.n_heads - 1}")
    return np.asarray(trace[name][0, head].double().numpy())


def _check(count: int, *positions: int) -> None:
    for position in positions:
        if not 0 <= position < count:
            raise ValueError(f"there is no position {position}: positions go from 0 to {count - 1}")
