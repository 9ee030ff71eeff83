"""Attention rollout: the attention matrices of all layers so far, multiplied together, over the input tokens."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from viz_transformer import declared
from viz_transformer.analysis.attention.maps import AttentionPicture, describe_spread, layer_count, view_of
from viz_transformer.model.kinds import KINDS, KindName
from viz_transformer.model.watched import place_of
from viz_transformer.running.search import Progress
from viz_transformer.running.trace import Trace

Matrix = NDArray[np.float64]
Cells = NDArray[np.bool_]

_ROWS_AT_ONCE = 256
_LATEST: WeakKeyDictionary[Trace, tuple[KindName, int | None, AttentionPicture]] = WeakKeyDictionary()
"""The last map of each trace: a page asks for it, and again for the strongest key of one of its rows."""


@dataclass(frozen=True, eq=False)
class Rollout:
    """Each position's mixture of input tokens after `layer`, if attention and residual were all there is.

    For an encoder: encoder [S, S]. For a decoder: target_share [T, T] over the target tokens and, with an encoder,
    source_share [T, S] over the source tokens, through the encoder's rollout after its last layer, then in `encoder`.
    Rows of `encoder` sum to 1, and so do the rows of [source_share | target_share] together.
    """

    kind: KindName
    layer: int
    encoder: Matrix | None
    target_share: Matrix | None
    source_share: Matrix | None

    @property
    def values(self) -> Matrix:
        """The matrix of this kind: [S, S] encoder, [T, T] decoder, [T, S] cross."""
        chosen = {"encoder": self.encoder, "decoder": self.target_share, "cross": self.source_share}[self.kind]
        assert chosen is not None
        return chosen

    @property
    def target_total(self) -> Matrix | None:
        """The share of each decoder row that comes from target tokens, [T]; None for an encoder."""
        return None if self.target_share is None else self.target_share.sum(axis=-1)

    @property
    def source_total(self) -> Matrix | None:
        """The share of each decoder row that comes from source tokens, [T]; None without cross-attention."""
        return None if self.source_share is None else self.source_share.sum(axis=-1)


def rollout(trace: Trace, kind: KindName, layer: int | None = None, *, progress: Progress | None = None) -> Rollout:
    """The rollout after one layer, or after the last, of the encoder ("encoder") or the decoder ("decoder", "cross").

    A is the mean over a layer's heads. Self-attention: R <- (I/2 + A/2) R, from R = I. In the decoder ours is: after
    self-attention so for R_tt and R_ts, from R_tt = I, R_ts = 0; after cross-attention R_ts <- R_ts/2 + A R_enc/2 and
    R_tt <- R_tt/2. As in the paper, I + A is divided by the sum of its rows, which is 2 where the weights sum to 1: a
    row of zeros, which may attend to nothing, leaves its position as it is; a row that a mask fill of -1e9 makes even
    over masked keys mixes them in, as the model does. NaN, of a mask fill of minus infinity, spreads.

    It ignores values and W_O, biases, norms, the feed-forward, and that heads differ; that half of a stream stays is
    assumed, not measured: with cross-attention and weights that sum to 1, the target's total after layer l is 1/2^(l+1)
    for any text. In causal stacks the first token piles up, whatever the weights.
    `progress` is called after each layer, those of an encoder included; an exception from it ends the computation.
    Raises ValueError for a kind or a layer that the model lacks, for one that merges its heads by a raw reshape (what a
    row attends to is then not what its position gets), for a decoder's rows of several passes (`Run.per_step_rows`),
    and for an attention that was not recorded, or has negative weights.
    Source: Abnar and Zuidema (2020), for encoders.
    """
    last, parts = _compose(trace, kind, layer, _mean, _mix, np.float64, progress)
    return Rollout(kind, last, *parts)


def rollout_view(
    trace: Trace, kind: KindName, layer: int | None = None, *, progress: Progress | None = None
) -> AttentionPicture:
    """`rollout` as a map with its tokens. Masked cells are those that no path of allowed cells reaches.

    The latest one of a trace is cached and returned again: do not write to it.
    """
    latest = _LATEST.get(trace)
    if latest is not None and latest[:2] == (kind, layer):
        return latest[2]
    found = rollout(trace, kind, layer, progress=progress)
    _, parts = _compose(trace, kind, layer, _find_allowed, _Reached(), np.bool_)
    reached = parts[("encoder", "decoder", "cross").index(kind)]
    assert reached is not None
    view = view_of(trace, kind, found.layer, found.values.astype(np.float32), reached, combined="rollout")
    _LATEST[trace] = kind, layer, view
    return view


def _mean(trace: Trace, site: str) -> Matrix:
    """The mean over the heads, [Q, K]; derived heads are computed one at a time."""
    heads = trace.spec.attentions[site].query
    total = trace.of_head(f"{site}.weights", 0)[0].numpy().astype(np.float64)
    for head in range(1, heads):
        total += trace.of_head(f"{site}.weights", head)[0].numpy()
    mean: Matrix = total / heads
    return mean


def _find_allowed(trace: Trace, site: str) -> Cells:
    """Mask [Q, K]: the cells that some head allows."""
    kind = KINDS["cross" if site.endswith(".cross") else "encoder" if site.startswith("encoder.") else "decoder"]
    queries, keys = kind.sides(trace.src, trace.tgt)
    some = trace[f"{site}.mask"][0].numpy().astype(bool).any(axis=0)
    return np.broadcast_to(some, (len(queries), len(keys)))


_Part = NDArray[Any] | None


def _compose(
    trace: Trace,
    kind: KindName,
    layer: int | None,
    attention: Callable[[Trace, str], NDArray[Any]],
    mixed: Callable[[NDArray[Any], NDArray[Any], _Part], NDArray[Any]],
    dtype: type[np.float64] | type[np.bool_],
    progress: Progress | None = None,
) -> tuple[int, tuple[_Part, _Part, _Part]]:
    """The layer, and the encoder, target and source matrices after it. attention(trace, site) gives A [Q, K]; `mixed`
    applies one attention."""
    config = trace.spec.config
    layers = layer_count(trace, kind)
    last = declared.place("layer", layers - 1 if layer is None else layer, layers)
    if config is not None and config.merge == "raw-reshape":
        raise ValueError(
            "rollout is undefined: this model merges its heads by a raw reshape, so what a row attends to lands in"
            " the rows of other positions"
        )
    if trace.is_per_step and KINDS[kind].writes:
        raise ValueError("rollout joins the layers of one pass, and these rows are of many: look at the last pass")

    def a(kind: KindName, layer: int) -> NDArray[Any]:
        site = KINDS[kind].site(layer)
        if site in trace.spec.unseen:
            raise ValueError(f"rollout joins all layers, and one is missing: {trace.spec.missing[f'{site}.weights']}")
        if describe_spread(trace, site) == "signed":
            place = place_of(trace.spec, site)
            raise ValueError(f"rollout follows shares of what is read, and {place} has weights below 0")
        return attention(trace, site)

    read = last + 1 if kind == "encoder" else trace.spec.encoder_layers

    def told(done: int) -> None:
        if progress is not None:
            progress(done, read if kind == "encoder" else read + last + 1)

    encoder = None
    if trace.spec.has_encoder:
        encoder = np.eye(len(trace.src), dtype=dtype)
        for i in range(read):
            encoder = mixed(encoder, a("encoder", i), encoder)
            told(i + 1)
    if kind == "encoder":
        return last, (encoder, None, None)
    target = np.eye(len(trace.tgt), dtype=dtype)
    source = None if encoder is None else np.zeros((len(trace.tgt), len(trace.src)), dtype=dtype)
    for i in range(last + 1):
        own = a("decoder", i)
        target = mixed(target, own, target)
        if source is not None and encoder is not None:
            source = mixed(source, own, source)
            cross = a("cross", i)
            source = mixed(source, cross, encoder)
            target = mixed(target, cross, None)
        told(read + i + 1)
    return last, (encoder, target, source)


def _mix(kept: Matrix, weights: Matrix, read: Matrix | None) -> Matrix:
    """(kept + weights @ read) divided by 1 + the sums of the weights' rows; read None is 0."""
    total = 1 + weights.sum(axis=-1, keepdims=True)
    mixed: Matrix = (kept if read is None else kept + _product(weights, read)) / total
    return mixed


def _product(weights: Matrix, read: Matrix) -> Matrix:
    """The product weights @ read, skipping blocks of zeros: with a causal mask, two thirds of the work."""
    if not (np.isfinite(weights).all() and np.isfinite(read).all()):  # 0 times NaN is NaN
        return weights @ read
    made = np.zeros((len(weights), read.shape[1]))
    for first in range(0, len(weights), _ROWS_AT_ONCE):
        rows = weights[first : first + _ROWS_AT_ONCE]
        keys = _from_first_to_last(rows)
        columns = _from_first_to_last(read[keys])
        made[first : first + _ROWS_AT_ONCE, columns] = rows[:, keys] @ read[keys, columns]
    return made


def _from_first_to_last(numbers: Matrix) -> slice:
    """The slice from the first to the last column that is not all 0."""
    places = np.flatnonzero(numbers.any(axis=0))
    return slice(places[0], places[-1] + 1) if len(places) else slice(0, 0)


class _Reached:
    """The Boolean counterpart of `_mix`: the cells reached. Layers mostly share one mask, so results are cached."""

    def __init__(self) -> None:
        self._done: list[tuple[Cells, Cells, Cells, Cells]] = []

    def __call__(self, kept: Cells, allowed: Cells, read: Cells | None) -> Cells:
        if read is None or kept.all():
            return kept
        for *given, reached in self._done:
            if all(np.array_equal(*pair) for pair in zip(given, (kept, allowed, read), strict=True)):
                return reached
        paths = allowed.astype(np.float32) @ read.astype(np.float32)  # whole numbers below 2^24: exact
        reached = kept | (paths > 0)
        self._done = [*self._done[-2:], (kept, allowed, read, reached)]  # of one layer with cross-attention
        return reached
