import json
import math
from dataclasses import replace

import pytest
from builders import tiny_checkpoint
from wording import wording

from viz_transformer.analysis.inputs.hidden_texts import hidden_texts
from viz_transformer.figures.labels import unknown_sentence
from viz_transformer.running.decoding import decode
from viz_transformer.text import RegexTokens
from viz_transformer.ui.frame import token_strip


@pytest.fixture(scope="module")
def ckpt():
    return tiny_checkpoint()


def test_read_chips_are_the_source_as_the_model_reads_it(ckpt):
    chips = token_strip.read_chips(ckpt, decode(ckpt, "a<a", max_steps=2))
    assert [chip.token for chip in chips] == ["<s>", "a", "<unk>", "a", "</s>"]
    assert [chip.special for chip in chips] == [True, False, False, False, True]
    assert [chip.unknown for chip in chips] == [False, False, True, False, False]
    assert chips[2].data() | {"title": ""} == {
        "text": "<unk>",
        "note": "<",
        "title": "",
        "ink": "source",
        "special": False,
        "unknown": True,
    }
    assert chips[2].title == "position 2: <unk>, replaces <, which is not in the vocabulary"


def test_the_beginning_that_a_decoder_goes_on_from_is_read():
    ckpt = tiny_checkpoint("decoder-only")
    run = decode(ckpt, "u€w", max_steps=5)
    chips = token_strip.read_chips(ckpt, run)
    assert [chip.token for chip in chips] == ["<s>", "u", "<unk>", "w"]
    assert [chip.original for chip in chips] == ["<s>", "u", "€", "w"]
    assert len(chips) + len(run.steps) == len(run.trace.tgt_tokens) + 1
    assert {chip.data()["ink"] for chip in chips} == {"target"}
    assert "instead: €" in unknown_sentence(hidden_texts(ckpt, run.trace))


def test_an_answer_follows_the_beginning_as_one_text():
    ckpt = tiny_checkpoint("decoder-only")
    run = decode(ckpt, "uvw", max_steps=5)
    assert token_strip.answer_text(ckpt, run) == ("uvw", run.text)
    words = replace(ckpt, target_codec=replace(ckpt.target_codec, tokenizer=RegexTokens(r"\w")))
    assert token_strip.answer_text(words, decode(words, "u v", max_steps=2)) == (
        "u v",
        " " + decode(words, "u v", max_steps=2).text,
    )
    translator = tiny_checkpoint()
    run = decode(translator, "abc", max_steps=5)
    assert token_strip.answer_text(translator, run) == ("", run.text)


def test_padding_that_the_model_reads_is_one_chip():
    ckpt = tiny_checkpoint(pad_to=20, max_target=20)
    run = decode(ckpt, "abc", max_steps=2)
    assert len(run.trace.src_tokens) == 20
    chips = token_strip.read_chips(ckpt, run)
    assert [chip.token for chip in chips] == ["<s>", "a", "b", "c", "</s>", "<pad>×15"]
    assert chips[-1].special


def test_written_chips_have_the_probability_of_their_step(ckpt):
    run = decode(ckpt, "abc", max_steps=5)
    for chip, step in zip(token_strip.written_chips(ckpt, run), run.steps, strict=True):
        assert chip.token == step.token
        assert chip.data()["share"] == math.exp(step.log_prob)


def test_the_two_rows_stand_for_positions_of_the_selection(ckpt):
    run = decode(ckpt, "abc", max_steps=5)
    reads, writes = token_strip.chip_data(ckpt, run, "abc")
    assert (reads["label"], reads["field"], reads["first"]) == ("reads", "i", 0)
    assert (writes["label"], writes["field"], writes["first"]) == ("writes", "t", 0)
    assert [chip["text"] for chip in reads["chips"]] == list(run.trace.src_tokens)
    assert [chip["text"] for chip in writes["chips"]] == list(run.tokens)
    assert [chip["title"].split(":")[0] for chip in writes["chips"]] == [f"step {i}" for i in range(1, 6)]
    json.dumps([reads, writes])


def test_a_decoder_alone_writes_from_the_last_row_of_its_beginning_on():
    ckpt = tiny_checkpoint("decoder-only")
    run = decode(ckpt, "uvw", max_steps=5)
    reads, writes = token_strip.chip_data(ckpt, run, "abc")
    assert (reads["field"], reads["first"], len(reads["chips"])) == ("t", 0, 4)
    assert (writes["field"], writes["first"], len(writes["chips"])) == ("t", 3, 5)
    for step, chip in enumerate(writes["chips"]):  # the row of a step is the one that writes its token
        assert chip["text"] == run.trace.next_tokens[writes["first"] + step]


def test_padding_behind_the_answer_moves_no_step():
    ckpt = tiny_checkpoint(pad_to=20, max_target=20)
    run = decode(ckpt, "abc", max_steps=2)
    assert len(run.trace.tgt_tokens) == 20
    assert token_strip.chip_data(ckpt, run, "abc")[1]["first"] == 0


def test_unknown_text_is_said_in_one_sentence(ckpt):
    assert unknown_sentence(hidden_texts(ckpt, decode(ckpt, "abc", max_steps=1).trace)) is None
    one = unknown_sentence(hidden_texts(ckpt, decode(ckpt, "a€", max_steps=1).trace))
    assert one == "1 token is not in the vocabulary, the model reads <unk> instead: €"
    unknown = ckpt.target_codec.vocabulary.unk
    assert unknown_sentence(hidden_texts(ckpt, decode(ckpt, "abc", force={0: unknown}, max_steps=2).trace)) is None
    many = unknown_sentence(hidden_texts(ckpt, decode(ckpt, "0123456789 0", max_steps=1).trace))
    assert many == "12 tokens are not in the vocabulary, the model reads <unk> instead: 0, 1, 2, 3, 4, 5, 6, 7, ..."


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (11, None),  # 13 tokens with start and end; nine tenths of 15 are 13.5
        (12, wording("nearly_as_long_as_the_longest_in_training_it_has_tokens", 14, 15)),
        (13, wording("as_long_as_the_longest_in_training_it_has_tokens", 15)),
        (14, wording("longer_than_the_longest_in_training_it_has_tokens", 16)),
    ],
)
def test_a_text_nearly_as_long_as_the_longest_of_training_says_so(ckpt, typed, said):
    long = replace(ckpt, card={"training_lengths": {"source": 15, "target": 5}})
    found = token_strip.length_sentence(long, decode(long, "a" * typed, max_steps=1))
    assert (found is None) if said is None else (found is not None and f"The text is {said}" in found)


@pytest.mark.parametrize(
    "card",
    [{}, {"training_lengths": 5}, {"training_lengths": {"source": "9"}}, {"training_lengths": {"source": 0}}],
)
def test_a_card_without_lengths_says_nothing_of_them(ckpt, card):
    said = replace(ckpt, card=card)
    assert token_strip.length_sentence(said, decode(said, "a" * 10, max_steps=1)) is None


def test_a_card_with_a_notation_leaves_lengths_to_it(ckpt):
    noted = replace(ckpt, card={"training_lengths": {"source": 3}, "notation": {"kind": "letters"}})
    assert token_strip.length_sentence(noted, decode(noted, "abc", max_steps=1)) is None
