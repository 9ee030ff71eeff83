"""The strongest weights of each row of a map, and the rest of the row: all that ribbons need."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from viz_transformer import payload

LEAST = 0.02
"""Weights below this share of a row are not drawn each on its own."""

AT_ONCE = 2**18
"""Weights compared at once: those of 2,000 tokens would take gigabytes as float64, and twice as long."""


@dataclass(frozen=True, eq=False)
class StrongestOnly:
    """The strongest entries of all rows, concatenated: row r has starts[r] to starts[r + 1] - 1."""

    keys: NDArray[np.int64]
    """The key of each entry, ascending in a row."""
    weights: NDArray[np.float32]
    """As given, float32."""
    starts: NDArray[np.int64]
    """[rows + 1]"""
    rest: NDArray[np.float64]
    """The sum of each row's other weights; NaN where one of them is NaN."""

    def arrays(self, name: str) -> Mapping[str, payload.Encoded]:
        """The arrays to send: keys.N, weights.N, starts.N and rest.N for the name N, all as float32."""
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
    """The weights of each row of [..., Q, K] that are at least `least`, and always the largest, if it is above 0.

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
    """A mask of the weights to keep in each row, and the sum of the others."""
    exact = rows.astype(np.float64)  # as the browser compares them
    known = np.where(np.isnan(exact), 0, exact)
    kept = known >= least
    kept[np.arange(len(rows)), known.argmax(axis=-1)] = True
    kept &= known > 0
    return kept, np.where(kept, 0, exact).sum(axis=-1)
