import numpy as np
import pytest
import torch

from viz_transformer.figures import head_grid, theme
from viz_transformer.model.kinds import KINDS


def maps_of(*shape, seed=0):
    values = np.random.default_rng(seed).random(shape, dtype=np.float32)
    return values / values.sum(axis=-1, keepdims=True)


def draw(maps, **changes):
    return head_grid(maps, **{"title": "a title", "kind": "decoder", **changes})


def cells_of(figure):
    """{(layer, head, query, key): (value, text)} of all cells that have a value, placed as the tooltip says."""
    heatmap = figure.data[0]
    drawn = ~np.isnan(heatmap.z)
    text = [[None] * heatmap.z.shape[1]] * heatmap.z.shape[0] if heatmap.text is None else heatmap.text
    return {
        tuple(heatmap.customdata[row, column].tolist()): (heatmap.z[row, column], text[row][column])
        for row, column in np.argwhere(drawn).tolist()
    }


def words(figure):
    return " | ".join(note.text for note in figure.layout.annotations)


def hatched(figure):
    """The cells inside the outlines of each hatch, as (row, column), with the hatch's fill."""
    found = {}
    for trace in figure.data[1:]:
        if trace.fill == "toself":
            for x, y in zip(trace.x.reshape(-1, 6), trace.y.reshape(-1, 6), strict=True):
                for row in range(round(min(y[:4]) + 0.5), round(max(y[:4]) + 0.5)):
                    for column in range(round(min(x[:4]) + 0.5), round(max(x[:4]) + 0.5)):
                        found[row, column] = trace.fillcolor
    return found


def test_every_weight_is_drawn_once_and_its_tooltip_says_where_it_is_and_what():
    maps = maps_of(2, 3, 5, 4)
    cells = cells_of(draw(maps))
    assert {place: value for place, (value, _) in cells.items()} == {
        place: maps[place] for place in np.ndindex(maps.shape)
    }
    assert all(text == f"weight {maps[place]:.4f}" for place, (_, text) in cells.items())
    figure = draw(maps)
    assert figure.data[0].hovertemplate == (
        "layer %{customdata[0]}, head %{customdata[1]}<br>query %{customdata[2]}, key %{customdata[3]}<br>"
        "%{text}<extra></extra>"
    )


def test_it_is_one_heatmap_of_float32_at_integer_positions():
    figure = draw(maps_of(3, 4, 6, 5))
    heatmaps = [trace for trace in figure.data if trace.type == "heatmap"]
    assert len(heatmaps) == 1 and heatmaps[0].z.dtype == np.float32
    rows, columns = heatmaps[0].z.shape
    assert (rows, columns) == (3 * 6 + 2, 4 * 5 + 3)  # a gap of one cell between two maps
    assert np.array_equal(heatmaps[0].x, np.arange(columns)) and np.array_equal(heatmaps[0].y, np.arange(rows))
    assert not [axis for axis in figure.layout if axis.startswith(("xaxis2", "yaxis2"))]


def test_rows_are_layers_and_columns_are_heads_and_gaps_are_blank():
    maps = maps_of(2, 2, 3, 3)
    z = draw(maps).data[0].z
    assert np.array_equal(z[:3, :3], maps[0, 0])
    assert np.array_equal(z[:3, 4:], maps[0, 1])
    assert np.array_equal(z[4:, :3], maps[1, 0])
    assert np.isnan(z[3]).all() and np.isnan(z[:, 3]).all()
    assert draw(maps).data[0].hoverongaps is False


def test_labels_stand_at_the_middle_of_their_maps_and_layer_0_is_at_the_top():
    figure = draw(maps_of(2, 3, 4, 4))
    assert list(figure.layout.xaxis.tickvals) == [1.5, 6.5, 11.5]
    assert list(figure.layout.xaxis.ticktext) == ["head 0", "head 1", "head 2"]
    assert list(figure.layout.yaxis.tickvals) == [1.5, 6.5]
    assert [label.strip() for label in figure.layout.yaxis.ticktext] == ["layer 0", "layer 1"]
    assert figure.layout.yaxis.range[0] > figure.layout.yaxis.range[1]


def test_a_map_is_as_high_as_it_is_wide_whatever_its_numbers_of_tokens():
    for shape in ((2, 3, 14, 11), (1, 1, 3, 60), (12, 12, 64, 64), (1, 1, 1, 1)):
        layout = draw(maps_of(*shape)).layout
        margin = layout.margin
        across = (layout.width - margin.l - margin.r) / (layout.xaxis.range[1] - layout.xaxis.range[0])
        down = (layout.height - margin.t - margin.b) / (layout.yaxis.range[0] - layout.yaxis.range[1])
        assert down * shape[2] == pytest.approx(across * shape[3], abs=1)
        assert 1 <= across * shape[3] <= 160.5


def test_layers_given_one_by_one_and_tensors_are_the_same_maps():
    maps = maps_of(2, 3, 4, 4)
    wanted = draw(maps).data[0].z
    for same in (list(maps), torch.from_numpy(maps)):
        assert np.array_equal(draw(same).data[0].z, wanted, equal_nan=True)


@pytest.mark.parametrize("mode", theme.THEMES)
@pytest.mark.parametrize("kind", KINDS)
def test_the_scale_is_0_to_1_in_the_colours_of_the_kind(kind, mode):
    figure = draw(maps_of(1, 2, 3, 3) * 0.1, kind=kind, theme=mode)
    heatmap = figure.data[0]
    assert (heatmap.zmin, heatmap.zmax) == (0, 1)
    assert [color for _, color in heatmap.colorscale] == list(getattr(theme.palette(mode), kind))
    assert figure.layout.paper_bgcolor == theme.palette(mode).page
    assert words(figure).startswith("0 | 1 | attention weight")


def test_weights_above_1_widen_the_scale():
    figure = draw(np.full((1, 1, 2, 2), 1.25))
    assert figure.data[0].zmax == 1.25
    assert "0 | 1.25 |" in words(figure)


def test_masked_cells_are_hatched_and_never_drawn_as_zero():
    mask = np.tril(np.ones((3, 3), bool))
    maps = maps_of(2, 2, 3, 3) * mask
    maps[:, :, 2, 0] = 0  # allowed all the same: drawn as 0
    figure = draw(maps, mask=mask)
    upper = [(0, 1), (0, 2), (1, 2)]
    wanted = {(row + 4 * i, column + 4 * j) for row, column in upper for i in range(2) for j in range(2)}
    assert hatched(figure) == dict.fromkeys(wanted, theme.LIGHT.surface)
    z = figure.data[0].z
    assert z[2, 0] == 0
    assert all(np.isnan(z[place]) for place in wanted)
    assert "hatched: masked" in words(figure)
    assert "hatched" not in words(draw(maps))


def test_a_mask_of_each_head_and_one_of_each_layer_fit_too():
    maps = maps_of(2, 2, 2, 2)
    each = np.random.default_rng(1).random((2, 2, 2, 2)) > 0.5
    drawn = cells_of(draw(maps * each, mask=each))
    assert set(drawn) == {place for place in np.ndindex(maps.shape) if each[place]}
    for part in (each[0], each[:, :1]):
        whole = np.broadcast_to(part, maps.shape)
        assert set(cells_of(draw(maps * whole, mask=part))) == {p for p in np.ndindex(maps.shape) if whole[p]}


def test_a_masked_cell_with_a_weight_shows_both_facts():
    figure = draw(np.array([[[[0.995, 0.005]]]]), mask=np.array([[True, False]]))
    assert hatched(figure) == {(0, 1): "rgba(0,0,0,0)"}
    assert cells_of(figure)[0, 0, 0, 1] == (np.float32(0.005), "masked, weight 0.0050")


def test_small_and_missing_weights_are_said_to_be_so():
    figure = draw(np.array([[[[0.00001, np.nan, 0.0]]]]))
    cells = cells_of(figure)
    assert cells[0, 0, 0, 0][1] == "weight &lt;0.0001"
    assert cells[0, 0, 0, 2][1] == "weight 0.0000"
    assert (0, 0, 0, 1) not in cells
    assert "blank: not a number" in words(figure)


def test_long_texts_are_max_pooled_and_no_thin_stripe_is_lost():
    maps = np.zeros((1, 2, 300, 130), np.float32)
    maps[0, 1, 7, 101] = 0.9
    figure = draw(maps)
    heatmap = figure.data[0]
    row, column = np.argwhere(heatmap.z == np.float32(0.9))[0]
    assert (heatmap.z > 0).sum() == 1
    assert heatmap.customdata[row, column].tolist() == [0, 1, 5, 9, 99, 101]  # blocks of 5 queries and 3 keys
    assert heatmap.text[row][column] == "largest weight 0.9000"
    assert "queries %{customdata[2]} to %{customdata[3]}, keys %{customdata[4]} to %{customdata[5]}" in (
        heatmap.hovertemplate
    )
    assert "max-pooled: a cell is the largest of 5 × 3" in words(figure)
    assert heatmap.customdata[..., 5].max() == 129  # the last block is smaller


def test_a_cell_is_at_least_a_pixel():
    for heads, tokens in ((12, 64), (24, 64), (40, 17), (1, 1000)):
        layout = draw(maps_of(1, heads, tokens, tokens)).layout
        span = layout.xaxis.range[1] - layout.xaxis.range[0]
        assert (layout.width - layout.margin.l - layout.margin.r) / span >= 1


def test_a_pooled_block_counts_as_masked_only_if_all_of_it_is():
    mask = np.tril(np.ones((128, 128), bool))
    figure = draw(np.where(mask, np.float32(1 / 128), 0)[None, None], mask=mask)
    drawn = ~np.isnan(figure.data[0].z)
    assert np.array_equal(drawn, np.tril(np.ones((64, 64), bool)))  # blocks on the diagonal are half masked


def test_many_cells_have_their_weights_in_the_tooltip_as_numbers():
    figure = draw(maps_of(4, 5, 60, 60))
    heatmap = figure.data[0]
    assert heatmap.text is None
    assert heatmap.hovertemplate.endswith("weight %{z:.9~g}<extra></extra>")
    assert heatmap.customdata.dtype == np.uint8
    assert len(figure.to_json()) < 12 * heatmap.z.size  # 4 bytes of a weight and 4 of its place, in base 64


def test_the_legend_says_what_rows_and_columns_are():
    assert "a row is a query (3 target tokens), a column a key (1 source token)" in words(
        draw(maps_of(1, 1, 3, 1), kind="cross")
    )


def test_titles_and_names_are_no_markup():
    figure = draw(maps_of(1, 1, 2, 2), title="<b>&", scale_name="<i>")
    assert figure.layout.title.text == "&lt;b&gt;&amp;"
    assert "&lt;i&gt;" in words(figure)


@pytest.mark.parametrize(
    ("maps", "changes", "says"),
    [
        (np.ones((2, 3, 3)), {}, r"shape \(2, 3, 3\), a grid needs \[layers, heads, queries, keys\]"),
        (np.ones((0, 2, 3, 3)), {}, "a grid needs"),
        (np.full((1, 1, 2, 2), -0.1), {}, "from 0 on"),
        (np.full((1, 1, 2, 2), np.inf), {}, "finite"),
        (np.ones((1, 1, 2, 2)), {"mask": np.ones((3, 2), bool)}, r"mask \(3, 2\) does not fit"),
        (np.ones((1, 1, 2, 2)), {"mask": np.ones((2, 1, 2, 2), bool)}, "does not fit"),
        (np.ones((1, 1, 2, 2)), {"kind": "own"}, "kind 'own' is not known"),
        (np.ones((1, 1, 2, 2)), {"theme": "sepia"}, "theme 'sepia' is not known"),
    ],
)
def test_what_cannot_be_drawn_is_refused_in_one_sentence(maps, changes, says):
    with pytest.raises(ValueError, match=says):
        draw(maps, **changes)
