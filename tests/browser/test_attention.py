"""The Attention page in a real browser: bundled models, many heads, many tokens, and any view by its address."""

from __future__ import annotations

import re

import numpy as np
import pytest
from browser import expected
from browser.checkpoints import MAX_LETTERS, MAX_SIGNS, TYPED
from browser.driving import (
    AT_WORK,
    BOX,
    BREAKABLE,
    GRID,
    LINES,
    MATRIX,
    SCRUBBER,
    TEXT,
    address,
    choose,
    connection_lost,
    drawn,
    entry,
    expect_address,
    expect_chosen,
    expect_pixel,
    expect_ring,
    go_to,
    opened,
    pixels,
    save,
    survey,
    tab_to,
    thumbnail,
    tooltip,
    type_text,
    viewed,
)
from playwright.sync_api import expect

import viz_transformer as vt
from viz_transformer.analysis.attention.rollout import rollout_view
from viz_transformer.figures import labels, theme
from viz_transformer.ui.session import examples

KINDS = {"cross": "Decoder → source", "decoder": "Decoder → itself", "encoder": "Source → itself"}
PLACES = {
    "cross": "decoder layer {}, head {}, cross-attention",
    "decoder": "decoder layer {}, head {}, self-attention",
    "encoder": "encoder layer {}, head {}, self-attention",
}
VIEW = {"checkpoint": "signs", "text": TYPED, "kind": "cross", "layer": 1, "heads": 2}
BUNDLED = {summary.name: summary for summary in vt.list_checkpoints()}


def kinds_of(run):
    config = run.trace.config
    return [
        kind
        for kind in KINDS
        if (kind != "decoder") <= config.has_encoder and (kind != "encoder") <= config.has_decoder
    ]


def numbers(found):
    """The number at the end of what each cell says."""
    return {place: float(lines[-1].rpartition(" ")[2].lstrip("<>")) for place, lines in found.cells.items()}


def assert_shown(stage, values, mask=None):
    """The cells show these values, rounded to four digits."""
    found = survey(stage, cells=True)
    rows, columns = sorted(found.rows), sorted(found.columns)  # some positions may stand for more, or be left out
    shown = {(rows.index(row), columns.index(column)): value for (row, column), value in numbers(found).items()}
    allowed = np.ones_like(values, dtype=bool) if mask is None else mask
    assert set(shown) == set(np.ndindex(*values.shape))
    for place, value in shown.items():
        assert value == pytest.approx(float(values[place]) if allowed[place] else 0.0, abs=1.01e-4), place


# ---- bundled checkpoints of each kind: tests/pages/test_bundled.py holds what is sent of all of them


@pytest.mark.parametrize("name", ["taylor", "shakespeare", pytest.param("en-it-slips", marks=pytest.mark.slow)])
def test_run_and_attention_show_the_run_of_bundled_checkpoints(app_server, browser, name):
    text = examples.list_examples(BUNDLED[name])[0]
    run = vt.decode(vt.load(name), text)
    with viewed(browser, app_server, checkpoint=name, text=text) as page:
        if name == "taylor":
            expect(page.locator(".st-key-formula .katex").first).to_be_visible()
        else:
            expect(page.locator(".vt-answer")).to_contain_text(run.text)
        written = page.get_by_role("group", name="writes").locator(".token")
        expect(written).to_have_text([labels.shorten(labels.visible(step.token), 40) for step in run.steps])
        drawn(page, MATRIX)
        drawn(page, SCRUBBER)
        go_to(page, "Attention")
        for kind in kinds_of(run):
            choose(page, "attention_kind", KINDS[kind])
            stage = drawn(page, MATRIX, PLACES[kind].format(1, 0))
            drawn(page, GRID)
            where = survey(stage)
            row, column = (sorted(places)[len(places) // 2] for places in (where.rows, where.columns))
            stage.hover(position=where.at(row, column))
            weights, mask = expected.weights_of(run, kind, 1)[0], expected.mask_of(run, kind, 1)
            assert tooltip(stage) == expected.cells(run, kind, weights, mask)[row, column]


# ---- many heads, many tokens


def test_one_of_144_heads_is_found_by_mouse_and_by_keyboard(random_server, browser, random_folder):
    text = "abcdefgh"
    run = vt.decode(vt.load(random_folder / "heads"), text)
    with viewed(browser, random_server, "/attention", checkpoint="heads", text=text, kind="cross", layer=0) as page:
        grid = drawn(page, GRID, "12 layers of 12 heads")
        expect(grid.get_by_role("option")).to_have_count(144)
        place = thumbnail(grid, "layer 7, head 9")
        grid.hover(position=place)
        assert tooltip(grid) == ["layer 7, head 9"]
        grid.click(position=place)
        stage = drawn(page, MATRIX, PLACES["cross"].format(7, 9))
        assert_shown(stage, expected.weights_of(run, "cross", 7)[9])
        grid.focus()
        page.keyboard.press("ArrowRight")
        page.keyboard.press("Enter")
        expect_address(page, layer=7, heads=10)
        page.keyboard.press("ArrowLeft")
        page.keyboard.press("Control+Enter")
        expect_address(page, layer=7, heads="9,10")
        expect(page.locator(MATRIX)).to_have_count(2)
        page.keyboard.press("Enter")
        expect_address(page, layer=7, heads=9)
        expect(page.locator(MATRIX)).to_have_count(1)
        choose(page, "attention_kind", KINDS["encoder"])
        stage = drawn(page, MATRIX, PLACES["encoder"].format(7, 9))
        assert_shown(stage, expected.weights_of(run, "encoder", 7)[9])
        page.locator(".grid select").select_option("diagonal")
        first, last = (grid.get_by_role("option").nth(n) for n in (0, 143))
        expect(first).to_contain_text("diagonal")
        assert score_of(first) > score_of(last)


def score_of(option):
    return float(re.search("diagonal ([0-9.]+)", option.text_content())[1])


def test_a_text_of_2048_tokens_is_drawn_pooled_and_is_exact_when_zoomed(
    random_server, browser, random_folder, tmp_path
):
    text = "abcdefgh" * (MAX_LETTERS // 8)
    run = vt.decode(vt.load(random_folder / "letters"), text)
    weights = expected.weights_of(run, "decoder", 0)[0]
    with viewed(browser, random_server, checkpoint="letters", text="abc") as page:
        drawn(page, MATRIX, "Decoder layer 0, head 0")
        type_text(page, text)
        expect(page.get_by_role("group", name="reads").locator(".chip")).to_have_count(MAX_LETTERS)
        expect(page.locator(".st-key-status")).to_contain_text("not put into the address")
        expect_address(page, text=None)
        go_to(page, "Attention")
        stage = drawn(page, MATRIX, "Decoder layer 0, head 0")
        assert "max-pooled" in svg_of_matrix(page, tmp_path)
        box = stage.bounding_box()
        place = {"x": box["width"] * 0.3, "y": box["height"] * 0.7}
        stage.hover(position=place)
        query, key, what = tooltip(stage)
        row, column = (int(re.search(" ([0-9]+):", line)[1]) for line in (query, key))
        stage.click(position=place)
        expect_address(page, t=row, u=column)
        assert row > column > 100
        assert query == f"query {row}: reads “{text[row]}”, writes “{(text + ' ')[row + 1]}”"
        assert key == f"key {column}: “{text[column]}”"
        assert shown_weight(what) == pytest.approx(float(weights[row, column]), abs=1.2e-4)
        for _ in range(7):
            page.keyboard.press("+")
        found = survey(stage, cells=True)
        assert (row, column) in found.cells
        assert 4 <= len(found.rows) <= 64
        for (r, c), lines in found.cells.items():
            assert shown_weight(lines[-1]) == pytest.approx(float(weights[r, c]), abs=1.2e-4)
        assert "max-pooled" not in svg_of_matrix(page, tmp_path)
        expect(page.locator(".lines .instead")).to_contain_text("2,048 queries and 2,048 keys")
        choose(page, "attention_panel", "Text")
        expect(page.locator(".shading .token")).to_have_count(MAX_LETTERS)
        entry(page.locator(".matrix"), "Table").click()
        expect(page.get_by_text("too many to show here")).to_be_visible()


def test_a_click_a_long_text_and_the_page_outlive_a_lost_connection(random_server, browser):
    text = "abcdefgh" * 200
    with opened(browser, random_server, checkpoint="letters", text="abc", script=BREAKABLE) as page:
        drawn(page, MATRIX, "Decoder layer 0, head 0")
        type_text(page, text)
        expect(page.get_by_role("group", name="reads").locator(".chip")).to_have_count(len(text))
        expect_address(page, t=len(text) - 1)
        go_to(page, "Attention")
        stage = drawn(page, MATRIX, "Decoder layer 0, head 0")
        box = stage.bounding_box()
        with connection_lost(page):
            stage.click(position={"x": box["width"] * 0.3, "y": box["height"] * 0.7})
        page.wait_for_url(lambda url: "&u=" in url)
        drawn(page, MATRIX, "Decoder layer 0, head 0")
        expect(page.get_by_role("group", name="reads").locator(".chip")).to_have_count(len(text))
        expect(page.locator(".lines .instead")).to_be_visible()


def shown_weight(words):
    """The number in what a cell says of a long text, of which only so much is promised."""
    number = re.fullmatch("(masked, )?weight ≈ (<?)([0-9.]+)", words)
    assert number, words
    return 0.0 if number[2] else float(number[3])


def svg_of_matrix(page, folder):
    return save(page, entry(page.locator(".matrix"), "SVG"), folder).read_text(encoding="utf-8")


# ---- short, long and odd texts


def test_texts_of_one_token_of_repeats_and_of_the_maximum_are_shown_and_longer_ones_are_refused(
    random_server, browser, random_folder
):
    model = vt.load(random_folder / "signs")
    longest = " ".join(["a", "&", "<b>"] * (MAX_SIGNS // 3))
    with viewed(browser, random_server, **{**VIEW, "text": "a", "kind": "encoder", "layer": 0}) as page:
        for text in ("a", "a a a a", longest):
            if text != "a":
                type_text(page, text)
            run, count = vt.decode(model, text), len(text.split())
            expect(page.get_by_role("group", name="reads").locator(".chip")).to_have_count(count)
            expect(page.locator(".vt-answer")).to_have_text(run.text)
            stage = drawn(page, MATRIX, PLACES["encoder"].format(0, 2))
            weights, mask = expected.weights_of(run, "encoder", 0)[2], expected.mask_of(run, "encoder", 0)
            assert weights.shape == (count, count)
            assert survey(stage, cells=True).cells == expected.cells(run, "encoder", weights, mask)
        go_to(page, "Attention")
        drawn(page, MATRIX, PLACES["encoder"].format(0, 2))
        drawn(page, GRID)
        drawn(page, LINES)
        go_to(page, "Run")
        type_text(page, f"{longest} a")
        expect(page.locator(".st-key-problem")).to_contain_text(
            f"Source has 13 tokens, the model reads at most {MAX_SIGNS}"
        )
        expect(page.locator(BOX)).to_have_value(f"{longest} a")


def test_markup_emoji_and_arabic_are_shown_as_text_in_every_picture(random_server, browser, run):
    with viewed(browser, random_server, "/attention", **VIEW, panel="text") as page:
        drawn(page, MATRIX)
        chips = page.get_by_role("group", name="reads").locator(".chip")
        tokens = drawn(page, TEXT).get_by_role("listbox").nth(0).locator(".token")
        for shown in (chips, tokens):
            texts = [each.replace("<unk>", "") for each in shown.all_text_contents()]
            assert texts == TYPED.split()
        lines = page.locator(".st-key-attention_panel")
        choose(page, "attention_panel", "Lines")
        drawn(page, LINES).focus()
        page.keyboard.press("Home")
        page.keyboard.press("ArrowRight")
        page.keyboard.press("Home")
        for column in range(len(run.trace.src)):
            assert tooltip(drawn(page, LINES))[0] == expected.key_words(run, "cross", column)
            page.keyboard.press("ArrowDown")
        assert lines.locator("b, script").count() == 0


# ---- what is made of heads


def test_mean_maximum_rollout_contribution_and_hidden_specials_are_what_the_trace_gives(random_server, browser, run):
    weights, mask = expected.weights_of(run, "decoder", 1), expected.mask_of(run, "decoder", 1)
    with viewed(browser, random_server, "/attention", **{**VIEW, "kind": "decoder"}) as page:
        drawn(page, MATRIX, "head 2")
        choose(page, "attention_head", "mean")
        assert_shown(drawn(page, MATRIX, "mean of 3 heads"), weights.mean(axis=0), mask)
        choose(page, "attention_head", "maximum")
        assert_shown(drawn(page, MATRIX, "maximum of 3 heads"), weights.max(axis=0), mask)
        choose(page, "attention_head", "rollout")
        assert_shown(
            drawn(page, MATRIX, "attention rollout after layer 1"), rollout_view(run.trace, "decoder", 1).weights
        )
        choose(page, "attention_head", "0")
        drawn(page, MATRIX, "head 0")
        box(page, "contribution").click()
        value = run.trace["decoder.1.self.value"][0, 0].double()  # [K, E]
        output = run.trace.output_maps["decoder.1.self"].double()[:, : value.shape[1]]  # W_O of head 0: [D, E]
        norms = weights[0] * (value @ output.T).norm(dim=-1).numpy()
        assert_shown(drawn(page, MATRIX, "norm of what each key adds"), norms, mask)
        expect_address(page, options="contribution")
        box(page, "contribution").click()
        drawn(page, MATRIX, "head 0, self-attention")
        box(page, "hidden").click()
        stage = page.locator(MATRIX)
        expect(page.get_by_text("Special keys are hidden")).to_contain_text(
            f"{100 * weights[0, :, 0].mean():.1f} % of the weight"
        )
        found = survey(drawn(page, MATRIX), cells=True).cells
        left = weights[0, :, 1:] / np.maximum(weights[0, :, 1:].sum(axis=1, keepdims=True), 1e-9)
        assert {column for _, column in found} == {1, 2, 3, 4, 5}
        for row, column in np.ndindex(6, 5):
            words = found[row, column + 1]
            assert words[1] == expected.key_words(run, "decoder", column + 1)
            if row and mask[row, column + 1]:
                assert float(words[2].removeprefix("weight ")) == pytest.approx(left[row, column], abs=1.01e-4)
            else:
                assert words[2].startswith("masked (-1e9), ")
        stage.click(position=survey(stage).at(4, 3))
        expect_address(page, t=4, u=3)


def box(page, name):
    """One of the switches, which are behind a button."""
    found = page.locator(f".st-key-attention_{name}").get_by_test_id("stCheckbox").locator("label")
    if not found.is_visible():
        page.locator(".st-key-switches_box button").first.click()
    return found


def test_words_sum_what_is_read_and_average_what_reads(random_server, browser, random_folder):
    run = vt.decode(vt.load(random_folder / "heads"), "abc de")
    words = [[0], [1, 2, 3], [4], [5, 6], [7]]  # start, abc, blank, de, end
    weights = expected.weights_of(run, "encoder", 3)[4]
    wanted = np.array([[weights[np.ix_(q, k)].sum(axis=1).mean() for k in words] for q in words])
    view = {"checkpoint": "heads", "text": "abc de", "kind": "encoder", "layer": 3, "heads": 4, "options": "words"}
    with viewed(browser, random_server, "/attention", **view) as page:
        stage = drawn(page, MATRIX, "head 4")
        assert_shown(stage, wanted)
        where = survey(stage, cells=True)
        assert where.cells[1, 5][:2] == ["query 1: “abc”", "key 5: “de”"]
        stage.click(position=where.at(1, 5))
        expect_address(page, i=1, j=5)
        expect_ring(stage, where.at(1, 5))


# ---- two runs


def test_a_pinned_run_is_compared_cell_by_cell_and_refused_where_the_sizes_differ(
    random_server, browser, random_folder, run
):
    other = vt.decode(vt.load(random_folder / "signs"), "a a a a a a a a")
    a, b = (expected.weights_of(each, "cross", 1)[2] for each in (other, run))
    with viewed(browser, random_server, **VIEW) as page:
        drawn(page, MATRIX)
        page.get_by_role("button", name="Keep run").click()
        expect_address(page, pin_checkpoint="signs", pin_text=TYPED, shown="A|B")
        expect(page.locator(MATRIX)).to_have_count(2)
        choose(page, "pin_shown", "A")
        type_text(page, "a a a a a a a a")
        expect(page.get_by_role("group", name="reads").locator(".chip.unknown")).to_have_count(0)
        assert_shown(drawn(page, MATRIX, "Decoder layer 1, head 2"), a)
        choose(page, "pin_shown", "A − B")
        stage = drawn(page, MATRIX, "A − B")
        assert_shown(stage, a - b)
        assert survey(stage, cells=True).cells[0, 0][2].startswith("difference ")
        choose(page, "pin_shown", "B")
        assert_shown(drawn(page, MATRIX, "Map of Decoder"), b)
        expect_address(page, shown="B", text="a a a a a a a a")
        choose(page, "pin_shown", "A − B")
        drawn(page, MATRIX, "A − B")
        type_text(page, "a")
        expect(
            page.get_by_text("A has 6 × 1 cells and B 6 × 8: only maps of one size can be subtracted")
        ).to_be_visible()
        page.locator(".st-key-pin_off button").click()
        expect_address(page, pin_checkpoint=None, pin_text=None, shown=None)
        drawn(page, MATRIX, "Map of Decoder")


# ---- any view by its address


def test_an_address_restores_kind_layer_heads_positions_options_scale_sort_and_panel(random_server, browser, run):
    view = {
        "checkpoint": "signs",
        "text": TYPED,
        "kind": "decoder",
        "layer": 0,
        "heads": 2,
        "i": 1,
        "j": 2,
        "t": 4,
        "u": 3,
        "options": "hidden",
        "scale": "row",
        "sort": "entropy",
        "panel": "text",
    }
    with opened(browser, random_server, "/attention", **view) as page:
        for _ in range(2):
            stage = drawn(page, MATRIX, "decoder layer 0, head 2, self-attention")
            expect_ring(stage, survey(stage).at(4, 3))
            expect_chosen(page, "attention_kind", KINDS["decoder"])
            expect_chosen(page, "attention_head", "2")
            expect_chosen(page, "attention_panel", "Text")
            expect(page.locator(".matrix .choice [aria-pressed=true]")).to_have_text("row")
            assert box(page, "hidden").locator("input").is_checked()
            assert not box(page, "words").locator("input").is_checked()
            page.keyboard.press("Escape")
            grid = drawn(page, GRID)
            expect(page.locator(".grid select")).to_have_value("entropy")
            expect(grid.locator("[aria-selected=true]")).to_have_text(re.compile("^layer 0, head 2, entropy"))
            expect(drawn(page, TEXT).locator(".token.selected, .token.other")).to_have_count(2)
            expect(page.locator("button.chip.selected .token")).to_have_text(["&", run.steps[4].token])
            assert address(page) == {name: str(value) for name, value in view.items()}
            page.reload()


def test_an_address_restores_a_pinned_run_a_derived_picture_and_the_projector(random_server, browser, random_folder):
    view = {**VIEW, "heads": "max", "pin_checkpoint": "heads", "pin_text": "abc", "shown": "B", "projector": "on"}
    pinned = vt.decode(vt.load(random_folder / "heads"), "abc")
    with viewed(browser, random_server, "/attention", **view) as page:
        stage = drawn(page, MATRIX, "decoder layer 1, maximum of 12 heads")
        assert_shown(stage, expected.weights_of(pinned, "cross", 1).max(axis=0))
        expect_chosen(page, "pin_shown", "B")
        expect_address(page, **view)
        page.keyboard.press("p")
        expect_address(page, projector=None)


# ---- by keyboard alone


def test_everything_on_the_page_is_reached_and_used_by_the_keyboard_alone(random_server, browser, run, tmp_path):
    with viewed(browser, random_server, "/attention", **{**VIEW, "heads": 0}) as page:
        stage = drawn(page, MATRIX, PLACES["cross"].format(1, 0))
        press = page.keyboard.press
        tab_to(page, page.get_by_role("group", name="reads").locator("button.selected"))
        press("Home")
        press("ArrowRight")
        expect_address(page, i=1)
        tab_to(page, page.get_by_role("radio", name=KINDS["cross"]))
        press("ArrowRight")
        press("Enter")
        drawn(page, MATRIX, PLACES["decoder"].format(1, 0))
        tab_to(page, page.locator(".st-key-attention_head").get_by_role("radio", name="0", exact=True))
        for _ in range(3):
            press("ArrowRight")
        press("Enter")
        drawn(page, MATRIX, "mean of 3 heads")
        tab_to(page, page.locator(".st-key-switches_box button").first)
        press("Enter")
        tab_to(page, page.locator(".st-key-attention_words input"))
        press("Space")
        expect_address(page, options="words")
        press("Space")
        expect_address(page, options=None)
        press("Escape")
        tab_to(page, page.locator(".grid select"))
        press("ArrowDown")
        expect_address(page, sort="entropy")
        tab_to(page, page.locator(GRID))
        press("Home")
        press("Enter")
        expect_address(
            page, heads=re.search("head ([0-9])", page.locator(f"{GRID} [role=option]").first.text_content())[1]
        )
        tab_to(page, page.locator(MATRIX))
        press("ArrowDown")
        press("ArrowDown")
        expect_address(page, t=2)
        stage = page.locator(MATRIX)
        assert tooltip(stage)[0] == expected.query_words(run, "decoder", 2)
        tab_to(page, page.locator(".matrix .choice button").nth(1))
        press("Enter")
        expect_address(page, scale="row")
        tab_to(page, page.locator(".matrix [aria-haspopup=menu]"))
        press("Enter")
        press("End")
        press("Enter")
        button = page.locator(".st-key-table_csv button")
        expect(button).to_be_visible()
        tab_to(page, button)
        with page.expect_download() as saving:
            press("Enter")
        assert saving.value.suggested_filename.endswith(".csv")
        press("Escape")
        expect(button).to_have_count(0)
        tab_to(page, page.get_by_role("radio", name="Lines"))
        press("ArrowRight")
        press("Enter")
        expect_address(page, panel="text")
        drawn(page, TEXT)
        tab_to(page, page.locator(".shading .token[tabindex='0']").first)
        press("End")
        expect_address(page, t=5)
        press("?")
        expect(page.get_by_role("dialog", name="Guide and keys")).to_be_visible()
        press("Escape")
        expect(page.get_by_role("dialog", name="Guide and keys")).to_be_hidden()


# ---- light and dark


def test_the_maps_are_painted_in_the_colours_of_the_theme_and_anew_when_it_changes(random_server, browser, run):
    weights = expected.weights_of(run, "cross", 1)[2]
    with viewed(browser, random_server, "/attention", scheme="dark", **VIEW) as page:
        stage = drawn(page, MATRIX)
        where = survey(stage)
        for scheme in ("dark", "light"):
            palette = theme.palette(scheme)
            page.emulate_media(color_scheme=scheme)
            wanted = {place: colour(palette.cross, float(value)) for place, value in np.ndenumerate(weights)}
            expect_pixel(stage, where.at(0, 0), wanted[0, 0])
            for place, found in pixels(stage, where).items():
                assert found == pytest.approx(wanted[place], abs=2), place


def colour(stops, value):
    """The colour of a weight on a scale of seven stops, as red, green and blue."""
    place = value * 6
    i = min(int(place), 5)
    low, high = ([int(stop[k : k + 2], 16) for k in (1, 3, 5)] for stop in stops[i : i + 2])
    return [a + (b - a) * (place - i) for a, b in zip(low, high, strict=True)]


# Scrolled by hand while a drawing is due: in the same frame.
_SCROLLED_AND_DRAWN = """async (part) => {
  vizTransformerSelection.pick({ scale: "row" })
  part.scrollTo({ top: 200, behavior: "instant" })
  for (let n = 0; n < 2; n++) await new Promise((go) => requestAnimationFrame(go))
}"""


def test_a_long_map_stays_where_it_was_scrolled_to_when_a_cell_or_another_head_is_chosen(app_server, browser):
    text = "to be or not to be that is the question whether tis nobler in the mind"
    with viewed(browser, app_server, "/attention", checkpoint="shakespeare", text=text, heads=0, layer=0) as page:
        stage = drawn(page, ".st-key-picture .matrix .stage")
        scroller = page.locator(".st-key-picture .matrix .scroller")
        page.wait_for_function("(part) => part.scrollTop > 200", arg=scroller.element_handle())  # to the chosen row
        scroller.evaluate(_SCROLLED_AND_DRAWN)
        assert scroller.evaluate("(part) => part.scrollTop") == 200
        where = stage.bounding_box()
        page.mouse.click(where["x"] + where["width"] / 2, where["y"] + where["height"] * 0.6)
        page.wait_for_url(lambda url: "scale=row" in url and "u=" in url)
        assert scroller.evaluate("(part) => part.scrollTop") == 200
        grid = drawn(page, GRID)
        grid.click(position=thumbnail(grid, "layer 0, head 1"))
        expect_address(page, layer=0, heads=1)
        drawn(page, ".st-key-picture .matrix .stage", "head 1")
        expect(page.locator(AT_WORK)).to_have_count(0)
        assert scroller.evaluate("(part) => part.scrollTop") == 200
