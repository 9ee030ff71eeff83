"""What the lines are sent is what the trace has, and what they show in a browser is what they were sent."""

import numpy as np
import pytest
from builders import tiny_checkpoint
from drawing import heads_of
from mounted import mounted

from viz_transformer import payload
from viz_transformer.analysis.attention.axes import Axis, Texts
from viz_transformer.analysis.attention.maps import head_views
from viz_transformer.figures import labels, theme
from viz_transformer.running.decoding import decode
from viz_transformer.ui.frame import style

MARKUP = "<b>bold</b> & <img src=x onerror=alert(1)>"
QUERIES, KEYS = ["one", MARKUP, "three"], ["vier", "عالم", "sechs", "sieben"]


def axes(queries, keys, special=()):
    return (
        Axis("t", "query", "queries: target", "target", Texts(queries, special=special)),
        Axis("i", "key", "keys: source", "source", Texts(keys)),
    )


def of(weights, queries=None, keys=None, **changes):
    maps = np.asarray(weights, dtype=np.float32)
    rows, columns = axes(
        queries or [f"q{i}" for i in range(maps.shape[1])], keys or [f"k{i}" for i in range(maps.shape[2])]
    )
    drawn = {name: changes.pop(name) for name in ("title", "height") if name in changes}
    given = {"heads": [f"head {n}" for n in range(len(maps))], **changes}
    return heads_of(maps, rows, columns, **given).pack_lines(**drawn)


def softmax(scores):
    exponents = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return (exponents / exponents.sum(axis=-1, keepdims=True)).astype(np.float32)


def some_weights(*shape, seed=0, spread=2):
    return softmax(np.random.default_rng(seed).normal(size=shape) * spread)


# ---- what is sent


@pytest.mark.parametrize("heads", [[0], [1, 0]])
def test_weights_and_mask_are_sent_bit_by_bit_as_the_trace_has_them(heads):
    run = decode(tiny_checkpoint(), "abc", max_steps=4)
    views = head_views(run.trace, "decoder", 1, heads)
    rows, columns = axes(run.trace.tgt.tokens, run.trace.tgt.tokens)
    names = [f"head {head}" for head in heads]
    masks = [view.mask for view in views]
    made = heads_of([view.weights for view in views], rows, columns, heads=names, mask=masks, scale="decoder")
    data = made.pack_lines()
    header, arrays = payload.unpack(data)
    recorded = run.trace["decoder.1.self.weights"][0].numpy()
    assert arrays["weights"].dtype == np.float32
    assert np.array_equal(arrays["weights"], recorded[heads])
    mask = run.trace["decoder.1.self.mask"].expand(1, *recorded.shape)[0].numpy()
    assert not mask.all()
    assert np.array_equal(arrays["mask"], mask[heads])
    assert header["heads"] == names
    assert [token["text"] for token in header["queries"]["tokens"]] == list(run.trace.tgt.tokens)
    assert (header["queries"]["field"], header["keys"]["field"]) == ("t", "i")


def test_one_map_has_its_kinds_colour_and_several_have_the_colours_of_heads():
    def colours(n, scale):
        return payload.unpack(of(some_weights(n, 2, 3), scale=scale))[0]["colours"]

    assert colours(1, "encoder") == ["encoder-5"]
    assert colours(1, "derived") == ["derived-5"]
    assert colours(6, "cross") == [f"heads-{i}" for i in range(6)]
    variables = style.variables()
    assert all(f"--vt-{name}:" in variables for name in (*colours(1, "derived"), *colours(6, "cross")))


def test_a_mask_that_forbids_nothing_is_not_sent():
    assert "mask" not in payload.unpack(of(some_weights(1, 2, 3), mask=np.ones((2, 3), bool)))[1]
    assert payload.unpack(of(some_weights(2, 2, 3), mask=[[1, 1, 1], [1, 0, 1]]))[1]["mask"].shape == (2, 3)


def test_up_to_256_tokens_the_weights_are_exact_and_above_none_are_sent():
    weights = some_weights(1, 2, 256)
    assert np.array_equal(payload.unpack(of(weights))[1]["weights"], weights)
    data = of(some_weights(6, 257, 400))
    header, arrays = payload.unpack(data)
    assert arrays == {}
    assert (header["queries"]["count"], header["keys"]["count"]) == (257, 400)
    assert len(data) < 2000


@pytest.mark.parametrize(
    ("weights", "changes", "said"),
    [
        (np.ones((7, 2, 2)), {}, "at most 6 heads apart, 7 were given"),
        (np.ones((2, 2, 2)), {"scale": "derived"}, "a derived map is drawn alone"),
        (np.ones((1, 2, 2)), {"heads": ["head 0", "head 1"]}, "do not fit 2 heads, 2 queries and 2 keys"),
        (np.ones((1, 2, 2)), {"queries": ["a", "b", "c"]}, "do not fit 1 heads, 3 queries and 2 keys"),
        (np.ones((0, 2, 2)), {}, "do not fit 0 heads"),
        (np.full((1, 2, 2), -0.5), {}, "the smallest is -0.5"),
        (np.ones((1, 2, 2)), {"mask": np.ones((2, 2, 2))}, "does not have the shape of the weights"),
        (np.ones((1, 2, 2)), {"writes": Texts(["a"])}, "1 written tokens do not fit 2 queries"),
        (np.ones((1, 3, 3)), {"there": [[True]]}, "there"),
    ],
)
def test_what_does_not_fit_is_refused(weights, changes, said):
    with pytest.raises(ValueError, match=said):
        of(weights, **changes)


# ---- what a browser shows: tests/javascript/lines_*.test.js have all that needs none


def column(shown, x, canvas="base"):
    """The pixels of one column of a canvas: [height, 4], red, green, blue, opacity."""
    values = shown.page.locator(f"canvas.{canvas}").evaluate(
        "(canvas, x) => [...canvas.getContext('2d').getImageData(x, 0, 1, canvas.height).data]", x
    )
    return np.array(values).reshape(-1, 4)


def move(shown, x, y):
    box = shown.page.get_by_role("application").bounding_box()
    shown.page.mouse.move(box["x"] + x, box["y"] + y)
    return box["x"] + x, box["y"] + y


SIZE = {"viewport": {"width": 600, "height": 720}, "color_scheme": "light"}


def test_lines_have_the_ink_of_their_head_as_opaque_as_their_weight(browser):
    ink = [int(theme.LIGHT.cross[5][i : i + 2], 16) for i in (1, 3, 5)]
    weights = np.array([[[0.9, 0.05, 0.05], [0.3, 0.3, 0.4], [0.02, 0.08, 0.9]]], np.float32)
    hidden = np.array([[0.5, 0.1, 0.95]])
    data = of(weights, mask=np.eye(3, dtype=bool), hidden=hidden)  # three level lines, 40 pixels apart
    with mounted(browser, "lines", data, **SIZE) as shown:
        pixels = column(shown, 300)
        at = [82, 122, 162]
        assert np.flatnonzero(pixels[:, 3]).tolist() == [row for y in at for row in (y - 1, y)]
        for y, weight, veil in zip(at, (0.9, 0.3, 0.9), (1, 1, 0.5), strict=True):
            assert pixels[y, 3] == pytest.approx(255 * veil * (0.06 + 0.94 * weight**0.7), abs=1)
            assert pixels[y, :3] == pytest.approx(ink, abs=2)
        shown.give(of(np.full((6, 1, 1), 1.0, np.float32)))
        colours = {tuple(pixel[:3]) for pixel in column(shown, 300) if pixel[3] == 255}
        assert colours >= {tuple(bytes.fromhex(each[1:])) for each in theme.LIGHT.heads}
        shown.give(of(np.full((1, 3, 3), 1 / 3, np.float32)))
        move(shown, 20, 122)
        shown.painted()
        pixels = column(shown, 300, "over")[62:190]
        there = (np.abs(pixels[:, :3] - ink).max(axis=1) < 12) & (pixels[:, 3] > 20)
        assert (np.diff(there.astype(int), prepend=0) == 1).sum() == 3  # one to each key, well apart in the middle


def test_pointer_and_keys_reach_tokens_lines_and_the_threshold(browser):
    weights = np.array([[[0.5, 0.25, 0.25, 0], [0.25, 0.25, 0.25, 0.25], [0, 0, 1, 0]]])
    with mounted(browser, "lines", of(weights, QUERIES, KEYS), **SIZE) as shown:
        stage, slider = shown.page.get_by_role("application"), shown.page.get_by_role("slider")
        shown.choose(t=1, i=2)
        shown.press("Tab")
        assert shown.tooltip[0] == f"query 1: “{labels.visible(MARKUP)}”"
        shown.press("ArrowRight", "End", "Enter")
        assert shown.tooltip[0] == "key 3: “sieben”" and shown.heard()[-1] == {"i": 3}
        assert shown.page.locator("[aria-live]").text_content().startswith("chosen: key 3: “sieben”")
        faded = shown.page.locator("canvas.base.faded")
        assert faded.count() == 1
        shown.press("Escape")
        assert shown.tooltip == [] and faded.count() == 0
        for n, (x, y, said, told) in enumerate(
            (
                (300, 82, ["query 0: “one”", "key 0: “vier”", "weight 0.5000"], {"t": 0, "i": 0}),
                (20, 162, ["query 2: “three”", "reads most: key 2 “sechs”, weight 1.0000"], {"t": 2}),
                (590, 122, ["key 1: “\u2068عالم\u2069”"], {"i": 1}),
            )
        ):
            place = move(shown, x, y)
            assert shown.tooltip[: len(said)] == said and faded.count() == (n > 0)
            shown.page.mouse.click(*place)
            assert shown.heard(n + 2)[-1] == told
        before, stated = shown.page.locator("output").text_content(), slider.get_attribute("aria-valuetext")
        assert before == stated
        slider.focus()
        shown.press("End")
        assert slider.get_attribute("aria-valuetext") == "threshold 1: 11 of 12 lines hidden, 66.7 % of the weight"
        shown.give(of(some_weights(1, 300, 20)))
        assert not stage.is_visible() and not slider.is_visible() and shown.page.locator(".instead").is_visible()


def test_the_picture_is_saved_with_caption_legend_and_what_is_hidden(browser, tmp_path):
    weights = some_weights(2, 3, 4)
    with mounted(browser, "lines", of(weights, QUERIES, KEYS), **SIZE) as shown:
        hidden = shown.page.locator("output").text_content()
        for kind in ("svg", "png"):
            with shown.page.expect_download() as saved:
                shown.pick_entry(kind.upper())
            assert saved.value.suggested_filename == f"picture.{kind}"
            saved.value.save_as(tmp_path / kind)
    svg = (tmp_path / "svg").read_text(encoding="utf-8")
    assert svg.count("<path") == (weights >= np.float32(0.05)).sum()
    for text in ("a title", "a caption", "head 0", "head 1", "queries: target", "keys: source", "عالم", hidden):
        assert text in svg
    assert "<img" not in svg
    assert (tmp_path / "png").read_bytes().startswith(b"\x89PNG")
