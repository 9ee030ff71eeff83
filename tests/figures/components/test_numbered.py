"""A matrix whose sides are no tokens: numbered places, places that no selection knows, and marks along them."""

import numpy as np
from drawing import picture_of

from viz_transformer import payload
from viz_transformer.analysis.attention.axes import Axis, Span, numbered

SAID = {"scale": "diverging", "unit": "value", "quantity": "value", "bounded": False, "digits": 9}


def positions(rows, columns, **said):
    """A table whose first three rows a run reads; the rows from 4 on were never trained, and column 1 is picked."""
    values = np.sin(np.arange(rows * columns, dtype=np.float32)).reshape(rows, columns)
    spans = (Span(0, 3, "bar", "rows of this run"), Span(4, rows, "hatched", "never trained"))
    axes = (
        Axis("i", "position", "position", None, numbered(rows), reach=3, spans=spans),
        Axis("", "dimension", "dimension", None, numbered(columns), spans=(Span(1, 2, "mark", ink="heads-0"),)),
    )
    return picture_of(values, *axes, **{**SAID, **said})


def data(picture):
    return picture.pack(height=420, exact=True, why=())


def test_places_along_numbered_sides_are_not_sent_one_by_one():
    header, _ = payload.unpack(data(positions(6, 4000)))
    assert header["columns"]["tokens"] == [] and header["columns"]["count"] == 4000
    assert len(data(positions(1, 4000))) < 4 * 4000 + 2000


def test_reach_spans_and_digits_of_numbered_sides_are_sent():
    header, _ = payload.unpack(data(positions(6, 8)))
    assert header["rows"]["reach"] == 3 and header["digits"] == 9 and header["columns"]["field"] == ""
    spans = [(span["start"], span["end"], span["look"], span["text"]) for span in header["rows"]["spans"]]
    assert spans == [(0, 3, "bar", "rows of this run"), (4, 6, "hatched", "never trained")]
    assert (header["columns"]["spans"][0]["start"], header["columns"]["spans"][0]["ink"]) == (1, "heads-0")


def test_the_words_of_false_and_true_are_sent():
    names = ("False", "True: may attend")
    made = picture_of(np.eye(3), *positions(3, 3).axes, **{**SAID, "names": names, "scale": "encoder"})
    assert payload.unpack(data(made))[0]["names"] == [*names]
