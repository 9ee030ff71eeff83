from dataclasses import replace

import pytest
from builders import tiny_checkpoint
from scripted import script, with_words

from viz_transformer.analysis.decoding.difference import aligned_difference
from viz_transformer.analysis.models.answers import PairAnswer, confusions, greedy_answers, matching
from viz_transformer.model.config import tutorial
from viz_transformer.running.decoding import decode

PAIRS = [("abc", "x"), ("a", "y"), ("hgfedcba", "z"), ("bca", "x"), ("c", "y")]
SLIPS = tutorial("en-it", source_vocab_size=12, target_vocab_size=20, pad_to=20).to_dict()
SLIPS = {name: SLIPS[name] for name in "norm final_norm norm_kind merge mask_fill padding_mask".split()}


@pytest.mark.parametrize("changes", [{}, {"pad_to": 20, "max_target": 20, **SLIPS}], ids=["usual", "slips"])
@pytest.mark.parametrize("start", [True, False])
def test_answers_are_those_of_decoding_one_by_one(changes, start):
    ckpt = tiny_checkpoint(**changes)
    ckpt = replace(ckpt, source_codec=replace(ckpt.source_codec, add_bos=start))
    answers = greedy_answers(ckpt, PAIRS)
    assert [(answer.source, answer.wanted) for answer in answers] == PAIRS
    assert [answer.written for answer in answers] == [decode(ckpt, source).text for source, _ in PAIRS]
    assert len({answer.written for answer in answers}) > 1


def test_only_a_model_that_turns_text_into_text_can_answer():
    with pytest.raises(ValueError, match="only an encoder-decoder"):
        greedy_answers(tiny_checkpoint("decoder-only"), [("u", "v")])


def test_a_source_that_is_too_long_is_refused_with_its_number():
    with pytest.raises(ValueError, match="pair 2: the source has 21 tokens, the model reads at most 20"):
        greedy_answers(tiny_checkpoint(pad_to=20, max_target=20), [("a", "u"), ("a" * 19, "u")])


def right(ckpt, monkeypatch, wanted, written):
    script(monkeypatch, (ckpt, {"abc": written}))
    (answer,) = greedy_answers(ckpt, [("abc", wanted)])
    return answer.right


def test_right_means_equal_letter_by_letter(monkeypatch):
    ckpt = tiny_checkpoint()
    assert right(ckpt, monkeypatch, "uv1", "uv1")
    assert not right(ckpt, monkeypatch, "uv1", "uv2")
    assert not right(ckpt, monkeypatch, "UV1", "uv1")


def test_a_model_that_writes_lower_case_is_not_blamed_for_it(monkeypatch):
    ckpt = with_words()
    assert right(ckpt, monkeypatch, "The cat sat.", "the cat sat .")
    assert not right(ckpt, monkeypatch, "The cat sat.", "the dog sat .")


def test_an_answer_with_an_unknown_word_is_never_right(monkeypatch):
    assert not right(with_words(), monkeypatch, "The <unk> sat.", "the zebra sat .")


def test_the_pieces_hold_both_texts_whole_and_mark_what_differs():
    answer = PairAnswer("84.33", "eighty-four point three three", "eighty-five point three", right=False)
    assert "".join(word for piece in answer.pieces for word in piece.wanted) == answer.wanted
    assert "".join(word for piece in answer.pieces for word in piece.written) == answer.written
    different = [(piece.wanted, piece.written) for piece in answer.pieces if not piece.same]
    assert different == [(("four",), ("five",)), ((" ", "three"), ())]


def test_case_differs_only_where_the_model_knows_case():
    assert [p.same for p in PairAnswer("x", "The cat", "the cat", right=True, lower=True).pieces] == [True]
    assert [p.same for p in PairAnswer("x", "The cat", "the cat", right=False).pieces] == [False, True]
    (piece,) = PairAnswer("x", "The", "the", right=True, lower=True).pieces
    assert (piece.wanted, piece.written) == (("The",), ("the",))


def test_equal_sequences_are_one_piece_and_empty_ones_none():
    assert [piece.same for piece in aligned_difference(["a", "b"], ["a", "b"])] == [True]
    assert aligned_difference([], []) == ()
    assert [(piece.wanted, piece.written) for piece in aligned_difference([], ["a"])] == [((), ("a",))]


ANSWERS = (
    PairAnswer("4", "four", "four", right=True),
    PairAnswer("5", "five hundred", "six hundred", right=False),
    PairAnswer("50", "fifty, five", "fifty, six", right=False),
    PairAnswer("7", "seven", "seven seven", right=False),
)


def test_answers_are_filtered_by_kind_and_by_words_anywhere():
    assert matching(ANSWERS, "all") == ANSWERS
    assert matching(ANSWERS, "right") == ANSWERS[:1]
    assert matching(ANSWERS, "wrong", "FIVE six") == ANSWERS[1:3]
    assert matching(ANSWERS, "all", "5") == ANSWERS[1:3]
    assert matching(ANSWERS, "right", "five") == ()
    assert matching(ANSWERS, "all", "   ") == ANSWERS


def test_what_is_confused_is_counted_by_hand():
    found = confusions(ANSWERS)
    assert (found[0].wanted, found[0].written, found[0].count) == ("five", "six", 2)
    assert ("", "seven", 1) in {(each.wanted, each.written, each.count) for each in found}
    assert confusions(ANSWERS[:1]) == ()
