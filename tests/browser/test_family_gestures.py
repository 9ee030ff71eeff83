"""Folders of transformers by mouse: opened from the screen, masked by a click, read, edited, taken from, saved, and
keys of a mask closed and opened."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import cast

import numpy as np
import pytest
from browser.driving import (
    MATRIX,
    SCRUBBER,
    drawn,
    entry,
    expect_address,
    go_to,
    opened,
    save,
    survey,
    viewed,
)
from browser.expected import mask_of, weights_of
from browser.test_leads import at_its_end
from browser.test_masks import STAGE as MASKS
from browser.test_open_model import fill
from playwright.sync_api import Browser, Locator, Page, expect

pytest.importorskip("transformers")
from pretrained import ending, folder

from viz_transformer import decode, load, read, trace
from viz_transformer.analysis.attention.maps import step_row
from viz_transformer.analysis.decoding.doubt import most_doubtful
from viz_transformer.checkpoint import Checkpoint
from viz_transformer.figures import labels
from viz_transformer.model.kinds import KINDS as ATTENTIONS
from viz_transformer.model.kinds import Kind, KindName
from viz_transformer.running.decoding import Run
from viz_transformer.running.edits import SetMask

FAMILIES = {"llama": "decoder", "albert": "encoder", "bart": "cross"}
"""Turned queries whose heads share keys, masked tokens, and two stacks: what is each one's own is tried always, all
gestures on the last, and on the others before a release. Those of six more are tried without a browser:
`pages/test_family_gestures.py`."""
OF_ITS_OWN = {
    "llama": ("Attention", "A key head has"),
    "albert": ("Input", "A norm and then a projection, from 16 features to 32, turn it into the input."),
    "bart": ("Input", "Norm of embedding × scale + position = input"),
}
"""A page that shows what only such a family has, and what stands there."""


# The rightmost place that says so of a cell: of the four masks the last one's, unless its title is asked for.
_CELL = """(stage, [query, key, said]) => {
  const box = stage.getBoundingClientRect()
  const tip = stage.getRootNode().querySelector(".tooltip")
  const at = (x, y) => {
    stage.dispatchEvent(new PointerEvent("pointermove", { clientX: box.left + x, clientY: box.top + y }))
    return tip.hidden ? "" : tip.textContent
  }
  const inside = () => {
    for (let x = box.width - 4; x > 0; x -= 6) for (let y = 60; y < box.height; y += 12) if (at(x, y)) return x
  }
  const right = inside()
  for (let y = 30; y < box.height; y += 4) {
    if (!at(right, y).startsWith(`query ${query}:`)) continue
    for (let x = right; x > 0; x -= 4) {
      const words = at(x, y + 4)
      if (words.includes(`key ${key}:`) && words.endsWith(said)) return { x: x - 4, y: y + 4 }
    }
    return null
  }
}"""


def click_cell(stage: Locator, query: int, key: int, said: str) -> None:
    """A click on the mask's cell that says this; there has to be one."""
    place = stage.evaluate(_CELL, [query, key, said])
    assert place, (query, key, said)
    stage.click(position=place)


@pytest.fixture
def elsewhere(theirs: Path, name: str) -> Path:
    """Another folder of the same family, which the app does not know."""
    made = theirs / "elsewhere" / name
    if not made.exists():
        folder(made, name, seed=1)
        if name != "albert":
            ending(made)
    return made


def open_from_the_screen(page: Page, elsewhere: Path, name: str) -> None:
    """The other folder of this family, by its path, under a name of its own."""
    fill(page, "Weights", elsewhere)
    box = page.get_by_label("Name", exact=True)
    expect(box).to_have_value(f"{name}-2")  # the app has one of this name already
    box.fill(f"my-{name}")
    box.press("Enter")
    page.get_by_role("button", name="Open the model").click()
    expect_address(page, checkpoint=f"my-{name}")


def saved_table(page: Page, folder: Path) -> list[list[str]]:
    """The table of the map, opened and saved: its lines without the heading."""
    entry(page.locator(".matrix"), "Table").click()
    expect(page.get_by_test_id("stDataFrame")).to_be_visible()
    path = save(page, page.locator(".st-key-table_csv button"), folder)
    page.keyboard.press("Escape")
    expect(page.get_by_test_id("stDataFrame")).to_have_count(0)
    with path.open(encoding="utf-8", newline="") as file:
        return [*csv.reader(file)][1:]


@pytest.mark.parametrize(
    "name", ["bart", *(pytest.param(name, marks=pytest.mark.slow) for name in ("llama", "albert"))]
)
def test_a_folder_takes_every_gesture(
    their_server: str, browser: Browser, theirs: Path, elsewhere: Path, tmp_path: Path, name: str
) -> None:
    ckpt, kind, text = load(elsewhere), FAMILIES[name], "the cat ran"
    run = decode(ckpt, text) if ckpt.spec.writes else read(ckpt, text)
    weights, mask = weights_of(run, kind, 0)[1], mask_of(run, kind, 0)
    fields = {
        "checkpoint": name,
        "text": text,
        "kind": kind,
        "layer": "0",
        "heads": "1",
        "part": "ffn",
        "model_tab": "open",
    }
    with opened(browser, their_server, "/models", **fields) as page:
        open_from_the_screen(page, elsewhere, name)
        expect(page.locator(f".st-key-card_selected_my-{name}")).to_be_visible()
        assert (theirs / "library" / f"my-{name}").is_symlink()
        go_to(page, "Attention")
        stage = drawn(page, MATRIX)
        at_its_end(page)
        found = survey(stage, cells=True)
        assert len(found.rows) == len(weights) and len(found.columns) >= mask.shape[1]
        for (row, column), lines in found.cells.items():
            if column < mask.shape[1] and mask[row, column]:
                assert lines[-1] == f"weight {labels.share(float(weights[row, column]))}"
            else:
                assert "masked" in lines[-1]
        place = max(at for at in found.cells if at[1] < mask.shape[1] and mask[at])
        stage.click(position=found.at(*place))
        expect_address(page, **dict(zip(ATTENTIONS[kind].fields, place, strict=True)))
        at_its_end(page)
        lines = saved_table(page, tmp_path)
        for row, line in enumerate(lines):
            assert np.array_equal(np.array(line[1 : 1 + mask.shape[1]], np.float32), weights[row])
        go_to(page, OF_ITS_OWN[name][0])
        says_what_is_its_own(page, ckpt, name)
        closed_and_opened(page, ckpt, run)
        if ckpt.spec.writes:
            taken_and_edited(page, ckpt, text)
        else:
            masked_and_shown_again(page, ckpt, text)
        expect(page.locator(".vt-note.vt-bad:visible")).to_have_count(0)


@pytest.mark.parametrize("name", ["llama", "albert"])
def test_what_only_a_family_has_is_shown_and_taken(
    their_server: str, browser: Browser, theirs: Path, name: str
) -> None:
    ckpt, text = load(theirs / "models" / name), "the cat ran"
    path = f"/{OF_ITS_OWN[name][0].lower()}"
    fields = {"checkpoint": name, "text": text, "kind": FAMILIES[name], "layer": "0", "heads": "1"}
    with viewed(browser, their_server, path, **fields) as page:
        says_what_is_its_own(page, ckpt, name)
        if not ckpt.spec.writes:
            masked_and_shown_again(page, ckpt, text)
        expect(page.locator(".vt-note.vt-bad:visible")).to_have_count(0)


def says_what_is_its_own(page: Page, ckpt: Checkpoint, name: str) -> None:
    """What only this family has stands on the page, and heads that share keys are chosen together."""
    expect(page.get_by_test_id("stMain")).to_contain_text(OF_ITS_OWN[name][1])
    if ckpt.spec.heads(FAMILIES[name], 0).shared > 1:
        page.locator(".st-key-attention_shared button").click()
        expect_address(page, heads="0,1")
        expect(page.locator(MATRIX)).to_have_count(2)


def masked_and_shown_again(page: Page, ckpt: Checkpoint, text: str) -> None:
    """On Run a click on a token masks it, and another shows it again."""
    go_to(page, "Run")
    masks = page.locator(".st-key-run_masked button")
    token = masks.nth(1).inner_text()
    masks.nth(1).click()
    expect_address(page, masked=2)
    reads = page.get_by_role("group", name="reads").locator(".chip")
    expect(reads.nth(2)).to_contain_text("[MASK]")
    logits = read(ckpt, text, masked=[2]).trace["logits"][0, 2]
    fills = page.get_by_role("group", name="fills in").locator(".chip")
    expect(fills).to_have_count(1)
    expect(fills).to_contain_text(ckpt.codec("source").names[int(logits.argmax())])
    masks.nth(1).click()
    expect_address(page, masked=None)
    expect(reads.nth(2)).to_contain_text(token)
    expect(fills).to_have_count(0)


def closed_and_opened(page: Page, ckpt: Checkpoint, run: Run) -> None:
    """On Masks a key is closed to a query by a click, and a later one opened where there is one that is closed; what
    the rows write or fill in then is what they do in Python, and a second click on each undoes it."""
    read, stack = (run.trace.tgt_ids, "decoder") if ckpt.spec.has_decoder else (run.trace.src_ids, "encoder")
    kind = ATTENTIONS[cast(KindName, stack)]
    closed = "closed by " + ("causality" if ckpt.spec.heads(kind.name, 0).window is None else "the window")
    clicks = [(2, 1, "”open")] + ([(1, 2, f"”{closed}")] if stack == "decoder" else [])
    if page.locator("h1").inner_text() != "Masks":
        go_to(page, "Masks")
    given = [run.trace.src_ids, read] if ckpt.spec.has_encoder and stack == "decoder" else [read]
    before, after = (
        trace(ckpt, *given, edits=edits)["logits"][0].double() for edits in ([], edits_of(ckpt, kind, clicks))
    )
    assert len(read) > 2 and not after.equal(before)
    stage, words = drawn(page, MASKS), list[str]()
    at_its_end(page)
    main = page.get_by_test_id("stMain")
    if stack == "decoder":
        assert stage.evaluate(_CELL, [1, 2, closed])
        click_cell(stage, 2, 1, "Before: open")
        expect_address(page, t=2, u=1, mask_cells=None)
        expect(main).to_contain_text("What may query 2 read in layer")
        at_its_end(page)
    for query, key, said in clicks:
        click_cell(stage, query, key, said)
        words.append(f"{kind.letter}{query}.{key}")
        expect_address(page, mask_cells=",".join(words))
    expect(main).to_contain_text(
        f"The largest change of a logit is {labels.number(float((after - before).abs().max()))}"
    )
    at_its_end(page)
    for query, key, said in clicks:
        click_cell(stage, query, key, "closed here, was open" if said == "”open" else f"opened here, was {closed}")
    expect_address(page, mask_cells=None)
    expect(main).to_contain_text("No cell has been changed.")


def edits_of(ckpt: Checkpoint, kind: Kind, clicks: list[tuple[int, int, str]]) -> list[SetMask]:
    sites = [kind.site(layer) for layer in range(kind.layers(ckpt.spec))]
    return [SetMask(site, query, key, allowed=said != "”open") for site in sites for query, key, said in clicks]


def taken_and_edited(page: Page, ckpt: Checkpoint, text: str) -> None:
    """On Decoding another candidate is taken, then the text is edited; what is written follows each time."""
    trunk = decode(ckpt, text)
    other = trunk.steps[0].candidates[2]
    go_to(page, "Decoding")
    drawn(page, SCRUBBER)
    at_its_end(page)
    page.locator(".scrubber .stage").focus()
    page.keyboard.press("Home")
    row = page.locator(".candidate:not(.empty)").nth(2)
    row.hover()
    row.get_by_role("button").click()
    says = page.locator(".scrubber .says bdi").last  # of the first step, which may be the only one
    expect(says).to_have_text(labels.visible(other.token))
    expect(page.locator(".st-key-branch_here")).to_be_visible()
    expect_address(page, branch="1")
    branch = decode(ckpt, text, force={0: other.token_id})
    if len(branch.steps) > 1:
        page.get_by_role("button", name="Next step").click()
        expect(says).to_have_text(labels.visible(branch.steps[1].token))
        expect_address(page, t=step_row(branch, 1))
    page.keyboard.press("e")
    expect(page.get_by_role("textbox", name="Edit the text")).to_have_value(text)
    page.keyboard.type("a dog")
    page.keyboard.press("Enter")
    expect_address(page, text="a dog")
    at_its_end(page)
    steps = decode(ckpt, "a dog").steps
    expect(says).to_have_text(labels.visible(steps[most_doubtful(steps)].token))
