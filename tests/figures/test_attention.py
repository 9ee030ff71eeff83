import numpy as np
import pytest
import torch

from viz_transformer.figures import attention_heatmap, theme
from viz_transformer.model.kinds import KINDS


def weights_of(rows, columns, seed=0):
    values = np.random.default_rng(seed).random((rows, columns), dtype=np.float32)
    return values / values.sum(axis=1, keepdims=True)


def draw(weights, **changes):
    rows, columns = np.shape(weights)
    settings = {"title": "a title", "query_tokens": ["q"] * rows, "key_tokens": ["k"] * columns, **changes}
    return attention_heatmap(weights, **settings)


def hatches(figure):
    """Cells under each hatch, by (row, column), with the fill of the hatch."""
    cells = {}
    for bar in figure.data:
        if bar.type == "bar":
            for row, start, length in zip(bar.y, bar.base, bar.x, strict=True):
                for column in range(round(start + 0.5), round(start + 0.5) + length):
                    cells[row, column] = bar.marker.pattern.bgcolor
    return cells


def test_cells_are_the_given_weights_as_float32():
    weights = weights_of(3, 5)
    heatmap = draw(weights).data[0]
    assert heatmap.z.dtype == np.float32
    assert np.array_equal(heatmap.z, weights)


def test_a_tensor_of_a_trace_can_be_drawn_as_it_is():
    weights = torch.rand(2, 3)
    assert np.array_equal(draw(weights).data[0].z, weights.numpy())


def test_a_read_only_array_can_be_drawn():
    weights = weights_of(2, 2)
    weights.setflags(write=False)
    draw(weights, mask=np.eye(2, dtype=bool))


def test_the_scale_is_0_to_1_whatever_the_weights_are():
    heatmap = draw(np.full((2, 2), 0.3)).data[0]
    assert (heatmap.zmin, heatmap.zmax) == (0, 1)


def test_repeated_tokens_keep_their_own_rows_and_columns():
    figure = draw(weights_of(3, 4), query_tokens=["a", "a", "a"], key_tokens=["0", "0", ".", "0"])
    assert list(figure.data[0].x) == [0, 1, 2, 3]
    assert list(figure.layout.xaxis.tickvals) == [0, 1, 2, 3]
    assert [label.strip() for label in figure.layout.xaxis.ticktext] == ["0", "0", ".", "0"]
    assert list(figure.layout.yaxis.tickvals) == [0, 1, 2]


def test_tokens_that_look_like_markup_are_labels_and_not_markup():
    tokens = ["<s>", "&", "<b>"]
    figure = draw(weights_of(3, 3), query_tokens=tokens, key_tokens=tokens, query_writes=tokens, title="<b>")
    for axis in (figure.layout.xaxis, figure.layout.yaxis, figure.layout.yaxis2):
        assert [label.strip() for label in axis.ticktext] == ["&lt;s&gt;", "&amp;", "&lt;b&gt;"]
    assert figure.layout.title.text == "&lt;b&gt;"
    assert "“&lt;b&gt;”" in figure.data[0].text[2][1]


def test_rows_go_downwards_and_read_at_the_left_and_write_at_the_right():
    figure = draw(weights_of(2, 2), query_tokens=["<s>", "one"], query_writes=["one", "</s>"])
    assert figure.layout.yaxis.range[0] > figure.layout.yaxis.range[1]
    assert figure.layout.yaxis2.side == "right"
    assert [label.strip() for label in figure.layout.yaxis2.ticktext] == ["one", "&lt;/s&gt;"]
    assert figure.layout.yaxis.range == figure.layout.yaxis2.range


def test_masked_cells_are_hatched_and_never_drawn_as_zero():
    weights = np.array([[1, 0, 0], [0.5, 0.5, 0], [0.4, 0.6, 0]], np.float32)
    mask = np.array([[1, 0, 0], [1, 1, 0], [1, 1, 1]], bool)
    figure = draw(weights, mask=mask)
    z = figure.data[0].z
    assert np.array_equal(np.isnan(z), ~mask)  # cell (2, 2) is allowed and weighs 0: drawn as 0
    assert z[2, 2] == 0
    assert hatches(figure) == {(0, 1): theme.LIGHT.surface, (0, 2): theme.LIGHT.surface, (1, 2): theme.LIGHT.surface}


def test_a_masked_cell_with_a_weight_shows_both_facts():
    figure = draw(np.array([[0.995, 0.005]]), mask=np.array([[True, False]]))
    assert figure.data[0].z[0, 1] == np.float32(0.005)
    assert hatches(figure) == {(0, 1): "rgba(0,0,0,0)"}
    assert figure.data[0].text[0][1].endswith("masked, weight 0.0050")


def test_without_masked_cells_there_is_no_hatch():
    assert hatches(draw(weights_of(2, 3), mask=np.ones((2, 3), bool))) == {}


def test_hover_gives_positions_tokens_and_the_value_with_four_decimals():
    weights = np.array([[0.12344, 0.00004, 0.0], [0.3, 0.3, 0.4]], np.float32)
    figure = draw(weights, query_tokens=["<s>", "two"], key_tokens=["a", "b", "b"], query_writes=["two", "</s>"])
    text = figure.data[0].text
    assert text[0][0] == "query 0: reads “&lt;s&gt;”, writes “two”<br>key 0: “a”<br>weight 0.1234"
    assert text[0][1].endswith("key 1: “b”<br>weight <0.0001")
    assert text[0][2].endswith("key 2: “b”<br>weight 0.0000")
    assert figure.data[0].hovertemplate == "%{text}<extra></extra>"


def test_unknown_text_is_shown_with_what_the_model_reads_instead():
    figure = draw(weights_of(1, 2), key_tokens=["1", "<unk>"], key_originals=["1", "&"])
    known, unknown = figure.layout.xaxis.ticktext
    assert known.strip() == "1"
    assert unknown.strip().startswith("&amp;") and "&lt;unk&gt;" in unknown
    assert "key 1: “&lt;unk&gt;”, typed “&amp;”" in figure.data[0].text[0][1]


def test_a_token_in_another_case_is_the_same_word():
    figure = draw(weights_of(1, 2), key_tokens=["hund", "<unk>"], key_originals=["Hund", "<UNK>"])
    assert [label.strip() for label in figure.layout.xaxis.ticktext] == ["hund", "&lt;unk&gt;"]
    assert "key 0: “hund”, typed “Hund”" in figure.data[0].text[0][0]


def test_upright_labels_of_two_parts_have_room_above_the_cells():
    def top(**changes):
        return draw(weights_of(1, 30), **changes).layout.margin.t

    word, unknown = "favourite", "<UNKNOWN>"
    plain = top(key_tokens=[word] * 30)
    both = top(key_tokens=[unknown] * 30, key_originals=[word] * 30)
    assert both - plain >= len(unknown) * 0.5 * 8  # the second part at 8 pixels, half a pixel's width for each


def test_long_labels_are_shortened_and_whole_on_hover():
    word = "internationalisation"
    figure = draw(weights_of(1, 2), key_tokens=[word, "a"])
    assert figure.layout.xaxis.ticktext[0].strip() == "internation…"
    assert word in figure.data[0].text[0][0]


@pytest.mark.parametrize("key_tokens", [list("0123456789"), ["internationalisation"] * 10])
def test_labels_are_never_slanted(key_tokens):
    assert draw(weights_of(1, 10), key_tokens=key_tokens).layout.xaxis.tickangle in (0, -90)


def test_the_selected_row_has_a_ring_and_bold_labels():
    figure = draw(weights_of(3, 2), query_tokens=["a", "b", "c"], query_writes=["b", "c", "d"], selected_query=1)
    assert [label.strip() for label in figure.layout.yaxis.ticktext] == ["a", "<b>b</b>", "c"]
    assert [label.strip() for label in figure.layout.yaxis2.ticktext] == ["b", "<b>c</b>", "d"]
    outer, inner = figure.layout.shapes
    assert (outer.y0, outer.y1, outer.x0, outer.x1) == (0.5, 1.5, -0.5, 1.5)
    assert outer.line.color == theme.LIGHT.text and inner.line.color == theme.LIGHT.page
    assert outer.y0 < inner.y0 < inner.y1 < outer.y1


@pytest.mark.parametrize("mode", theme.THEMES)
def test_rows_of_which_more_than_0_9_is_hidden_are_faint_and_the_legend_says_so(mode):
    figure = draw(weights_of(3, 2), hidden=[0.9, 0.91, 0.00004], theme=mode)
    (veil,) = figure.layout.shapes
    assert (veil.y0, veil.y1, veil.x0, veil.x1) == (0.5, 1.5, -0.5, 1.5)
    assert (veil.fillcolor, veil.opacity) == (theme.palette(mode).page, 0.5)
    legend = "attention weight; faint: more than 0.9 of the row is hidden"
    assert legend in [note.text for note in figure.layout.annotations]
    said = [row[0].rpartition("<br>")[2] for row in figure.data[0].text]
    assert said == [f"{share} of this row's weight is hidden" for share in ("0.9000", "0.9100", "&lt;0.0001")]
    plain = draw(weights_of(3, 2), hidden=[0.9, 0.5, 0])
    assert not plain.layout.shapes and "attention weight" in [note.text for note in plain.layout.annotations]


def test_every_row_can_be_selected_also_where_labels_are_thinned_out():
    figure = draw(weights_of(200, 2), selected_query=177)
    assert 177 in figure.layout.yaxis.tickvals
    assert len(figure.layout.yaxis.tickvals) < 200


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("mode", theme.THEMES)
def test_colour_is_for_heads_and_grey_for_what_is_derived(kind, mode):
    def colors(**changes):
        return [color for _, color in draw(weights_of(2, 2), kind=kind, theme=mode, **changes).data[0].colorscale]

    palette = theme.palette(mode)
    assert colors() == list(getattr(palette, kind))
    assert colors(derived=True) == list(palette.derived)


def test_the_axes_say_which_tokens_they_have_in_words_and_in_ink():
    figure = draw(weights_of(2, 2), kind="cross", query_writes=["a", "b"])
    words = [note.text for note in figure.layout.annotations]
    assert {"keys: source tokens", "queries read", "and write", "attention weight"} <= set(words)
    assert figure.layout.xaxis.tickfont.color == theme.LIGHT.source_ink
    assert figure.layout.yaxis.tickfont.color == theme.LIGHT.target_ink


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"query_tokens": ["a"]}, "do not fit 1 query and 3 key tokens"),
        ({"mask": np.ones((3, 2), bool)}, "does not have the shape"),
        ({"query_writes": ["a"]}, "1 written tokens do not fit 2 queries"),
        ({"hidden": [0.5]}, "does not fit 2 query tokens"),
        ({"selected_query": 2}, "rows go from 0 to 1"),
        ({"theme": "blue"}, "choose 'light' or 'dark'"),
        ({"kind": "self"}, "is not known"),
    ],
)
def test_what_does_not_fit_is_a_value_error(changes, sentence):
    with pytest.raises(ValueError, match=sentence):
        draw(weights_of(2, 3), **changes)


def test_weights_of_a_batch_are_refused():
    with pytest.raises(ValueError, match=r"needs \[queries, keys\]"):
        attention_heatmap(np.ones((1, 2, 2)), ["a", "b"], ["a", "b"], title="batch")
