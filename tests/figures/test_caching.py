import pytest

from viz_transformer.figures import theme
from viz_transformer.figures.caching import work_curves


def draw(cached=(100, 20, 30), whole=(100, 200, 1300), **changes):
    return work_curves(cached, whole, **{"title": "a title", **changes})


def test_both_lines_have_the_work_of_each_step_and_the_area_between_is_filled():
    whole, cached = draw().data
    assert (whole.name, list(whole.x), list(whole.y)) == ("whole pass", [1, 2, 3], [100, 200, 1300])
    assert (cached.name, list(cached.y), cached.fill) == ("with the cache", [100, 20, 30], "tonexty")
    assert (whole.line.dash, cached.line.dash) == ("dash", "solid")


def test_the_scale_begins_at_0_and_holds_everything():
    low, high = draw().layout.yaxis.range
    assert low == 0 and high > 1300


def test_hover_has_the_exact_number():
    assert draw().data[0].customdata[2] == "1,300"


def test_the_chosen_step_is_marked_and_named():
    figure = draw(chosen=2)
    (line,) = figure.layout.shapes
    assert (line.x0, line.x1) == (3, 3)
    assert [note.text for note in figure.layout.annotations] == ["step 3"]
    assert not draw().layout.shapes


@pytest.mark.parametrize("mode", theme.THEMES)
def test_everything_is_grey_or_the_colour_of_text(mode):
    colors = theme.palette(mode)
    assert {line.line.color for line in draw(theme=mode).data} == {colors.text, colors.muted}


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"cached": (1, 2)}, "2 steps with the cache do not fit 3 steps without"),
        ({"cached": (), "whole": ()}, "steps=0 has to be"),
        ({"chosen": 3}, "there is no step 3: steps go from 0 to 2"),
    ],
)
def test_what_cannot_be_drawn_is_refused_in_one_sentence(given, says):
    with pytest.raises(ValueError, match=says):
        draw(**given)
