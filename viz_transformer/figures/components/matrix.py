"""The matrix: a map of weights or of signed numbers that one can point at, walk through, zoom and save; and one row of
it with what it is made of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from viz_transformer import declared
from viz_transformer.analysis.attention.picture import Axes, Meta, Picture
from viz_transformer.figures.components import payload
from viz_transformer.figures.components.tokens import token_data

if TYPE_CHECKING:
    from viz_transformer.analysis.weight.weight_numbers import QueryRow

Why = tuple[str, str] | tuple[()] | None
"""How a cell leads to the page that explains it: by what is chosen (None), by the fields of the selection that its row
and its column are there where the axes have others, or not at all: by no field."""
HEIGHT = 660


def check_marks(shape: tuple[int, ...], values: str, **marks: ArrayLike | None) -> None:
    """Raises ValueError for marks of another shape than the `values`, which are called so."""
    for what, cells in marks.items():
        if cells is not None and np.shape(cells) != shape:
            raise ValueError(f"{what} {np.shape(cells)} does not have the shape of the {values} {shape}")


def matrix_payload(
    picture: Picture,
    *,
    height: int = HEIGHT,
    grows: bool = False,
    follows: bool = False,
    exact: bool = False,
    bare: Sequence[Literal["left", "right"]] = (),
    why: Why = None,
) -> bytes:
    """What the browser gets.

    Colours go from 0 to 1, or to the largest value if the values are not bounded by 1, or are centred at 0. `grows`:
    rows behind the chosen one are drawn as not written yet, and come with the step. `follows`: it is the page's own map
    of weights: a key that nobody chose is that with most weight in the chosen row, and the strip is tinted by that row.
    Rows of which more than 0.9 is hidden are faint. exact: float32, however many tokens there are. bare: sides without
    labels, which the map beside it has. why: whether Enter and a double click lead to the page that explains a cell.
    Raises ValueError if the shapes and the numbers of tokens do not fit.
    """
    grid, meta = np.asarray(picture.values, dtype=np.float32), picture.meta
    declared.shaped("values", grid.shape, rows=len(picture.rows), columns=len(picture.columns))
    check_marks(grid.shape, "values", mask=picture.mask, there=picture.valid)
    label = f"Map of {meta.title}: {picture.rows.title} as rows, {picture.columns.title} as columns"
    header: dict[str, Any] = {
        **picture.header(label),
        "scale": meta.scale,
        "signed": meta.signed,
        "quantity": meta.quantity,
        "bounded": meta.bounded and not meta.signed,
        "height": height,
    }
    if meta.most is not None:
        header["most"] = meta.most
    if meta.names is not None:
        header["names"] = list(meta.names)
    if meta.notes:
        header["notes"] = list(meta.notes)
    if meta.digits:
        header["digits"] = meta.digits
    if meta.paired:
        header["paired"] = True
    if bare:
        header["bare"] = list(bare)
    if why is not None:
        header["why"] = why
    if grows:
        header["grows"] = True
    if follows and meta.bounded and not picture.rows.starts and not picture.columns.starts:
        header["follows"] = True
    if picture.hidden is not None:
        header["hidden"] = picture.hidden.tolist()
    values = payload.exact(grid) if exact else payload.weights(grid)
    return payload.pack(header, values=values, **payload.marks(mask=picture.mask, there=picture.valid))


def row_payload(numbers: QueryRow, axes: Axes, position: int, writes: str | None, meta: Meta) -> bytes:
    """One query against all keys, as strips: the keys, their products with the query, the scores, and the weights.

    axes: the two sides; `position` is the query's place on the first; writes: what its row writes.
    Raises ValueError if shapes and tokens do not fit.
    """
    queries, columns = axes
    q, k = np.asarray(numbers.query, dtype=np.float32), np.asarray(numbers.keys, dtype=np.float32)
    count = len(columns)
    if q.ndim != 1 or k.shape != (count, len(q)) or 0 in k.shape:
        raise ValueError(f"query {q.shape} and keys {k.shape} do not fit {count} tokens")
    by_key = {name: np.asarray(getattr(numbers, name)) for name in ("scores", "weights", "mask")}
    for what, values in by_key.items():
        declared.shaped(what, values.shape, tokens=count)
    declared.place("query", position, len(queries))
    header = {
        "title": meta.title,
        "label": f"{meta.title}: one query against {count} keys, as strips of keys, products, scores and weights",
        "name": meta.name,
        "caption": meta.caption,
        "query": queries.data(with_tokens=False),
        "token": queries.reads.at((position,)).data()[0],
        "position": position,
        "writes": None if writes is None else token_data([writes])[0],
        "keys": columns.data(),
        "scale": meta.scale,
        "fill": meta.fill,
    }
    return payload.pack(
        header,
        query=payload.exact(q),
        keys=payload.exact(k),
        scores=payload.exact(by_key["scores"]),
        weights=payload.exact(by_key["weights"]),
        mask=payload.bits(by_key["mask"]),
    )
