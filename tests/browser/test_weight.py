"""The One weight page in a real browser: every bundled model, by mouse and by keyboard, and the saved program."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
from browser.driving import drawn, expect_address, save, tab_to, tooltip, viewed
from playwright.sync_api import expect

import viz_transformer as vt

ROW = ".st-key-weight_row .stage"
BUNDLED = [summary.name for summary in vt.list_checkpoints()]


def title(page):
    return page.locator(".st-key-weight_panel .vt-section")


ONE_OF_A_KIND = ("copy", "en-it-slips", "shakespeare", "taylor")


@pytest.mark.parametrize(
    "name", [pytest.param(each, marks=() if each in ONE_OF_A_KIND else pytest.mark.slow) for each in BUNDLED]
)
def test_every_bundled_model_has_a_weight_whose_ladder_agrees(browser, app_server, name):
    with viewed(browser, app_server, "/weight", checkpoint=name) as page:
        drawn(page, ROW, "against all keys")
        agree = re.compile("comparisons with the recorded run agree up to float32 rounding")
        expect(page.locator(".st-key-weight_verdict")).to_contain_text(agree)
        expect(page.locator(".st-key-weight_ladder [data-testid=stRadioOption]")).to_have_count(17)
        expect(page.locator(".st-key-weight_torch")).to_contain_text("nn.MultiheadAttention")
        expect(title(page)).to_have_text("Products that add up")
        expect(page.locator(".st-key-weight_picture .main-svg").first).to_be_visible()


def test_the_mouse_picks_a_key_and_a_line_and_the_keyboard_does_too(browser, app_server):
    with viewed(browser, app_server, "/weight", checkpoint="numbers-tiny") as page:
        stage, cell = drawn(page, ROW), page.locator(".vt-cell")
        box = stage.bounding_box()
        page.mouse.click(box["x"] + 126 + 4.5 * 72, box["y"] + 110)
        expect(cell).to_contain_text(" gives key 4 ")
        assert tooltip(stage)[1].startswith("key 4: ")
        expect_address(page, i=4)
        tab_to(page, page.locator(ROW))
        for key in ("ArrowRight", "ArrowDown"):
            page.keyboard.press(key)
        expect(cell).to_contain_text(re.compile("Query 1 .* gives key 5 "))
        expect_address(page, i=5, t=1)
        page.locator(".st-key-weight_ladder [data-testid=stRadioOption]").nth(10).click()
        expect(title(page)).to_have_text("Softmax of the row")
        page.keyboard.press("ArrowDown")
        expect(title(page)).to_have_text("The weight")
        expect_address(page, weight_line="weight")
        page.reload()
        expect(title(page)).to_have_text("The weight")
        expect(cell).to_contain_text(re.compile("Query 1 .* gives key 5 "))


def test_the_saved_program_trace_and_model_give_the_digits_of_the_page(browser, app_server, tmp_path):
    with viewed(browser, app_server, "/weight", checkpoint="numbers-tiny", kind="decoder", t=3, u=2) as page:
        drawn(page, ROW)
        expect(page.locator(".st-key-weight_python code")).to_have_count(2)
        buttons = [page.locator(f".st-key-weight_{what} button") for what in ("trace", "model", "program")]
        files = [save(page, button, tmp_path) for button in buttons]
        assert [file.name for file in files] == ["trace.safetensors", "model.safetensors", "one_weight.py"]
        prints = page.locator(".st-key-weight_python code").nth(1).inner_text()
    done = subprocess.run([sys.executable, "-I", "one_weight.py"], capture_output=True, text=True, cwd=tmp_path)
    assert done.stderr == ""
    assert done.stdout.split() == prints.split()
