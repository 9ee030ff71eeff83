import math

import numpy as np
import pytest

from viz_transformer.figures import theme
from viz_transformer.figures.branches import branch_curves

A = (["u", "v", "w"], [-0.5, -1.0, -0.25])
B = (["u", "x"], [-0.5, -2.0])


def draw(a=A, b=B, **changes):
    return branch_curves(a, b, **{"title": "a title", **changes})


def lines(figure, name):
    return [line for line in figure.data if line.name == name]


def test_one_panel_has_the_log_probabilities_and_the_other_their_sums():
    figure = draw(names=("A", "B"))
    single, together = lines(figure, "A")
    assert (single.yaxis, list(single.x), list(single.y)) == ("y", [1, 2, 3], [-0.5, -1.0, -0.25])
    assert (together.yaxis, list(together.y)) == ("y2", [-0.5, -1.5, -1.75])
    single, together = lines(figure, "B")
    assert (list(single.y), list(together.y)) == ([-0.5, -2.0], [-0.5, -2.5])


def test_the_runs_differ_in_more_than_colour_and_stand_in_the_legend_once():
    figure = draw()
    first, second = lines(figure, "A")[0], lines(figure, "B")[0]
    assert (first.line.dash, second.line.dash) == ("solid", "dash")
    assert first.marker.symbol != second.marker.symbol
    assert [line.name for line in figure.data if line.showlegend] == ["A", "B"]


def test_all_values_are_inside_the_axes():
    figure = draw()
    for axis, low in ((figure.layout.yaxis, -2.0), (figure.layout.yaxis2, -2.5)):
        assert axis.range[0] < low and axis.range[1] > 0
    assert figure.layout.yaxis.domain[0] > figure.layout.yaxis2.domain[1]
    assert list(figure.layout.xaxis.range) == [0.5, 3.5]


def test_the_first_difference_is_marked_and_named():
    figure = draw(parted=1)
    (band,) = figure.layout.shapes
    assert band.x0 < 2 < band.x1 and band.yref == "paper"
    assert "first difference: step 2" in [note.text for note in figure.layout.annotations]
    assert not draw().layout.shapes


def test_hover_gives_run_step_token_and_number():
    single, together = lines(draw(), "B")
    assert single.customdata[1] == "B, step 2: “x”<br>log-probability -2.00"
    assert together.customdata[1] == "B, step 2: “x”<br>sum so far -2.50"


def test_an_impossible_token_is_a_gap():
    figure = draw((["u", "v"], [-0.5, -math.inf]), B)
    assert np.isnan(lines(figure, "A")[0].y[1]) and np.isfinite(figure.layout.yaxis.range).all()


def test_many_steps_have_no_marks_and_few_ticks():
    figure = draw((["u"] * 200, [-0.1] * 200), B)
    assert lines(figure, "A")[0].mode == "lines"
    assert figure.layout.xaxis.dtick is None and draw().layout.xaxis.dtick == 1


def test_tokens_and_names_are_no_markup():
    figure = draw((["<b>"], [-1.0]), B, title="<i>", names=("<A>", "B"))
    assert figure.layout.title.text == "&lt;i&gt;"
    assert lines(figure, "&lt;A&gt;")[0].customdata[0].startswith("&lt;A&gt;, step 1: “&lt;b&gt;”")


@pytest.mark.parametrize("mode", theme.THEMES)
def test_everything_is_grey_or_the_colour_of_text(mode):
    colors = theme.palette(mode)
    assert {line.line.color for line in draw(theme=mode).data} == {colors.text, colors.muted}


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"a": (["u"], [-1.0, -2.0])}, "A: 1 tokens do not fit 2 log-probabilities"),
        ({"b": ([], [])}, "B: tokens=0 has to be"),
        ({"parted": 3}, "there is no step 3: steps go from 0 to 2"),
        ({"theme": "sepia"}, "theme='sepia' is not known"),
    ],
)
def test_what_cannot_be_drawn_is_refused_in_one_sentence(given, says):
    with pytest.raises(ValueError, match=says):
        draw(**given)
