"""What the shaded text is sent is what the trace has, and what it shows in a browser is what it was sent."""

import re

import numpy as np
import pytest
from builders import tiny_checkpoint
from drawing import picture_of
from mounted import Mounted, mounting

from viz_transformer import payload
from viz_transformer.analysis.attention.axes import Axis, Texts
from viz_transformer.analysis.attention.maps import head_view
from viz_transformer.figures import theme
from viz_transformer.running.decoding import decode

MARKUP = "<b>bold</b>&<img_src=x_onerror=alert(1)>"


def source(tokens, originals=None):
    return Axis("i", "key", "keys: source", "source", Texts(tokens, originals))


def of(weights, queries, keys, **changes):
    grows = changes.pop("grows", False)
    return picture_of(weights, queries, keys, **changes).pack_text(grows=grows)


def cross(weights, queries=None, keys=None, **changes):
    """A payload with a target that reads a source."""
    rows, columns = np.shape(weights)
    tokens = queries or [f"q{i}" for i in range(rows)]
    target = Axis("t", "query", "queries: target", "target", Texts(tokens))
    return of(weights, target, source(keys or [f"k{i}" for i in range(columns)]), **changes)


def self_attention(weights, tokens, special=(), **changes):
    """A payload with a source that reads itself."""
    queries = Axis("i", "query", "queries", "source", Texts(tokens, special=special))
    keys = Axis("j", "key", "keys", "source", Texts(tokens, special=special))
    return of(weights, queries, keys, **{"scale": "encoder", **changes})


def some_weights(rows, columns, seed=0):
    exponents = np.exp(np.random.default_rng(seed).normal(size=(rows, columns)) * 2)
    return (exponents / exponents.sum(axis=1, keepdims=True)).astype(np.float32)


# ---- what is sent


def test_all_rows_are_sent_bit_by_bit_as_the_trace_has_them():
    run = decode(tiny_checkpoint(), "abc", max_steps=4)
    view = head_view(run.trace, "decoder", 1, 1)
    tokens = Texts(view.query_tokens, view.query_originals)
    data = of(
        view.weights,
        Axis("t", "query", "queries", "target", tokens),
        Axis("u", "key", "keys", "target", tokens),
        mask=view.mask,
        writes=Texts(view.query_writes),
        scale="decoder",
    )
    header, arrays = payload.unpack(data)
    recorded = run.trace["decoder.1.self.weights"][0, 1].numpy()
    assert arrays["weights"].dtype == np.float32
    assert np.array_equal(arrays["weights"], recorded)
    mask = run.trace["decoder.1.self.mask"].expand(1, 2, *recorded.shape)[0, 1].numpy()
    assert not mask.all()
    assert np.array_equal(arrays["mask"], mask)
    assert header["together"] is True
    assert [token["text"] for token in header["keys"]["tokens"]] == list(run.trace.tgt.tokens)
    assert (header["queries"]["field"], header["keys"]["field"]) == ("t", "u")


def test_other_tokens_or_another_side_make_a_paragraph_of_their_own():
    words = ["a", "b"]
    keys = Axis("u", "key", "keys", "target", Texts(words))

    def together(side, tokens):
        data = of(some_weights(len(tokens), 2), Axis("t", "query", "queries", side, Texts(tokens)), keys)
        return payload.unpack(data)[0]["together"]

    assert together("target", words)
    assert not together("source", words)
    assert not together("target", ["a", "c"])
    assert not together("target", ["a", "b", "c"])


def test_above_512_tokens_a_weight_takes_16_bits():
    weights = some_weights(2, 512)
    assert np.array_equal(payload.unpack(cross(weights))[1]["weights"], weights)
    weights = some_weights(2, 513)
    _, arrays = payload.unpack(cross(weights))
    assert 0 < np.abs(arrays["weights"] - weights).max() < 2e-5


@pytest.mark.parametrize(
    ("weights", "changes", "said"),
    [
        (np.ones((2, 2)), {"queries": ["a", "b", "c"]}, "do not fit 3 queries and 2 keys"),
        (np.ones((0, 2)), {}, "do not fit 0 queries"),
        (np.full((2, 2), -0.5), {}, "the smallest is -0.5"),
        (np.ones((2, 2)), {"mask": np.ones((1, 2))}, "does not have the shape of the weights"),
        (np.ones((2, 2)), {"there": [[True]]}, "there"),
        (np.ones((2, 2)), {"writes": Texts(["a"])}, "1 written tokens do not fit 2 queries"),
    ],
)
def test_what_does_not_fit_is_refused(weights, changes, said):
    with pytest.raises(ValueError, match=said):
        cross(weights, **changes)


# ---- what is shown


class RunView(Mounted):
    """The shaded text alone on a page."""

    def __init__(self, page, name, data):
        super().__init__(page, name, data)
        self.texts = page.get_by_role("listbox")

    def press(self, *keys):
        super().press(*keys)
        self.painted()

    def switch(self, words):
        self.page.get_by_role("button", name=words, exact=True).click()
        self.painted()

    def tokens(self, paragraph=0):
        return self.texts.nth(paragraph).get_by_role("option")

    def style(self, name, paragraph=0):
        """A computed CSS property of each token."""
        return self.tokens(paragraph).evaluate_all("(all, name) => all.map((one) => getComputedStyle(one)[name])", name)

    def marked(self, name, paragraph=0):
        """The positions of the tokens that have this class."""
        return self.tokens(paragraph).evaluate_all(
            "(all, name) => all.flatMap((one, i) => (one.classList.contains(name) ? [i] : []))", name
        )

    @property
    def about(self):
        return self.page.locator(".about").text_content()

    @property
    def legend(self):
        return self.page.locator(".legend > span").all_text_contents()

    @property
    def focused(self):
        """Paragraph and position of the token that has the focus."""
        return self.texts.evaluate_all(
            """(all) => all.flatMap((box, i) => {
              const n = [...box.children].findIndex((one) => one.matches(":focus"))
              return n < 0 ? [] : [[i, n]]
            })"""
        )


@pytest.fixture
def shown(browser):
    with mounting(browser, "shading", RunView, viewport={"width": 360, "height": 720}, color_scheme="light") as mount:
        yield mount


def channels(colour):
    return [int(colour[i : i + 2], 16) for i in (1, 3, 5)]


def shade(scale, weight):
    """The colour of a weight between 0 and 1, as it is drawn: linear between seven stops."""
    place = min(weight, 1) * 6
    i = min(int(place), 5)
    low, high = np.array(channels(scale[i])), np.array(channels(scale[i + 1]))
    red, green, blue = np.floor(low + (high - low) * (place - i) + 0.5).astype(int)
    return f"rgb({red}, {green}, {blue})"


NONE = "rgba(0, 0, 0, 0)"


def test_each_key_has_the_shade_of_the_weight_that_the_query_gives_it(shown):
    weights = some_weights(4, 5)
    view = shown(cross(weights))
    assert set(view.style("backgroundColor", 0)) == {NONE}
    assert view.about.startswith("Choose a query")
    for query in (0, 3):
        view.choose(t=query)
        assert view.style("backgroundColor", 0) == [shade(theme.LIGHT.cross, float(w)) for w in weights[query]]
        assert set(view.style("backgroundColor", 1)) == {NONE}
        assert view.marked("selected", 1) == [query]
        assert view.about == f"What it reads: query {query}: “q{query}”"
    assert view.sent == []  # Python was not asked


def test_a_text_that_reads_itself_is_one_paragraph_with_query_and_shades(shown):
    weights = some_weights(3, 3)
    view = shown(self_attention(weights, ["same", "same", "else"]))
    assert view.texts.count() == 1
    view.choose(i=1, j=2)
    assert view.marked("selected") == [1]
    assert view.marked("other") == [2]
    assert view.style("backgroundColor") == [shade(theme.LIGHT.encoder, float(w)) for w in weights[1]]
    view.tokens().nth(0).click()
    assert view.heard(1) == [{"i": 0}]
    view.painted()
    assert view.style("backgroundColor") == [shade(theme.LIGHT.encoder, float(w)) for w in weights[0]]
    view.switch("to this key")
    assert view.style("backgroundColor") == [shade(theme.LIGHT.encoder, float(w)) for w in weights[:, 2]]
    assert view.about == "What reads it: key 2: “else”"
    assert view.page.locator("button[aria-pressed=true]").all_text_contents() == ["to this key", "0–1"]
    view.tokens().nth(0).click()
    assert view.heard(2)[1] == {"j": 0}
    assert view.marked("selected") == [0]


def test_masked_faint_and_chosen_tokens_are_marked_and_the_scale_can_end_at_the_largest_weight(shown):
    weights = np.array([[0.25, 0.5, 0.25], [1, 0, 0]], np.float32)
    view = shown(cross(weights, keys=["x", MARKUP, "y"], mask=[[1, 1, 0], [1, 0, 0]], hidden=np.array([0.95, 0.9])))
    view.choose(t=0, i=2)
    assert (view.marked("masked"), view.marked("faint"), view.marked("faint", 1)) == ([2], [0, 1, 2], [])
    assert (view.marked("selected", 1), view.marked("other", 0)) == ([0], [2])
    view.tokens(0).nth(1).hover()
    assert view.tooltip == [
        "query 0: “q0”",
        f"key 1: “{MARKUP}”",
        "weight 0.5000",
        "0.9500 of this row's weight is hidden",
    ]
    assert view.page.locator("img").count() == 0
    assert view.style("backgroundColor")[0] == shade(theme.LIGHT.cross, 0.25)
    view.switch("max")
    assert view.style("backgroundColor")[0] == shade(theme.LIGHT.cross, 0.5)
    assert view.legend[:3] == ["0", "", "0.5000"] and view.legend[3].startswith("attention weight, full colour")
    view.choose(t=1, i=2)
    assert (view.marked("masked"), view.marked("faint")) == ([1, 2], [])


def test_text_can_be_read_on_every_shade(shown):
    def luminance(colour):
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in np.array(colour) / 255]
        return np.dot(linear, [0.2126, 0.7152, 0.0722])

    def contrast(a, b):
        high, low = sorted((luminance(a), luminance(b)), reverse=True)
        return (high + 0.05) / (low + 0.05)

    for scheme in ("light", "dark"):
        view = shown(cross(np.linspace(0, 1, 60)[None]))
        view.page.emulate_media(color_scheme=scheme)
        view.choose(t=0)
        view.page.wait_for_timeout(50)
        inks, fills = (
            [[int(c) for c in colour[4:-1].split(",")] for colour in view.style(name)]
            for name in ("color", "backgroundColor")
        )
        assert fills[0] == channels((theme.LIGHT if scheme == "light" else theme.DARK).cross[0])
        ratios = np.array([contrast(ink, fill) for ink, fill in zip(inks, fills, strict=True)])
        # WCAG asks for 4.5 of small text. Where dark letters give way to light ones neither reaches it: 4.0 at best.
        assert ratios.min() > 3.5
        assert (ratios > 4.5).mean() > 0.8


def test_keys_alone_suffice(shown):
    view = shown(cross(some_weights(3, 4)))
    view.choose(t=1, i=2)
    stops = [button.text_content() for button in view.page.get_by_role("button").all()]
    assert stops == ["from this query", "to this key", "0–1", "max", ""]
    view.press(*["Tab"] * (len(stops) + 1))
    assert view.focused == [[0, 2]]
    assert view.tooltip[:2] == ["query 1: “q1”", "key 2: “k2”"]
    assert view.page.locator("[aria-live]").text_content() == ", ".join(view.tooltip)
    view.press("Tab")
    assert view.focused == [[1, 1]]
    assert view.tooltip == ["query 1: “q1”"]
    view.press("ArrowRight")
    assert view.focused == [[1, 2]]
    assert view.marked("selected", 1) == [2]  # at once, before Python hears of it
    assert view.heard(1) == [{"t": 2}]
    view.press("ArrowRight", "Home", "ArrowRight")
    view.page.wait_for_function("window.sent.at(-1).t === 1")
    heard = len(view.sent)
    assert view.page.locator("[aria-live]").text_content() == "query 1: “q1”"
    view.press("Shift+Tab", "End", "Enter")
    assert view.focused == [[0, 3]]
    assert view.heard(heard + 1)[-1] == {"i": 3}
    assert view.tooltip[:2] == ["query 1: “q1”", "key 3: “k3”"]
    assert view.page.locator("[aria-live]").text_content() == ", ".join(view.tooltip)
    selected = view.texts.nth(0).locator("[aria-selected=true]").all_text_contents()
    assert selected == ["k3"]
    assert view.texts.nth(0).locator("[tabindex='0']").count() == 1
    view.press("Shift+Tab")
    assert view.tooltip == []


def test_up_and_down_go_to_the_token_above_and_below(shown):
    words = [f"word{i:02}" for i in range(40)]
    view = shown(self_attention(some_weights(40, 40), words))
    view.choose(i=0, j=0)
    tops = view.tokens().evaluate_all("(all) => all.map((one) => one.getBoundingClientRect().top)")
    row = tops.count(tops[0])
    assert 1 < row < 20
    view.press(*["Tab"] * 6, "ArrowRight", "ArrowDown", "ArrowDown")
    assert view.focused == [[0, 1 + 2 * row]]
    view.press("ArrowUp")
    assert view.focused == [[0, 1 + row]]


def test_arabic_runs_from_the_right_and_so_do_its_keys(shown):
    tokens = ["<s>", "يولد", "جميع", "الناس", "</s>"]
    view = shown(self_attention(some_weights(5, 5), tokens, special={0, 4}))
    view.choose(i=0, j=0)
    lefts = view.tokens().evaluate_all("(all) => all.map((one) => one.getBoundingClientRect().left)")
    assert lefts == sorted(lefts, reverse=True)
    assert view.style("direction")[4] == "ltr"  # or it would read <s/>
    view.press(*["Tab"] * 6, "ArrowLeft", "ArrowLeft")
    assert view.focused == [[0, 2]]
    view.press("ArrowRight")
    assert view.focused == [[0, 1]]
    phrase = ["they", "say", "يولد", "جميع", "often", "enough"]  # in an English text
    view.give(self_attention(some_weights(6, 6), phrase))
    lefts = view.tokens().evaluate_all("(all) => all.map((one) => one.getBoundingClientRect().left)")
    assert np.argsort(lefts[:5]).tolist() == [0, 1, 3, 2, 4]


def test_a_long_text_scrolls_to_what_was_chosen_elsewhere(shown):
    view = shown(cross(some_weights(2, 400)))
    assert view.page.locator(".component").bounding_box()["height"] < 600
    view.choose(t=0, i=390)
    box, token = view.texts.nth(0).bounding_box(), view.tokens(0).nth(390).bounding_box()
    assert box["y"] <= token["y"]
    assert token["y"] + token["height"] <= box["y"] + box["height"]
    assert view.page.evaluate("window.scrollY") == 0


def test_unknown_words_show_what_was_typed_and_what_is_read(shown):
    keys = source(["a", "<unk>"], originals=["a", "brwn"])
    target = Axis("t", "query", "queries: target", "target", Texts(["x"]))
    view = shown(of([[0.25, 0.75]], target, keys))
    view.choose(t=0)
    assert view.tokens(0).nth(1).locator("span").all_text_contents() == ["brwn", "<unk>"]
    view.tokens(0).nth(1).hover()
    assert view.tooltip[1] == "key 1: “<unk>”, typed “brwn”"


def test_new_text_takes_the_place_of_the_old_one(shown):
    view = shown(cross(some_weights(2, 3)))
    view.choose(t=1)
    weights = some_weights(2, 3, seed=5)
    view.give(cross(weights, ["x", "y"], ["a", "b", "c"]))
    assert view.tokens(0).all_text_contents() == ["a", "b", "c"]
    assert view.style("backgroundColor", 0) == [shade(theme.LIGHT.cross, float(w)) for w in weights[1]]
    assert view.marked("selected", 1) == [1]


# ---- a text that grows with the step


NOT_YET = "not written yet at this step"


def answer(weights, **changes):
    """A target that reads itself, and grows."""
    tokens = Texts([f"w{i}" for i in range(len(weights))])
    axes = (Axis(field, role, "target", "target", tokens) for field, role in (("t", "query"), ("u", "key")))
    return of(weights, *axes, **{"scale": "decoder", "grows": True, **changes})


def test_only_a_text_that_grows_says_so():
    assert "grows" not in payload.unpack(cross(some_weights(2, 2)))[0]
    header, arrays = payload.unpack(answer(some_weights(3, 3)))
    assert header["grows"] is True
    assert np.array_equal(arrays["weights"], some_weights(3, 3))  # all rows, also those that come later


def test_what_the_answer_reads_of_itself_is_shaded_up_to_the_step_and_the_rest_is_faint(shown):
    weights, mask = np.tril(some_weights(5, 5)), np.tril(np.ones((5, 5), bool))
    view = shown(answer(weights, mask=mask))
    assert view.marked("unwritten") == []  # no step is chosen
    for t in (1, 3, 0):
        view.choose(t=t, u=0)
        shades = [shade(theme.LIGHT.decoder, float(w)) for w in weights[t, : t + 1]]
        assert view.style("backgroundColor") == shades + [NONE] * (4 - t)
        assert view.marked("unwritten") == [*range(t + 1, 5)]
        assert set(view.style("opacity")[t + 1 :]) == {"0.5"}
        assert view.marked("masked") == []  # it is not there yet, so nothing forbids it
        assert view.legend[3] == "attention weight, faint: not written yet"
        assert view.tokens().all_text_contents() == [f"w{i}" for i in range(5)]
    assert view.sent == []  # Python was not asked
    view.choose(t=4, u=0)
    assert view.legend[3] == "attention weight"


def test_while_the_steps_are_played_the_rest_of_an_answer_is_not_there_and_its_place_is_kept(shown):
    view = shown(answer(np.tril(some_weights(5, 5)), grows=False, writes=Texts([f"w{i}" for i in range(1, 6)])))
    view.choose(t=2, u=0)
    cells = view.page.locator(".shading .token")
    looks = "(all) => all.map((one) => [getComputedStyle(one).visibility, one.offsetLeft, one.offsetTop])"
    before = cells.evaluate_all(looks)
    assert [seen for seen, *_ in before] == ["visible"] * 5
    view.page.evaluate("window.vizTransformerSelection.plays(true)")
    view.painted()
    played = cells.evaluate_all(looks)
    assert [seen for seen, *_ in played] == ["visible"] * 3 + ["hidden"] * 2
    assert [place for _, *place in played] == [place for _, *place in before]
    assert view.legend[3] == "attention weight"  # nothing is faint
    view.page.evaluate("window.vizTransformerSelection.plays(false)")
    view.painted()
    assert cells.evaluate_all(looks) == before


def test_a_token_that_is_not_written_yet_says_so_and_can_be_chosen(shown):
    weights = np.tril(some_weights(4, 4))
    view = shown(answer(weights))
    view.choose(t=1, u=0)
    last = view.tokens().nth(3)
    assert last.get_attribute("aria-label") == f"3: “w3”, {NOT_YET}"
    last.hover()
    assert view.tooltip == ["query 3: “w3”", NOT_YET]
    view.choose(t=3, u=0)  # the step comes to it while the pointer rests there
    assert view.tooltip[2].startswith("weight ")
    assert last.get_attribute("aria-label") == "3: “w3”"
    view.choose(t=1, u=0)
    last.click()
    assert view.heard(1) == [{"t": 3}]
    view.painted()
    assert view.marked("unwritten") == []
    assert view.tooltip == ["query 3: “w3”", "key 3: “w3”", f"weight {weights[3, 3]:.4f}"]
    view.choose(t=1, u=0)
    view.page.mouse.move(0, 0)
    view.press("ArrowLeft")  # keys walk into what is not written yet
    assert view.focused == [[0, 2]]
    assert view.marked("unwritten") == [3]
    assert view.page.locator("[aria-live]").text_content() == ", ".join(view.tooltip)


# ---- rows of which most is hidden

FAINT = "attention weight, faint: more than 0.9 of the row is hidden"


def saved_svg(view):
    with view.page.expect_download() as saved:
        view.pick_entry("SVG")
    assert saved.value.suggested_filename == "picture.svg"
    return saved.value.path().read_text(encoding="utf-8")


def test_the_picture_is_saved_with_all_tokens_shades_and_caption(shown, tmp_path):
    weights = some_weights(2, 60)
    keys = [f"key{i}" for i in range(58)] + [MARKUP, "a" * 80]
    view = shown(cross(weights, ["one", "two"], keys))
    view.choose(t=1)
    svg = saved_svg(view)
    for text in ("a title", "a caption", "What it reads: query 1: “two”", "keys: source", "attention weight"):
        assert text in svg
    for n in range(58):  # those out of sight are in the picture, too
        assert f">key{n}</text>" in svg
        assert f'fill="{shade(theme.LIGHT.cross, float(weights[1, n]))}"' in svg
    assert "<img" not in svg
    assert ">" + "a" * 80 + "<" not in svg  # wider than the text, so broken as it is on screen
    assert sum(len(run) for run in re.findall(">(a{4,})</text>", svg)) == 80
    height = float(svg.split('height="')[1].split('"')[0])
    assert height > view.page.locator(".component").bounding_box()["height"]
    with view.page.expect_download() as saved:
        view.pick_entry("PNG")
    saved.value.save_as(tmp_path / "picture.png")
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")
    view.give(answer(np.tril(some_weights(4, 4)), unit="weight"))
    view.choose(t=1, u=0)
    svg = saved_svg(view)
    assert re.findall(r'<text [^>]*opacity="0.5"[^>]*>(w\d)</text>', svg) == ["w2", "w3"]
    assert "faint: not written yet" in svg
    view.give(cross(some_weights(2, 3), hidden=np.array([0.1, 0.95])))
    view.choose(t=1, i=0)
    svg = saved_svg(view)
    assert re.findall(r'<text [^>]*opacity="0.5"[^>]*>(\w\d)</text>', svg) == ["k0", "k1", "k2"]
    legend = re.findall(r"<text [^>]*>([^<]+)</text>", svg)[-3:-1]
    assert " ".join(legend) == FAINT  # in two lines, for the picture is narrow
