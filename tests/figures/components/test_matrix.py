"""What the matrix is sent is what it was given, and what it shows in a browser is what it was sent."""

import re
import struct

import numpy as np
import pytest
from builders import tiny_checkpoint
from drawing import picture_of
from mounted import mounted
from showing import shown_of

from viz_transformer import payload
from viz_transformer.analysis.attention.axes import Axis, Texts
from viz_transformer.figures import labels, theme
from viz_transformer.ui.frame import maps
from viz_transformer.ui.session import state

MARKUP = "<b>&amp;<img/src=x/onerror=alert(1)>"
DRAWN = ("height", "grows", "follows", "exact", "bare", "why")


def of(values, rows=None, columns=None, starts=(), ends=(), **changes):
    grid = np.asarray(values, dtype=np.float32)
    down = rows or [f"q{r}" for r in range(grid.shape[0])]
    along = columns or [f"k{c}" for c in range(grid.shape[1])]
    drawn = {name: changes.pop(name) for name in DRAWN if name in changes}
    axes = (
        Axis("t", "query", "reads", "target", Texts(down)),
        Axis("i", "key", "keys, source", "source", Texts(along), starts, ends),
    )
    return picture_of(grid, *axes, **changes).pack(**drawn)


VALUES = np.array([[0.25, 0.75, 0, 1], [0.00001, 0.99999, 0.12345, 0.5], [0.2, 0.005, 0, 0.125]], np.float32)


def softmax(*shape, seed=0):
    scores = np.exp(np.random.default_rng(seed).normal(size=shape) * 2)
    return (scores / scores.sum(axis=-1, keepdims=True)).astype(np.float32)


# ---- what is sent


@pytest.mark.parametrize("shape", [(1, 1), (1, 7), (9, 3), (512, 512)])
def test_up_to_512_tokens_a_side_every_bit_is_sent(shape):
    values = softmax(*shape)
    assert payload.unpack(of(values))[1]["values"].tobytes() == values.tobytes()


@pytest.mark.parametrize("shape", [(1, 513), (513, 1)])
def test_above_512_tokens_the_error_stays_below_1_6e_5(shape):
    values = np.random.default_rng(0).random(shape, dtype=np.float32)
    error = np.abs(payload.unpack(of(values))[1]["values"] - values)
    assert 0 < error.max() < 1.6e-5


@pytest.mark.parametrize("strange", [np.nan, np.inf, -0.25, 1.5])
def test_what_is_no_share_is_sent_bit_by_bit_at_any_length(strange):
    values = softmax(2, 600)
    values[1, 3] = strange
    assert payload.unpack(of(values))[1]["values"].tobytes() == values.tobytes()


def test_the_mask_is_sent_where_anything_is_masked():
    mask = np.tril(np.ones((5, 5), bool))
    assert np.array_equal(payload.unpack(of(softmax(5, 5), mask=mask))[1]["mask"], mask)
    assert "mask" not in payload.unpack(of(softmax(5, 5), mask=np.ones((5, 5), bool)))[1]


def test_axes_have_field_words_ink_tokens_and_where_their_places_begin():
    header, _ = payload.unpack(of(softmax(2, 2), columns=["ab", "c"], starts=(1, 3), ends=(3, 4)))
    expected = {"field": "i", "role": "key", "axis": "keys, source", "ink": "source-ink"}
    expected |= {"starts": [1, 3], "ends": [3, 4]}
    assert header["columns"] == {**expected, "tokens": [{"text": "ab"}, {"text": "c"}]}
    assert header["rows"]["starts"] is None
    assert header["label"] == "Map of a title: reads as rows, keys, source as columns"


@pytest.mark.parametrize(
    ("changes", "signed", "bounded"),
    [({}, False, True), ({"bounded": False}, False, False), ({"scale": "diverging"}, True, False)],
)
def test_only_shares_end_at_1_and_only_differences_have_a_sign(changes, signed, bounded):
    header, _ = payload.unpack(of(softmax(2, 2), **changes))
    assert (header["signed"], header["bounded"]) == (signed, bounded)


@pytest.mark.parametrize(
    ("values", "changes", "said"),
    [
        (np.ones((2, 3)), {"rows": ["a"]}, r"values \(2, 3\) do not fit 1 rows and 3 columns"),
        (np.ones((2, 3)), {"columns": ["a"] * 4}, "do not fit 2 rows and 4 columns"),
        (np.ones((0, 3)), {}, "do not fit 0 rows"),
        (np.ones((2, 3)), {"mask": np.ones((3, 2))}, r"mask \(3, 2\) does not have the shape of the values \(2, 3\)"),
        (np.ones((2, 3)), {"writes": Texts(["a"])}, "1 written tokens do not fit 2 rows"),
    ],
)
def test_what_does_not_fit_is_refused(values, changes, said):
    with pytest.raises(ValueError, match=said):
        of(values, **changes)


def test_gaps_are_sent_where_there_are_any():
    there = np.array([[1, 0, 1, 1], [1, 1, 1, 1], [0, 0, 0, 0]], bool)
    assert np.array_equal(payload.unpack(of(VALUES, there=there))[1]["there"], there)
    assert "there" not in payload.unpack(of(VALUES, there=np.ones_like(VALUES)))[1]
    with pytest.raises(ValueError, match=r"there \(1, 4\) does not have the shape"):
        of(VALUES, there=[[True] * 4])


def test_only_a_map_that_grows_says_so_and_all_its_rows_are_sent():
    assert not {"grows", "most"} & set(payload.unpack(of(VALUES))[0])  # the recorded run is compared byte by byte
    header, arrays = payload.unpack(of(VALUES, grows=True))
    assert header["grows"] is True
    assert arrays["values"].tobytes() == VALUES.tobytes()


def test_positions_are_those_in_the_run_where_some_tokens_are_hidden():
    shown = shown_of(tiny_checkpoint(), "ab", max_steps=2)  # reads <s> a b </s>
    picture = maps.picture(shown, {**state.DEFAULTS, "options": ("hidden",)})
    columns = payload.unpack(picture.pack())[0]["columns"]
    assert (columns["tokens"], columns["starts"]) == ([{"text": "a"}, {"text": "b"}], [1, 2])


def test_what_was_typed_is_sent_where_the_model_does_not_know_it():
    columns = Axis("i", "key", "keys", "source", Texts(["<unk>", "a"], ["é", "a"]))
    rows = Axis("t", "query", "reads", "target", Texts(["<s>"]))
    header, _ = payload.unpack(picture_of([[0.5, 0.5]], rows, columns).pack())
    assert header["columns"]["tokens"] == [{"text": "<unk>", "note": "é"}, {"text": "a"}]


def test_how_much_of_a_row_is_hidden_is_sent():
    header, _ = payload.unpack(of([[0.5, -0.5]], scale="diverging", hidden=np.array([0.25])))
    assert header["hidden"] == [0.25]


# ---- what a browser shows: tests/javascript/matrix_*.test.js have all that needs none

HOVER_ALL = """(stage) => {
  const found = {}
  const box = stage.getBoundingClientRect()
  const tip = stage.getRootNode().querySelector(".tooltip")
  for (let y = 6; y < box.height; y += 12)
    for (let x = 5; x < box.width; x += 24) {
      const at = { clientX: box.left + x, clientY: box.top + y, pointerId: 1 }
      stage.dispatchEvent(new PointerEvent("pointermove", at))
      if (tip.hidden) continue
      const places = (found[[...tip.children].map((line) => line.textContent).join("|")] ??= [])
      places.push([x, y])
    }
  stage.dispatchEvent(new PointerEvent("pointerleave", { pointerId: 1 }))
  return found
}"""
PIXELS = """(canvas, [x, y, width, height]) => {
  const ratio = canvas.width / canvas.getBoundingClientRect().width
  const data = canvas.getContext("2d").getImageData(x * ratio, y * ratio, width * ratio, height * ratio).data
  const colours = []
  const digits = (channel) => channel.toString(16).padStart(2, "0").toUpperCase()
  for (let i = 0; i < data.length; i += 4) colours.push("#" + [...data.slice(i, i + 3)].map(digits).join(""))
  return colours
}"""


def stage(shown):
    return shown.page.get_by_role("application")


def hovered(shown):
    """What the tooltip says over each cell, and a point inside it: the stage begins in the corner of the page."""
    found = stage(shown).evaluate(HOVER_ALL)
    return {tuple(text.split("|")): np.mean(places, axis=0) for text, places in found.items()}


def places(shown):
    """The same points by row and column."""
    numbered = re.compile(r"\w+ (\d+):")
    return {tuple(int(numbered.match(line)[1]) for line in said[:2]): at for said, at in hovered(shown).items()}


def pixels(shown, x, y, width=1, height=1):
    return shown.page.locator("canvas.base").evaluate(PIXELS, [x, y, width, height])


def problems_of_colours(shown, scheme):
    """Where cells do not have the colours of the theme, in words."""
    palette = theme.palette(scheme)
    at = places(shown)
    found = []

    def expect(what, want, **changes):
        shown.give(of(**changes))
        seen = [set(pixels(shown, *at[0, c] - 6, 12, 12)) for c in range(2)]
        if seen != want:
            found.append(f"{scheme}, {what}: {seen}, not {want}")

    for scale in ("encoder", "decoder", "cross", "derived"):
        colours = getattr(palette, scale)
        expect(scale, [{colours[0]}, {colours[-1]}], values=[[0, 1]], scale=scale)
    low, high = palette.diverging[0], palette.diverging[-1]
    expect("a difference", [{low}, {high}], values=[[-1, 1]], scale="diverging")
    masked = {"values": [[0, 1]], "mask": [[False, False]]}
    expect("masked", [{palette.surface, palette.line}, {palette.cross[-1], palette.line}], **masked)
    expect("not there", [{palette.page}, {palette.cross[-1]}], values=[[np.nan, 1]], there=[[False, True]])
    shown.give(of([[1, 1]], hidden=np.array([0.95])))
    faint = np.array(channels(pixels(shown, *at[0, 0])[0]))
    if np.abs(faint - np.mean([channels(palette.cross[-1]), channels(palette.page)], axis=0)).max() > 1:
        found.append(f"{scheme}, a faint row: {faint}")
    return found


def channels(colour):
    return [int(colour[i : i + 2], 16) for i in (1, 3, 5)]


def test_cells_have_the_colours_of_the_theme_which_may_come_later_and_are_drawn_once(browser):
    with mounted(browser, "matrix", of([[0, 1]])) as shown:
        problems = []
        for scheme in theme.THEMES:
            shown.page.emulate_media(color_scheme=scheme)
            problems += problems_of_colours(shown, scheme)
        assert problems == []
        shown.page.emulate_media(color_scheme="light")
        at = places(shown)[0, 0]
        shown.page.evaluate("() => { window.colours = document.head.querySelector('style'); window.colours.remove() }")
        shown.give(of([[1, 0]]))
        assert pixels(shown, *at) != [theme.LIGHT.cross[-1]]
        shown.page.evaluate("() => { document.head.append(window.colours) }")
        shown.page.wait_for_function(
            "([darkest, at]) => " + f"({PIXELS})(document.querySelector('#host').shadowRoot"
            ".querySelector('canvas.base'), at)[0] === darkest",
            arg=[theme.LIGHT.cross[-1], [*at, 1, 1]],
        )
        painted = stage(shown).get_attribute("data-painted")
        shown.give(of([[1, 0]]))
        assert stage(shown).get_attribute("data-painted") == painted  # the same data
        shown.give(of([[0.125], [0.25]]))
        assert {lines[2] for lines in hovered(shown)} == {"weight 0.1250", "weight 0.2500"}
        assert stage(shown).count() == 1
        shown.page.evaluate("window.remove()")
        assert stage(shown).count() == 0


LINK = """() => {
  const links = document.createElement("div")
  links.className = "st-key-from_cell"
  links.innerHTML = "<a>Why this weight?</a>"
  links.firstChild.onclick = () => { window.opened = (window.opened ?? 0) + 1 }
  document.body.append(links)
}"""


def test_pointer_and_keys_reach_each_cell_choose_zoom_and_ask_why(browser):
    with mounted(browser, "matrix", of(VALUES)) as shown:
        shown.press("Tab")
        assert stage(shown).evaluate("(stage) => stage.matches(':focus')")
        everything = places(shown)
        assert set(everything) == set(np.ndindex(3, 4))
        weights = {f"weight {labels.share(float(value))}" for value in VALUES.flat}
        assert {lines[2] for lines in hovered(shown)} == weights
        shown.page.mouse.click(*everything[1, 1])
        assert shown.heard() == [{"t": 1, "i": 1}]
        assert shown.page.evaluate("window.vizTransformerSelection.chosen") == {"t": 1, "i": 1}
        shown.press("ArrowRight", "ArrowDown")
        assert shown.tooltip == ["query 2: “q2”", "key 2: “k2”", "weight 0.0000"]
        shown.hears(t=2, i=2)
        assert shown.page.locator("[aria-live]").text_content() == ", ".join(shown.tooltip)
        count = len(shown.sent)
        shown.page.mouse.move(*everything[0, 1])
        shown.page.mouse.down()
        shown.page.mouse.move(*everything[1, 2], steps=4)
        shown.page.mouse.up()
        shown.painted()
        assert set(places(shown)) == {(0, 1), (0, 2), (1, 1), (1, 2)}
        shown.page.mouse.dblclick(*everything[0, 1])
        shown.painted()
        assert set(places(shown)) == set(everything)
        shown.page.evaluate(LINK)
        stage(shown).focus()
        shown.press("Enter")
        shown.page.wait_for_function("window.opened === 1")
        shown.page.mouse.dblclick(*everything[2, 1])
        shown.page.wait_for_function("window.opened === 2")
        assert shown.heard(count + 1)[-1] == {"t": 2, "i": 1}
        scales = shown.page.get_by_role("group", name="Colour scale").get_by_role("button")
        scales.get_by_text("row", exact=True).click()
        shown.hears(scale="row")


def long_map(count=64, **changes):
    return of(softmax(count, count), caption="64 of them", name="long", **changes)


def scrolled(shown, **to):
    """The rows and columns that are in view after the scroll bars were moved there."""
    shown.page.locator(".scroller").evaluate("(bars, to) => bars.scrollTo(to)", to)
    shown.painted()
    shown.painted()
    return in_view(shown)


def in_view(shown):
    """The first and the last row, and the first and the last column, which the pointer may have missed."""
    return tuple((min(side), max(side)) for side in zip(*places(shown), strict=True))


def test_a_long_map_is_scrolled_by_its_bars_and_by_what_is_chosen(browser):
    with mounted(browser, "matrix", long_map()) as shown:
        (top, bottom), (left, right) = in_view(shown)
        assert (top, left) == (0, 0) and bottom < 30 and right < 45
        found = places(shown)
        heights = np.diff([found[r, 3][1] for r in range(bottom)])
        assert np.mean(heights) == pytest.approx(18, abs=0.7)  # hovered every 12 pixels
        before = pixels(shown, 40, found[0, 0][1], 40, 200)
        assert scrolled(shown, top=10 * 18) == ((10, bottom + 10), (left, right))
        assert pixels(shown, 40, found[0, 0][1], 40, 200) != before  # the labels of the rows have come along
        rows, keys = scrolled(shown, top=1e6, left=1e6)
        assert rows == (63 - bottom, 63) and 62 <= keys[1] <= 63
        scrolled(shown, top=0, left=0)
        shown.choose(t=40, i=50)
        (top, now), (_, right) = in_view(shown)
        assert (top, now) == (40 - bottom, 40) and 49 <= right <= 50
        assert scrolled(shown, top=0)[0] == (0, bottom)
        stage(shown).focus()
        shown.press("ArrowDown", "ArrowRight")
        (_, now), (_, right) = in_view(shown)
        assert now == 41 and 50 <= right <= 51
        fit = shown.page.get_by_role("button", name="All cells at once")
        fit.click()
        shown.painted()
        assert shown.page.locator(".scroller").is_hidden()
        found = places(shown)
        assert max(r for r, _ in found) > 60 and max(c for _, c in found) > 60
        fit.click()
        shown.painted()
        (top, bottom), _ = in_view(shown)
        assert bottom - top < 30
        shown.give(of(VALUES))
        assert fit.is_hidden()


def saved(shown, kind, folder):
    """The name that a picture was saved by, and what is in it."""
    with shown.page.expect_download() as download:
        shown.pick_entry(kind.upper())
    download.value.save_as(folder / kind)
    return download.value.suggested_filename, (folder / kind).read_bytes()


def test_it_is_saved_as_svg_and_png_with_its_caption_and_a_long_one_whole(browser, tmp_path):
    data = of(VALUES, rows=["one", MARKUP, "three"], caption="numbers, “<b>”, layer 1", name="numbers-layer-1")
    with mounted(browser, "matrix", data) as shown:
        name, text = saved(shown, "svg", tmp_path)
        svg = text.decode()
        assert name == "numbers-layer-1.svg" and "numbers, “&lt;b&gt;”, layer 1" in svg
        assert "a title" in svg and "<img" not in svg and "<b>" not in svg
        name, image = saved(shown, "png", tmp_path)
        assert name == "numbers-layer-1.png" and image.startswith(b"\x89PNG")
        shown.give(long_map())
        before = in_view(shown)
        svg = saved(shown, "svg", tmp_path)[1].decode()
        assert [n for n in range(64) if svg.count(f">q{n}<") != 1 or svg.count(f">k{n}<") != 1] == []
        width, height = struct.unpack(">II", saved(shown, "png", tmp_path)[1][16:24])
        assert min(width, height) > 2 * 64 * 18
        assert in_view(shown) == before
