"""The input of a stack: embedding times scale plus position, checked against the trace; nearest neighbours by
cosine."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

from viz_transformer import declared
from viz_transformer.checkpoint import Checkpoint
from viz_transformer.model.hooked_model import Precision, Unavailable
from viz_transformer.model.kinds import SIDES, SideName
from viz_transformer.running.trace import Trace

AT_ONCE = 2**18
"""Numbers of a table processed at once, few enough for a processor's cache."""


@dataclass(frozen=True, eq=False)
class InputSum:
    """The input of a stack and its summands, for some positions of a run.

    All arrays are [T, D] float32, or [T, N] before the map that widens narrow embeddings. The errors are 0 in
    evaluation mode without edits: the sum is recomputed in float32, in the model's order, rounded to the run's
    `precision`.
    """

    rows: tuple[int, ...]
    embedding: NDArray[np.float32]
    """Rows of the table."""
    scale: float
    scaled: NDArray[np.float32]
    """The rows times `scale`: the point `embed.token`."""
    position: NDArray[np.float32] | None
    """The point `embed.position`; None in a model without positions."""
    out: NDArray[np.float32]
    """The point `embed.out`, which the first layer reads."""
    scale_error: float
    """The largest difference of the recorded product from the recomputed one."""
    sum_error: float
    """The largest difference of the recorded sum from the recomputed one."""
    segment: NDArray[np.float32] | None = None
    """The point `embed.segment`; None in a model without segments."""
    before_norm: NDArray[np.float32] | None = None
    """The point `embed.sum`, the input of the embedding's norm; None without one: then `out` is the sum."""
    mapped: NDArray[np.float32] | None = None
    """The point `embed.mapped`, `scaled` after a map and before the sum; None without one."""
    normed: NDArray[np.float32] | None = None
    """The point `embed.normed`, the norm's output where a map makes `out` from it; None without one."""
    precision: Precision = "float32"

    @property
    def exact(self) -> bool:
        """Whether the trace's input, or what its norm reads, is that sum, number by number."""
        return self.scale_error == 0 and self.sum_error == 0

    @property
    def largest(self) -> float:
        """The largest absolute value among the summands and the sum."""
        shown = (self.scaled, self.mapped, self.segment, self.position, self.before_norm, self.normed, self.out)
        return float(max(np.abs(values).max() for values in shown if values is not None))


@dataclass(frozen=True, eq=False)
class InputDifference:
    """The inputs of two runs and their difference, part by part. All arrays are [T, D], float32.

    scaled, mapped, position, out: the parts of `a` less those of `b`; position is None if one of the two has no
    positions, and mapped if one of them has no map there.
    """

    a: InputSum
    b: InputSum
    scaled: NDArray[np.float32]
    position: NDArray[np.float32] | None
    out: NDArray[np.float32]
    mapped: NDArray[np.float32] | None = None

    @property
    def equal(self) -> bool:
        """Whether both inputs are the same number by number."""
        return not self.out.any()


@dataclass(frozen=True)
class Spread:
    """Mean and variance of numbers, summed in float64. variance: divided by n; sample_variance: by n - 1, as
    `torch.var` does (NaN for one number)."""

    count: int
    mean: float
    variance: float
    sample_variance: float


@dataclass(frozen=True)
class Neighbour:
    """An entry of a vocabulary and the cosine between its embedding and another's."""

    id: int
    cosine: float


@dataclass(frozen=True)
class Neighbours:
    """The entries with the highest cosine to the embedding of `id`, nearest first.

    mean, deviation: of its cosines with all other entries, the baseline of "near". length: of its own embedding.
    without_direction: entries whose embedding is zero, which have no cosine.
    """

    id: int
    nearest: tuple[Neighbour, ...]
    mean: float
    deviation: float
    length: float
    without_direction: int


def embedding_table(ckpt: Checkpoint, side: SideName) -> NDArray[np.float32]:
    """The embeddings of one side, [V, D], a row for each id: the model's own memory: do not write to it.

    Raises ValueError if the model has no such side, Unavailable if it keeps its embeddings to itself.
    """
    stack = SIDES[side].stack
    if not SIDES[side].layers(ckpt.spec):
        raise ValueError(f"{ckpt.name} has no {stack}: it embeds no {side}")
    table: NDArray[np.float32] = ckpt.hooked_model.table("tokens", stack).detach().cpu().float().numpy()
    return table


def tells_texts_apart(trace: Trace) -> bool:
    """Whether tokens of the run have different segments: vectors that are added for the first or second text."""
    name = "encoder.embed.segment"
    return name in trace and not torch.equal(trace[name][0, 0], trace[name][0, -1])


def input_sum(trace: Trace, table: ArrayLike, side: SideName, row: int | None = None) -> InputSum:
    """The input of one side of a run and its summands: for one position, or for all with `row=None`.

    table: [V, D], the embeddings as `embedding_table` has them. Raises ValueError if the run has no such side or
    position, Unavailable if its model does not tell its embeddings.
    Source: Vaswani et al. (2017), sections 3.4 and 3.5.
    """
    stack = SIDES[side].stack
    tokens = SIDES[side].of(trace.src, trace.tgt)
    if f"{stack}.embed.out" not in trace:
        raise ValueError(f"this run has no {side}: its model has no {stack}")
    if row is not None:
        declared.place(f"{side} position", row, len(tokens))
    if f"{stack}.embed.token" not in trace:
        raise Unavailable(trace.spec.missing.get(f"{stack}.embed.token", "they were not recorded"))
    rows = tuple(range(len(tokens))) if row is None else (row,)
    at = list(rows)

    def part(name: str) -> torch.Tensor | None:
        return trace[f"{stack}.embed.{name}"][0, at] if f"{stack}.embed.{name}" in trace else None

    embedding = torch.from_numpy(np.asarray(table, np.float32)[[tokens.ids[index] for index in at]])
    scale = trace.scalars[f"{stack}.embed.scale"]
    scaled, out = trace[f"{stack}.embed.token"][0, at], trace[f"{stack}.embed.out"][0, at]
    segment, position, before_norm = part("segment"), part("position"), part("sum")
    mapped = part("mapped")
    first = scaled if mapped is None else mapped
    kind = getattr(torch, trace.spec.precision)
    sums = [_sum(kind, first, *parts) for parts in ((segment, position), (position, segment))]
    scales = [scale] if kind == torch.float32 else [scale, float(torch.tensor(scale, dtype=kind))]
    return InputSum(
        rows=rows,
        embedding=embedding.numpy(),
        scale=scale,
        scaled=scaled.numpy(),
        position=_numbers(position),
        out=out.numpy(),
        scale_error=min(_gap(_round_to(embedding * each, kind), scaled) for each in scales),
        sum_error=min(_gap(total, out if before_norm is None else before_norm) for total in sums),
        segment=_numbers(segment),
        before_norm=_numbers(before_norm),
        mapped=_numbers(mapped),
        normed=_numbers(part("normed")),
        precision=trace.spec.precision,
    )


def _sum(kind: torch.dtype, total: torch.Tensor, *parts: torch.Tensor | None) -> torch.Tensor:
    for added in parts:
        total = total if added is None else _round_to(total + added, kind)
    return total


def _round_to(numbers: torch.Tensor, kind: torch.dtype) -> torch.Tensor:
    """The float32 numbers, rounded to those that this type has."""
    return numbers.to(kind).float()


def input_difference(a: InputSum, b: InputSum) -> InputDifference:
    """The difference of the inputs of A's and B's first layers, and of each part.

    Raises ValueError with one sentence if the two have different numbers of positions or features.
    """
    sizes = {"positions": (len(a.out), len(b.out)), "features": (a.out.shape[1], b.out.shape[1])}
    sizes["features in its embeddings"] = a.scaled.shape[1], b.scaled.shape[1]
    if a.position is not None and b.position is not None:
        sizes["features in its positions"] = a.position.shape[1], b.position.shape[1]
    for what, (first, second) in sizes.items():
        if first != second:
            raise ValueError(f"A has {first:,} {what} and B {second:,}: only inputs of one size can be subtracted")
    position = None if a.position is None or b.position is None else a.position - b.position
    mapped = None if a.mapped is None or b.mapped is None else a.mapped - b.mapped
    return InputDifference(a, b, a.scaled - b.scaled, position, a.out - b.out, mapped)


def measure_spread(values: ArrayLike) -> Spread:
    """Mean and both variances of all numbers of an array. Raises ValueError for none."""
    numbers = np.asarray(values, np.float64).ravel()
    if not numbers.size:
        raise ValueError("there are no numbers to take the variance of")
    mean = float(numbers.mean())
    squares = float(((numbers - mean) ** 2).sum())
    n = numbers.size
    return Spread(n, mean, squares / n, squares / (n - 1) if n > 1 else math.nan)


def neighbours(table: ArrayLike, id: int, count: int = 10, *, leave_out: Sequence[int] = ()) -> Neighbours:
    """The `count` entries nearest to entry `id` by cosine, computed in float64; equal cosines in order of id.

    table: [V, D]. leave_out: ids that are not listed, such as special tokens; they count for mean and deviation.
    Raises ValueError for an id outside the table, and for an embedding of zeros, which points nowhere.
    """
    vectors = np.asarray(table)
    declared.place("id", id, len(vectors))
    own = vectors[id].astype(np.float64)
    lengths, products = np.empty(len(vectors)), np.empty(len(vectors))
    many = max(1, AT_ONCE // max(1, len(own)))
    for some in (slice(start, start + many) for start in range(0, len(vectors), many)):
        rows = vectors[some].astype(np.float64)
        products[some] = rows @ own
        lengths[some] = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    if not lengths[id]:
        raise ValueError("the embedding is zero in every feature: it points nowhere, so nothing is near it")
    others = np.flatnonzero((lengths > 0) & (np.arange(len(vectors)) != id))
    cosines = products / np.where(lengths > 0, lengths * lengths[id], 1)
    order = others[_largest(cosines[others], count + len(set(leave_out)))]
    hidden = set(leave_out)
    listed = [int(other) for other in order if int(other) not in hidden][:count]
    known = cosines[others]
    return Neighbours(
        id=id,
        nearest=tuple(Neighbour(other, float(cosines[other])) for other in listed),
        mean=float(known.mean()) if known.size else math.nan,
        deviation=float(known.std()) if known.size else math.nan,
        length=float(lengths[id]),
        without_direction=int((lengths == 0).sum()),
    )


def _largest(values: NDArray[np.float64], count: int) -> NDArray[np.intp]:
    """Indices of the `count` largest, largest first and equal ones in their order, without sorting the others."""
    low = -values
    if 0 < count < len(low):
        near = np.flatnonzero(~(low > np.partition(low, count - 1)[count - 1]))
    else:
        near = np.arange(len(low))
    return near[np.argsort(low[near], kind="stable")][:count]


def _numbers(values: torch.Tensor | None) -> NDArray[np.float32] | None:
    return None if values is None else np.asarray(values.numpy(), np.float32)


def _gap(made: torch.Tensor, recorded: torch.Tensor) -> float:
    """The largest absolute difference; infinite where one of the two is NaN."""
    if torch.equal(made, recorded):
        return 0.0
    return float((made.double() - recorded.double()).abs().nan_to_num(nan=torch.inf).max())
