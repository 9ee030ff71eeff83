"""What the matrix is sent is what it was given, and what it shows in a browser is what it was sent."""

import html
import re
import struct
from itertools import product

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


# ---- what is shown

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


VALUES = np.array([[0.25, 0.75, 0, 1], [0.00001, 0.99999, 0.12345, 0.5], [0.2, 0.005, 0, 0.125]], np.float32)
MASK = np.array([[1, 1, 1, 1], [1, 1, 1, 1], [1, 0, 0, 1]], bool)


def test_the_tooltip_of_each_cell_says_both_tokens_their_positions_and_the_recorded_value(browser):
    rows, columns, writes = ["one", MARKUP, "one"], ["zwei", "عالم", "🙂", "zwei"], ["w0", "w1", "w2"]
    data = of(VALUES, rows, columns, mask=MASK, fill="-1e9", writes=Texts(writes))
    with mounted(browser, "matrix", data) as shown:
        said = set(hovered(shown))
    expected = set()
    for (r, c), value in np.ndenumerate(VALUES):
        what = f"weight {labels.share(float(value))}"
        expected.add(
            (
                f"query {r}: reads “{rows[r]}”, writes “{writes[r]}”",
                f"key {c}: “{labels.isolate(columns[c])}”",
                what if MASK[r, c] else f"masked (-1e9), {what}",
            )
        )
    assert len(expected) == 12
    assert said == expected
    assert any(lines[2] == "weight >0.9999" for lines in said) and any(lines[2] == "weight <0.0001" for lines in said)


def test_a_signed_value_keeps_its_sign_and_a_norm_may_be_above_1(browser):
    data = of([[-0.25, 0.5]], scale="diverging", quantity="difference")
    with mounted(browser, "matrix", data) as shown:
        assert {lines[2] for lines in hovered(shown)} == {"difference -0.2500", "difference 0.5000"}
        assert shown.page.get_by_role("group", name="Colour scale").count() == 0  # hidden: it has one scale
        shown.give(of([[2.5, 0.5]], bounded=False, quantity="norm"))
        assert {lines[2] for lines in hovered(shown)} == {"norm 2.5000", "norm 0.5000"}
        scales = shown.page.get_by_role("group", name="Colour scale").get_by_role("button")
        assert scales.locator("visible=true").all_text_contents() == ["row", "map"]  # no 0–1


def test_a_rounded_value_says_that_it_is_about_so_much(browser):
    values = np.full((1, 600), 1 / 600, np.float32)
    with mounted(browser, "matrix", of(values)) as shown:
        stage(shown).focus()
        shown.press("ArrowRight")
        assert shown.tooltip == ["query 0: “q0”", "key 0: “k0”", "weight ≈ 0.0017"]
        shown.press("End")
        assert shown.tooltip[1] == "key 599: “k599”"


def test_a_token_that_the_model_does_not_know_is_said_with_what_was_typed(browser):
    columns = Axis("i", "key", "keys", "source", Texts(["<unk>", "a"], ["é", "a"]))
    rows = Axis("t", "query", "reads", "target", Texts(["<s>"]))
    with mounted(browser, "matrix", picture_of([[0.5, 0.5]], rows, columns).pack()) as shown:
        assert {lines[1] for lines in hovered(shown)} == {"key 0: “<unk>”, typed “é”", "key 1: “a”"}


def test_a_click_selects_the_cell_and_tells_python(browser):
    with mounted(browser, "matrix", of(VALUES)) as shown:
        shown.page.mouse.click(*places(shown)[1, 2])
        assert shown.heard() == [{"t": 1, "i": 2}]
        assert shown.page.evaluate("window.vizTransformerSelection.chosen") == {"t": 1, "i": 2}


def test_the_arrow_keys_alone_reach_each_cell_and_stop_at_the_edges(browser):
    with mounted(browser, "matrix", of(VALUES)) as shown:
        shown.choose(t=1, i=1)
        shown.page.keyboard.press("Tab")
        assert stage(shown).evaluate("(stage) => stage.matches(':focus')")
        for key, cell in (
            ("ArrowRight", (1, 2)),
            ("ArrowDown", (2, 2)),
            ("ArrowDown", (2, 2)),
            ("Home", (2, 0)),
            ("ArrowLeft", (2, 0)),
            ("ArrowUp", (1, 0)),
            ("End", (1, 3)),
            ("Shift+ArrowLeft", (1, 0)),
        ):
            shown.press(key)
            r, c = cell
            assert shown.tooltip == [
                f"query {r}: “q{r}”",
                f"key {c}: “k{c}”",
                f"weight {labels.share(float(VALUES[cell]))}",
            ]
        shown.page.wait_for_function("window.sent.at(-1)?.t === 1 && window.sent.at(-1).i === 0")
        assert shown.page.locator("[aria-live]").text_content() == ", ".join(shown.tooltip)


def test_a_place_stands_for_the_position_at_which_it_begins(browser):
    with mounted(
        browser, "matrix", of(softmax(1, 3), columns=["ab", "cd", "e"], starts=(1, 3, 5), ends=(3, 5, 6))
    ) as shown:
        shown.choose(t=0, i=4)  # within the second word
        stage(shown).focus()
        shown.press("ArrowRight")
        assert shown.heard() == [{"t": 0, "i": 5}]
        shown.page.mouse.click(*places(shown)[0, 3])  # found by the tooltip, which has positions
        assert shown.heard(2)[-1] == {"t": 0, "i": 3}


@pytest.fixture(scope="module")
def without_specials():
    """The cross-attention of a run that read <s> a b </s>, its start and end tokens hidden."""
    shown = shown_of(tiny_checkpoint(), "ab", max_steps=2)
    return maps.picture(shown, {**state.DEFAULTS, "options": ("hidden",)}).pack()


def test_the_tooltip_counts_positions_in_the_run_where_some_are_hidden(browser, without_specials):
    with mounted(browser, "matrix", without_specials) as shown:
        assert {lines[1] for lines in hovered(shown)} == {"key 1: “a”", "key 2: “b”"}  # as the chips and the table do


def test_a_position_that_is_hidden_marks_no_column(browser, without_specials):
    over = "(canvas) => canvas.toDataURL()"
    with mounted(browser, "matrix", without_specials) as shown:
        marks = []
        for i in (0, 2, 3):  # the start token, b, the end token
            shown.choose(t=0, i=i)
            marks.append(shown.page.locator("canvas.over").evaluate(over))
        assert marks[0] != marks[1]
        assert marks[0] == marks[2]


def test_dragging_zooms_to_the_cells_and_a_double_click_shows_all(browser):
    with mounted(browser, "matrix", of(VALUES)) as shown:
        everything = places(shown)
        shown.page.mouse.move(*everything[0, 1])
        shown.page.mouse.down()
        shown.page.mouse.move(*everything[1, 2], steps=4)
        shown.page.mouse.up()
        shown.painted()
        assert set(places(shown)) == {(0, 1), (0, 2), (1, 1), (1, 2)}
        assert shown.page.evaluate("window.sent") == []  # a drag chooses nothing
        shown.page.mouse.dblclick(*everything[0, 1])
        shown.painted()
        assert set(places(shown)) == set(everything)


def test_plus_zooms_to_the_chosen_cell_and_escape_shows_all(browser):
    with mounted(browser, "matrix", of(softmax(8, 8))) as shown:
        shown.choose(t=6, i=1)
        stage(shown).focus()
        shown.press("+", "+")
        shown.painted()
        seen = places(shown)
        assert 0 < len(seen) < 64
        assert (6, 1) in seen
        shown.press("Escape")
        shown.painted()
        assert len(places(shown)) == 64


def test_0_and_1_have_the_first_and_the_last_colour_of_the_scale(browser, subtests):
    with mounted(browser, "matrix", of([[0, 1]])) as shown:
        found = places(shown)
        for scheme, scale in product(theme.THEMES, ("encoder", "decoder", "cross", "derived")):
            with subtests.test(scheme=scheme, scale=scale):
                colours = getattr(theme.palette(scheme), scale)
                shown.page.emulate_media(color_scheme=scheme)
                shown.give(of([[0, 1]], scale=scale))
                assert [pixels(shown, *found[0, c]) for c in (0, 1)] == [[colours[0]], [colours[-1]]]


def test_a_map_that_is_there_before_the_colours_of_the_page_gets_them_when_they_come(browser):
    with mounted(browser, "matrix", of([[0, 1]])) as shown:
        found = places(shown)
        shown.page.evaluate("() => { window.colours = document.head.querySelector('style'); window.colours.remove() }")
        shown.give(of([[1, 0]]))
        assert pixels(shown, *found[0, 0]) != [theme.LIGHT.cross[-1]]
        shown.page.evaluate("() => { document.head.append(window.colours) }")
        shown.page.wait_for_function(
            "([darkest, at]) => " + f"({PIXELS})(document.querySelector('#host').shadowRoot"
            ".querySelector('canvas.base'), at)[0] === darkest",
            arg=[theme.LIGHT.cross[-1], [*found[0, 0], 1, 1]],
        )


def test_two_differences_share_a_scale_if_both_are_told_where_it_ends(browser):
    colours = theme.LIGHT.diverging
    with mounted(browser, "matrix", of([[-1, 2]], scale="diverging")) as shown:
        found = places(shown)
        for values, most, at in (([[-1, 2]], None, 1), ([[-1, 2]], 4.0, None), ([[-4, 2]], 4.0, 0)):
            shown.give(of(values, scale="diverging", most=most))
            seen = [pixels(shown, *found[0, c])[0] for c in (0, 1)]
            ends = [colour in (colours[0], colours[-1]) for colour in seen]
            assert ends == [at == 0, at == 1]


def test_a_difference_is_centred_at_0(browser):
    colours = theme.LIGHT.diverging
    with mounted(browser, "matrix", of([[-0.5, 0, 0.5]], scale="diverging")) as shown:
        cells = places(shown)
        found = [pixels(shown, *cells[0, c])[0] for c in range(3)]
    assert [found[0], found[2]] == [colours[0], colours[-1]]
    rgb = [[int(colour[k : k + 2], 16) for k in (1, 3, 5)] for colour in (found[1], colours[3])]
    assert np.abs(np.subtract(*rgb)).max() <= 1  # of 1,024 colours none is exactly in the middle


def test_masked_is_hatched_and_masked_with_weight_is_hatched_over_its_colour(browser):
    data = of([[0, 0, 1]], mask=[[True, False, False]])
    with mounted(browser, "matrix", data) as shown:
        cells = places(shown)
        found = [set(pixels(shown, *cells[0, c] - 6, 12, 12)) for c in range(3)]
    assert found[0] == {theme.LIGHT.cross[0]}
    assert found[1] == {theme.LIGHT.surface, theme.LIGHT.line}
    assert found[2] == {theme.LIGHT.cross[-1], theme.LIGHT.line}


NOT_THERE = "not there: no step had this number"


def test_a_cell_that_no_step_had_is_empty_paper_and_says_so_while_a_masked_one_keeps_its_weight(browser):
    values = np.array([[0.5, np.nan], [0.25, 0.75], [np.nan, np.nan]], np.float32)
    mask, there = np.array([[1, 0], [1, 0], [0, 0]], bool), np.array([[1, 0], [1, 1], [0, 0]], bool)
    data = of(values, mask=mask, there=there)
    assert np.array_equal(payload.unpack(data)[1]["there"], there)
    with mounted(browser, "matrix", data) as shown:
        said = {tuple(int(re.search(r"\d+", line)[0]) for line in lines[:2]): lines[2] for lines in hovered(shown)}
        cells = places(shown)
        paper = {cell for cell, at in cells.items() if set(pixels(shown, *at - 4, 8, 8)) == {theme.LIGHT.page}}
    assert said == {
        (0, 0): "weight 0.5000",
        (1, 0): "weight 0.2500",
        (1, 1): "masked, weight 0.7500",
        **dict.fromkeys([(0, 1), (2, 0), (2, 1)], NOT_THERE),
    }
    assert paper == {(0, 1), (2, 0), (2, 1)}


def test_a_map_without_gaps_sends_no_word_of_them():
    assert "there" not in payload.unpack(of(VALUES, there=np.ones_like(MASK)))[1]
    with pytest.raises(ValueError, match=r"there \(1, 4\) does not have the shape"):
        of(VALUES, there=[[True] * 4])


def test_the_colour_scale_can_be_that_of_the_row_or_of_the_map(browser):
    darkest = theme.LIGHT.cross[-1]
    with mounted(browser, "matrix", of([[0.125, 0.0625], [0.25, 0.5]])) as shown:
        cells = places(shown)
        for button, full in ((None, set()), ("row", {(0, 0), (1, 1)}), ("map", {(1, 1)}), ("0–1", set())):
            if button is not None:
                shown.page.get_by_role("button", name=re.compile("Full colour")).get_by_text(button, exact=True).click()
                shown.painted()
            assert {cell for cell, at in cells.items() if pixels(shown, *at) == [darkest]} == full
        shown.page.wait_for_function("window.sent.at(-1)?.scale === 'fixed'")


def test_no_thin_stripe_is_lost_where_cells_are_smaller_than_pixels(browser):
    values = np.zeros((8, 2048), np.float32)
    values[:, 17::34] = 1  # 60 columns, each a third of a pixel wide
    darkest = theme.LIGHT.cross[-1]
    with mounted(browser, "matrix", of(values)) as shown:
        row = pixels(shown, 0, max(at[1] for at in hovered(shown).values()), 720, 1)
        drawn = [colour == darkest for colour in row]
        assert sum(now and not before for before, now in zip([False, *drawn], drawn, strict=False)) == 60
        assert set(row[drawn.index(True) : -20]) == {darkest, theme.LIGHT.cross[0]}


def test_new_data_are_drawn_in_the_same_place(browser):
    with mounted(browser, "matrix", of([[0.5, 0.5]])) as shown:
        hovered(shown)
        shown.give(of([[0.125], [0.25]]))
        assert {lines[2] for lines in hovered(shown)} == {"weight 0.1250", "weight 0.2500"}
        assert stage(shown).count() == 1
        shown.page.evaluate("window.remove()")
        assert stage(shown).count() == 0


def test_it_has_a_role_and_a_label_that_names_the_keys(browser):
    with mounted(browser, "matrix", of(VALUES)) as shown:
        label = stage(shown).get_attribute("aria-label")
        assert label.startswith("Map of a title: reads as rows, keys, source as columns.")
        assert "Arrow keys choose a cell" in label


def test_it_is_saved_as_svg_and_png_with_its_caption(browser, tmp_path):
    data = of(VALUES, rows=["one", MARKUP, "three"], caption="numbers, “<b>”, layer 1", name="numbers-layer-1")
    with mounted(browser, "matrix", data) as shown:
        for kind in ("svg", "png"):
            with shown.page.expect_download() as download:
                shown.pick_entry(kind.upper())
            assert download.value.suggested_filename == f"numbers-layer-1.{kind}"
            download.value.save_as(tmp_path / kind)
    svg = (tmp_path / "svg").read_text(encoding="utf-8")
    assert "numbers, “&lt;b&gt;”, layer 1" in svg
    assert "a title" in svg and "<img" not in svg and "<b>" not in svg
    assert (tmp_path / "png").read_bytes().startswith(b"\x89PNG")


# ---- long maps: rows of 18 pixels that are scrolled, under labels that stay


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


def test_a_long_map_has_rows_of_18_pixels_and_is_scrolled_to_the_rest(browser):
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


def test_what_is_chosen_in_a_long_map_comes_into_view_and_what_is_scrolled_away_stays_away(browser):
    with mounted(browser, "matrix", long_map()) as shown:
        (_, bottom), _ = in_view(shown)
        shown.choose(t=40, i=50)
        (top, now), (_, right) = in_view(shown)
        assert (top, now) == (40 - bottom, 40) and 49 <= right <= 50
        assert scrolled(shown, top=0)[0] == (0, bottom)
        stage(shown).focus()
        shown.press("ArrowDown", "ArrowRight")
        assert shown.tooltip[:2] == ["query 41: “q41”", "key 51: “k51”"]
        (_, now), (_, right) = in_view(shown)
        assert now == 41 and 50 <= right <= 51
        at = places(shown)[30, 45]
        stage(shown).click(position={"x": at[0], "y": at[1]})
        shown.hears(t=30, i=45)


def test_a_long_map_can_be_made_to_fit(browser):
    with mounted(browser, "matrix", long_map()) as shown:
        shown.page.get_by_role("button", name="All cells at once").click()
        shown.painted()
        assert shown.page.locator(".scroller").is_hidden()
        found = places(shown)
        assert max(r for r, _ in found) > 60 and max(c for _, c in found) > 60
        shown.page.get_by_role("button", name="All cells at once").click()
        shown.painted()
        assert in_view(shown)[0][1] < 30
    with mounted(browser, "matrix", of(VALUES)) as shown:
        assert shown.page.get_by_role("button", name="All cells at once").is_hidden()


def test_the_saved_picture_of_a_long_map_has_all_of_it(browser, tmp_path):
    with mounted(browser, "matrix", long_map()) as shown:
        before = in_view(shown)
        for kind in ("svg", "png"):
            with shown.page.expect_download() as download:
                shown.pick_entry(kind.upper())
            download.value.save_as(tmp_path / kind)
        assert in_view(shown) == before
    svg = (tmp_path / "svg").read_text(encoding="utf-8")
    assert all(svg.count(f">{axis}{n}<") == 1 for axis in "qk" for n in range(64))
    width, height = struct.unpack(">II", (tmp_path / "png").read_bytes()[16:24])
    assert min(width, height) > 2 * 64 * 18


# ---- a map that grows with the step


NOT_YET = "not written yet at this step"


def growing(rows=4, columns=3, **changes):
    tokens = [f"w{r}" for r in range(rows)]
    return of(softmax(rows, columns), writes=Texts(tokens), grows=True, **changes)


def test_only_a_map_that_grows_says_so_and_all_its_rows_are_sent():
    assert not {"grows", "most"} & set(payload.unpack(of(VALUES))[0])  # the recorded run is compared byte by byte
    header, arrays = payload.unpack(of(VALUES, grows=True))
    assert header["grows"] is True
    assert arrays["values"].tobytes() == VALUES.tobytes()


@pytest.mark.parametrize("scheme", theme.THEMES)
def test_rows_behind_the_step_are_empty_paper_and_come_with_it(browser, scheme):
    paper = theme.palette(scheme).page
    with mounted(browser, "matrix", growing(), color_scheme=scheme) as shown:
        everything = places(shown)
        assert all(pixels(shown, *at) != [paper] for at in everything.values())  # nothing is chosen yet
        for t in (1, 0, 3, 2):
            shown.choose(t=t, i=0)
            empty = {cell for cell, at in everything.items() if set(pixels(shown, *at - 4, 8, 8)) == {paper}}
            assert empty == {(r, c) for r, c in everything if r > t}
        assert shown.sent == []  # Python was not asked


def test_a_cell_that_is_not_written_yet_says_so_and_nothing_of_its_weight(browser):
    values = softmax(4, 3)
    with mounted(browser, "matrix", growing()) as shown:
        shown.choose(t=1, i=0)
        said = {tuple(int(re.search(r"\d+", line)[0]) for line in lines[:2]): lines[2] for lines in hovered(shown)}
        weights = {cell: f"weight {labels.share(float(values[cell]))}" for cell in np.ndindex(2, 3)}
        assert said == weights | {(r, c): NOT_YET for r in (2, 3) for c in range(3)}


def test_what_is_said_of_a_cell_follows_the_step(browser):
    with mounted(browser, "matrix", growing()) as shown:
        shown.choose(t=1, i=0)
        shown.page.mouse.move(*places(shown)[2, 1])
        assert shown.tooltip[2] == NOT_YET
        shown.choose(t=2, i=0)
        assert shown.tooltip[2] == f"weight {labels.share(float(softmax(4, 3)[2, 1]))}"
        shown.choose(t=0, i=0)
        assert shown.tooltip[2] == NOT_YET


def test_a_row_that_is_not_written_yet_can_be_chosen_and_then_is(browser):
    values = softmax(4, 3)
    with mounted(browser, "matrix", growing()) as shown:
        shown.choose(t=0, i=1)
        stage(shown).focus()
        shown.press("ArrowDown")
        assert shown.tooltip[2] == f"weight {labels.share(float(values[1, 1]))}"
        shown.page.mouse.click(*places(shown)[3, 2])
        shown.page.wait_for_function("window.sent.at(-1)?.t === 3 && window.sent.at(-1).i === 2")
        assert shown.tooltip[2] == f"weight {labels.share(float(values[3, 2]))}"
        assert shown.page.locator("[aria-live]").text_content() == ", ".join(shown.tooltip)
        assert "not written yet at that step" in stage(shown).get_attribute("aria-label")


def test_a_zoomed_map_grows_too(browser):
    with mounted(browser, "matrix", growing(8, 8)) as shown:
        shown.choose(t=4, i=4)
        stage(shown).focus()
        shown.press("+")
        shown.painted()
        seen = places(shown)
        assert {r for r, _ in seen} == {2, 3, 4, 5, 6}
        empty = {r for (r, c), at in seen.items() if set(pixels(shown, *at - 4, 8, 8)) == {theme.LIGHT.page}}
        assert empty == {5, 6}


def test_where_rows_are_smaller_than_pixels_only_written_ones_are_seen(browser):
    values = np.zeros((2048, 2), np.float32)
    values[1000:] = 1
    rows = [f"q{r}" for r in range(2048)]
    with mounted(browser, "matrix", of(values, rows=rows, grows=True)) as shown:
        shown.choose(t=1023, i=0)
        (x, _), (_, top), (_, bottom) = (hit(shown, which) for which in ("middle", "top", "bottom"))
        column = pixels(shown, x, top, 1, bottom - top)
        dark, first = theme.LIGHT.cross[-1], theme.LIGHT.cross[0]
        assert set(column[: int(len(column) * 0.48)]) == {first}
        assert dark in column[int(len(column) * 0.48) : int(len(column) * 0.51)]
        assert dark not in column[int(len(column) * 0.51) :]
        assert column.count(theme.LIGHT.page) > 0.48 * len(column)


def hit(shown, which):
    """A place on the map: the first, a middle or the last one that has a tooltip."""
    found = sorted((y, x) for places in stage(shown).evaluate(HOVER_ALL).values() for x, y in places)
    y, x = found[{"top": 0, "middle": len(found) // 2, "bottom": -1}[which]]
    return x, y


def test_the_labels_of_what_is_not_written_yet_are_faint_in_the_saved_picture_too(browser, tmp_path):
    tokens = Texts(["<s>", "one", "two"])
    rows, columns = (Axis(f, "query", "reads", "target", tokens) for f in ("t", "u"))
    made = picture_of(softmax(3, 3), rows, columns, writes=Texts(["one", "two", "."]), scale="decoder")
    data = made.pack(grows=True)
    with mounted(browser, "matrix", data) as shown:
        shown.choose(t=1, u=0)
        with shown.page.expect_download() as download:
            shown.pick_entry("SVG")
        download.value.save_as(tmp_path / "svg")
    svg = (tmp_path / "svg").read_text(encoding="utf-8")
    texts = re.findall(r"<text ([^>]*)>([^<]+)</text>", svg)
    faint = sorted(text for style, text in texts if "opacity" in style)
    assert faint == [".", "two", "two"]  # the third row's two labels, and its token among the keys
    assert "empty rows: not written yet" in svg
    rects = re.findall(r'<rect [^>]*width="([\d.]+)" height="([\d.]+)" fill="(rgb[^"]+)"', svg)
    large = [colour for width, height, colour in rects if 20 < float(width) < 200 and 20 < float(height) < 200]
    assert large == [shade(float(softmax(3, 3)[cell])) for cell in np.ndindex(2, 3)]


PLAYS = "window.vizTransformerSelection.plays(true)"


def names_of(svg):
    """The texts of a saved map in mono type: names of tokens, and the ends of the scale."""
    return [html.unescape(name) for name in re.findall(r"<text [^>]*Mono[^>]*>([^<]+)</text>", svg)]


@pytest.mark.parametrize("writes", [True, False])
def test_while_the_steps_are_played_what_is_not_written_yet_has_no_name_and_nothing_moves(browser, tmp_path, writes):
    tokens = Texts(["<s>", "one", "two"])
    rows, columns = (Axis(f, "query", "reads", "target", tokens) for f in ("t", "u"))
    written = Texts(["one", "two", "."]) if writes else None
    data = picture_of(softmax(3, 3), rows, columns, writes=written, scale="decoder").pack()
    with mounted(browser, "matrix", data) as shown:
        shown.choose(t=1, u=0)
        before = places(shown)
        shown.page.evaluate(PLAYS)
        shown.painted()
        empty = {cell for cell, at in before.items() if set(pixels(shown, *at - 4, 8, 8)) == {theme.LIGHT.page}}
        assert empty == ({(r, c) for r, c in before if max(r, c) > 1} if writes else set())
        shown.page.mouse.move(*before[2, 1])
        assert (shown.tooltip == ["query 2", NOT_YET]) is writes
        with shown.page.expect_download() as download:
            shown.pick_entry("SVG")
        download.value.save_as(tmp_path / "svg")
    found = names_of((tmp_path / "svg").read_text(encoding="utf-8"))
    written = ["<s>", "one", "one", "two", "<s>", "one"]  # what two rows read and write, and two keys
    assert sorted(found) == sorted([*(written if writes else [*tokens.tokens] * 2), "0", "1"])


def shade(weight):
    """The colour of a weight on the scale of decoder self-attention: linear between seven stops."""
    i = min(int(weight * 6), 5)
    low, high = (np.array([int(colour[k : k + 2], 16) for k in (1, 3, 5)]) for colour in theme.LIGHT.decoder[i : i + 2])
    red, green, blue = np.floor(low + (high - low) * (weight * 6 - i) + 0.5).astype(int)
    return f"rgb({red}, {green}, {blue})"


# ---- rows of which most is hidden

HIDDEN = np.array([0.9, 0.95, 0.00001])
FAINT = "faint: more than 0.9 of the row is hidden"


def halfway(colour, paper):
    """The middle of two colours, each channel within one."""
    channels = zip(*([int(each[i : i + 2], 16) for i in (1, 3, 5)] for each in (colour, paper)), strict=True)
    return [(a + b) / 2 for a, b in channels]


@pytest.mark.parametrize("scheme", theme.THEMES)
def test_a_row_of_which_more_than_0_9_is_hidden_is_faint_and_its_tooltip_says_how_much(browser, scheme):
    palette = theme.palette(scheme)
    with mounted(browser, "matrix", of(np.ones((3, 2)), hidden=HIDDEN), color_scheme=scheme) as shown:
        for (r, _), at in places(shown).items():
            (colour,) = set(pixels(shown, *at - 2, 4, 4))
            if r == 1:
                want = halfway(palette.cross[-1], palette.page)
                assert np.abs(np.array(halfway(colour, colour)) - want).max() <= 1
            else:
                assert colour == palette.cross[-1]
        said = {line for lines in hovered(shown) for line in lines[3:]}
        assert said == {f"{share} of this row's weight is hidden" for share in ("0.9000", "0.9500", "<0.0001")}
        shown.give(of(np.ones((3, 2))))
        assert {len(lines) for lines in hovered(shown)} == {3}


def test_the_saved_picture_has_the_faint_rows_and_the_legend_says_why(browser, tmp_path):
    with mounted(browser, "matrix", of(np.ones((3, 2)), hidden=HIDDEN)) as shown:
        with shown.page.expect_download() as download:
            shown.pick_entry("SVG")
        download.value.save_as(tmp_path / "svg")
    svg = (tmp_path / "svg").read_text(encoding="utf-8")
    assert FAINT in svg
    assert re.findall(r'<text [^>]*opacity="0.5"[^>]*>([^<]+)</text>', svg) == ["q1"]
    assert len(re.findall(r'<rect [^>]*opacity="0.5"', svg)) == 2  # the row's cells


def test_without_faint_rows_the_legend_does_not_speak_of_them(browser, tmp_path):
    with mounted(browser, "matrix", of(np.ones((3, 2)), hidden=HIDDEN * 0.9)) as shown:
        with shown.page.expect_download() as download:
            shown.pick_entry("SVG")
        download.value.save_as(tmp_path / "svg")
    assert "faint" not in (tmp_path / "svg").read_text(encoding="utf-8")


def test_a_difference_says_that_the_share_is_of_a_or_of_b(browser):
    with mounted(browser, "matrix", of([[0.5, -0.5]], scale="diverging", hidden=np.array([0.25]))) as shown:
        assert {lines[3] for lines in hovered(shown)} == {"0.2500 of this row's weight is hidden in A or in B"}


# ---- following the row


FOLLOWED = ["i", "j", "u"]
LOOKS = np.array([[0.1, 0.7, 0.2], [0.6, 0.1, 0.3], [0.2, 0.2, 0.6]])


def key_of(shown):
    return shown.page.evaluate("window.vizTransformerSelection.chosen.i")


def test_a_key_that_nobody_chose_is_the_heaviest_open_one_of_the_row_and_python_is_not_told(browser):
    mask = np.array([[1, 1, 1], [0, 1, 1], [1, 1, 1]], bool)
    with mounted(browser, "matrix", of(LOOKS, mask=mask, follows=True)) as shown:
        for t, key in ((0, 1), (1, 2), (2, 2)):
            shown.choose(t=t, i=0, followed=FOLLOWED)
            shown.painted()
            assert key_of(shown) == key
        assert shown.page.evaluate("window.sent") == []


def test_a_key_that_was_chosen_stays_and_one_that_is_clicked_is_chosen(browser):
    with mounted(browser, "matrix", of(LOOKS, follows=True)) as shown:
        shown.choose(t=0, i=2, followed=["j", "u"])
        shown.painted()
        assert key_of(shown) == 2
        shown.choose(t=0, i=0, followed=FOLLOWED)
        shown.page.mouse.click(*places(shown)[1, 2])
        assert shown.heard() == [{"t": 1, "i": 2}]
        shown.painted()
        assert key_of(shown) == 2 and shown.page.evaluate("window.vizTransformerSelection.chosen.followed") == [
            "j",
            "u",
        ]


def test_only_the_page_s_own_map_is_followed_and_says_what_its_row_looks_at(browser):
    look = "window.vizTransformerSelection.look"
    with mounted(browser, "matrix", of(LOOKS)) as shown:
        shown.choose(t=0, i=0, followed=FOLLOWED)
        shown.painted()
        assert key_of(shown) == 0 and shown.page.evaluate(look) is None
    with mounted(browser, "matrix", of(LOOKS, follows=True)) as shown:
        shown.choose(t=1, i=0, followed=FOLLOWED)
        shown.painted()
        found = shown.page.evaluate(look)
        assert (found["ink"], found["kind"]) == ("source-ink", "cross")
        assert [found["weights"][str(k)] for k in range(3)] == pytest.approx(LOOKS[1].astype(np.float32))
        shown.page.evaluate("window.remove()")
        assert shown.page.evaluate(look) is None


def canvas(shown):
    """All that is drawn, as the browser writes it down."""
    return shown.page.locator("canvas.base").evaluate("(canvas) => canvas.toDataURL()")


def test_while_the_steps_are_played_only_what_is_written_is_there(browser):
    with mounted(browser, "matrix", of(LOOKS, writes=Texts([f"w{r}" for r in range(len(LOOKS))]))) as shown:
        shown.choose(t=1, i=0, followed=FOLLOWED)
        whole = canvas(shown)
        shown.page.evaluate("window.vizTransformerSelection.plays(true)")
        shown.painted()
        assert canvas(shown) != whole
        shown.page.evaluate("window.vizTransformerSelection.plays(false)")
        shown.painted()
        assert canvas(shown) == whole


def test_enter_and_a_double_click_follow_the_link_to_why(browser):
    with mounted(browser, "matrix", of(LOOKS)) as shown:
        shown.page.evaluate(
            """() => {
              const links = document.createElement("div")
              links.className = "st-key-from_cell"
              links.innerHTML = "<a>Why this weight?</a>"
              links.firstChild.onclick = () => { window.opened = (window.opened ?? 0) + 1 }
              document.body.append(links)
            }"""
        )
        shown.choose(t=1, i=0)
        stage(shown).focus()
        shown.press("Enter")
        shown.page.wait_for_function("window.opened === 1")
        shown.page.mouse.dblclick(*places(shown)[2, 1])
        shown.page.wait_for_function("window.opened === 2")
        assert shown.heard()[-1] == {"t": 2, "i": 1}


LINK = """(href) => {
  const links = document.querySelector(".st-key-from_cell") ?? document.createElement("div")
  links.className = "st-key-from_cell"
  links.innerHTML = `<a href="${href}">Why this weight?</a>`
  links.firstChild.onclick = (event) => { event.preventDefault(); window.opened = href }
  document.body.append(links)
}"""


def test_a_link_that_says_the_cell_is_followed_once_it_says_the_chosen_one(browser):
    with mounted(browser, "matrix", of(LOOKS, why=("i", "j"))) as shown:
        shown.page.evaluate(LINK, "/weight?kind=encoder&i=0&j=0")
        shown.choose(t=1, i=0)
        shown.page.mouse.dblclick(*places(shown)[2, 1])
        shown.page.wait_for_timeout(200)
        assert shown.page.evaluate("window.opened") is None
        shown.page.evaluate(LINK, "/weight?kind=encoder&i=2&j=1")
        shown.page.wait_for_function("window.opened === '/weight?kind=encoder&i=2&j=1'")


def test_a_cell_that_nothing_explains_leads_nowhere_and_does_not_say_so(browser):
    with mounted(browser, "matrix", of(LOOKS, why=())) as shown:
        shown.page.evaluate(LINK, "/weight")
        shown.choose(t=1, i=0)
        stage(shown).focus()
        shown.press("Enter")
        shown.page.mouse.dblclick(*places(shown)[2, 1])
        shown.page.wait_for_timeout(200)
        assert shown.page.evaluate("window.opened") is None
        assert "Enter" not in stage(shown).get_attribute("aria-label")


def test_what_is_pointed_at_in_one_picture_is_marked_in_the_other(browser):
    with mounted(browser, "matrix", of(LOOKS)) as shown:
        over = "document.querySelector('#host').shadowRoot.querySelector('canvas.over').toDataURL()"
        before = shown.page.evaluate(over)
        shown.page.evaluate("window.vizTransformerSelection.points({}, { t: 1, i: 2 })")
        marked = shown.page.evaluate(over)
        assert marked != before
        shown.page.evaluate("window.vizTransformerSelection.points({}, { t: 9, i: 2 })")  # not in this map
        assert shown.page.evaluate(over) == before
        shown.page.mouse.move(*places(shown)[1, 2])
        assert shown.page.evaluate(over) == marked


def test_the_frame_of_a_drag_follows_the_pointer(browser):
    with mounted(browser, "matrix", of(softmax(6, 6))) as shown:
        over = "document.querySelector('#host').shadowRoot.querySelector('canvas.over').toDataURL()"
        frames = []
        where = places(shown)  # by hovering, which a drag is not
        shown.page.mouse.move(*where[1, 1])
        shown.page.mouse.down()
        for cell in ((2, 2), (3, 3), (4, 4)):
            shown.page.mouse.move(*where[cell])
            frames.append(shown.page.evaluate(over))
        assert len(set(frames)) == 3


def test_what_is_drawn_already_is_not_drawn_anew(browser):
    with mounted(browser, "matrix", of(softmax(3, 4))) as view:
        stage = view.page.locator(".stage")
        first = stage.get_attribute("data-painted")
        view.give(of(softmax(3, 4)))
        assert stage.get_attribute("data-painted") == first
        view.give(of(softmax(3, 4, seed=1)))
        assert stage.get_attribute("data-painted") != first
