"""Lines from each query to each key, as opaque as the weight: one head in its kind's colour, or up to six heads."""

from __future__ import annotations

import numpy as np

from viz_transformer import declared
from viz_transformer.analysis.attention.picture import Heads, Picture
from viz_transformer.figures.components import payload
from viz_transformer.figures.theme import MAX_HEADS

HEIGHT = 480
MAX_TOKENS = 256
"""Above this many tokens a side there are no lines, only a sentence."""
MAX_LINES = 20_000
"""The strongest lines are drawn, up to this many."""


def lines_payload(picture: Picture, *, title: str = "", height: int = HEIGHT) -> bytes:
    """What the browser gets: lines of the picture's heads, or of its values.

    Masked pairs get no line, nor do those of which the run has no number. The scale is the colour of a single map; two
    to six have the colours of heads. Above 256 tokens a side no weights are sent. Lines of rows of which more than 0.9
    is hidden are faint. title: where that is not the picture's own, which then names its one map.
    Raises ValueError if shapes, names and tokens do not fit, for weights below 0, for more than six maps, and for
    several if they are derived.
    """
    own = None if picture.hidden is None else picture.hidden[None]
    single = Heads((picture.meta.title,), np.asarray(picture.values, dtype=np.float32)[None], own)
    drawn, meta, (queries, keys) = picture.heads or single, picture.meta, picture.axes
    maps, heads = np.asarray(drawn.values, dtype=np.float32), drawn.names
    mask = picture.mask if drawn.mask is None else drawn.mask
    declared.shaped("weights", maps.shape, heads=len(heads), queries=len(queries), keys=len(keys))
    if len(heads) > MAX_HEADS:
        raise ValueError(f"colours tell at most {MAX_HEADS} heads apart, {len(heads)} were given: choose fewer")
    if meta.scale == "derived" and len(heads) > 1:
        raise ValueError(f"a derived map is drawn alone, in grey, but {len(heads)} were given: choose one")
    if np.any(maps < 0):
        raise ValueError(
            f"lines show weights of at least 0, the smallest is {np.nanmin(maps)}: the matrix shows signed ones"
        )
    if np.shape(mask) not in (maps.shape, maps.shape[1:]):
        raise ValueError(f"mask {np.shape(mask)} does not have the shape of the weights {maps.shape}")
    if picture.valid is not None and np.shape(picture.valid) != maps.shape[1:]:
        raise ValueError(f"there {np.shape(picture.valid)} does not fit the weights {maps.shape}")
    too_long = max(maps.shape[1:]) > MAX_TOKENS
    called = picture.said(title=title) if title else picture
    label = f"Lines of {called.meta.title}: {queries.title} on the left, {keys.title} on the right"
    header = {
        **called.header(label, ("queries", "keys"), with_tokens=not too_long),
        "heads": heads,
        "colours": [f"heads-{i}" for i in range(len(heads))] if len(heads) > 1 else [f"{meta.scale}-5"],
        "most_tokens": MAX_TOKENS,
        "most_lines": MAX_LINES,
        "height": height,
    }
    if drawn.hidden is not None:
        header["hidden"] = drawn.hidden.tolist()
    if too_long:
        return payload.pack(header)
    return payload.pack(header, weights=payload.exact(maps), **payload.marks(mask=mask, there=picture.valid))
