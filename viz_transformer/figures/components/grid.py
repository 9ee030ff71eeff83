"""The head grid: all heads of one kind of attention as small maps, to find the interesting ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from viz_transformer import payload
from viz_transformer.analysis.attention.picture import HEIGHT, Meta
from viz_transformer.figures import labels
from viz_transformer.figures.theme import MAX_HEADS
from viz_transformer.model.kinds import KindName
from viz_transformer.sentences import count_of

LARGEST_SIDE = 64
"""Maps of more tokens a side are max-pooled to this many."""

FINE_SIDE = 48
"""Maps of more tokens a side have cells of about a pixel: they get 9 colours, others 16."""


@dataclass(frozen=True, eq=False)
class GridScore:
    """A number for each head, by which the grid can be sorted.

    values, baseline: [L, H], NaN where a head has none. n: one number or [L, H], the rows that a value comes from.
    `explanation` is the formula in words.
    """

    name: str
    values: ArrayLike
    baseline: ArrayLike | None
    n: ArrayLike
    explanation: str


@dataclass(frozen=True)
class _Sizes:
    """The layout of the grid, in pixels; grid.js uses the same."""

    most: int
    wanted: int  # the smallest size for which layers are put side by side
    gap: int
    area: int  # the height that the thumbnails should not exceed
    width: int  # in a window of 1280, for which the height is reserved; elsewhere the browser fits what it can
    least: int = 28
    top: int = 34  # the title
    bottom: int = 34  # the legend
    line: int = 18  # the numbers of the heads
    shared: int = 18  # the brackets over heads that share keys, and their names
    margin: int = 54  # the numbers of the layers
    between: int = 16  # between layers side by side
    inset: int = 3  # room for the ring of a chosen head at the left of sorted thumbnails
    caption: int = 34  # name and score under a sorted thumbnail, and the space to the next row
    caption_width: int = 30  # five letters


_COMPACT = _Sizes(most=144, wanted=32, gap=4, area=HEIGHT, width=386)  # beside a map, and no higher than it
_FULL = _Sizes(most=72, wanted=28, gap=6, area=620, width=992)


@dataclass(frozen=True, eq=False)
class HeadMaps:
    """The maps of all heads of one kind of attention."""

    kind: KindName
    maps: NDArray[Any] | Sequence[ArrayLike]
    """[L, H, Q, K], or L arrays [H, Q, K]; at least 0, or NaN, which is dotted and wins its pooled block."""
    mask: ArrayLike | None = None
    """Broadcasts to [L, H, Q, K], True = may attend; a masked cell with weight is drawn with it."""
    valid: ArrayLike | None = None
    """The same shape, False where the run has no value, which stays blank."""
    key_heads: int | None = None
    """The number of key heads that a layer's heads share, in order; None: each has its own."""
    tokens: tuple[int, int] | None = None
    """The numbers of queries and keys, if maps, mask and valid are `thumbnails` already."""


def grid_payload(heads: HeadMaps, meta: Meta, scores: Sequence[GridScore] = (), *, compact: bool = False) -> bytes:
    """The payload of the grid: maps of at most 64 x 64 cells in few colours, and the scores as text.

    The largest weight of a row is one of 256, and its cells are each one of 16 from 0 to that, or of 9 where they are
    smaller than a pixel: colours to find a head by. Numbers are read off the matrix.

    `compact` is beside a map, with layers side by side where that makes them larger.
    Raises ValueError for shapes that do not fit, and for weights below 0 or infinite.
    """
    layers = [np.asarray(layer, dtype=np.float32) for layer in heads.maps]
    if not layers or layers[0].ndim != 3 or not layers[0].size or any(m.shape != layers[0].shape for m in layers):
        raise ValueError(f"maps {[m.shape for m in layers]} are not [layers, heads, queries, keys]")
    shape = (len(layers), *layers[0].shape)
    present = _pooled_mask(heads.valid, shape, "there")
    pooled = np.stack(
        [thumbnails(layer, cells) for layer, cells in zip(layers, _cells(heads.valid, shape), strict=True)]
    )
    missing = np.broadcast_to(~present, pooled.shape)
    none = np.isnan(pooled)
    pooled[none] = 0
    masked = np.broadcast_to(~_pooled_mask(heads.mask, shape, "mask"), pooled.shape) & (pooled == 0) & ~none & ~missing
    full = max(1.0, float(pooled.max()))  # dropout and edits make weights above 1
    if full == np.inf:
        raise ValueError("only finite weights can be drawn as thumbnails: some are infinite")
    most = 15 if max(pooled.shape[-2:]) <= FINE_SIDE else 8
    key_heads = shape[1] if heads.key_heads is None else heads.key_heads
    if not 0 < key_heads <= shape[1] or shape[1] % key_heads:
        raise ValueError(f"{shape[1]} heads cannot share {key_heads} heads of keys")
    grouped = key_heads < shape[1]
    header = {
        "title": meta.title,
        "label": f"{meta.title}: {count_of(shape[0], 'layer')} of {count_of(shape[1], 'head')}",
        "name": meta.name,
        "caption": meta.caption,
        "kind": heads.kind,
        "unit": meta.unit,
        "full": full,
        "tokens": shape[2:] if heads.tokens is None else heads.tokens,
        "scores": [_score_data(score, shape[:2]) for score in scores],
        "most_heads": MAX_HEADS,
        "compact": compact,
        "most": most,
        "sizes": _sizes(compact, grouped),
        "height": grid_height(*shape[:2], compact=compact, sortable=bool(scores), grouped=grouped),
        "key_heads": key_heads,
    }
    tops = pooled.max(axis=-1, keepdims=True)
    shares = pooled / np.where(tops > 0, tops, 1)
    arrays = {
        "tops": payload.rounded(tops[..., 0] / np.float32(full), "sqrt-uint8"),
        "roots": payload.digits(np.rint(most * np.sqrt(shares)), "base-16" if most == 15 else "base-9"),
    }
    for what, cells in (("masked", masked), ("missing", missing), ("none", none)):
        if cells.any():
            alike = bool((cells == cells[0, 0]).all())
            arrays[what] = payload.bits(cells[0, 0] if alike else cells)
    return payload.pack(header, **arrays)


def _sizes(compact: bool, grouped: bool) -> _Sizes:
    """The layout; brackets over heads that share keys have a line of their own."""
    sizes = _COMPACT if compact else _FULL
    return replace(sizes, line=sizes.line + sizes.shared) if grouped else replace(sizes, shared=0)


def grid_height(layers: int, heads: int, *, compact: bool = False, sortable: bool = True, grouped: bool = False) -> int:
    """The grid's height in pixels, unsorted, and sorted unless that is much more; a compact one gets the height of the
    map beside it."""
    if compact:
        return HEIGHT
    sizes = _sizes(compact, grouped)
    size, in_place = _in_place(layers, heads, sizes, compact)
    flows = [_flow(layers * heads, s, sizes) for s in range(size, min(size, sizes.least) - 1, -1)]
    sorted_height = next((flow for flow in flows if flow <= 1.25 * in_place), in_place)
    return sizes.top + (max(in_place, sorted_height) if sortable else in_place) + sizes.bottom


def _in_place(layers: int, heads: int, sizes: _Sizes, compact: bool) -> tuple[int, int]:
    """The size of a thumbnail and the height of all, with as few rows of layers as keep the thumbnails large enough."""
    for rows in range(1 if compact else layers, layers + 1):
        blocks = ceil(layers / rows)
        wide = ((sizes.width + sizes.between) / blocks - sizes.between - sizes.margin) / heads - sizes.gap
        tall = max((sizes.area - sizes.line) / rows - sizes.gap, sizes.least)
        size = int(min(wide, tall, sizes.most))
        if size >= sizes.wanted:
            break
    return max(size, 1), sizes.line + rows * (max(size, 1) + sizes.gap)


def _flow(count: int, size: int, sizes: _Sizes) -> int:
    columns = max(1, (sizes.width - 2 * sizes.inset + sizes.gap) // (max(size, sizes.caption_width) + sizes.gap))
    return ceil(count / columns) * (size + sizes.caption)


def thumbnails(maps: NDArray[np.float32], there: NDArray[np.bool_] | None = None) -> NDArray[np.float32]:
    """Max-pooled maps of at most 64 x 64 cells, NaN where a block has one. [H, Q, K]

    there: broadcasts to the maps, False where the run has no value, which counts as 0. Thumbnails are their own
    thumbnails. Raises ValueError for weights below 0.
    """
    known = maps if there is None else np.where(there, maps, np.float32(0))
    if np.fmin.reduce(known, axis=None) < 0:
        raise ValueError("only weights from 0 on can be drawn as thumbnails: some are below 0")
    return _largest(_largest(known, -2), -1)


def _pooled_mask(mask: ArrayLike | None, shape: tuple[int, ...], name: str) -> NDArray[np.bool_]:
    """A pooled mask, True where any cell of a block is, that broadcasts to the thumbnails of maps of `shape`; name: for
    messages."""
    given = np.asarray(True if mask is None else mask, dtype=bool)
    try:
        np.broadcast_to(given, shape)
    except ValueError:
        raise ValueError(f"{name} {given.shape} does not fit the maps {shape}") from None
    return open_thumbnails(np.broadcast_to(given, (*given.shape[:-2], *shape[-2:])))


def _cells(there: ArrayLike | None, shape: tuple[int, ...]) -> Sequence[NDArray[np.bool_] | None]:
    """The valid cells of each layer, [H, Q, K]; None if all are."""
    return [None] * shape[0] if there is None else list(np.broadcast_to(np.asarray(there, dtype=bool), shape))


def open_thumbnails(mask: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """A pooled mask, True where any cell of a block is. [..., Q, K]"""
    return _largest(_largest(mask, -2), -1)


def _largest(values: NDArray[Any], axis: int) -> NDArray[Any]:
    """The maximum of each of 64 blocks along the axis, NaN where one is; the values themselves if there are at most
    64."""
    count = values.shape[axis]
    if count <= LARGEST_SIDE:
        return values
    runs = np.split(values, np.arange(1, LARGEST_SIDE) * count // LARGEST_SIDE, axis=axis)
    return np.stack([np.maximum.reduce(run, axis=axis) for run in runs], axis=axis)


def _score_data(score: GridScore, shape: tuple[int, int]) -> dict[str, Any]:
    """The data of a score: its texts, and the heads from the highest to the lowest, those without one last."""
    values = np.asarray(score.values, dtype=np.float64)
    baseline = None if score.baseline is None else np.asarray(score.baseline, dtype=np.float64)
    if values.shape != shape or (baseline is not None and baseline.shape != shape):
        raise ValueError(f"score {score.name!r} has the shape {values.shape}, the grid has {shape} layers and heads")
    return {
        "name": score.name,
        "explanation": score.explanation,
        "order": np.argsort(-values, axis=None, kind="stable"),
        "short": [_short(value) for value in values.flat],
        "values": [labels.number(value) for value in values.flat],
        "baselines": None if baseline is None else [labels.number(value) for value in baseline.flat],
        "n": np.broadcast_to(np.asarray(score.n, dtype=np.int64), shape).ravel(),
    }


def _short(value: float) -> str:
    """The value in at most six characters, the room below a thumbnail."""
    if value != value:
        return "–"
    return labels.number(value, 2 if abs(value) < 100 else 1 if abs(value) < 1000 else 0)
