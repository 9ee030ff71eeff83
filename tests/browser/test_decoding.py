"""The Decoding page in a real browser: strategies, steps, branches, tree, by mouse, by keyboard and by address."""

from __future__ import annotations

import pytest
from browser.boxes import AT_REST
from browser.driving import SCRUBBER, address, choose, drawn, expect_address, go_to, server_unreachable, tab_to, viewed
from playwright.sync_api import Browser, Page, expect

from viz_transformer import decode, load
from viz_transformer.analysis.attention.maps import step_row
from viz_transformer.analysis.decoding.doubt import most_doubtful
from viz_transformer.running.strategies import Beam, Sampling

TEXTS = {
    "numbers": "29,284.30",
    "multi30k-de-en": "Ein brauner Hund schwimmt durch einen See.",
    "shakespeare": "ROMEO:",
}
TREE = ".beam_tree .stage"
WRITES = ".st-key-strip .chips .row >> nth=1"


def expect_step(page: Page, step: int, token: str) -> None:
    """Wait until the scrubber shows this step, an index, and that it writes this token."""
    says = page.locator(".scrubber .says")
    expect(says).to_contain_text(f"Step {step + 1} of ")
    expect(says.locator("bdi").last).to_have_text(token)


def shown_token(token: str) -> str:
    return {"\n": "␊", " ": "␣"}.get(token, token)


@pytest.mark.parametrize("name", ["numbers", pytest.param("shakespeare", marks=pytest.mark.slow)])
def test_another_token_is_taken_by_mouse_and_grows_a_branch_that_a_link_restores(
    app_server: str, browser: Browser, name: str
) -> None:
    ckpt, text = load(name), TEXTS[name]
    trunk = decode(ckpt, text)
    other = trunk.steps[1].candidates[2]
    branch = decode(ckpt, text, force={1: other.token_id})
    first = str(step_row(trunk, 0))
    with viewed(browser, app_server, "/decoding", checkpoint=name, text=text, t=first) as page:
        drawn(page, SCRUBBER)
        page.get_by_role("button", name="Next step").click()
        expect_step(page, 1, shown_token(trunk.steps[1].token))
        expect_address(page, t=step_row(trunk, 1))  # what is taken while the page hears of the step has been lost once
        expect(page.locator("[data-test-script-state=running]")).to_have_count(0)
        row = page.locator(".candidate:not(.empty)").nth(2)
        row.hover()
        row.get_by_role("button").click()
        expect_step(page, 1, shown_token(other.token))
        expect(page.locator(".st-key-branch_here")).to_be_visible()
        page.get_by_role("button", name="Next step").click()
        expect_step(page, 2, shown_token(branch.steps[2].token))
        expect_address(page, branch="1", branch_b="0", t=str(step_row(trunk, 2)))
        link = page.url
        page.get_by_role("button", name="Close", exact=True).last.click()
        expect(page.locator(".st-key-branch_here")).to_have_count(0)
        expect_address(page, branch=None, branches=None)
        page.goto(link)
        drawn(page, SCRUBBER)
        expect_step(page, 2, shown_token(branch.steps[2].token))
        go_to(page, "Attention")
        go_to(page, "Decoding")
        expect_step(page, 2, shown_token(branch.steps[2].token))


@pytest.mark.parametrize("name", ["shakespeare", pytest.param("multi30k-de-en", marks=pytest.mark.slow)])
def test_a_beam_is_searched_and_its_tree_walked_by_keyboard_alone(app_server: str, browser: Browser, name: str) -> None:
    ckpt, text = load(name), TEXTS[name]
    run = decode(ckpt, text, strategy=Beam(4))
    tree = run.tree
    assert tree is not None
    with viewed(browser, app_server, "/decoding", checkpoint=name, text=text) as page:
        drawn(page, SCRUBBER)
        strategy = page.locator(".st-key-decoding_strategy [role=radiogroup]")
        tab_to(page, strategy.get_by_role("radio", name="greedy"), presses=80)
        page.keyboard.press("ArrowRight")
        page.keyboard.press("ArrowRight")
        page.keyboard.press("Enter")
        expect_address(page, strategy="beam", dec_tab="tree")
        stage = drawn(page, TREE)
        tab_to(page, stage, presses=200)
        page.keyboard.press("End")
        page.keyboard.press("ArrowLeft")
        page.keyboard.press("Enter")
        parent = tree.nodes[tree.answer].parent
        expect_address(page, dec_node=str(parent))
        expect(page.locator(".st-key-decoding_below")).to_contain_text(tree.why(parent or 0))
        page.get_by_role("button", name="Continue from here").click()
        expect_address(page, branch="1")


def test_steps_are_walked_and_played_in_the_browser_alone(app_server: str, browser: Browser) -> None:
    run = decode(load("numbers"), TEXTS["numbers"])
    with viewed(browser, app_server, "/decoding", checkpoint="numbers", text=TEXTS["numbers"], t="0") as page:
        stage = drawn(page, SCRUBBER)
        with server_unreachable(page):
            stage.focus()
            for step in range(1, 4):
                page.keyboard.press("ArrowRight")
                expect_step(page, step, shown_token(run.steps[step].token))
            page.keyboard.press("ArrowLeft")
            expect_step(page, 2, shown_token(run.steps[2].token))
            page.get_by_role("button", name="Play the steps").click()
            expect_step(page, len(run.steps) - 1, run.steps[-1].token)
        expect_address(page, t=str(len(run.steps) - 1))


def test_two_runs_stand_beside_each_other_at_the_same_step_and_the_same_token_is_marked_in_both(
    app_server: str, browser: Browser
) -> None:
    a, b = (decode(load("numbers"), text) for text in (TEXTS["numbers"], "7,284"))
    pin = {"pin_checkpoint": "numbers", "pin_text": "7,284", "shown": "A|B"}
    with viewed(browser, app_server, "/decoding", checkpoint="numbers", text=TEXTS["numbers"], t="1", **pin) as page:
        both = page.locator(".scrubber")
        expect(both).to_have_count(2)
        for step in (1, 2):
            for place, run in enumerate((a, b)):
                expect(both.nth(place).locator(".says")).to_contain_text(f"Step {step + 1} of {len(run.steps)}")
                expect(both.nth(place).locator(".written .token")).to_have_text(shown_token(run.steps[step].token))
            left, right = (both.nth(place).locator(".candidate .bar").first.bounding_box() for place in (0, 1))
            assert left and right and abs(left["width"] - right["width"]) < 1  # one scale
            both.nth(1).get_by_role("button", name="Next step").click()
        shared = {each.token for each in a.steps[3].candidates} & {each.token for each in b.steps[3].candidates}
        token = shown_token(sorted(shared)[0])
        row = both.nth(0).locator(".candidate:not(.empty)").filter(has=page.get_by_text(token, exact=True))
        row.hover()
        expect(both.nth(1).locator(".twin .token")).to_have_text(token)
        page.mouse.move(5, 5)
        expect(page.locator(".twin")).to_have_count(0)
        both.nth(0).get_by_role("button", name="Play the steps").click()
        expect_address(page, t=str(len(a.steps) - 1))
        expect(both.nth(1).locator(".says")).to_contain_text("nothing of the answer")


def test_a_long_token_is_whole_where_there_is_room(app_server: str, browser: Browser) -> None:
    text = "Ein Mann baut ein Geb\u00e4ude."
    with viewed(browser, app_server, "/decoding", checkpoint="multi30k-de-en", text=text, t="0") as page:
        drawn(page, SCRUBBER)
        cut = "(all) => all.filter((each) => each.scrollWidth > each.clientWidth).map((each) => each.textContent)"
        for step in range(len(decode(load("multi30k-de-en"), text).steps)):
            if step:
                page.get_by_role("button", name="Next step").click()
            found = page.locator(".scrubber .candidate:not(.empty) .token").evaluate_all(cut)
            assert [token for token in found if len(token) < 16] == []


def test_a_candidate_s_two_numbers_stand_beside_each_other_on_one_line(app_server: str, browser: Browser) -> None:
    view = {"checkpoint": "numbers-tiny", "text": "0.07", "strategy": "sampling"}
    with viewed(browser, app_server, "/decoding", **view) as page:
        for width in (900, 1280):
            page.set_viewport_size({"width": width, "height": 720})
            page.evaluate(AT_REST)
            drawn(page, SCRUBBER)
            rows = page.locator(".scrubber .candidate:not(.empty)").all()
            assert rows
            for row in rows:
                model, strategy, bar = (row.locator(f".{name}").bounding_box() for name in ("value", "final", "bar"))
                assert model and strategy and bar
                assert abs(model["y"] - strategy["y"]) < 2, width
                assert bar["x"] + bar["width"] < model["x"] < model["x"] + model["width"] < strategy["x"], width


def test_sampling_by_an_address_writes_what_python_writes(app_server: str, browser: Browser) -> None:
    name = "multi30k-de-en"
    strategy = Sampling(temperature=2.0, top_k=50, top_p=0.9, seed=5)
    run = decode(load(name), TEXTS[name], strategy=strategy)
    with viewed(
        browser, app_server, "/decoding", checkpoint=name, text=TEXTS[name],
        strategy="sampling", sampling="2.0,50,0.9,0.0,1.0,5", t="1",
    ) as page:  # fmt: skip
        drawn(page, SCRUBBER)
        expect_step(page, 1, run.steps[1].token)
        expect(page.locator(".vt-formula")).to_contain_text(strategy.formula())
        seed = page.locator(".st-key-decoding_sampling_5 input")
        seed.fill("6")
        seed.press("Enter")
        again = decode(load(name), TEXTS[name], strategy=Sampling(temperature=2.0, top_k=50, top_p=0.9, seed=6))
        doubtful = most_doubtful(again.steps)
        expect_step(page, doubtful, again.steps[doubtful].token)
        assert address(page)["sampling"] == "2.0,50,0.9,0.0,1.0,6"
        page.go_back()
        expect_address(page, sampling="2.0,50,0.9,0.0,1.0,5")


def test_a_search_that_takes_long_is_stopped_and_what_was_there_is_there_again(
    app_server: str, browser: Browser
) -> None:
    with viewed(browser, app_server, "/decoding", checkpoint="shakespeare", text="ROMEO:", strategy="beam") as page:
        drawn(page, SCRUBBER)
        width = page.locator(".st-key-decoding_beam_0 input")
        width.fill("100")
        width.press("Enter")
        expect(page.get_by_role("button", name="Stop", exact=True)).to_be_in_viewport(ratio=1)
        page.get_by_role("button", name="Stop", exact=True).click()
        expect(page.get_by_text("Stopped: what was shown before is shown.")).to_be_visible()
        expect_address(page, strategy="beam", beam=None)
        expect(page.get_by_role("button", name="Stop", exact=True)).to_have_count(0)
        drawn(page, SCRUBBER)


def test_branches_are_shown_compared_and_renamed_by_keyboard_with_the_focus_kept(
    app_server: str, browser: Browser
) -> None:
    with viewed(
        browser, app_server, "/decoding", checkpoint="numbers", text=TEXTS["numbers"], branches="0.2.9.one", branch="1",
        dec_tab="branches",
    ) as page:  # fmt: skip
        compare = page.locator(".st-key-branch_compare_0 button")
        tab_to(page, compare, presses=200)
        page.keyboard.press("Enter")
        expect(compare).to_have_text("Compared")
        expect(page.get_by_text("one and answer, side by side")).to_be_visible()
        expect(compare).to_be_focused()
        tab_to(page, page.get_by_label("Name of the branch"))
        page.keyboard.press("Control+A")
        page.keyboard.type("two")
        page.keyboard.press("Enter")
        expect(page.get_by_text("two and answer, side by side")).to_be_visible()
        expect(page.get_by_label("Name of the branch")).to_be_focused()
        show = page.locator(".st-key-branch_show_0 button")
        show.focus()
        page.keyboard.press("Enter")
        expect(show).to_have_text("Shown")
        expect(page.get_by_label("Name of the branch")).to_have_count(0)
        expect(show).to_be_focused()


def test_a_branch_is_renamed_pinned_and_subtracted(app_server: str, browser: Browser) -> None:
    with viewed(
        browser, app_server, "/decoding", checkpoint="numbers", text=TEXTS["numbers"], branches="0.2.9.one", branch="1"
    ) as page:
        drawn(page, SCRUBBER)
        choose(page, "decoding_tab", "Branches")
        box = page.get_by_label("Name of the branch")
        box.fill("<b>mine</b>")
        box.press("Enter")
        expect(page.locator(".st-key-branch_words_1")).to_contain_text("bmineb")
        page.get_by_role("button", name="Keep run").click()
        expect_address(page, pin_how="greedy|||2:9|bmineb|")
        choose(page, "pin_shown", "B")
        expect_address(page, shown="B")
        choose(page, "decoding_tab", "Step")
        drawn(page, SCRUBBER)


def test_while_the_steps_are_played_no_question_of_another_step_is_shown(app_server: str, browser: Browser) -> None:
    with viewed(browser, app_server, "/decoding", checkpoint="numbers", text="29,284.30", t="0") as page:
        drawn(page, SCRUBBER)
        question, slider = page.locator(".vt-question"), page.locator(".scrubber input[type=range]")
        expect(question).to_contain_text("at step 1")
        page.get_by_role("button", name="Play the steps").click()
        expect(question).to_be_hidden()
        expect(slider).to_have_value("3")
        expect(question).to_be_hidden()
        page.get_by_role("button", name="Pause").click()
        expect(question).to_be_visible()
        expect(question).to_contain_text(f"at step {int(slider.input_value()) + 1}?")


def test_while_the_steps_are_played_the_whole_answer_is_not_in_large_above_them(
    app_server: str, browser: Browser
) -> None:
    with viewed(browser, app_server, checkpoint="numbers", text="29,284.30") as page:
        drawn(page, SCRUBBER)
        answer = page.locator(".vt-answer")
        expect(answer).to_have_text("twenty-nine thousand, two hundred and eighty-four point three")
        page.get_by_role("button", name="Play the steps").click()
        expect(answer).to_be_hidden()
        page.get_by_role("button", name="Pause").click()
        expect(answer).to_be_visible()


@pytest.mark.parametrize(
    ("strategy", "name"),
    [
        ("greedy", "numbers"),
        ("sampling", "multi30k-de-en"),
        ("sampling", "shakespeare"),
        pytest.param("greedy", "multi30k-de-en", marks=pytest.mark.slow),
        pytest.param("greedy", "shakespeare", marks=pytest.mark.slow),
        pytest.param("sampling", "numbers", marks=pytest.mark.slow),
    ],
)
def test_the_step_is_in_view_without_scrolling(app_server: str, browser: Browser, name: str, strategy: str) -> None:
    with viewed(browser, app_server, "/decoding", checkpoint=name, text=TEXTS[name], strategy=strategy) as page:
        page.set_viewport_size({"width": 1280, "height": 720})
        drawn(page, SCRUBBER)
        for part in (
            ".scrubber .candidate.written",
            ".scrubber .axis",
            ".st-key-decoding_text_decoder .shading .title",
        ):
            box = page.locator(part).first.bounding_box()
            assert box and box["x"] >= 240 and box["x"] + box["width"] <= 1280 and box["y"] + box["height"] <= 720
        bar = page.locator(".st-key-decoding_row").bounding_box()
        assert bar and bar["height"] <= 44
        picture, panel = (page.locator(f".st-key-{key}").bounding_box() for key in ("picture", "panel"))
        assert picture and panel and picture["x"] + picture["width"] <= panel["x"]
        settings = page.locator(".st-key-decoding_settings").bounding_box()
        assert settings and panel["x"] + panel["width"] <= settings["x"]  # beside the bars, in view with them
        assert settings["x"] + settings["width"] <= 1280 and settings["y"] <= panel["y"] + 8
        for seed in page.locator(".st-key-decoding_settings .stNumberInput").all():
            box = seed.bounding_box()
            assert box and box["y"] + box["height"] <= 720


def test_the_bars_of_two_runs_are_in_view_with_their_axes(app_server: str, browser: Browser) -> None:
    pinned = {"pin_checkpoint": "numbers", "pin_text": "1,234.50", "shown": "A|B"}
    with viewed(browser, app_server, "/decoding", checkpoint="numbers", text="29,284.30", **pinned) as page:
        page.set_viewport_size({"width": 1280, "height": 720})
        for key in ("decoding_steps", "decoding_steps_b"):
            axis = page.locator(f".st-key-{key} .scrubber .axis").first.bounding_box()
            assert axis and axis["y"] + axis["height"] <= 720
