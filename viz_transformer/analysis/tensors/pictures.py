"""Tensors as pictures: a slice of a point, ready to be drawn, and one that is too large with its cells in blocks."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Literal

import numpy as np

from viz_transformer.analysis.attention.axes import Axis, Texts, numbered
from viz_transformer.analysis.attention.picture import ATTENTION_WEIGHT, Meta, Picture
from viz_transformer.analysis.tensors import points
from viz_transformer.model.kinds import KINDS, SIDES

MAX_SIDE, MAX_CELLS = 8192, 2**19
"""The most rows or columns, and the most cells, that are drawn one by one; more are drawn in blocks."""
TRUE_OR_FALSE = ("False", "True: may attend")
DIGITS, DIGITS_OF_FLOAT64 = 9, 5


def slice_picture(view: points.PointView, shown: points.Slice, meta: Meta, *, selects: bool = True) -> Picture:
    """The picture of a slice of a point, with its numbers unchanged and its own scale; `meta` has its other texts.

    meta.most: the value with full colour. selects: positions are those of the run that the selection is of.
    """
    axes = (_axis(view, shown.rows, selects), _axis(view, shown.columns, selects))
    values, most = shown.values, meta.most or 0.0
    own = "derived" if view.origin != "recorded" else view.kind
    if view.scale == "mask":
        meta = replace(meta, scale=own, quantity="value", bounded=False, most=None, names=TRUE_OR_FALSE)
    elif view.scale == "weights" and np.fmin.reduce(values, axis=None) >= 0:
        meta = replace(meta, scale=own, bounded=most <= 1, most=most if most > 1 else None)
    else:
        quantity = "difference" if view.origin == "difference" else "value"
        unit = quantity if meta.unit == ATTENTION_WEIGHT else meta.unit
        meta = replace(meta, scale="diverging", quantity=quantity, unit=unit, bounded=False, most=most or None)
    digits = DIGITS_OF_FLOAT64 if values.dtype == np.float64 else DIGITS
    return Picture(values, axes, np.ones(values.shape, dtype=bool), replace(meta, digits=digits, adds_up=False))


def in_blocks(picture: Picture, most: int = 0) -> Picture:
    """The picture with at most `most` rows and columns (0: MAX_SIDE) and MAX_CELLS cells. If it has more, each cell is
    a block and shows its value farthest from 0, or True if any is; title and legend say so."""
    rows, columns = (math.ceil(size / (most or MAX_SIDE)) for size in picture.values.shape)
    tall, wide = picture.values.shape
    while math.ceil(tall / rows) * math.ceil(wide / columns) > MAX_CELLS:
        if tall / rows > wide / columns:
            rows += 1
        else:
            columns += 1
    if rows == columns == 1:
        return picture
    pooled = points.pooled(picture.values, (rows, columns))
    down, across = (_blocks(axis, step) for axis, step in zip(picture.axes, (rows, columns), strict=True))
    what = "a block is True if any cell is" if picture.meta.names else "of a block its value farthest from 0"
    title = f"{picture.meta.title}, max-pooled in blocks of {rows} × {columns}"
    mask = np.ones(pooled.shape, dtype=bool)
    return replace(picture, values=pooled, axes=(down, across), mask=mask).with_meta(
        title=title, notes=(*picture.meta.notes, what)
    )


def _axis(view: points.PointView, axis: points.Axis, selects: bool) -> Axis:
    """One axis of a slice; its places are positions of the run if they have tokens of one of its texts."""
    field: Literal["i", "j", "t", "u", ""] = ""
    if selects and axis.side is not None and axis.labels is not None:
        at = {"Q": KINDS[view.kind].fields[0], "K": KINDS[view.kind].fields[1]}
        field = at.get(axis.letter) or SIDES[axis.side].field
    texts = numbered(axis.size) if axis.labels is None else Texts(axis.labels)
    return Axis(field, axis.name, axis.title, axis.side, texts)


def _blocks(axis: Axis, step: int) -> Axis:
    """The axis with a place for each `step` of its places, named by the first."""
    if step == 1:
        return axis
    starts = range(0, len(axis), step)
    ends = tuple(min(start + step, len(axis)) for start in starts)
    return replace(
        axis, role=_plural(axis.role), reads=axis.reads.at(starts), starts=tuple(starts), ends=ends, blocks=True
    )


def _plural(noun: str) -> str:
    return f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
