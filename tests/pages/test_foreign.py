"""Every page with a model that is not our Transformer: its picture, or the sentence that says why there is none."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from foreign import LAYERS, SPEC, UNTOLD, foreign_checkpoint, foreign_summary
from page_driver import sent, words
from streamlit.testing.v1 import AppTest
from wording import wording

from viz_transformer.model.hooked_model import OF_ANOTHER
from viz_transformer.running.decoding import decode
from viz_transformer.ui.session import cached, state

OPENING = {"checkpoint": "foreign", "text": "uvw0", "kind": "decoder"}
EMBEDDINGS = wording("this_model_does_not_tell_the_embeddings_that_its_input_is_made", UNTOLD)
NORMS = wording("this_model_does_not_tell_the_gain_and_offset_of_its_norms", OF_ANOTHER)
CUTS = wording("this_model_does_not_tell_how_it_cuts_a_text", OF_ANOTHER)
HERE = wording("this_model_does_not_tell_what_stands_here", OF_ANOTHER)

PICTURES = {  # of a page: the components that draw a picture of the run, and the sentences where there is none
    "run": (2, ()),
    "input": (1, (EMBEDDINGS,)),
    "positions": (1, (wording("this_model_does_not_tell_how_it_encodes_positions"),)),
    "attention": (2, ()),
    "weight": (1, (wording("this_model_does_not_tell_the_maps_and_norms_that_this_page"),)),
    "layers": (3, (NORMS,)),
    "tensors": (2, ()),
    "masks": (1, (wording("this_model_does_not_tell_how_it_masks"),)),
    "decoding": (2, ()),
    "models": (0, ()),
    "playground": (1, ()),
}
PARTS: dict[str, dict[str, dict[str, str | None]]] = {
    "models": {
        "model_tab": {
            "architecture": HERE,
            "curves": None,
            "data": HERE,
            "errors": None,
            "doctor": HERE,
            "training": None,
        }
    },
    "decoding": {
        "dec_tab": {
            "branches": None,
            "tree": None,
            "cache": wording("this_model_does_not_tell_the_sizes_that_the_cost_of_a_step", OF_ANOTHER),
            "score": None,
        }
    },
    "input": {"input_rows": {"all": EMBEDDINGS}, "input_below": {"data": None, "build": CUTS, "words": CUTS}},
    "layers": {"part": {"final": NORMS, "ffn": NORMS}},
    "tensors": {
        "point": {
            "decoder.1.self.value": "g: key head",
            "decoder.0.self.contribution": UNTOLD.capitalize(),
            "decoder.embed.position": wording("this_model_adds_no_positions_to_its_embeddings"),
        },
        "seed": {"3": OF_ANOTHER},
    },
    "masks": {"mask_of": {"size": wording("this_model_does_not_tell_how_it_masks")}},
    "attention": {"heads": {"5": None}},
}


@pytest.fixture
def opened(alone: Callable[..., AppTest], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., AppTest]:
    """Opens a page with this model alone, and with these fields in its address."""
    (tmp_path / "card.json").write_text("{}")
    summary, ckpt = foreign_summary(tmp_path), foreign_checkpoint()
    monkeypatch.setattr(cached, "summaries", lambda: (summary,))
    monkeypatch.setattr(cached, "checkpoint", lambda _: ckpt)
    monkeypatch.setattr(state, "DEFAULTS", {**state.DEFAULTS, **OPENING})

    return alone


def said(app: AppTest) -> str:
    """All that stands on the page, labels included."""
    return " ".join([words(app), *(each.label for each in app.number_input)])


@pytest.mark.parametrize("page", PICTURES)
def test_a_page_has_its_picture_or_its_sentence(opened: Callable[..., AppTest], page: str) -> None:
    app = opened(page)
    components, sentences = PICTURES[page]
    assert len(app.get("bidi_component")) >= components
    for sentence in sentences:
        assert sentence in said(app)


CASES = [(page, name, value) for page, parts in PARTS.items() for name, values in parts.items() for value in values]


@pytest.mark.parametrize(("page", "name", "value"), CASES)
def test_each_part_of_a_page_too(opened: Callable[..., AppTest], page: str, name: str, value: str) -> None:
    shown, sentence = said(opened(page, **{name: value})), PARTS[page][name][value]
    assert sentence is None or sentence in shown


@pytest.mark.parametrize("page", ["attention", "run"])
def test_the_map_is_that_of_the_run(opened: Callable[..., AppTest], page: str) -> None:
    _, arrays = sent(opened(page, layer="1", heads="5", run_view="map"), "matrix")
    run = decode(foreign_checkpoint(), OPENING["text"])
    assert np.array_equal(arrays["values"], run.trace["decoder.1.self.weights"][0, 5].numpy())


def test_a_head_that_only_one_layer_has(opened: Callable[..., AppTest]) -> None:
    lacking = wording("there_is_no_head_so_another_is_shown", 5, "foreign", 0, 3, 3)
    assert [SPEC.heads("decoder", layer).query for layer in range(len(LAYERS))] == [4, 6]
    assert lacking in said(opened("attention", layer="0", heads="5"))
    assert "There is no head" not in said(opened("attention", layer="1", heads="5"))
