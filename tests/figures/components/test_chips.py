"""What a chip says, and what a row of chips does in a browser."""

import json
import re
from dataclasses import replace

import pytest
from mounted import mounted

from viz_transformer.figures.components.chips import LONGEST, MANY, Chip, ChipRow, Editing

MARKUP = "<img/src=x/onerror=alert(1)>"
EDIT = "vizTransformerEarly.edit.press(performance.now()), document.dispatchEvent(new CustomEvent('vt-edit'))"


def read(*tokens):
    return [Chip(token=token, original=token, side="source", position=i) for i, token in enumerate(tokens)]


def written(*tokens, probability=0.75):
    return [
        Chip(token=token, original=token, side="target", position=i, probability=probability)
        for i, token in enumerate(tokens)
    ]


def rows(**changes):
    reads = ChipRow(label="reads", chips=read("<s>", "1", MARKUP, "</s>"), field="i")
    return {"rows": [reads.data(), ChipRow(label="writes", chips=written("one", "two"), **changes).data()]}


# ---- what a chip says


def test_an_unsure_token_says_so_in_words_too():
    (chip,) = written("two", probability=0.25)
    assert chip.data() == {
        "text": "two",
        "title": "step 1: two, probability 0.2500, unsure: below 0.5",
        "ink": "target",
        "special": False,
        "unknown": False,
        "share": 0.25,
        "sure": False,
    }
    assert written("two", probability=0.5)[0].data()["sure"] is True


def test_a_masked_token_keeps_what_was_typed():
    data = Chip(token="[MASK]", original="cat", side="source", position=2, masked=True).data()
    assert data["note"] == "cat" and data["title"] == "position 2: [MASK], replaces cat, which is masked"


def test_what_would_be_filled_in_stands_at_a_position():
    chip = Chip(token="dog", original="dog", side="source", position=2, probability=0.75)
    assert chip.title == "position 2: dog, probability 0.7500"


def test_a_token_that_is_read_has_no_probability():
    assert not {"share", "sure"} & set(read("1")[0].data())
    assert read("1", "2")[1].title == "position 1: 2"


def test_what_was_typed_is_noted_for_unknown_text_alone():
    unknown = Chip(token="<unk>", original="é", side="source", position=2, unknown=True)
    assert unknown.data()["note"] == "é"
    assert unknown.title == "position 2: <unk>, replaces é, which is not in the vocabulary"
    assert "note" not in Chip(token="hund", original="Hund", side="source", position=0).data()


def test_chips_are_plain_json_and_show_signs_for_what_cannot_be_seen():
    (chip,) = read(" \n\x07\u202e")
    assert chip.data()["text"] == "␣↵␇U+202E"
    assert json.loads(json.dumps(chip.data())) == chip.data()
    assert len(read("x" * 5000)[0].data()["text"]) == LONGEST


def test_a_row_without_a_field_cannot_be_picked():
    assert ChipRow(label="reads", chips=[]).data() == {"label": "reads", "chips": [], "side": "source", "at": 0}
    picked = {"field": "t", "first": 3}
    row = ChipRow(label="writes", chips=[], side="target", at=4, **picked)
    assert row.data() == {"label": "writes", "chips": [], "side": "target", "at": 4, **picked}


def test_a_mark_is_for_what_is_unusual():
    def marks(unsure, sure):
        chips = written(*"u" * unsure, probability=0.25) + written(*"s" * sure)
        return [chip.get("mark", False) for chip in ChipRow(label="writes", chips=chips).data()["chips"]]

    assert marks(3, 17) == [True] * 3 + [False] * 17  # 15 %
    assert marks(3, 16) == [False] * 19  # more than that
    assert marks(1, 1) == [True, False]  # a single one is always marked


def test_many_letters_are_one_text_and_few_or_words_are_not():
    def joined(count, letters):
        return ChipRow(label="reads", chips=read(*"x" * count), letters=letters).data().get("joined", False)

    assert joined(MANY, True) and not joined(MANY - 1, True) and not joined(MANY, False)


# ---- what a row does: tests/javascript/chips.test.js has all that needs no browser


def editable(text="1,234"):
    edit = Editing(field="text", text=text, said="Edit the text")
    return {"rows": [ChipRow(label="reads", chips=read("1", "2"), field="i", edit=edit).data()]}


def height(shown):
    return shown.page.locator(".strip").bounding_box()["height"]


def test_tokens_of_two_runs_begin_at_one_place_and_a_long_row_scrolls_in_one_line_to_what_is_chosen(browser):
    edit = Editing(field="text", text="1", said="Edit the text")
    a, b = (ChipRow(label=f"{run} writes", chips=read("1"), field="t") for run in "AB")
    with mounted(browser, "chips", {"rows": [replace(a, edit=edit).data(), b.data()]}) as shown:
        places = [each.bounding_box()["x"] for each in shown.page.locator(".chips .chip").all()]
        assert len(places) == 2 and places[0] == places[1]  # though one row can be edited
        chips = read(*(f"token{i}" for i in range(60)))
        shown.give({"rows": [ChipRow(label="reads", chips=chips, field="i").data()]})
        shown.page.set_viewport_size({"width": 500, "height": 400})
        line = shown.page.locator(".chips")
        for i in (59, 30, 0):
            shown.choose(i=i)
            at, whole = shown.page.locator(".selected").bounding_box(), line.bounding_box()
            left, right = at["x"] - 4, at["x"] + at["width"] + 4  # of its ring, which is not where the row fades
            assert whole["x"] + 6 <= left and right <= whole["x"] + whole["width"] - 16
            assert at["y"] >= whole["y"] and height(shown) == 88
        assert shown.page.evaluate("window.scrollX") == 0


def test_a_row_is_written_anew_in_its_place_and_keeps_its_height(browser):
    with mounted(browser, "chips", {"rows": []}) as shown:
        pencil, box = (shown.page.get_by_role(role, name="Edit the text") for role in ("button", "textbox"))

        def taken():
            told = shown.page.evaluate("window.triggers")
            shown.page.evaluate("() => { window.triggers = [] }")
            return told

        shown.page.evaluate(EDIT)  # asked for before there was a text: it is opened with it, once
        shown.give(editable("42"))
        assert box.input_value() == "42"
        shown.press("Escape")
        shown.give(editable("a\nb"))
        assert box.count() == 0
        before = height(shown)
        pencil.click()
        assert box.input_value() == "a\nb" and box.evaluate("(box) => box.matches(':focus')")
        assert height(shown) == before == 88
        box.fill("<b>4</b>")
        shown.press("Enter")
        assert taken() == [["text", {"field": "text", "text": "<b>4</b>"}]]
        assert shown.page.locator(".waiting").count() == 1
        shown.give(editable("<b>4</b>"))
        assert shown.page.locator(".waiting").count() == 0
        assert pencil.evaluate("(each) => each.matches(':focus')")
        for key in ("Escape", "Enter"):  # another text that is left, and the same one that is taken
            shown.page.evaluate(EDIT)
            if key == "Escape":
                box.fill("other")
            shown.press(key)
            assert box.count() == 0
        assert taken() == []
        shown.page.evaluate(EDIT)
        box.fill("left")
        box.blur()  # leaving the box takes the text
        assert taken() == [["text", {"field": "text", "text": "left"}]]


def chip(shown, row, name):
    token = shown.page.get_by_text(name, exact=True)
    return shown.page.get_by_role("group", name=row).get_by_role("button").filter(has=token)


def selected(shown):
    return shown.page.locator("button.chip.selected .token").all_text_contents()


def test_chips_show_their_tokens_and_are_chosen_by_pointer_and_keys(browser):
    with mounted(browser, "chips", rows()) as shown:
        focused = shown.page.locator(".chip:focus .token")
        assert shown.page.locator(".token").all_text_contents() == ["<s>", "1", MARKUP, "</s>", "one", "two"]
        widths = shown.page.locator(".part").evaluate_all("(parts) => parts.map((part) => part.style.width)")
        assert widths == ["75%"] * 2 and shown.page.locator(".mark").count() == 0
        assert shown.page.get_by_role("group", name="writes").get_by_role("button").count() == 0  # cannot be picked
        assert shown.page.get_by_role("group", name="reads").get_by_role("button").count() == 4
        shown.give({"rows": [ChipRow(label="writes", chips=written("one", probability=0.25)).data()]})
        assert shown.page.locator(".unsure .part").get_attribute("style") == "width: 25%;"
        assert shown.page.locator(".mark").text_content() == "!"  # not by its colour alone
        shown.give(rows(field="t", first=2))
        for t, tokens in ((2, ["one"]), (3, ["two"]), (1, []), (4, [])):  # what another component selects
            shown.choose(t=t)
            assert selected(shown) == tokens
        shown.give(rows(field="t"))
        label = chip(shown, "writes", "one").get_attribute("aria-label")
        assert label == chip(shown, "writes", "one").get_attribute("title") == "step 1: one, probability 0.7500"
        shown.choose(i=1, t=0)
        shown.press("Tab")
        for key, token in (
            ("ArrowRight", MARKUP),
            ("ArrowRight", "</s>"),
            ("ArrowRight", "</s>"),
            ("Home", "<s>"),
            ("ArrowLeft", "<s>"),
            ("End", "</s>"),
        ):
            shown.press(key)
            assert selected(shown) == [token, "one"]
            assert focused.text_content() == token
        shown.press("Tab")
        assert focused.text_content() == "one"  # the next row, at what is chosen there
        shown.page.wait_for_function("window.sent.at(-1)?.i === 3")
        shown.give(rows(field="t", first=3))
        chip(shown, "writes", "two").click()
        shown.page.wait_for_function("window.sent.at(-1)?.t === 4")
        chip(shown, "reads", "1").click()
        shown.page.wait_for_function("window.sent.at(-1)?.i === 1")
        assert selected(shown) == ["1", "two"]
        pressed = [chip(shown, "writes", name).get_attribute("aria-pressed") for name in ("two", "one")]
        assert pressed == ["true", "false"]
        shown.give(rows(field="t", first=3))  # the same data keep the focus
        assert focused.text_content() == "1"
        shown.page.evaluate("window.remove()")
        assert shown.page.locator(".chip").count() == 0


CURVES = "(all) => all.map((path) => [path.getAttribute('d'), Number(path.getAttribute('stroke-width'))])"
TINTS = "(chips) => chips.map((chip) => parseFloat(chip.style.getPropertyValue('--look')))"
TOPS = "(all) => all.map((row) => row.getBoundingClientRect().top)"


def middles(shown, *tokens):
    """The middle of each chip in pixels of the strip."""
    left = shown.page.locator(".strip").bounding_box()["x"]
    boxes = [chip(shown, *token).bounding_box() for token in tokens]
    return [box["x"] + box["width"] / 2 - left for box in boxes]


def looks(shown, side, kind, weights):
    """The page's map says that its row looks at these."""
    look = {"ink": f"{side}-ink", "kind": kind, "weights": weights}
    shown.page.evaluate("(look) => window.vizTransformerSelection.looksAt(look)", look)
    shown.painted()


def plays(shown, on=True):
    shown.page.evaluate("(on) => window.vizTransformerSelection.plays(on)", on)
    shown.painted()


def test_while_playing_curves_run_from_what_the_row_looks_at_to_the_new_token_as_wide_as_the_weights(browser):
    with mounted(browser, "chips", rows(field="t", first=1, side="target")) as shown:
        curves = shown.page.locator(".flight path")
        shown.choose(t=1, i=0)
        weights = {"0": 0.0199, "1": 0.25, "2": 0.7, "3": 0.02}
        looks(shown, "source", "cross", weights)
        assert shown.page.locator(".chip").evaluate_all(TINTS) == pytest.approx([1.99, 25, 70, 2, 0, 0])
        assert curves.count() == 0
        for preference, motion in (("no-preference", "fly"), ("reduce", "none")):
            shown.page.emulate_media(reduced_motion=preference)
            plays(shown)
            assert not chip(shown, "writes", "two").is_visible() and chip(shown, "writes", "one").is_visible()
            assert chip(shown, "reads", "1").is_visible()
            found = [[*map(float, re.findall(r"[0-9.]+", d)), width] for d, width in curves.evaluate_all(CURVES)]
            ends = middles(shown, ("reads", "1"), ("reads", MARKUP), ("reads", "</s>"))
            assert [each[0] for each in found] == pytest.approx(ends, abs=0.5)
            assert [each[-3] for each in found] == pytest.approx(middles(shown, ("writes", "one")) * 3, abs=0.5)
            assert [each[-1] for each in found] == pytest.approx([6 * weight for weight in (0.25, 0.7, 0.02)])
            assert curves.first.evaluate("(path) => getComputedStyle(path).animationName") == motion
            shown.choose(t=2, i=0)
            last = [float(re.findall(r"[0-9.]+", d)[-2]) for d, _ in curves.evaluate_all(CURVES)]
            assert last == pytest.approx(middles(shown, ("writes", "two")) * 3, abs=0.5)
            plays(shown, False)
            curves.first.wait_for(state="detached")
            assert chip(shown, "writes", "two").is_visible()
            shown.choose(t=1, i=0)
        answers = [
            ChipRow(label=f"{name} writes", chips=written("one", "two"), field="t", side="target", apart=name == "B")
            for name in "AB"
        ]
        shown.give({"rows": [answer.data() for answer in answers]})
        looks(shown, "target", "decoder", {"0": 0.5, "1": 0.5})
        plays(shown)
        assert curves.count() == 0  # between the answers of two runs
        assert shown.page.locator(".chip").evaluate_all(TINTS) == [50, 50, 0, 0]  # the weights are those of A


def test_a_strip_that_plays_leads_through_the_steps_and_stops_where_another_is_chosen(browser):
    given = rows(field="t", first=1)
    with mounted(browser, "chips", given) as shown:
        lines = shown.page.locator(".row")
        assert shown.page.locator("button.play").count() == 0
        shown.give({**given, "plays": True})
        tops, where = lines.evaluate_all(TOPS), "[vizTransformerSelection.chosen.t, vizTransformerSelection.playing]"
        button = shown.page.get_by_role("group", name="writes").locator("xpath=..").locator("button.play")
        shown.choose(t=2, i=0)
        button.click()
        assert shown.page.evaluate(where) == [1, True]  # from the last step on it begins with the first
        assert button.get_attribute("title") == "Pause" and not chip(shown, "writes", "two").is_visible()
        shown.page.wait_for_function("vizTransformerSelection.chosen.t === 2")
        assert shown.page.evaluate(where) == [2, False] and button.get_attribute("title") == "Play the steps"
        assert shown.heard()[-1] == {"t": 2}
        button.click()
        shown.page.evaluate("vizTransformerSelection.pick({ t: 2 })")
        assert shown.page.evaluate(where) == [2, False]
        assert lines.evaluate_all(TOPS) == tops
