"""Positional encodings inside one head of self-attention: rotary positions, or a bias of the scores.

Computed in float64 with numpy from a run's recorded values, and compared with the values it recorded next.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from viz_transformer import declared
from viz_transformer.model.positions import ROTARY_BASE, alibi_slopes
from viz_transformer.running.trace import Trace

Float32: TypeAlias = NDArray[np.float32]
Float64: TypeAlias = NDArray[np.float64]
TOLERANCE = 1e-5
"""The tolerance for recorded numbers, as a share of the largest: float32 sums in another order."""


@dataclass(frozen=True, eq=False)
class Turning:
    """The rotation that a self-attention applies to each query and key."""

    frequency: Float64
    """[P], radians per position for each pair of features."""
    pairs: NDArray[np.int64]
    """[P, 2], the features of each pair."""
    size: int
    """Features of a head; those in no pair are not rotated."""
    factor: float = 1.0
    """A factor on all rotated features."""
    named: str = ""
    """The model's name of its list of frequencies; "" for a rule."""
    step: float = 0.0
    """The tolerance of a recorded angle per position: the step of its float type."""
    rounding: float = 0.0
    """The tolerance of a rotated number, as a share of the largest: a run of fewer bits rounds cosine, sine, products
    and sum."""

    @property
    def unturned(self) -> NDArray[np.int64]:
        """The features that are not rotated."""
        return np.setdiff1d(np.arange(self.size), self.pairs)

    @property
    def base(self) -> float | None:
        """The base of the frequencies, base^(-2i/2P) for pair i; None if they are no powers of one."""
        count = len(self.frequency)
        if count < 2 or abs(self.frequency[0] - 1) > 1e-6 or self.frequency[-1] <= 0:
            return None
        base = float(self.frequency[-1]) ** (-count / (count - 1))
        close = np.allclose(self.frequency, base ** (-np.arange(count) / count), rtol=1e-5, atol=0)
        return base if close else None

    def turned(self, rows: Float64, places: NDArray[np.int64]) -> Float64:
        """Rows [T, E], each rotated by its position, computed as complex numbers."""
        found = rows * self.factor
        first, second = self.pairs.T
        pairs = (found[:, first] + 1j * found[:, second]) * np.exp(1j * places[:, None] * self.frequency)
        found[:, first], found[:, second] = pairs.real, pairs.imag
        return found


def make_own_rotation(size: int) -> Turning:
    """The rotation of our own model: pairs of neighbouring features, base 10,000."""
    return Turning(ROTARY_BASE ** -(np.arange(0, size, 2) / size), _neighbours(size // 2), size)


def turning(trace: Trace, site: str, lists: Mapping[str, ArrayLike]) -> Turning | None:
    """The rotation that reproduces this attention's recorded queries and keys, by one of the model's lists of
    frequencies; None if no list does, with pairs of neighbouring features or of two halves.

    Each list is tried on all heads and positions, to TOLERANCE of the largest number. None for a text of one token: at
    position 0 nothing is rotated, so any list would fit.
    """
    heads = trace.spec.attentions[site]
    rows = [_rows(trace, f"{site}.{name}") for name in ("query", "query_unrotated", "key", "key_unrotated")]
    after, before = np.concatenate((rows[0], rows[2])), np.concatenate((rows[1], rows[3]))  # [H + G, T, E]
    places = np.arange(after.shape[1])
    if len(places) < 2:
        return None
    largest, rounding = float(np.abs(after).max()), trace.spec.rounding
    factor = float(np.linalg.norm(after) / np.linalg.norm(before))
    for name, given in lists.items():
        frequency = np.asarray(given, dtype=np.float64)
        count = len(frequency)
        if not 0 < 2 * count <= heads.size:
            continue
        for pairs in (_halves(count), _neighbours(count)):
            # the factor applies to rotated features only
            whole = factor if 2 * count == heads.size and abs(factor - 1) > 1e-4 + rounding else 1.0
            tried = Turning(frequency, pairs, heads.size, whole, name, 2.0**-23, 4 * rounding)
            made = np.stack([tried.turned(each, places) for each in before])
            if np.abs(made - after).max() <= (TOLERANCE + tried.rounding + len(places) * tried.step) * largest:
                return tried
    return None


def _neighbours(count: int) -> NDArray[np.int64]:
    return np.arange(2 * count).reshape(-1, 2)


def _halves(count: int) -> NDArray[np.int64]:
    return np.arange(2 * count).reshape(2, -1).T


@dataclass(frozen=True, eq=False)
class Rotated:
    """The rotation of one query and one key of a head, and their product at every distance."""

    positions: tuple[int, int]
    how: Turning
    """The rotation."""
    query: Float64
    """[E], before the rotation."""
    key: Float64
    """[E], before the rotation."""
    turned_query: Float64
    """[E], as recorded."""
    turned_key: Float64
    """[E], as recorded."""
    distance: NDArray[np.int64]
    """[2T - 1], query position minus key position."""
    product: Float64
    """[2T - 1], query times key at each distance, before scaling."""
    recorded: float
    """Their product in this run."""
    error: float
    """The largest difference of any key's product with this query from the recorded one."""
    turned_error: float
    """The largest difference of the rotated query or key from the recorded one."""

    @property
    def frequency(self) -> Float64:
        return self.how.frequency


def rotate(trace: Trace, site: str, head: int, query: int, key: int, how: Turning | None = None) -> Rotated:
    """The rotation of this head's query and key. site: a self-attention of a model with rotary positions; how: its
    rotation, None for our own model's.

    R_i q · R_j k = sum over pairs of (q0 k0 + q1 k1) cos(d w) - (q0 k1 - q1 k0) sin(-d w) with d = i - j: the distance
    alone. Source: Su et al. (2021), equations 14 to 16. Raises ValueError for a head or position that is not there.
    """
    before_q, before_k = (_head(trace, f"{site}.{name}_unrotated", head) for name in ("query", "key"))
    after_q, after_k = (_head(trace, f"{site}.{name}", head) for name in ("query", "key"))
    count, size = before_q.shape
    _check(count, query, key)
    how = make_own_rotation(size) if how is None else how
    distance, places = np.arange(1 - count, count), np.arange(count)
    product = _products(before_q[query], before_k[key], distance, how)
    own = _products(before_q[query], before_k, query - places, how)
    turned = [how.turned(rows, places) - after for rows, after in ((before_q, after_q), (before_k, after_k))]
    recorded = after_k @ after_q[query]
    return Rotated(
        positions=(query, key),
        how=how,
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


def _products(query: Float64, key: Float64, distance: NDArray[np.int64], how: Turning) -> Float64:
    """The product at each distance of query less key: [N]. key: [E], or [N, E], one for each distance.

    Features that are not rotated add the same at every distance.
    """
    angle = distance[:, None] * how.frequency
    first, second = how.pairs.T
    along = query[first] * key[..., first] + query[second] * key[..., second]
    across = query[first] * key[..., second] - query[second] * key[..., first]
    rest = how.unturned
    found: Float64 = (along * np.cos(angle) + across * np.sin(angle)).sum(axis=1) + key[..., rest] @ query[rest]
    return found * how.factor**2


@dataclass(frozen=True, eq=False)
class Biases:
    """The slope of each head, and one head's bias [Q, K] as recorded. error: its difference from slope times distance,
    over the keys that come at or before a decoder's query, or all of an encoder's."""

    slopes: tuple[float, ...]
    bias: NDArray[np.float32]
    error: float


def read_bias(trace: Trace, site: str, head: int) -> Float32:
    """The recorded positional bias of this head's scores: [Q, K]. Raises ValueError for another head."""
    return _head(trace, f"{site}.bias", head).astype(np.float32)


def biases(trace: Trace, site: str, head: int) -> Biases:
    """The bias of this head; `site` is a self-attention of a model with ALiBi. Raises ValueError for another head."""
    bias = read_bias(trace, site, head)
    slopes = tuple(alibi_slopes(trace.config.n_heads))
    back = np.arange(len(bias))[:, None] - np.arange(len(bias))
    distance = np.abs(back) if site.startswith("encoder") else np.maximum(back, 0)
    return Biases(slopes, bias, float(np.abs(bias + slopes[head] * distance).max()))


Follows = Literal["distance", "place of the key", "nothing"]


@dataclass(frozen=True)
class Step:
    """A range of distances, from `first` to `last`, with the same bias in a head."""

    first: int
    last: int
    bias: float


@dataclass(frozen=True, eq=False)
class BiasRule:
    """The rule of a head's recorded biases, verified on all its open cells."""

    follows: Follows
    """Whether they depend on the distance, on the key's position, or on neither."""
    at: NDArray[np.int64]
    """[N], those distances or positions."""
    value: Float64
    """[N], the bias at each."""
    steps: tuple[Step, ...]
    """Ranges of distances with one bias."""
    slope: float | None
    """The slope if they lie on a straight line, else None."""


def bias_rule(trace: Trace, site: str, head: int) -> BiasRule:
    """The rule of this head's biases; `site` is a self-attention with such biases. Raises ValueError for another
    head."""
    bias = _head(trace, f"{site}.bias", head)
    mask = trace[f"{site}.mask"][0].numpy()
    allowed = np.broadcast_to(mask[min(head, len(mask) - 1)], bias.shape)
    query, key = np.nonzero(allowed)
    seen, largest = bias[allowed], float(np.abs(bias[allowed]).max(initial=0.0))
    rules: tuple[tuple[Follows, NDArray[np.int64]], ...] = (("distance", query - key), ("place of the key", key))
    for follows, where in rules:
        at, low, high = _ends(where, seen)
        rounding = trace.spec.rounding
        if (high - low).max(initial=0.0) <= (1e-6 + rounding) * largest:
            slopes = np.diff(low)
            near = (1e-5 + 2 * rounding) * max(largest, 1e-9)
            straight = len(at) > 2 and bool(np.abs(slopes - slopes.mean()).max() <= near)
            steps = _steps(at, low) if follows == "distance" else ()
            return BiasRule(follows, at, low, steps, float(slopes.mean()) if straight else None)
    return BiasRule("nothing", np.zeros(0, np.int64), np.zeros(0), (), None)


def _ends(where: NDArray[np.int64], seen: Float64) -> tuple[NDArray[np.int64], Float64, Float64]:
    """The distinct places, and the minimum and maximum of the values at each: [N] each."""
    first = int(where.min(initial=0))
    low = np.full(int(where.max(initial=0)) - first + 1, np.inf)
    high = np.full(len(low), -np.inf)
    np.minimum.at(low, where - first, seen)
    np.maximum.at(high, where - first, seen)
    (there,) = np.nonzero(low <= high)
    return there + first, low[there], high[there]


def _steps(at: NDArray[np.int64], value: Float64) -> tuple[Step, ...]:
    """Ranges of neighbouring distances with one value."""
    ends = np.flatnonzero(np.diff(value) != 0)
    starts = [0, *(ends + 1).tolist()]
    last = [*ends.tolist(), len(at) - 1]
    return tuple(Step(int(at[a]), int(at[b]), float(value[a])) for a, b in zip(starts, last, strict=True))


def _rows(trace: Trace, name: str) -> Float64:
    """All heads of a point in float64: [H or G, T, E]."""
    return np.asarray(trace[name][0].double().numpy())


def _head(trace: Trace, name: str, head: int) -> Float64:
    """One head of a point [1, H, ...] in float64; for shared keys, those of its key head."""
    heads = trace.spec.attentions[name.rpartition(".")[0]]
    declared.place("head", head, heads.query)
    point = trace[name][0]
    return np.asarray(point[head * len(point) // heads.query].double().numpy())


def _check(count: int, *positions: int) -> None:
    for position in positions:
        declared.place("position", position, count)
