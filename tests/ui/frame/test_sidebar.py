"""The sidebar of each page: where in the model it looks, as the browser is told."""

from __future__ import annotations

import pytest
from page_driver import opened, script, told

from viz_transformer.ui import pages  # noqa: F401  # all fields are known
from viz_transformer.ui.frame.frame import LOOKS, LOOKS_OF_RECORDING
from viz_transformer.ui.session import state

TITLES = {"Run", "Decoding", "Input", "Positions", "Attention", "One weight", "Layers", "Tensors", "Masks"}


def test_each_page_that_shows_a_run_looks_somewhere_by_a_field_that_the_browser_knows() -> None:
    assert {*LOOKS} == TITLES >= {*LOOKS_OF_RECORDING}
    fields = {*LOOKS.values(), *LOOKS_OF_RECORDING.values()} - {"output"}
    assert [name for name in fields if not state.fields()[name].picked] == []


@pytest.mark.parametrize(("page", "looks"), [("playground", ""), ("masks", "mask_kind")])
def test_a_page_has_the_parts_of_the_model_and_says_by_what_it_looks(page: str, looks: str) -> None:
    app = opened(script("app.py"), page, checkpoint="numbers-tiny", text="0.07")
    locator = told(app, "locator")
    assert locator["looks"] == looks
    assert [(stack["name"], stack["layers"]) for stack in locator["stacks"]] == [("encoder", 2), ("decoder", 2)]
