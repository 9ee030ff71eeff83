"""The text itself, each token shaded by the weights of one query, or by the weights that one key is given."""

from __future__ import annotations

import numpy as np

from viz_transformer import declared
from viz_transformer.analysis.attention.picture import Picture
from viz_transformer.figures.components import payload
from viz_transformer.figures.components.matrix import check_marks


def shading_payload(picture: Picture, *, grows: bool = False) -> bytes:
    """What the browser gets: all rows at once, of weights of at least 0.

    Queries and keys that are the same tokens of the same side are one paragraph, else each has its own. `grows`: tokens
    of the queries' side behind the selected query are shown as not written yet. Where the run has no number there is no
    shade; shades of rows of which more than 0.9 is hidden are faint.
    Raises ValueError if shapes and tokens do not fit, and for weights below 0.
    """
    grid, meta, (queries, keys) = np.asarray(picture.values, dtype=np.float32), picture.meta, picture.axes
    declared.shaped("weights", grid.shape, queries=len(queries), keys=len(keys))
    if np.any(grid < 0):
        raise ValueError(
            f"shades show weights of at least 0, the smallest is {np.nanmin(grid)}: the matrix shows signed ones"
        )
    check_marks(grid.shape, "weights", mask=picture.mask, there=picture.valid)
    said = picture.header(f"Text of {meta.title}: {queries.title} and {keys.title}", ("queries", "keys"))
    header = {
        **said,
        "together": queries.side == keys.side and said["queries"]["tokens"] == said["keys"]["tokens"],
        "scale": meta.scale,
    }
    if grows:
        header["grows"] = True
    if picture.hidden is not None:
        header["hidden"] = picture.hidden.tolist()
    arrays = {"weights": payload.weights(grid)} | payload.marks(mask=picture.mask, there=picture.valid)
    return payload.pack(header, **arrays)
