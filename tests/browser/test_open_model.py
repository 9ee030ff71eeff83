"""Another program's file in a real browser: named by its path, measured on texts, answered for, opened, and badged."""

from __future__ import annotations

import json
import re
from pathlib import Path

from browser.driving import expect_address, opened
from playwright.sync_api import Browser, Page, expect

import viz_transformer as vt
from viz_transformer.checkpoint.contents import bundled_folder

COPY = bundled_folder() / "copy"


def fill(page: Page, label: str, path: Path) -> None:
    """Type the path, and wait until the page has taken it."""
    box = page.get_by_label(label, exact=True).and_(page.locator("input[type=text]"))
    box.fill(str(path))
    box.press("Enter")
    expect(page.locator(".stApp[data-test-script-state=notRunning]")).to_be_visible()


def test_a_file_is_opened_by_its_path_answered_by_texts_and_shows_its_badge(
    their_server: str, theirs: Path, browser: Browser, tmp_path: Path
) -> None:
    library = theirs / "library"
    before = {*library.iterdir()} if library.exists() else set()
    pairs = vt.load(COPY).examples()[:12]
    (tmp_path / "pairs.tsv").write_text("".join(f"{source}\t{target}\n" for source, target in pairs))
    with opened(browser, their_server, "/models", another=True, model_tab="open") as page:
        fill(page, "Source vocabulary", COPY / "source_vocab.json")
        fill(page, "Target vocabulary", COPY / "target_vocab.json")
        fill(page, "Ten or more of your texts", tmp_path / "pairs.tsv")
        fill(page, "Weights", COPY / "model.safetensors")
        expect(page.get_by_role("combobox", name="Heads")).to_have_value("")
        page.get_by_role("button", name="Measure on the texts").click()
        expect(page.get_by_role("combobox", name="Heads")).to_have_value("4 (measured)")
        heads = page.locator(".vt-losses tr").filter(has=page.get_by_text("Heads", exact=True))
        expect(heads).to_contain_text("4: measured")
        expect(heads).to_contain_text(re.compile(r"8 +[01]\.\d{3}"))
        name = page.get_by_label("Name", exact=True)
        name.fill("letters-again")
        name.press("Enter")
        page.get_by_role("button", name="Open the model").click()
        expect_address(page, checkpoint="letters-again")
        expect(page.locator(".vt-card-badge", has_text="not proved (")).to_be_visible()
    card = json.loads((library / "letters-again" / "card.json").read_text())
    assert {"name": "n_heads", "value": 4, "origin": "measured"} in card["imported"]["settings"]
    assert {*library.iterdir()} - before == {library / "letters-again"}
