"""The matrix: a map of weights or of signed numbers that one can point at, walk through, zoom and save."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from viz_transformer.figures.components import payload
from viz_transformer.model.kinds import KINDS, KindName, SideName

Scale = KindName | Literal["derived", "diverging"]
Why = tuple[str, str] | tuple[()] | None
"""How a cell leads to the page that explains it: by what is chosen (None), by the fields of the selection that its row
and its column are there where the axes have others, or not at all: by no field."""
HEIGHT = 660
FILLS: Mapping[str, str] = {"-inf": "-inf", "-1e9": "-1e9", "-1e10": "-1e10", "added-1e9": "-1e9 added"}
"""What a config's mask fill puts in masked places, in words; one that is not here leaves them at 0."""


@dataclass(frozen=True)
class Axis:
    """One side of a map. `field` is the selection's word for a place on it, `side` gives the ink of its labels.

    `starts` and `ends` are the positions in the run at which each place begins and those behind its last, where a place
    is a word or some positions are left out.
    """

    field: Literal["i", "j", "t", "u"]
    role: str
    title: str
    side: SideName
    tokens: Sequence[Mapping[str, Any]]
    starts: tuple[int, ...] = ()
    ends: tuple[int, ...] = ()

    def data(self) -> dict[str, Any]:
        return {
            "field": self.field,
            "role": self.role,
            "axis": self.title,
            "ink": f"{self.side}-ink",
            "tokens": self.tokens,
            "starts": self.starts or None,
            "ends": self.ends or None,
        }


def attention_axes(
    kind: KindName, queries: Sequence[Mapping[str, Any]], keys: Sequence[Mapping[str, Any]]
) -> tuple[Axis, Axis]:
    """The two sides of a kind of attention, with their tokens as `token_data` makes them."""
    known = KINDS[kind]
    row, column = known.fields
    return (
        Axis(row, "query", "reads" if known.writes else "queries", known.queries.name, queries),
        Axis(column, "key", f"keys, {known.keys.name}", known.keys.name, keys),
    )


def check_marks(shape: tuple[int, ...], values: str, **marks: ArrayLike | None) -> None:
    """Raises ValueError for marks of another shape than the `values`, which are called so."""
    for what, cells in marks.items():
        if cells is not None and np.shape(cells) != shape:
            raise ValueError(f"{what} {np.shape(cells)} does not have the shape of the {values} {shape}")


def check_writes(writes: Sequence[Mapping[str, Any]] | None, count: int, rows: str) -> None:
    """Raises ValueError unless there is a written token for each of so many `rows`, which are called so, or none."""
    if writes is not None and len(writes) != count:
        raise ValueError(f"{len(writes)} written tokens do not fit {count} {rows}")


def matrix_payload(
    values: ArrayLike,
    rows: Axis,
    columns: Axis,
    *,
    title: str,
    name: str,
    caption: str,
    scale: Scale,
    unit: str,
    quantity: str,
    mask: ArrayLike | None = None,
    there: ArrayLike | None = None,
    fill: str = "",
    bounded: bool = True,
    writes: Sequence[Mapping[str, Any]] | None = None,
    height: int = HEIGHT,
    most: float | None = None,
    grows: bool = False,
    follows: bool = False,
    hidden: NDArray[np.float64] | None = None,
    exact: bool = False,
    bare: Sequence[Literal["left", "right"]] = (),
    why: Why = None,
) -> bytes:
    """What the browser gets. values: [R, C]; mask: [R, C], True = may attend; there: [R, C], False where the run has no
    number, which is left empty.

    scale: "diverging" is centred at 0 and for signed numbers; the others go from 0 to 1, or to their largest value if
    the values are not `bounded` by 1. `quantity` is the word for one value ("weight"), `unit` the words of the legend,
    `fill` what the model puts in masked places, `name` a file name. `most` is the value of full colour on the diverging
    scale, for two maps that share one; without it that is the map's own largest. `grows`: rows behind the chosen one
    are drawn as not written yet, and come with the step. `follows`: a key that nobody chose is that with most weight in
    the chosen row, and the strip is tinted by that row. hidden: [R], the share of each row's weight that keys hold
    which are left out; rows of which that is more than 0.9 are faint. exact: float32, however many tokens there are.
    bare: sides without labels, which the map beside it has. why: whether Enter and a double click lead to the page that
    explains a cell. Raises ValueError if the shapes and the numbers of tokens do not fit.
    """
    grid = np.asarray(values, dtype=np.float32)
    if grid.shape != (len(rows.tokens), len(columns.tokens)) or 0 in grid.shape:
        raise ValueError(f"values {grid.shape} do not fit {len(rows.tokens)} rows and {len(columns.tokens)} columns")
    check_marks(grid.shape, "values", mask=mask, there=there)
    check_writes(writes, grid.shape[0], "rows")
    header: dict[str, Any] = {
        "title": title,
        "label": f"Map of {title}: {rows.title} as rows, {columns.title} as columns",
        "name": name,
        "caption": caption,
        "rows": rows.data(),
        "columns": columns.data(),
        "writes": writes,
        "scale": scale,
        "signed": scale == "diverging",
        "unit": unit,
        "quantity": quantity,
        "fill": fill,
        "bounded": bounded and scale != "diverging",
        "height": height,
    }
    if most is not None:
        header["most"] = most
    if bare:
        header["bare"] = list(bare)
    if why is not None:
        header["why"] = why
    if grows:
        header["grows"] = True
    if follows:
        header["follows"] = True
    if hidden is not None:
        header["hidden"] = hidden.tolist()
    arrays = {"values": payload.exact(grid) if exact else payload.weights(grid)} | payload.marks(mask=mask, there=there)
    return payload.pack(header, **arrays)
