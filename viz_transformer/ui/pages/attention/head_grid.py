"""All heads of a kind of attention in a run: each as a small map, with its scores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from viz_transformer.analysis.attention.head_scores import Score, head_scores
from viz_transformer.analysis.attention.maps import (
    describe_spread,
    layer_count,
    layer_weights,
    sides,
    unseen_layers,
    valid_mask,
)
from viz_transformer.analysis.attention.picture import Meta
from viz_transformer.analysis.attention.specials import special_positions
from viz_transformer.figures import labels
from viz_transformer.figures.components.grid import GridScore, HeadMaps, grid_payload, open_thumbnails, thumbnails
from viz_transformer.model.hooked_model import Heads
from viz_transformer.model.kinds import KINDS, KindName
from viz_transformer.ui.components.pictures import grid
from viz_transformer.ui.frame.drawn import Component, Numbers
from viz_transformer.ui.pages.attention import words
from viz_transformer.ui.session.memoize import memoize
from viz_transformer.ui.session.runs import RunView


def draw_heads(shown: RunView, kind: KindName, of: str) -> Component:
    """All heads small, sortable by score, with the table of scores. of: the run's letter, where there are two."""
    numbers = Numbers(
        frame=lambda: score_table(scores_of(shown, kind)),
        note=f"{_caption(shown, words.HEAD_SCORES, kind)}. {words.TABLE_OF_SCORES}",
        name=labels.file_name(shown.summary.name, "scores", kind),
    )
    return Component(draw=grid, data=_pack_grid(shown, kind, of), key="attention_grid", numbers=numbers)


def scores_of(shown: RunView, kind: KindName) -> tuple[Score, ...]:
    """The scores of all heads of a kind in this run."""
    return _heads(shown, kind).scores


def specials_of(shown: RunView) -> dict[str, tuple[bool, ...]]:
    """Masks of special tokens, as arguments for the scores."""
    return {
        "source_special": special_positions(shown.trace.src, shown.ckpt.source_codec),
        "target_special": special_positions(shown.trace.tgt, shown.ckpt.target_codec),
    }


def score_table(scored: Sequence[Score]) -> pd.DataFrame:
    """The scores of all heads, each with its baseline and number of rows."""
    layers, heads = scored[0].values.shape
    places = pd.MultiIndex.from_product([range(layers), range(heads)], names=[words.LAYER, words.HEAD])
    columns: dict[str, Any] = {}
    for score in scored:
        columns[score.name] = score.values.ravel()
        columns[words.column_if_even(score.name)] = score.baseline.ravel()
        columns[words.column_of_rows(score.name)] = score.n.ravel()
    return pd.DataFrame(columns, index=places)


@dataclass(frozen=True, eq=False)
class _Heads:
    """All heads of a kind: their scores, and thumbnails [H, q, k] of each layer's weights, mask and valid cells."""

    scores: tuple[Score, ...]
    weights: tuple[NDArray[np.float32], ...]
    mask: tuple[NDArray[np.bool_], ...]
    there: tuple[NDArray[np.bool_], ...]


@memoize(64)
def _heads(shown: RunView, kind: KindName) -> _Heads:
    """The heads, computed one layer at a time, so that only one layer's derived weights are in memory."""
    there = valid_mask(shown.trace, kind)
    small: list[_Small] = []
    some = np.True_ if there is None else open_thumbnails(there)

    unseen = unseen_layers(shown.trace, kind)
    queries, keys = map(len, sides(shown.trace, kind))
    blank = thumbnails(np.zeros((1, queries, keys), dtype=np.float32))

    def weighed() -> Iterator[tuple[NDArray[np.float32], NDArray[np.bool_]]]:
        for layer in range(layer_count(shown.trace, kind)):
            if layer in unseen:
                small.append((blank, np.ones(blank.shape, dtype=bool), np.zeros(blank.shape, dtype=bool)))
                continue
            weights, mask = layer_weights(shown.trace, kind, layer)
            yield weights, mask
            if describe_spread(shown.trace, KINDS[kind].site(layer)) == "signed":
                weights = np.abs(weights)
            one = np.ascontiguousarray(mask[:1]) if not mask.strides[0] else mask
            opened = open_thumbnails(one)
            made = thumbnails(weights, there)
            small.append((made, np.broadcast_to(opened, made.shape), np.broadcast_to(some, made.shape)))

    scores = head_scores(shown.trace, kind, **specials_of(shown), weighed=weighed())
    return _Heads(scores, *zip(*_pad_heads(small), strict=True))


@memoize(32)
def _pack_grid(shown: RunView, kind: KindName, of: str) -> bytes:
    """The payload of the grid."""
    found = _heads(shown, kind)
    queries, keys = sides(shown.trace, kind)
    unseen, own = unseen_layers(shown.trace, kind), shown.trace.spec
    seen = [KINDS[kind].site(layer) for layer in range(len(found.weights)) if layer not in unseen]
    signed = any(describe_spread(shown.trace, site) == "signed" for site in seen)
    heads = HeadMaps(
        kind,
        found.weights,
        mask=np.stack(found.mask),
        valid=np.stack(found.there),
        key_heads=_key_heads([own.attentions[site] for site in seen]),
        tokens=(len(queries), len(keys)),
    )
    meta = Meta(
        words.all_heads(KINDS[kind].words, of),
        _caption(shown, words.ALL_HEADS, kind),
        labels.file_name(shown.summary.name, "heads", kind),
        unit=words.SIZE_OF_WEIGHT if signed else words.ATTENTION_WEIGHT,
    )
    scores = [GridScore(score.name, score.values, score.baseline, score.n, score.formula) for score in found.scores]
    return grid_payload(heads, meta, scores, compact=True)


def _key_heads(layers: Sequence[Heads]) -> int | None:
    """The number of key heads per layer; None if layers differ."""
    found = {(each.query, each.key) for each in layers}
    return layers[0].key if len(found) == 1 else None


_Small = tuple[NDArray[np.float32], NDArray[np.bool_], NDArray[np.bool_]]
"""Thumbnails [H, q, k] of a layer: weights, mask, and valid cells."""


def _pad_heads(layers: Sequence[_Small]) -> list[_Small]:
    """The layers padded to the largest number of heads; padded heads are invalid everywhere."""
    heads = max(len(weights) for weights, _, _ in layers)
    found = []
    for weights, mask, cells in layers:
        lacking = [(0, heads - len(weights)), (0, 0), (0, 0)]
        found.append((np.pad(weights, lacking), np.pad(mask, lacking), np.pad(cells, lacking)))
    return found


def _caption(shown: RunView, what: str, kind: KindName) -> str:
    return shown.caption(words.of_kind(what, KINDS[kind].words), rows=KINDS[kind].writes)
