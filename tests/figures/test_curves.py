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


def test_losses_that_lie_close_together_have_as_many_labels():
    for low, high in ((1.31, 1.62), (0.061, 0.093), (2.1, 4.9), (3.0, 3.0)):
        axis = loss_curves({"training": ([1, 2], [high, low])}, title="").layout.yaxis
        assert len(axis.tickvals) >= 3
        assert all(axis.range[0] <= math.log10(value) <= axis.range[1] for value in axis.tickvals)
    assert axis.ticktext == ("2.8", "3", "3.2")


def test_losses_over_little_more_than_two_decades_have_labels_all_along():
    axis = loss_curves({"validation": ([1, 2], [0.32, 0.0019])}, title="").layout.yaxis
    assert axis.ticktext == ("0.002", "0.005", "0.01", "0.02", "0.05", "0.1", "0.2")


def test_nothing_to_draw_is_an_error():
    with pytest.raises(ValueError, match="no point to draw"):
        loss_curves({"training": ([0], [1.0])}, title="loss")
    with pytest.raises(ValueError, match="2 steps do not fit 1 losses"):
        loss_curves({"training": ([1, 2], [1.0])}, title="loss")


def test_the_learning_rate_stands_below_on_the_same_steps():
    losses = {"training": ([1, 100], [2.0, 0.5])}
    plain = loss_curves(losses, title="loss")
    figure = loss_curves(losses, title="loss", rate=([0, 1, 10, 100], [0.0, 0.001, 0.002, 0.0]), best=(100, 0.5))
    *_, best, rate = figure.data
    assert list(rate.x) == [1, 10, 100] and rate.yaxis == "y2"  # step 0 has no place
    assert list(best.x) == [100] and list(best.y) == [0.5]
    assert figure.layout.yaxis2.type == "linear" and figure.layout.yaxis2.range[0] == 0
    assert figure.layout.yaxis2.range[1] > 0.002
    assert figure.layout.yaxis2.domain[1] < figure.layout.yaxis.domain[0]
    assert figure.layout.height > plain.layout.height and "yaxis2" not in plain.layout


def test_the_tooltip_says_the_time_at_each_step_that_has_one():
    steps, losses = [0, 1, 2, 3], [4.0, 3.0, math.nan, 1.0]
    figure = loss_curves({"training": (steps, losses)}, title="loss", times={0: "0 s", 1: "1 s", 2: "2 s"})
    assert list(figure.data[0].x) == [1, 3] and list(figure.data[0].customdata) == ["1 s", ""]
    assert "%{customdata}" in figure.data[0].hovertemplate
    assert "customdata" not in loss_curves({"training": (steps, losses)}, title="loss").data[0].hovertemplate


def test_tooltips_say_what_a_loss_was_measured_on():
    curves = {"training": ([1, 2], [4.0, 3.0]), "validation": ([1, 2], [4.0, 3.5])}
    on = {"training": "", "validation": "512 of <1,014> pairs"}
    training, validation, best = loss_curves(curves, title="loss", best=(2, 3.5), measured_on=on).data
    assert "<br>on " not in training.hovertemplate
    for each in (validation, best):
        assert "nats per token<br>on 512 of &lt;1,014&gt; pairs<" in each.hovertemplate


def test_a_learning_rate_of_other_steps_is_an_error():
    with pytest.raises(ValueError, match="2 steps do not fit 1 learning rates"):
        loss_curves({"training": ([1], [1.0])}, title="loss", rate=([1, 2], [0.1]))


def test_a_learning_rate_that_was_never_above_0_is_left_out():
    figure = loss_curves({"training": ([1], [1.0])}, title="loss", rate=([1, 2], [0.0, 0.0]))
    assert len(figure.data) == 1
