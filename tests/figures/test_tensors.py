import math

import numpy as np
import pytest
import torch

from viz_transformer.figures import theme
from viz_transformer.figures.tensors import MAX_CELLS, AxisLabels, tensor_heatmap, value_histogram
from viz_transformer.model.kinds import KINDS


def numbers_of(rows, columns, seed=0):
    return np.random.default_rng(seed).standard_normal((rows, columns)).astype(np.float32)


QUERIES, FEATURES = AxisLabels("query", "queries: target"), AxisLabels("feature", "features")


def draw(values, rows=QUERIES, columns=FEATURES, **changes):
    return tensor_heatmap(values, rows, columns, **{"title": "a title", **changes})


def words(figure):
    return " | ".join(note.text for note in figure.layout.annotations)


def test_cells_are_the_given_numbers_as_float32_at_integer_places():
    values = numbers_of(3, 5)
    cells = draw(values).data[0]
    assert cells.z.dtype == np.float32 and np.array_equal(cells.z, values)
    assert (list(cells.x), list(cells.y)) == ([0, 1, 2, 3, 4], [0, 1, 2])


def test_a_tensor_and_a_read_only_array_can_be_drawn():
    values = torch.randn(2, 3)
    assert np.array_equal(draw(values).data[0].z, values.numpy())
    array = numbers_of(2, 2)
    array.setflags(write=False)
    draw(array)


@pytest.mark.parametrize("mode", theme.THEMES)
def test_signed_numbers_part_at_0_on_a_symmetric_scale(mode):
    figure = draw(np.array([[-1.0, 4.0]]), theme=mode)
    cells = figure.data[0]
    assert (cells.zmin, cells.zmax) == (-4, 4)
    assert [color for _, color in cells.colorscale] == list(theme.palette(mode).diverging)
    assert cells.colorscale[3][0] == 0.5
    assert "-4 | 4 | value" in words(figure)


def test_the_scale_can_reach_as_far_as_a_whole_tensor_does():
    figure = draw(np.array([[-1.0, 4.0]]), largest=9.5)
    assert (figure.data[0].zmin, figure.data[0].zmax) == (-9.5, 9.5)
    assert "-9.5 | 9.5" in words(figure)


def test_zeros_alone_have_a_scale():
    assert (draw(np.zeros((2, 2))).data[0].zmin, draw(np.zeros((2, 2))).data[0].zmax) == (-1, 1)


@pytest.mark.parametrize("kind", KINDS)
def test_weights_go_from_0_to_1_in_their_colour_and_derived_ones_in_grey(kind):
    values = np.array([[0.25, 0.75]])
    for derived, name in ((False, kind), (True, "derived")):
        cells = draw(values, scale="weights", kind=kind, derived=derived).data[0]
        assert (cells.zmin, cells.zmax) == (0, 1)
        assert [color for _, color in cells.colorscale] == list(getattr(theme.LIGHT, name))


def test_weights_that_dropout_raised_above_1_have_room():
    figure = draw(np.array([[0.0, 1.11]]), scale="weights")
    assert figure.data[0].zmax == pytest.approx(1.11)
    assert "0 | 1.11 | attention weight" in words(figure)


def test_an_edited_weight_below_0_is_not_drawn_as_0():
    assert draw(np.array([[-0.5, 0.25]]), scale="weights").data[0].zmin == -0.5


def test_a_mask_has_two_tones_which_are_named():
    figure = draw(np.array([[True, False]]), scale="mask", kind="cross")
    (low, false), (high, true) = figure.data[0].colorscale
    assert (low, high, figure.data[0].zmin, figure.data[0].zmax) == (0, 1, 0, 1)
    assert false != true and {false, true} <= set(theme.LIGHT.cross)
    assert list(figure.data[0].z[0]) == [1, 0]
    assert f'<span style="color:{true}">■</span> True: may attend' in words(figure)
    assert f'<span style="color:{false}">■</span> False' in words(figure)
    assert figure.data[0].customdata[0][0].endswith("<br>True") and figure.data[0].customdata[0][1].endswith(
        "<br>False"
    )
    assert not figure.data[0].showscale


def test_what_is_not_finite_has_its_own_colour_and_is_said():
    figure = draw(np.array([[np.nan, np.inf, -np.inf, 2.0]]))
    cells, marks = figure.data
    assert (cells.zmin, cells.zmax) == (-2, 2)
    assert np.array_equal(np.isnan(cells.z), [[True, True, True, False]])
    assert np.array_equal(marks.z, [[1, 1, 1, np.nan]], equal_nan=True)
    assert {color for _, color in marks.colorscale} == {theme.LIGHT.bad}
    assert "NaN or infinite" in words(figure)
    assert [text.rpartition("<br>")[2] for text in marks.customdata[0]] == [
        "not a number",
        "infinite",
        "-infinite",
        "2",
    ]
    assert "NaN" not in words(draw(np.ones((1, 1))))


def test_tokens_stand_at_their_positions_however_often_they_come():
    keys = AxisLabels("key", "keys: source", ["a", "a", "<b>"], "source")
    figure = draw(numbers_of(2, 3), AxisLabels("query", "queries: target", ["&", "two"], "target"), keys)
    assert list(figure.layout.xaxis.tickvals) == [0, 1, 2]
    assert [label.strip() for label in figure.layout.xaxis.ticktext] == ["a", "a", "&lt;b&gt;"]
    assert [label.strip() for label in figure.layout.yaxis.ticktext] == ["&amp;", "two"]
    assert figure.layout.xaxis.tickfont.color == theme.LIGHT.source_ink
    assert figure.layout.yaxis.tickfont.color == theme.LIGHT.target_ink
    assert "keys: source" in words(figure) and "queries: target" in words(figure)


def test_hover_gives_both_places_and_the_number():
    keys = AxisLabels("key", "keys: source", ["a", "<b>"], "source")
    text = draw(np.array([[0.5, -1.23456789]]), columns=keys).data[0].customdata
    assert text[0][1] == "query 0<br>key 1: “&lt;b&gt;”<br>-1.2346"


def test_axes_without_tokens_are_counted_and_thinned_out():
    figure = draw(numbers_of(3, 256))
    assert list(figure.layout.xaxis.tickvals) == [*range(0, 256, 20)]
    assert [label.strip() for label in figure.layout.xaxis.ticktext][:3] == ["0", "20", "40"]
    assert figure.layout.xaxis.tickangle == 0
    assert figure.layout.xaxis.tickfont.color == theme.LIGHT.muted


def test_labels_are_upright_or_level():
    long = AxisLabels("key", "keys", ["internationalisation"] * 20, "source")
    assert draw(numbers_of(2, 20), columns=long).layout.xaxis.tickangle == -90
    level = draw(numbers_of(2, 3), columns=AxisLabels("key", "keys", list("abc"))).layout.xaxis
    assert level.tickangle == 0 and list(level.ticktext) == ["a", "b", "c"]  # nothing that reaches into the next one


def test_rows_go_downwards():
    figure = draw(numbers_of(4, 4))
    assert figure.layout.yaxis.range[0] > figure.layout.yaxis.range[1] == -0.5


def test_a_single_column_is_no_wide_stripe():
    figure = draw(numbers_of(14, 1))
    first, last = figure.layout.xaxis.range
    assert first == -0.5 and last > 5


def test_a_large_tensor_is_pooled_and_says_so_in_title_legend_and_tooltip():
    values = np.zeros((2, 3 * MAX_CELLS), np.float32)
    values[1, 7] = -2
    values[1, 6] = 1
    figure = draw(values)
    cells = figure.data[0]
    assert cells.z.shape == (2, MAX_CELLS)
    assert cells.z[1, 2] == -2 and (cells.z != 0).sum() == 1
    assert list(cells.x[:3]) == [1, 4, 7]
    assert figure.layout.title.text == "a title, max-pooled in blocks of 1 × 3"
    assert "of a block its value farthest from 0" in words(figure)
    assert cells.customdata[1][2] == "query 1<br>features 6 to 8<br>-2"
    assert figure.layout.xaxis.range[0] == -0.5 and figure.layout.xaxis.range[1] >= 3 * MAX_CELLS - 1
    assert [label.strip() for label in figure.layout.xaxis.ticktext][1] == str(int(figure.layout.xaxis.tickvals[1]) - 1)


def test_blocks_are_named_in_the_plural():
    keys, entries = AxisLabels("query", "queries"), AxisLabels("vocabulary entry", "vocabulary")
    text = draw(np.ones((2 * MAX_CELLS, 2)), keys, entries).data[0].customdata
    assert text[1][1] == "queries 2 to 3<br>vocabulary entry 1<br>1"


def test_the_last_block_ends_with_the_tensor():
    figure = draw(np.ones((1, MAX_CELLS + 3), np.float32))
    assert figure.data[0].z.shape == (1, MAX_CELLS // 2 + 2)
    assert figure.data[0].customdata[0][-1].startswith(f"query 0<br>features {MAX_CELLS + 2} to {MAX_CELLS + 2}<br>")


def test_many_cells_have_numbers_for_a_tooltip():
    figure = draw(numbers_of(400, 400))
    assert figure.data[0].customdata is None
    assert figure.data[0].hovertemplate == "query %{y}<br>feature %{x}<br>%{z:.9~g}<extra></extra>"


def test_a_pooled_mask_says_what_a_block_is():
    figure = draw(np.eye(MAX_CELLS + 1, dtype=bool), scale="mask")
    assert "a block is True if any cell is" in words(figure)
    assert (figure.data[0].z == 1).sum() == math.ceil((MAX_CELLS + 1) / 2)


def test_the_title_is_text():
    assert draw(np.ones((1, 1)), title="<b>").layout.title.text == "&lt;b&gt;"


@pytest.mark.parametrize(
    ("values", "changes", "sentence"),
    [
        (np.ones((1, 2, 2)), {}, r"needs \[rows, columns\]"),
        (np.ones((0, 2)), {}, r"needs \[rows, columns\]"),
        (np.ones((2, 2)), {"rows": AxisLabels("query", "q", ["a"])}, "1 tokens do not fit an axis of 2"),
        (np.ones((2, 2)), {"scale": "mask"}, "a mask is Boolean, not float64"),
        (np.ones((2, 2)), {"theme": "blue"}, "choose 'light' or 'dark'"),
        (np.ones((2, 2)), {"kind": "self", "scale": "weights"}, "is not known"),
    ],
)
def test_what_does_not_fit_is_a_value_error(values, changes, sentence):
    with pytest.raises(ValueError, match=sentence):
        draw(values, **changes)


# --- histogram


def test_bars_are_the_counts_over_their_bins():
    figure = value_histogram([3, 0, 5], [-1.0, 0.0, 1.0, 2.0], title="a <title>", left_out=2)
    (bars,) = figure.data
    assert (list(bars.x), list(bars.y), list(bars.width)) == ([-0.5, 0.5, 1.5], [3, 0, 5], [1, 1, 1])
    assert bars.customdata[2] == "1 to 2<br>5 of 8 values"
    assert "8 values in 3 bins; 2 NaN or infinite left out" in words(figure) and "count" in words(figure)
    assert figure.layout.title.text == "a &lt;title&gt;"
    assert figure.layout.yaxis.rangemode == "tozero"


def test_the_bins_of_a_mask_have_names():
    figure = value_histogram([6, 10], [-0.5, 0.5, 1.5], names=("False", "True"), title="mask")
    assert list(figure.layout.xaxis.ticktext) == ["False", "True"]
    assert figure.data[0].customdata[1] == "True<br>10 of 16 values"


def test_an_empty_histogram_says_what_was_left_out():
    figure = value_histogram([0], [-0.5, 0.5], title="nothing", left_out=4)
    assert "0 values in 1 bin; 4 NaN or infinite left out" in words(figure)


def test_bars_have_the_colour_of_their_kind_or_grey():
    assert value_histogram([1], [0, 1], title="", kind="cross").data[0].marker.color in theme.LIGHT.cross
    assert value_histogram([1], [0, 1], title="", derived=True).data[0].marker.color in theme.LIGHT.derived


@pytest.mark.parametrize(("counts", "edges"), [([1], [0]), ([], [0]), ([1, 2], [0, 1])])
def test_edges_that_do_not_fit_are_a_value_error(counts, edges):
    with pytest.raises(ValueError, match="one edge more is needed"):
        value_histogram(counts, edges, title="")
