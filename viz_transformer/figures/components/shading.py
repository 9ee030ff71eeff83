"""The text itself, each token shaded by the weights of one query, or by the weights that one key is given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from viz_transformer.figures.components import payload
from viz_transformer.figures.components.lines import WeightScale
from viz_transformer.figures.components.matrix import Axis, check_marks, check_writes


def shading_payload(
    weights: ArrayLike,
    queries: Axis,
    keys: Axis,
    *,
    title: str,
    name: str,
    caption: str,
    scale: WeightScale,
    unit: str,
    mask: ArrayLike | None = None,
    there: ArrayLike | None = None,
    fill: str = "",
    writes: Sequence[Mapping[str, Any]] | None = None,
    grows: bool = False,
    hidden: NDArray[np.float64] | None = None,
) -> bytes:
    """What the browser gets: all rows at once. weights: [Q, K], from 0 to 1; mask: [Q, K], True = may attend; there:
    [Q, K], False where the run has no number, which gets no shade.

    Queries and keys that are the same tokens of the same side are one paragraph, else each has its own. `unit` says
    what a weight is, `fill` what the model puts in masked places, `name` is a file name, and `writes` has what each
    query writes. `grows`: tokens of the queries' side behind the selected query are shown as not written yet.
    hidden: [Q], the share of each row's weight that keys hold which are left out; shades of rows of which that is more
    than 0.9 are faint.
    Raises ValueError if shapes and tokens do not fit, and for weights below 0.
    """
    grid = np.asarray(weights, dtype=np.float32)
    if grid.shape != (len(queries.tokens), len(keys.tokens)) or 0 in grid.shape:
        raise ValueError(f"weights {grid.shape} do not fit {len(queries.tokens)} queries and {len(keys.tokens)} keys")
    if np.any(grid < 0):
        raise ValueError(
            f"shades show weights of at least 0, the smallest is {np.nanmin(grid)}: the matrix shows signed ones"
        )
    check_marks(grid.shape, "weights", mask=mask, there=there)
    check_writes(writes, grid.shape[0], "queries")
    header = {
        "title": title,
        "label": f"Text of {title}: {queries.title} and {keys.title}",
        "name": name,
        "caption": caption,
        "queries": queries.data(),
        "keys": keys.data(),
        "writes": writes,
        "together": queries.side == keys.side and list(queries.tokens) == list(keys.tokens),
        "scale": scale,
        "unit": unit,
        "fill": fill,
    }
    if grows:
        header["grows"] = True
    if hidden is not None:
        header["hidden"] = hidden.tolist()
    arrays = {"weights": payload.weights(grid)} | payload.marks(mask=mask, there=there)
    return payload.pack(header, **arrays)
