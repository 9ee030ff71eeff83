"""What the head grid gets is what the heads weigh."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from viz_transformer.ui.components import payload
from viz_transformer.ui.components.grid import GridScore, grid_height, grid_payload


def softmax_rows(*shape: int, mask: NDArray[Any] | bool = True) -> NDArray[np.float32]:
    scores = np.where(mask, np.random.default_rng(0).normal(size=shape) * 2, -np.inf)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=-1, keepdims=True), dtype=np.float32)


def sent(maps: Any, **changes: Any) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    given = {"kind": "encoder", "title": "encoder self-attention", "caption": "all heads", "name": "heads", **changes}
    return payload.unpack(grid_payload(maps, **given))


def score(values: Any, **changes: Any) -> GridScore:
    given = {"name": "entropy", "values": values, "baseline": None, "n": 3, "explanation": "in words", **changes}
    return GridScore(**given)


def test_each_head_arrives_in_its_place_within_what_eight_bits_can_hold() -> None:
    maps = softmax_rows(3, 4, 7, 5)
    header, arrays = sent(maps)
    assert arrays["values"].shape == (3, 4, 7, 5)
    np.testing.assert_allclose(arrays["values"], maps, atol=4e-3, rtol=0)  # half a step of the root at 1: 1/255
    assert (header["tokens"], header["kind"], header["full"]) == ([7, 5], "encoder", 1.0)
    assert not {"masked", "missing"} & set(arrays)


def test_layers_may_come_one_by_one() -> None:
    maps = softmax_rows(2, 2, 3, 3)
    np.testing.assert_array_equal(sent(list(maps))[1]["values"], sent(maps)[1]["values"])


@pytest.mark.parametrize("side", [65, 100, 129, 300])
def test_long_maps_are_max_pooled_so_that_no_large_weight_is_lost(side: int) -> None:
    maps = np.zeros((1, 1, side, 3), dtype=np.float32)
    for row in range(side):
        maps[:] = 0
        maps[0, 0, row, 1] = 1
        header, arrays = sent(maps)
        assert arrays["values"].shape == (1, 1, 64, 3) and header["tokens"] == [side, 3]
        (place,) = np.flatnonzero(arrays["values"][0, 0, :, 1])
        assert place == max(p for p in range(64) if p * side // 64 <= row)
        assert not arrays["values"][0, 0][:, [0, 2]].any()


def test_a_pooled_cell_is_the_largest_of_its_block() -> None:
    maps = softmax_rows(1, 2, 128, 192)
    blocks = maps.reshape(1, 2, 64, 2, 64, 3).max(axis=(3, 5))
    np.testing.assert_allclose(sent(maps)[1]["values"], blocks, atol=4e-3, rtol=0)


def test_masked_cells_are_sent_once_for_all_heads() -> None:
    mask = np.tril(np.ones((5, 5), dtype=bool))
    maps = softmax_rows(2, 3, 5, 5, mask=mask)
    for given in (mask, np.broadcast_to(mask, (3, 5, 5)), np.broadcast_to(mask, (2, 3, 5, 5))):
        np.testing.assert_array_equal(sent(maps, mask=given)[1]["masked"], ~mask)


def test_masks_of_their_own_are_sent_by_head() -> None:
    mask = np.ones((2, 2, 3, 3), dtype=bool)
    mask[1, 0, :, 2] = False
    masked = sent(softmax_rows(2, 2, 3, 3, mask=mask), mask=mask)[1]["masked"]
    np.testing.assert_array_equal(masked, ~mask)


def test_a_masked_cell_with_weight_shows_its_weight() -> None:
    mask = np.array([[True, False], [False, False]])
    maps = np.array([[[[1, 0], [0.5, 0.5]]]], dtype=np.float32)  # the second row is even, as -1e9 leaves it
    _, arrays = sent(maps, mask=mask)
    np.testing.assert_array_equal(arrays["masked"], [[False, True], [False, False]])
    np.testing.assert_allclose(arrays["values"][0, 0, 1], [0.5, 0.5], atol=4e-3)


def test_a_pooled_cell_is_masked_only_if_all_of_it_is() -> None:
    mask = np.ones((1, 128), dtype=bool)
    mask[0, [0, 1, 3]] = False
    masked = sent(softmax_rows(1, 1, 1, 128, mask=mask), mask=mask)[1]["masked"]
    np.testing.assert_array_equal(np.flatnonzero(masked), [0])


def test_weights_that_are_no_numbers_are_neither_zero_nor_masked() -> None:
    maps = softmax_rows(1, 2, 3, 3)
    maps[0, 1, 2] = np.nan
    _, arrays = sent(maps)
    np.testing.assert_array_equal(arrays["missing"], np.isnan(maps))
    assert "masked" not in arrays


def test_weights_above_one_keep_their_size() -> None:
    maps = np.array([[[[0.2, 2.5]]]], dtype=np.float32)  # dropout divides by the share that it keeps
    header, arrays = sent(maps)
    assert header["full"] == 2.5
    np.testing.assert_allclose(arrays["values"] * header["full"], maps, atol=4e-3 * 2.5)


def test_scores_sort_from_high_to_low_and_heads_without_one_come_last() -> None:
    values = np.array([[0.25, np.nan, 0.75], [0.75, 1.0, 0.00001]])
    header, _ = sent(
        softmax_rows(2, 3, 2, 2),
        scores=[score(values, baseline=np.full((2, 3), 0.5), n=np.array([[2, 0, 2], [2, 2, 1]]))],
    )
    (found,) = header["scores"]
    assert found["order"] == [4, 2, 3, 0, 5, 1]  # equal ones in their own order
    assert found["short"] == ["0.25", "–", "0.75", "0.75", "1.00", "<0.01"]
    assert found["values"] == ["0.2500", "not a number", "0.7500", "0.7500", "1.0000", "<0.0001"]
    assert found["baselines"] == ["0.5000"] * 6
    assert found["n"] == [2, 0, 2, 2, 2, 1]
    assert found["explanation"] == "in words"


def test_long_numbers_fit_under_a_thumbnail() -> None:
    header, _ = sent(softmax_rows(1, 4, 2, 2), scores=[score(np.array([[99.99, 123.456, 1234.5, -0.001]]))])
    assert header["scores"][0]["short"] == ["99.99", "123.5", "1234", ">-0.01"]
    assert header["scores"][0]["baselines"] is None


@pytest.mark.parametrize(
    ("maps", "changes", "message"),
    [
        (np.zeros((2, 3, 3)), {}, "layers, heads, queries, keys"),
        (np.zeros((0, 2, 3, 3)), {}, "layers, heads, queries, keys"),
        (np.zeros((1, 2, 0, 3)), {}, "layers, heads, queries, keys"),
        ([np.zeros((2, 3, 3)), np.zeros((2, 3, 4))], {}, "layers, heads, queries, keys"),
        (np.full((1, 1, 2, 2), -0.1), {}, "below 0"),
        (np.full((1, 1, 2, 2), np.inf), {}, "infinite"),
        (np.zeros((1, 1, 2, 2)), {"mask": np.ones((3, 2))}, "does not fit"),
        (np.zeros((1, 2, 2, 2)), {"scores": [score(np.zeros((2, 1)))]}, "entropy"),
        (np.zeros((1, 2, 2, 2)), {"scores": [score(np.zeros((1, 2)), baseline=np.zeros(2))]}, "entropy"),
    ],
)
def test_what_does_not_fit_is_refused(maps: Any, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        sent(maps, **changes)


def test_144_heads_of_64_tokens_stay_under_the_limit() -> None:
    mask = np.tril(np.ones((64, 64), dtype=bool))
    values = np.random.default_rng(1).random((12, 12))
    scores = [score(values, name=str(i), baseline=values) for i in range(7)]
    data = grid_payload(
        softmax_rows(12, 12, 64, 64, mask=mask),
        kind="decoder",
        mask=mask,
        scores=scores,
        title="decoder self-attention",
        caption="all heads",
        name="heads",
    )
    assert len(data) <= 700_000


def test_the_height_is_known_before_anything_is_drawn() -> None:
    header, _ = sent(softmax_rows(3, 4, 2, 2), compact=True)
    assert header["height"] == grid_height(3, 4, compact=True, sortable=False)
    assert grid_height(3, 4, compact=True) < 160  # all three layers in one row
    assert grid_height(12, 12, compact=True) < 400
    assert 600 < grid_height(12, 12) < 700
    assert grid_height(1, 1) <= 72 + 120
    assert grid_height(3, 4) < grid_height(6, 4) < grid_height(40, 4)
