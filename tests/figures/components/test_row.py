"""What the row is sent is what it was given, and what it shows in a browser is what it was sent."""

import re

import numpy as np
import pytest
from mounted import mounted

from viz_transformer import payload
from viz_transformer.analysis.attention.axes import Axis, Texts
from viz_transformer.analysis.attention.picture import Meta
from viz_transformer.analysis.weight.weight_numbers import QueryRow

MARKUP = "<b>&amp;<img/src=x/onerror=alert(1)>"
QUERY = np.array([1.0, -2.0], np.float32)
KEYS = np.array([[1.0, 0.5], [0.25, -1.0], [3.0, 0.0]], np.float32)
SCORES = (KEYS @ QUERY) / np.sqrt(2)  # 0, 1.5910, 2.1213
WEIGHTS = np.array([0.17, 0.83, 0.0], np.float32)
MASK = np.array([True, True, False])


def of(tokens=("zwei", MARKUP, "zwei"), **changes):
    arrays = {"query": QUERY, "keys": KEYS, "scores": SCORES, "weights": WEIGHTS, "mask": MASK, **changes}
    axes = (
        Axis("t", "query", "reads", "target", Texts(["a", "b", "c"])),
        Axis("i", "key", "keys, source", "source", Texts(tokens)),
    )
    position, writes = arrays.pop("position", 1), arrays.pop("writes", "w")
    meta = Meta("a title", "a caption", "picture", scale="cross", fill="-1e9")
    return QueryRow(**arrays).pack(axes, position, writes, meta)


# ---- what is sent


def test_every_bit_is_sent():
    header, arrays = payload.unpack(of())
    for name, values in (("query", QUERY), ("keys", KEYS), ("scores", SCORES.astype(np.float32)), ("weights", WEIGHTS)):
        assert arrays[name].tobytes() == values.tobytes()
    assert np.array_equal(arrays["mask"], MASK)
    assert header["keys"]["field"] == "i" and header["query"]["field"] == "t" and header["query"]["count"] == 3
    assert header["token"] == {"text": "b"} and header["position"] == 1


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"keys": np.ones((2, 2))}, "do not fit 3 tokens"),
        ({"query": np.ones(3)}, "do not fit 3 tokens"),
        ({"weights": np.ones(2)}, r"weights \(2,\) do not fit 3 tokens"),
        ({"mask": np.ones(4, bool)}, r"mask \(4,\) do not fit 3 tokens"),
        ({"position": 3}, "there is no query 3: queries go from 0 to 2"),
    ],
)
def test_what_does_not_fit_is_refused(changes, said):
    with pytest.raises(ValueError, match=said):
        of(**changes)


# ---- in a browser


def stage(shown):
    return shown.page.locator(".stage")


def column(shown, key, y=150):
    """A place on the page in the column of a key, in the first dimension of the keys below upright tokens."""
    box = stage(shown).bounding_box()
    return box["x"] + 126 + 112 * key + 56, box["y"] + y


def test_the_tooltip_says_query_key_product_score_and_weight(browser):
    with mounted(browser, "row", of()) as shown:
        shown.page.mouse.move(*column(shown, 1))  # in the upper half of the keys: dimension 0
        assert shown.tooltip == [
            "query 1: reads “b”, writes “w”",
            f"key 1: “{MARKUP}”",
            "dimension 0: 1.0000 × 0.2500 = 0.2500",
            "score 1.5910, 0.00 below the row's largest",
            "weight 0.8300",
        ]
        shown.page.mouse.move(*column(shown, 2))
        assert shown.tooltip[-2:] == ["score 2.1213", "masked (-1e9), weight 0.0000"]
        shown.page.mouse.move(*column(shown, 0))
        assert shown.tooltip[-2] == "score 0.0000, 1.59 below the row's largest"


def test_a_click_and_the_arrow_keys_choose_a_key_and_the_query(browser):
    with mounted(browser, "row", of()) as shown:
        shown.choose(t=1, i=0)
        shown.page.mouse.click(*column(shown, 2))
        assert shown.heard() == [{"i": 2}]
        stage(shown).focus()
        shown.press("ArrowLeft")
        assert shown.heard(2)[1]["i"] == 1
        shown.press("ArrowDown", "ArrowDown", "ArrowDown")
        assert shown.heard(3)[2]["t"] == 2  # the last of three
        shown.press("Home")
        assert shown.heard(4)[3]["i"] == 0
        assert "key 0" in shown.page.locator("[aria-live]").text_content()


def test_it_has_a_role_and_a_label_that_names_the_keys(browser):
    with mounted(browser, "row", of()) as shown:
        assert stage(shown).get_attribute("role") == "application"
        label = stage(shown).get_attribute("aria-label")
        assert "one query against 3 keys" in label and "Left and right choose a key" in label


def test_new_data_are_drawn_in_the_same_place_and_many_keys_fit(browser):
    many = 300
    keys = np.ones((many, 2), np.float32)
    with mounted(browser, "row", of()) as shown:
        before = stage(shown).get_attribute("data-painted")
        numbers = {"scores": np.zeros(many), "weights": np.full(many, 1 / many), "mask": np.ones(many, bool)}
        data = of(["x"] * many, keys=keys, position=0, writes=None, **numbers)
        shown.give(data)
        assert stage(shown).get_attribute("data-painted") != before
        assert shown.page.locator(".stage").count() == 1
        assert shown.page.evaluate("document.documentElement.scrollWidth") <= 720


def test_the_legends_of_a_row_that_is_scrolled_stand_with_what_stays(browser):
    with mounted(browser, "row", of()) as shown:
        shown.page.evaluate(
            """() => {
              const { fillText } = CanvasRenderingContext2D.prototype
              CanvasRenderingContext2D.prototype.fillText = function (text, ...where) {
                ;(window.wrote ??= []).push([this.canvas.className, text])
                return fillText.call(this, text, ...where)
              }
            }"""
        )
        for keys, where in ((3, "base"), (30, "aside"), (65, "base")):
            shown.page.evaluate("window.wrote = []")
            weights = np.full(keys, 1 / keys, np.float32)
            many = {"keys": np.ones((keys, 2), np.float32), "scores": np.zeros(keys), "weights": weights}
            shown.give(of(["x"] * keys, mask=np.ones(keys, bool), **many))
            assert {canvas for canvas, text in shown.page.evaluate("window.wrote") if text == "0–1"} == {where}
        assert shown.page.locator(".stage").evaluate("(stage) => stage.scrollWidth <= stage.clientWidth")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_weight_of_1_has_the_last_colour_of_its_scale_and_a_masked_one_is_hatched(browser, scheme):
    weights = np.array([1.0, 0.0, 0.0], np.float32)
    data = of(("a", "b", "c"), weights=weights)
    pixels = "(canvas, [x, y]) => [...canvas.getContext('2d').getImageData(x, y, 60, 20).data]"
    with mounted(browser, "row", data, color_scheme=scheme) as shown:
        height = stage(shown).bounding_box()["height"]

        def colours(key):
            found = shown.page.locator("canvas.base").evaluate(
                pixels, [126 + 72 * key + 4, round(height) - 26 - 10 - 24]
            )
            return {tuple(found[i : i + 3]) for i in range(0, len(found), 4)}

        last = shown.page.evaluate(
            """() => {
              const probe = document.body.appendChild(document.createElement("span"))
              probe.style.color = "var(--vt-cross-6)"
              return getComputedStyle(probe).color
            }"""
        )
        assert tuple(map(int, re.findall(r"\d+", last))) in colours(0)
        assert len(colours(2)) > 1  # lines over the surface


def test_it_is_saved_as_svg_with_its_caption(browser, tmp_path):
    with mounted(browser, "row", of(), accept_downloads=True) as shown:
        with shown.page.expect_download() as waited:
            shown.pick_entry("SVG")
        waited.value.save_as(tmp_path / "row.svg")
    text = (tmp_path / "row.svg").read_text(encoding="utf-8")
    assert "a caption" in text and "a title" in text and "<img" not in text
    assert waited.value.suggested_filename == "picture.svg"


def test_a_weight_beside_1_is_not_called_1(browser, tmp_path):
    weights = np.array([1 - 2**-20, 1.0, 0.0], np.float32)
    data = of(("a", "b", "c"), weights=weights)
    with mounted(browser, "row", data, accept_downloads=True) as shown:
        with shown.page.expect_download() as waited:
            shown.pick_entry("SVG")
        waited.value.save_as(tmp_path / "row.svg")
    said = re.findall(r">([^<>]*[0-9])</text>", (tmp_path / "row.svg").read_text(encoding="utf-8"))
    assert "&gt;0.99" in said and said.count("1.00") == 1
