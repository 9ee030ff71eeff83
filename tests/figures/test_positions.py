import numpy as np
import pytest

from viz_transformer.analysis.positions.table import derivation, interpolate_columns, products, wavelengths
from viz_transformer.figures import theme
from viz_transformer.figures.distances import product_curves, turned_pairs, wavelength_curves
from viz_transformer.figures.enlarged import enlarged
from viz_transformer.figures.positions import Marks, dimension_curves, row_lengths

HERE = Marks(position=2, read=5)
MADE = derivation(12, 8)


def words(figure):
    return " ".join(note.text for note in figure.layout.annotations)


def curves(**changes):
    return dimension_curves(MADE.table, (0, 5), ("0 sin", "5 <cos>"), HERE, title="a title", **changes)


# --- curves


def test_curves_have_the_colours_of_picks():
    points = [line.marker.color for line in curves().data if "markers" in line.mode]
    assert points == list(theme.LIGHT.heads[:2])


@pytest.mark.parametrize(
    ("table", "marks", "picked", "sentence"),
    [
        (np.ones(3), HERE, (), r"not \[3\]"),
        (np.ones((0, 3)), HERE, (), r"not \[0, 3\]"),
        (np.ones((2, 3)), HERE, (), "positions go from 0 to 1"),
        (np.ones((3, 3)), HERE, (3,), "choose at most 6 of 0 to 2"),
        (np.ones((3, 9)), HERE, tuple(range(7)), "choose at most 6"),
    ],
)
def test_what_is_no_table_is_a_value_error(table, marks, picked, sentence):
    with pytest.raises(ValueError, match=sentence):
        dimension_curves(table, picked, ["a"] * len(picked), marks, title="")


def test_points_of_a_curve_are_the_tables_numbers_and_the_line_between_is_the_formula():
    places, values = interpolate_columns(MADE, [0, 5], points=101)
    lines = curves(fine=(places, values)).data
    assert [line.mode for line in lines] == ["lines", "markers"] * 2
    for line, column in zip(lines[1::2], (0, 5), strict=True):
        assert np.array_equal(line.y, MADE.table[:, column])
        assert np.array_equal(line.x, np.arange(12))
    assert lines[2].y == pytest.approx(values[1].astype(np.float32))
    assert "0 sin" in words(curves()) and "5 &lt;cos&gt;" in words(curves())


def test_without_a_formula_the_points_are_joined():
    assert [line.mode for line in curves().data] == ["lines+markers"] * 2


def test_the_selected_position_is_a_line():
    (shape,) = curves().layout.shapes
    assert (shape.x0, shape.x1) == (2, 2)


def test_every_curve_needs_a_name():
    with pytest.raises(ValueError, match="1 names do not fit 2 columns"):
        dimension_curves(MADE.table, (0, 5), ("a",), HERE, title="")


def test_lengths_of_rows_are_bars_with_the_untrained_on_a_ground():
    figure = row_lengths([1.0, 2.0, 0.5], Marks(position=1, read=2, trained=2), title="lengths")
    assert list(figure.data[0].y) == [1, 2, 0.5]
    line, ground = figure.layout.shapes
    assert line.x0 == 1 and (ground.x0, ground.x1) == (1.5, 2.5)
    assert "never trained" in words(figure)


# --- products, turns, wavelengths


def test_products_of_one_row_stand_over_those_of_all_pairs_at_each_distance():
    found = products(MADE.table, 3, MADE.frequency)
    low, high, mean, one = product_curves(found, title="products").data
    assert list(one.x) == list(range(-3, 9))
    assert one.y == pytest.approx(found.from_position, rel=1e-6)
    for line, values in ((low, found.low), (mean, found.mean), (high, found.high)):
        assert line.y == pytest.approx(values[np.abs(found.distance)], rel=1e-6)
    first = f"position 3 with 0<br>distance -3<br>{found.from_position[0]:.4f}"
    assert one.customdata[0] == first and len(one.customdata) == 12
    assert (one.line.color, mean.line.color) == (theme.LIGHT.text, theme.LIGHT.derived[2])


def test_a_pair_is_drawn_on_its_circle_from_dot_to_ring():
    pair = MADE.table[:, 2:4]
    _, points, bow, dot, ring = turned_pairs([("2, 3", pair)], 2, 5, title="turned").data
    assert np.array_equal(points.x, pair[:, 1].astype(float)) and np.array_equal(points.y, pair[:, 0].astype(float))
    assert (dot.x[0], dot.y[0]) == (pair[2, 1], pair[2, 0])
    assert (ring.x[0], ring.y[0]) == (pair[7, 1], pair[7, 0])
    for end, mark in ((0, dot), (-1, ring)):
        assert (bow.x[end], bow.y[end]) == pytest.approx((mark.x[0], mark.y[0]), abs=1e-6)
    turned = np.unwrap(np.arctan2(bow.y, bow.x))
    assert turned[-1] - turned[0] == pytest.approx(5 * MADE.frequency[1], abs=1e-6)  # half a radian, to the left


@pytest.mark.parametrize(("count", "position", "shift"), [(0, 0, 1), (7, 0, 1), (1, 8, 4), (1, -1, 1)])
def test_pairs_that_cannot_be_drawn(count, position, shift):
    with pytest.raises(ValueError, match=r"cannot be drawn|not both in a table of 12"):
        turned_pairs([("x", MADE.table[:, :2])] * count, position, shift, title="")


def test_wavelengths_are_drawn_on_a_logarithmic_axis_with_the_length_of_the_table():
    standard, doubled = wavelengths(8), wavelengths(8, doubled=True)
    figure = wavelength_curves({"a <b>": standard, "doubled": doubled}, 12, shown="doubled", title="waves")
    first, second = figure.data
    assert list(first.x) == [0, 2, 4, 6] and first.y == pytest.approx(standard)
    assert second.y == pytest.approx(doubled)
    assert (first.name, first.line.dash, second.line.dash) == ("a &lt;b&gt;", "dot", "solid")
    assert figure.layout.yaxis.type == "log"
    assert figure.layout.shapes[0].y0 == 12 and "12 positions" in words(figure)
    assert "10⁶" in figure.layout.yaxis.ticktext and "1,000" in figure.layout.yaxis.ticktext


def test_every_figure_can_be_enlarged():
    found = products(MADE.table, 3, MADE.frequency)
    figures = [
        curves(fine=interpolate_columns(MADE, [0, 5], points=9)),
        row_lengths([1.0, 2.0], Marks(position=1, read=2), title=""),
        turned_pairs([("0, 1", MADE.table[:, :2])], 2, 5, title=""),
        wavelength_curves({"a": wavelengths(8)}, 12, shown="a", title=""),
        product_curves(found, title="products"),
    ]
    for figure in figures:
        own, count = figure.layout.xaxis.tickfont.size, len(figure.data)
        large = enlarged(figure, 2)
        assert large.layout.template.layout.title.font.size == 32 and len(large.data) == count
        assert large.layout.xaxis.tickfont.size == (own and 2 * own)
