from itertools import pairwise

import numpy as np
import pytest

from viz_transformer.figures import theme
from viz_transformer.figures.embeddings import MAX_CELLS, Strip, StripRows, input_strips


def strips_of(rows, features, count=3, seed=0):
    random = np.random.default_rng(seed)
    return [Strip(f"strip <{n}>", random.standard_normal((rows, features)).astype(np.float32)) for n in range(count)]


def draw(strips, **changes):
    rows = strips[0].values.shape[0]
    tokens, positions = changes.pop("tokens", ["<b>", "cat", "cat"][:rows]), changes.pop("positions", range(rows))
    read = StripRows(tokens, positions, changes.pop("side", "source"))
    return input_strips(strips, read, **{"title": "a <title>", **changes})


def words(figure):
    return " | ".join(note.text for note in figure.layout.annotations)


@pytest.mark.parametrize("rows", [1, 3])
def test_the_cells_are_the_given_numbers_as_float32(rows):
    strips = strips_of(rows, 8)
    figure = draw(strips)
    assert len(figure.data) == 3
    for drawn, strip in zip(figure.data, strips, strict=True):
        assert drawn.z.dtype == np.float32 and np.array_equal(drawn.z, strip.values)
        assert list(drawn.x) == list(range(8)) and len(drawn.y) == rows + 1


def test_all_strips_have_one_scale_that_parts_at_0():
    strips = strips_of(2, 6)
    strips[1].values[0, 0] = -9.5
    figure = draw(strips)
    assert {(drawn.zmin, drawn.zmax) for drawn in figure.data} == {(-9.5, 9.5)}
    colors = [color for _, color in figure.data[0].colorscale]
    assert colors == list(theme.LIGHT.diverging) and figure.data[0].colorscale[3][0] == 0.5
    assert "-9.5" in words(figure) and "one scale for all" in words(figure)


def test_strips_lie_below_each_other_and_do_not_touch():
    figure = draw(strips_of(3, 4))
    spans = [(min(drawn.y), max(drawn.y)) for drawn in figure.data]
    assert all(below[0] > above[1] for above, below in pairwise(spans))
    assert figure.layout.yaxis.range[0] >= spans[-1][1] and figure.layout.yaxis.range[1] == 0


def test_tokens_are_text_and_equal_ones_stay_apart():
    figure = draw(strips_of(3, 4))
    assert [text.strip() for text in figure.layout.yaxis.ticktext] == ["&lt;b&gt;", "cat", "cat"] * 3
    assert len(set(figure.layout.yaxis.tickvals)) == 9
    assert "strip &lt;0&gt;" in words(figure) and figure.layout.title.text == "a &lt;title&gt;"


def test_a_cell_says_strip_position_token_feature_and_value():
    strips = strips_of(2, 4)
    figure = draw(strips, positions=[5, 6])
    said = figure.data[1].customdata[1][3]
    assert said == f"strip &lt;1&gt;<br>position 6: cat<br>feature 3<br>{strips[1].values[1, 3]:.5g}"


@pytest.mark.parametrize("mode", theme.THEMES)
@pytest.mark.parametrize("side", ["source", "target"])
def test_labels_have_the_ink_of_their_side(mode, side):
    palette = theme.palette(mode)
    ink = palette.source_ink if side == "source" else palette.target_ink
    assert draw(strips_of(1, 4), side=side, theme=mode).layout.yaxis.tickfont.color == ink


def test_more_cells_than_can_be_seen_are_pooled_and_the_legend_says_so():
    strips = strips_of(1, 2 * MAX_CELLS)
    figure = draw(strips)
    values = strips[0].values.reshape(1, MAX_CELLS, 2)
    farthest = np.take_along_axis(values, np.abs(values).argmax(axis=2)[..., None], 2)[..., 0]
    assert np.array_equal(figure.data[0].z, farthest)
    assert "max-pooled in blocks of 1 × 2" in words(figure)


def test_strips_of_two_widths_have_equally_wide_cells_and_say_how_many():
    narrow, wide = strips_of(2, 4, count=1), strips_of(2, 8, count=1)
    figure = draw([*narrow, *wide])
    assert [list(drawn.x) for drawn in figure.data] == [list(range(4)), list(range(8))]
    assert figure.layout.xaxis.range == (-0.5, 7.5) and np.array_equal(figure.data[0].z, narrow[0].values)
    assert "strip &lt;0&gt;, 4 features" in words(figure) and "strip &lt;0&gt;, 8 features" in words(figure)
    assert "features |" not in words(draw([*wide, *wide]))


def test_of_strips_of_two_widths_it_is_said_which_are_pooled():
    figure = draw([*strips_of(1, 64, count=1), *strips_of(1, 2 * MAX_CELLS, count=1)])
    assert figure.data[0].z.shape == (1, 64) and figure.data[1].z.shape == (1, MAX_CELLS)
    assert f"strips of {2 * MAX_CELLS:,} features are max-pooled in blocks of 1 × 2" in words(figure)


def test_zeros_alone_have_a_scale():
    figure = draw([Strip("zero", np.zeros((1, 4), np.float32))])
    assert (figure.data[0].zmin, figure.data[0].zmax) == (-1, 1)


def test_strips_that_do_not_fit_are_an_error():
    with pytest.raises(ValueError, match="no strips"):
        input_strips([], StripRows([], [], "source"), title="")
    with pytest.raises(ValueError, match="same"):
        draw([*strips_of(1, 4), *strips_of(2, 4)], tokens=["a"])
    with pytest.raises(ValueError, match="2 tokens do not fit 2 positions and 1 rows"):
        draw(strips_of(1, 4), tokens=["a", "b"], positions=[0, 1])
