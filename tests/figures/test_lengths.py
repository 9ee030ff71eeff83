import numpy as np
import pytest

from viz_transformer.figures import theme
from viz_transformer.figures.lengths import MAX_BARS, length_histogram


def test_a_line_counts_the_texts_of_each_length():
    figure = length_histogram({"source": [1, 1, 3], "target": [2, 2, 2]}, title="lengths")
    source, target = figure.data
    assert list(source.x) == [0, 1, 2, 3, 4] and list(source.y) == [0, 2, 0, 1, 0]
    assert list(target.y) == [0, 0, 3, 0, 0]
    assert (source.name, target.name) == ("source", "target")
    assert (source.line.color, target.line.color) == (theme.LIGHT.source_ink, theme.LIGHT.target_ink)
    assert source.line.dash != target.line.dash  # told apart without colour too
    assert list(source.customdata)[:2] == ["0 tokens", "1 token"]


def test_a_wide_range_puts_several_lengths_into_a_step_and_says_so():
    lengths = np.arange(3 * MAX_BARS)
    figure = length_histogram({"source": lengths}, title="lengths")
    assert figure.data[0].y.sum() == lengths.size and max(figure.data[0].y) == 3
    assert "3 lengths to a step" in figure.layout.xaxis.title.text
    assert figure.data[0].customdata[1] == "3 to 5 tokens"


def test_the_limit_of_a_filter_is_a_line_behind_the_last_length_that_it_keeps():
    figure = length_histogram({"source": [1, 5, 9]}, title="lengths", limits={"source": 5, "target": 3})
    (line,) = figure.layout.shapes
    assert line.x0 == line.x1 == 5.5
    assert not length_histogram({"source": [1, 5, 9]}, title="lengths", limits={"source": 10}).layout.shapes


def test_the_names_of_the_sides_stand_above_the_lines_and_not_over_them():
    legend = length_histogram({"source": [1], "target": [2]}, title="lengths").layout.legend
    assert (legend.yref, legend.yanchor) == ("paper", "bottom")


def test_no_texts_are_an_error():
    for lengths in ({}, {"source": []}):
        with pytest.raises(ValueError, match="no texts"):
            length_histogram(lengths, title="lengths")
