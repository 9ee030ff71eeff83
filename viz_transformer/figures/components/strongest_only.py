"""The strongest weights of each row of a map, and what is left of the row: a picture of ribbons needs no more."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from viz_transformer import payload

LEAST = 0.02
"""Weights below this share of a row are not drawn each on its own."""

AT_ONCE = 2**18
"""So many weights are compared at once: all of 2,000 tokens would take gigabytes as float64, and twice as long."""


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
    kept, rest = np.empty(rows.shape, dtype=bool), np.empty(len(rows))
    for first in range(0, len(rows), step := max(1, AT_ONCE // max(1, rows.shape[1]))):
        part = slice(first, first + step)
        kept[part], rest[part] = _split(rows[part], least)
    of_row, keys = np.nonzero(kept)
    starts = np.concatenate([[0], np.cumsum(np.bincount(of_row, minlength=len(rows)))])
    return StrongestOnly(keys, rows[of_row, keys], starts, rest.reshape(given.shape[:-1]))


def _split(rows: NDArray[np.float32], least: float) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Which weights of each row are kept, and the sum of the others."""
    exact = rows.astype(np.float64)  # as the browser compares them
    known = np.where(np.isnan(exact), 0, exact)
    kept = known >= least
    kept[np.arange(len(rows)), known.argmax(axis=-1)] = True
    kept &= known > 0
    return kept, np.where(kept, 0, exact).sum(axis=-1)
