"""Attention rollout: how the attention of all layers so far, multiplied together, spreads over the tokens read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from viz_transformer.analysis.attention.maps import HeadView, layer_count, layer_weights, view_of
from viz_transformer.model.kinds import KINDS, KindName
from viz_transformer.running.record import Trace

Matrix = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Rollout:
    """The shares of what each position is made of after `layer`, if attention and residual were all that there is.

    Of an encoder: encoder [S, S]. Of a decoder: target_share [T, T] of the target tokens read and, beside an encoder,
    source_share [T, S] of the source tokens, by way of the encoder's own rollout after its last layer, which `encoder`
    then is. Rows of `encoder` sum to 1, and so do the rows of [source_share | target_share] together.
    """

    kind: KindName
    layer: int
    encoder: Matrix | None
    target_share: Matrix | None
    source_share: Matrix | None

    @property
    def values(self) -> Matrix:
        """The matrix that the kind asks for: [S, S] encoder, [T, T] decoder, [T, S] cross."""
        chosen = {"encoder": self.encoder, "decoder": self.target_share, "cross": self.source_share}[self.kind]
        assert chosen is not None
        return chosen

    @property
    def target_total(self) -> Matrix | None:
        """[T]: the share of each decoder row that comes from target tokens; None for an encoder."""
        return None if self.target_share is None else self.target_share.sum(axis=-1)

    @property
    def source_total(self) -> Matrix | None:
        """[T]: the share of each decoder row that comes from source tokens; None without cross-attention."""
        return None if self.source_share is None else self.source_share.sum(axis=-1)


def rollout(trace: Trace, kind: KindName, layer: int | None = None) -> Rollout:
    """The rollout after one layer, or after the last, of the encoder ("encoder") or the decoder ("decoder", "cross").

    A is the mean over a layer's heads. Self-attention: R <- (I/2 + A/2) R, from R = I. In the decoder ours is: after
    self-attention so for R_tt and R_ts, from R_tt = I, R_ts = 0; after cross-attention R_ts <- R_ts/2 + A R_enc/2 and
    R_tt <- R_tt/2. As in the paper, I + A is divided by the sum of its rows, which is 2 where the weights sum to 1: a
    row of zeros, which may attend to nothing, leaves its position as it is; a row that a mask fill of -1e9 makes even
    over masked keys mixes them in, as the model does. NaN, of a mask fill of minus infinity, spreads.

    It ignores values and W_O, biases, norms, the feed-forward, and that heads differ; that half of a stream stays is
    assumed, not measured: with cross-attention and weights that sum to 1, the target's total after layer l is 1/2^(l+1)
    for any text. In causal stacks the first token piles up, whatever the weights.
    Raises ValueError for a kind or a layer that the model lacks, for one that merges its heads by a raw reshape (what
    a row attends to is then not what its position gets), and for a decoder's rows of several passes (`Run.own_rows`).
    Source: Abnar and Zuidema (2020), for encoders.
    """
    return _rollout(trace, kind, layer, lambda weights, mask: weights.mean(axis=0, dtype=np.float64))


def rollout_view(trace: Trace, kind: KindName, layer: int | None = None) -> HeadView:
    """`rollout` as a map with its tokens. Masked cells are those that no path of allowed cells reaches."""
    found = rollout(trace, kind, layer)
    reached = _rollout(trace, kind, layer, _even)
    return view_of(trace, kind, found.layer, found.values.astype(np.float32), reached.values > 0, combined="rollout")


def _even(weights: NDArray[np.float32], mask: NDArray[np.bool_]) -> Matrix:
    """[Q, K]: even attention over the cells that some head allows."""
    allowed = np.asarray(mask.any(axis=0), dtype=np.float64)
    even: Matrix = allowed / np.maximum(allowed.sum(axis=-1, keepdims=True), 1.0)
    return even


_Matrix = Callable[[NDArray[np.float32], NDArray[np.bool_]], Matrix]


def _rollout(trace: Trace, kind: KindName, layer: int | None, attention: _Matrix) -> Rollout:
    """With A [Q, K] = attention(weights [H, Q, K], mask [H, Q, K])."""
    config = trace.anatomy.config
    layers = layer_count(trace, kind)
    last = layers - 1 if layer is None else layer
    if not 0 <= last < layers:
        raise ValueError(f"there is no layer {layer}: layers go from 0 to {layers - 1}")
    if config is not None and config.merge == "raw-reshape":
        raise ValueError(
            "rollout is undefined: this model merges its heads by a raw reshape, so what a row attends to lands in"
            " the rows of other positions"
        )
    if trace.of_steps and KINDS[kind].writes:
        raise ValueError("rollout joins the layers of one pass, and these rows are of many: look at the last pass")

    def a(kind: KindName, layer: int) -> Matrix:
        return attention(*layer_weights(trace, kind, layer))

    encoder = None
    if trace.anatomy.has_encoder:
        encoder = np.eye(len(trace.src))
        for i in range(last + 1 if kind == "encoder" else trace.anatomy.encoder_layers):
            encoder = _mixed(encoder, a("encoder", i), encoder)
    if kind == "encoder":
        return Rollout(kind, last, encoder, None, None)
    target = np.eye(len(trace.tgt))
    source = None if encoder is None else np.zeros((len(trace.tgt), len(trace.src)))
    for i in range(last + 1):
        own = a("decoder", i)
        target = _mixed(target, own, target)
        if source is not None and encoder is not None:
            source = _mixed(source, own, source)
            cross = a("cross", i)
            source = _mixed(source, cross, encoder)
            target = _mixed(target, cross, None)
    return Rollout(kind, last, encoder, target, source)


def _mixed(kept: Matrix, weights: Matrix, read: Matrix | None) -> Matrix:
    """(kept + weights @ read) divided by 1 + the sums of the weights' rows; read None is 0."""
    total = 1 + weights.sum(axis=-1, keepdims=True)
    mixed: Matrix = (kept if read is None else kept + weights @ read) / total
    return mixed
