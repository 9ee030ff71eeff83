"""The deeper levels of a run's picture, from its trace: for one place, or for all places in a self-contained
picture."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

import orjson

from viz_transformer import payload
from viz_transformer.analysis.run.attention import attention_of
from viz_transformer.analysis.run.layer import layer_of
from viz_transformer.figures.components.whole_detail import attention_detail, layer_detail
from viz_transformer.model.kinds import KINDS, SIDE_OF, KindName, StackName, kinds_of, stacks_of
from viz_transformer.payload import EXACT_SIDE
from viz_transformer.running.decoding import Run
from viz_transformer.running.trace import Trace

MAX_BYTES = 8_000_000
"""The most bytes of details in a self-contained picture."""
HERE_ALONE = "Only this place is in this picture: all layers and heads of the run would be more than 8 MB."


def run_id(trace: Trace) -> str:
    """The id of the run in the picture and its details: equal for the same model, tokens, edits and kind of run."""
    config = trace.spec.config
    parts = [trace.id, trace.checkpoint, trace.info.get("kind"), config and config.to_dict()]
    return hashlib.sha256(orjson.dumps(parts)).hexdigest()[:16]


def pack_layer(trace: Trace, stack: StackName, layer: int, *, remark: str = "") -> bytes:
    """The detail of a layer. Raises ValueError as `layer_of` does."""
    return layer_detail(layer_of(trace, stack, layer), of=run_id(trace), remarks=[remark] if remark else ())


def pack_attention(trace: Trace, kind: KindName, layer: int, head: int, *, remark: str = "") -> bytes:
    """The detail of a head, which the level of one weight needs too. Raises ValueError as `attention_of` does."""
    found = attention_of(trace, kind, layer, head, most=EXACT_SIDE)
    return attention_detail(found, of=run_id(trace), remarks=[remark] if remark else ())


def details_of(
    run: Run | Trace,
    *,
    kind: KindName | None = None,
    layer: int = 0,
    head: int | None = None,
    most: int | None = None,
) -> list[bytes]:
    """The details of all layers and all heads, if these are at most `most` bytes; else of one layer and one head.

    That is the given kind, layer and head, by default the first; a remark in it says that the others are missing.
    Raises ValueError as `pack_layer` and `pack_attention` do.
    """
    trace = run.trace if isinstance(run, Run) else run
    found, size = list[bytes](), 0
    for detail in _pack_all(trace):
        found.append(detail)
        size += len(detail)
        if size > (MAX_BYTES if most is None else most):
            break
    else:
        return found
    kind = kind or kinds_of(trace.spec)[0]
    of_this = pack_layer(trace, KINDS[kind].stack, layer, remark=HERE_ALONE)
    return [of_this, pack_attention(trace, kind, layer, head or 0, remark=HERE_ALONE)]


def pack_details(traces: Mapping[str, Trace], places: Sequence[Mapping[str, Any]], *, most: int) -> list[bytes]:
    """The details of the places that parts/details.js requests, from the traces by their `run_id`.

    They stop when they reach `most` bytes. A place of another run, or that a run lacks, has none.
    """
    found, size = list[bytes](), 0
    for place in places:
        with suppress(ValueError):  # rows of steps have no details
            detail = _pack_place(traces, place)
            if detail is not None:
                found.append(detail)
                size += len(detail)
        if size >= most:
            break
    return found


def _pack_place(traces: Mapping[str, Trace], place: Mapping[str, Any]) -> bytes | None:
    trace, layer, head = traces.get(str(place.get("of"))), place.get("layer"), place.get("head")
    if trace is None or type(layer) is not int:
        return None
    for stack in stacks_of(trace.spec):
        if place.get("stack") == stack:
            return pack_layer(trace, stack, layer)
    for kind in kinds_of(trace.spec):
        if place.get("kind") == kind and type(head) is int:
            return pack_attention(trace, kind, layer, head)
    return None


def together(details: Sequence[bytes]) -> bytes:
    """One payload with the details as its arrays detail.0, detail.1, ..."""
    return with_details(payload.pack({}), details)


def answer(details: Sequence[bytes]) -> bytes:
    """The details as the reply of the component that receives the browser's requests."""
    return with_details(payload.pack({"answers": True}), details)


def with_details(data: bytes, details: Sequence[bytes]) -> bytes:
    """The payload with these details inside, as its arrays detail.0, detail.1, ..."""
    return payload.with_arrays(data, **{f"detail.{number}": payload.raw(each) for number, each in enumerate(details)})


def _pack_all(trace: Trace) -> Iterator[bytes]:
    """The details of all layers, in the order of the forward pass, then those of all heads."""
    spec = trace.spec
    for stack in stacks_of(spec):
        for layer in range(SIDE_OF[stack].layers(spec)):
            yield pack_layer(trace, stack, layer)
    for kind in kinds_of(spec):
        for layer in range(KINDS[kind].layers(spec)):
            for head in range(spec.heads(kind, layer).query):
                yield pack_attention(trace, kind, layer, head)
