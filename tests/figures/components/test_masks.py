"""What the masks are sent is what they were given; a click turns a cell round, and Python hears of all that are."""

from itertools import product

import numpy as np
import pytest
from mounted import mounted
from playwright.sync_api import expect

from viz_transformer import payload
from viz_transformer.analysis.attention.axes import Axis, Texts
from viz_transformer.analysis.masks.parts import change_of, mask_parts
from viz_transformer.figures.components.masks import HEIGHT, MAX_CHANGES, MaskGrids, MaskWords, masks_payload

TOKENS = ("<s>", "a", "b", "<b>", "<pad>")
KEEP = [True, True, True, True, False]
ABOVE = 300  # pixels of a page above its picture, as parts/stage.js has it


def of(cells=(), token="", kind="decoder", tokens=TOKENS, keep=KEEP, **changes):
    parts = mask_parts(kind, keep, keep)
    rows = Axis("t", "query", "reads", "target", Texts(tokens, special=[0, 4]))
    columns = Axis("u", "key", "keys, target", "target", Texts(tokens, special=[0, 4]))
    grids = MaskGrids(kind, parts.padding, parts.causal, (rows, columns), list(cells))
    why = changes.pop("why", None)
    notes = changes.pop("notes", ("one", "two", "three", "four"))
    said = MaskWords(notes, "the caption", "masks", **changes)
    return masks_payload(grids, said, token=token, why=why)


def test_both_masks_arrive_bit_by_bit():
    header, arrays = payload.unpack(of(["d1.2", "e0"]))
    parts = mask_parts("decoder", KEEP, KEEP)
    assert (arrays["padding"] == parts.padding).all() and (arrays["causal"] == parts.causal).all()
    assert header["cells"] == ["d1.2", "e0"] and header["most"] == MAX_CHANGES
    assert [panel["title"] for panel in header["panels"]] == ["Padding", "Causal", "Before", "After"]
    assert [panel["note"] for panel in header["panels"]] == ["one", "two", "three", "four"]


def test_masks_may_have_other_names_and_reasons():
    header, _ = payload.unpack(of(parts=("Keys", "Window"), reasons=("the mask for all queries", "the window")))
    assert [panel["title"] for panel in header["panels"]] == ["Keys", "Window", "Before", "After"]
    assert header["reasons"] == ["the mask for all queries", "the window"]
    assert "keys, window, both before, and after" in header["label"]


def test_what_does_not_fit_is_refused():
    with pytest.raises(ValueError, match="do not fit 2 rows and 2 columns"):
        of(tokens=TOKENS[:2])


# ---- in a browser: tests/javascript/masks_*.test.js have all that needs none

WHERE = """(stage) => {
  const found = {}
  const box = stage.getBoundingClientRect()
  const tip = stage.getRootNode().querySelector(".tooltip")
  for (let y = 4; y < box.height; y += 15)
    for (let x = 4; x < box.width; x += 15) {
      stage.dispatchEvent(new PointerEvent("pointermove", { clientX: box.left + x, clientY: box.top + y }))
      if (!tip.hidden) found[[...tip.children].map((line) => line.textContent).join("|")] ??= [x, y]
    }
  return found
}"""


def cells(shown):
    """The text of each cell's tooltip, and a place in it."""
    return shown.page.locator(".stage").evaluate(WHERE)


def states(shown, size=5):
    """What the tooltips of the last mask say, by cell."""
    found = {}
    for lines in cells(shown):
        query, key, state = lines.split("|")
        if not state.startswith(("Padding:", "Causal:", "Before:")):
            found[int(query.split()[1][:-1]), int(key.split()[1][:-1])] = state
    assert len(found) == size * size
    return found


def click(shown, row, column, state):
    """A click on the last mask's cell that is in this state."""
    place = next(
        at
        for lines, at in cells(shown).items()
        if lines.startswith(f"query {row}: ") and f"|key {column}: " in lines and lines.endswith(f"|{state}")
    )
    shown.page.locator(".stage").click(position={"x": place[0], "y": place[1]})


def told(shown):
    """What Python was told, the last of it."""
    name, value = shown.page.evaluate("window.triggers.at(-1)")
    assert name == "cells"
    return value


def test_clicks_and_keys_turn_cells_which_are_understood_as_python_does(browser):
    words = ["d1.2", "d3", "d3.1", "d2.0", "e0.0", "c1"]
    with mounted(browser, "masks", of(words)) as shown:
        parts = mask_parts("decoder", KEEP, KEEP, changes=[change_of(word) for word in words])
        said = states(shown)
        is_open = {cell: said[cell] == "open" or said[cell].startswith("opened here") for cell in said}
        assert is_open == dict(np.ndenumerate(parts.changed))
        changed = {cell: "here" in state for cell, state in said.items()}
        assert changed == dict(np.ndenumerate(parts.changed != parts.own))
        shown.give(of())
        click(shown, 1, 3, "closed by causality")
        assert states(shown)[1, 3] == "opened here, was closed by causality"
        assert told(shown)["cells"] == ["d1.3"] and told(shown)["fields"] == {"t": 1, "u": 3}
        shown.choose(t=0, u=0)
        shown.page.locator(".stage").focus()
        shown.press("ArrowDown", "ArrowRight")
        assert shown.tooltip == ["query 1: “a”", "key 1: “a”", "open"]
        shown.press("Enter")
        assert told(shown)["cells"] == ["d1.3", "d1.1"] and shown.tooltip[-1] == "closed here, was open"
        shown.press(" ")
        assert told(shown)["cells"] == ["d1.3"] and shown.heard()[-1] == {"t": 1, "u": 1}
        turned = shown.page.evaluate("window.triggers.length")
        click(shown, 1, 2, "Causal: closed")
        shown.hears(t=1, u=2)
        assert shown.page.evaluate("window.triggers.length") == turned


# The share of the width that is drawn on, up to the last column.
_DRAWN = """(canvas) => {
  const { data, width, height } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height)
  const rows = [...Array(height).keys()]
  const inked = (x) => rows.some((y) => data[4 * (y * width + x) + 3] > 0)
  let x = width - 1
  while (x > 0 && !inked(x)) x--
  return x / width
}"""


def test_one_token_and_many_are_drawn_as_wide_and_as_tall_as_there_is_room(browser):
    colours = (
        "(c) => new Set(new Uint32Array(c.getContext('2d').getImageData(0, 0, c.width, c.height).data.buffer)).size"
    )
    problems = []
    with mounted(browser, "masks", of()) as shown:
        canvas = shown.page.locator("canvas.base")
        for scheme, size in product(("light", "dark"), (1, 5, 64)):
            shown.page.emulate_media(color_scheme=scheme)
            shown.give(of(tokens=[str(i) for i in range(size)], keep=np.arange(size) < max(1, size - 2)))
            box, seen = canvas.bounding_box(), canvas.evaluate(colours)
            if (box["width"], box["height"]) != (720, min(HEIGHT, 700 - ABOVE)) or seen <= 3:
                problems.append(f"{size} tokens, {scheme}: {box}, {seen} colours")
        assert problems == []
        shown.give(of(tokens=[str(i) for i in range(14)], keep=[True] * 14))
        shown.page.set_viewport_size({"width": 1660, "height": 1080})
        expect(shown.page.locator(".stage")).to_have_css("height", "640px")
        assert canvas.evaluate(_DRAWN) > 0.98


def test_on_a_phone_the_masks_are_below_each_other_with_cells_for_a_finger(browser):
    with mounted(browser, "masks", of()) as shown:
        shown.page.set_viewport_size({"width": 390, "height": 844})
        stage = shown.page.locator(".stage.stacked")
        expect(stage).to_have_css("touch-action", "pan-y")  # the page is scrolled over it
        shown.page.set_viewport_size({"width": 390, "height": 1600})  # so that all of it is in view
        assert states(shown)[0, 3] != "open"
        wide = [x for lines, (x, _) in cells(shown).items() if lines.startswith("query 0: ") and "|Before" in lines]
        assert max(wide) - min(wide) >= 4 * 24
        click(shown, 0, 3, states(shown)[0, 3])
        assert states(shown)[0, 3].startswith("open")
        assert told(shown)["cells"] == ["d0.3"]
