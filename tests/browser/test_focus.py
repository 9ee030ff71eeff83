"""What the keyboard is at has a ring of two pixels: on a page, in the sidebar, in dialogs and in popovers."""

from __future__ import annotations

import pytest
from browser.driving import MATRIX, drawn, entry, viewed
from playwright.sync_api import Page, expect

# What has the focus, and where it stands; null at the end of the page. A ring may be around the box that it is in.
_FOCUSED = """() => {
  let at = document.activeElement
  while (at?.shadowRoot?.activeElement) at = at.shadowRoot.activeElement
  if (!at || at === document.body) return null
  const around = []
  for (let part = at; part; part = part.parentElement ?? part.getRootNode().host) around.push(part)
  const rings = around.slice(0, 7).filter((part) => {
    const { outlineStyle, outlineWidth } = getComputedStyle(part)
    return outlineStyle === "solid" && outlineWidth === "2px"
  })
  const types = at.matches("textarea, input:not([type=radio], [type=checkbox], [type=range])")
  const ringed = types ? rings.length === 1 : rings.length > 0 // not a ring inside that of its box
  const places = "[data-testid=stSidebar], [data-testid=stPopoverBody], dialog, [role=dialog], [data-testid=stMain]"
  const place = around.find((part) => part.matches?.(places))
  const name = at.ariaLabel ?? at.textContent.trim().slice(0, 40)
  return { ringed, name: `${at.localName} ${name}`, place: place?.dataset.testid ?? place?.localName ?? "" }
}"""


def without_ring(page: Page, most: int = 120) -> tuple[list[str], dict[str, int]]:
    """What has no ring when the tabulator leads to it, and how many stops each place has, from here to the end."""
    bare, stops = [], {}
    for press in range(most):
        page.keyboard.press("Tab")
        found = page.evaluate(_FOCUSED)
        if found is None and press:
            break
        if found is None:  # a dialog begins at its last button
            continue
        stops[found["place"]] = stops.get(found["place"], 0) + 1
        if not found["ringed"]:
            bare.append(found["name"])
    return bare, stops


def arrived(page: Page) -> None:
    expect(page.locator(".st-key-next a").last).to_be_attached()
    expect(page.locator("[data-test-script-state=running], [data-testid=stSkeleton]")).to_have_count(0)


@pytest.mark.parametrize(
    ("path", "fields"),
    [("attention", {}), ("decoding", {"strategy": "sampling"}), ("tensors", {}), ("playground", {}), ("models", {})],
    ids=lambda given: given if isinstance(given, str) else "",
)
def test_each_stop_of_a_page_and_of_the_sidebar_has_a_ring(app_server, browser, path, fields):
    with viewed(browser, app_server, f"/{path}", checkpoint="numbers-tiny", text="0.07", **fields) as page:
        arrived(page)
        bare, stops = without_ring(page)
        assert bare == []
        assert stops["stSidebar"] >= 12 and stops["stMain"] >= 12


def test_each_stop_of_dialogs_and_popovers_has_a_ring(app_server, browser):
    view = {"checkpoint": "numbers-tiny", "text": "0.07"}
    with viewed(browser, app_server, "/attention", **view) as page:
        drawn(page, MATRIX)
        arrived(page)
        page.locator(".st-key-pin [data-testid=stPopover] button").press("Enter")
        expect(page.get_by_test_id("stPopoverBody")).to_be_visible()
        bare, stops = without_ring(page)
        assert bare == [] and stops["stPopoverBody"] >= 2
        page.keyboard.press("Escape")
        page.keyboard.press("?")
        expect(page.get_by_role("dialog", name="Guide and keys")).to_be_visible()
        bare, stops = without_ring(page, 4)
        assert bare == [] and stops["dialog"] >= 1
        page.keyboard.press("Escape")
        entry(page.locator(".st-key-picture .matrix"), "Table and CSV").click()
        expect(page.get_by_test_id("stDialog")).to_be_visible()
        bare, stops = without_ring(page, 8)
        assert bare == [] and stops
