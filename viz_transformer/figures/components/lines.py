"""Lines from each query to each key, as opaque as the weight: one head in its kind's colour, or up to six heads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from viz_transformer.figures.components import payload
from viz_transformer.figures.components.matrix import Axis, check_writes
from viz_transformer.figures.theme import MAX_HEADS
from viz_transformer.model.kinds import KindName

WeightScale = KindName | Literal["derived"]
HEIGHT = 480
MAX_TOKENS = 256
"""Above this many tokens a side there are no lines, only a sentence."""
MAX_LINES = 20_000
"""The strongest lines are drawn, up to this many."""


def lines_payload(
    weights: ArrayLike,
    queries: Axis,
    keys: Axis,
    *,
    heads: Sequence[str],
    title: str,
    name: str,
    caption: str,
    scale: WeightScale,
    unit: str,
    mask: ArrayLike | None = None,
    there: ArrayLike | None = None,
    fill: str = "",
    writes: Sequence[Mapping[str, Any]] | None = None,
    height: int = HEIGHT,
    hidden: NDArray[np.float64] | None = None,
) -> bytes:
    """What the browser gets. weights: [N, Q, K], one map for each of the N names in `heads`, at least 0 or NaN.

    mask: [Q, K] or [N, Q, K], True = may attend; masked pairs get no line, nor do those that are False in `there`
    [Q, K], of which the run has no number. `scale` is the colour of a single map; two
    to six have the colours of heads. `unit` says what a weight is, `fill` what the model puts in masked places, `name`
    is a file name, and `writes` has what each query writes. Above 256 tokens a side no weights are sent.
    hidden: [N, Q], the share of each row's weight that keys hold which are left out; lines of rows of which that is
    more than 0.9 are faint.
    Raises ValueError if shapes, names and tokens do not fit, for weights below 0, for more than six maps, and for
    several if they are derived.
    """
    maps = np.asarray(weights, dtype=np.float32)
    if maps.shape != (len(heads), len(queries.tokens), len(keys.tokens)) or 0 in maps.shape:
        raise ValueError(
            f"weights {maps.shape} do not fit {len(heads)} heads, "
            f"{len(queries.tokens)} queries and {len(keys.tokens)} keys"
        )
    if len(heads) > MAX_HEADS:
        raise ValueError(f"colours tell at most {MAX_HEADS} heads apart, {len(heads)} were given: choose fewer")
    if scale == "derived" and len(heads) > 1:
        raise ValueError(f"a derived map is drawn alone, in grey, but {len(heads)} were given: choose one")
    if np.any(maps < 0):
        raise ValueError(
            f"lines show weights of at least 0, the smallest is {np.nanmin(maps)}: the matrix shows signed ones"
        )
    if mask is not None and np.shape(mask) not in (maps.shape, maps.shape[1:]):
        raise ValueError(f"mask {np.shape(mask)} does not have the shape of the weights {maps.shape}")
    if there is not None and np.shape(there) != maps.shape[1:]:
        raise ValueError(f"there {np.shape(there)} does not fit the weights {maps.shape}")
    check_writes(writes, maps.shape[1], "queries")
    header = {
        "title": title,
        "label": f"Lines of {title}: {queries.title} on the left, {keys.title} on the right",
        "name": name,
        "caption": caption,
        "queries": queries.data(),
        "keys": keys.data(),
        "writes": writes,
        "heads": heads,
        "colours": [f"heads-{i}" for i in range(len(heads))] if len(heads) > 1 else [f"{scale}-5"],
        "unit": unit,
        "fill": fill,
        "most_tokens": MAX_TOKENS,
        "most_lines": MAX_LINES,
        "height": height,
    }
    if hidden is not None:
        header["hidden"] = hidden.tolist()
    if max(maps.shape[1:]) > MAX_TOKENS:
        return payload.pack(
            {**header, "queries": _without_tokens(queries), "keys": _without_tokens(keys), "writes": None}
        )
    arrays = {"weights": payload.exact(maps)} | payload.marks(mask=mask, there=there)
    return payload.pack(header, **arrays)


def _without_tokens(axis: Axis) -> dict[str, Any]:
    return {**axis.data(), "tokens": [], "count": len(axis.tokens)}
