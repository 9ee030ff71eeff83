"""Attention from arrays and words: one head as a map or as shaded text, up to six as lines, all heads as thumbnails.

The pictures are those of the pages, self-contained for a notebook or a file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from viz_transformer import declared
from viz_transformer.analysis.attention.axes import Axes, Axis, Texts, attention_axes
from viz_transformer.analysis.attention.picture import ATTENTION_WEIGHT, HEIGHT, Heads, Meta, Picture, Spread
from viz_transformer.figures.components.grid import GridScore, HeadMaps, grid_payload
from viz_transformer.figures.components.standalone import HtmlFigure
from viz_transformer.figures.labels import file_name
from viz_transformer.given import takes_named
from viz_transformer.model.kinds import KINDS, KindName

if TYPE_CHECKING:
    from viz_transformer.analysis.attention.head_scores import Score


class Captions(TypedDict, total=False):
    """The captions of a picture of attention."""

    scale_name: str
    """What a colour means."""
    caption: str
    """The text below a saved picture."""


class Words(Captions, total=False):
    """The optional settings of a picture of attention."""

    hidden: ArrayLike | None
    """[Q], or [N, Q] for several maps: the share of each row's weight on keys that were left out; rows above 0.9 are
    faint."""
    mask: ArrayLike | None
    """[Q, K], True = may attend; masked cells are hatched, with their weight in the tooltip."""
    there: ArrayLike | None
    """[Q, K], False where there is no value."""
    query_writes: Sequence[str] | None
    """The token that each decoder row writes."""
    query_originals: Sequence[str] | None
    """The typed text of each query token; where they differ, both are shown."""
    key_originals: Sequence[str] | None
    """The same for keys."""
    derived: bool
    """Whether to draw in grey."""
    spread: Spread
    """The range of the weights: shares, with full colour at 1, or beyond, with full colour at the largest; with
    negative ones on a diverging scale."""
    fill: str
    """The name of the value that the model writes into masked scores."""
    name: str
    """The file name of a saved picture."""


@takes_named
def attention_heatmap(
    weights: ArrayLike,
    query_tokens: Sequence[str],
    key_tokens: Sequence[str],
    *,
    title: str,
    kind: KindName = "cross",
    selected_query: int | None = None,
    height: int = HEIGHT,
    **words: Unpack[Words],
) -> HtmlFigure:
    """The weights of one head as a map, queries as rows, keys as columns; in grey if it is derived, such as a mean.

    weights: [Q, K]; NaN is dotted. query_tokens, key_tokens: what each row and column reads; tokens may repeat and hold
    anything, "<b>" stays "<b>". selected_query: the row that has a ring. All else is in `Words`.
    Each weight is there as float32, bit by bit: a file of 1,024 x 1,024 tokens has 4 to 5 MB.
    Raises ValueError if the shapes and the numbers of tokens do not fit.
    """
    made = _picture(weights, _axes(kind, query_tokens, key_tokens, words), title, kind, words)
    made = replace(made, hidden=_shares(words.get("hidden"), len(query_tokens)))
    spread = words.get("spread", "shares")
    made = made.with_meta(scale="diverging") if spread == "signed" else made.with_meta(bounded=spread == "shares")
    data = made.pack(height=height, exact=True)
    return HtmlFigure("matrix", data, title, _check_query(made.rows, selected_query))


@takes_named
def attention_lines(
    weights: ArrayLike,
    query_tokens: Sequence[str],
    key_tokens: Sequence[str],
    *,
    title: str,
    heads: Sequence[str] = (),
    kind: KindName = "cross",
    height: int = HEIGHT,
    **words: Unpack[Words],
) -> HtmlFigure:
    """Lines from queries to keys, as opaque as the weight: one head in its kind's colour, or two to six in their own.

    weights: [Q, K], or [N, Q, K] with the names of the N maps in `heads`; at least 0 or NaN. Masked pairs have no line;
    lines of small weights are hidden below a threshold that can be moved. All else, and `words`, is as in
    `attention_heatmap`.
    Raises ValueError for shapes, names and tokens that do not fit, more than six maps, several derived ones, and
    weights below 0.
    """
    maps = np.asarray(weights, dtype=np.float32)
    maps = maps[None] if maps.ndim == 2 else maps
    hidden = words.get("hidden")
    shares = None if hidden is None else np.atleast_2d(np.asarray(hidden, dtype=np.float64))
    axes = _axes(kind, query_tokens, key_tokens, words)
    made = _picture(maps[:1].sum(axis=0), axes, title, kind, words)
    mask = words.get("mask")
    drawn = Heads(tuple(heads) or (title,), maps, shares, None if mask is None else np.asarray(mask, dtype=bool))
    return HtmlFigure("lines", replace(made, heads=drawn).pack_lines(height=height), title)


@takes_named
def attention_text(
    weights: ArrayLike,
    query_tokens: Sequence[str],
    key_tokens: Sequence[str],
    *,
    title: str,
    kind: KindName = "cross",
    selected_query: int = 0,
    **words: Unpack[Words],
) -> HtmlFigure:
    """The text itself, each token shaded by the weight that the selected query gives it; a click selects another one.

    All else is as in `attention_heatmap`; above 512 tokens a side weights have 16 bits and are marked as rounded.
    """
    made = _picture(weights, _axes(kind, query_tokens, key_tokens, words), title, kind, words)
    made = replace(made, hidden=_shares(words.get("hidden"), len(query_tokens)))
    return HtmlFigure("shading", made.pack_text(), title, _check_query(made.rows, selected_query))


@takes_named
def head_grid(
    maps: NDArray[Any] | Sequence[ArrayLike],
    *,
    kind: KindName,
    title: str,
    mask: ArrayLike | None = None,
    there: ArrayLike | None = None,
    scores: Sequence[Score] = (),
    **captions: Unpack[Captions],
) -> HtmlFigure:
    """All heads of one kind of attention as thumbnails, which can be sorted by scores; layers are rows, heads columns.

    maps: [L, H, Q, K], or L arrays [H, Q, K], at least 0, or NaN, which is dotted. mask, there: what broadcasts to [L,
    H, Q, K], True = may attend, and False where there is no number, which stays blank. scores: as
    `analysis.head_scores` gives them; each head's score is shown below its thumbnail, and in the tooltip with its
    baseline and number of rows.
    Thumbnails are to find a head by: they have at most 64 x 64 cells in few colours, and no numbers.
    Raises ValueError for shapes that do not fit, and for weights below 0 or infinite.
    """
    unit = captions.get("scale_name", ATTENTION_WEIGHT)
    meta = Meta(title, captions.get("caption") or title, file_name(title), unit=unit)
    rows = [GridScore(each.name, each.values, each.baseline, each.n, each.formula) for each in scores]
    return HtmlFigure("grid", grid_payload(HeadMaps(kind, maps, mask, there), meta, rows), title)


def _axes(kind: KindName, query_tokens: Sequence[str], key_tokens: Sequence[str], words: Words) -> Axes:
    """The axes of one kind of attention."""
    declared.one_of("kind", kind, KINDS)
    sides = []
    for tokens, typed in ((query_tokens, words.get("query_originals")), (key_tokens, words.get("key_originals"))):
        if typed is not None:
            declared.same_count(typed_tokens=len(typed), tokens=len(tokens))
        sides.append(Texts(tokens, typed))
    writes = words.get("query_writes")
    queries, keys = sides
    return attention_axes(kind, queries, keys, None if writes is None else Texts(writes))


def _picture(weights: ArrayLike, axes: Axes, title: str, kind: KindName, words: Words) -> Picture:
    """The picture of one kind of attention, from arrays and words."""
    values, mask, there = np.asarray(weights, dtype=np.float32), words.get("mask"), words.get("there")
    meta = Meta(
        title,
        words.get("caption") or title,
        words.get("name") or file_name(title),
        scale="derived" if words.get("derived") else kind,
        unit=words.get("scale_name", ATTENTION_WEIGHT),
        fill=words.get("fill", ""),
    )
    is_open = np.ones(values.shape, dtype=bool) if mask is None else np.asarray(mask, dtype=bool)
    return Picture(values, axes, is_open, meta, None if there is None else np.asarray(there, dtype=bool))


def _shares(hidden: ArrayLike | None, queries: int) -> NDArray[np.float64] | None:
    if hidden is None:
        return None
    declared.shaped("hidden shares", np.shape(hidden), query_tokens=queries)
    return np.asarray(hidden, dtype=np.float64)


def _check_query(rows: Axis, query: int | None) -> dict[str, int]:
    return {} if query is None else {rows.field: declared.place("query", query, len(rows))}
