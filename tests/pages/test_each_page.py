"""What holds for each page: it runs alone, and where there is no model, or a damaged one, a sentence says so."""

import shutil

import pytest
from page_driver import again, components, opened, words
from streamlit_inside import ScriptRunContext
from wording import wording

from viz_transformer.ui.frame import frame

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


PICTURES = {  # of pages with more below, or beside, than a browser draws at once: the picture, and what comes behind it
    "input": ("input_strips", "input_tokens"),
    "positions": ("pos_heatmap", "pos_curves"),
    "weight": ("weight_row", "weight_ladder"),
    "layers": ("layers_rail", "layers_depth"),
    "tensors": ("tensors_picture", "tensors_tree"),
}
MOMENT = "<nothing is sent for a while>"


@pytest.mark.parametrize("page", PICTURES)
def test_question_and_picture_are_sent_and_given_a_moment_before_the_rest(app, page, monkeypatch):
    sent, enqueue = [], ScriptRunContext.enqueue

    def watched(context, message):
        said = str(message)
        sent.append("" if "<style" in said else said)
        enqueue(context, message)

    monkeypatch.setattr(ScriptRunContext, "enqueue", watched)
    monkeypatch.setattr(frame, "sleep", lambda _: sent.append(MOMENT))
    opened(app, page, text="2")
    words = ("vt-question", *PICTURES[page], MOMENT)
    question, picture, behind, moment = (next(n for n, said in enumerate(sent) if word in said) for word in words)
    assert max(question, picture) < moment < behind
    sent.clear()
    again(app)
    assert MOMENT not in sent
