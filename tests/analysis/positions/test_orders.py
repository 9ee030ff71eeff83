import pytest
import torch
from builders import SOURCE, SPECIALS, tiny_checkpoint

from viz_transformer.analysis.positions.orders import MAX_STEPS, removable, reverse_words, two_orders
from viz_transformer.model.config import tutorial
from viz_transformer.running.decoding import decode
from viz_transformer.running.edits import RemovePositions
from viz_transformer.running.tracing import trace
from viz_transformer.text.codec import Codec
from viz_transformer.text.tokenizers import Characters, RegexTokens
from viz_transformer.text.vocabulary import Vocabulary

LETTERS = Codec(Characters(), Vocabulary(SOURCE, SPECIALS))
SLIPS = {"pad_to": 20, "max_source": 20, "max_target": 20, "mask_fill": "added-1e9"}


def blind(**changes):
    """Whether a model gives the same logits to two orders without the encoder's positions."""
    return not two_orders(tiny_checkpoint(**changes), "abcde", "edcba", ("encoder",)).without.matters


@pytest.mark.parametrize("positions", ["sinusoidal", "sinusoidal-doubled", "learned"])
def test_without_its_positions_an_encoder_is_blind_to_order(positions):
    found = two_orders(tiny_checkpoint(positions=positions), "abcdefgh", "hgfedcba", ("encoder",))
    assert found.same_tokens and found.removed == ("encoder",)
    assert found.with_positions.matters
    assert not found.without.matters
    assert found.without.a.text == found.without.b.text


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_a_raw_reshape_of_the_heads_is_not_blind(norm):
    assert blind(norm=norm, **SLIPS)
    assert not blind(norm=norm, merge="raw-reshape", **SLIPS)


def test_the_decoders_positions_leave_the_encoders_in():
    found = two_orders(tiny_checkpoint(), "abcde", "edcba", ("decoder",))
    assert found.with_positions.matters and found.without.matters
    both = two_orders(tiny_checkpoint(), "abcde", "edcba", ("encoder", "decoder"))
    assert not both.without.matters


@pytest.mark.parametrize(("layers", "matters"), [(1, False), (2, True)])
def test_a_causal_decoder_is_blind_with_one_layer_only(layers, matters):
    """The last row of one layer sees the set of tokens; the rows of a second layer have each seen other sets."""
    ckpt = tiny_checkpoint("decoder-only", decoder_layers=layers)
    found = two_orders(ckpt, "uvwxyz", "yxwvuz", ("decoder",))
    assert found.rows == 1 and found.with_positions.row is None
    assert found.with_positions.matters
    assert found.without.matters is matters


def test_the_change_is_the_largest_difference_of_logits_on_one_given_target():
    ckpt = tiny_checkpoint()
    found = two_orders(ckpt, "abc", "cab", ("encoder",))
    answer = decode(ckpt, "abc", max_steps=MAX_STEPS)
    for change, edits in ((found.with_positions, ()), (found.without, (RemovePositions("encoder"),))):
        a, b = (trace(ckpt, text, answer.trace.tgt_ids, edits=edits)["logits"][0] for text in ("abc", "cab"))
        gap = (a.double() - b.double()).abs()
        assert change.change == gap.max().item()
        assert change.largest == torch.maximum(a.abs().max(), b.abs().max()).item()
        row, token_id = divmod(int(gap.argmax()), gap.size(1))
        assert (change.row, change.token) == (row, ckpt.target_codec.vocabulary.tokens[token_id])
        texts = (decode(ckpt, text, max_steps=MAX_STEPS, edits=edits).text for text in ("abc", "cab"))
        assert (change.a.text, change.b.text) == tuple(texts)
    assert found.rows == len(answer.steps)


def test_rows_of_padding_are_not_compared():
    ckpt = tiny_checkpoint(norm="post", **SLIPS)
    found = two_orders(ckpt, "abc", "cab", ("encoder",))
    assert found.rows == len(decode(ckpt, "abc").steps)
    assert found.with_positions.row < found.rows


def test_the_same_text_changes_nothing():
    found = two_orders(tiny_checkpoint(), "abc", "abc", ("encoder",))
    assert found.with_positions.change == found.without.change == 0
    assert not found.with_positions.matters


def test_other_tokens_are_named():
    found = two_orders(tiny_checkpoint(), "aab", "abbd", ("encoder",))
    assert not found.same_tokens
    assert (found.missing, found.added) == (("a",), ("b", "d"))


def test_a_model_without_positions_has_nothing_to_leave_out():
    ckpt = tiny_checkpoint(positions="none")
    assert removable(ckpt.config) == ()
    found = two_orders(ckpt, "abc", "cba", ())
    assert found.without is None
    assert not found.with_positions.matters
    with pytest.raises(ValueError, match="position"):
        two_orders(ckpt, "abc", "cba", ("encoder",))


def test_what_can_be_left_out():
    assert removable(tutorial("tutorial6")) == (("encoder",), ("decoder",), ("encoder", "decoder"))
    assert removable(tiny_checkpoint("decoder-only").config) == (("decoder",),)


def test_answers_that_do_not_end_are_cut():
    ckpt = tiny_checkpoint("decoder-only", max_target=200, seed=3)
    found = two_orders(ckpt, "uvw", "vuw", ("decoder",))
    for change in (found.with_positions, found.without):
        for answer, text in ((change.a, "uvw"), (change.b, "vuw")):
            edits = (RemovePositions("decoder"),) if change is found.without else ()
            whole = decode(ckpt, text, max_steps=MAX_STEPS + 1, edits=edits)
            assert answer.cut == (len(whole.steps) > MAX_STEPS)


def test_a_text_that_ends_exactly_at_the_models_maximum_is_not_called_cut():
    ckpt = tiny_checkpoint("decoder-only", max_target=9, target_pad=None)
    found = two_orders(ckpt, "uvw", "vuw", ("decoder",))
    assert not found.with_positions.a.cut


@pytest.mark.parametrize(
    ("a", "b", "sentence"), [("", "ab", "A: the text is empty"), ("ab", "a" * 40, "B: source has 42")]
)
def test_a_text_that_cannot_be_read_is_said_by_name(a, b, sentence):
    with pytest.raises(ValueError, match=sentence):
        two_orders(tiny_checkpoint(), a, b, ("encoder",))


def test_an_encoder_alone_has_no_answer():
    with pytest.raises(ValueError, match="encoder-only"):
        two_orders(tiny_checkpoint("encoder-only"), "ab", "ba", ("encoder",))


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("29,284.30", "03.482,92"),
        ("Ein Hund bellt.", "bellt Hund Ein."),
        ("Where is it?", "it is Where?"),
        ("to be or to be", "be to or be to"),
        ("one two one", "two one one"),  # a palindrome goes round
        ("abba", "bbaa"),
        ("7", None),
        ("77", None),
        ("a a", " aa"),
        ("", None),
    ],
)
def test_words_are_turned_round_and_of_one_word_the_tokens(text, other):
    assert reverse_words(text, LETTERS) == other


@pytest.mark.parametrize(
    ("text", "other"), [("ROMEO:", "OEMOR:"), ("not to be", "to not be"), ("ab", None), ("a bc", "b ac")]
)
def test_the_last_part_can_be_kept(text, other):
    assert reverse_words(text, LETTERS, keep_last=True) == other


def test_tokens_are_those_of_the_codec():
    codec = Codec(RegexTokens(r"[a-z]+|[*+()]", join=""), Vocabulary(SOURCE, SPECIALS))
    assert reverse_words("sin(x)", codec) == ")x(sin"
