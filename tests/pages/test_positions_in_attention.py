"""Every page with models whose positions act in self-attention: a picture that is theirs, or a sentence."""

import html
import json
import re
from pathlib import Path

import pytest
from builders import tiny_checkpoint
from streamlit.testing.v1 import AppTest

from viz_transformer.checkpoint import contents, save_checkpoint

ROOT = Path(__file__).resolve().parents[2]
APP = """
import streamlit as st
import viz_transformer.ui.pages
from viz_transformer.ui.frame import opening
page = st.navigation([st.Page({page!r}, title='Page', default=True)])
opening.show(page, lambda: None)
"""
MODELS = [*((kind, word) for kind in ("encoder-decoder", "decoder-only") for word in ("rotary", "alibi"))]
PAGES = ["attention", "decoding", "input", "layers", "masks", "models", "positions", "run", "tensors", "weight"]


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("in_attention")
    for kind, word in MODELS:
        ckpt = tiny_checkpoint(kind, positions=word)
        save_checkpoint(
            folder / f"{word}-{kind}",
            state_dict=ckpt.model.state_dict(),
            config=ckpt.config,
            source_codec=ckpt.source_codec,
            target_codec=ckpt.target_codec,
            card={"task": "none", "metrics": []},
            dtype="float32",
        )
    return folder


def opened(name, tmp_path, models, monkeypatch, **address):
    monkeypatch.setattr(contents, "bundled_folder", lambda: models)
    (tmp_path / "app.py").write_text(APP.format(page=str(ROOT / "pages" / f"{name}.py")), encoding="utf-8")
    app = AppTest.from_file(str(tmp_path / "app.py"), default_timeout=120)
    for key, value in address.items():
        app.query_params[key] = value
    app.run()
    assert not app.exception
    return app


def words(app):
    said = "".join(element.proto.body for element in app.get("html"))
    return " ".join(html.unescape(re.sub(r"(?s)<style>.*?</style>|<[^>]+>", " ", said)).split())


def titles(app):
    return [json.loads(chart.proto.spec)["layout"]["title"]["text"] for chart in app.get("plotly_chart")]


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize(("kind", "word"), MODELS)
def test_every_page_draws(name, kind, word, tmp_path, models, monkeypatch):
    text = "abcd" if kind == "encoder-decoder" else "uvwx"
    said = words(opened(name, tmp_path, models, monkeypatch, checkpoint=f"{word}-{kind}", text=text))
    assert "do not give what was recorded" not in said
    assert "✕" not in said or name == "models"


@pytest.mark.parametrize("stack", ["encoder", "decoder"])
def test_positions_shows_the_rotation_beside_the_record(stack, tmp_path, models, monkeypatch):
    asked = {"checkpoint": "rotary-encoder-decoder", "text": "abcd", "pos_stack": stack, "layer": "1", "heads": "2"}
    app = opened("positions", tmp_path, models, monkeypatch, **asked)
    said = words(app)
    assert "has rotary positions: nothing is added to its embeddings, and there is no table to show" in said
    assert f"{stack}.1.self, head 2: query 0 times key 0, as if they stood at other distances" in titles(app)
    assert "Positions in one turn, by pair" in titles(app)
    assert "this page cannot leave that out" in said and "adds no positions" not in said


@pytest.mark.parametrize("stack", ["encoder", "decoder"])
def test_positions_shows_slopes_and_the_recorded_bias(stack, tmp_path, models, monkeypatch):
    asked = {"checkpoint": "alibi-encoder-decoder", "text": "abcd", "pos_stack": stack, "layer": "1", "heads": "2"}
    app = opened("positions", tmp_path, models, monkeypatch, **asked)
    said = words(app)
    assert "has ALiBi: nothing is added to its embeddings, and there is no table to show" in said
    assert f"{stack}.1.self, head 2: what is added to each score" in titles(app)
    assert (
        "bias = -0.015625 × distance in head 2" in said and "The recorded bias differs from that by at most 0. " in said
    )


@pytest.mark.parametrize("line", ["token", "maps", "shapes", "query", "key", "divisor", "softmax"])
@pytest.mark.parametrize("word", ["rotary", "alibi"])
def test_one_weight_tells_rotation_and_bias(word, line, tmp_path, models, monkeypatch):
    asked = {"checkpoint": f"{word}-encoder-decoder", "text": "abcd", "kind": "encoder", "weight_line": line}
    app = opened("weight", tmp_path, models, monkeypatch, **asked, layer="1", i="3", j="1")
    said = words(app)
    assert "✕" not in said
    if line in ("query", "key") and word == "rotary":
        assert "before the rotation" in said and "is turned by" in said
    if line == "divisor" and word == "alibi":
        assert "minus slope times distance" in said and "bias of the row" in said
