"""Parts of a derivation: the cell, the parameters of its attention in float64, vectors, and comparisons."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from viz_transformer import declared, payload
from viz_transformer.analysis.attention.axes import Axes, Texts
from viz_transformer.analysis.attention.maps import layer_count, sides
from viz_transformer.analysis.attention.picture import Meta
from viz_transformer.analysis.weight.derivation import ROUNDING
from viz_transformer.analysis.weight.step_source import AxisName
from viz_transformer.model.config import ModelConfig
from viz_transformer.model.kinds import KINDS, KindName, StackName
from viz_transformer.model.transformer import Stack, Transformer
from viz_transformer.running.trace import Trace

Floats = NDArray[np.float64]
Parameters = Mapping[str, Floats]


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One cell of one head's map: the weight that query position `query` gives to key position `key`."""

    kind: KindName
    layer: int
    head: int
    query: int
    key: int

    @property
    def site(self) -> str:
        """The attention's name: decoder.1.cross."""
        return KINDS[self.kind].site(self.layer)

    @property
    def stack(self) -> StackName:
        return KINDS[self.kind].stack

    @property
    def key_stack(self) -> StackName:
        """The stack that the keys come from."""
        return KINDS[self.kind].keys.stack

    @property
    def attention(self) -> str:
        """The last word of its site: self or cross."""
        return KINDS[self.kind].attention

    @property
    def stream_point(self) -> str:
        """The point of the stream before the sub-layer."""
        return f"{self.stack}.{self.layer}.{'residual_after_self' if self.kind == 'cross' else 'residual_in'}"

    @property
    def read_point(self) -> str:
        """The point that keys and values are computed from."""
        return "encoder.out" if self.kind == "cross" else f"{self.site}.in"

    def unplaced(self, config: ModelConfig) -> str:
        """The suffix of `query` and `key` in the points of their maps; "" if positions do not change them."""
        return "" if self.kind == "cross" else config.encoding.unplaced


@dataclass(frozen=True, eq=False)
class Numbers:
    """A vector [N] or a matrix [R, N] of a line. axis: what N counts; R counts dimensions, or keys if `by_key`.

    picked: the place that the line is about; span: a range of places (first, end).
    """

    name: str
    values: Floats
    axis: AxisName
    picked: int | None = None
    span: tuple[int, int] | None = None


@dataclass(frozen=True, eq=False)
class Check:
    """A computed value beside the recorded one. point: the recorded point, with its index; scale: how large the numbers
    were that the line added up."""

    name: str
    derived: Floats
    recorded: Floats
    point: str
    scale: float = 0.0

    @property
    def difference(self) -> float:
        """The largest absolute difference; two NaN are equal, one is infinitely far from a number."""
        same = (self.derived == self.recorded) | (np.isnan(self.derived) & np.isnan(self.recorded))
        with np.errstate(invalid="ignore"):
            gap = np.where(same, 0.0, np.abs(self.derived - self.recorded))
        return float(np.nan_to_num(gap, nan=np.inf).max(initial=0.0))

    @property
    def allowed(self) -> float:
        """The difference that rounding explains."""
        finite = np.abs(self.recorded[np.isfinite(self.recorded)])
        return ROUNDING * max(1.0, float(finite.max(initial=0.0)), self.scale)

    @property
    def agrees(self) -> bool:
        return self.difference <= self.allowed


@dataclass(frozen=True)
class Shape:
    """A step of the trail of shapes: "[B, T, 3D]" and "[1, 11, 768]"."""

    name: str
    letters: str
    sizes: str


@dataclass(frozen=True, eq=False)
class Line:
    """One line: vectors and matrices, single numbers by symbol, what was compared, and facts in words."""

    name: str
    vectors: tuple[Numbers, ...] = ()
    scalars: Mapping[str, float] = field(default_factory=dict)
    checks: tuple[Check, ...] = ()
    facts: tuple[str, ...] = ()
    shapes: tuple[Shape, ...] = ()

    @property
    def agrees(self) -> bool:
        """Whether everything that was compared agrees up to rounding."""
        return all(check.agrees for check in self.checks)


@dataclass(frozen=True, eq=False)
class QueryRow:
    """One query against all keys. query: [E], keys: [K, E], as recorded; scores [K] are computed from them;
    weights [K] as recorded (a long attention's are derived); mask: [K], True = may attend."""

    query: Floats
    keys: Floats
    scores: Floats
    weights: NDArray[np.float32]
    mask: NDArray[np.bool_]

    @property
    def products(self) -> Floats:
        """Query times key by dimension: [K, E]; a row sums to the score before scaling."""
        return self.query * self.keys

    def pack(self, axes: Axes, position: int, writes: str | None, meta: Meta) -> bytes:
        """The payload of a row, as strips: the keys, their products with the query, the scores, and the weights.

        axes: the two sides; `position` is the query's place on the first; writes: what its row writes.
        Raises ValueError if shapes and tokens do not fit.
        """
        queries, columns = axes
        q, k = np.asarray(self.query, dtype=np.float32), np.asarray(self.keys, dtype=np.float32)
        count = len(columns)
        if q.ndim != 1 or k.shape != (count, len(q)) or 0 in k.shape:
            raise ValueError(f"query {q.shape} and keys {k.shape} do not fit {count} tokens")
        by_key = {name: np.asarray(getattr(self, name)) for name in ("scores", "weights", "mask")}
        for what, values in by_key.items():
            declared.shaped(what, values.shape, tokens=count)
        declared.place("query", position, len(queries))
        header = {
            "title": meta.title,
            "label": f"{meta.title}: one query against {count} keys, as strips of keys, products, scores and weights",
            "name": meta.name,
            "caption": meta.caption,
            "query": queries.data(with_tokens=False),
            "token": queries.reads.at((position,)).data()[0],
            "position": position,
            "writes": None if writes is None else Texts((writes,)).data()[0],
            "keys": columns.data(),
            "scale": meta.scale,
            "fill": meta.fill,
        }
        return payload.pack(
            header,
            query=payload.exact(q),
            keys=payload.exact(k),
            scores=payload.exact(by_key["scores"]),
            weights=payload.exact(by_key["weights"]),
            mask=payload.bits(by_key["mask"]),
        )


def parameters(model: Transformer, kind: KindName, layer: int) -> Parameters:
    """The parameters of this attention, of its norm, and of the norm after the encoder, as the model's file names them,
    in float64. Raises ValueError for a layer that the model lacks."""
    stack: Stack = getattr(model, KINDS[kind].stack)
    declared.place("layer", layer, len(stack.layers))
    place = f"{KINDS[kind].stack}.layers.{layer}.{KINDS[kind].attention}"
    wanted = (f"{place}_attention.", f"{place}_residual.norm.", "encoder.norm.")
    return {
        name: np.asarray(tensor.detach().cpu().double().numpy())
        for name, tensor in model.named_parameters()
        if name.startswith(wanted)
    }


def check_cell(trace: Trace, cell: Cell) -> None:
    """Raise ValueError for a cell that the trace does not have."""
    counts = [("layer", cell.layer, layer_count(trace, cell.kind)), ("head", cell.head, trace.config.n_heads)]
    counts += [
        (f"{name} position", place, len(side))
        for (name, place), side in zip((("query", cell.query), ("key", cell.key)), sides(trace, cell.kind), strict=True)
    ]
    for name, given, count in counts:
        declared.place(name, given, count)


def row_of(trace: Trace, cell: Cell) -> QueryRow:
    """The row of a cell. Raises ValueError for a cell that the trace does not have."""
    check_cell(trace, cell)

    query, keys = (trace[f"{cell.site}.{part}"][0, cell.head].double().numpy() for part in ("query", "key"))
    scores = (keys * query[cell.query]).sum(axis=1) / trace.scalars[f"{cell.site}.divisor"]
    if f"{cell.site}.bias" in trace:
        scores = scores + trace[f"{cell.site}.bias"][0, cell.head, cell.query].double().numpy()
    weights = trace[f"{cell.site}.weights"]
    mask, at = trace[f"{cell.site}.mask"].expand(weights.shape), (0, cell.head, cell.query)
    return QueryRow(query[cell.query], keys, scores, weights[at].numpy(), mask[at].numpy())
