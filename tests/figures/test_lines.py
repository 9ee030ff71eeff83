import numpy as np
import pytest
import torch

from viz_transformer.figures import attention_lines, theme
from viz_transformer.figures import lines as module
from viz_transformer.model.kinds import KINDS


def weights_of(*shape, seed=0):
    values = np.random.default_rng(seed).random(shape, dtype=np.float32)
    return values / values.sum(axis=-1, keepdims=True)


def draw(weights, **changes):
    rows, columns = np.shape(weights)[-2:]
    settings = {"title": "a title", "query_tokens": ["q"] * rows, "key_tokens": ["k"] * columns, **changes}
    return attention_lines(weights, **settings)


def drawn_of(figure):
    """[(ink, opacity, query, key)] of all lines in the order in which they are drawn, read by the labels' heights."""
    queries, keys = (np.asarray(axis.tickvals) for axis in (figure.layout.yaxis, figure.layout.yaxis2))
    found = []
    for trace in figure.data:
        if trace.mode == "lines":
            x, y = trace.x.reshape(-1, 3), trace.y.reshape(-1, 3)
            assert (x[:, 0] == 0).all() and (x[:, 1] == 1).all() and np.isnan(x[:, 2]).all() and np.isnan(y[:, 2]).all()
            for left, right, _ in y:
                query, key = (int(np.abs(side - place).argmin()) for side, place in ((queries, left), (keys, right)))
                found.append((trace.line.color, trace.opacity, query, key))
    return found


def tips_of(figure, x):
    """Tooltips at this place across: 0 queries, 1 keys, between them the lines."""
    return [
        text
        for trace in figure.data
        if trace.mode == "markers"
        for place, text in zip(trace.x, trace.customdata, strict=True)
        if (place == x if x in (0, 1) else 0 < place < 1)
    ]


def subtitle(figure):
    return figure.layout.title.subtitle.text


def test_each_weight_has_one_line_from_its_query_to_its_key():
    figure = draw(weights_of(3, 5))
    assert sorted((query, key) for _, _, query, key in drawn_of(figure)) == list(np.ndindex(3, 5))


def test_a_line_is_as_opaque_as_its_weight_to_a_twelfth():
    weights = weights_of(6, 9) ** 3
    weights[0, 0], weights[0, 1] = 1.0, 0.0001
    for _, opacity, query, key in drawn_of(draw(weights)):
        exact = 0.06 + 0.94 * float(weights[query, key]) ** 0.7
        assert abs(opacity - exact) <= 0.94 / 24 + 1e-6


def test_the_strongest_lines_are_drawn_last_and_traces_are_few():
    figure = draw(weights_of(3, 20, 20), heads=["head 0", "head 1", "head 2"])
    opacities = [opacity for _, opacity, _, _ in drawn_of(figure)]
    assert opacities == sorted(opacities)
    assert sum(trace.mode == "lines" for trace in figure.data) <= 3 * 12


def test_one_head_has_the_colour_of_its_kind_and_a_derived_map_is_grey():
    for mode in theme.THEMES:
        colors = theme.palette(mode)
        for kind in KINDS:
            inks = {ink for ink, *_ in drawn_of(draw(weights_of(2, 2), kind=kind, theme=mode))}
            assert inks == {getattr(colors, kind)[5]}
        assert {ink for ink, *_ in drawn_of(draw(weights_of(2, 2), derived=True, theme=mode))} == {colors.derived[5]}


def test_several_heads_have_a_colour_each_and_the_legend_names_them():
    weights = np.zeros((3, 2, 2))
    weights[0, 0, 0] = weights[1, 0, 1] = weights[2, 1, 1] = 1
    figure = draw(weights, heads=["head 1", "head 4", "<b>"])
    first, second, third = theme.LIGHT.heads[:3]
    assert {line[0]: line[2:] for line in drawn_of(figure)} == {first: (0, 0), second: (0, 1), third: (1, 1)}
    (legend,) = [note.text for note in figure.layout.annotations if "opacity" in note.text]
    for ink, name in ((first, "head 1"), (second, "head 4"), (third, "&lt;b&gt;")):
        assert f'color:{ink}">■</span> {name}' in legend


def test_lines_of_several_heads_between_the_same_tokens_do_not_lie_on_each_other():
    figure = draw(np.ones((6, 1, 1)), heads=[f"head {n}" for n in range(6)])
    heights = sorted(float(trace.y[0]) for trace in figure.data if trace.mode == "lines")
    assert len(heights) == 6 and min(np.diff(heights)) >= 2


def test_one_map_is_the_same_with_and_without_the_axis_of_heads():
    weights = weights_of(3, 4)
    assert drawn_of(draw(weights)) == drawn_of(draw(torch.from_numpy(weights)[None], heads=["head 0"]))


def test_lines_below_the_threshold_are_hidden_and_the_title_says_how_much_they_hold():
    weights = np.array([[0.9, 0.1, 0.0], [0.25, 0.25, 0.5]], np.float32)
    figure = draw(weights, threshold=0.25)
    assert sorted(line[2:] for line in drawn_of(figure)) == [(0, 0), (1, 0), (1, 1), (1, 2)]
    assert subtitle(figure) == "threshold 0.25: 2 of 6 lines hidden, 5.0 % of the weight"  # 0.1 of 2
    assert subtitle(draw(weights)) == "threshold 0: 1 of 6 lines hidden, 0 % of the weight"  # a weight of 0 has none


def test_next_to_nothing_and_next_to_all_are_not_rounded_to_nothing_and_all():
    assert ", &lt;0.1 % of the weight" in subtitle(draw([[0.9999, 0.0001]], threshold=0.001))
    almost = np.full((200, 200), 0.005)
    almost[3, 4] = 0.01
    assert ", &gt;99.9 % of the weight" in subtitle(draw(almost, threshold=0.006))
    assert ", 100 % of the weight" in subtitle(draw([[0.5, 0.5]], threshold=0.6))
    assert ", 0 % of the weight" in subtitle(draw(weights_of(7, 13), threshold=0))
    assert ", &lt;0.1 % of the weight" in subtitle(draw([[1.0, 1e-20]], threshold=0.001))


def test_masked_pairs_have_no_line_and_what_they_hold_is_said():
    weights = np.array([[0.995, 0.005], [0.5, 0.5]], np.float32)
    mask = np.array([[True, False], [True, True]])
    figure = draw(weights, mask=mask)
    assert sorted(line[2:] for line in drawn_of(figure)) == [(0, 0), (1, 0), (1, 1)]
    assert subtitle(figure).endswith("0 of 3 lines hidden, 0 % of the weight; masked pairs, without a line, hold 0.2 %")
    each = draw(np.stack([weights, weights]), mask=np.stack([mask, ~mask]), heads=["head 0", "head 1"])
    assert sorted(line[2:] for line in drawn_of(each)) == [(0, 0), (0, 1), (1, 0), (1, 1)]
    (tip,) = [tip for tip in tips_of(each, 0.4) if tip.startswith("query 0") and "key 1" in tip]
    assert tip.endswith("head 0: masked, weight 0.0050<br>head 1: weight 0.0050")


def test_weights_that_are_no_number_have_no_line_and_are_counted():
    figure = draw([[np.nan, 1.0]])
    assert [line[2:] for line in drawn_of(figure)] == [(0, 1)]
    assert subtitle(figure).endswith("1 weights are not a number and have no line")


def test_too_many_lines_are_cut_to_the_strongest_and_that_is_said(monkeypatch):
    monkeypatch.setattr(module, "MOST_LINES", 5)
    weights = weights_of(6, 6)
    figure = draw(weights)
    strongest = np.argsort(weights, axis=None)[-5:]
    assert sorted(line[2:] for line in drawn_of(figure)) == sorted((i // 6, i % 6) for i in strongest.tolist())
    assert subtitle(figure).endswith("; only the strongest 5 are drawn")
    assert "31 of 36 lines hidden" in subtitle(figure)


def test_a_line_tells_both_tokens_with_positions_and_the_exact_weight():
    figure = draw([[0.12344, 0.00004]], query_tokens=["<s>"], key_tokens=["0", "0"], query_writes=["two"])
    assert tips_of(figure, 0.4) == [
        "query 0: reads “&lt;s&gt;”, writes “two”<br>key 0: “0”<br>weight 0.1234",
        "query 0: reads “&lt;s&gt;”, writes “two”<br>key 1: “0”<br>weight &lt;0.0001",
    ]


def test_the_tooltip_of_a_line_lies_on_it():
    figure = draw(weights_of(4, 7))
    queries, keys = (np.asarray(axis.tickvals) for axis in (figure.layout.yaxis, figure.layout.yaxis2))
    (tips,) = [trace for trace in figure.data if trace.mode == "markers" and 0 < trace.x[0] < 1]
    for x, y, text in zip(tips.x, tips.y, tips.customdata, strict=True):
        query, key = (int(part.split(":")[0].split()[1]) for part in text.split("<br>")[:2])
        assert y == pytest.approx(queries[query] + (keys[key] - queries[query]) * x, abs=0.01)


def test_a_token_tells_its_strongest_line_in_each_head():
    weights = np.array([[[0.1, 0.9], [1, 0]], [[0.6, 0.4], [0, 0]]])
    figure = draw(weights, heads=["head 0", "head 5"], query_tokens=["a", "b"], key_tokens=["c", "d"], threshold=0.2)
    assert tips_of(figure, 0) == [
        "query 0: “a”<br>head 0: reads most: key 1 “d”, weight 0.9000<br>head 5: reads most: key 0 “c”, weight 0.6000",
        "query 1: “b”<br>head 0: reads most: key 0 “c”, weight 1.0000<br>head 5: no line",
    ]
    assert tips_of(figure, 1)[1] == (
        "key 1: “d”<br>head 0: most read by: query 0 “a”, weight 0.9000"
        "<br>head 5: most read by: query 0 “a”, weight 0.4000"
    )


def test_tokens_stand_on_both_sides_in_their_inks_and_are_never_markup():
    tokens = ["<s>", "&", "<b>"]
    figure = draw(weights_of(3, 3), query_tokens=tokens, key_tokens=tokens, query_writes=tokens, title="<b>")
    left, right = figure.layout.yaxis, figure.layout.yaxis2
    assert [label.strip() for label in right.ticktext] == ["&lt;s&gt;", "&amp;", "&lt;b&gt;"]
    assert [label.split()[0] for label in left.ticktext] == ["&lt;s&gt;", "&amp;", "&lt;b&gt;"]
    assert all("→" in label for label in left.ticktext)
    assert (left.tickfont.color, right.tickfont.color) == (theme.LIGHT.target_ink, theme.LIGHT.source_ink)
    assert right.side == "right" and left.range == right.range and left.range[0] > left.range[1]
    assert figure.layout.title.text == "&lt;b&gt;"
    notes = [note.text for note in figure.layout.annotations]
    assert "queries: target tokens read → written" in notes and "keys: source tokens" in notes


def test_unknown_text_is_shown_with_what_the_model_reads_instead():
    figure = draw(weights_of(1, 2), key_tokens=["1", "<unk>"], key_originals=["1", "&"])
    assert figure.layout.yaxis2.ticktext[0].strip() == "1"
    assert (
        figure.layout.yaxis2.ticktext[1].strip().startswith("&amp; ")
        and "&lt;unk&gt;" in (figure.layout.yaxis2.ticktext[1])
    )
    assert tips_of(figure, 1)[1].startswith("key 1: “&lt;unk&gt;”, typed “&amp;”<br>")


def test_many_tokens_have_labels_that_do_not_overlap():
    figure = draw(weights_of(256, 5), threshold=0.5)
    font = figure.layout.yaxis.tickfont.size
    assert font >= 8 and min(np.diff(figure.layout.yaxis.tickvals)) >= font
    assert len(figure.layout.yaxis2.tickvals) == 5


def test_one_token_a_side_is_one_line():
    figure = draw([[1.0]])
    assert [line[2:] for line in drawn_of(figure)] == [(0, 0)]


@pytest.mark.parametrize(
    ("weights", "changes", "says"),
    [
        (np.ones((1, 1, 1, 1)), {}, r"lines need \[queries, keys\]"),
        (np.ones((0, 2)), {}, "lines need"),
        (np.ones((2, 2)), {"query_tokens": ["a"]}, "do not fit 1 query and 2 key tokens"),
        (np.ones((2, 2, 2)), {}, "0 names of heads do not fit 2 maps"),
        (np.ones((2, 2, 2)), {"heads": ["a"]}, "1 names of heads do not fit 2 maps"),
        (np.ones((7, 2, 2)), {"heads": [*"abcdefg"]}, "at most 6 heads apart"),
        (np.ones((2, 2, 2)), {"heads": ["a", "b"], "derived": True}, "drawn alone"),
        (np.ones((257, 2)), {}, "at most 256 tokens"),
        (np.full((2, 2), -1), {}, "from 0 on"),
        (np.full((2, 2), np.inf), {}, "finite"),
        (np.ones((2, 2)), {"mask": np.ones((2, 1), bool)}, r"mask \(2, 1\)"),
        (np.ones((2, 2)), {"query_writes": ["a"]}, "1 written tokens do not fit 2 tokens"),
        (np.ones((2, 2)), {"key_originals": ["a"]}, "1 typed tokens do not fit 2 tokens"),
        (np.ones((2, 2)), {"theme": "sepia"}, "theme 'sepia' is not known"),
    ],
)
def test_what_cannot_be_drawn_is_refused_in_one_sentence(weights, changes, says):
    with pytest.raises(ValueError, match=says):
        draw(weights, **changes)
