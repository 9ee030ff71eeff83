"""An answer being written, in a real browser with a real server: what grows with the step, and taking another token."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from browser.driving import MATRIX, SCRUBBER, TEXT, drawn, opened, server_unreachable, survey, tab_to, tooltip
from builders import tiny_checkpoint
from playwright.sync_api import Browser, Page, expect
from served import ROOT, serving

from viz_transformer.running.decoding import Run, decode
from viz_transformer.running.strategies import Sampling

SERVE = """
import sys
from pathlib import Path
from viz_transformer.command import server
sys.path.insert(0, "tests")
server.entry_script = lambda: Path(sys.argv[1])
server.run_app(port=0, browser=False)
"""


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the page of `decoding_parts.py`."""
    folder = tmp_path_factory.mktemp("parts")
    script = shutil.copy(Path(__file__).with_name("decoding_parts.py"), folder / "parts.py")
    shutil.copytree(ROOT / "static", folder / "static")  # fonts are served from beside the script
    with serving([sys.executable, "-c", SERVE, str(script)], folder / "parts.log") as found:
        yield found


def written(**forced: int) -> Run:
    """The run that the page shows when these tokens were taken, step1=token_id."""
    force = {int(step.removeprefix("step")): token_id for step, token_id in forced.items()}
    return decode(
        tiny_checkpoint(), "abc", strategy=Sampling(temperature=1.5, top_k=6, seed=2), force=force, max_steps=5
    )


def expect_run(page: Page, run: Run, step: int) -> None:
    """Wait until the scrubber shows this step of this run."""
    now = run.steps[step]
    says = page.locator(".scrubber .says")
    expect(says).to_contain_text(f"Step {step + 1} of {len(run.steps)}")
    given = "given" if now.forced else ""
    expect(says).to_contain_text(
        re.compile(rf"writes “?{re.escape(now.token)}”?{given}")
    )  # a special token has no quotes
    expect(page.locator(".scrubber .forced")).to_have_count(1 if now.forced else 0)
    read = ["<s>", *(each.token for each in run.steps[:-1])]
    expect(page.locator(".shading .token")).to_have_text(read)  # the new answer, in all pictures


def test_map_and_text_grow_with_the_step_before_the_server_hears_of_it(browser: Browser, parts: str) -> None:
    with opened(browser, parts) as page:
        stage, text = drawn(page, MATRIX), drawn(page, TEXT)
        drawn(page, SCRUBBER)
        where = survey(stage)
        with server_unreachable(page):
            for step in (0, 1, 2):
                if step:
                    page.get_by_role("button", name="Next step").click()
                expect(text.locator(".unwritten")).to_have_count(len(where.rows) - 1 - step)
                for row in where.rows:
                    stage.hover(position=where.at(row, 0))
                    assert (tooltip(stage)[-1] == "not written yet at this step") == (row > step)


def test_a_token_is_taken_by_mouse_and_the_answer_is_written_anew(browser: Browser, parts: str) -> None:
    before = written()
    other = next(each for each in before.steps[1].candidates[::-1] if each.token_id != before.steps[1].token_id)
    assert other.removed == "top-k"
    with opened(browser, parts) as page:
        drawn(page, SCRUBBER)
        page.get_by_role("button", name="Next step").click()
        expect_run(page, before, 1)
        row = page.locator(".candidate:not(.empty)").filter(has=page.get_by_text(other.token, exact=True))
        expect(row.locator(".final")).to_have_text("top-k")
        row.hover()
        row.get_by_role("button").click()
        expect_run(page, written(step1=other.token_id), 1)


def test_a_token_is_taken_by_keyboard_alone_and_another_behind_it(browser: Browser, parts: str) -> None:
    with opened(browser, parts) as page:
        drawn(page, SCRUBBER)
        grid = page.locator(SCRUBBER)
        tab_to(page, grid)
        page.keyboard.press("ArrowDown")
        while page.locator(".candidate.active.written").count():
            page.keyboard.press("ArrowDown")
        first = taken(page, written(), 0)
        run = written(step0=first)
        expect_run(page, run, 0)
        page.keyboard.press("ArrowRight")
        page.keyboard.press("ArrowRight")
        expect_run(page, run, 2)
        page.keyboard.press("ArrowDown")
        while page.locator(".candidate.active.written").count():
            page.keyboard.press("ArrowDown")
        second = taken(page, run, 2)
        expect_run(page, written(step0=first, step2=second), 2)


def taken(page: Page, run: Run, step: int) -> int:
    """Press Enter on the candidate that is pointed at; its id."""
    token = page.locator(".candidate.active .token").text_content() or ""
    page.keyboard.press("Enter")
    expect(page.locator(".scrubber [aria-live]")).to_have_text(
        re.compile(
            rf"Step {step + 1} is to write “?{re.escape(token)}”? instead of “?{re.escape(run.steps[step].token)}”?"
        )
    )
    return run.steps[step].vocabulary.index(token)
