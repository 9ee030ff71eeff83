"""Vocabularies: ids are positions, specials have names, and nothing that would break later gets in."""

from __future__ import annotations

from typing import Any

import pytest

from viz_transformer.text import SPECIALS, Vocabulary


def test_ids_are_positions_and_specials_have_roles() -> None:
    vocabulary = Vocabulary(["<s>", "</s>", "<unk>", "<pad>", "a", "b"], SPECIALS)
    assert (vocabulary.bos, vocabulary.eos, vocabulary.unk, vocabulary.pad) == (0, 1, 2, 3)
    assert vocabulary.special_ids == {0, 1, 2, 3}
    assert (vocabulary.id("b"), vocabulary.token(5), len(vocabulary)) == (5, "b", 6)
    assert "b" in vocabulary
    assert "c" not in vocabulary


def test_every_special_is_optional() -> None:
    vocabulary = Vocabulary(["a"])
    assert (vocabulary.bos, vocabulary.eos, vocabulary.unk, vocabulary.pad) == (None, None, None, None)
    assert vocabulary.special_ids == frozenset()


def test_an_unknown_token_gets_the_unknown_id_or_a_sentence() -> None:
    assert Vocabulary(["<unk>", "a"], {"unk": "<unk>"}).id("zebra") == 0
    with pytest.raises(KeyError, match=r"'zebra' is not in the vocabulary, .* no token for unknown"):
        Vocabulary(["a"]).id("zebra")


@pytest.mark.parametrize(
    ("tokens", "said"),
    [
        (
            "( ) * ** + - / 0 1 2 3 a b c cos cosh d exp f g sin x",
            "cos, cosh, exp, sin, a to d, f, g, x, 0 to 3 and 7 more",
        ),
        ("0 1 2 3 , . -", "0 to 3, ',', '.' and '-'"),
        ("b c a", "a to c"),
        ("! ? A B C a b c d 3 \\n & $ ; :", "A to C, a to d, 3 and 7 more"),
        ("and hundred thousand point one two three four five -", "and, hundred, thousand, point and 6 more"),
        ("好 的", "好 and 的"),
        ("0 1 2", "whole numbers from 0 to 2"),
        (f"{'w' * 90} a", f"{'w' * 19}… and a"),
    ],
)
def test_what_a_text_of_it_is_made_of_is_said_in_a_few_words(tokens: str, said: str) -> None:
    specials = {} if tokens == "0 1 2" else {"bos": "<s>"}
    names = [*specials.values(), *(("\n" if each == "\\n" else each) for each in tokens.split(" "))]
    assert Vocabulary(names, specials).in_words() == said


def test_a_vocabulary_of_special_tokens_alone_reads_nothing() -> None:
    assert Vocabulary(["<s>"], {"bos": "<s>"}).in_words() == "nothing"


@pytest.mark.parametrize("id", [-1, 2])
def test_an_id_outside_is_an_error_also_a_negative_one(id: int) -> None:
    with pytest.raises(IndexError, match=f"id {id} is outside the vocabulary: ids go from 0 to 1"):
        Vocabulary(["a", "b"]).token(id)


def test_build_sorts_by_frequency_and_ties_by_first_sight_behind_the_specials() -> None:
    texts = [["c", "b", "a"], ["a", "b", "d"], ["a", "</s>"]]
    built = Vocabulary.build(texts)
    assert built.tokens == ("<s>", "</s>", "<unk>", "<pad>", "a", "b", "c", "d")
    assert Vocabulary.build(texts, specials={}, min_count=2).tokens == ("a", "b")


def test_equal_content_is_equal_and_hashes_alike() -> None:
    one, other = Vocabulary(["a", "b"], {"unk": "a"}), Vocabulary(("a", "b"), {"unk": "a"})
    assert one == other
    assert hash(one) == hash(other)
    assert one != Vocabulary(["a", "b"], {"unk": "b"})


def test_the_vocabulary_keeps_its_own_copy_of_what_it_was_made_from() -> None:
    tokens, specials = ["a", "b"], {"unk": "a"}
    vocabulary = Vocabulary(tokens, specials)
    tokens.append("c")
    specials["unk"] = "b"
    assert (len(vocabulary), vocabulary.unk) == (2, 0)


@pytest.mark.parametrize(
    ("tokens", "specials", "sentence"),
    [
        ([], {}, "has no tokens"),
        (["a", "b", "a"], {}, "has 'a' twice, at 0 and at 2"),
        (["a", 7], {}, "entry 1 of the vocabulary is 7, not a text"),
        (["a", None], {}, "entry 1 of the vocabulary is None"),
        (["a", ["b"]], {}, "entry 1 of the vocabulary is"),
        (["a"], {"start": "a"}, "unknown role 'start'"),
        (["a"], {"bos": "<s>"}, r"'<s>' \(bos\) is not in the vocabulary"),
        (["a"], {"bos": {}}, "is not in the vocabulary"),
    ],
)
def test_what_is_no_vocabulary_is_refused(tokens: Any, specials: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        Vocabulary(tokens, specials)
