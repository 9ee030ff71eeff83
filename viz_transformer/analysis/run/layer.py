"""One layer of a whole run: the stream before and after each of its sub-layers, and what is unusual there.

Everything is copied from the trace; lengths and shares are computed as *Layers* does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from viz_transformer import declared
from viz_transformer.analysis.attention.maps import layer_weights
from viz_transformer.analysis.layers.sublayers import SubLayer, activity, places, residual_input, share_added
from viz_transformer.analysis.run import remarks
from viz_transformer.analysis.run.whole import sample_features
from viz_transformer.model.kinds import KINDS, SIDE_OF, KindName, StackName
from viz_transformer.model.layout import PartName
from viz_transformer.running.trace import Trace
from viz_transformer.sentences import capitalised

LAYER_SAMPLES = 48
"""The most features of a stream vector, and the most hidden units, that are drawn."""

Float32 = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class LayerPart:
    """One sub-layer. Values that the run lacks are missing or None."""

    place: SubLayer
    stream: Mapping[str, Float32]
    """By name, the sampled features [T, S] as recorded: `before` (the stream before), `in` (the sub-layer's input),
    `out` (its output), `total` (post-norm: the sum that its norm reads) and `after` (the stream after)."""
    by_token: Mapping[str, NDArray[Any]]
    """By name, [T]: `mean` and `scale` of its norm as recorded; the lengths `came`, `read`, `added`, `left`; and
    `share`, added / (came + added)."""
    weights: Float32 | None = None
    """Attention only: [H, Q, K] as recorded."""
    mask: NDArray[np.bool_] | None = None
    """Attention only: [Q, K], True = some head may attend; None if nothing is masked."""
    units: int | None = None
    """Feed-forward only: the number of hidden units."""
    sampled: tuple[int, ...] = ()
    """Feed-forward only: the sampled units."""
    hidden: Float32 | None = None
    """Feed-forward only: their values, [T, samples]."""
    active: NDArray[np.float64] | None = None
    """Feed-forward only: the share of units above 0, [T]."""

    @property
    def part(self) -> PartName:
        return self.place.part

    @property
    def kind(self) -> KindName | None:
        return self.place.kind


@dataclass(frozen=True, eq=False)
class LayerDetail:
    """A layer of a run: its sub-layers in the order of the forward pass, and remarks on what is unusual in it."""

    stack: StackName
    layer: int
    pre_norm: bool
    whole_text: bool
    """Whether each norm has one mean and one scale for all positions."""
    features: tuple[int, ...]
    """The sampled features, out of `size`."""
    size: int
    parts: tuple[LayerPart, ...]
    remarks: tuple[str, ...]


def layer_of(trace: Trace, stack: StackName, layer: int) -> LayerDetail:
    """The detail of this layer of the run. Raises ValueError for a stack or a layer that the trace's model lacks, and
    for rows that were recorded in steps."""
    if trace.is_per_step:
        raise ValueError("of each step only weights were kept, not the stream: draw the run itself")
    known = places(trace.spec, stack)
    declared.place("layer", layer, SIDE_OF[stack].layers(trace.spec))
    found = [place for place in known if place.layer == layer]
    features = sample_features(trace.spec.d_model, LAYER_SAMPLES)
    config = trace.spec.config
    return LayerDetail(
        stack=stack,
        layer=layer,
        pre_norm=trace.spec.norm == "pre",
        whole_text=config is not None and config.norm_kind == "positions-and-features",
        features=features,
        size=trace.spec.d_model,
        parts=tuple(_part(trace, place, features) for place in found),
        remarks=tuple(dict.fromkeys(_remarks(trace, stack, layer, found))),
    )


def _part(trace: Trace, place: SubLayer, features: tuple[int, ...]) -> LayerPart:
    points = {"before": residual_input(trace.spec, place), "in": f"{place.site}.in", "out": f"{place.site}.out"}
    points["after"] = place.after
    if place.total != place.after:
        points["total"] = place.total
    rows = {name: _array(trace, point) for name, point in points.items() if point in trace}
    lengths = {
        name: np.linalg.norm(rows[of].astype(np.float64), axis=-1)
        for name, of in (("came", "before"), ("read", "in"), ("added", "out"), ("left", "after"))
        if of in rows
    }
    by_token: dict[str, NDArray[Any]] = {}
    count = len(SIDE_OF[place.stack].of(trace.src, trace.tgt))
    for name in ("mean", "scale"):
        if (point := f"{place.site}.norm_{name}") in trace:
            by_token[name] = np.broadcast_to(_array(trace, point)[:, 0], count)  # one for each, or one for all
    by_token |= lengths
    if "came" in lengths and "added" in lengths:
        by_token["share"] = share_added(lengths["came"], lengths["added"])
    stream = {name: values[:, list(features)] for name, values in rows.items()}
    if place.kind is not None:
        weights, mask = _weights(trace, place.kind, place.layer)
        return LayerPart(place, stream, by_token, weights=weights, mask=mask)
    if f"{place.site}.hidden" not in trace:
        return LayerPart(place, stream, by_token)
    hidden = _array(trace, f"{place.site}.hidden")
    sampled, active = sample_features(hidden.shape[-1], LAYER_SAMPLES), activity(trace, place)
    return LayerPart(
        place,
        stream,
        by_token,
        units=hidden.shape[-1],
        sampled=sampled,
        hidden=hidden[:, list(sampled)],
        active=None if active is None else active.share,
    )


def _weights(trace: Trace, kind: KindName, layer: int) -> tuple[Float32 | None, NDArray[np.bool_] | None]:
    site = KINDS[kind].site(layer)
    if f"{site}.weights" not in trace or f"{site}.mask" not in trace:
        return None, None
    weights, mask = layer_weights(trace, kind, layer)
    some = np.asarray(mask.any(axis=0))
    return weights, None if some.all() else some


def _remarks(trace: Trace, stack: StackName, layer: int, found: list[SubLayer]) -> Iterator[str]:
    spec, config = trace.spec, trace.spec.config
    for kind in (place.kind for place in found if place.kind is not None):
        yield from remarks.remark_on_attention(trace, kind, layer)
    yield from remarks.remark_on_edits(trace, f"{stack}.{layer}.ffn.")
    yield from remarks.remark_on_edits(trace, f"{stack}.{layer}.residual")
    yield from remarks.remark_on_dropout(trace)
    if config is not None and config.norm_kind == "positions-and-features":
        yield "Each norm takes one mean and one scale over all positions and features of the text, padding included."
    if config is not None and config.norm_kind == "bessel":
        yield "Each norm divides by the standard deviation plus epsilon, with the variance over d_model − 1."
    if not spec.final_norm and layer == SIDE_OF[stack].layers(spec) - 1:
        behind = "what this last layer leaves goes on as it is"
        if spec.norm == "post":
            behind = "the norm after the feed-forward of this last layer is the final one"
        yield f"This model has no final norm: {behind}."
    for place in found:
        if (why := spec.missing.get(place.before)) is not None:
            yield f"{capitalised(why)}."
        points = ("in", "out", "norm_mean", "norm_scale")
        names = (*points, "hidden") if place.part == "ffn" else (*points, "weights")
        yield from remarks.remark_on_missing(trace, place.site, names, place.title)
        if not _adds_up(trace, place):
            yield f"Behind {place.title}, the stream is not what came in plus the sub-layer's output."


def _adds_up(trace: Trace, place: SubLayer) -> bool:
    """Whether the sum equals before + out up to the run's rounding; True also if one of them was not recorded."""
    names = (place.before, f"{place.site}.out", place.total)
    if any(name not in trace for name in names):
        return True
    before, out, total = (_array(trace, name).astype(np.float64) for name in names)
    largest = max(float(np.nanmax(np.abs(each), initial=0)) for each in (before, out, total))
    near = 1e-6 * max(1.0, largest) + trace.spec.rounding * largest
    return bool(np.allclose(before + out, total, rtol=0, atol=near, equal_nan=True))


def _array(trace: Trace, name: str) -> Float32:
    """A point of the first text of the batch: [T, ...]."""
    return np.asarray(trace[name][0].numpy(), dtype=np.float32)
