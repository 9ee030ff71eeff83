"""Pictures of arrays and words, as analysis makes them of a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from viz_transformer.analysis.attention.axes import Axis, Texts
from viz_transformer.analysis.attention.picture import Heads, Meta, Picture

SAID = {"title": "a title", "caption": "a caption", "name": "picture", "scale": "cross"}


def picture_of(
    values: ArrayLike,
    rows: Axis,
    columns: Axis,
    *,
    mask: ArrayLike | None = None,
    there: ArrayLike | None = None,
    writes: Texts | None = None,
    hidden: ArrayLike | None = None,
    **said: Any,
) -> Picture:
    """A map with these words: what is not said is that of attention weights."""
    grid = np.asarray(values, dtype=np.float32)
    return Picture(
        grid,
        (rows if writes is None else replace(rows, writes=writes), columns),
        np.ones(grid.shape, bool) if mask is None else np.asarray(mask, bool),
        Meta(**{**SAID, **said}),
        valid=None if there is None else np.asarray(there, bool),
        hidden=None if hidden is None else np.asarray(hidden),
    )


def heads_of(values: ArrayLike, rows: Axis, columns: Axis, *, heads: Sequence[str], **given: Any) -> Picture:
    """Maps of several heads, [N, Q, K]."""
    maps, mask, hidden = np.asarray(values, dtype=np.float32), given.pop("mask", None), given.pop("hidden", None)
    made = picture_of(maps[:1].sum(axis=0), rows, columns, **given)
    own = None if mask is None else np.asarray(mask, bool)
    return replace(made, heads=Heads(tuple(heads), maps, None if hidden is None else np.asarray(hidden), own))
