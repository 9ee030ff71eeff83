import numpy as np
import pytest

from viz_transformer.figures import score_table, theme

VALUES = np.array([[0.25, 0.0004, 1.0], [np.nan, 0.5, 0.0]])


def draw(values, **changes):
    return score_table(values, **{"name": "entropy", "title": "a title", "bounds": (0.0, 1.0), **changes})


def words(figure):
    return " | ".join(note.text for note in figure.layout.annotations)


def contrast(first, second):
    """WCAG 2.1's contrast of two colours #RRGGBB."""

    def light(color):
        parts = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    high, low = sorted((light(first), light(second)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_cells_are_the_given_scores_layers_as_rows_and_heads_as_columns():
    figure = draw(VALUES)
    cells = figure.data[0]
    assert np.array_equal(cells.z, VALUES.astype(np.float32), equal_nan=True) and cells.z.dtype == np.float32
    assert (list(cells.x), list(cells.y)) == ([0, 1, 2], [0, 1])
    assert list(figure.layout.xaxis.ticktext) == ["head 0", "head 1", "head 2"]
    assert [label.strip() for label in figure.layout.yaxis.ticktext] == ["layer 0", "layer 1"]
    assert figure.layout.yaxis.range[0] > figure.layout.yaxis.range[1]


def test_each_cell_carries_its_number_and_one_without_a_score_a_dash():
    numbers = draw(VALUES).data[1]
    written = {(y, x): text for y, x, text in zip(numbers.y, numbers.x, numbers.text, strict=True)}
    assert written == {(0, 0): "0.25", (0, 1): "&lt;0.01", (0, 2): "1.00", (1, 0): "–", (1, 1): "0.50", (1, 2): "0.00"}


def test_hover_gives_head_value_baseline_and_rows():
    figure = draw(VALUES, baseline=np.full((2, 3), 0.125), n=np.array([[14, 14, 14], [0, 13, 14]]))
    hover = figure.data[0].customdata
    assert hover[0][1] == "layer 0, head 1<br>entropy 0.0004<br>baseline 0.1250<br>from 14 rows"
    assert hover[1][0] == "layer 1, head 0<br>no entropy here<br>baseline 0.1250<br>from 0 rows"
    assert draw(VALUES).data[0].customdata[0][0] == "layer 0, head 0<br>entropy 0.2500"


def test_the_legend_has_the_baseline_as_one_number_or_from_the_smallest_to_the_largest():
    assert "entropy | baseline 0.1250" in words(draw(VALUES, baseline=0.125))
    uneven = np.array([[0.1, 0.2, 0.2], [np.nan, 0.2, 0.2]])
    assert "baseline 0.1000 to 0.2000" in words(draw(VALUES, baseline=uneven))
    assert "baseline –" in words(draw(VALUES, baseline=np.full((2, 3), np.nan)))
    assert "baseline" not in words(draw(VALUES))


@pytest.mark.parametrize("mode", theme.THEMES)
def test_a_score_is_derived_so_it_is_grey(mode):
    cells = draw(VALUES, theme=mode).data[0]
    assert [color for _, color in cells.colorscale] == list(theme.palette(mode).derived)


def test_the_scale_reaches_from_bound_to_bound_whatever_the_values_are():
    for bounds in ((0.0, 1.0), (-1.0, 1.0), (0.0, 9.0)):
        figure = draw(np.full((2, 2), 0.3), bounds=bounds)
        assert (figure.data[0].zmin, figure.data[0].zmax) == bounds
        assert words(figure).startswith(f"{bounds[0]:g} | {bounds[1]:g} | entropy")


def test_a_value_outside_the_bounds_widens_the_scale():
    cells = draw(np.array([[1.5, -0.25]])).data[0]
    assert (cells.zmin, cells.zmax) == (-0.25, 1.5)


def test_a_score_that_can_only_be_0_has_a_scale():
    cells = draw(np.zeros((1, 2)), bounds=(0.0, 0.0)).data[0]
    assert cells.zmin < cells.zmax


@pytest.mark.parametrize("mode", theme.THEMES)
def test_every_number_can_be_read_on_its_grey(mode):
    ramp = theme.palette(mode).derived
    places = np.linspace(0, 1, len(ramp))
    inks = draw(places[None], theme=mode).data[1].textfont.color
    assert all(contrast(ink, grey) >= 3.5 for ink, grey in zip(inks, ramp, strict=True))


def test_no_scores_at_all_are_dashes():
    assert list(draw(np.full((1, 2), np.nan)).data[1].text) == ["–", "–"]


def test_144_heads_keep_room_for_their_numbers():
    layout = draw(np.full((12, 12), 0.123)).layout
    assert (layout.width - layout.margin.l - layout.margin.r) / 12 >= 5 * 0.61 * 13
    assert [layout.xaxis.ticktext[i] for i in (0, 11)] == ["head 0", "11"]


def test_titles_and_names_are_no_markup():
    figure = draw(VALUES, title="<b>", name="<i>&")
    assert figure.layout.title.text == "&lt;b&gt;"
    assert "&lt;i&gt;&amp;" in words(figure)
    assert "&lt;i&gt;&amp; 0.2500" in figure.data[0].customdata[0][0]


@pytest.mark.parametrize(
    ("values", "changes", "says"),
    [
        (np.ones(3), {}, r"a table needs \[layers, heads\]"),
        (np.ones((0, 3)), {}, "a table needs"),
        (np.ones((2, 3)), {"baseline": np.ones((3, 2))}, r"baseline \(3, 2\) does not have the shape"),
        (np.ones((2, 3)), {"n": np.ones(3)}, r"n \(3,\) does not have the shape"),
        (np.ones((2, 3)), {"theme": "sepia"}, "theme 'sepia' is not known"),
    ],
)
def test_what_cannot_be_drawn_is_refused_in_one_sentence(values, changes, says):
    with pytest.raises(ValueError, match=says):
        draw(values, **changes)
