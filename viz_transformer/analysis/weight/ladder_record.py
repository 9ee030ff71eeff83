"""What a run recorded for one cell of one head: the ground that every line of its ladder stands on."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from viz_transformer.analysis.attention.maps import layer_count, sides
from viz_transformer.analysis.weight.weight_numbers import Cell, Check, Floats, Numbers, Row, masked_softmax
from viz_transformer.model.config import ModelConfig
from viz_transformer.running.record import Trace


def check_cell(trace: Trace, cell: Cell) -> None:
    """Raise ValueError for a cell that the trace does not have."""
    counts = [("layer", cell.layer, layer_count(trace, cell.kind)), ("head", cell.head, trace.config.n_heads)]
    counts += [
        (f"{name} position", place, len(side))
        for (name, place), side in zip((("query", cell.query), ("key", cell.key)), sides(trace, cell.kind), strict=True)
    ]
    for name, given, count in counts:
        if not 0 <= given < count:
            raise ValueError(f"there is no {name} {given}: {name}s go from 0 to {count - 1}")


class CellRecord:
    """What a run recorded for one cell, in float64, and the row of scores and weights that is worked out from it.

    Raises ValueError for a cell that the trace does not have.
    """

    def __init__(self, trace: Trace, cell: Cell) -> None:
        check_cell(trace, cell)
        self.trace, self.cell = trace, cell
        self.config: ModelConfig = trace.config
        self.site, size = cell.site, trace.config.head_dim
        self.rows = slice(cell.head * size, (cell.head + 1) * size)  # of W_Q, W_K and W_V, and columns of W_O
        query, key, value = (self.point(f"{self.site}.{part}")[cell.head] for part in ("query", "key", "value"))
        self.q, self.keys, self.values = query[cell.query], key, value
        self.dots: Floats = (self.keys * self.q).sum(axis=1)
        self.divisor = trace.scalars[f"{self.site}.divisor"]
        biased = f"{self.site}.bias" in trace  # ALiBi
        self.bias = self.point(f"{self.site}.bias")[cell.head, cell.query] if biased else None
        self.scores: Floats = self.dots / self.divisor + (0.0 if self.bias is None else self.bias)
        heads, queries = trace.config.n_heads, len(sides(trace, cell.kind)[0])
        mask = trace[f"{self.site}.mask"].expand(1, heads, queries, len(key))[0, cell.head, cell.query]
        self.mask = np.asarray(mask.numpy())
        self.seen, self.weights = masked_softmax(self.scores, self.mask, trace.config.mask_fill)
        self.row = Row(self.q, self.keys, self.scores, self.recorded_weights(), self.mask)

    def point(self, name: str) -> Floats:
        """A point of the one text in the batch, in float64."""
        return np.asarray(self.trace[name][0].double().numpy())

    def recorded_weights(self) -> NDArray[np.float32]:
        return np.asarray(self.trace[f"{self.site}.weights"][0, self.cell.head, self.cell.query].numpy())

    def check(self, name: str, derived: Floats | float, point: str, *at: int, scale: float = 0.0) -> Check:
        """Beside this point at these indices behind the batch's."""
        recorded = np.asarray(self.point(point)[at])
        index = ", ".join(map(str, (0, *at)))
        return Check(name, np.asarray(derived, dtype=np.float64), recorded, f"{point}[{index}]", scale)

    @property
    def stream_point(self) -> str:
        """What enters the sub-layer."""
        layer = f"{self.cell.stack}.{self.cell.layer}"
        return f"{layer}.residual_after_self" if self.cell.kind == "cross" else f"{layer}.residual_in"

    @property
    def is_turned(self) -> bool:
        """Whether query and key are turned by their positions behind their maps."""
        return f"{self.site}.query_unrotated" in self.trace

    def made_point(self, name: str) -> str:
        """Where a map's own numbers are: a rotation stands between them and the query or key."""
        return f"{self.site}.{name}{'_unrotated' if self.is_turned and name != 'value' else ''}"

    @property
    def read_point(self) -> str:
        """What keys and values are made of."""
        return "encoder.out" if self.cell.kind == "cross" else f"{self.site}.in"


def by_key(of: CellRecord, symbol: str, name: str, values: Floats) -> Numbers:
    """Numbers by key, the cell's own picked."""
    return Numbers(symbol, name, values, "key", picked=of.cell.key)


def length(vector: Floats) -> float:
    """The Euclidean norm."""
    return float(np.sqrt((vector * vector).sum()))
