import math

import numpy as np
import pytest

from viz_transformer.figures import loss_curves


def test_both_axes_are_logarithmic_and_the_points_are_the_given_ones():
    figure = loss_curves({"training": ([1, 10], [2.0, 0.5]), "validation": ([1, 10], [2.5, 0.75])}, title="loss")
    assert figure.layout.xaxis.type == figure.layout.yaxis.type == "log"
    assert [curve.name for curve in figure.data] == ["training", "validation"]
    assert list(figure.data[0].x) == [1, 10] and list(figure.data[0].y) == [2.0, 0.5]
    assert figure.layout.yaxis.title.text == "negative log-likelihood, nats per token"


def test_points_without_a_place_on_a_logarithmic_axis_are_left_out():
    figure = loss_curves({"training": ([0, 1, 2, 3], [3.0, 2.0, math.nan, 1.0])}, title="loss")
    assert list(figure.data[0].x) == [1, 3]


def test_every_point_lies_inside_the_ranges():
    steps, losses = np.geomspace(1, 20_000, 50), np.geomspace(3.7, 0.0021, 50)
    figure = loss_curves({"training": (steps, losses)}, title="loss")
    for axis, values in ((figure.layout.xaxis, steps), (figure.layout.yaxis, losses)):
        low, high = axis.range
        assert low < math.log10(min(values)) and math.log10(max(values)) < high
        assert len(axis.tickvals) >= 3
        assert all(low <= math.log10(value) <= high for value in axis.tickvals)


def test_nothing_to_draw_is_an_error():
    with pytest.raises(ValueError, match="no point to draw"):
        loss_curves({"training": ([0], [1.0])}, title="loss")
    with pytest.raises(ValueError, match="2 steps and 1 losses"):
        loss_curves({"training": ([1, 2], [1.0])}, title="loss")
