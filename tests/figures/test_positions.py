import numpy as np
import pytest

from viz_transformer.analysis.positions.table import derivation, interpolate_columns, products, wavelengths
from viz_transformer.figures import theme
from viz_transformer.figures.distances import product_curves, turned_pairs, wavelength_curves
from viz_transformer.figures.enlarged import enlarged
from viz_transformer.figures.positions import Marks, dimension_curves, position_heatmap, row_lengths, tables_beside

HERE = Marks(position=2, read=5)
MADE = derivation(12, 8)


def words(figure):
    return " ".join(note.text for note in figure.layout.annotations)


def heatmap(marks=HERE, **changes):
    return position_heatmap(MADE.table, marks, picked=(0, 5), title="a <title>", **changes)


def curves(**changes):
    return dimension_curves(MADE.table, (0, 5), ("0 sin", "5 <cos>"), HERE, title="a title", **changes)


# --- the table


@pytest.mark.parametrize("name", theme.THEMES)
def test_cells_are_the_tables_numbers_on_a_scale_that_parts_at_0(name):
    figure = heatmap(theme=name)
    (cells,) = figure.data
    assert np.array_equal(cells.z, MADE.table)
    assert cells.zmin == -cells.zmax == -1
    assert [color for _, color in cells.colorscale] == list(theme.palette(name).diverging)
    assert figure.layout.title.text == "a &lt;title&gt;"


def test_positions_go_downwards():
    low, high = heatmap().layout.yaxis.range
    assert (low, high) == (11.5, -0.5)


def test_the_selected_row_is_framed_and_the_rows_of_the_run_have_a_bar():
    *frames, bar = (shape for shape in heatmap().layout.shapes if shape.ysizemode != "pixel")
    assert {(shape.y0, shape.y1, shape.x0, shape.x1) for shape in frames} == {(1.5, 2.5, -0.5, 7.5)}
    assert (bar.y0, bar.y1) == (-0.5, 4.5)
    assert "rows of this run" in words(heatmap())


def test_a_run_that_is_longer_than_the_table_has_a_bar_of_the_whole_table():
    assert heatmap(Marks(position=2, read=40)).layout.shapes[-1].y1 == 11.5


def test_picked_columns_are_marked_in_the_colours_of_their_curves():
    marks = {shape.x0: shape.line.color for shape in heatmap().layout.shapes if shape.ysizemode == "pixel"}
    assert marks == dict(zip((0, 5), theme.LIGHT.heads, strict=False))
    points = [line.marker.color for line in curves().data if "markers" in line.mode]
    assert points == [*marks.values()]


def test_rows_that_were_never_trained_are_hatched():
    _, hatch = heatmap(Marks(position=2, read=5, trained=7)).data
    assert hatch.fillpattern.shape == "/"
    assert (min(hatch.y), max(hatch.y)) == (6.5, 11.5)
    assert "hatched: never trained" in words(heatmap(Marks(position=2, read=5, trained=7)))


@pytest.mark.parametrize("trained", [None, 12, 40])
def test_without_such_rows_nothing_is_hatched(trained):
    figure = heatmap(Marks(position=2, read=5, trained=trained))
    assert len(figure.data) == 1
    assert "hatched" not in words(figure)


def test_a_table_of_zeros_is_drawn():
    figure = position_heatmap(np.zeros((3, 2)), Marks(position=0, read=1), title="zeros")
    assert figure.data[0].zmax == 1


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
        position_heatmap(table, marks, picked=picked, title="")
    with pytest.raises(ValueError, match=sentence):
        dimension_curves(table, picked, ["a"] * len(picked), marks, title="")


# --- curves


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
    args = (found.distance, found.from_position, found.low, found.mean, found.high)
    low, high, mean, one = product_curves(*args, position=3, title="products").data
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


def test_tables_beside_each_other_share_one_scale():
    figure = tables_beside({"small": np.full((2, 3), 0.5), "large": np.full((2, 3), -4.0)}, title="both")
    assert [(cells.zmin, cells.zmax) for cells in figure.data] == [(-4, 4)] * 2
    assert figure.layout.xaxis.domain[1] < figure.layout.xaxis2.domain[0]
    with pytest.raises(ValueError, match="different sizes"):
        tables_beside({"a": np.ones((2, 3)), "b": np.ones((3, 2))}, title="")


def test_every_figure_can_be_enlarged():
    found = products(MADE.table, 3, MADE.frequency)
    figures = [
        heatmap(Marks(position=2, read=5, trained=7)),
        curves(fine=interpolate_columns(MADE, [0, 5], points=9)),
        row_lengths([1.0, 2.0], Marks(position=1, read=2), title=""),
        tables_beside({"a": MADE.table, "b": MADE.table}, title=""),
        turned_pairs([("0, 1", MADE.table[:, :2])], 2, 5, title=""),
        wavelength_curves({"a": wavelengths(8)}, 12, shown="a", title=""),
        product_curves(
            found.distance, found.from_position, found.low, found.mean, found.high, position=3, title="products"
        ),
    ]
    for figure in figures:
        own, count = figure.layout.xaxis.tickfont.size, len(figure.data)
        large = enlarged(figure, 2)
        assert large.layout.template.layout.title.font.size == 32 and len(large.data) == count
        assert large.layout.xaxis.tickfont.size == (own and 2 * own)
