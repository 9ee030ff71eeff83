import numpy as np
import pytest

from viz_transformer.figures import theme
from viz_transformer.figures.layers import Marked, Panel, Size, gain_chart, stream_chart

STATIONS = [("input", ""), ("layer 0", "self"), ("layer 0", "ffn"), ("layer 1", "self"), ("layer 1", "ffn")]
VALUES = np.arange(15.0).reshape(5, 3)
MARKED = {"token", "token_name", "station"}


def draw(panels=None, stations=STATIONS, **changes):
    panels = panels or [Panel("length", VALUES, (0, None)), Panel("cosine", VALUES / 15, (0, 1), np.full(5, 0.1))]
    marked = {"token": 1, "token_name": "token 1: a", **{name: changes.pop(name) for name in MARKED & changes.keys()}}
    size = Size(**{name: changes.pop(name) for name in ("letters", "height") if name in changes})
    return stream_chart(panels, stations, Marked(**marked), size=size, **{"title": "a title", **changes})


def lines(figure, name):
    return [line for line in figure.data if line.name == name]


def test_the_strong_line_is_the_chosen_token_and_the_other_the_mean():
    figure = draw()
    assert list(lines(figure, "token 1: a")[0].y) == [1, 4, 7, 10, 13]
    assert list(lines(figure, "mean")[0].y) == [1, 4, 7, 10, 13]
    other = draw(token=2)
    assert list(lines(other, "token 1: a")[0].y) == [2, 5, 8, 11, 14]


def test_the_band_reaches_from_the_smallest_to_the_largest_of_all_tokens():
    band = lines(draw(), "all tokens")[0]
    assert list(band.y[:5]) == [2, 5, 8, 11, 14]
    assert list(band.y[5:]) == [12, 9, 6, 3, 0]


def test_a_baseline_is_dotted_and_stands_in_the_legend_once():
    figure = draw()
    (baseline,) = lines(figure, "baseline")
    np.testing.assert_allclose(baseline.y, 0.1)
    assert baseline.line.dash == "dot" and baseline.showlegend
    assert [line.name for line in figure.data if line.showlegend] == [
        "all tokens",
        "mean",
        "token 1: a",
        "baseline",
    ]


def test_another_runs_mean_is_dashed_on_the_same_scale():
    figure = draw([Panel("length", VALUES, (0, None), None, np.full(5, 40.0))], names=("mean of A", "mean of B"))
    (other,) = lines(figure, "mean of B")
    assert other.line.dash == "dash" and list(other.y) == [40] * 5
    assert figure.layout.yaxis.range[1] > 40


def test_beside_another_runs_mean_the_names_have_room_for_two_lines():
    margin, legend = draw().layout.margin.t, (1 - draw().layout.legend.y) * draw().layout.height
    other = draw([Panel("length", VALUES, (0, None), np.full(5, 0.1), np.full(5, 40.0))]).layout
    assert other.margin.t >= margin + 20 and round((1 - other.legend.y) * other.height) == round(legend)


def test_a_station_without_a_value_is_a_gap_and_keeps_its_place():
    values = VALUES.copy()
    values[0] = np.nan
    figure = draw([Panel("share added", values, (0, 1))])
    assert np.isnan(lines(figure, "mean")[0].y[0]) and len(lines(figure, "mean")[0].x) == 5
    assert list(lines(figure, "all tokens")[0].x) == [1, 2, 3, 4, 4, 3, 2, 1]


def test_panels_stand_below_each_other_and_do_not_overlap():
    layout = draw().layout
    assert layout.yaxis.domain[0] > layout.yaxis2.domain[1]
    assert 0 <= layout.yaxis2.domain[0] < layout.yaxis.domain[1] <= 1
    assert layout.xaxis.anchor == "y2"
    assert layout.height > draw([Panel("length", VALUES)]).layout.height


@pytest.mark.parametrize("changes", [{}, {"letters": 1.4, "height": 470}])
def test_the_legend_is_under_the_title_and_panels_leave_room_for_their_names(changes):
    layout = draw([Panel(name, VALUES) for name in "abc"], **changes).layout
    letters = changes.get("letters", 1)
    top, drawn = layout.margin.t, layout.height - layout.margin.t - layout.margin.b
    legend = (1 - layout.legend.y) * layout.height
    assert (layout.legend.x, layout.legend.xanchor) == (0, "left")
    assert legend >= 24 * letters  # the title has 16 pixels from the fourth on
    assert top - legend >= (20 + 22) * letters  # its own line, and that of a panel's name
    for upper, lower in ((layout.yaxis, layout.yaxis2), (layout.yaxis2, layout.yaxis3)):
        assert (upper.domain[0] - lower.domain[1]) * drawn >= (22 + 9) * letters  # a name, and half a number
        panel = (lower.domain[1] - lower.domain[0]) * drawn
        assert panel / (lower.nticks - 1) >= 18 * letters  # numbers of 12 pixels with air
    assert "height" not in changes or layout.height == changes["height"]


def test_layers_are_named_once_and_words_are_left_out_where_there_are_many():
    assert list(draw().layout.xaxis.ticktext) == [
        " <br>input",
        "self<br>layer 0",
        "ffn<br> ",
        "self<br>layer 1",
        "ffn<br> ",
    ]
    many = [(f"layer {n // 3}", "self") for n in range(18)]
    texts = draw([Panel("length", np.ones((18, 2)))], many).layout.xaxis.ticktext
    assert list(texts[:4]) == ["layer 0", " ", " ", "layer 1"]


def test_the_chosen_station_is_marked_through_all_panels():
    (shape,) = draw(station=3).layout.shapes
    assert (shape.x0, shape.x1, shape.yref) == (2.55, 3.45, "paper")
    assert not draw().layout.shapes


def test_hover_gives_quantity_line_place_and_number():
    strong = lines(draw(), "token 1: a")[0]
    assert strong.customdata[1] == "token 1: a, layer 0 self: 4.0000"
    assert strong.hovertemplate.startswith("length<br>")


@pytest.mark.parametrize("mode", theme.THEMES)
def test_everything_is_grey_or_the_colour_of_text(mode):
    colors = theme.palette(mode)
    greys = {*colors.derived, colors.text, colors.muted}
    assert {line.line.color for line in draw(theme=mode).data if line.line.color} <= greys
    assert {bar.marker.color for bar in gain_chart([1, 2], [0, 1], title="", theme=mode).data} <= greys


def test_gain_stands_around_1_and_offset_around_0():
    figure = gain_chart([1.5, 0.5, 1.0], [0.25, -0.5, 0.0], title="a title")
    gain, offset = figure.data
    assert (list(gain.y), gain.base) == ([0.5, -0.5, 0.0], 1)
    assert (list(offset.y), offset.base) == ([0.25, -0.5, 0.0], 0)
    assert list(gain.customdata) == ["1.5000", "0.5000", "1.0000"]
    assert sum(figure.layout.yaxis.range) == pytest.approx(2) and sum(figure.layout.yaxis2.range) == pytest.approx(0)


def test_titles_and_names_are_no_markup():
    figure = draw([Panel("<i>", VALUES)], title="<b>", token_name="token 1: <b>")
    assert figure.layout.title.text == "&lt;b&gt;"
    assert figure.layout.annotations[0].text == "&lt;i&gt;"
    assert lines(figure, "token 1: &lt;b&gt;")[0].customdata[0].startswith("token 1: &lt;b&gt;, input")


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"panels": [Panel("length", np.ones((4, 3)))]}, r"the chart needs \[5 stations, tokens\]"),
        ({"panels": [Panel("length", np.ones((5, 0)))]}, "the chart needs"),
        ({"token": 3}, "there is no position 3: positions go from 0 to 2"),
        ({"panels": [Panel("length", VALUES, baseline=[1, 2])]}, r"the baseline of 'length' has the shape \(2,\)"),
        ({"panels": [Panel("length", VALUES, other=[1])]}, r"the other of 'length' has the shape \(1,\)"),
        ({"stations": []}, "there is nothing to draw"),
        ({"theme": "sepia"}, "theme='sepia' is not known"),
    ],
)
def test_what_cannot_be_drawn_is_refused_in_one_sentence(changes, says):
    with pytest.raises(ValueError, match=says):
        draw(**changes)


def test_gain_and_offset_of_other_lengths_are_refused():
    with pytest.raises(ValueError, match=r"gain \(2,\) and offset \(3,\) are not one number for each feature"):
        gain_chart([1, 2], [1, 2, 3], title="")


def test_larger_type_has_more_room():
    small, large = draw().layout, draw(letters=1.4).layout
    assert large.xaxis.tickfont.size == pytest.approx(1.4 * small.xaxis.tickfont.size)
    notes = [layout.template.layout.annotationdefaults.font.size for layout in (small, large)]
    assert notes[1] == pytest.approx(1.4 * notes[0])
    assert large.margin.b > small.margin.b and large.height > small.height
