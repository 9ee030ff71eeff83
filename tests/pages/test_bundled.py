"""The bundled models: *Run* and *Attention* show of each what it recorded of its own first example."""

import numpy as np
import pytest
from page_driver import SITES, goes_to, opened, recorded, same_bits, script, sent, texts, the_run, told

from viz_transformer import list_checkpoints
from viz_transformer.checkpoint.contents import bundled_folder
from viz_transformer.figures import labels
from viz_transformer.ui.session import examples

BUNDLED = {summary.name: summary for summary in list_checkpoints()}


@pytest.mark.parametrize("name", BUNDLED)
def test_run_and_attention_show_the_run_of_each_bundled_model(name):
    text = examples.offered(BUNDLED[name])[0]
    run = the_run(bundled_folder(), text, name)
    app = opened(script("app.py"), "run", checkpoint=name, text=text)
    chips = told(app, "chips")["rows"][-1]["chips"]
    assert [chip["text"] for chip in chips][-len(run.steps) :] == [labels.visible(token) for token in run.tokens]
    opened(app, "attention", heads="1")
    kinds = [kind for kind, site in SITES.items() if f"{site.format(0)}.weights" in run.trace]
    assert kinds
    for kind in kinds:
        goes_to(app, kind=kind, layer="0")
        header, arrays = sent(app, "matrix")
        weights, mask = recorded(run, kind, 0, 1)
        assert same_bits(arrays["values"], weights)
        assert np.array_equal(arrays.get("mask", np.ones_like(mask)), mask)
        read = run.trace.tgt if kind == "decoder" else run.trace.src
        assert texts(header["columns"]) == [labels.visible(token) for token in read.tokens]
