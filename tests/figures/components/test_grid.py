"""What the head grid gets is what the heads weigh, and what it draws in a browser is what it got."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from mounted import mounted
from numpy.typing import NDArray
from playwright.sync_api import Browser

from viz_transformer import payload
from viz_transformer.analysis.attention.picture import HEIGHT, Meta
from viz_transformer.figures import theme
from viz_transformer.figures.components.grid import (
    GridScore,
    HeadMaps,
    grid_height,
    grid_payload,
    open_thumbnails,
    thumbnails,
)
from viz_transformer.model.kinds import KindName

HEADS = ("mask", "valid", "key_heads", "tokens")


def softmax_rows(*shape: int, mask: NDArray[Any] | bool = True) -> NDArray[np.float32]:
    scores = np.where(mask, np.random.default_rng(0).normal(size=shape) * 2, -np.inf)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=-1, keepdims=True), dtype=np.float32)


def sent(maps: Any, **changes: Any) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    return payload.unpack(of(maps, **{"title": "encoder self-attention", **changes}))


def of(maps: Any, kind: KindName = "encoder", title: str = "a title", **changes: Any) -> bytes:
    heads = {name: changes.pop(name) for name in HEADS if name in changes}
    drawn = {name: changes.pop(name) for name in ("scores", "compact") if name in changes}
    return grid_payload(HeadMaps(kind, maps, **heads), Meta(title, "all heads", "heads", **changes), **drawn)


def weights(header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> NDArray[Any]:
    """What the browser draws for each cell."""
    tops = arrays["tops"][..., None] * header["full"]
    return np.asarray(tops * (arrays["roots"] / header["most"]) ** 2)


def score(values: Any, **changes: Any) -> GridScore:
    given = {"name": "entropy", "values": values, "baseline": None, "n": 3, "explanation": "in words", **changes}
    return GridScore(**given)


@pytest.mark.parametrize(("side", "most"), [(7, 15), (48, 15), (49, 8), (64, 8)])
def test_each_head_arrives_in_its_place_within_what_its_colours_can_hold(side: int, most: int) -> None:
    maps = softmax_rows(3, 4, side, 5)
    tops = maps.max(axis=-1, keepdims=True)
    header, arrays = sent(maps)
    half_a_step = 1 - (1 - 0.5 / most) ** 2  # of the root, at the row's largest, where it is widest
    assert (arrays["roots"].shape, header["most"]) == ((3, 4, side, 5), most)
    assert (np.abs(weights(header, arrays) - maps) <= half_a_step * tops + 4e-3).all()


@pytest.mark.parametrize("side", [5, 64])
def test_the_largest_of_a_row_keeps_eight_bits_and_its_full_colour(side: int) -> None:
    maps = softmax_rows(1, 2, side, side)
    header, arrays = sent(maps)
    np.testing.assert_allclose(arrays["tops"], maps.max(axis=-1), atol=4e-3, rtol=0)  # half a step of the root: 1/510
    assert (arrays["roots"][maps == maps.max(axis=-1, keepdims=True)] == header["most"]).all()


def test_a_row_without_weight_is_empty() -> None:
    _, arrays = sent(np.array([[[[0, 0], [0.25, 0.75]]]], dtype=np.float32))
    assert not arrays["tops"][0, 0, 0] and not arrays["roots"][0, 0, 0].any()


def test_what_is_sent_says_how_large_it_is_and_what_is_left_out() -> None:
    header, arrays = sent(softmax_rows(3, 4, 7, 5))
    assert (header["tokens"], header["kind"], header["full"]) == ([7, 5], "encoder", 1.0)
    assert not {"masked", "missing"} & set(arrays)


def test_layers_may_come_one_by_one() -> None:
    maps = softmax_rows(2, 2, 3, 3)
    for name in ("tops", "roots"):
        np.testing.assert_array_equal(sent(list(maps))[1][name], sent(maps)[1][name])


@pytest.mark.parametrize("side", [65, 100, 129, 300])
def test_long_maps_are_max_pooled_so_that_no_large_weight_is_lost(side: int) -> None:
    maps = np.zeros((1, 1, side, 3), dtype=np.float32)
    for row in range(side):
        maps[:] = 0
        maps[0, 0, row, 1] = 1
        header, arrays = sent(maps)
        assert arrays["roots"].shape == (1, 1, 64, 3) and header["tokens"] == [side, 3]
        (place,) = np.flatnonzero(arrays["roots"][0, 0, :, 1])
        assert place == max(p for p in range(64) if p * side // 64 <= row)
        assert weights(header, arrays)[0, 0, place].tolist() == [0, 1, 0]


def test_a_pooled_cell_is_the_largest_of_its_block() -> None:
    maps = softmax_rows(1, 2, 128, 192)
    blocks = maps.reshape(1, 2, 64, 2, 64, 3).max(axis=(3, 5))
    header, arrays = sent(maps)
    near = 0.13 * blocks.max(axis=-1, keepdims=True) + 4e-3
    assert (np.abs(weights(header, arrays) - blocks) <= near).all()


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
    header, arrays = sent(maps, mask=mask)
    np.testing.assert_array_equal(arrays["masked"], [[False, True], [False, False]])
    np.testing.assert_allclose(weights(header, arrays)[0, 0, 1], [0.5, 0.5], atol=4e-3)


def test_a_pooled_cell_is_masked_only_if_all_of_it_is() -> None:
    mask = np.ones((1, 128), dtype=bool)
    mask[0, [0, 1, 3]] = False
    masked = sent(softmax_rows(1, 1, 1, 128, mask=mask), mask=mask)[1]["masked"]
    np.testing.assert_array_equal(np.flatnonzero(masked), [0])


def test_weights_that_are_not_a_number_are_neither_zero_nor_masked_nor_missing() -> None:
    maps, mask = softmax_rows(1, 2, 3, 3), np.ones((3, 3), dtype=bool)
    maps[0, 1, 2] = np.nan
    mask[2] = False
    _, arrays = sent(maps, mask=mask)
    np.testing.assert_array_equal(arrays["none"], np.isnan(maps))
    assert not {"masked", "missing"} & set(arrays)  # masked cells that have weight show it, or that it is no number


@pytest.mark.parametrize("side", [64, 65, 130])
def test_what_is_not_a_number_hides_what_it_is_pooled_with(side: int) -> None:
    maps = np.full((1, 1, side, side), 1 / side, dtype=np.float32)
    maps[0, 0, -1, -1] = np.nan
    _, arrays = sent(maps)
    assert np.argwhere(arrays["none"]).tolist() == [[63, 63]]


@pytest.mark.parametrize("side", [3, 130])
def test_what_is_not_there_is_missing_whatever_its_value(side: int) -> None:
    maps, there = softmax_rows(1, 2, side, side), np.tri(side, dtype=bool)
    expected = open_thumbnails(there)
    for value in (0, 1, np.nan):
        _, arrays = sent(np.where(there, maps, np.float32(value)), valid=there)
        np.testing.assert_array_equal(arrays["missing"], ~expected)
        assert "none" not in arrays


def test_weights_above_one_keep_their_size() -> None:
    maps = np.array([[[[0.2, 2.5]]]], dtype=np.float32)  # dropout divides by the share that it keeps
    header, arrays = sent(maps)
    assert header["full"] == 2.5
    np.testing.assert_allclose(weights(header, arrays)[..., 1], 2.5)
    assert abs(weights(header, arrays)[0, 0, 0, 0] - 0.2) < 0.066 * 2.5


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
    data = of(softmax_rows(12, 12, 64, 64, mask=mask), "decoder", "decoder self-attention", mask=mask, scores=scores)
    assert len(data) <= 300_000


def test_the_height_is_known_before_anything_is_drawn() -> None:
    header, _ = sent(softmax_rows(3, 4, 2, 2), compact=True)
    assert header["height"] == HEIGHT == grid_height(3, 4, compact=True, sortable=False)  # the map's beside it, at most
    assert 600 < grid_height(12, 12) < 700
    assert grid_height(1, 1) <= 72 + 120
    assert grid_height(3, 4) < grid_height(6, 4) < grid_height(40, 4)


def test_shared_keys_are_sent_and_have_a_line_of_their_own() -> None:
    maps = softmax_rows(2, 4, 2, 2)
    header, _ = sent(maps, key_heads=2, compact=True)
    own, _ = sent(maps, compact=True)
    assert (header["key_heads"], own["key_heads"]) == (2, 4)
    assert header["sizes"]["line"] == own["sizes"]["line"] + 18
    assert grid_height(2, 4, grouped=True) == grid_height(2, 4) + 18
    for wrong in (0, 3, 8):
        with pytest.raises(ValueError, match=f"4 heads cannot share {wrong} heads of keys"):
            sent(maps, key_heads=wrong)


# ---- what is drawn

# The colours inside the first frame of this size.
THUMBNAIL = """(canvas, [line, side]) => {
  const { width, height } = canvas
  const { data } = canvas.getContext("2d").getImageData(0, 0, width, height)
  const digits = (channel) => channel.toString(16).padStart(2, "0").toUpperCase()
  const at = (x, y) => "#" + [...data.slice(4 * (y * width + x), 4 * (y * width + x) + 3)].map(digits).join("")
  const along = Array.from({ length: side }, (_, n) => n + 1)
  const framed = (x, y) => along.every((n) => at(x + n, y) === line && at(x, y + n) === line
    && at(x + n, y + side + 1) === line && at(x + side + 1, y + n) === line)
  for (let y = 0; y + side + 1 < height; y++)
    for (let x = 0; x + side + 1 < width; x++)
      if (at(x, y) === line && framed(x, y))
        return along.map((r) => along.map((c) => at(x + c, y + r)))
  throw Error("there is no thumbnail")
}"""


@contextmanager
def drawing(browser: Browser, scheme: theme.Theme) -> Iterator[Callable[..., list[NDArray[Any]]]]:
    """The colours of a single compact thumbnail of 48 pixels a side, for the maps given: from 0 to 1 and by the row.
    [y, x] each
    """
    with mounted(browser, "grid", of(np.ones((1, 1, 1, 1)), compact=True), color_scheme=scheme) as shown:
        shown.page.evaluate("document.querySelector('#host').style.width = '106px'")  # and 58 of them are labels

        def draw(maps: Any, **changes: Any) -> list[NDArray[Any]]:
            shown.give(of(np.asarray(maps, np.float32), compact=True, **changes))
            pictures = []
            for scale in ("fixed", "row"):
                shown.choose(scale=scale)
                found = shown.page.locator("canvas.base").evaluate(THUMBNAIL, [theme.palette(scheme).line, 48])
                pictures.append(np.array(found))
            return pictures

        yield draw


@pytest.mark.parametrize("scheme", theme.THEMES)
def test_a_thumbnail_has_the_colours_of_its_weights(
    browser: Browser, scheme: theme.Theme, subtests: pytest.Subtests
) -> None:
    palette = theme.palette(scheme)
    colours, unknown = palette.encoder, {palette.no_number, palette.no_number_dot}
    with drawing(browser, scheme) as drawn:
        with subtests.test("weights"):
            fixed, by_row = drawn([[[[0, 1, 0], [0, 0, 0], [0.5, 0, 0.25]]]])  # 16 pixels a cell
            for picture, half in ((fixed, colours[3]), (by_row, colours[6])):
                assert set(picture[:16, 16:32].flat) == {colours[6]}
                assert set(picture[:16, :16].flat) == set(picture[16:32].flat) == {colours[0]}
                (found,) = set(picture[32:, :16].flat)
                channels = [[int(colour[k : k + 2], 16) for k in (1, 3, 5)] for colour in (found, half)]
                assert np.abs(np.subtract(*channels)).max() <= 2  # the root of a half is rounded to 8 bits
        with subtests.test("what is not a number is dotted, and what is not there blank"):
            for picture in drawn([[[[1, np.nan, np.nan]]]], valid=np.array([[True, True, False]])):
                assert set(picture[:, :16].flat) == {colours[6]}
                assert set(picture[:, 16:32].flat) == unknown
                assert (picture[:, 16:32] == palette.no_number_dot).mean() == pytest.approx(4 / 25, abs=0.04)
                assert set(picture[:, 32:].flat) == {palette.surface}
        with subtests.test("masked cells are hatched, and weight under the mask is not"):
            for picture in drawn([[[[1, 0], [0, 1]]]], mask=np.array([[True, False], [True, False]])):
                assert set(picture[:24, 24:].flat) == {palette.surface, palette.line}
                assert (picture[:24, 24:] == palette.line).mean() == pytest.approx(1 / 5, abs=0.02)
                assert set(picture[24:, 24:].flat) == {colours[6]}
        for side in (48, 49, 64, 300):
            with subtests.test("a row that is not a number is seen however low it is", side=side):
                maps = np.full((1, 1, side, side), 1 / side)
                maps[0, 0, side // 2] = np.nan
                for picture in drawn(maps):
                    strange = np.isin(picture, [*unknown])
                    assert strange.all(axis=1).sum() >= 1 and strange.any(axis=1).sum() <= 2
            with subtests.test("no large weight is lost where cells are smaller than pixels", side=side):
                for picture in drawn(np.eye(side)[None, None]):
                    assert (picture == colours[6]).any(axis=0).all()
                    assert (picture == colours[6]).any(axis=1).all()


def test_what_thumbnails_were_made_of_is_not_needed_any_more():
    maps = np.random.default_rng(0).random((2, 3, 130, 70), dtype=np.float32)
    mask = np.tri(130, 70, dtype=bool)
    maps = np.where(mask, maps, 0)
    maps[1, 0, 3] = np.nan
    small = [thumbnails(layer) for layer in maps]
    assert {each.shape for each in small} == {(3, 64, 64)}
    whole = of(maps, "cross", mask=mask)
    assert of(small, "cross", mask=open_thumbnails(mask), tokens=(130, 70)) == whole
