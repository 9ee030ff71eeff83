"""Scores of strings against sacrebleu called directly, cases worked by hand, and sympy's own parser."""

from __future__ import annotations

import pytest

from viz_transformer.measuring.scores import (
    BLEU_NAMES,
    check_bleu,
    check_equivalence,
    overlap_metrics,
    plain,
    reference_lists,
    token_line,
)


def test_plain_text_has_single_blanks_and_lower_case_if_asked_for():
    assert plain("  A \t b\n", lower=False) == "A b"
    assert plain("  A \t b\n", lower=True) == "a b"


def test_only_known_words_ask_for_a_score():
    for name in (*BLEU_NAMES, None):
        check_bleu(name)
    with pytest.raises(ValueError, match=r"bleu='spm' is not known; choose 'tokens' or '13a' or 'intl'"):
        check_bleu("spm")  # sacrebleu's, but it would be downloaded
    check_equivalence("sympy")
    check_equivalence(None)
    with pytest.raises(ValueError, match="equivalence='maple' is not known; choose 'sympy'"):
        check_equivalence("maple")


@pytest.mark.parametrize("name", BLEU_NAMES)
def test_every_bleu_that_is_offered_can_be_computed(name: str):
    metric, _ = overlap_metrics(name, lower=False)
    text = "The cat, it sat on the mat."
    assert metric.corpus_score([text], [[text]]).score == pytest.approx(100)
    assert f"tok:{'none' if name == 'tokens' else name}|" in str(metric.get_signature())


def test_tokens_survive_the_line_they_stand_in():
    assert token_line(["a", "New York", " ", "b\u2028", "."]).split() == ["a", "New▁York", "▁", "b▁", "."]


def test_bleu_of_tokens_worked_by_hand():
    """Answer "a b c d x" for "a b c d e": precisions 4/5, 3/4, 2/3 and 1/2, no brevity penalty."""
    metric, _ = overlap_metrics("tokens", lower=False)
    score = metric.corpus_score(["a b c d x"], reference_lists([["a b c d e"]])).score
    assert score == pytest.approx(100 * (4 / 5 * 3 / 4 * 2 / 3 * 1 / 2) ** 0.25)
    metric, _ = overlap_metrics("tokens", lower=True)
    assert metric.corpus_score(["A b c d"], reference_lists([["a B c d"]])).score == pytest.approx(100)
    assert "case:lc|" in str(metric.get_signature())


def test_references_that_some_answers_lack_are_none():
    assert reference_lists([["a", "b"], ["c"], ["d", "e", "f"]]) == [
        ["a", "c", "d"],
        ["b", None, "e"],
        [None, None, "f"],
    ]
    metric, _ = overlap_metrics("13a", lower=False)
    # The second reference of the first answer is the right one; no other answer may use it.
    answers = ["the cat sat on the mat", "it sat on the mat"]
    both = reference_lists([["a dog ran home", "the cat sat on the mat"], ["it sat on the mat"]])
    assert metric.corpus_score(answers, both).score == pytest.approx(100)
    assert "nrefs:var|" in str(metric.get_signature())
