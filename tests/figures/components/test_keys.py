"""The key that edits the text, pressed before the page hears its keys."""

from base64 import b64encode

import pytest
from mounted import mounted

from viz_transformer.figures.components.source import javascript

HEAR = """async ([code, data]) => {
  document.addEventListener("vt-edit", () => (window.edits = (window.edits ?? 0) + 1))
  const { default: component } = await import(URL.createObjectURL(new Blob([atob(code)], { type: "text/javascript" })))
  const parentElement = document.body.appendChild(document.createElement("div")).attachShadow({ mode: "open" })
  component({ parentElement, data: { scene: 0, scenes: 1, rows: null, guide: [], groups: [], ...data } })
  return window.edits ?? 0
}"""


@pytest.mark.parametrize(
    ("pressed", "projector", "edits"),
    [("e", False, 1), ("e", True, 0), ("x", False, 0), ("Control+e", False, 0), ("e Tab", False, 0)],
)
def test_it_is_kept_until_somebody_hears_it_or_does_something_else(browser, pressed, projector, edits):
    code = b64encode(javascript("keys").encode()).decode()
    with mounted(browser, "selection", {"token": "", "lost": 0}) as view:
        view.press(*pressed.split())
        assert view.page.evaluate(HEAR, [code, {"projector": projector}]) == edits
        if not projector:  # from now on it is heard, once each time
            view.press("e")
            assert view.page.evaluate("window.edits") == edits + 1
            assert not view.page.evaluate("vizTransformerEarly.key.take(performance.now())")
