"""The score *top weight*: how much of its weight does a head put on one key?"""

import numpy as np
from numpy.typing import NDArray


def top_weight(weights: NDArray[np.float64], allowed: NDArray[np.bool_]) -> NDArray[np.float64]:
    """max_j w_ij, the largest weight of a row; all rows"""
    return weights.max(axis=-1)
