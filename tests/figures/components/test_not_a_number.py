"""What is not a number is dotted, named in the legend and said as such, neither 0 nor masked, in each picture."""

from itertools import product

import numpy as np
import pytest
from builders import tiny_checkpoint, tiny_config
from drawing import heads_of, picture_of
from mounted import WRITTEN, mounted
from playwright.sync_api import expect

from viz_transformer import payload, show
from viz_transformer.analysis.attention.axes import Axis, Texts
from viz_transformer.analysis.attention.picture import Picture
from viz_transformer.figures import attention_heatmap, theme
from viz_transformer.figures import run as run_figure
from viz_transformer.figures.components.chips import Chip, ChipRow
from viz_transformer.figures.components.model_maps import rail_data
from viz_transformer.figures.components.snapshots import MapsOfKind, SnapshotData, snapshots_payload
from viz_transformer.model.hooked_model import spec_of
from viz_transformer.running.decoding import decode

NAN = np.nan
WEIGHTS = np.array([[0.25, 0.75, 0], [NAN, NAN, NAN], [0, 0, 0]], np.float32)
MASK = np.array([[1, 1, 0], [1, 1, 0], [0, 0, 0]], bool)
SLIPS = {"mask_fill": "-inf", "padding_mask": "key-or-query", "pad_to": 6, "max_source": 6, "max_target": 6}
"""Of a model whose padding may read nothing, which is not a number then, and so is all that reads it."""

COLOURS = """([canvas, x, y, width, height]) => {
  const ratio = canvas.width / canvas.getBoundingClientRect().width
  const { data } = canvas.getContext("2d").getImageData(x * ratio, y * ratio, width * ratio, height * ratio)
  const found = {}
  const digits = (channel) => channel.toString(16).padStart(2, "0").toUpperCase()
  for (let i = 0; i < data.length; i += 4) {
    const colour = "#" + [...data.slice(i, i + 3)].map(digits).join("")
    found[colour] = (found[colour] ?? 0) + 1
  }
  return found
}"""


def axes():
    names = "abc"
    return (
        Axis("t", "query", "reads", "target", Texts([f"q{each}" for each in names])),
        Axis("i", "key", "keys, source", "source", Texts([f"k{each}" for each in names])),
    )


def colours(shown, box, canvas="canvas.base"):
    """How many pixels of each colour are in this box of the picture, the most frequent ones first."""
    handle = shown.page.locator(canvas).element_handle()
    found = shown.page.evaluate(COLOURS, [handle, *box])
    return {colour: found[colour] for colour in sorted(found, key=found.get, reverse=True)}


def dots(scheme):
    return {theme.palette(scheme).no_number, theme.palette(scheme).no_number_dot}


def written(shown):
    """All words that the picture draws."""
    shown.page.evaluate(WRITTEN)
    shown.choose(t=2, i=2)
    return " ".join(shown.page.evaluate("window.written"))


# ---- colours


@pytest.mark.parametrize("scheme", theme.THEMES)
def test_the_ground_and_the_dots_stand_apart_from_0_from_masked_and_from_each_other(scheme):
    palette = theme.palette(scheme)

    def light(colour):
        channels = (int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5))
        return sum(
            share * (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4)
            for share, c in zip((0.2126, 0.7152, 0.0722), channels, strict=True)
        )

    def contrast(a, b):
        low, high = sorted((light(a), light(b)))
        return (high + 0.05) / (low + 0.05)

    assert contrast(palette.no_number, palette.no_number_dot) >= 4.5
    for other in (palette.page, palette.surface, *(getattr(palette, scale)[0] for scale in ("encoder", "decoder"))):
        assert contrast(palette.no_number, other) >= 1.5
    for colour in dots(scheme):  # grey: what one sees without colours is what others see
        channels = [int(colour[k : k + 2], 16) for k in (1, 3, 5)]
        assert max(channels) - min(channels) <= 24


# ---- payload


@pytest.mark.parametrize("side", [3, 600])
def test_it_arrives_bit_by_bit_at_any_length(side):
    values = np.full((2, side), 1 / side, np.float32)
    values[1] = NAN
    values[0, 0] = np.inf
    rows = Axis("t", "query", "reads", "target", Texts(["a", "b"]))
    columns = Axis("i", "key", "keys", "source", Texts(["k"] * side))
    norms = picture_of(values, rows, columns, quantity="norm", bounded=False)
    _, arrays = payload.unpack(norms.pack())
    assert arrays["values"].tobytes() == values.tobytes()
    for made in (Picture.pack_lines, Picture.pack_text):
        arrays = payload.unpack(made(picture_of(np.abs(values), rows, columns)))[1]
        if side == 3 or made is Picture.pack_text:  # of so many tokens there are no lines
            assert arrays["weights"].tobytes() == np.abs(values).tobytes()


# ---- matrix


def test_the_picture_that_stands_alone_draws_it(browser):
    figure = attention_heatmap(WEIGHTS, ["a", "b", "c"], ["x", "y", "z"], title="a title")
    problems = []
    page = browser.new_page()
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.set_content(figure.html)
    page.locator("canvas.base").wait_for()
    page.wait_for_function("document.querySelector('.stage')?.dataset.painted")
    handle = page.locator("canvas.base").element_handle()
    assert dots("light") <= set(page.evaluate(COLOURS, [handle, 0, 0, 400, 600]))
    page.close()
    assert problems == []


# ---- lines


def of_lines(weights=WEIGHTS, heads=("head 0",), **changes):
    maps = np.stack([weights] * len(heads))
    return heads_of(maps, *axes(), heads=heads, **changes).pack_lines()


def test_a_query_whose_weights_are_not_a_number_has_no_line_but_dots(browser, subtests):
    with mounted(browser, "lines", of_lines()) as shown:
        box = shown.page.locator("canvas.base").bounding_box()
        for heads in (("head 0",), ("head 0", "head 1")):
            with subtests.test(heads=len(heads)):
                shown.choose(t=0)
                shown.give(of_lines(heads=heads))
                found = colours(shown, (0, 0, box["width"], box["height"]))
                assert found[theme.LIGHT.no_number] > 100 and found[theme.LIGHT.no_number_dot] > 20
                assert "not a number" in written(shown)
                said = shown.page.locator("output").text_content()
                assert f"{3 * len(heads)} weights are not a number and have no line" in said
                shown.give(of_lines(np.nan_to_num(WEIGHTS), heads=heads))
                found = colours(shown, (0, 0, box["width"], box["height"]))
                assert theme.LIGHT.no_number_dot not in found
        one = WEIGHTS.copy()
        one[1, :2] = 0.5
        shown.give(of_lines(one))
        assert "1 weight is not a number and has no line" in shown.page.locator("output").text_content()
        shown.give(of_lines())
        shown.choose(t=0)
        shown.page.get_by_role("application").focus()
        said = []
        for key in ("Home", "ArrowDown", "ArrowDown"):
            shown.press(key)
            said.append(shown.page.locator("[aria-live]").text_content())
        assert "reads most: key 1 “kb”, weight 0.7500" in said[0]
        assert "3 weights not a number" in said[1] and "reads nothing" not in said[1]
        assert "reads nothing" in said[2] and "not a number" not in said[2]


# ---- text


def test_a_shaded_text_has_dots_and_says_so(browser):
    data = picture_of(WEIGHTS, *axes(), mask=MASK).pack_text()
    with mounted(browser, "shading", data) as shown:
        keys = shown.page.locator(".text").first.locator(".token")
        legend = shown.page.locator(".legend")
        shown.choose(t=0, i=0)
        assert keys.evaluate_all("(all) => all.map((each) => each.classList.contains('no-number'))") == [False] * 3
        expect(legend).not_to_contain_text("not a number")
        shown.choose(t=1, i=0)
        assert keys.evaluate_all("(all) => all.map((each) => each.classList.contains('no-number'))") == [True] * 3
        assert "conic-gradient" in keys.first.evaluate("(each) => getComputedStyle(each).backgroundImage")
        masked = keys.nth(2).evaluate("(each) => getComputedStyle(each).backgroundImage")
        assert "conic-gradient" in masked and "repeating-linear-gradient" in masked
        expect(keys.first).to_have_attribute("aria-label", "0: “ka”, not a number")
        expect(legend).to_contain_text("dotted: not a number")
        keys.first.hover()
        assert shown.tooltip[-1] == "weight: not a number"
        shown.choose(t=2, i=0)
        assert keys.evaluate_all("(all) => all.map((each) => each.classList.contains('no-number'))") == [False] * 3


# ---- training replay


def test_a_snapshot_whose_weights_are_not_a_number_is_drawn(browser):
    weights = np.stack([np.nan_to_num(WEIGHTS), WEIGHTS])[:, None, None]
    maps = MapsOfKind(kind="cross", name="cross", weights=weights, mask=MASK, axes=axes())
    snapshots = [SnapshotData(step=step, text="a", complete=True, right=False, loss=1.0) for step in (0, 1)]
    data = snapshots_payload(snapshots, [maps], caption="a caption", name="picture")
    with mounted(browser, "snapshots", data) as shown:
        for step, there in ((0, False), (1, True)):
            shown.choose(model_snapshot=step)
            box = shown.page.locator("canvas").first.bounding_box()
            found = colours(shown, (0, 0, box["width"], box["height"]), ".stage .base")
            assert (theme.LIGHT.no_number_dot in found) == there


# ---- the whole run


@pytest.fixture(scope="module")
def lost():
    """A run whose padding may read nothing, so that nothing is a number in the end."""
    run = decode(tiny_checkpoint(**SLIPS), "ab", max_steps=3)
    assert np.isnan(run.trace["logits"].numpy()).all()
    return run


def test_the_whole_run_is_drawn_on_each_level_with_dots(browser, lost, subtests):
    figure = run_figure(lost, head=0)
    look = {"viewport": {"width": 992, "height": 860}, "reduced_motion": "reduce"}
    with mounted(browser, "whole", figure.data, **look) as shown:
        said = shown.page.locator("ol.unseen li").all_text_contents()
        assert any("has weights that are not a number" in each for each in said)
        assert any("(its probability is not a number, so no token is the likeliest)" in each for each in said)
        for level in ("run", "layer", "attention", "weight"):
            with subtests.test(level=level):
                shown.choose(**{**figure.chosen, "level": level, "t": 1, "i": 1})
                shown.page.locator(f".stage[data-level={level}]:not([data-moving])").wait_for()
                shown.painted()
                box = shown.page.locator("canvas.base").bounding_box()
                expect(shown.page.locator(".legend")).to_contain_text("dotted: not a number")
                place = (0, 0, box["width"], box["height"])
                found = [colours(shown, place, f"canvas.{name}") for name in ("base", "over")]
                assert any(theme.LIGHT.no_number in each and theme.LIGHT.no_number_dot in each for each in found)
                said = " ".join(shown.page.locator("ol.unseen li").all_text_contents())
                assert "not a number" in said
                assert "attends to nothing" not in said


# ---- the steps


def test_a_candidate_whose_probability_is_not_a_number_has_a_dotted_bar(browser, lost, tmp_path):
    with mounted(browser, "scrubber", show(lost, "steps").data) as shown:
        bars = shown.page.locator(".candidate:not(.empty) .part")
        assert bars.evaluate_all("(all) => all.every((each) => each.classList.contains('no-number'))")
        assert "conic-gradient" in bars.first.evaluate("(each) => getComputedStyle(each).backgroundImage")
        expect(shown.page.locator(".candidate .value").first).to_have_text("not a number")
        with shown.page.expect_download() as download:
            shown.pick_entry("SVG")
        download.value.save_as(tmp_path / "svg")
    ground = ", ".join(str(int(theme.LIGHT.no_number[k : k + 2], 16)) for k in (1, 3, 5))
    assert (tmp_path / "svg").read_text(encoding="utf-8").count(f'fill="rgb({ground})"') >= 10


# ---- chips and rail

DOTTED = "(each) => getComputedStyle(each).backgroundImage.includes('conic-gradient')"


def test_a_chip_whose_probability_is_not_a_number_says_so_and_is_not_called_unsure(browser):
    chips = [
        Chip(token=token, original=token, side="target", position=n, probability=probability)
        for n, (token, probability) in enumerate([("a", NAN), ("b", 0.25)])
    ]
    row = ChipRow(label="writes", chips=chips, side="target").data()
    said = [(chip["share"], chip["sure"], "mark" in chip) for chip in row["chips"]]
    assert said == [(None, True, False), (0.25, False, True)]
    with mounted(browser, "chips", {"rows": [row]}) as shown:
        parts = shown.page.locator(".part")
        assert [parts.nth(n).evaluate(DOTTED) for n in (0, 1)] == [True, False]
        assert "not a number" in shown.page.locator(".chip").first.get_attribute("title")


def test_a_sub_layer_of_the_rail_whose_share_is_not_a_number_has_dots(browser):
    places = product(("encoder", "decoder"), range(3), ("self", "cross", "ffn"))
    sites = [f"{stack}.{layer}.{part}" for stack, layer, part in places]
    data = rail_data(spec_of(tiny_config()), {site: NAN if site == "decoder.1.ffn" else 0.5 for site in sites})
    with mounted(browser, "rail", data) as shown:
        bars = shown.page.locator(".share")
        assert bars.evaluate_all(f"(all) => all.filter({DOTTED}).length") == 1
