"""Pictures of attention from arrays and words: what they are sent is what they were given."""

import numpy as np
import pytest

from viz_transformer.analysis.attention.head_scores import Score
from viz_transformer.figures import attention_heatmap, attention_lines, attention_text, head_grid
from viz_transformer.payload import unpack

WEIGHTS = np.array([[0.75, 0.25, 0.0], [1e-9, 0.5, 0.5]], dtype=np.float32)
WORDS = {"query_tokens": ["a", "<b>"], "key_tokens": ["x", "x", "y"], "title": "Layer 0, head 1"}
ONE_HEAD = (attention_heatmap, attention_lines, attention_text)


@pytest.mark.parametrize("draw", ONE_HEAD)
@pytest.mark.parametrize(("kind", "inks"), [("cross", ("target", "source")), ("encoder", ("source", "source"))])
def test_every_picture_of_one_head_holds_weights_mask_and_words_as_given(draw, kind, inks):
    mask = np.array([[True, True, False], [True, True, True]])
    figure = draw(WEIGHTS, **WORDS, kind=kind, mask=mask, key_originals=["x", "Zoë", "y"], query_writes=["b", "c"])
    header, arrays = unpack(figure.data)
    rows, columns = (header.get(name) or header[other] for name, other in (("rows", "queries"), ("columns", "keys")))
    values = arrays.get("values", arrays.get("weights"))
    assert values.dtype == np.float32 and np.array_equal(values.reshape(WEIGHTS.shape), WEIGHTS)
    assert np.array_equal(arrays["mask"].reshape(mask.shape), mask)
    assert [token["text"] for token in rows["tokens"]] == ["a", "<b>"]
    assert columns["tokens"] == [{"text": "x"}, {"text": "x", "note": "Zoë"}, {"text": "y"}]
    assert [token["text"] for token in header["writes"]] == ["b", "c"]
    assert (rows["ink"], columns["ink"]) == tuple(f"{side}-ink" for side in inks)
    assert (header["title"], header["name"], figure.title) == ("Layer 0, head 1", "layer-0-head-1", "Layer 0, head 1")


def test_a_large_map_is_exact_too():
    weights = np.random.default_rng(0).random((600, 3), dtype=np.float32)
    figure = attention_heatmap(weights, ["q"] * 600, ["k"] * 3, title="t")
    assert np.array_equal(unpack(figure.data)[1]["values"], weights)


def test_what_is_derived_is_grey_and_what_is_selected_is_chosen_in_the_words_of_the_kind():
    assert unpack(attention_heatmap(WEIGHTS, **WORDS, derived=True).data)[0]["scale"] == "derived"
    assert unpack(attention_lines(WEIGHTS, **WORDS, derived=True).data)[0]["colours"] == ["derived-5"]
    assert attention_heatmap(WEIGHTS, **WORDS, selected_query=1).chosen == {"t": 1}
    assert attention_heatmap(WEIGHTS, **WORDS, kind="encoder", selected_query=1).chosen == {"i": 1}
    assert attention_heatmap(WEIGHTS, **WORDS).chosen == {} and attention_text(WEIGHTS, **WORDS).chosen == {"t": 0}


def test_what_is_not_there_and_what_was_hidden_is_told():
    there, hidden = np.array([[True, True, False], [True, True, True]]), [0.25, 0.95]
    header, arrays = unpack(attention_heatmap(WEIGHTS, **WORDS, there=there, hidden=hidden, fill="-1e9").data)
    assert np.array_equal(arrays["there"], there) and (header["hidden"], header["fill"]) == (hidden, "-1e9")
    header, _ = unpack(attention_lines(WEIGHTS[None], **WORDS, heads=["head 1"], hidden=[hidden]).data)
    assert header["hidden"] == [hidden] and header["heads"] == ["head 1"]


def test_several_heads_are_lines_in_colours():
    header, arrays = unpack(attention_lines(np.stack([WEIGHTS, WEIGHTS]), **WORDS, heads=["head 0", "head 3"]).data)
    assert arrays["weights"].shape == (2, 2, 3) and header["heads"] == ["head 0", "head 3"]
    assert header["colours"] == ["heads-0", "heads-1"]


@pytest.mark.parametrize(
    ("draw", "changes", "message"),
    [
        *((draw, {"query_tokens": ["a"]}, "fit") for draw in ONE_HEAD),
        *((draw, {"mask": [[True]]}, r"mask \(1, 1\)") for draw in ONE_HEAD),
        *((draw, {"query_writes": ["b"]}, "1 written tokens do not fit") for draw in ONE_HEAD),
        *((draw, {"key_originals": ["x"]}, "1 typed tokens do not fit 3 tokens") for draw in ONE_HEAD),
        *((draw, {"kind": "self"}, "kind='self' is not known; choose 'cross' or") for draw in ONE_HEAD),
        (attention_heatmap, {"selected_query": 2}, "there is no query 2: queries go from 0 to 1"),
        (attention_text, {"selected_query": -1}, "there is no query -1"),
        (attention_heatmap, {"hidden": [0.5]}, r"hidden shares \(1,\) do not fit 2 query tokens"),
        (attention_lines, {"heads": ["a", "b"]}, "do not fit 2 heads"),
    ],
)
def test_what_does_not_fit_together_is_refused(draw, changes, message):
    with pytest.raises(ValueError, match=message):
        draw(WEIGHTS, **{**WORDS, **changes})


def test_the_grid_has_the_scores_of_each_head():
    maps = np.full((2, 3, 2, 2), 0.5, dtype=np.float32)
    values = np.array([[0.0, 1.0, 2.0], [5.0, 4.0, np.nan]])
    score = Score("entropy", values, np.full((2, 3), 1.5), np.full((2, 3), 7), "in bits", (0.0, 5.0))
    there = [[True, False]]
    header, arrays = unpack(head_grid(maps, kind="encoder", title="All heads", scores=[score], there=there).data)
    (found,) = header["scores"]
    assert (found["name"], found["explanation"], found["order"]) == ("entropy", "in bits", [3, 4, 2, 1, 0, 5])
    assert found["values"][:2] == ["0.0000", "1.0000"] and found["baselines"][0] == "1.5000" and found["n"][0] == 7
    assert (header["kind"], header["caption"]) == ("encoder", "All heads")
    assert arrays["missing"].tolist() == [[False, True]] * 2
    with pytest.raises(ValueError, match="are not"):
        head_grid(np.zeros((2, 2)), kind="encoder", title="t")
