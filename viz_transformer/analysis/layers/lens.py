"""The logit lens: the output layer applied to the stream after each layer.

Source: nostalgebraist (2020), "interpreting GPT: the logit lens"; it assumes pre-norm and a final norm.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from viz_transformer.analysis.layers.sublayers import places
from viz_transformer.model.hooked_model import HookedModel, ModelSpec
from viz_transformer.model.kinds import SIDE_OF, StackName, stacks_of
from viz_transformer.running.strategies import greatest, log_softmax
from viz_transformer.running.trace import Trace

Floats = NDArray[np.float64]
TOP = 5
AT_ONCE = 2**20
"""Logits of a station processed at once, few enough for a processor's cache; a large vocabulary is processed in blocks
of rows."""
MAX_KEPT = 2**26
"""The most final log-probabilities kept while stations are compared with them; more are recomputed."""
AT_A_GLANCE = 3 * 2**30
"""Multiplications by the output layer that take no noticeable time."""
PER_LOGIT = 256
"""The further cost of a logit, in multiplications: its exponential, its rank, its term of the divergence."""


@dataclass(frozen=True)
class Station:
    """A place at which the stream is read out: its name, and the point that is read."""

    name: str
    point: str


OWN_STEP = Station("own step", "logits")
"""The logits of the pass that wrote each token, where the stream read out is from a later pass."""


@dataclass(frozen=True, eq=False)
class Lens:
    """The distribution over the vocabulary at each token and station; at the last layer, the trace's own logits.

    Where each step was a pass of its own, `OWN_STEP` is one more station: the logits that wrote the tokens, NaN and -1
    in rows without a step. T: the number of `rows`, L: of stations.
    """

    stations: tuple[Station, ...]
    rows: range
    """The tokens that it covers."""
    top_ids: NDArray[np.int64]
    """[T, L, 5], the most probable tokens first (fewer in a smaller vocabulary)."""
    top_probs: Floats
    """[T, L, 5], their probabilities."""
    divergence: Floats
    """[T, L], Kullback-Leibler divergence of the station's distribution from the trace's final one, in nats: sum of
    p_final * ln(p_final / p_station), 0 at the last layer."""
    written: Floats
    """[T, L], the probability of the token that the row wrote; NaN if unknown."""
    rank: NDArray[np.int64]
    """[T, L], how many tokens are more probable than the written one; -1 if unknown."""
    gap: float
    """The largest difference between the trace's logits and the last stream read out again."""


def undefined_lens(spec: ModelSpec, stack: StackName) -> str | None:
    """The reason why a stack has no logit lens, as a sentence; None if it has one.

    Raises ValueError if the model lacks the stack.
    """
    places(spec, stack)
    if stack == "encoder" and spec.has_decoder:
        return (
            "The logit lens is not defined for the encoder: its stream becomes the memory, which the output layer"
            " never reads."
        )
    if spec.labels and (why := spec.missing.get("read_out")) is not None:
        return f"The logit lens is not defined here: {why}."
    if spec.output == "none":
        return "The logit lens is not defined here: this model has no output layer, so no vector of it has logits."
    for station in stations(spec, stack):
        if (why := spec.missing.get(station.point)) is not None:
            return f"The logit lens is not defined here: {why}."
    return None


def _check_defined(spec: ModelSpec, stack: StackName) -> None:
    """Raise ValueError with the reason where the lens is undefined."""
    if reason := undefined_lens(spec, stack):
        raise ValueError(reason)


def lens_remarks(spec: ModelSpec) -> tuple[str, ...]:
    """Sentences on how the lens reads the stream of this model, and where that means little."""
    if spec.final_norm:
        said = ["Each column is the residual stream after a layer, read through the final norm and the output layer."]
    else:
        said = [
            "This model has no final norm: each column is the residual stream after a layer, read by the output layer."
        ]
    if spec.norm == "post":
        said.append(
            "The lens was made for pre-norm models with a final norm (nostalgebraist 2020). In this post-norm model"
            " each layer rescales the stream, so look at the divergence from the final distribution first."
        )
    elif not spec.final_norm:
        said.append("The lens was made for pre-norm models with a final norm (nostalgebraist 2020).")
    if spec.has_encoder and spec.has_decoder:
        said.append("The column of the embedding knows nothing of the source: it means little before cross-attention.")
    own = spec.config
    if own is not None and own.tied_output:
        said.append(
            "Output layer and embedding share one matrix: the first column tends to name the token that is read."
        )
    if own is not None and own.norm_kind == "positions-and-features":
        said.append("The norms of this model join all positions, so a column may depend on later tokens.")
    return tuple(said)


def stations(spec: ModelSpec, stack: StackName) -> tuple[Station, ...]:
    """The embedding and each layer of a stack."""
    layers = SIDE_OF[stack].layers(spec)
    behind = (Station(f"layer {layer}", f"{stack}.{layer}.residual_out") for layer in range(layers))
    return Station("embedding", f"{stack}.embed.out"), *behind


@torch.no_grad()
def read_out(stream: Tensor, model: HookedModel, stack: StackName) -> Tensor:
    """The logits of a stream by the model's own final norm, if it has one, and output layer: [1, T, D] -> [T, V]."""
    return model.read_out(stream, stack)[0].float().cpu()


def rows_at_a_glance(trace: Trace, stack: StackName, row: int) -> range:
    """The rows whose lens takes no noticeable time: all, or with a large vocabulary a block that contains the given
    one. The blocks of a run are the same whichever row is asked for.

    Raises ValueError with one sentence where the lens is not defined.
    """
    _check_defined(trace.spec, stack)
    all_stations, (_, length, size) = stations(trace.spec, stack), trace["logits"].shape
    width = trace[all_stations[-1].point].shape[-1]
    count = max(1, AT_A_GLANCE // (len(all_stations) * size * (width + PER_LOGIT)))
    first = row // count * count
    return range(first, min(first + count, length))


def lens(
    trace: Trace,
    model: HookedModel,
    stack: StackName | None = None,
    *,
    own: Trace | None = None,
    rows: range | None = None,
) -> Lens:
    """The logit lens of the stack that the output layer reads, or of the given one, at all rows or those given.

    `model` is the model of the run, `own` its `Run.per_step_rows`: where these are others, they are one more station.
    Raises ValueError with one sentence where the lens is not defined.
    """
    stack = stack or stacks_of(trace.spec)[-1]
    _check_defined(trace.spec, stack)
    rows = range(trace["logits"].shape[1]) if rows is None else rows
    at = slice(rows.start, rows.stop)
    logits, written = trace["logits"][0, at], _find_written(trace, stack)[at]  # [T, V]; [T], -1 where it is not known
    own_logits = own["logits"][0, at] if own is not None and own.is_per_step else None
    all_stations = stations(trace.spec, stack)
    config = trace.spec.config
    joined = config is not None and config.norm_kind == "positions-and-features"

    def read(station: Station) -> Tensor:
        """The logits of its rows, [T, V]: each row by itself, unless a norm is over all of them."""
        stream = trace[station.point]
        return read_out(stream, model, stack)[at] if joined else read_out(stream[:, at], model, stack)

    size = max(1, AT_ONCE // logits.shape[-1])
    blocks = [slice(start, start + size) for start in range(0, len(logits), size)]

    @lru_cache(maxsize=MAX_KEPT // AT_ONCE)
    def final(block: int) -> tuple[Tensor, Tensor]:
        found = log_softmax(logits[blocks[block]])
        return found, found.exp()

    def column(made: Tensor) -> list[Tensor]:
        """The lens's arrays of one station, from its logits `made`."""
        parts = (_column(made[some], *final(block), written[some]) for block, some in enumerate(blocks))
        return [torch.cat(each) for each in zip(*parts, strict=True)]

    columns = [column(read(station)) for station in all_stations[:-1]]
    columns.append(column(logits))
    if own_logits is not None:
        columns.append(column(own_logits))
    top_ids, top_probs, divergences, own_probs, ranks = (
        torch.stack(each, dim=1).numpy() for each in zip(*columns, strict=True)
    )
    return Lens(
        stations=(*all_stations, *([] if own_logits is None else [OWN_STEP])),
        rows=rows,
        top_ids=top_ids,
        top_probs=top_probs,
        divergence=divergences,
        written=own_probs,
        rank=ranks,
        gap=_largest_gap(read(all_stations[-1]), logits, blocks),
    )


def _largest_gap(one: Tensor, other: Tensor, blocks: Sequence[slice]) -> float:
    return float(torch.stack([(one[some] - other[some]).abs().max() for some in blocks]).max())


def _column(logits: Tensor, final: Tensor, probs: Tensor, written: Tensor) -> tuple[Tensor, ...]:
    """A station's part of the lens for some rows, in the order of its arrays. logits: [R, V], NaN where a row has none;
    final: [R, V] log-probabilities; probs: those of `final`; written: [R]."""
    log_probs = log_softmax(logits)
    known, at = written >= 0, written.clamp(min=0)[:, None]
    of_written = log_probs.gather(-1, at)  # [R, 1]
    top = greatest(logits, min(TOP, logits.shape[-1]))
    unknown = log_probs.isnan().any(dim=-1)  # NaN, or a row of no step: then no token is the most probable
    return (
        top.masked_fill(unknown[:, None], -1),
        log_probs.gather(-1, top).exp().masked_fill(unknown[:, None], torch.nan),
        _divergence(final, probs, log_probs),
        torch.where(known, of_written[:, 0].exp(), torch.nan),
        torch.where(known & ~unknown, (log_probs > of_written).sum(dim=-1), -1),
    )


def divergence(final: Tensor, other: Tensor) -> Tensor:
    """KL(final || other) in nats of two tables of log-probabilities: [..., V] x [..., V] -> [...], at least 0.

    Kullback and Leibler (1951). A final probability of 0 adds 0.
    """
    return _divergence(final, final.exp(), other)


def _divergence(final: Tensor, probs: Tensor, other: Tensor) -> Tensor:
    """`divergence` where the final probabilities are known."""
    terms = (final - other).mul_(probs)
    found = terms.sum(dim=-1)
    if not bool(found.isfinite().all()):  # a probability of 0, or NaN
        unknown = final.isnan().any(dim=-1) | other.isnan().any(dim=-1)
        found = torch.where(probs > 0, terms, 0.0).sum(dim=-1).masked_fill(unknown, torch.nan)
    return found.clamp(min=0)


def _find_written(trace: Trace, stack: StackName) -> Tensor:
    """The id that each row wrote, or should have written; -1 where that is not known."""
    if stack == "encoder":
        return torch.full((len(trace.src),), -1)
    return torch.tensor([-1 if token_id is None else token_id for token_id in trace.next_ids])
