"""Every page with models whose positions act in self-attention: a picture that is theirs, or a sentence."""

import pytest
from builders import saved, tiny_checkpoint
from page_driver import figures, opened, words

MODELS = [*((kind, word) for kind in ("encoder-decoder", "decoder-only") for word in ("rotary", "alibi"))]
PAGES = ["attention", "decoding", "input", "layers", "masks", "models", "positions", "run", "tensors", "weight"]


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("in_attention")
    for kind, word in MODELS:
        saved(tiny_checkpoint(kind, positions=word), folder / f"{word}-{kind}", dtype="float32")
    return folder


@pytest.fixture
def among(app, models, models_in):
    """The app with these models."""
    models_in(models)
    return app


def titles(app):
    return [chart["layout"]["title"]["text"] for chart in figures(app)]


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize(("kind", "word"), MODELS)
def test_every_page_draws(name, kind, word, among):
    text = "abcd" if kind == "encoder-decoder" else "uvwx"
    said = words(opened(among, name, checkpoint=f"{word}-{kind}", text=text))
    assert "do not give what was recorded" not in said
    assert "✕" not in said or name == "models"


@pytest.mark.parametrize("stack", ["encoder", "decoder"])
def test_positions_shows_the_rotation_beside_the_record(stack, among):
    asked = {"checkpoint": "rotary-encoder-decoder", "text": "abcd", "pos_stack": stack, "layer": "1", "heads": "2"}
    opened(among, "positions", **asked)
    said = words(among)
    assert "has rotary positions: nothing is added to its embeddings, and there is no table to show" in said
    assert f"{stack}.1.self, head 2: query 0 times key 0, as if they stood at other distances" in titles(among)
    assert "Positions in one turn, by pair" in titles(among)
    assert "this page cannot leave that out" in said and "adds no positions" not in said


@pytest.mark.parametrize("stack", ["encoder", "decoder"])
def test_positions_shows_slopes_and_the_recorded_bias(stack, among):
    asked = {"checkpoint": "alibi-encoder-decoder", "text": "abcd", "pos_stack": stack, "layer": "1", "heads": "2"}
    opened(among, "positions", **asked)
    said = words(among)
    assert "has ALiBi: nothing is added to its embeddings, and there is no table to show" in said
    assert f"{stack}.1.self, head 2: what is added to each score" in titles(among)
    assert (
        "bias = -0.015625 × distance in head 2" in said and "The recorded bias differs from that by at most 0. " in said
    )


@pytest.mark.parametrize("line", ["token", "maps", "shapes", "query", "key", "divisor", "softmax"])
@pytest.mark.parametrize("word", ["rotary", "alibi"])
def test_one_weight_tells_rotation_and_bias(word, line, among):
    asked = {"checkpoint": f"{word}-encoder-decoder", "text": "abcd", "kind": "encoder", "weight_line": line}
    opened(among, "weight", **asked, layer="1", i="3", j="1")
    said = words(among)
    assert "✕" not in said
    if line in ("query", "key") and word == "rotary":
        assert "before the rotation" in said and "is turned by" in said
    if line == "divisor" and word == "alibi":
        assert "minus slope times distance" in said and "bias of the row" in said
