"""The bundled models: each page answers its question of each, without a browser; *Run* and *Attention* show what it
recorded of its own first example.
"""

import numpy as np
import pytest
from in_turn import each_once
from page_driver import (
    SITES,
    address,
    components,
    goes_to,
    markup,
    opened,
    recorded,
    same_bits,
    script,
    sent,
    texts,
    the_run,
    told,
    words,
)
from wording import wording

from viz_transformer import list_checkpoints
from viz_transformer.analysis.weight import LINES
from viz_transformer.checkpoint.contents import bundled_folder
from viz_transformer.figures import labels
from viz_transformer.ui.session import examples

BUNDLED = {summary.name: summary for summary in list_checkpoints()}
PICTURES = {  # of a page: the component, or else the chart, that answers its question
    "run": "whole",
    "decoding": "scrubber",
    "input": "input_strips_figure",
    "positions": "pos_curves_figure_figure",
    "attention": "matrix",
    "weight": "row",
    "layers": "rail",
    "tensors": "matrix",
    "masks": "masks",
}


@each_once("name, page", BUNDLED, [*PICTURES, "models"])
def test_every_page_answers_its_question_of_each_bundled_model(name, page):
    app = script("app.py")
    shown = markup(opened(app, page, checkpoint=name))
    assert address(app)["checkpoint"] == name
    assert 'class="vt-explained"' in shown
    assert "vt-note vt-bad" not in shown
    if page == "models":
        assert 'class="vt-card' in shown
    else:
        picture = PICTURES[page]
        charts = [chart.proto.id.endswith(f"-{picture}") for chart in app.get("plotly_chart")]
        assert len(components(app, picture)) + sum(charts) == 1, page


@pytest.mark.parametrize("name", BUNDLED)
def test_a_weight_of_each_bundled_model_agrees_with_its_run(name: str) -> None:
    app = opened(script("app.py"), "weight", checkpoint=name)
    assert wording("comparisons_of_the_ladder_with_the_recorded_run_agree") in words(app)
    assert "Products that add up" in words(app) and "nn.MultiheadAttention" in words(app)
    assert len(app.radio(key="weight_line").options) == len(LINES) == 17
    assert len(app.get("plotly_chart")) == 1


@pytest.mark.parametrize("name", BUNDLED)
def test_run_and_attention_show_the_run_of_each_bundled_model(name):
    text = examples.list_examples(BUNDLED[name])[0]
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
