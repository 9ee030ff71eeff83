"""The strongest weights of each row of a map, and what is left of the row: a picture of ribbons needs no more."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from viz_transformer.figures.components import payload

LEAST = 0.02
"""Weights below this share of a row are not drawn each on its own."""


@dataclass(frozen=True, eq=False)
class StrongestOnly:
    """The entries of all rows, one row behind the other: those of row r stand from starts[r] to starts[r + 1] - 1.

    keys: at which key, ascending in a row; weights: as they were given, float32. starts: [rows + 1]. rest: the sum of
    a row's other weights, of the shape of the rows; NaN where one of them is NaN.
    """

    keys: NDArray[np.int64]
    weights: NDArray[np.float32]
    starts: NDArray[np.int64]
    rest: NDArray[np.float64]

    def arrays(self, name: str) -> Mapping[str, payload.Encoded]:
        """What is sent: keys.N, weights.N, starts.N and rest.N for the name N, all as float32."""
        return {
            f"{what}.{name}": payload.exact(values)
            for what, values in (
                ("keys", self.keys),
                ("weights", self.weights),
                ("starts", self.starts),
                ("rest", self.rest),
            )
        }


def strongest(weights: ArrayLike, least: float = LEAST) -> StrongestOnly:
    """Of each row of weights [..., Q, K] those of at least `least`, and always the largest, if it is above 0.

    Of equal largest ones the first; NaN, 0 and what is below 0 have no entry.
    """
    given = np.asarray(weights, dtype=np.float32)
    rows = given.reshape(-1, given.shape[-1])
    exact = rows.astype(np.float64)  # as the browser compares them
    known = np.where(np.isnan(exact), 0, exact)
    largest = known.argmax(axis=-1)
    kept = known >= least
    kept[np.arange(len(rows)), largest] = True
    kept &= known > 0
    of_row, keys = np.nonzero(kept)
    starts = np.concatenate([[0], np.cumsum(np.bincount(of_row, minlength=len(rows)))])
    rest = np.where(kept, 0, exact).sum(axis=-1).reshape(given.shape[:-1])
    return StrongestOnly(keys, rows[of_row, keys], starts, rest)
