"""What the lines are sent is what the trace has, and what they show in a browser is what they were sent."""

import numpy as np
import pytest
from builders import tiny_checkpoint
from drawing import heads_of
from mounted import Mounted, mounting

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
    ],
)
def test_what_does_not_fit_is_refused(weights, changes, said):
    with pytest.raises(ValueError, match=said):
        of(weights, **changes)


# ---- what is shown


class RunView(Mounted):
    """The lines alone on a page."""

    def __init__(self, page, name, data):
        super().__init__(page, name, data)
        self.stage = page.get_by_role("application")
        self.slider = page.get_by_role("slider")

    def move(self, x, y):
        box = self.stage.bounding_box()
        self.page.mouse.move(box["x"] + x, box["y"] + y)

    def set_threshold(self, words):
        """Move the slider, as a hand does, to where it says these words."""
        move = """(slider, words) => {
          for (let place = 0; place <= slider.max; place++) {
            slider.value = place
            slider.dispatchEvent(new Event("input"))
            if (slider.getAttribute("aria-valuetext").startsWith(words)) return
          }
        }"""
        self.slider.evaluate(move, f"threshold {words}:")
        assert self.hidden.startswith(f"threshold {words}:")

    @property
    def hidden(self):
        return self.page.locator("output").text_content()

    @property
    def faded(self):
        return self.page.locator("canvas.base.faded").count() == 1

    def column(self, x, canvas="base"):
        """The pixels of one column of a canvas: [height, 4], red, green, blue, opacity."""
        values = self.page.locator(f"canvas.{canvas}").evaluate(
            "(canvas, x) => [...canvas.getContext('2d').getImageData(x, 0, 1, canvas.height).data]", x
        )
        return np.array(values).reshape(-1, 4)


@pytest.fixture
def shown(browser):
    with mounting(browser, "lines", RunView, viewport={"width": 600, "height": 720}, color_scheme="light") as mount:
        yield mount


def hidden_sentence(weights, mask, threshold, words):
    """What has to be said, by numpy alone: weights [N, Q, K] float32."""
    mask = np.broadcast_to(mask, weights.shape)
    seen = mask & (weights >= np.float32(threshold)) & (weights > 0)
    share = 100 * weights[mask & ~seen].sum(dtype=np.float64) / weights.sum(dtype=np.float64)
    return f"threshold {words}: {(mask & ~seen).sum():,} of {mask.sum():,} lines hidden, {share:.1f} % of the weight"


def test_the_hidden_share_is_that_of_the_lines_under_the_threshold(shown):
    weights = some_weights(3, 16, 16)
    view = shown(of(weights))
    assert view.hidden == hidden_sentence(weights, True, 0.05, "0.05")
    for threshold in (0.1, 0.25, 0.5):
        view.set_threshold(str(threshold))
        assert view.hidden == hidden_sentence(weights, True, threshold, str(threshold))
        assert view.slider.get_attribute("aria-valuetext") == view.hidden
    view.slider.focus()
    view.press("ArrowLeft")
    assert view.hidden == hidden_sentence(weights, True, 0.45, "0.45")
    view.press("Home")
    assert view.hidden == "threshold 0: 0 of 768 lines hidden, 0 % of the weight"
    view.press("End")
    assert view.hidden == "threshold 1: 768 of 768 lines hidden, 100 % of the weight"


def test_a_weight_that_is_the_threshold_is_shown(shown):
    view = shown(of([[[0.7, 0.3], [0.3, 0.7]]]))
    view.set_threshold("0.7")
    assert view.hidden == "threshold 0.7: 2 of 4 lines hidden, 30.0 % of the weight"
    view.set_threshold("0.8")
    assert view.hidden == "threshold 0.8: 4 of 4 lines hidden, 100 % of the weight"


def test_the_threshold_that_was_set_stays_for_the_next_head(shown):
    view = shown(of(some_weights(1, 8, 8)))
    view.set_threshold("0.2")
    weights = some_weights(1, 8, 8, seed=1)
    view.give(of(weights))
    assert view.hidden == hidden_sentence(weights, True, 0.2, "0.2")


def test_masked_pairs_get_no_line_and_their_weight_is_named(shown):
    weights = np.full((1, 4, 4), 0.25, np.float32)
    mask = np.tril(np.ones((4, 4), bool))
    view = shown(of(weights, mask=mask, fill="-1e9"))
    assert view.hidden == (
        "threshold 0.05: 0 of 10 lines hidden, 0 % of the weight; masked pairs, without a line, hold 37.5 %"
    )
    broken = np.array([[[0.5, 0.5], [np.nan, np.nan]]], np.float32)
    view.give(of(broken))
    assert view.hidden == (
        "threshold 0.05: 0 of 2 lines hidden, 0 % of the weight; 2 weights are not a number and have no line"
    )


def test_pairs_that_no_step_had_are_neither_counted_nor_called_masked(shown):
    weights = np.array([[[1, np.nan, np.nan], [0.25, 0.75, np.nan], [np.nan] * 3]], np.float32)
    there = ~np.isnan(weights[0])
    view = shown(of(weights, mask=there, there=there))
    assert view.hidden == "threshold 0.05: 0 of 3 lines hidden, 0 % of the weight"
    view.move(20, 162)
    assert view.tooltip == ["query 2: “q2”", "not there: no step had this number"]
    view.choose(t=0, i=1)
    view.move(20, 82)
    assert "with the chosen key 1 “k1”: not there: no step had this number" in view.tooltip
    with pytest.raises(ValueError, match="there"):
        of(weights, there=[[True]])


def test_opacity_is_the_weight_lifted_as_the_legend_says(shown):
    weights = np.array([[[0.9, 0.05, 0.05], [0.3, 0.3, 0.4], [0.02, 0.08, 0.9]]], np.float32)
    view = shown(of(weights, mask=np.eye(3, dtype=bool)))  # three level lines, 40 pixels apart
    pixels = view.column(300)
    places = [82, 122, 162]
    assert np.flatnonzero(pixels[:, 3]).tolist() == [row for y in places for row in (y - 1, y)]
    for y, weight in zip(places, (0.9, 0.3, 0.9), strict=True):
        assert pixels[y, 3] == pytest.approx(255 * (0.06 + 0.94 * weight**0.7), abs=1)
        ink = [int(theme.LIGHT.cross[5][i : i + 2], 16) for i in (1, 3, 5)]
        assert pixels[y, :3] == pytest.approx(ink, abs=2)


def test_each_head_has_its_colour(shown):
    view = shown(of(np.full((6, 1, 1), 1.0, np.float32)))
    pixels = view.column(300)
    colours = {tuple(pixel[:3]) for pixel in pixels if pixel[3] == 255}
    assert colours >= {tuple(bytes.fromhex(each[1:])) for each in theme.LIGHT.heads}


def test_too_many_lines_are_cut_to_the_strongest_and_it_is_said(shown):
    weights = some_weights(1, 200, 200)
    view = shown(of(weights))
    left = int(view.hidden.split(" of ")[0].split(": ")[1].replace(",", ""))
    assert 0 < weights.size - left <= 600  # what is shown at first can be told apart
    view.set_threshold("0")
    strongest = np.sort(weights.ravel())[::-1]
    share = 100 * strongest[20_000:].sum(dtype=np.float64) / weights.sum(dtype=np.float64)
    assert view.hidden == (
        f"threshold 0: 20,000 of 40,000 lines hidden, {share:.1f} % of the weight; only the strongest 20,000 are drawn"
    )


def test_even_weights_are_never_all_hidden_at_first(shown):
    view = shown(of(np.full((1, 100, 100), 0.01, np.float32)))
    assert view.hidden == "threshold 0.01: 0 of 10,000 lines hidden, 0 % of the weight"


def test_above_256_tokens_a_sentence_stands_in_place_of_the_picture(shown):
    view = shown(of(some_weights(1, 300, 20)))
    text = view.page.locator(".instead").text_content()
    assert "300 queries and 20 keys: lines are drawn for up to 256 tokens, the matrix shows all" in text
    assert not view.stage.is_visible()
    assert not view.slider.is_visible()
    view.give(of(some_weights(1, 3, 3)))
    assert view.stage.is_visible()


def test_a_token_that_is_pointed_at_keeps_its_lines_and_a_line_tells_its_pair(shown):
    weights = np.array(
        [[[0.5, 0.25, 0.25, 0], [0, 0, 1, 0], [0.25, 0.25, 0.25, 0.25]], [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 1]]]
    )
    view = shown(
        of(
            weights,
            QUERIES,
            KEYS,
            writes=Texts(["a", "b", "c"]),
            mask=[[1, 1, 1, 1], [1, 1, 1, 0], [1, 1, 1, 1]],
            fill="-1e9",
        )
    )
    assert not view.faded
    view.move(20, 122)
    assert view.faded
    assert view.tooltip == [
        f"query 1: reads “{labels.visible(MARKUP)}”, writes “b”",
        "head 0: reads most: key 2 “sechs”, weight 1.0000",
        "head 1: reads most: key 1 “\u2068عالم\u2069”, weight 1.0000",
        "4 of 6 lines hidden, 0 % of its weight",
    ]
    view.move(590, 202)
    assert view.faded
    assert view.tooltip == [
        "key 3: “sieben”",
        "head 0: most read by: query 2 “three”, weight 0.2500",
        "head 1: most read by: query 2 “three”, weight 1.0000",
        "2 of 4 lines hidden, 0 % of their weight",
    ]
    view.move(300, 82)  # where the line from query 0 to key 0 is level
    assert not view.faded
    assert view.tooltip == [
        "query 0: reads “one”, writes “a”",
        "key 0: “vier”",
        "head 0: weight 0.5000",
        "head 1: weight 1.0000",
    ]
    box = view.stage.bounding_box()
    view.page.mouse.click(box["x"] + 300, box["y"] + 82)
    view.page.wait_for_function("window.sent.length > 0")
    view.page.mouse.click(box["x"] + 20, box["y"] + 162)
    view.page.wait_for_function("window.sent.length > 1")
    view.page.mouse.click(box["x"] + 590, box["y"] + 122)
    view.page.wait_for_function("window.sent.length > 2")
    assert view.sent == [{"t": 0, "i": 0}, {"t": 2}, {"i": 1}]


def test_the_overlay_has_exactly_the_lines_of_the_token(shown):
    view = shown(of(np.full((1, 3, 3), 1 / 3, np.float32)))
    view.move(20, 122)
    view.painted()
    ink = [int(theme.LIGHT.cross[5][i : i + 2], 16) for i in (1, 3, 5)]

    def bundles(x):
        pixels = view.column(x, "over")[62:190]
        there = (np.abs(pixels[:, :3] - ink).max(axis=1) < 12) & (pixels[:, 3] > 20)
        return int((np.diff(there.astype(int), prepend=0) == 1).sum())

    assert bundles(300) == 3  # one to each key, well apart in the middle
    assert view.faded


def test_keys_alone_suffice(shown):
    weights = np.array([[[0.5, 0.25, 0.25, 0], [0.25, 0.25, 0.25, 0.25], [0, 0, 1, 0]]])
    view = shown(of(weights, QUERIES, KEYS))
    view.choose(t=1, i=2)
    view.press("Tab")
    assert view.tooltip == [
        f"query 1: “{labels.visible(MARKUP)}”",
        "reads most: key 0 “vier”, weight 0.2500",
        "with the chosen key 2 “sechs”: weight 0.2500",
        "0 of 4 lines hidden, 0 % of its weight",
    ]
    assert view.faded
    view.press("ArrowUp", "ArrowUp")
    assert view.tooltip[0] == "query 0: “one”"
    assert view.sent == []
    view.press("Enter")
    view.page.wait_for_function("window.sent.length > 0")
    view.press("ArrowRight")
    assert view.tooltip[0] == "key 2: “sechs”"
    assert view.tooltip[2] == "with the chosen query 0 “one”: weight 0.2500"
    view.press("End", "Enter")
    view.page.wait_for_function("window.sent.length > 1")
    assert view.tooltip[0] == "key 3: “sieben”"
    view.press("ArrowLeft")
    assert view.tooltip[0] == "query 0: “one”"
    assert view.sent == [{"t": 0}, {"i": 3}]
    assert view.page.locator("[aria-live]").text_content().startswith("query 0: “one”")
    view.press("Escape")
    assert view.tooltip == []
    assert not view.faded


def test_what_is_chosen_elsewhere_is_marked(shown):
    view = shown(of(some_weights(1, 3, 3)))
    before = view.page.locator("canvas.over").screenshot()
    view.choose(t=2, i=0)
    assert view.page.locator("canvas.over").screenshot() != before
    view.choose(t=99, i=None)
    assert view.page.locator("canvas.over").screenshot() == before


def test_one_token_and_one_pair_can_be_drawn(shown):
    view = shown(of(np.ones((1, 1, 1), np.float32), ["x"], ["y"]))
    assert view.hidden == "threshold 0.05: 0 of 1 lines hidden, 0 % of the weight"
    view.move(20, 82)
    assert view.tooltip[0] == "query 0: “x”"


def test_the_picture_is_saved_with_caption_legend_and_what_is_hidden(shown, tmp_path):
    weights = some_weights(2, 3, 4)
    view = shown(of(weights, QUERIES, KEYS))
    with view.page.expect_download() as saved:
        view.pick_entry("SVG")
    assert saved.value.suggested_filename == "picture.svg"
    saved.value.save_as(tmp_path / "picture.svg")
    svg = (tmp_path / "picture.svg").read_text(encoding="utf-8")
    shown_lines = int((weights >= np.float32(0.05)).sum())
    assert svg.count("<path") == shown_lines
    for text in ("a title", "a caption", "head 0", "head 1", "queries: target", "keys: source", "عالم", view.hidden):
        assert text in svg
    assert "<img" not in svg
    with view.page.expect_download() as saved:
        view.pick_entry("PNG")
    saved.value.save_as(tmp_path / "picture.png")
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")


def test_while_the_steps_are_played_what_is_not_written_yet_has_no_name_and_no_line(shown, tmp_path):
    view = shown(of(np.full((1, 3, 2), 0.5, np.float32), writes=Texts(["w0", "w1", "w2"])))
    view.choose(t=1, i=0)
    view.page.evaluate("window.vizTransformerSelection.plays(true)")
    view.painted()
    with view.page.expect_download() as saved:
        view.pick_entry("SVG")
    saved.value.save_as(tmp_path / "picture.svg")
    svg = (tmp_path / "picture.svg").read_text(encoding="utf-8")
    assert svg.count("<path") == 4
    assert [name for name in ("q0", "q1", "q2", "k0", "k1") if f">{name}<" in svg] == ["q0", "q1", "k0", "k1"]


def test_values_are_written_as_everywhere(shown):
    weights = np.array([[[0.00004, 0.99996, 0.0, 0.0]]], np.float32)
    view = shown(of(weights))
    view.set_threshold("0")
    view.stage.focus()
    view.choose(t=0)
    for key, value in enumerate(weights[0, 0]):
        view.choose(t=0, i=key)
        view.press("Home")
        assert view.tooltip[2] == f"with the chosen key {key} “k{key}”: weight {labels.share(float(value))}"


def test_lines_of_a_row_of_which_more_than_0_9_is_hidden_are_faint_and_the_legend_says_so(shown, tmp_path):
    weights = np.array([[[0.9, 0.05, 0.05], [0.3, 0.3, 0.4], [0.02, 0.08, 0.9]]], np.float32)
    hidden = np.array([[0.5, 0.1, 0.95]])
    view = shown(of(weights, mask=np.eye(3, dtype=bool), hidden=hidden))  # three level lines, 40 pixels apart
    pixels = view.column(300)
    for y, weight, veil in ((82, 0.9, 1), (122, 0.3, 1), (162, 0.9, 0.5)):
        assert pixels[y, 3] == pytest.approx(255 * veil * (0.06 + 0.94 * weight**0.7), abs=1)
    view.move(20, 162)
    assert view.tooltip[-1] == "0.9500 of this row's weight is hidden"
    with view.page.expect_download() as saved:
        view.pick_entry("SVG")
    saved.value.save_as(tmp_path / "picture.svg")
    assert "faint: more than 0.9 of the row is hidden" in (tmp_path / "picture.svg").read_text(encoding="utf-8")
