"""Every box of the drawing is there to be pointed at, by mouse and by keyboard, and says its sizes."""

import re

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


def test_every_box_of_the_drawing_can_be_pointed_at_by_pointer_and_by_keys(browser):
    with mounted(browser, "architecture", sent(), viewport={"width": 720, "height": 1600}) as shown:
        box = shown.page.locator(".stage").bounding_box()
        scale = box["width"] / DRAWING.width

        def tooltip_at(x, y):
            shown.page.mouse.move(box["x"] + x, box["y"] + y)
            shown.painted()
            return shown.tooltip

        pointed = [
            (each, tooltip_at((each.x + 6) * scale, (each.y + each.height / 2) * scale)) for each in DRAWING.boxes
        ]
        assert [each.part for each, said in pointed if said != list(each.tip)] == []
        assert tooltip_at(2, 2) == []
        shown.page.locator(".stage").focus()
        for key, n in (("ArrowUp", 0), ("ArrowUp", 1), ("End", -1), ("ArrowUp", -1)):
            shown.press(key)
            assert shown.tooltip == list(DRAWING.boxes[n].tip)
        assert shown.page.locator("[aria-live]").text_content() == ", ".join(DRAWING.boxes[-1].tip)
        shown.press("Escape")
        assert shown.tooltip == []


INKED = """() => {
  const canvas = document.querySelector("#host").shadowRoot.querySelector("canvas")
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height)
  let count = 0
  for (let i = 3; i < data.length; i += 4) if (data[i]) count++
  return count
}"""


def test_it_is_painted_in_both_themes_and_saved_as_it_is_drawn(browser):
    with mounted(browser, "architecture", sent()) as shown:
        for scheme in ("light", "dark"):
            shown.page.emulate_media(color_scheme=scheme)
            shown.painted()
            assert shown.page.evaluate(INKED) > 10_000, scheme
            with shown.page.expect_download() as download:
                shown.pick_entry("SVG")
            assert download.value.suggested_filename == "tiny-architecture.svg"
            text = download.value.path().read_text(encoding="utf-8")
            assert "Cross-attention" in text and "tiny, architecture" in text, scheme
            assert text.count("<rect") > len(DRAWING.boxes)
            assert not re.search(r"NaN|undefined", text)
