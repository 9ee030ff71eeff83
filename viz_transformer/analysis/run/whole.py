"""The whole run in numbers for one picture: samples of the stream at each layer, what each sub-layer adds, the weights.

Everything is copied from the trace; only means over heads and shares of lengths are computed, as other pages do.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from viz_transformer import declared
from viz_transformer.analysis.attention.maps import added_padding, head_view, layer_count
from viz_transformer.analysis.layers.sublayers import SubLayer, places, residual_input, share_added, tokens_of
from viz_transformer.model.kinds import KindName, StackName, kinds_of, stacks_of
from viz_transformer.running.trace import Tokens, Trace

SAMPLES = 24
"""The most features of a vector that are drawn, evenly spaced."""


@dataclass(frozen=True, eq=False)
class WholeStack:
    """One stack of a run, in the order of the forward pass. T: tokens, S: sampled features."""

    stack: StackName
    tokens: Tokens
    features: tuple[int, ...]
    """The sampled features, out of `size`: [S]."""
    size: int
    token: NDArray[np.float32] | None
    """The embedding, [T, S]; None if the model does not report it."""
    position: NDArray[np.float32] | None
    """The added positions, [T, S]; None if there are none, or the model does not report them."""
    points: tuple[str, ...]
    """The names of the points of the stream: after the embedding, after each layer, and after the final norm if there
    is one."""
    stream: NDArray[np.float32]
    """[points, T, S], as recorded."""
    length: NDArray[np.float64]
    """The lengths of the stream's vectors, [points, T]."""
    places: tuple[SubLayer, ...]
    """Its sub-layers."""
    came: NDArray[np.float64]
    """Lengths of the vectors before each sub-layer, [sub-layers, T]; equal for parallel sub-layers of a layer."""
    added: NDArray[np.float64]
    """Lengths of the vectors that each sub-layer added, [sub-layers, T]."""
    share: NDArray[np.float64]
    """added / (came + added), [sub-layers, T]."""
    padded: NDArray[np.bool_]
    """[T], True for padding that the run added."""

    @property
    def sums(self) -> bool:
        """Whether the stream starts as token + position, number by number, up to bfloat16 rounding: not if segments are
        added too, or a norm follows."""
        if self.token is None or self.position is None:
            return False
        return bool(np.allclose(self.token + self.position, self.stream[0], rtol=2**-8, atol=0))


@dataclass(frozen=True, eq=False)
class WholeRun:
    """The stacks of a run, and the weights of each kind of attention."""

    stacks: tuple[WholeStack, ...]
    weights: Mapping[KindName, NDArray[np.float32]]
    """[layers, Q, K] float32, of `head`."""
    heads: Mapping[KindName, tuple[int, ...]]
    """The number of heads by kind and layer."""
    head: int | None
    """None for the mean over a layer's heads; head 0 if no layer has several."""


_SAMPLES = Annotated[int, Meta(ge=2, description="at least two of a vector's features")]


def whole_run(trace: Trace, *, head: int | None = None, samples: int = SAMPLES) -> WholeRun:
    """The data of the run for one picture. Raises ValueError for a head that not every attention has, for fewer than
    two samples, and for a trace that lacks a point of the stream, such as rows that were recorded in steps."""
    declared.within("samples", samples, _SAMPLES)
    if trace.is_per_step:
        raise ValueError("of each step only weights were kept, not the stream: draw the run itself")
    weights = {kind: _weights(trace, kind, head) for kind in kinds_of(trace.spec)}
    heads = {
        kind: tuple(trace.spec.heads(kind, layer).query for layer in range(len(maps))) for kind, maps in weights.items()
    }
    stacks = tuple(_stack(trace, stack, samples) for stack in stacks_of(trace.spec))
    if head is None and all(count == 1 for counts in heads.values() for count in counts):
        head = 0
    return WholeRun(stacks, weights, heads, head)


@dataclass(frozen=True)
class SubLayerSummary:
    """One sub-layer at one token: the key with most weight, None for a feed-forward or without any weight; and its
    share added."""

    title: str
    key: str | None
    weight: float | None
    share: float


def sublayers_at(whole: WholeRun, row: int) -> tuple[SubLayerSummary, ...]:
    """The sub-layers of the last stack at one of its rows, in the order of the forward pass."""
    stack, first = whole.stacks[-1], whole.stacks[0]
    told = []
    for place, share in zip(stack.places, stack.share, strict=True):
        key = weight = None
        if place.kind is not None:
            weights = whole.weights[place.kind][place.layer, row]
            most = int(np.nanargmax(weights)) if np.nanmax(weights, initial=0) > 0 else None
            if most is not None:
                key, weight = (first if place.part == "cross" else stack).tokens.tokens[most], float(weights[most])
        told.append(SubLayerSummary(place.title, key, weight, float(share[row])))
    return tuple(told)


def sample_features(count: int, samples: int) -> tuple[int, ...]:
    """`samples` of `count` features, evenly spread with the first and the last; all of them if there are no more."""
    if count <= samples:
        return tuple(range(count))
    return tuple(i * (count - 1) // (samples - 1) for i in range(samples))


def _stack(trace: Trace, stack: StackName, samples: int) -> WholeStack:
    found = places(trace.spec, stack)
    ends = {place.layer: place.after for place in found}
    points = (f"{stack}.embed.out", *ends.values(), *((f"{stack}.out",) if trace.spec.final_norm else ()))
    features = sample_features(trace.spec.d_model, samples)
    tokens = tokens_of(trace, stack)

    def sampled(point: str) -> NDArray[np.float32]:
        return np.asarray(_rows(trace, point)[..., list(features)], dtype=np.float32)

    def if_told(point: str) -> NDArray[np.float32] | None:
        known = trace.spec.point.get(point)
        return sampled(point) if known is not None and known.shape[-1] == "D" else None  # not of narrow embeddings

    came = np.stack([_length(trace, residual_input(trace.spec, place)) for place in found])
    added = np.stack([_length(trace, f"{place.site}.out") for place in found])
    return WholeStack(
        stack=stack,
        tokens=tokens,
        features=features,
        size=trace.spec.d_model,
        token=if_told(f"{stack}.embed.mapped" if f"{stack}.embed.mapped" in trace else f"{stack}.embed.token"),
        position=if_told(f"{stack}.embed.position"),
        points=points,
        stream=np.stack([sampled(point) for point in points]),
        length=np.stack([_length(trace, point) for point in points]),
        places=found,
        came=came,
        added=added,
        share=share_added(came, added),
        padded=added_padding(tokens),
    )


def _weights(trace: Trace, kind: KindName, head: int | None) -> NDArray[np.float32]:
    return np.stack([head_view(trace, kind, layer, head).weights for layer in range(layer_count(trace, kind))])


def _length(trace: Trace, point: str) -> NDArray[np.float64]:
    return np.asarray(np.linalg.norm(_rows(trace, point).astype(np.float64), axis=-1))


def _rows(trace: Trace, point: str) -> NDArray[Any]:
    """A point of the first text of the batch: [T, ...]. Raises ValueError if the trace lacks it."""
    if point not in trace:
        raise ValueError(trace.spec.missing.get(point) or f"this trace has no point {point!r}")
    return np.asarray(trace[point][0].numpy())
