import math

import numpy as np
import pytest

from viz_transformer.figures import candidate_bars, theme


def test_bars_are_the_probabilities_and_the_rest_of_the_vocabulary():
    figure = candidate_bars(["a", "<b>"], [math.log(0.75), math.log(0.125)], chosen=0, vocabulary=41, title="step 0")
    bar = figure.data[0]
    assert bar.x.dtype == np.float32
    assert list(bar.x) == [0.75, 0.125, 0.125]
    assert list(bar.text) == ["0.7500", "0.1250", "0.1250"]
    ticks = figure.layout.yaxis.ticktext
    assert ticks[0].strip() == "<b>a</b>" and ticks[1].strip() == "&lt;b&gt;" and "39 others" in ticks[2]
    assert list(figure.layout.xaxis.range) == [0, 1]


def test_only_the_written_candidate_has_the_full_colour_and_the_rest_is_grey():
    colors = candidate_bars(["a", "b"], [-1, -2], chosen=1, vocabulary=5, title="t").data[0].marker.color
    assert list(colors) == [theme.LIGHT.decoder[3], theme.LIGHT.target_ink, theme.LIGHT.derived[3]]


def test_hover_has_probability_and_log_probability():
    hover = candidate_bars(["a"], [math.log(0.5)], chosen=0, title="t").data[0].customdata
    assert list(hover) == ["candidate 0: “a”<br>probability 0.5000<br>log-probability -0.69<br>written"]


def test_without_the_size_of_the_vocabulary_nothing_is_said_of_the_rest():
    assert len(candidate_bars(["a"], [-1], title="t").data[0].x) == 1


def test_a_probability_of_zero_is_drawn():
    assert candidate_bars(["a", "b"], [0.0, -math.inf], vocabulary=2, title="t").data[0].x[1] == 0


def test_lists_of_different_lengths_are_refused():
    with pytest.raises(ValueError, match="2 tokens do not fit 1 log-probabilities"):
        candidate_bars(["a", "b"], [-1], title="t")
