"""One head of one attention of a whole run: from query, key and value to scores, weights and the head's output.

Everything is copied from the trace, the scores from those that it derives, so one weight can be recomputed from it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from viz_transformer import declared
from viz_transformer.analysis.attention.maps import layer_count, layer_weights, sides
from viz_transformer.analysis.run import remarks
from viz_transformer.analysis.weight.step_source import FILLS
from viz_transformer.model.attention import landing_place
from viz_transformer.model.kinds import KINDS, KindName
from viz_transformer.running.trace import Trace

Float32 = NDArray[np.float32]

_FILLED = {
    "zero-rows": "-inf",
    "-inf": "-inf",
    "-1e9": "-1e9",
    "-1e10": "-1e10",
    "added-1e9": "-1e9 added",
}
NOT_TOLD = "not told"
"""The fill of masked scores, where the model does not state it."""


@dataclass(frozen=True, eq=False)
class AttentionDetail:
    """One head of a run. Values that the run lacks are missing or None, with a remark that says why."""

    kind: KindName
    layer: int
    head: int
    heads: int
    """The number of heads."""
    key_head: int
    """The index of the key and value head that it uses."""
    divisor: float | None
    """The divisor of its scores."""
    merge: Literal["concatenated", "raw"]
    """How its output becomes part of the attention's rows."""
    fill: str
    """The fill of masked scores; "" if nothing is masked."""
    arrays: Mapping[str, Float32]
    """By point name, as recorded or derived by the trace: `query` [Q, E], `key` and `value` [K, E], `scores` [Q, K]
    (scaled, with bias, before the mask), `bias` [Q, K], `weights` [Q, K], `head_out` [Q, E]."""
    mask: NDArray[np.bool_] | None
    """[Q, K], True = may attend; None if nothing is masked."""
    maps: Float32 | None
    """The weights of all heads, [H, Q, K]."""
    remarks: tuple[str, ...]


def attention_of(trace: Trace, kind: KindName, layer: int, head: int, *, most: int | None = None) -> AttentionDetail:
    """The head's detail. With more than `most` tokens on a side it has no arrays, and a remark says so.

    Raises ValueError for a kind, layer or head that the trace's model lacks, and for rows that were recorded in steps.
    """
    if trace.is_per_step:
        raise ValueError("of each step only weights were kept, not what they are made of: draw the run itself")
    layers = layer_count(trace, kind)
    declared.place("layer", layer, layers)
    spec, site = trace.spec, KINDS[kind].site(layer)
    if site not in spec.attentions:
        raise ValueError(f"the layers of this model are not alike: it has no attention {site}")
    heads = spec.heads(kind, layer)
    declared.place("head", head, heads.query)
    key_head = head // (heads.query // heads.key)
    longest = max(map(len, sides(trace, kind)))
    drawn = most is None or longest <= most
    arrays, mask, maps = _arrays(trace, kind, layer, head, key_head) if drawn else ({}, None, None)
    config = spec.config
    fill = "" if mask is None else _FILLED[config.mask_fill] if config is not None else NOT_TOLD
    said = [*_remarks(trace, kind, layer, head, fill)] if drawn else []
    if not drawn:
        said = [
            f"{longest:,} tokens are too many for this level, which has at most {most}: Attention and One weight have"
            " it."
        ]
    return AttentionDetail(
        kind=kind,
        layer=layer,
        head=head,
        heads=heads.query,
        key_head=key_head,
        divisor=trace.scalars.get(f"{site}.divisor"),
        merge="raw" if config is not None and config.merge == "raw-reshape" else "concatenated",
        fill=fill,
        arrays=arrays,
        mask=mask,
        maps=maps,
        remarks=tuple(said),
    )


@dataclass(frozen=True, eq=False)
class Weighing:
    """The computation of one weight. bias, score and weight are recorded or derived by the trace; None if the run lacks
    them."""

    query: NDArray[np.float32]
    key: NDArray[np.float32]
    products: NDArray[np.float64]
    """Query times key by dimension, [E], in float64 from the recorded numbers."""
    total: float
    """Their sum."""
    divisor: float | None
    bias: float | None
    score: float | None
    masked: bool
    """Whether the query may not attend to the key."""
    weight: float | None


def weighing(detail: AttentionDetail, query: int, key: int) -> Weighing:
    """The computation of one cell's weight. Raises ValueError for a head without recorded queries or keys."""
    arrays = detail.arrays
    if "query" not in arrays or "key" not in arrays:
        raise ValueError(next(iter(detail.remarks), "this run has no queries and keys").rstrip("."))
    products = arrays["query"][query].astype(np.float64) * arrays["key"][key]
    bias, score, weight = (
        float(arrays[name][query, key]) if name in arrays else None for name in ("bias", "scores", "weights")
    )
    return Weighing(
        query=arrays["query"][query],
        key=arrays["key"][key],
        products=products,
        total=float(products.sum()),
        divisor=detail.divisor,
        bias=bias,
        score=score,
        masked=detail.mask is not None and not detail.mask[query, key],
        weight=weight,
    )


def _arrays(
    trace: Trace, kind: KindName, layer: int, head: int, key_head: int
) -> tuple[dict[str, Float32], NDArray[np.bool_] | None, Float32 | None]:
    site, found = KINDS[kind].site(layer), {}
    for name in ("query", "key", "value", "scores", "bias", "head_out"):
        if (point := f"{site}.{name}") in trace:
            of = key_head if name in ("key", "value") else head
            found[name] = np.asarray(trace[point][0, of].numpy(), dtype=np.float32)
    if f"{site}.weights" not in trace or f"{site}.mask" not in trace:
        return found, None, None
    maps, mask = layer_weights(trace, kind, layer)
    found["weights"] = maps[head]
    return found, None if mask[head].all() else mask[head], maps


def _remarks(trace: Trace, kind: KindName, layer: int, head: int, fill: str) -> Iterator[str]:
    config, site, heads = trace.spec.config, KINDS[kind].site(layer), trace.spec.heads(kind, layer)
    yield from remarks.remark_on_attention(trace, kind, layer)
    if config is not None and config.merge == "raw-reshape":
        yield _landing(head, len(sides(trace, kind)[0]), heads.query)
    if config is not None and kind != "cross" and config.encoding.acts:
        yield f"This model's self-attention {config.encoding.acts}: the scores are made of the numbers that are here."
    if heads.key < heads.query:
        shared = heads.query // heads.key
        first = head // shared * shared
        yield f"Heads {first} to {first + shared - 1} share one key and one value."
    if config is not None and config.divisor != "sqrt-head-dim":
        divided = (
            "the square root of d_model, not of a head's size"
            if config.divisor == "sqrt-d-model"
            else "a trained number"
        )
        yield f"Scores are divided by {divided}."
    if fill == NOT_TOLD:
        yield "This model does not tell what it puts in the place of a masked score."
    elif fill and config is not None and config.mask_fill != "zero-rows":
        yield FILLS[config.mask_fill].sentence
    if f"{site}.weights" in trace and f"{site}.weights" not in trace.values:
        yield "The run was long and did not make these weights: they are computed from the recorded queries and keys."
    yield from remarks.remark_on_dropout(trace)
    names = ("query", "key", "value", "scores", "mask", "weights", "head_out")
    yield from remarks.remark_on_missing(trace, site, names, f"{KINDS[kind].words} of layer {layer}")


def _landing(head: int, queries: int, heads: int) -> str:
    """A sentence on where a raw reshape puts the rows of a head, with its first and last as examples."""
    (first, slot), (last, last_slot) = (
        landing_place(head, query, n_heads=heads, length=queries) for query in (0, queries - 1)
    )
    return (
        f"Query t of this head lands in row ({head * queries} + t) // {heads} of the output, in slot"
        f" ({head * queries} + t) % {heads}: query 0 in row {first}, slot {slot}, query {queries - 1} in row {last},"
        f" slot {last_slot}."
    )
