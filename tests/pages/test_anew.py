"""Pages of a run that is too large to be kept whole show what they show of a run that is."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
import streamlit as st
from in_turn import each_once
from page_driver import goes_to, script, words
from streamlit.testing.v1 import AppTest
from wording import wording

pytest.importorskip("transformers")

import transformers
from pretrained import folder as save_folder

from viz_transformer.analysis.tensors.trace_files import TOO_LARGE
from viz_transformer.checkpoint import Checkpoint, folders
from viz_transformer.huggingface import loading
from viz_transformer.model import hooked_model
from viz_transformer.running import lazy_activations
from viz_transformer.running.lazy_activations import LazyActivations
from viz_transformer.ui.session import state

transformers.logging.set_verbosity_error()
transformers.logging.disable_progress_bar()
PAGES = ("run", "input", "positions", "attention", "weight", "layers", "tensors", "masks", "decoding")
READ = {"llama": ("two hundred", "decoder"), "bart": ("two hundred", "cross"), "bert": ("the [MASK] ran", "encoder")}


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    return cache(lambda name: save_folder(tmp_path_factory.mktemp("theirs") / name, name))


@pytest.fixture(scope="module")
def loaded() -> Callable[[Path], Checkpoint]:
    """The model of a folder as the app loads it, once for all tests; runs and what pages make of them are not kept."""
    return cache(loading.load_in_the_app)


@pytest.fixture
def opened(
    alone: Callable[..., AppTest],
    written: Callable[[str], Path],
    loaded: Callable[[Path], Checkpoint],
    monkeypatch: pytest.MonkeyPatch,
) -> Callable[..., AppTest]:
    monkeypatch.setattr(loading, "load_in_the_app", loaded)

    def open_page(name: str, page: str, **address: str) -> AppTest:
        monkeypatch.setenv(folders.CHECKPOINTS_VARIABLE, str(written(name)))
        text, kind = READ[name]
        monkeypatch.setattr(state, "DEFAULTS", {**state.DEFAULTS, "checkpoint": name, "text": text, "kind": kind})
        st.cache_resource.clear()
        return alone(page, **address)

    return open_page


def shown(app: AppTest) -> list[str]:
    """What components draw, and the charts."""
    return [*(str(each.proto) for each in app.get("bidi_component")), *(each.value for each in app.get("plotly_chart"))]


@each_once("name, page", READ, PAGES)
def test_a_page_shows_the_same_numbers(
    opened: Callable[..., AppTest], name: str, page: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A layer is recorded at a time, so that each page asks for several."""
    address = {"run_view": "whole"} if page == "run" else {"layer": "1"}
    app = opened(name, page, **address)
    whole, said = shown(app), words(app)
    monkeypatch.setattr(hooked_model, "WHOLE_BYTES", 0)
    monkeypatch.setattr(hooked_model, "ANEW_BYTES", 0)
    made, record = list[str](), LazyActivations._record
    monkeypatch.setattr(LazyActivations, "_record", lambda self, name: (made.append(name), record(self, name)))
    app = opened(name, page, **address)
    assert made
    assert shown(app) == whole
    kept_in_part = wording("what_is_too_much_to_be_kept_is_recorded_anew")
    assert kept_in_part in words(app) and kept_in_part not in said


@pytest.mark.parametrize("page", ["tensors", "weight"])
def test_a_trace_that_is_not_kept_whole_is_not_saved_from_a_page(
    alone: Callable[..., AppTest], page: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not of a model of ours either."""

    def saves(app: AppTest) -> bool:
        return any("trace" in each.proto.label for each in app.get("download_button"))

    st.cache_resource.clear()
    assert saves(app := alone(page)) and TOO_LARGE not in words(app)
    st.cache_resource.clear()
    monkeypatch.setattr(hooked_model, "WHOLE_BYTES", 0)
    assert not saves(app := alone(page)) and TOO_LARGE in words(app)


def test_a_page_says_where_a_pass_gives_other_numbers(
    opened: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What leads to the next page is there all the same."""
    monkeypatch.setattr(hooked_model, "WHOLE_BYTES", 0)
    opened("llama", "layers")  # which sets the model and its text
    monkeypatch.setattr(lazy_activations, "_same", lambda first, second: False)
    st.cache_resource.clear()
    app = goes_to(script("app.py").switch_page("pages/layers.py"))
    assert "cannot be shown: recomputed, its" in words(app)
    assert "Tensors" in app.get("page_link")[-1].proto.label
