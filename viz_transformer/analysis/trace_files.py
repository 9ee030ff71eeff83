"""Traces as the bytes of a file, and back: what comes from elsewhere is checked before anything is made of it."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from pathlib import Path

import orjson
import torch

from viz_transformer.checkpoint.store import MAX_LAYERS
from viz_transformer.points import attention_sites, point_shape, recorded_points
from viz_transformer.record import Trace

LARGEST_FILE = 128 * 2**20
_FILE = "trace.safetensors"


def saved(trace: Trace) -> bytes:
    """The file that `trace.save` writes."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / _FILE
        trace.save(path)
        return path.read_bytes()


def opened(data: bytes, name: str) -> Trace:
    """The trace in a file of this content. name: what the file is called in sentences.

    Raises ValueError with one sentence for anything but a whole trace whose points fit its config and its tokens.
    """
    if len(data) > LARGEST_FILE:
        raise ValueError(f"{name} has {len(data):,} bytes, a trace is opened here up to {LARGEST_FILE:,}")
    _check_size(data, name)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / _FILE
        path.write_bytes(data)
        try:
            trace = Trace.load(path)
        except (ValueError, AttributeError) as error:
            sentence = str(error).replace(str(path), name)
            raise ValueError(sentence if name in sentence else f"{name} is not a whole trace ({sentence})") from None
    if problem := _problem(trace):
        raise ValueError(f"{name} is not a whole trace: {problem}")
    return trace


def _check_size(data: bytes, name: str) -> None:
    """Raise ValueError for a description that would take long to read; the loader has sentences for all others."""
    try:
        header = orjson.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
        about = orjson.loads(header["__metadata__"]["viz_transformer"])
        config, points = about["config"], about["points"]
        layers = max(config["encoder_layers"], config["decoder_layers"])
        repeated = len(points) > len(header)
    except (ValueError, LookupError, TypeError):
        return
    if layers > MAX_LAYERS or repeated:
        raise ValueError(f"{name} is not a whole trace: it describes more layers or points than it can hold")


def _problem(trace: Trace) -> str | None:
    """What does not fit in a trace that could be read; None if everything does."""
    if not trace.values:
        return "it has no points"
    if not _tokens_fit(trace):
        return "its tokens do not fit its config"
    if not isinstance(trace.info, dict) or not _all(str, (trace.checkpoint, trace.weights_sha256)):
        return "what it says about its run is not text"
    known = {point.name: point for point in recorded_points(trace.config)}
    for name, value in trace.values.items():
        if name not in known:
            return f"it has a point {name!r:.80}, which a model of its config does not"
        shape = point_shape(known[name], trace.config, batch=1, source=len(trace.src), target=len(trace.tgt))
        shapes = [shape, (1, trace.config.n_heads, *shape[2:])] if name.endswith(".mask") else [shape]  # one per head
        kind = torch.bool if name.endswith(".mask") else torch.float32
        if tuple(value.shape) not in shapes or value.dtype != kind:
            return f"its point {name} is {value.dtype} {list(value.shape)}, and not {kind} {list(shape)}"
    return next(
        (f"{site} lacks what it is made of" for site in attention_sites(trace.config) if _lacks(trace, site)), None
    )


def _lacks(trace: Trace, site: str) -> bool:
    """Whether derived points of this attention, which the trace names, could not be made."""
    if f"{site}.query" not in trace.values:
        return False
    d_model, weight = trace.config.d_model, trace.output_maps.get(site)
    whole = all(f"{site}.{part}" in trace.values for part in ("key", "mask", "head_out"))
    mapped = weight is not None and tuple(weight.shape) == (d_model, d_model) and weight.is_floating_point()
    divided = isinstance(trace.scalars, dict) and isinstance(trace.scalars.get(f"{site}.divisor"), float)
    return not (whole and mapped and divided)


def _tokens_fit(trace: Trace) -> bool:
    """Whether each side that the model has, and no other, has tokens with ids, names and originals."""
    has = (trace.config.has_encoder, trace.config.has_decoder)
    for side, expected in zip((trace.src, trace.tgt), has, strict=True):
        columns = ((int, side.ids), (str, side.tokens), (str, side.originals))
        if bool(len(side)) != expected or not all(_all(kind, c) and len(c) == len(side) for kind, c in columns):
            return False
    written = ((int, trace.next_ids), (str, trace.next_tokens))
    return all(len(c) == len(trace.tgt) and _all(kind, [e for e in c if e is not None]) for kind, c in written)


def _all(kind: type, entries: Iterable[object]) -> bool:
    return all(type(entry) is kind for entry in entries)
