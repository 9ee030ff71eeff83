"""A slice of a point, and a table of positions, are pictures: what is drawn, their table and A - B are the same."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from builders import tiny_checkpoint

from viz_transformer import payload
from viz_transformer.analysis.attention.axes import Axis, Span, Texts, numbered
from viz_transformer.analysis.attention.picture import Meta, Picture
from viz_transformer.analysis.positions.pictures import table_picture
from viz_transformer.analysis.tensors import pictures
from viz_transformer.analysis.tensors.pictures import in_blocks, slice_picture
from viz_transformer.analysis.tensors.points import difference_view, point_view, shown_slice
from viz_transformer.model.kinds import SIDES
from viz_transformer.running.decoding import decode

META = Meta("a title", "a caption", "picture", most=2.0)


@pytest.fixture(scope="module")
def run():
    return decode(tiny_checkpoint(), "abc", max_steps=4).trace


def of(run, name, at=(0, 0), meta=META, **how):
    view = point_view(run, name)
    return slice_picture(view, shown_slice(view, at[: len(view.leading)]), meta, **how)


def test_a_slice_is_drawn_bit_by_bit_and_its_table_is_the_same(run):
    made = of(run, "decoder.1.ffn.out")
    recorded = run["decoder.1.ffn.out"][0].numpy()
    header, arrays = payload.unpack(made.pack(exact=True, why=()))
    assert arrays["values"].tobytes() == recorded.tobytes() == made.table().to_numpy(np.float32).tobytes()
    assert header["columns"] == {
        "field": "",
        "role": "feature",
        "axis": "features",
        "ink": "muted",
        "tokens": [],
        "starts": None,
        "ends": None,
        "count": recorded.shape[1],
        "numbered": True,
    }
    assert (header["rows"]["field"], header["rows"]["ink"]) == ("t", "target-ink")
    assert list(made.table().columns) == [*range(recorded.shape[1])]


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("encoder.0.self.weights", ("i", "j")),
        ("decoder.0.self.mask", ("t", "u")),
        ("decoder.0.cross.scores", ("t", "i")),
        ("encoder.0.self.query", ("i", "")),
        ("decoder.0.cross.key", ("i", "")),
    ],
)
def test_positions_of_the_run_are_those_of_the_selection_and_those_of_a_file_are_not(run, name, fields):
    assert tuple(axis.field for axis in of(run, name).axes) == fields
    assert tuple(axis.field for axis in of(run, name, selects=False).axes) == ("", "")


def test_the_scale_is_that_of_the_kind_of_numbers(run):
    weights, mask, value = (of(run, f"decoder.0.self.{what}").meta for what in ("weights", "mask", "value"))
    assert (weights.scale, weights.bounded, weights.most, weights.unit) == ("decoder", False, 2.0, "attention weight")
    shares = of(run, "decoder.0.self.weights", meta=replace(META, most=1.0)).meta
    assert shares.bounded and shares.most is None
    assert (mask.scale, mask.names, mask.bounded) == ("decoder", ("False", "True: may attend"), False)
    assert (value.scale, value.unit, value.most, value.digits) == ("diverging", "value", 2.0, 9)
    less = difference_view(run, run, "decoder.0.self.weights")
    made = slice_picture(less, shown_slice(less, (0, 0)), replace(META, unit="A − B"))
    assert (made.meta.scale, made.meta.quantity, made.meta.unit) == ("diverging", "difference", "A − B")
    assert made.values.dtype == np.float64 and made.meta.digits == 5  # what is sent has 24 of its 53 bits


def test_dropped_weights_below_0_are_drawn_as_signed_numbers(run):
    view = replace(point_view(run, "decoder.0.self.weights"), values=-torch.ones(1, 1, 2, 2))
    shown = shown_slice(view, (0, 0))
    assert slice_picture(view, shown, META).meta.signed


def test_a_picture_that_is_too_large_has_blocks_and_says_so(monkeypatch):
    monkeypatch.setattr(pictures, "MAX_SIDE", 4)
    tokens = Texts(tuple("abcdefghi"))
    axes = (Axis("t", "query", "queries", "target", Texts(("q",))), Axis("", "vocabulary entry", "", None, tokens))
    large = Picture(np.array([[1, -5, 2, 3, 0, 0, np.nan, 8, -7]]), axes, np.ones((1, 9), bool), META)
    drawn = in_blocks(large)
    assert drawn.values.tolist()[0][:2] == [-5, 3] and np.isnan(drawn.values[0, 2]) and drawn.values.shape == (1, 3)
    assert (drawn.columns.reads.tokens, drawn.columns.role) == (("a", "d", "g"), "vocabulary entries")
    assert (drawn.columns.starts, drawn.columns.ends, drawn.columns.blocks) == ((0, 3, 6), (3, 6, 9), True)
    assert drawn.meta.title == "a title, max-pooled in blocks of 1 × 3"
    assert drawn.meta.notes == ("of a block its value farthest from 0",)
    assert drawn.rows == large.rows and in_blocks(drawn) is drawn
    assert large.table().shape == (1, 9)  # a table has all of them


def test_a_picture_has_no_more_cells_than_are_sent(monkeypatch):
    monkeypatch.setattr(pictures, "MAX_CELLS", 100)
    axes = (Axis("", "position", "", None, numbered(30)), Axis("", "feature", "", None, numbered(40)))
    drawn = in_blocks(
        Picture(np.ones((30, 40), bool), axes, np.ones((30, 40), bool), replace(META, names=("no", "yes")))
    )
    assert drawn.values.size <= 100 and drawn.values.all() and drawn.values.dtype == bool
    assert drawn.meta.notes == ("a block is True if any cell is",)


def test_a_table_of_positions_says_which_rows_are_read_trained_and_picked():
    values = np.arange(12, dtype=np.float32).reshape(4, 3)
    made = table_picture(values, META, side=SIDES["source"], read=2, trained=3, picked=(2, 0))
    assert made.rows.spans == (Span(0, 2, "bar", "rows of this run"), Span(3, 4, "hatched", "never trained"))
    assert [(span.start, span.ink) for span in made.columns.spans] == [(2, "heads-0"), (0, "heads-1")]
    assert (made.rows.field, made.rows.reach, made.columns.field) == ("i", 2, "")
    assert made.csv().decode() == "position,0,1,2\n0,0.0,1.0,2.0\n1,3.0,4.0,5.0\n2,6.0,7.0,8.0\n3,9.0,10.0,11.0\n"
    other = table_picture(values * 0.5, META)
    assert other.rows.field == "" and other.rows.spans == other.columns.spans == ()
    less = made - other
    assert np.array_equal(less.values, values / 2) and less.axes == made.axes and less.meta.digits == 9
