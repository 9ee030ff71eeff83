"""Every box of the drawing is there to be pointed at, by mouse and by keyboard, and says its sizes."""

import re

import pytest
from builders import tiny_config
from mounted import mounted

from viz_transformer import payload
from viz_transformer.figures.architecture import architecture, architecture_payload

DRAWING = architecture(tiny_config())


def sent(drawing=DRAWING):
    return architecture_payload(drawing, caption="tiny, architecture", name="tiny-architecture")


def test_the_whole_drawing_is_sent():
    header, arrays = payload.unpack(sent())
    assert arrays == {} and header["caption"] == "tiny, architecture"
    assert len(header["boxes"]) == len(DRAWING.boxes)
    assert header["boxes"][0]["part"] == "encoder embedding"
    assert header["lines"][0]["points"] == [list(point) for point in DRAWING.lines[0].points]


def test_pointing_at_each_box_says_its_parameters(browser):
    with mounted(browser, "architecture", sent()) as shown:
        box = shown.page.locator(".stage").bounding_box()
        scale = box["width"] / DRAWING.width
        for each in DRAWING.boxes:
            x, y = box["x"] + (each.x + 6) * scale, box["y"] + (each.y + each.height / 2) * scale
            if y > 690:
                continue  # below the window
            shown.page.mouse.move(x, y)
            shown.painted()
            assert shown.tooltip == list(each.tip)
        shown.page.mouse.move(box["x"] + 2, box["y"] + 2)
        shown.painted()
        assert shown.tooltip == []


def test_arrow_keys_go_from_box_to_box(browser):
    with mounted(browser, "architecture", sent()) as shown:
        shown.page.locator(".stage").focus()
        shown.press("ArrowUp")
        assert shown.tooltip == list(DRAWING.boxes[0].tip)
        shown.press("ArrowUp")
        assert shown.tooltip == list(DRAWING.boxes[1].tip)
        shown.press("End")
        assert shown.tooltip == list(DRAWING.boxes[-1].tip)
        shown.press("ArrowUp")
        assert shown.tooltip == list(DRAWING.boxes[-1].tip)
        shown.press("Escape")
        assert shown.tooltip == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_is_painted_in_both_themes_and_saved_as_it_is_drawn(browser, scheme):
    with mounted(browser, "architecture", sent(), color_scheme=scheme) as shown:
        inked = shown.page.evaluate("""() => {
          const canvas = document.querySelector("#host").shadowRoot.querySelector("canvas")
          const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height)
          let count = 0
          for (let i = 3; i < data.length; i += 4) if (data[i]) count++
          return count
        }""")
        assert inked > 10_000
        with shown.page.expect_download() as download:
            shown.pick_entry("SVG")
        assert download.value.suggested_filename == "tiny-architecture.svg"
        text = download.value.path().read_text(encoding="utf-8")
        assert "Cross-attention" in text and "tiny, architecture" in text
        assert text.count("<rect") > len(DRAWING.boxes)
        assert not re.search(r"NaN|undefined", text)
