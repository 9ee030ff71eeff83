"""What the beam tree is sent are the numbers of the search, and what it shows and says of them is what it was sent."""

from __future__ import annotations

import math
import re
from itertools import combinations
from xml.etree import ElementTree

import pytest
from builders import tiny_checkpoint
from mounted import Mounted, mounting

from viz_transformer import payload
from viz_transformer.figures import labels, theme
from viz_transformer.figures.components.beam_tree import beam_tree_payload, rows
from viz_transformer.numerals import number
from viz_transformer.running.beam_tree import BeamTree, TreeRecorder
from viz_transformer.running.decoding import decode
from viz_transformer.running.strategies import Beam

MARKUP = "<b>bold</b> & <img src=x onerror=alert(1)>"
WIDE = ("عالم", "世界世界", "👩‍👩‍👧", MARKUP, "</s>", " ")
COLUMNS = ("parent", "step", "log_prob", "total", "length", "score", "rank")


def tree_of(width=3, steps=8, text="abc", **settings) -> BeamTree:
    """A search of a random model, which ends some of its hypotheses."""
    found = decode(tiny_checkpoint(seed=1), text, strategy=Beam(width, **settings), max_steps=steps).tree
    assert found is not None
    return found


def tree_of_words() -> BeamTree:
    """A search by hand, with tokens that are hard to draw: 2 beams, 3 steps, one finished, one still going."""
    recorder = TreeRecorder(Beam(2), ends={4})
    recorder.grown(
        [(0, 0, -0.5, -0.5, True), (0, 1, -1.5, -1.5, True), (0, 2, -2.5, -2.5, False), (0, 5, -3, -3, False)],
        [0, 1],
        {},
    )
    recorder.grown(
        [(0, 3, -0.25, -0.75, True), (1, 2, -0.125, -1.625, True), (0, 4, -4, -4.5, False), (1, 4, -3.5, -5, False)],
        [0, 1],
        {},
    )
    recorder.grown(
        [(0, 4, -0.5, -1.25, True), (1, 0, -0.25, -1.875, True), (0, 1, -2, -2.75, True), (1, 1, -3, -4.625, False)],
        [1, 2],
        {},
    )
    return recorder.tree(WIDE, [9], [0, 3, 4])


def sent(tree: BeamTree, **changes) -> bytes:
    return beam_tree_payload(tree, **{"caption": "a caption", "name": "picture", "start": "<s>", **changes})


# ---- what is sent


@pytest.mark.parametrize("settings", [{}, {"penalty": "power", "length_penalty": 1.0, "count_end": False}])
@pytest.mark.parametrize("width", [1, 3, 7])
def test_every_number_of_the_tree_is_sent_as_it_is(width, settings):
    tree = tree_of(width, **settings)
    header, _ = payload.unpack(sent(tree))
    nodes = header["nodes"]
    for name in COLUMNS[1:]:
        assert nodes[name] == [getattr(node, name) for node in tree.nodes], name
    assert nodes["parent"] == [-1 if node.parent is None else node.parent for node in tree.nodes]
    assert [header["fates"][fate] for fate in nodes["fate"]] == [node.fate for node in tree.nodes]
    assert [header["sentences"][why] for why in nodes["why"]] == [tree.why(node.index) for node in tree.nodes]
    assert [header["tokens"][token]["text"] for token in nodes["token"]] == [node.token for node in tree.nodes]
    assert [row >= 0 for row in nodes["row"]] == [node.kept for node in tree.nodes]
    assert header["answer"] == tree.answer
    for node in tree.nodes:
        penalty, formula = header["penalties"][str(node.length)]
        assert penalty == tree.beam.divisor(node.length)
        assert node.total / penalty == node.score
        gnmt, power, exponent = re.fullmatch(r"(?:\(\(5 \+ (\d+)\)/6\)|(\d+))\^([\d.]+)", formula).groups()
        base = (5 + int(gnmt)) / 6 if gnmt else int(power)
        assert base ** float(exponent) == pytest.approx(penalty)


def test_two_trees_are_told_apart_and_one_is_known_again():
    first, again, other = (payload.unpack(sent(tree))[0]["tree"] for tree in (tree_of(3), tree_of(3), tree_of(4)))
    assert first == again != other


def test_special_tokens_and_tokens_without_a_shape_are_marked():
    header, _ = payload.unpack(sent(tree_of_words(), special={4}, start="\n"))
    assert [token["text"] for token in header["tokens"] if token.get("special")] == ["</s>"]
    assert {token["text"] for token in header["tokens"]} == {labels.visible(token) for token in WIDE}
    assert header["start"]["text"] == "↵"


# ---- where things stand


@pytest.mark.parametrize(("width", "text"), [(1, "abc"), (2, "hgf"), (5, "abc"), (12, "bad")])
def test_no_two_lines_of_the_tree_cross_and_the_answer_is_the_top_line(width, text):
    tree = tree_of(width, steps=14, text=text)
    found = rows(tree)
    assert all(found[node.index] == 0 for node in tree.path(tree.answer))
    lines = [node for node in tree.nodes if node.kept and node.parent is not None]
    for a, b in combinations(lines, 2):
        if a.step == b.step:
            before, behind = found[a.parent] - found[b.parent], found[a.index] - found[b.index]
            assert behind != 0 and before * behind >= 0
    for step in range(tree.steps):
        here = sorted(found[node.index] for node in tree.nodes if node.step == step and node.kept)
        assert here == list(range(len(here)))  # no row is left empty


# ---- in a browser


class RunView(Mounted):
    """The tree alone on a page."""

    def __init__(self, page, name, data):
        super().__init__(page, name, data)
        self.stage = page.get_by_role("application")

    def find(self, first_line, last_line=None):
        """A place of the stage that says this."""
        return self.stage.evaluate(
            """(stage, [first, last]) => {
              const box = stage.getBoundingClientRect()
              const tip = stage.parentElement.querySelector(":scope > .tooltip")
              for (let y = 28; y < box.height; y += 3)
                for (let x = 2; x < box.width; x += 3) {
                  stage.dispatchEvent(new PointerEvent("pointermove", { clientX: box.left + x, clientY: box.top + y }))
                  if (tip.hidden || tip.firstChild.textContent !== first) continue
                  if (last === null || tip.lastChild.textContent === last) return [x, y]
                }
              return null
            }""",
            [first_line, last_line],
        )

    def click(self, x, y):
        box = self.stage.bounding_box()
        self.page.mouse.click(box["x"] + x, box["y"] + y)

    @property
    def seen(self):
        """Which steps and rows are seen, if not all are."""
        return self.page.locator(".part").text_content()

    def picture(self):
        return self.page.locator("canvas.base").screenshot()


@pytest.fixture
def shown(browser):
    with mounting(browser, "beam_tree", RunView, viewport={"width": 992, "height": 760}, color_scheme="light") as mount:
        yield mount


def said_of(tree: BeamTree, index: int) -> list[str]:
    """What the tooltip has to say, from the tree alone."""
    node = tree.nodes[index]
    number = labels.number
    penalty = tree.beam.divisor(node.length)
    siblings = sum(each.step == node.step for each in tree.nodes)
    return [
        f"step {node.step + 1}: “{labels.isolate(labels.visible(node.token))}”",
        f"log-probability of the token {number(node.log_prob)}, probability {labels.share(math.exp(node.log_prob))}",
        f"total {number(node.total)}",
        f"|Y| = {node.length}, penalty ((5 + {node.length})/6)^0.6 = {number(penalty)}",
        f"score = total / penalty = {number(node.total)} / {number(penalty)} = {number(node.score)}",
        f"rank {node.rank + 1} of {siblings} in its step, {'kept' if node.kept else 'considered, not kept'}",
        tree.why(index),
    ]


def test_each_hypothesis_is_on_the_picture_and_says_its_numbers(shown):
    tree = tree_of_words()
    view = shown(sent(tree))
    assert view.seen == ""
    for node in tree.nodes:
        wanted = said_of(tree, node.index)
        assert view.find(wanted[0], wanted[-1]) is not None, wanted
        assert view.tooltip == wanted
    assert view.page.locator("b, img").count() == 0


def test_a_click_picks_a_hypothesis_and_the_mark_is_on_the_picture_before_python_answers(shown):
    tree = tree_of_words()
    view = shown(sent(tree))
    start = view.page.locator("canvas.over").screenshot()
    view.choose(dec_node=tree.answer)
    assert view.page.locator("canvas.over").screenshot() == start  # without a choice the answer is marked
    for index in (1, 2):  # one that was kept, one that was only looked at
        wanted = said_of(tree, index)
        place = view.find(wanted[0], wanted[-1])
        view.click(*place)
    assert view.heard(2) == [{"dec_node": 1}, {"dec_node": 2}]
    view.page.mouse.move(5, 740)
    view.painted()
    assert view.page.locator("canvas.over").screenshot() != start


def test_keys_walk_along_lines_and_steps_and_pick(shown):
    tree = tree_of_words()
    view = shown(sent(tree))

    def here():
        return next(node.index for node in tree.nodes if view.tooltip == said_of(tree, node.index))

    view.page.keyboard.press("Tab")  # narrower, wider, reset, the menu, then the picture
    for _ in range(4):
        view.page.keyboard.press("Tab")
    assert here() == tree.answer
    path = [node.index for node in tree.path(tree.answer)]
    view.press("ArrowLeft")
    assert here() == path[-2]
    view.press("ArrowLeft", "ArrowLeft")
    assert here() == path[0]
    view.press("ArrowDown")
    first_step = [node for node in tree.nodes if node.step == 0]
    assert here() == next(node.index for node in first_step if not node.kept)  # it ends above the second row
    seen = {here()}
    for _ in first_step:
        view.press("ArrowDown")
        seen.add(here())
    assert seen | {path[0]} == {node.index for node in first_step}
    view.press("ArrowRight")
    assert tree.nodes[here()].parent == 1
    assert view.sent == []
    view.press("Enter")
    assert view.heard() == [{"dec_node": here()}]
    assert view.page.locator("[aria-live]").text_content().startswith("chosen: step 2: ")
    view.press("End")
    assert here() == tree.answer
    view.press("Escape")
    assert view.tooltip == []


def test_columns_widen_with_buttons_keys_and_the_wheel_and_go_back(shown):
    view = shown(sent(tree_of(3, steps=8)))
    start = view.picture()
    assert view.seen == ""
    view.page.get_by_role("button", name="Wider columns").click()
    view.page.get_by_role("button", name="Wider columns").click()
    view.painted()
    assert re.fullmatch(r"steps \d to \d of 8(, rows .*)?", view.seen)
    view.page.get_by_role("button", name="As at the first sight").click()
    view.painted()
    assert view.seen == "" and view.picture() == start
    view.stage.focus()
    view.press("+", "+")
    view.painted()
    assert view.seen.startswith("steps ")
    view.press("0")
    view.painted()
    assert view.picture() == start
    box = view.stage.bounding_box()
    view.page.mouse.move(box["x"] + 700, box["y"] + 10)
    view.page.mouse.wheel(0, -100)
    view.painted()
    assert view.picture() == start  # without a key the wheel is the page's
    view.page.keyboard.down("Control")
    view.page.mouse.wheel(0, -240)
    view.page.keyboard.up("Control")
    view.painted()
    assert view.seen.startswith("steps ")
    view.page.mouse.dblclick(box["x"] + 700, box["y"] + 10)
    view.painted()
    assert view.seen == "" and view.picture() == start


def test_dragging_pans_without_picking(shown):
    tree = tree_of(3, steps=22, text="hgf")
    view = shown(sent(tree))
    view.stage.focus()
    view.press("+", "+", "+", "+", "+")
    view.painted()
    before = view.seen
    box = view.stage.bounding_box()
    view.page.mouse.move(box["x"] + 500, box["y"] + 60)
    view.page.mouse.down()
    view.page.mouse.move(box["x"] + 300, box["y"] + 60, steps=4)
    view.page.mouse.up()
    view.painted()
    assert view.seen != before
    view.page.wait_for_timeout(300)
    assert view.sent == []
    seen = view.seen
    view.page.mouse.move(box["x"] + 500, box["y"] + 60)
    view.page.mouse.down()
    view.page.mouse.move(box["x"] + 500, box["y"] - 20)
    view.page.mouse.up()  # outside: that is no drag which would go on
    view.page.mouse.move(box["x"] + 200, box["y"] + 70)
    view.painted()
    assert view.seen == seen


def test_a_pick_leaves_the_picture_where_it_is_and_another_tree_begins_anew(shown):
    view = shown(sent(tree_of(3, steps=8)))
    view.stage.focus()
    view.press("+", "+", "+")
    view.painted()
    before = view.seen
    view.give(sent(tree_of(3, steps=8)))
    assert view.seen == before != ""
    view.give(sent(tree_of(3, steps=7)))
    assert view.seen == ""


def test_forty_steps_of_five_beams_stay_readable_and_what_is_chosen_is_scrolled_to(shown):
    tree = decode(
        tiny_checkpoint("decoder-only", max_target=60), "uvw", strategy=Beam(5), max_steps=40, ban=["</s>"]
    ).tree
    view = shown(sent(tree))
    first, last = map(int, re.match(r"steps (\d+) to (\d+) of 40", view.seen).groups())
    assert first == 1 and 9 <= last < 21  # so many tokens of legible size are side by side on 992 pixels
    picked = next(node for node in tree.nodes if node.step == 33 and node.kept)
    view.choose(dec_node=picked.index)
    first, last = map(int, re.match(r"steps (\d+) to (\d+) of 40", view.seen).groups())
    assert first <= 34 <= last
    assert view.find(said_of(tree, picked.index)[0], tree.why(picked.index)) is not None
    view.stage.focus()
    for _ in range(8):
        view.press("-")
    view.painted()
    assert view.seen == ""  # all of it


def test_an_unknown_choice_marks_nothing(shown):
    view = shown(sent(tree_of_words()))
    answer = view.page.locator("canvas.over").screenshot()
    view.choose(dec_node=99)
    assert view.page.locator("canvas.over").screenshot() != answer


@pytest.mark.parametrize("scheme", theme.THEMES)
def test_the_answers_line_is_drawn_in_the_colour_of_text_and_no_other_line_is(browser, scheme, tmp_path):
    tree = tree_of(4, steps=10)
    with mounting(browser, "beam_tree", RunView, viewport={"width": 992, "height": 760}, color_scheme=scheme) as mount:
        view = mount(sent(tree))
        with view.page.expect_download() as saved:
            view.pick_entry("SVG")
        saved.value.save_as(tmp_path / "picture.svg")
    paths = ElementTree.parse(tmp_path / "picture.svg").getroot().iter("{http://www.w3.org/2000/svg}path")
    curves = [path for path in paths if "C" in path.get("d") and float(path.get("stroke-width")) != 0.9]
    text = [int(theme.palette(scheme).text[i : i + 2], 16) for i in (1, 3, 5)]
    strong = [path for path in curves if path.get("stroke") == f"rgb({', '.join(map(str, text))})"]
    on_path = tree.path(tree.answer)
    assert len(strong) == len(on_path)
    assert len(curves) == sum(node.kept for node in tree.nodes)
    widths = sorted(float(path.get("stroke-width")) for path in strong)
    wanted = sorted(max(2, 0.9 + 7 * math.exp(node.log_prob)) for node in on_path)
    assert widths == pytest.approx(wanted, abs=0.01)  # as thick as the legend says


def test_the_picture_is_saved_whole_with_caption_legend_and_tokens(shown, tmp_path):
    tree = tree_of_words()
    view = shown(sent(tree))
    with view.page.expect_download() as saved:
        view.pick_entry("SVG")
    assert saved.value.suggested_filename == "picture.svg"
    saved.value.save_as(tmp_path / "picture.svg")
    svg = ElementTree.parse(tmp_path / "picture.svg").getroot()
    texts = [element.text for element in svg.iter("{http://www.w3.org/2000/svg}text")]
    for text in ("Beam tree, 2 beams × 3 steps", "a caption", "<s>", "the answer", "still going at the end", "step"):
        assert text in texts
    for text in ("\u2068عالم\u2069", "世界世界", "</s>"):
        assert any(each == text for each in texts), text
    assert any(each.startswith("<b>bold") for each in texts)
    assert not any(element.tag.endswith(("}b", "}img")) for element in svg.iter())
    with view.page.expect_download() as saved:
        view.pick_entry("PNG")
    saved.value.save_as(tmp_path / "picture.png")
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")


def test_what_was_cut_off_at_the_maximum_length_has_its_words_and_its_score(shown, tmp_path):
    tree = tree_of(3, steps=3, stop="early_stopping=False", penalty="power", length_penalty=1.0)
    cut = [node for node in tree.nodes if node.fate == "cut off"]
    view = shown(sent(tree))
    with view.page.expect_download() as saved:
        view.pick_entry("SVG")
    saved.value.save_as(tmp_path / "picture.svg")
    texts = [text.text for text in ElementTree.parse(tmp_path / "picture.svg").iter("{http://www.w3.org/2000/svg}text")]
    assert len(cut) > 1 and "still going, counted as finished" in texts and "still going at the end" not in texts
    for node in cut:
        words = "answer" if node.index == tree.answer else "cut off"
        assert f"{words} {number(node.score, 2)}" in texts


def test_many_beams_and_steps_are_drawn_where_they_are_seen(shown):
    tree = decode(
        tiny_checkpoint("decoder-only", max_target=60, target_vocab_size=20),
        "uvw",
        strategy=Beam(40),
        max_steps=50,
        ban=["</s>"],
    ).tree
    view = shown(sent(tree))
    assert re.fullmatch(r"steps 1 to \d+ of 50, rows 1 to \d+ of 40", view.seen)
    view.stage.focus()
    for _ in range(12):
        view.press("-")
    view.painted()
    assert view.seen == ""
    last = next(node for node in reversed(tree.nodes) if node.kept)
    view.choose(dec_node=last.index)
    view.press("0")
    view.press("End", "ArrowDown", "ArrowDown")
    assert view.tooltip[0].startswith("step 50: ")
