"""A training on the screen, in a browser that is not touched while it goes on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from browser.driving import opened
from playwright.sync_api import expect
from served import APP, serving
from tabs import SECONDS
from wording import wording


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("VIZ_TRANSFORMER_CHECKPOINTS", str(tmp_path / "runs"))
    with serving(APP, tmp_path / "log") as url:
        yield url


def test_a_training_draws_itself_until_it_is_done(server, browser, tmp_path):
    texts = [f"{n * 7919 % 100_003}" for n in range(300)]
    (tmp_path / "digits.tsv").write_text("".join(f"{text}\t{text[::-1]}\n" for text in texts))
    with opened(browser, server, "/models", model_tab="train") as page:
        page.locator(".st-key-train_pairs_path input").fill(str(tmp_path / "digits.tsv"))
        page.keyboard.press("Enter")
        for name, value in (("layers", 1), ("d_model", 16), ("epochs", 90)):
            box = page.locator(f".st-key-train_{name} input")
            box.fill(str(value))
            box.press("Enter")
            expect(page.get_by_text(wording("undo_all_changes"))).to_be_visible()
        expect(page.get_by_text("1+1 layers, d_model 16")).to_be_visible()
        expect(page.get_by_text("90 epochs")).to_be_visible()
        page.locator(".st-key-train_button button").click()
        said = page.locator(".st-key-train_state")
        expect(said).to_contain_text(" left.", timeout=SECONDS)
        place = page.locator(".snapshots .stage")
        expect(place).to_be_visible(timeout=SECONDS)
        expect(page.locator(".st-key-train_loss .js-plotly-plot").last).to_be_visible()
        expect(said).to_contain_text(wording("is_now_a_model_on_every_page", "digits"), timeout=3 * SECONDS)
        card = json.loads((tmp_path / "runs" / "digits" / "card.json").read_text())
        steps = sum("snapshots/" in name for name in card["sha256"])
        expect(page.locator(".snapshots .row:not(.heading)")).to_have_count(steps)
        assert steps > 2
        page.locator(".st-key-train_open button").click()
        expect(page.locator(".vt-model")).to_have_text("digits")
