"""The stream before and after each sub-layer, the effect of its norm, and its active hidden units.

`layer_flows` does the same for whole layers, for recordings that have only layer inputs and outputs.
All numbers are float64 sums over the run's recorded points; gains and offsets are the model's own parameters.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import nn

from viz_transformer.analysis.attention.maps import added_padding
from viz_transformer.model.hooked_model import ModelSpec, Unavailable
from viz_transformer.model.kinds import KINDS, SIDE_OF, KindName, StackName, stacks_of
from viz_transformer.model.layout import PART_NAMES, PartName, layout
from viz_transformer.model.norms import BesselNorm, LayerNorm, PositionsAndFeaturesNorm
from viz_transformer.model.transformer import Stack, Transformer
from viz_transformer.running.trace import Tokens, Trace

Chosen = Literal["attention", "ffn", "final"]
Floats = NDArray[np.float64]
Booleans = NDArray[np.bool_]

FORMULAS: dict[type[LayerNorm], str] = {
    LayerNorm: "(x − mean) / √(variance + ε) · gain + offset, for each token alone",
    BesselNorm: "(x − mean) / (standard deviation + ε) · gain + offset, the deviation divided by d_model − 1",
    PositionsAndFeaturesNorm: (
        "(x − mean) / √(variance + ε) · gain + offset, one mean and one variance for all positions and features"
    ),
}


@dataclass(frozen=True)
class SubLayer:
    """A sub-layer in the stream, and the names of the points around it.

    `total` is `after` in a pre-norm model; in a post-norm model the norm is between them.
    """

    stack: StackName
    layer: int
    part: PartName
    kind: KindName | None
    """The kind of attention; None for a feed-forward."""
    before: str
    """The stream before."""
    total: str
    """The stream plus the sub-layer's output."""
    after: str
    """The stream after."""

    @property
    def site(self) -> str:
        """The prefix of its points, such as decoder.1.cross."""
        return f"{self.stack}.{self.layer}.{self.part}"

    @property
    def title(self) -> str:
        return f"{self.stack} layer {self.layer}, {PART_NAMES[self.part]}"

    @property
    def short(self) -> str:
        """Its name in a file or a table: decoder 1 cross."""
        return f"{self.stack} {self.layer} {self.part}"


@dataclass(frozen=True, eq=False)
class Flow:
    """The effect of one sub-layer on the stream, by token; lengths are Euclidean norms. All arrays: [T]."""

    place: SubLayer
    came: Floats
    """Length of the stream before."""
    read: Floats
    """Length of the sub-layer's input (after a pre-norm)."""
    added: Floats
    """Length of its output."""
    total: Floats
    """Length of the sum of stream and output."""
    left: Floats
    """Length of the stream after."""
    share: Floats
    """added / (came + added)."""
    cosine: Floats
    """Cosine between the stream before and after."""
    baseline: float
    """The mean of that cosine over pairs of different tokens; NaN without one."""
    pairs: int
    """The number of those pairs."""
    counted: Booleans
    """False for padding, which is left out of means and of the baseline."""


@dataclass(frozen=True, eq=False)
class NormView:
    """One norm, by token: mean and variance of its input, of the normalised vector, and of its output.

    before, between, after: (mean, variance) over the features, [T] each; the variance is divided by d_model.
    """

    title: str
    reads: str
    """The name of the point that it reads."""
    gives: str
    """The name of the point that it writes."""
    formula: str
    epsilon: float
    before: tuple[Floats, Floats]
    between: tuple[Floats, Floats]
    """After normalisation, before gain and offset."""
    after: tuple[Floats, Floats]
    mean: Floats
    """As recorded, [T], or [1] for a norm over positions and features."""
    scale: Floats
    """As recorded, like `mean`."""
    gain: Floats
    """[D]"""
    offset: Floats
    """[D]"""
    gap: float
    """The largest difference of the recorded output from `(x - mean) / scale * gain + offset`, computed here."""

    @property
    def whole_text(self) -> bool:
        """Whether all positions share one mean and one scale."""
        return len(self.mean) == 1 and len(self.before[0]) > 1


@dataclass(frozen=True, eq=False)
class Activity:
    """The hidden layer of one feed-forward: a unit is active at a token if its value is above 0.

    That is so exactly where its input to ReLU or GELU is above 0 (as far as float32 can tell a GELU of it from 0).
    share: [T], active units at each token. units: how many there are. never, always: units active at no token, and at
    every token, of this text without its padding.
    """

    share: Floats
    units: int
    never: int
    always: int


# --- places


def places(spec: ModelSpec, stack: StackName) -> tuple[SubLayer, ...]:
    """The sub-layers of a stack in the order of the forward pass. Raises ValueError if the model lacks the stack."""
    if stack not in stacks_of(spec):
        raise ValueError(f"a {spec.kind} model has no {stack}: choose {' or '.join(stacks_of(spec))}")
    found = []
    for layer in layout(spec).of(stack).layers:
        before = "residual_in"
        for each in layer.sublayers:
            after = "residual_out" if each.kind is None else f"residual_after_{each.part}"
            total = f"{after}_sum" if spec.norm == "post" else after
            points = (f"{stack}.{each.layer}.{name}" for name in (before, total, after))
            found.append(SubLayer(stack, each.layer, each.part, each.kind, *points))
            before = after
    return tuple(found)


def residual_input(spec: ModelSpec, place: SubLayer) -> str:
    """The point of the stream that a sub-layer adds to: `before`, or the layer's input where its parts are parallel."""
    return f"{place.stack}.{place.layer}.residual_in" if place.before in spec.missing else place.before


def place_of(spec: ModelSpec, kind: KindName, layer: int, chosen: Chosen) -> SubLayer | None:
    """The selected sub-layer of the kind's stack and layer; None for the final norm.

    Raises ValueError for a kind or a layer that the model lacks, and for the final norm of a model without one.
    """
    stack = KINDS[kind].stack
    known = places(spec, stack)
    if chosen == "final":
        if not spec.final_norm:
            raise ValueError(f"this model has no norm after the last layer of its {stack}")
        return None
    part: PartName = "ffn" if chosen == "ffn" else KINDS[kind].attention
    for place in known:
        if (place.layer, place.part) == (layer, part):
            return place
    raise ValueError(f"this model has no {PART_NAMES[part]} in layer {layer} of its {stack}")


def tokens_of(trace: Trace, stack: StackName) -> Tokens:
    """The tokens of a stack's positions."""
    return SIDE_OF[stack].of(trace.src, trace.tgt)


# --- what was read, added and left


def flows(trace: Trace, stack: StackName) -> tuple[Flow, ...]:
    """The flow of each sub-layer of the stack, in the order of the forward pass.

    `added` is the sub-layer's output as recorded: without an edit of the stream and outside of training mode, exactly
    what the stream gains. Raises ValueError if the trace's model lacks the stack, Unavailable for parallel sub-layers.
    """
    counted = ~added_padding(tokens_of(trace, stack))
    return tuple(_flow(trace, place, counted) for place in places(trace.spec, stack))


def _flow(trace: Trace, place: SubLayer, counted: Booleans) -> Flow:
    for name in (place.before, place.after):
        if (why := trace.spec.missing.get(name)) is not None:
            raise Unavailable(why)
    before, after = _rows(trace, place.before), _rows(trace, place.after)
    came, added = _lengths(before), _lengths(_rows(trace, f"{place.site}.out"))
    baseline, pairs = random_pair_cosine(before, after, counted)
    return Flow(
        place=place,
        came=came,
        read=_lengths(_rows(trace, f"{place.site}.in")),
        added=added,
        total=_lengths(_rows(trace, place.total)),
        left=_lengths(after),
        share=share_added(came, added),
        cosine=cosines(before, after),
        baseline=baseline,
        pairs=pairs,
        counted=counted,
    )


def share_added(came: ArrayLike, added: ArrayLike) -> Floats:
    """The ratio added / (came + added) of two lengths: 0 = nothing, 1/2 = as long as the input; NaN where both are
    0."""
    first, second = np.asarray(came, np.float64), np.asarray(added, np.float64)
    whole = first + second
    return np.divide(second, whole, out=np.full_like(whole, np.nan), where=whole != 0)


def cosines(first: ArrayLike, second: ArrayLike) -> Floats:
    """The cosine of each row of one with the same row of the other: [T, D] x [T, D] -> [T]; NaN for a row of zeros."""
    cosine: Floats = (_directions(first) * _directions(second)).sum(axis=-1)
    return cosine


def random_pair_cosine(first: ArrayLike, second: ArrayLike, counted: ArrayLike | None = None) -> tuple[float, int]:
    """The mean cosine of two different rows, one of `first` and one of `second`, and the number of pairs.

    [T, D] x [T, D]. The expectation over random pairs, computed over all of them: the mean over i != j of cos(first_i,
    second_j). counted: [T], rows that take part; rows of zeros do not. NaN and 0 if there is no pair. Source: the
    anisotropy baseline of Ethayarajh (2019), section 3.3; there the pairs come from many texts, here from the tokens of
    one.
    """
    one, other = _directions(first), _directions(second)
    usable = np.isfinite(one).all(axis=-1) & np.isfinite(other).all(axis=-1)
    if counted is not None:
        usable &= np.asarray(counted, dtype=bool)
    one, other = one[usable], other[usable]
    pairs = len(one) * (len(one) - 1)
    if not pairs:
        return float("nan"), 0
    same = (one * other).sum()
    return float((one.sum(axis=0) @ other.sum(axis=0) - same) / pairs), pairs


def _directions(rows: ArrayLike) -> Floats:
    values = np.asarray(rows, np.float64)
    lengths = np.linalg.norm(values, axis=-1, keepdims=True)
    directions: Floats = np.divide(values, lengths, out=np.full_like(values, np.nan), where=lengths != 0)
    return directions


def _lengths(rows: Floats) -> Floats:
    lengths: Floats = np.linalg.norm(rows, axis=-1)
    return lengths


def _rows(trace: Trace, name: str) -> Floats:
    """A point of the first text of the batch in float64: [T, ...]."""
    values: Floats = trace[name][0].double().numpy()
    return values


# --- norms


def norm_view(trace: Trace, model: Transformer, place: SubLayer) -> NormView:
    """The norm of a sub-layer: in front of it in a pre-norm model, after its sum in a post-norm model."""
    layer = _stack(model, place.stack).layers[place.layer]
    norm = getattr(layer, f"{place.part}_residual").norm
    if trace.spec.norm == "pre":
        where, reads, gives = "before", place.before, f"{place.site}.in"
    else:
        where, reads, gives = "after", place.total, place.after
    title = f"norm {where} {PART_NAMES[place.part]}, {place.stack} layer {place.layer}"
    return _norm_view(trace, norm, place.site, title, reads, gives)


def final_norm_view(trace: Trace, model: Transformer, stack: StackName) -> NormView:
    """The norm after the stack's last layer. Raises ValueError for a model without one."""
    last = places(trace.spec, stack)[-1]
    norm = _stack(model, stack).norm
    if norm is None:
        raise ValueError(f"this model has no norm after the last layer of its {stack}")
    return _norm_view(trace, norm, stack, f"final norm of the {stack}", last.after, f"{stack}.out")


def _norm_view(trace: Trace, norm: nn.Module, prefix: str, title: str, reads: str, gives: str) -> NormView:
    assert isinstance(norm, LayerNorm)
    x, out = _rows(trace, reads), _rows(trace, gives)  # [T, D]
    mean, scale = (_rows(trace, f"{prefix}.norm_{name}") for name in ("mean", "scale"))  # [T, 1] or [1, 1]
    gain, offset = (parameter.detach().cpu().double().numpy() for parameter in (norm.gain, norm.offset))
    normalised = (x - mean) / scale
    return NormView(
        title=title,
        reads=reads,
        gives=gives,
        formula=FORMULAS[type(norm)],
        epsilon=norm.epsilon,
        before=_moments(x),
        between=_moments(normalised),
        after=_moments(out),
        mean=mean[:, 0],
        scale=scale[:, 0],
        gain=gain,
        offset=offset,
        gap=float(np.abs(normalised * gain + offset - out).max()),
    )


def _moments(rows: Floats) -> tuple[Floats, Floats]:
    return rows.mean(axis=-1), rows.var(axis=-1)


def _stack(model: Transformer, stack: StackName) -> Stack:
    module: Stack = getattr(model, stack)
    return module


# --- feed-forward


def activity(trace: Trace, place: SubLayer) -> Activity | None:
    """Active hidden units of a feed-forward; None where the sign does not decide it: with a gate, or several experts.
    Raises ValueError for an attention, which has none."""
    if place.part != "ffn":
        raise ValueError(f"{place.title} has no hidden units: choose a feed-forward")
    if f"{place.site}.hidden" not in trace or f"{place.site}.active" in trace.spec.missing:
        return None
    active = trace[f"{place.site}.hidden"][0] > 0  # [T, F]
    share = active.double().mean(dim=-1).numpy()
    own = active[torch.from_numpy(~added_padding(tokens_of(trace, place.stack)))]
    return Activity(
        share=share,
        units=active.shape[-1],
        never=int((~own.any(dim=0)).sum()),
        always=int(own.all(dim=0).sum()),
    )


@dataclass(frozen=True, eq=False)
class LayerFlow:
    """The effect of one whole layer on the stream, by token; lengths are Euclidean norms. All arrays: [T].

    changed and cosine are NaN where input and output have different numbers of features.
    """

    layer: int
    came: Floats
    """Length of the layer's input."""
    left: Floats
    """Length of its output."""
    changed: Floats
    """Length of their difference."""
    cosine: Floats
    """Their cosine."""
    baseline: float
    """The mean of that cosine over pairs of different tokens; NaN without one."""
    pairs: int
    """The number of those pairs."""


def layer_flows(trace: Trace, stack: StackName) -> tuple[LayerFlow, ...]:
    """The flow of each layer whose input and output were recorded, in the order of the forward pass."""
    found = []
    for layer in range(SIDE_OF[stack].layers(trace.spec)):
        names = [f"{stack}.{layer}.residual_{end}" for end in ("in", "out")]
        if all(name in trace.values for name in names):
            found.append(_layer_flow(layer, *(trace[name][0].double().numpy() for name in names)))
    return tuple(found)


def _layer_flow(layer: int, before: Floats, after: Floats) -> LayerFlow:
    """The flow of a layer. before, after: [T, D]."""
    came, left = (np.linalg.norm(rows, axis=-1) for rows in (before, after))
    if before.shape != after.shape:
        nothing = np.full(len(before), np.nan)
        return LayerFlow(layer, came, left, nothing, nothing, float("nan"), 0)
    baseline, pairs = random_pair_cosine(before, after)
    changed: Floats = np.linalg.norm(after - before, axis=-1)
    return LayerFlow(layer, came, left, changed, cosines(before, after), baseline, pairs)
