"""Every page with models whose positions act in self-attention: a picture that is theirs, or a sentence."""

import pytest
from builders import saved, tiny_checkpoint
from in_turn import each_once
from page_driver import all_sent, figures, opened, words
from wording import wording

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
    drawn = [header["title"] for header, _ in all_sent(app, "matrix")]
    return drawn + [chart["layout"]["title"]["text"] for chart in figures(app)]


@each_once("name, model", PAGES, MODELS)
def test_every_page_draws(name, model, among):
    kind, word = model
    text = "abcd" if kind == "encoder-decoder" else "uvwx"
    said = words(opened(among, name, checkpoint=f"{word}-{kind}", text=text))
    assert wording("do_not_give_what_was_recorded") not in said
    assert "✕" not in said or name == "models"


@pytest.mark.parametrize("stack", ["encoder", "decoder"])
def test_positions_shows_the_rotation_beside_the_record(stack, among):
    asked = {"checkpoint": "rotary-encoder-decoder", "text": "abcd", "pos_stack": stack, "layer": "1", "heads": "2"}
    opened(among, "positions", **asked, i="0", j="0", t="0", u="0")
    said = words(among)
    assert wording("has_rotary_positions_nothing_is_added_to_its_embeddings") in said
    assert wording("title_of_a_product_at_other_distances", stack, 2, 0, 0) in titles(among)
    assert wording("positions_in_one_turn_by_pair") in titles(among)
    assert wording("this_page_cannot_leave_that_out") in said and "adds no positions" not in said
    assert wording("how_to_read_a_rotation") in said and wording("what_is_added_to_embeddings") not in said


@pytest.mark.parametrize("word", ["rotary", "alibi"])
def test_the_caption_on_a_projector_says_which_head_query_and_key(word, among):
    asked = {"checkpoint": f"{word}-encoder-decoder", "text": "abcd", "pos_stack": "encoder", "layer": "1"}
    said = words(opened(among, "positions", **asked, heads="2", i="3", j="1", t="0", projector="on"))
    assert "encoder self-attention, layer 1, head 2, query 3, key 1 (" in said


@pytest.mark.parametrize("stack", ["encoder", "decoder"])
def test_positions_shows_slopes_and_the_recorded_bias(stack, among):
    asked = {"checkpoint": "alibi-encoder-decoder", "text": "abcd", "pos_stack": stack, "layer": "1", "heads": "2"}
    opened(among, "positions", **asked)
    said = words(among)
    assert wording("has_alibi_nothing_is_added_to_its_embeddings_and_there_is_no_table") in said
    assert wording("title_of_what_is_added_to_each_score", stack, 2) in titles(among)
    assert wording("how_to_read_a_bias") in said and wording("what_is_added_to_embeddings") not in said
    assert (
        "bias = -0.015625 × distance in head 2" in said
        and wording("the_recorded_bias_differs_from_that_by_at_most", 0) in said
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
