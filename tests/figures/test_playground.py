import math

import numpy as np
import pytest

from viz_transformer.analysis.playground.by_hand import (
    AXES,
    Sizes,
    attend,
    corners,
    gain_and_offset,
    mask_of,
    normalise,
    simplex_points,
    table_of,
    vectors,
)
from viz_transformer.figures import theme
from viz_transformer.figures.number_grids import Grid, limit_of, number_grids
from viz_transformer.figures.playground import (
    Curve,
    CurveAxis,
    Dot,
    attention_row,
    curves,
    map_row,
    norm_row,
    rebuilt_row,
    simplex,
)

SMALL = Sizes(queries=2, keys=3, d_k=2, d_v=1)


def row(size=SMALL, mask="none", scaled=True, mode="light"):
    given = vectors(1, size)
    found = attend(given, mask_of(mask, size.queries, size.keys), scaled=scaled)
    return found, attention_row(found, scaled=scaled, title="a <b> title", theme=mode)


def tables(figure):
    """The tables of a figure in their order, without the bars of the legend."""
    return [trace for trace in figure.data if trace.type == "heatmap" and trace.hoverinfo != "skip"]


def words(figure):
    return [note.text for note in figure.layout.annotations]


def written(figure):
    return [text for trace in figure.data if trace.type == "scatter" and trace.mode == "text" for text in trace.text]


def test_the_pointer_finds_the_cell_and_not_the_number_on_it():
    _, figure = row(mask="causal")
    silent = [trace for trace in figure.data if trace.hoverinfo == "skip"]
    assert {trace.type for trace in silent} == {"scatter", "bar", "heatmap"}
    assert all(trace.hovertemplate == "" for trace in silent)  # the template's would count more than that there is none


def test_the_row_has_every_number_of_attention():
    found, figure = row()
    given = found.vectors
    expected = [given.query, given.key.T, found.products, found.scores, found.weights, given.value, found.output]
    drawn = tables(figure)
    assert len(drawn) == len(expected)
    for trace, numbers in zip(drawn, expected, strict=True):
        assert np.array_equal(trace.z, numbers.astype(np.float32))


def test_a_product_stands_where_its_query_meets_its_key_and_an_output_where_weights_meet_values():
    _, figure = row()
    query, key, products, _, weights, value, output = tables(figure)
    assert np.allclose(query.y, products.y) and np.allclose(key.x, products.x)
    assert np.allclose(weights.y, output.y) and np.allclose(value.x, output.x)
    assert max(key.y) < min(products.y) and max(value.y) < min(output.y)
    assert max(query.x) < min(products.x) < min(weights.x) < min(output.x)


def test_a_mask_is_a_table_of_its_own_with_a_hatch_and_no_numbers():
    found, figure = row(mask="padding")
    drawn = tables(figure)
    assert len(drawn) == 8
    masked, weights = drawn[4], drawn[5]
    assert np.isnan(masked.z[:, 2]).all() and np.isnan(weights.z[:, 2]).all()
    assert np.array_equal(masked.z[:, :2], found.scores[:, :2].astype(np.float32))
    hatches = [trace for trace in figure.data if trace.type == "bar"]
    assert [len(trace.y) for trace in hatches] == [2, 2] and hatches[0].marker.pattern.shape == "/"
    assert "masked" in masked.customdata[0][2] and "masked, weight 0" in weights.customdata[0][2]


def test_without_scaling_there_is_no_table_of_scores():
    assert len(tables(row(scaled=False)[1])) == 6
    assert "÷ √2" in words(row()[1]) and "÷ √2" not in words(row(scaled=False)[1])


def test_a_tooltip_writes_the_number_out():
    found, figure = row()
    products, weights = tables(figure)[2], tables(figure)[4]
    q, k = found.vectors.query[1], found.vectors.key[2]
    assert products.customdata[1][2] == (
        f"q1 · k2<br>{q[0]:g}×{k[0]:g} + {q[1]:g}×{k[1]:g}<br>= {found.products[1, 2]:.4f}".rstrip("0")
    )
    assert "exp(" in weights.customdata[0][0] and f"weight {found.weights[0, 0]:.4f}" in weights.customdata[0][0]


def test_a_long_sum_goes_on_in_the_next_line_of_the_tooltip_and_ends_on_its_own():
    found = attend(vectors(0, Sizes(queries=1, keys=2, d_k=8, d_v=1)), mask_of("none", 1, 2))
    figure = attention_row(found, title="")
    name, *terms, total = tables(figure)[2].customdata[0][1].split("<br>")
    assert name == "q0 · k1" and total.startswith("= ")
    assert [line.count("×") for line in terms] == [4, 4] and terms[1].startswith("+ ")


@pytest.mark.parametrize("axis", ["xaxis", "yaxis"])
def test_all_labels_of_a_logarithmic_axis_are_of_one_size_and_stand_at_its_decades(axis):
    line = Curve("a", [0, 1, 40, 900], [0, 0.02, 1, 30])
    layout = curves([line], CurveAxis("x", log=True), CurveAxis("y", log=True), title="").layout[axis]
    assert layout.exponentformat is None
    powers = range(4) if axis == "xaxis" else range(-2, 3)
    assert [*layout.tickvals] == [10.0**power for power in powers]
    assert [text.replace("10<sup>", "").removesuffix("</sup>") for text in layout.ticktext] == [
        {0: "1", 1: "10"}.get(power, str(power)) for power in powers
    ]


def test_tables_that_are_compared_share_their_scale():
    found, figure = row()
    query, key, products, scores, weights, value, output = tables(figure)
    assert query.zmax == key.zmax == value.zmax == output.zmax == -query.zmin
    assert products.zmax == scores.zmax == np.abs(found.products).max()
    assert (weights.zmin, weights.zmax) == (0, 1)
    assert "weights" in words(figure) and "products and scores" in words(figure)


@pytest.mark.parametrize(
    "size", [Sizes(queries=1, keys=1, d_k=1, d_v=1), Sizes(queries=8, keys=8, d_k=8, d_v=8), Sizes(queries=5, keys=8)]
)
@pytest.mark.parametrize("mask", ["none", "padding"])
def test_everything_lies_inside_the_figure_at_any_size(size, mask):
    _, figure = row(size, mask)
    width, height = figure.layout.xaxis.range[1], figure.layout.yaxis.range[0]
    for trace in tables(figure):
        assert min(trace.x) > 0 and max(trace.x) < width
        assert min(trace.y) > 40 and max(trace.y) < height - 34  # room for a title above, for the legend below
    for note in figure.layout.annotations:
        assert 0 <= note.x < width and 0 <= note.y <= height
    assert min(tables(figure)[-1].x) < width - 70  # what stands under the last table fits too


def test_cells_too_small_for_their_numbers_have_none_but_keep_their_tooltip():
    big = Sizes(queries=8, keys=8, d_k=8, d_v=8)
    _, figure = row(big, "causal")
    sizes = [trace.textfont.size for trace in figure.data if trace.type == "scatter" and trace.mode == "text"]
    assert all(size >= 8 for size in sizes)
    assert len(sizes) < len(tables(figure))
    assert all(trace.customdata[0][0] for trace in tables(figure))


@pytest.mark.parametrize("mode", theme.THEMES)
def test_every_number_stands_out_from_its_cell(mode):
    values = np.linspace(-1, 1, 9)[None]
    grid = Grid(values, 0, 40, "diverging", 1.0, [[""] * 9])
    figure = number_grids([grid], column=50, scales=[], title="x", theme=mode)
    (numbers,) = (trace for trace in figure.data if trace.type == "scatter" and trace.mode == "text")
    colors, ramp = theme.palette(mode), theme.palette(mode).diverging
    for ink, place in zip(numbers.textfont.color, np.linspace(0, 1, 9), strict=True):
        cell = ramp[round(place * 6)]
        other = colors.page if ink == colors.text else colors.text
        assert _apart(ink, cell) >= _apart(other, cell) - 30  # a cell between two stops is not its nearest stop


def _apart(one, other):
    def light(color):
        red, green, blue = (int(color[i : i + 2], 16) for i in (1, 3, 5))
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    return abs(light(one) - light(other))


def test_titles_and_names_are_no_markup():
    _, figure = row()
    assert figure.layout.title.text == "a &lt;b&gt; title"
    figure = map_row([("<i>", np.eye(2))], names=["<s>", "&"], kind="decoder", title="x")
    assert "&lt;i&gt;" in words(figure) and "&lt;s&gt;" in words(figure) and "&amp;" in words(figure)


def test_no_table_is_an_error():
    with pytest.raises(ValueError, match="no table to draw"):
        number_grids([], column=10, scales=[], title="x")


def test_a_scale_of_zeros_reaches_to_1():
    assert limit_of(np.zeros((2, 2))) == 1.0 and limit_of([[-3.0]], [[2.0]]) == 3.0 and limit_of() == 1.0


# --- norms, trainings


def test_norms_are_framed_where_they_pool():
    found = [normalise(table_of(0), norm, gain_and_offset()) for norm in AXES]
    figure = norm_row(found, title="norms")
    drawn = tables(figure)
    assert len(drawn) == 4
    for trace, each in zip(drawn[1:], found, strict=True):
        assert np.array_equal(trace.z, each.values.reshape(6, 4).astype(np.float32))
        assert trace.zmax == drawn[1].zmax
    assert len(figure.layout.shapes) == sum(each.groups for each in found) == 6 + 4 + 2
    heights = {round(shape.y1 - shape.y0 + 2) for shape in figure.layout.shapes}
    assert heights == {32, 32 * 6, 32 * 3}
    right, left = max(shape.x1 for shape in figure.layout.shapes), figure.layout.xaxis.range[1]
    assert right <= left - 2  # half of the frame's line lies outside of the table


def test_outputs_stand_beside_the_input_on_one_scale():
    wanted, output = np.array([[1.0, -2.0]]), np.array([[0.5, 3.0]])
    figure = rebuilt_row(wanted, [("one head", output)], title="x")
    first, second = tables(figure)
    assert np.array_equal(first.z, wanted) and np.array_equal(second.z, output)
    assert first.zmax == second.zmax == 3.0
    assert second.customdata[0][1] == "one head<br>vector 0, feature 1: 3<br>wanted -2"


def test_a_number_that_is_too_small_for_its_digits_does_not_make_letters_smaller():
    rows = [rebuilt_row([[0.11]], [("one head", [[output]])], title="x") for output in (0.004, 0.1234)]
    sizes = [[trace.textfont.size for trace in row.data if trace.type == "scatter"] for row in rows]
    assert sizes[0][1] == sizes[1][1] == 13


def test_maps_are_from_0_to_1_with_their_names_on_both_sides():
    figure = map_row(
        [("a", np.eye(3)), ("b", np.full((3, 3), 1 / 3))], names=["x", "y", "x"], kind="encoder", title="t"
    )
    assert [(trace.zmin, trace.zmax) for trace in tables(figure)] == [(0, 1), (0, 1)]
    assert words(figure).count("x") == 2 + 2 * 2 and "x reads y" in tables(figure)[0].customdata[0][1]


# --- simplex


def dots(weights):
    places = simplex_points(weights)
    return [Dot(f"q{i}", place, place, "here", "there") for i, place in enumerate(places)]


@pytest.mark.parametrize("keys", [2, 3])
def test_points_stand_where_their_weights_say(keys):
    weights = np.vstack([np.eye(keys), np.full((1, keys), 1 / keys)])
    figure = simplex(dots(weights), corners(keys), [(f"k{j}", "[1.0]") for j in range(keys)], title="x")
    filled = figure.data[-1]
    assert filled.marker.symbol == "circle"
    assert np.allclose(np.column_stack([filled.x, filled.y]), simplex_points(weights))
    assert "<b>k0</b><br>[1.0]" in words(figure) and [f"q{i}" in words(figure) for i in range(keys + 1)]
    low, high = figure.layout.xaxis.range
    assert low < 0 and high > 1


def test_four_keys_are_no_simplex_here():
    with pytest.raises(ValueError, match="two or three of both"):
        simplex([], np.zeros((4, 2)), [("k", "")] * 4, title="x")


# --- curves


def test_curves_leave_out_what_has_no_place_on_a_logarithmic_axis():
    line = Curve("loss", [0, 1, 2, 3], [0.0, 1.0, math.nan, 0.25])
    figure = curves([line], CurveAxis("step"), CurveAxis("loss", log=True), title="x")
    assert list(figure.data[0].x) == [1, 3] and list(figure.data[0].y) == [1.0, 0.25]
    assert list(curves([line], CurveAxis("s"), CurveAxis("l"), title="x").data[0].x) == [0, 1, 3]


def test_a_level_and_a_range_stand_at_their_values_on_both_kinds_of_axis():
    line = Curve("a", [1, 10], [0.1, 1.0], ink=0)
    log = curves(
        [line], CurveAxis("s"), CurveAxis("l", log=True, bounds=(0.01, 10)), title="x", levels=[(0.1, "floor")]
    )
    assert log.layout.shapes[0].y0 == 0.1 and log.layout.annotations[0].y == -1
    assert list(log.layout.yaxis.range) == [-2, 1]
    plain = curves([line], CurveAxis("s"), CurveAxis("l", bounds=(0, 2)), title="x", levels=[(0.1, "floor")])
    assert plain.layout.annotations[0].y == 0.1 and list(plain.layout.yaxis.range) == [0, 2]


def test_names_of_several_lines_are_shown():
    lines = [Curve("a <b>", [1], [1], ink=0), Curve("c", [1], [1])]
    figure = curves(lines, CurveAxis("s"), CurveAxis("l"), title="x")
    assert figure.layout.showlegend and figure.data[0].name == "a &lt;b&gt;"
    assert figure.data[0].line.color == theme.LIGHT.heads[0] and figure.data[1].line.color == theme.LIGHT.muted
