import math
from dataclasses import replace

import pytest

from viz_transformer import list_checkpoints
from viz_transformer.model.config import ModelConfig
from viz_transformer.model.hooked_model import spec_of
from viz_transformer.ui.pages.run import words

DECODER = spec_of(ModelConfig(target_vocab_size=9, decoder_layers=4, d_model=8, n_heads=2, d_ff=8, max_target=8))
ENCODER = spec_of(ModelConfig(source_vocab_size=9, encoder_layers=1, d_model=8, n_heads=2, d_ff=8, max_source=8))


@pytest.mark.parametrize("summary", list_checkpoints(), ids=lambda summary: summary.name)
def test_the_card_of_each_bundled_model_says_what_the_model_does(summary):
    said = words.what_it_is(summary.card, summary.spec)
    assert said == f"This network {summary.card['does']}." and len(said) <= 100


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        (DECODER, "A decoder with 4 layers that continues text."),
        (ENCODER, "An encoder with 1 layer that reads a text and gives a vector for each token."),
        (replace(ENCODER, output="masked token"), "An encoder with 1 layer that fills in masks."),
        (replace(ENCODER, output="class"), "An encoder with 1 layer that labels a text."),
        (replace(ENCODER, output="token class"), "An encoder with 1 layer that labels each token of a text."),
        (
            replace(DECODER, kind="encoder-decoder", encoder_layers=3),
            "An encoder and a decoder (3 + 4 layers): one reads a text, the other writes the answer.",
        ),
    ],
)
@pytest.mark.parametrize("card", [{}, {"does": ""}, {"does": 3}])
def test_where_no_card_says_it_the_spec_does(spec, card, said):
    assert words.what_it_is(card, spec) == said


def test_a_card_may_say_anything_and_stays_one_short_line():
    said = words.what_it_is({"does": "reads\n<b>all</b> " + "x" * 1000}, DECODER)
    assert said.startswith("This network reads <b>all</b> x") and "\n" not in said and len(said) < 140


def test_of_a_recording_it_is_said_that_it_is_one():
    assert words.what_it_is({"does": "counts"}, DECODER, recording=True) == words.RECORDED


def test_what_to_try_first_is_what_there_is():
    assert words.what_to_do(DECODER, whole=True) == "Press play, or double-click to look inside."
    assert words.what_to_do(ENCODER, whole=True) == "Double-click to look inside."
    assert words.what_to_do(DECODER, whole=False) == "Click any cell."


def test_a_live_run_is_said_in_a_word_and_a_difference_from_the_recording_in_more():
    assert words.live(0.0)[:2] == ("Live", "ok")
    said, tone, detail = words.live(1.5e-5)
    assert (said, tone) == ("Live, within 1.5e-05", "ok") and "1.5e-05" in detail
    assert words.live(math.inf)[:2] == ("Live, not as recorded", "warning")
