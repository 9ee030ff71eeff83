"""What holds for each page: it runs alone, and where there is no model, or a damaged one, a sentence says so."""

import shutil

import pytest
from page_driver import components, opened, words
from wording import wording

TITLES = {"run": "Run", "decoding": "Decoding", "input": "Input", "positions": "Positions", "attention": "Attention"}
TITLES |= {"weight": "One weight", "layers": "Layers", "tensors": "Tensors", "masks": "Masks", "models": "Models"}
TITLES |= {"playground": "Playground"}


@pytest.mark.parametrize("page", TITLES)
def test_it_runs_alone(alone, page):
    assert [title.value for title in alone(page).title] == [TITLES[page]]


@pytest.mark.parametrize("page", [page for page in TITLES if page != "playground"])
def test_without_a_model_it_says_what_to_do(app, page, tmp_path, models_in):
    models_in(tmp_path / "none")
    assert wording("there_is_no_trained_model_here_yet") in words(opened(app, page))


@pytest.mark.parametrize("page", ["run", "attention"])
def test_a_damaged_model_is_said_in_one_sentence(app, bundled, page, tmp_path, models_in):
    shutil.copytree(bundled / "numbers", tmp_path / "numbers")
    (tmp_path / "numbers" / "model.safetensors").write_bytes(b"not weights")
    models_in(tmp_path)
    assert "model.safetensors" in words(opened(app, page))
    assert components(app, "matrix") == []
