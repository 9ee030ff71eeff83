"""What the row is sent is what it was given, and what it shows in a browser is what it was sent."""

import numpy as np
import pytest
from mounted import mounted

from viz_transformer import payload
from viz_transformer.analysis.attention.axes import Axis, Texts
from viz_transformer.analysis.attention.picture import Meta
from viz_transformer.analysis.weight.weight_numbers import QueryRow
from viz_transformer.figures import theme

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
    assert "one query against 3 keys" in header["label"]


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


# ---- in a browser: tests/javascript/row*.test.js have all that needs none


def stage(shown):
    return shown.page.locator(".stage")


def column(shown, key, y=150):
    """A place on the page in the column of a key, in the first dimension of the keys below upright tokens."""
    box = stage(shown).bounding_box()
    return box["x"] + 126 + 112 * key + 56, box["y"] + y


def colours(shown, key):
    """The colours in the cell of a weight, in the middle of its column."""
    pixels = "(canvas, [x, y]) => [...canvas.getContext('2d').getImageData(x, y, 60, 20).data]"
    height = stage(shown).bounding_box()["height"]
    found = shown.page.locator("canvas.base").evaluate(pixels, [126 + 112 * key + 20, round(height) - 26 - 10 - 24])
    return {"#{:02X}{:02X}{:02X}".format(*found[i : i + 3]) for i in range(0, len(found), 4)}


def test_weights_have_the_colours_of_the_theme_and_many_keys_fit(browser):
    weights = np.array([1.0, 0.0, 0.0], np.float32)
    with mounted(browser, "row", of(("a", "b", "c"), weights=weights)) as shown:
        for scheme in theme.THEMES:
            shown.page.emulate_media(color_scheme=scheme)
            shown.give(of(("a", "b", "c"), weights=weights, writes=scheme))
            palette = theme.palette(scheme)
            assert palette.cross[-1] in colours(shown, 0)
            assert colours(shown, 2) >= {palette.surface, palette.line}  # masked
        before, many = stage(shown).get_attribute("data-painted"), 300
        numbers = {"scores": np.zeros(many), "weights": np.full(many, 1 / many), "mask": np.ones(many, bool)}
        keys = np.ones((many, 2), np.float32)
        shown.give(of(["x"] * many, keys=keys, position=0, writes=None, **numbers))
        assert stage(shown).get_attribute("data-painted") != before
        assert stage(shown).count() == 1
        assert shown.page.evaluate("document.documentElement.scrollWidth") <= 720
        assert stage(shown).evaluate("(stage) => stage.scrollWidth <= stage.clientWidth")


def test_pointer_and_keys_choose_a_key_and_the_query(browser):
    with mounted(browser, "row", of()) as shown:
        shown.choose(t=1, i=0)
        shown.page.mouse.move(*column(shown, 1))  # in the upper half of the keys: dimension 0
        assert shown.tooltip[1:3] == [f"key 1: “{MARKUP}”", "dimension 0: 1.0000 × 0.2500 = 0.2500"]
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


def test_it_is_saved_as_svg_with_its_caption(browser, tmp_path):
    with mounted(browser, "row", of(), accept_downloads=True) as shown:
        with shown.page.expect_download() as waited:
            shown.pick_entry("SVG")
        waited.value.save_as(tmp_path / "row.svg")
    text = (tmp_path / "row.svg").read_text(encoding="utf-8")
    assert "a caption" in text and "a title" in text and "<img" not in text
    assert waited.value.suggested_filename == "picture.svg"
