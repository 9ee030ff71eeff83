"""Strips have the vectors' numbers in their cells, bars the numbers' heights, and both say what they show."""

import itertools

import numpy as np
import pytest

from viz_transformer.analysis.weight.weight_numbers import Numbers
from viz_transformer.figures import theme
from viz_transformer.figures.one_weight import BarLook, bars, strips, two_rows
from viz_transformer.model.kinds import KINDS


def vector(values, name="query", axis="dimension", **more):
    return Numbers(name, np.asarray(values, dtype=np.float64), axis, **more)


def notes(figure):
    return [annotation.text for annotation in figure.layout.annotations]


# ---- strips


@pytest.mark.parametrize("mode", theme.THEMES)
def test_vectors_share_one_scale_and_a_matrix_has_its_own(mode):
    matrix = np.array([[0.1, -0.2, 0.05], [0.0, 0.1, -0.1]])
    figure = strips([vector([1, -4]), vector([2, 0.5, 1]), vector(matrix, name="W")], theme=mode)
    assert [(each.zmin, each.zmax) for each in figure.data] == [(-4, 4), (-4, 4), (-0.2, 0.2)]
    np.testing.assert_allclose(figure.data[0].z, [[1, -4]])
    np.testing.assert_allclose(figure.data[2].z, matrix, rtol=1e-6)
    assert notes(figure) == ["query", "2 dimensions<br>±4", "query", "3 dimensions<br>±4", "W", "2 × 3<br>±0.2"]
    assert figure.data[0].colorscale[0][1] == theme.palette(mode).diverging[0]


def test_strips_lie_below_each_other_over_the_whole_width():
    figure = strips([vector(np.ones(3)), vector(np.ones((40, 5))), vector(np.ones(200))])
    ends = [(each.y[0], each.y[-1]) for each in figure.data]
    assert all(last < first for (_, last), (first, _) in itertools.pairwise(ends))
    assert figure.layout.yaxis.range == (ends[-1][1], 0)
    assert all((each.x[0], each.x[-1], len(each.x)) == (0, 1, np.shape(each.z)[1] + 1) for each in figure.data)


def test_few_cells_carry_their_numbers_and_many_do_not():
    few, many = strips([vector(np.linspace(-1, 1, 8)), vector(np.linspace(-1, 1, 9))]).data
    assert few.text[0][0] == "-1.00" and few.texttemplate == "%{text}"
    assert many.text is None


def test_the_tooltip_has_place_and_value_and_no_markup_of_a_name():
    figure = strips([vector([0.25, 0.5], name="<b>x", axis="feature"), vector([[1.0], [2.0]], axis="feature")])
    assert figure.data[0].customdata[0][1] == "&lt;b&gt;x, feature 1<br>0.5"
    assert figure.data[1].customdata[1][0] == "query, dimension 1, feature 0<br>2"
    assert notes(figure)[0] == "&lt;b&gt;x"


def test_a_span_and_a_picked_row_are_framed():
    figure = strips([vector(np.zeros(8), span=(2, 4)), vector(np.zeros((4, 3)), picked=1)])
    slot, row = figure.layout.shapes
    assert (slot.x0, slot.x1) == (0.25, 0.5)
    block = figure.data[1].y
    assert (row.x0, row.x1, row.y0, row.y1) == (0, 1, block[1], block[2])


def test_zeros_and_nan_have_a_scale():
    figure = strips([vector([0.0, np.nan])])
    assert (figure.data[0].zmin, figure.data[0].zmax) == (-1, 1)
    with pytest.raises(ValueError, match="there is no vector"):
        strips([])


# ---- bars


def test_bars_have_the_numbers_heights_signs_have_colours_and_the_picked_one_an_outline():
    figure = bars([1.0, -2.0, 0.0], BarLook(quantity="q × k", title="by dimension", picked=1))
    (bar,) = figure.data
    assert list(bar.y) == [1, -2, 0]
    assert list(bar.marker.color) == [theme.LIGHT.diverging[i] for i in (5, 1, 5)]
    assert list(bar.marker.line.width) == [0, 2, 0]
    assert list(bar.customdata) == ["q × k 1", "q × k -2", "q × k 0"]
    assert notes(figure) == ["q × k", "by dimension"]


def test_the_running_sum_ends_where_the_products_add_up():
    figure = bars([1.0, -2.0, 4.0], BarLook(quantity="q × k", title=""), running=[1.0, -1.0, 3.0])
    assert list(figure.data[1].y) == [1, -1, 3]
    assert figure.data[1].customdata[2] == "sum of 0 to 2: 3"


@pytest.mark.parametrize("kind", KINDS)
def test_weights_have_their_kinds_colour_and_an_even_head_is_marked(kind):
    figure = bars([0.25, 0.75], BarLook(quantity="weight", title="by key", kind=kind, theme="dark"), even=0.5)
    assert set(figure.data[0].marker.color) == {getattr(theme.DARK, kind)[4]}
    assert 0.5 in [shape.y0 for shape in figure.layout.shapes]


def test_equal_tokens_stay_apart_and_are_text():
    said = {"ticks": ["<b>", "<b>"], "hover": ["key 0: <b>", "key 1: <b>"]}
    figure = bars([0.5, 0.5], BarLook(quantity="weight", title="by key", **said))
    assert list(figure.layout.xaxis.tickvals) == [0, 1]
    assert list(figure.layout.xaxis.ticktext) == ["&lt;b&gt;"] * 2
    assert list(figure.data[0].customdata) == ["key 0: &lt;b&gt;", "key 1: &lt;b&gt;"]


def test_many_ticks_are_thinned_out_and_long_ones_stand_upright():
    figure = bars(np.ones(300), BarLook(quantity="weight", title="", ticks=["token"] * 300))
    assert len(figure.layout.xaxis.tickvals) < 40
    assert figure.layout.xaxis.tickangle == -90
    few = BarLook(quantity="weight", title="", ticks=["a"] * 3)
    assert bars(np.ones(3), few).layout.xaxis.tickangle == 0


@pytest.mark.parametrize("wrong", [{"ticks": ["a"]}, {"hover": ["a"]}, {"running": [1.0]}])
def test_lengths_that_do_not_fit_are_refused(wrong):
    with pytest.raises(ValueError, match="do not fit 2 values"):
        sums = {name: wrong.pop(name) for name in ("running",) if name in wrong}
        bars([1.0, 2.0], BarLook(quantity="", title="", **wrong), **sums)


# ---- two rows


def rows(a, b, **more):
    count = len(a)
    named = {"quantity": "weight", "title": "A − B", "ticks": [*"abcdefgh"][:count], "hover": ["says"] * count}
    return two_rows(a, b, BarLook(kind="cross", **{**named, **more}))


@pytest.mark.parametrize("mode", theme.THEMES)
def test_two_rows_stand_beside_each_other_and_their_difference_below(mode):
    figure = rows([0.5, 0.25, 0.25], [0.25, 0.75, 0.0], theme=mode, picked=1)
    first, second, less = figure.data
    np.testing.assert_array_equal(first.y, [0.5, 0.25, 0.25])
    np.testing.assert_array_equal(second.y, [0.25, 0.75, 0.0])
    np.testing.assert_array_equal(less.y, [0.25, -0.5, 0.25])
    assert [each.name for each in figure.data] == ["A", "B", "A − B"]
    assert first.marker.color != second.marker.color == theme.palette(mode).page
    diverging = theme.palette(mode).diverging
    assert list(less.marker.color) == [diverging[5], diverging[1], diverging[5]]
    assert list(figure.layout.xaxis.ticktext) == ["a", "<b>b</b>", "c"]


@pytest.mark.parametrize(
    ("a", "b"),
    [([0.5, 0.25, 0.25], [0.25, 0.75, 0.0]), ([0.0, -30.0], [-1.0, 0.0]), ([0.5, np.nan], [0.5, 1.0]), ([0.0], [0.0])],
)
def test_a_unit_is_as_tall_below_as_above_and_every_bar_is_inside(a, b):
    figure = rows(a, b)
    heights = []
    for axis, values in ((figure.layout.yaxis, [*a, *b]), (figure.layout.yaxis2, np.subtract(a, b))):
        (low, high), (start, end) = axis.range, axis.domain
        assert low <= np.nanmin([0, *values]) and high >= np.nanmax([0, *values])
        heights.append((end - start) / (high - low))
    assert heights[0] == pytest.approx(heights[1], rel=1e-6)
    assert figure.layout.yaxis2.domain[1] < figure.layout.yaxis.domain[0]


def test_tokens_of_two_rows_are_text():
    figure = rows([1.0], [0.0], ticks=["<b>"], hover=["<b>\nsecond line"])
    assert list(figure.layout.xaxis.ticktext) == ["&lt;b&gt;"]
    assert figure.data[2].customdata[0] == "&lt;b&gt;<br>second line"


def test_rows_that_do_not_fit_are_an_error():
    with pytest.raises(ValueError, match="2 weights do not fit 1 weights of the other row, 2 keys and 2 tooltips"):
        rows([0.5, 0.5], [1.0])
