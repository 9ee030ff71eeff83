"""One row of weights in two runs: the same query of the same head, key by key, and the difference."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from viz_transformer import declared
from viz_transformer.analysis.attention.maps import layer_count, sides
from viz_transformer.analysis.weight.weight_numbers import Cell, Floats, QueryRow, row_of
from viz_transformer.running.trace import Trace


@dataclass(frozen=True, eq=False)
class RowDifference:
    """The rows of A and of B, of equal length. All arrays are [K]."""

    a: QueryRow
    b: QueryRow

    @property
    def weights(self) -> NDArray[np.float32]:
        """A's recorded weights less B's, in float32."""
        return self.a.weights - self.b.weights

    @property
    def scores(self) -> Floats:
        """A's scores minus B's, each relative to the largest open score of its row: only differences within a row
        matter to the weights. NaN where one of the two is masked."""
        return below_largest(self.a) - below_largest(self.b)

    @property
    def total_variation(self) -> float:
        """Half the sum of the absolute differences of weights: 0 = the same shares, 1 = none in common."""
        return float(np.abs(self.a.weights.astype(np.float64) - self.b.weights).sum() / 2)

    @property
    def equal(self) -> bool:
        """Whether all weights are the same, number by number."""
        return bool(np.array_equal(self.a.weights, self.b.weights, equal_nan=True))


def below_largest(row: QueryRow) -> Floats:
    """Open scores minus the largest open one of the row, [K]: at most 0; NaN for masked keys."""
    scores = np.where(row.mask, row.scores, np.nan)
    return scores - np.nanmax(scores) if np.isfinite(scores).any() else scores


def row_difference(a: Trace, b: Trace, cell: Cell) -> RowDifference:
    """The row of the cell in both runs. Raises ValueError with one sentence if B has no such row or another length."""
    first = row_of(a, cell)
    with declared.prefixed("there is no A − B of this row: "):
        layer_count(b, cell.kind)  # first, whether B has this kind of attention
        keys = len(sides(b, cell.kind)[1])
        if keys != len(first.weights):
            raise ValueError(f"A's row has {len(first.weights)} keys and B's {keys}")
        return RowDifference(first, row_of(b, cell))
