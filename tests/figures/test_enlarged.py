import numpy as np

from viz_transformer.figures.embeddings import Strip, StripRows, input_strips
from viz_transformer.figures.enlarged import enlarged
from viz_transformer.figures.lengths import length_histogram


def strips():
    values = np.arange(8, dtype=np.float32).reshape(1, 8)
    return input_strips([Strip("a", values), Strip("b", values)], StripRows(["cat"], [0], "source"), title="title")


def test_letters_and_pixels_grow_and_the_numbers_stay():
    small, large = strips(), enlarged(strips(), 1.5)
    assert large.layout.height == round(1.5 * small.layout.height)
    assert large.layout.margin.l == 1.5 * small.layout.margin.l and large.layout.margin.b == 1.5 * small.layout.margin.b
    before, after = (figure.layout.template.layout for figure in (small, large))
    for what in (
        "font",
        "annotationdefaults.font",
        "title.font",
        "hoverlabel.font",
        "legend.font",
        "xaxis.tickfont",
        "yaxis.title.font",
    ):
        assert after[f"{what}.size"] == 1.5 * before[f"{what}.size"]
    assert large.layout.template.data.heatmap[0].colorbar.thickness == 12
    assert strips().layout.template.layout.font.size == 14  # other figures keep their letters
    for before, after in zip(small.layout.annotations, large.layout.annotations, strict=True):
        assert before.font.size is None or after.font.size == 1.5 * before.font.size
        assert after.text == before.text
        assert (after.xshift, after.yshift) == (1.5 * (before.xshift or 0), 1.5 * (before.yshift or 0))
    assert np.array_equal(large.data[0].z, small.data[0].z) and np.array_equal(large.data[0].y, small.data[0].y)


def test_the_colour_bar_keeps_its_place_and_grows():
    small, large = strips().data[0].colorbar, enlarged(strips(), 2).data[0].colorbar
    assert (large.len, large.xpad) == (2 * small.len, 2 * small.xpad)
    assert large.y == small.y


def test_a_figure_without_a_bar_or_notes_can_be_enlarged():
    figure = enlarged(length_histogram({"source": [1, 2], "target": [2]}, title="lengths"), 1.5)
    assert figure.layout.height == 480 and figure.layout.legend.font.size == 21
