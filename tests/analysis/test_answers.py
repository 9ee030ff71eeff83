import pytest
from builders import tiny_checkpoint

from viz_transformer.analysis.answers import Answer, greedy_answers
from viz_transformer.analysis.difference import aligned_difference
from viz_transformer.decoding import decode


def test_answers_are_those_of_decoding_one_by_one():
    ckpt = tiny_checkpoint()
    pairs = [("abc", "x"), ("a", "y"), ("hgfedcba", "z"), ("bca", "x"), ("c", "y")]
    answers = greedy_answers(ckpt, pairs)
    assert [(answer.source, answer.wanted) for answer in answers] == pairs
    assert [answer.written for answer in answers] == [decode(ckpt, source).text for source, _ in pairs]


def test_only_a_model_that_turns_text_into_text_can_answer():
    with pytest.raises(ValueError, match="does not turn one text into another"):
        greedy_answers(tiny_checkpoint("decoder-only"), [("u", "v")])


def test_right_means_equal_letter_by_letter():
    assert Answer("1", "one", "one").right
    assert not Answer("1", "one", "One").right


def test_the_pieces_hold_both_texts_whole_and_mark_what_differs():
    answer = Answer("84.33", "eighty-four point three three", "eighty-five point three")
    assert "".join(word for piece in answer.pieces for word in piece.wanted) == answer.wanted
    assert "".join(word for piece in answer.pieces for word in piece.written) == answer.written
    different = [(piece.wanted, piece.written) for piece in answer.pieces if not piece.same]
    assert different == [(("four",), ("five",)), ((" ", "three"), ())]


def test_equal_sequences_are_one_piece_and_empty_ones_none():
    assert [piece.same for piece in aligned_difference(["a", "b"], ["a", "b"])] == [True]
    assert aligned_difference([], []) == ()
    assert [(piece.wanted, piece.written) for piece in aligned_difference([], ["a"])] == [((), ("a",))]
