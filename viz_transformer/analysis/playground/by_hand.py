"""Attention, softmax and norms on numbers few enough to check by hand. Exact in float64; needs numpy only.

The numbers of a seed are drawn once for the largest sizes: another size shows more or fewer of the same numbers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Literal

import numpy as np
from msgspec import Meta
from numpy.typing import ArrayLike, NDArray

from viz_transformer import declared

MAX_VECTORS, MAX_FEATURES = 8, 8
TEXTS, TOKENS, FEATURES = 2, 3, 4
"""Sizes of the table of numbers that is normalised."""
EPSILON = 1e-5
"""What torch's norms add to the variance."""
SIZES = tuple(2**power for power in range(11))
"""The values of head_dim for products of random vectors: 1 to 1,024."""
DRAWS = 500
"""The number of rows of weights that each mean is over."""

Letter = Literal["q", "k", "v", "m", "x", "g"]
"""A table of numbers that can be edited: queries, keys, values, the mask, what a norm reads, and gain and offset."""
LETTERS: tuple[Letter, ...] = ("q", "k", "v", "m", "x", "g")
Cell = tuple[Letter, int, int]
Norm = Literal["layer", "batch", "positions-and-features"]
Numbers = NDArray[np.float64]

AXES: Mapping[Norm, tuple[int, ...]] = {"layer": (2,), "batch": (0, 1), "positions-and-features": (1, 2)}
"""The axes of [text, token, feature] over which each norm takes mean and variance."""


# --- attention


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """The numbers of queries and keys, and their dimensions. Raises ValueError for values out of range."""

    queries: Annotated[int, Meta(ge=1, le=MAX_VECTORS)] = 5
    keys: Annotated[int, Meta(ge=1, le=MAX_VECTORS)] = 4
    d_k: Annotated[int, Meta(ge=1, le=8)] = 4
    d_v: Annotated[int, Meta(ge=1, le=8)] = 3

    def __post_init__(self) -> None:
        declared.check(self)


@dataclass(frozen=True, eq=False)
class Vectors:
    """query: [Q, d_k], key: [K, d_k], value: [K, d_v]."""

    query: Numbers
    key: Numbers
    value: Numbers


@dataclass(frozen=True, eq=False)
class Attended:
    """Scaled dot-product attention with every intermediate value.

    products, scores, weights: [Q, K]; mask: [Q, K], True = may attend; output: [Q, d_v]. scores = products / divisor.
    """

    vectors: Vectors
    products: Numbers
    divisor: float
    scores: Numbers
    mask: NDArray[np.bool_]
    weights: Numbers
    output: Numbers


def draw_normal(letter: Letter, seed: int, rows: int, columns: int) -> Numbers:
    """Standard normal numbers of a seed, rounded to one decimal so that they can be read and typed: [rows, columns].

    The same seed gives the same numbers at the same places whatever the size.
    """
    rng = np.random.default_rng([seed, LETTERS.index(letter)])
    whole: Numbers = np.round(rng.standard_normal((MAX_VECTORS, MAX_FEATURES)), 1) + 0.0  # no minus zero
    return whole[:rows, :columns]


def with_edits(letter: Letter, numbers: Numbers, edits: Mapping[Cell, float]) -> Numbers:
    """A copy of a table with the edited cells in their places; edits of cells that it does not have are left out."""
    changed = numbers.copy()
    for (table, row, column), value in edits.items():
        if table == letter and row < changed.shape[0] and column < changed.shape[1]:
            changed[row, column] = value
    return changed


def vectors(
    seed: int, sizes: Sizes, edits: Mapping[Cell, float] | None = None, *, self_attention: bool = False
) -> Vectors:
    """The vectors of a seed with the edits on them. Self-attention: keys and values are the queries."""
    found = {} if edits is None else edits
    query = with_edits("q", draw_normal("q", seed, sizes.queries, sizes.d_k), found)
    if self_attention:
        return Vectors(query, query, query)
    key = with_edits("k", draw_normal("k", seed, sizes.keys, sizes.d_k), found)
    value = with_edits("v", draw_normal("v", seed, sizes.keys, sizes.d_v), found)
    return Vectors(query, key, value)


def mask_of(kind: str, queries: int, keys: int, edits: Mapping[Cell, float] | None = None) -> NDArray[np.bool_]:
    """True = may attend: [Q, K]. kind: none, causal, padding (the last key is none to read) or own (the edits "m").

    Raises ValueError for another kind.
    """
    mask = np.ones((queries, keys), dtype=bool)
    if kind == "causal":
        mask = np.tril(mask)
    elif kind == "padding":
        mask[:, -1] = False
    elif kind == "own":
        mask = with_edits("m", mask.astype(np.float64), {} if edits is None else edits) != 0
    else:
        declared.one_of("mask", kind, ("none", "causal", "padding", "own"))
    return mask


def softmax(scores: ArrayLike, mask: ArrayLike | None = None) -> Numbers:
    """exp(score) over the sum of the row's, of allowed keys: [..., K]. A row that may attend to nothing is zeros."""
    given = np.asarray(scores, dtype=np.float64)
    allowed = np.ones(given.shape, bool) if mask is None else np.broadcast_to(np.asarray(mask, bool), given.shape)
    masked = np.where(allowed, given, -np.inf)
    highest = masked.max(axis=-1, keepdims=True, initial=-np.inf)
    raised = np.exp(masked - np.where(np.isfinite(highest), highest, 0.0))
    total = raised.sum(axis=-1, keepdims=True)
    weights: Numbers = np.divide(raised, total, out=np.zeros_like(raised), where=total > 0)
    return weights


def attend(given: Vectors, mask: ArrayLike, *, scaled: bool = True) -> Attended:
    """softmax(Q K^T / divisor) V; the divisor is the square root of d_k, or 1 where not scaled.

    mask: [Q, K], True = may attend. Raises ValueError if the shapes do not fit.
    Source: Vaswani et al. (2017), equation 1.
    """
    (queries, d_k), (keys, also) = given.query.shape, given.key.shape
    if d_k != also or given.value.shape[0] != keys:
        raise ValueError(
            f"query {given.query.shape}, key {given.key.shape} and value {given.value.shape} do not fit together"
        )
    allowed = np.asarray(mask, dtype=bool)
    if allowed.shape != (queries, keys):
        raise ValueError(f"mask {allowed.shape} does not fit {queries} queries and {keys} keys")
    products = given.query @ given.key.T
    divisor = math.sqrt(d_k) if scaled else 1.0
    scores = products / divisor
    weights = softmax(scores, allowed)
    return Attended(given, products, divisor, scores, allowed, weights, weights @ given.value)


def entropy(weights: ArrayLike) -> Numbers:
    """Entropy of each row in bits: 0 = one key, log2(K) = even. A row of zeros has none: NaN. [..., K] -> [...].

    Source: Shannon (1948); a weight of 0 counts as 0 (limit of p log p).
    """
    rows = np.asarray(weights, dtype=np.float64)
    terms = -rows * np.log2(np.where(rows > 0, rows, 1.0))
    total: Numbers = terms.sum(axis=-1) + 0.0
    return np.where(rows.sum(axis=-1) > 0, total, np.nan)


def more_aligned_with_another(products: ArrayLike) -> tuple[tuple[int, int], ...]:
    """Pairs (i, j) of self-attention whose product is above that of i with itself, the largest j of each such i.

    products: [T, T]. A dot product grows with the length of the other vector, so this is no contradiction.
    """
    table = np.asarray(products, dtype=np.float64)
    best = table.argmax(axis=-1)
    return tuple((i, int(j)) for i, j in enumerate(best) if table[i, j] > table[i, i])


# --- simplex


def corners(keys: int) -> Numbers:
    """The points with all weight on one key: the ends of a segment, or the corners of a triangle with sides of 1.

    [K, 2]. Raises ValueError for another number of keys than two or three: those have no place on paper.
    """
    if keys == 2:
        return np.array([[0.0, 0.0], [1.0, 0.0]])
    if keys == 3:
        return np.array([[0.0, 0.0], [1.0, 0.0], [0.5, math.sqrt(3) / 2]])
    raise ValueError(f"weights over {keys} keys cannot be drawn as a point: choose two or three")


def simplex_points(weights: ArrayLike) -> Numbers:
    """Each row of weights as a point of the simplex, the mean of its corners by these weights: [Q, K] -> [Q, 2].

    Raises ValueError for rows that do not sum to 1 and for other than two or three keys.
    """
    rows = np.asarray(weights, dtype=np.float64)
    if not np.allclose(rows.sum(axis=-1), 1.0, atol=1e-9):
        raise ValueError("only weights that sum to 1 are a point of the simplex")
    places: Numbers = rows @ corners(rows.shape[-1])
    return places


def first_keys(given: Vectors, keys: int) -> Vectors:
    """The same queries with only the first few keys."""
    return replace(given, key=given.key[:keys], value=given.value[:keys])


# --- what scaling is for


@dataclass(frozen=True, eq=False)
class Growth:
    """The softmax over random dot products as head_dim grows; each array is [len(SIZES)].

    The variances are those of rows * keys products. Entropies are in bits, each the mean of `rows` rows; so are
    `largest`, the largest weight of a row, and `answer`, by how much the weights of a row answer in all when each
    score is raised by a little: the trace of the softmax's derivative, 1 - sum(w^2).
    """

    keys: int
    rows: int
    sizes: tuple[int, ...]
    product_variance: Numbers
    score_variance: Numbers
    entropy: Mapping[bool, Numbers]
    largest: Mapping[bool, Numbers]
    answer: Mapping[bool, Numbers]

    @cached_property
    def even(self) -> float:
        """The entropy of an even row, in bits."""
        return math.log2(self.keys)


def growth(seed: int, keys: int, rows: int = DRAWS) -> Growth:
    """Rows of weights of one random query before `keys` random keys, scaled (True) and not (False), for each size.

    Queries and keys are independent standard normal, so that a product has mean 0 and variance head_dim.
    Source: Vaswani et al. (2017), footnote 4.
    """
    found: dict[bool, list[tuple[float, ...]]] = {True: [], False: []}
    for size in SIZES:
        rng = np.random.default_rng([seed, size, keys])
        query, key = rng.standard_normal((rows, 1, size)), rng.standard_normal((rows, keys, size))
        products = (query * key).sum(axis=-1)
        for scaled in (True, False):
            scores = products / math.sqrt(size) if scaled else products
            weights = softmax(scores)
            of_rows = entropy(weights), weights.max(axis=-1), 1 - (weights**2).sum(axis=-1)
            found[scaled].append((float(scores.var()), *(float(each.mean()) for each in of_rows)))
    columns = {scaled: np.array(lines).T for scaled, lines in found.items()}  # [4, sizes] each
    means = ({scaled: lines[place] for scaled, lines in columns.items()} for place in (1, 2, 3))
    return Growth(keys, rows, SIZES, columns[False][0], columns[True][0], *means)


# --- norms


@dataclass(frozen=True, eq=False)
class Normalised:
    """A table before and after a norm. x, values: [B, T, F]; mean and variance have 1 in place of each pooled axis.

    pooled: how many numbers share one mean.
    """

    norm: Norm
    x: Numbers
    mean: Numbers
    variance: Numbers
    values: Numbers

    @property
    def pooled(self) -> int:
        return self.x.size // self.mean.size

    @property
    def groups(self) -> int:
        """How many means there are."""
        return int(self.mean.size)

    def after(self) -> tuple[Numbers, Numbers]:
        """Mean and variance of the values after the norm, of the same groups."""
        axes = AXES[self.norm]
        return self.values.mean(axis=axes, keepdims=True), self.values.var(axis=axes, keepdims=True)


def table_of(seed: int, edits: Mapping[Cell, float] | None = None) -> Numbers:
    """The numbers that are normalised: [B, T, F]. Features differ in place and width, as they do in a stream.

    An edit of "x" names the row text * TOKENS + token.
    """
    base = draw_normal("x", seed, TEXTS * TOKENS, FEATURES)
    spread, place = np.array([1.0, 3.0, 0.5, 2.0]), np.array([0.0, 2.0, -1.0, 4.0])
    rows = with_edits("x", np.round(base * spread + place, 1) + 0.0, {} if edits is None else edits)
    return rows.reshape(TEXTS, TOKENS, FEATURES)


def gain_and_offset(edits: Mapping[Cell, float] | None = None) -> Numbers:
    """The trained numbers of a norm, for each feature: [2, F]; gain 1 and offset 0, as training starts."""
    start = np.stack([np.ones(FEATURES), np.zeros(FEATURES)])
    return with_edits("g", start, {} if edits is None else edits)


def normalise(x: ArrayLike, norm: Norm, affine: ArrayLike | None = None) -> Normalised:
    """(x - mean) / sqrt(variance + EPSILON) * gain + offset, the variance divided by the number of values pooled.

    x: [B, T, F]; affine: [2, F], gain and offset. Batch norm is as in training, from the batch's own numbers.
    Raises ValueError for a norm that is not known. Sources: Ba et al. (2016), Ioffe and Szegedy (2015);
    "positions-and-features" is the slip of one tutorial.
    """
    declared.one_of("norm", norm, AXES)
    table = np.asarray(x, dtype=np.float64)
    gain, offset = np.asarray(gain_and_offset() if affine is None else affine, dtype=np.float64)
    mean = table.mean(axis=AXES[norm], keepdims=True)
    variance = table.var(axis=AXES[norm], keepdims=True)
    return Normalised(norm, table, mean, variance, (table - mean) / np.sqrt(variance + EPSILON) * gain + offset)


@dataclass(frozen=True)
class Reach:
    """The change of the first number of the first token when one other number is raised by 1.

    Which one is raised: another feature of the same token, the same feature of the next token, and the same feature
    of the first token of another text. 0.0 only where nothing moves, not by one bit.
    """

    feature: float
    token: float
    text: float


def reach(x: ArrayLike, norm: Norm, affine: ArrayLike | None = None) -> Reach:
    """How far a norm reads, measured by changing one number at a time. x: [B, T, F] with at least two texts, tokens and
    features."""
    table = np.asarray(x, dtype=np.float64)
    before = normalise(table, norm, affine).values[0, 0, 0]
    moved = []
    for place in ((0, 0, 1), (0, 1, 0), (1, 0, 0)):
        changed = table.copy()
        changed[place] += 1.0
        moved.append(float(abs(normalise(changed, norm, affine).values[0, 0, 0] - before)))
    return Reach(*moved)
